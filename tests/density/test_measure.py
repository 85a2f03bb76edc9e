"""The Bayes measure and the cuts made from it follow their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import reference_density as reference
from helpers import mixed_table
from unnaive import Discretizer, NaiveBayesClassifier, bayes_measure
from unnaive.density.estimate import FLOOR

SHAPES = reference.SHAPES


def three_classes(shape, n):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    return SHAPES[shape](rng, 1.5 * y), y, rng.integers(1, 3, n)


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_measured_by_density_times_frequency(shape):
    x, y, w = three_classes(shape, 250)
    (found,) = bayes_measure(x[:, None], y, sample_weight=w, bandwidth="cv")
    assert found.values.tolist() == sorted(set(x))
    best = reference.most_probable_by_density(x, y, w, found.values, FLOOR)
    differ = found.classes != best
    assert differ.mean() < 0.01  # tables are exact to 0.01 in log density
    by_value = dict(zip(found.values, found.classes, strict=True))
    assert found.delta == pytest.approx(reference.measure(x, y, w, by_value), abs=1e-12)
    assert found.delta >= np.bincount(y, w).max() / w.sum() - 1e-12


def test_categories_are_measured_by_frequency_and_gaps_by_the_usual_class():
    values = ["a"] * 5 + ["b"] * 4 + [None] * 3
    y = ["x", "x", "x", "y", "z", "z", "z", "y", "z", "x", "y", "z"]
    (found,) = bayes_measure(pd.DataFrame({"t": values}), y)
    assert found.feature == "t"
    assert found.values.tolist() == ["a", "b"]
    assert found.classes.tolist() == ["x", "z"]
    # z is the most frequent class: of the three rows without a value one is right
    assert found.delta == pytest.approx((3 + 3 + 1) / 12)
    expected = reference.measure(values, y, [1] * 12, {"a": "x", "b": "z"})
    assert found.delta == pytest.approx(expected)


def test_every_column_of_a_mixed_table_is_measured():
    X, y = mixed_table(400)
    X = X.assign(same=1.0, nothing=np.nan)
    found = bayes_measure(X, y, n_jobs=2)
    assert [m.feature for m in found] == list(X.columns)
    usual = pd.Series(y).value_counts(normalize=True).max()
    deltas = {m.feature: m.delta for m in found}
    assert deltas["same"] == deltas["nothing"] == pytest.approx(usual)
    assert deltas["plan"] > usual + 0.1
    assert "delta=" in repr(found[0])
    small = bayes_measure(X, y, sample_weight=np.full(400, 1e-3))
    np.testing.assert_allclose([m.delta for m in small], list(deltas.values()), atol=1e-12)
    with pytest.raises(ValueError, match="bandwidth must be 'conditional'"):
        bayes_measure(X, y, bandwidth="none")


@pytest.mark.parametrize("n", [60, 300, 900])
@pytest.mark.parametrize("shape", SHAPES)
def test_cuts_stand_where_the_most_probable_class_changes(shape, n):
    x, y, w = three_classes(shape, n)
    found = Discretizer("bayes", bandwidth=0.4).fit(x[:, None], y, sample_weight=w).cuts_[0]
    expected = reference.bayes_cuts(x, y, w, FLOOR, 0.4)
    # Tables are exact to 0.01 in log density: where two classes cross, a cut may move by a value.
    assert len(found) == len(expected)
    ranks = [np.searchsorted(np.unique(x), cuts) for cuts in (found, expected)]
    assert (np.abs(ranks[0] - ranks[1]) <= 2).all()


def test_bayes_cuts_find_where_the_class_turns():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 2000)
    y = np.where(rng.random(2000) < 0.9, np.floor(x) % 2, rng.integers(0, 2, 2000)).astype(int)
    cuts = Discretizer("bayes").fit(x[:, None], y).cuts_[0]
    np.testing.assert_allclose(cuts, [1, 2, 3], atol=0.02)
    model = NaiveBayesClassifier(numeric="bayes", bandwidth="cv").fit(x[:, None], y)
    np.testing.assert_array_equal(model.coders_[0].cuts, cuts)
    with pytest.raises(ValueError, match="requires y to be passed"):
        Discretizer("bayes").fit(x[:, None])
    with pytest.raises(ValueError, match="method 'bayes' requires y to be passed"):
        Discretizer({0: "bayes"}).fit(x[:, None])
    with pytest.raises(ValueError, match="bandwidth must be 'conditional'"):
        Discretizer("bayes", bandwidth=0).fit(x[:, None], y)
