"""A factor for each column (weighted naive Bayes): its definition, and what reads it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import unnaive
from helpers import assert_same_model, mixed_table
from unnaive import (
    BoostedNaiveBayesClassifier,
    FlexibleNBTreeClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    merge,
)
from unnaive.bayes.calibration import MIN_SLOPE
from unnaive.explain.report.text import describe

MODELS = [
    NaiveBayesClassifier(calibration="columns"),
    NaiveBayesClassifier(numeric="gaussian", calibration="columns"),
    NaiveBayesClassifier(numeric="kernel", calibration="columns"),
    BoostedNaiveBayesClassifier(calibration="columns"),
    NBTreeClassifier(random_state=0, min_node_size=60),
    FlexibleNBTreeClassifier(random_state=0, min_node_size=60),
    BoostedNaiveBayesClassifier(calibration="values"),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def repeated(n=600, seed=0):
    """One column five times, and two that say something else."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    first, *others = (np.where(rng.random(n) < share, y, 1 - y) for share in (0.8, 0.75, 0.7))
    columns = {f"copy {k}": first for k in range(5)}
    columns |= {f"other {k}": column for k, column in enumerate(others)}
    return pd.DataFrame(columns).astype(str).astype("category"), y


def test_columns_that_repeat_each_other_share_what_one_would_say():
    X, y = repeated(2000)
    model = NaiveBayesClassifier(calibration="columns").fit(X, y)
    factors = model.answer_.root.columns
    assert factors[:5].sum() == pytest.approx(1.0, abs=0.25)
    assert (factors[5:] > 0.6).all()
    X_new, y_new = repeated(2000, seed=1)
    slope = NaiveBayesClassifier(calibration="slope").fit(X, y)
    losses = [log_loss(y_new, m.predict_proba(X_new)) for m in (model, slope)]
    assert losses[0] < losses[1]


def test_densities_far_off_cost_no_accuracy():
    """A few values far from their class force one slope down; other columns still speak."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    spike = np.where(rng.random(900) < 0.02, 1.0, 0.0) + rng.normal(0, 0.001, 900)
    X = pd.DataFrame(
        {"a": rng.normal(size=900) + 1.2 * y, "b": rng.normal(size=900) - y, "s": spike}
    )
    X["plan"] = np.where(rng.random(900) < 0.6, y, rng.integers(0, 3, 900)).astype(str)
    none, slope, columns = (
        NaiveBayesClassifier(numeric="gaussian", calibration=way).fit(X[:600], y[:600])
        for way in ("none", "slope", "columns")
    )
    for calibrated in (slope, columns):
        assert calibrated.score(X[600:], y[600:]) >= none.score(X[600:], y[600:]) - 0.02
        assert log_loss(y[600:], calibrated.predict_proba(X[600:])) < log_loss(
            y[600:], none.predict_proba(X[600:])
        )
    factors = slope.answer_.root.columns
    assert factors[2] < 0.5 * factors[:2].min()


@each
def test_bars_with_factors_add_up_and_everything_reads_them(model, tmp_path):
    X, y = mixed_table(300, classes=2)
    model = clone(model).fit(X, y)
    root = model.answer_.root
    assert root.columns.shape == (X.shape[1],)
    assert (root.columns >= MIN_SLOPE).all()
    assert root.is_calibrated
    assert "a factor for each attribute" in describe(root)
    total = model.evidence(X).total()
    np.testing.assert_allclose(total, model.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)
    unnaive.save(model, tmp_path / "model.unb")
    assert_same_model(model, unnaive.load(tmp_path / "model.unb"))
    assert model.predict_proba(X).mean(axis=0) == pytest.approx(
        [np.mean(y == label) for label in model.classes_], rel=0.01
    )


@pytest.mark.parametrize("model", MODELS[:-1], ids=repr)
def test_factors_multiply_the_evidence_of_the_model_without_them(model):
    X, y = mixed_table(300, classes=2)
    calibrated = clone(model).fit(X, y)
    boosted = isinstance(model, BoostedNaiveBayesClassifier)  # without any, it has other rounds
    plain = clone(model).set_params(calibration="slope" if boosted else "none").fit(X, y)
    bars, before = (
        calibrated.evidence(X).contributions,
        plain.evidence(X).contributions / plain.answer_.root.slope,
    )
    factors = calibrated.answer_.root.columns
    np.testing.assert_allclose(bars, factors[:, None] * before, rtol=1e-9, atol=1e-9)


def test_files_give_the_factors_of_memory(tmp_path):
    X, y = mixed_table(500)
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    for model in (MODELS[0], MODELS[3], MODELS[4], MODELS[-1]):
        scan = unnaive.scan(tmp_path / "rows.parquet")
        assert_same_model(clone(model).fit(X, y), clone(model).fit(scan, "label"))


def test_updates_and_merges_leave_no_factors_until_they_are_learned_again():
    X, y = mixed_table(400)
    at_once = clone(MODELS[0]).fit(X, y)
    halves = [clone(MODELS[0]).fit(X[part], y[part]) for part in (slice(200), slice(200, 400))]
    merged = merge(halves)
    assert merged.answer_.root.columns is None
    assert_same_model(at_once, merged.calibrate(X, y))
    halves[0].partial_fit(X[200:], y[200:])
    assert halves[0].answer_.root.columns is None
    assert_same_model(at_once, halves[0].calibrate(X, y))


def test_votes_have_no_columns():
    X, y = mixed_table(60)
    model = BoostedNaiveBayesClassifier(algorithm="m1", calibration="columns")
    with pytest.raises(ValueError, match="needs algorithm='real'.* take calibration='slope'"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="calibration must be 'none' or 'slope'; got 'columns'"):
        unnaive.C45Classifier(calibration="columns").fit(X, y)
