"""A factor for each column (weighted naive Bayes): its definition, and what reads it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
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
from unnaive.bayes import calibrate_values
from unnaive.bayes.calibrate import (
    COLUMN_RIDGE,
    LEAST_SLOPE,
    SHIFT_RIDGE,
    fit_calibration,
    fit_columns,
)
from unnaive.bayes.calibrate_values import SURE, VALUE_RIDGE, find_doubts, fit_values
from unnaive.explain.report.text import describe
from unnaive.models import _row_draw

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


def evidence_of(seed, n=500, n_columns=4, n_classes=3):
    """A start and the evidence of columns, the last of which says the opposite of the truth."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_classes, n)
    logs = rng.normal(size=(n, 1 + n_columns, n_classes))
    strength = np.append(np.linspace(0.2, 1.5, n_columns - 1), -1.0)
    logs[np.arange(n), 1:, groups] += strength
    logs[:, 0] *= 0.01
    return logs, groups


def twin(logs, groups, weight):
    """The definition, minimized by another method."""
    n, n_factors, n_classes = logs.shape
    share = np.bincount(groups, weight, n_classes)
    base = np.log(share / share.sum())
    evidence = logs.copy()
    evidence[:, 0] -= base
    slope = fit_calibration(logs.sum(axis=1), groups, weight).slope

    def loss(point):
        factors, shifts = point[:n_factors], point[n_factors:]
        z = base + np.einsum("ijc,j->ic", evidence, factors) + shifts
        own = logsumexp(z, axis=1) - z[np.arange(n), groups]
        pull = COLUMN_RIDGE * ((factors - slope) ** 2).sum() + SHIFT_RIDGE * (shifts**2).sum()
        return weight @ own + 0.5 * pull

    start = np.concatenate((np.full(n_factors, slope), np.zeros(n_classes)))
    bounds = [(LEAST_SLOPE, None)] * n_factors + [(None, None)] * n_classes
    return minimize(loss, start, method="L-BFGS-B", bounds=bounds, tol=1e-12).x


