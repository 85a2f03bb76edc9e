"""Counts with noise: drawn as stated, on public values alone, and by what was spent."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from helpers import assert_same_model
from unnaive import NaiveBayesClassifier, merge
from unnaive.living import Plan, private, total_privacy
from unnaive.living.noise import discrete_gaussian, discrete_laplace
from unnaive.living.plan import Range


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
        "job": rng.choice(["none", "part", "full"], n),
    })  # fmt: skip
    return X, np.where(X["age"].fillna(40) + 15 * (X["job"] == "full") > 45, "good", "bad")


X, Y = sample(4000, 0)
PUBLIC = Plan(
    NaiveBayesClassifier().fit(X, Y).schema_, "outcome", None, {}, ("bad", "good"),
    (Range(0.0, 80.0, 16), ("full", "none", "other", "part")),
)  # fmt: skip


def fits(draws, weight, tail=8):
    """Whether draws are as frequent as weights say, all beyond a tail taken together."""
    ks = np.arange(-200, 201)
    p = np.array([weight(int(k)) for k in ks])
    p /= p.sum()
    edges = [-math.inf, *(k + 0.5 for k in range(-tail, tail)), math.inf]
    observed = np.histogram(draws, edges)[0]
    expected = [p[(ks > a) & (ks < b)].sum() for a, b in pairwise(edges)]
    return chisquare(observed, np.array(expected) * len(draws)).pvalue > 0.001


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(6)])
def test_laplace_noise_has_its_distribution(scale):
    below = random.Random(1).randrange
    draws = [discrete_laplace(scale, below) for _ in range(4000)]
    assert fits(draws, lambda k: math.exp(-abs(k) / scale))


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(17, 4), Fraction(30)])
def test_gaussian_noise_has_its_distribution(variance):
    below = random.Random(2).randrange
    draws = [discrete_gaussian(variance, below) for _ in range(2000)]
    assert fits(draws, lambda k: math.exp(-(k**2) / (2 * variance)))


def test_without_noise_to_speak_of_counts_are_those_of_the_rows_in_public_cells():
    model, spent = private(PUBLIC, X, Y, epsilon=1000.0, min_count=0)
    counts = model.summary_.counts
    assert counts.totals.tolist() == [(Y == "bad").sum(), (Y == "good").sum()]
    cells = pd.cut(X["age"], np.linspace(0, 80, 17))
    expected = pd.crosstab(Y, cells, dropna=False).to_numpy()[:, :16]
    assert counts.values(0).tolist() == expected[:, expected.any(axis=0)].tolist()
    middles = np.arange(2.5, 80, 5)[expected.any(axis=0)]
    assert np.allclose(model.summary_.coders[0].low, middles)
    assert model.summary_.coders[1].values == ("full", "none", "part")
    assert spent.tables == 3


def test_noise_is_of_the_scale_that_the_budget_allows():
    _, laplace = private(PUBLIC, X, Y, epsilon=0.5, rows_each=2)
    assert (laplace.scale, laplace.sensitivity, laplace.delta) == (12.0, 6.0, 0.0)
    assert laplace.min_count == math.ceil(2 * math.sqrt(2) * 12)
    _, gauss = private(PUBLIC, X, Y, epsilon=0.5, delta=1e-6)
    rho = gauss.sensitivity**2 / (2 * gauss.scale**2)
    assert math.isclose(rho + 2 * math.sqrt(rho * math.log(1e6)), 0.5)
    assert math.isclose(gauss.sensitivity, math.sqrt(3))
    assert total_privacy([laplace, gauss]) == (1.0, 1e-6)
    assert str(laplace).startswith("epsilon 0.5: discrete Laplace noise of scale 12 in every count")


def test_every_count_has_noise_of_its_own_zeros_too():
    spent, cells = None, []
    for _ in range(60):
        model, spent = private(PUBLIC, X[:50], Y[:50], epsilon=3.0, min_count=0)
        cells.append(set(model.summary_.coders[1].values))
    assert any("other" in values for values in cells)  # which no row has
    assert spent.scale == 1.0


def test_what_is_counted_of_a_row_depends_on_that_row_and_the_plan_alone():
    strange = X.assign(age=X["age"] * 1000, job="secret")
    model, _ = private(PUBLIC, strange, np.where(Y == "bad", "bad", "new"), epsilon=1000.0)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.summary_.coders[0].low.tolist() == [77.5]  # beyond the range: its last cell
    assert model.summary_.coders[1].values == ()
    assert model.summary_.n_rows == (Y == "bad").sum()


def test_private_parts_of_sites_merge_and_predict():
    parts = [private(PUBLIC, X[k::2], Y[k::2], epsilon=5.0)[0] for k in (0, 1)]
    assert merge(parts).score(X, Y) > NaiveBayesClassifier().fit(X, Y).score(X, Y) - 0.1


def test_a_plan_lists_values_only_where_asked(tmp_path):
    model = NaiveBayesClassifier().fit(X, Y)
    Plan.of(model, "outcome").write(tmp_path / "bare.json")
    assert "part" not in (tmp_path / "bare.json").read_text()
    plan = Plan.of(model, "outcome", values=True)
    plan.write(tmp_path / "public.json")
    again = Plan.read(tmp_path / "public.json")
    assert (again.classes, again.values) == (plan.classes, plan.values)
    with pytest.raises(ValueError, match="the plan does not list classes and values"):
        private(Plan.read(tmp_path / "bare.json"), X, Y, epsilon=1.0)


def test_a_plan_has_levels_in_their_order_and_columns_without_a_value(tmp_path):
    sizes = pd.Categorical.from_codes(np.arange(4000) % 3, ["s", "m", "l"], ordered=True)
    wide = X.assign(size=sizes, nothing=np.nan)
    model = NaiveBayesClassifier().fit(wide, Y)
    plan = Plan.of(model, "outcome", values=True)
    plan.write(tmp_path / "wide.json")
    again = Plan.read(tmp_path / "wide.json")
    assert again.schema.columns[2:] == plan.schema.columns[2:]
    assert again.values[2:] == (Range(-0.5, 2.5, 3), ())
    noisy, _ = private(again, wide, Y, epsilon=50.0)
    assert noisy.summary_.coders[2].low.tolist() == [0.0, 1.0, 2.0]
    assert noisy.score(wide, Y) > model.score(wide, Y) - 0.05
    some = again.summarize(wide.astype({"size": str}), Y)  # levels are found by name
    assert_same_model(some, model)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be from"),
        ({"epsilon": math.nan}, "epsilon must be from"),
        ({"epsilon": 1.0, "delta": 0.7}, "delta must be 0, or small"),
        ({"epsilon": 1.0, "rows_each": 0}, "rows_each must be a whole number"),
        ({"epsilon": 1.0, "min_count": -1}, "min_count must be a whole number"),
        ({"epsilon": 1e-5, "min_count": 10**9}, "hides all rows"),
    ],
)
def test_budgets_that_mean_nothing_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        private(PUBLIC, X, Y, **given)


def test_sums_of_numbers_are_not_made_private():
    plan = Plan(
        PUBLIC.schema, "outcome", None, {"numeric": "gaussian"}, *(PUBLIC.classes, PUBLIC.values)
    )
    with pytest.raises(ValueError, match="age.* needs sums of numbers"):
        private(plan, X, Y, epsilon=1.0)