@pytest.mark.parametrize("n_classes", [2, 4])
def test_factors_are_the_most_probable(n_classes):
    logs, groups = evidence_of(n_classes, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    found, expected = fit_columns(logs, groups, weight), twin(logs, groups, weight)
    assert found.slope == pytest.approx(expected[0], abs=2e-3)
    np.testing.assert_allclose(found.columns, expected[1 : logs.shape[1]], atol=2e-3)
    assert found.columns[-1] == LEAST_SLOPE  # evidence against the classes is switched off
    assert (np.diff(found.columns[:-1]) > 0).all()


def test_factors_know_neither_order_nor_threads_and_weight_is_repetition():
    logs, groups = evidence_of(0, n=70_000, n_columns=2, n_classes=2)
    weight = np.random.default_rng(1).integers(0, 3, len(groups)).astype(float)
    rows = np.repeat(np.arange(len(groups)), weight.astype(int))
    order = np.random.default_rng(2).permutation(rows)
    one = fit_columns(logs, groups, weight)
    other = fit_columns(logs[order], groups[order], np.ones(len(order)), n_jobs=2)
    assert one.slope == other.slope
    assert (one.columns == other.columns).all()
    assert (one.intercept == other.intercept).all()


def test_few_rows_leave_the_slope_that_columns_share():
    logs, groups = evidence_of(0, n=4)
    found = fit_columns(logs, groups, np.ones(4))
    shared = fit_calibration(logs.sum(axis=1), groups).slope
    np.testing.assert_allclose(found.columns, shared, atol=0.3)


def values_of(seed, n=400, n_classes=3):
    """Columns whose evidence is too weak, missing here and there, and one without evidence."""
    logs, groups = evidence_of(seed, n, 3, n_classes)
    rng = np.random.default_rng(seed)
    slots = np.zeros((n, 3), dtype=np.uint16)
    for j in range(2):
        told = (groups + rng.integers(0, 2, n)) % n_classes + 1
        slots[:, j] = np.where(rng.random(n) < 0.1, 0, told)
    logs[:, 3] = 0.0
    sizes, first = [n_classes + 2, n_classes + 2, 1], [1, 0, 1]
    return logs, slots, groups, first, sizes


def shift_values(logs, slots, groups, weight, calibration, first, sizes):
    z = calibration.slope * logs[:, 0] + calibration.intercept
    for j, factor in enumerate(calibration.columns):
        z = z + factor * logs[:, 1 + j]
    of_prior = np.zeros((1, len(groups)), dtype=np.uint16)
    by_column = np.concatenate((slots.T.astype(np.uint16), of_prior))
    return fit_values(softmax(z, axis=1), by_column, groups, weight, first, sizes)


def values_twin(logs, slots, groups, weight, calibration, first, sizes):
    """The definition, minimized by another method."""
    factors = np.append(calibration.slope, calibration.columns)
    base = np.einsum("ijc,j->ic", logs, factors) + calibration.intercept
    (n, _, n_classes), ridge = logs.shape, VALUE_RIDGE * 2  # two columns have evidence
    ends = np.cumsum([size * n_classes for size in sizes])

    def parts(point):
        return [part.reshape(-1, n_classes) for part in np.split(point, ends)]

    def loss(point):
        *shifts, prior = parts(point)
        z = base + prior
        for j, shift in enumerate(shifts):
            z = z + np.where((slots[:, j] >= first[j])[:, None], shift[slots[:, j]], 0.0)
        own = logsumexp(z, axis=1) - z[np.arange(n), groups]
        pull = ridge * (point[: ends[-1]] ** 2).sum() + SHIFT_RIDGE * (prior**2).sum()
        return weight @ own + 0.5 * pull

    start = np.zeros(ends[-1] + n_classes)
    return loss, parts(minimize(loss, start, method="L-BFGS-B", tol=1e-10).x)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_values_are_shifted_to_where_classes_are_most_probable(n_classes, monkeypatch):
    monkeypatch.setattr(calibrate_values, "CLOSE", 1e-12)
    monkeypatch.setattr(calibrate_values, "SWEEPS", 1000)
    logs, slots, groups, first, sizes = values_of(n_classes, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    calibration = fit_columns(logs, groups, weight)
    shifts = shift_values(logs, slots, groups, weight, calibration, first, sizes)
    loss, expected = values_twin(logs, slots, groups, weight, calibration, first, sizes)
    least = loss(np.concatenate([part.ravel() for part in expected]))
    assert loss(np.concatenate([part.ravel() for part in shifts])) <= least * (1 + 1e-5)
    for shift, other in zip(shifts, expected, strict=True):  # what all classes share says nothing
        centred = (each - each.mean(axis=1, keepdims=True) for each in (shift, other))
        np.testing.assert_allclose(*centred, atol=0.01)
    assert not shifts[0][0].any()  # missing says nothing
    assert shifts[1][0].any()  # but where it is a value
    assert not shifts[0][-1].any()  # no row is in the slot of unseen values


def test_rows_that_are_sure_change_nothing_and_base_rates_are_not_sure(monkeypatch):
    """A class of one row in a thousand is in doubt where it has its share, small as that is."""
    monkeypatch.setattr(calibrate_values, "CLOSE", 1e-12)
    monkeypatch.setattr(calibrate_values, "SWEEPS", 1000)
    rng = np.random.default_rng(0)
    groups, weight = rng.integers(0, 2, 1000), rng.integers(1, 3, 1000).astype(float)
    groups[0] = 2  # a rare one
    shares = np.bincount(groups, weight) / weight.sum()
    probable = np.tile(shares, (1000, 1))
    assert len(find_doubts(probable, groups, SURE * shares)) == 1000
    sure = rng.random(1000) < 0.7
    probable[sure] = 0.5 * SURE * shares
    probable[sure, groups[sure]] = 1.0 - 0.5 * SURE * (1.0 - shares[groups[sure]])
    assert np.array_equal(find_doubts(probable, groups, SURE * shares), np.flatnonzero(~sure))
    slots = np.stack((rng.integers(1, 4, 1000), np.zeros(1000))).astype(np.uint16)
    kept = (probable[~sure], slots[:, ~sure], groups[~sure], weight[~sure])
    every = fit_values(probable.copy(), slots, groups, weight, [1], [5])
    some = fit_values(kept[0].copy(), *kept[1:], [1], [5])
    for one, other in zip(every, some, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_shifts_know_no_order_and_weight_is_repetition():
    logs, slots, groups, first, sizes = values_of(0, n=5000)
    weight = np.random.default_rng(1).integers(0, 3, len(groups)).astype(float)
    rows = np.repeat(np.arange(len(groups)), weight.astype(int))
    order = np.random.default_rng(2).permutation(rows)
    calibration = fit_columns(logs, groups, weight)
    one = shift_values(logs, slots, groups, weight, calibration, first, sizes)
    again = (logs[order], slots[order], groups[order], np.ones(len(order)))
    for shift, other in zip(one, shift_values(*again, calibration, first, sizes), strict=True):
        assert (shift == other).all()
    real = weight * 0.37  # sums of real weights are exact too
    turned = np.random.default_rng(3).permutation(len(groups))
    one = shift_values(logs, slots, groups, real, calibration, first, sizes)
    again = (logs[turned], slots[turned], groups[turned], real[turned])
    for shift, other in zip(one, shift_values(*again, calibration, first, sizes), strict=True):
        assert (shift == other).all()


def test_large_tables_are_swept_less_often_but_never_less_than_four_times():
    sweeps = [calibrate_values._sweeps(n) for n in (0, 1000, 1 << 22, 1 << 40)]
    assert sweeps == [20, 20, 8, 4]


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
    assert factors[3] == slope.answer_.root.slope  # tables share one factor
    assert factors[2] < 0.5 * factors[:2].min()


@each
def test_bars_with_factors_add_up_and_everything_reads_them(model, tmp_path):
    X, y = mixed_table(300, classes=2)
    model = clone(model).fit(X, y)
    root = model.answer_.root
    assert root.columns.shape == (X.shape[1],)
    assert (root.columns >= LEAST_SLOPE).all()
    assert root.is_calibrated
    assert "a factor for each attribute" in describe(root)
    total = model.evidence(X).total()
    assert (total == model.predict_joint_log_proba(X)).all()
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


def draw_some(monkeypatch, n):
    """Have about so many rows calibrate."""
    for name, value in (("LEAST_ROWS", n), ("MOST_NUMBERS", 1), ("LEAST_OF_CLASS", 1)):
        monkeypatch.setattr(_row_draw, name, value)


def test_factors_of_large_tables_come_from_rows_that_are_drawn(monkeypatch, tmp_path):
    X, y = mixed_table(800)
    whole, boosted = clone(MODELS[0]).fit(X, y), clone(MODELS[3]).fit(X, y)
    draw_some(monkeypatch, 500)
    drawn = clone(MODELS[0]).fit(X, y)
    assert (drawn.answer_.root.columns != whole.answer_.root.columns).any()
    np.testing.assert_allclose(drawn.answer_.root.columns, whole.answer_.root.columns, atol=0.5)
    shares = [np.mean(y == label) for label in drawn.classes_]
    np.testing.assert_allclose(drawn.predict_proba(X).mean(axis=0), shares, rtol=0.15)
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    scan = unnaive.scan(tmp_path / "rows.parquet")
    assert_same_model(drawn, clone(MODELS[0]).fit(scan, "label"))
    some = clone(MODELS[3]).fit(X, y)
    assert (some.answer_.root.columns != boosted.answer_.root.columns).any()
    np.testing.assert_allclose(some.answer_.root.columns, boosted.answer_.root.columns, atol=0.5)
    np.testing.assert_allclose(some.predict_proba(X).mean(axis=0), shares, rtol=0.02)
    for model in (MODELS[3], MODELS[-1]):
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
