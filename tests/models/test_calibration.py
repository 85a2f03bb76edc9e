"""Probabilities that mean what they say: calibration against its definition, and base rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

from helpers import assert_same_model, mixed_table
from registry import CHOOSERS, CLASSIFIERS, META
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    merge,
)
from unnaive.answer import Ensemble
from unnaive.bayes import calibration
from unnaive.bayes.calibration import (
    COLUMN_RIDGE,
    INTERCEPT_RIDGE,
    MIN_SLOPE,
    SLOPE_RIDGE,
    VALUE_RIDGE,
    HeldOut,
    Slots,
    fit_calibration,
)
from unnaive.common.registry import family

FAMILY = family()
MODELS = [
    NaiveBayesClassifier(calibration="slope"),
    NBTreeClassifier(random_state=0),
    FlexibleNBTreeClassifier(random_state=0),
    BoostedNaiveBayesClassifier(),
    BoostedNaiveBayesClassifier(algorithm="m1", random_state=0),
    BaggedNaiveBayesClassifier(random_state=0),
    HierarchicalMixtureClassifier(random_state=0),
    ClassDecompositionClassifier(random_state=0),
    C45Classifier(),
]
each = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def scores_of(seed, n=400, n_classes=3):
    """Scores that are too sure, and the classes of their rows."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), groups] += 1.0
    return 3.0 * scores, groups


def evidence_of(seed, n=500, n_columns=4, n_classes=3):
    """A start and the evidence of columns, the last of which says the opposite of the truth."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_classes, n)
    logs = rng.normal(size=(n, 1 + n_columns, n_classes))
    strength = np.append(np.linspace(0.2, 1.5, n_columns - 1), -1.0)
    logs[np.arange(n), 1:, groups] += strength
    logs[:, 0] *= 0.01
    return logs, groups


def penalised(z, groups, weight, shifts):
    own = logsumexp(z, axis=1) - z[np.arange(len(z)), groups]
    return weight @ own + 0.5 * INTERCEPT_RIDGE * (shifts**2).sum()


def log_shares(groups, weight, n_classes):
    share = np.bincount(groups, weight, n_classes)
    return np.log(share / share.sum())


def slope_twin(scores, groups, weight):
    """The definition, minimized by another method."""
    n_classes = scores.shape[1]
    base = log_shares(groups, weight, n_classes)

    def loss(point):
        z = base + point[0] * (scores - base) + point[1:]
        return penalised(z, groups, weight, point[1:]) + 0.5 * SLOPE_RIDGE * (point[0] - 1) ** 2

    point = minimize(loss, np.zeros(n_classes + 1), method="BFGS", options={"gtol": 1e-6}).x
    return point[0], (1 - point[0]) * base + point[1:]


def columns_twin(logs, groups, weight):
    n_factors, n_classes = logs.shape[1:]
    base = log_shares(groups, weight, n_classes)
    evidence = logs.copy()
    evidence[:, 0] -= base
    slope = fit_calibration(HeldOut(logs.sum(axis=1), groups, weight)).slope

    def loss(point):
        factors, shifts = point[:n_factors], point[n_factors:]
        z = base + np.einsum("ijc,j->ic", evidence, factors) + shifts
        pull = COLUMN_RIDGE * ((factors - slope) ** 2).sum()
        return penalised(z, groups, weight, shifts) + 0.5 * pull

    start = np.concatenate((np.full(n_factors, slope), np.zeros(n_classes)))
    bounds = [(MIN_SLOPE, None)] * n_factors + [(None, None)] * n_classes
    return minimize(loss, start, method="L-BFGS-B", bounds=bounds, tol=1e-12).x


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slope_and_intercepts_are_the_most_probable(n_classes):
    scores, groups = scores_of(n_classes, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    found = fit_calibration(HeldOut(scores, groups, weight))
    slope, intercept = slope_twin(scores, groups, weight)
    assert found.slope == pytest.approx(slope, abs=1e-3)
    np.testing.assert_allclose(found.intercept, intercept, atol=1e-2)
    assert found.slope < 0.6  # the scores are three times too sure


@pytest.mark.parametrize("n_classes", [2, 4])
def test_factors_are_the_most_probable(n_classes):
    logs, groups = evidence_of(n_classes, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    found = fit_calibration(HeldOut(logs, groups, weight), "columns")
    expected = columns_twin(logs, groups, weight)
    assert found.slope == pytest.approx(expected[0], abs=2e-3)
    np.testing.assert_allclose(found.columns, expected[1 : logs.shape[1]], atol=2e-3)
    assert found.columns[-1] == MIN_SLOPE  # evidence against the classes is switched off
    assert (np.diff(found.columns[:-1]) > 0).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_offsets_of_values_are_the_most_probable(n_classes):
    logs, groups = evidence_of(n_classes, 400, 2, n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    rng = np.random.default_rng(n_classes)
    told = (groups[:, None] + rng.integers(0, 2, (400, 2))) % n_classes
    codes = np.where(rng.random((400, 2)) < 0.1, -1, told)
    slots = Slots(codes, [n_classes + 1] * 2)
    found = fit_calibration(HeldOut(logs, groups, weight), "values", slots=slots)
    base = np.einsum("itc,t->ic", logs, np.append(found.slope, found.columns))
    of_base = (1 - found.slope) * log_shares(groups, weight, n_classes)

    def loss(point):
        offsets, shift = point[:-n_classes].reshape(2, -1, n_classes), point[-n_classes:]
        z = base + shift
        for j, offset in enumerate(offsets):
            z = z + np.where((codes[:, j] >= 0)[:, None], offset[codes[:, j]], 0.0)
        pull = VALUE_RIDGE * 2 * (point[:-n_classes] ** 2).sum()
        return penalised(z, groups, weight, shift - of_base) + 0.5 * pull

    n_values = 2 * (n_classes + 1) * n_classes
    least = minimize(loss, np.zeros(n_values + n_classes), method="L-BFGS-B", tol=1e-12).fun
    at = np.concatenate((np.ravel(found.values), found.intercept))
    assert loss(at) <= least * (1 + 1e-4)
    assert not found.values[0][-1].any()  # no row is in this slot


def test_many_classes_keep_their_shares():
    scores, groups = scores_of(1, n=3000, n_classes=70)
    found = fit_calibration(HeldOut(scores, groups, np.ones(3000)))
    calibrated = softmax(found.slope * scores + found.intercept, axis=1)
    expected = np.bincount(groups, minlength=70)
    np.testing.assert_allclose(calibrated.sum(axis=0), expected, rtol=0.05, atol=0.5)


def test_calibration_does_not_depend_on_order_and_weight_is_repetition():
    logs, groups = evidence_of(0, n=2000)
    weight = np.random.default_rng(1).integers(0, 3, len(groups)).astype(float)
    rows = np.repeat(np.arange(len(groups)), weight.astype(int))
    order = np.random.default_rng(2).permutation(rows)
    one = fit_calibration(HeldOut(logs, groups, weight), "columns")
    other = fit_calibration(HeldOut(logs[order], groups[order], np.ones(len(order))), "columns")
    np.testing.assert_allclose(one.columns, other.columns, rtol=1e-4)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-4)


def test_a_known_slope_stays():
    scores, groups = scores_of(0)
    found = fit_calibration(HeldOut(scores, groups, np.ones(400)), slope=1.0)
    assert found.slope == 1.0
    shares = softmax(scores + found.intercept, axis=1).mean(axis=0)
    np.testing.assert_allclose(shares, np.bincount(groups) / 400, rtol=0.02)


def test_more_columns_than_rows_share_the_slope():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 60)
    logs = rng.normal(size=(60, 80, 2)) + 0.2 * np.eye(2)[groups][:, None]
    many = fit_calibration(HeldOut(logs, groups, np.ones(60)), "columns")
    assert (many.columns == many.slope).all()
    few = fit_calibration(HeldOut(logs[:, :20], groups, np.ones(60)), "columns")
    assert len(np.unique(few.columns)) == 19


def test_evidence_against_the_classes_is_nearly_switched_off():
    scores, groups = scores_of(0, n_classes=2)
    found = fit_calibration(HeldOut(-scores, groups, np.ones(400)))
    assert found.slope == MIN_SLOPE
    shares = softmax(found.slope * -scores + found.intercept, axis=1).mean(axis=0)
    np.testing.assert_allclose(shares, np.bincount(groups) / len(groups), rtol=1e-2)


@each
def test_a_column_that_repeats_others_makes_nobody_surer(model):
    X, y = mixed_table(600, classes=2)
    copies = X.assign(**{f"copy {k}": X["plan"] for k in range(6)})
    once, again = (clone(model).fit(table, y).predict_proba(table) for table in (X, copies))
    entropy = [-(p * np.log(np.maximum(p, 1e-300))).sum(axis=1).mean() for p in (once, again)]
    assert entropy[1] > 0.6 * entropy[0]


@pytest.mark.parametrize(
    "model",
    [
        *MODELS[1:],
        BoostedNaiveBayesClassifier(algorithm="m1"),
        BoostedNaiveBayesClassifier(algorithm="samme"),
    ],
    ids=repr,
)
def test_base_rates_are_never_shrunk(model):
    X, y = pd.DataFrame({"a": ["x"] * 1000}), [1] * 10 + [0] * 990
    assert clone(model).fit(X, y).predict_proba(X[:1])[0, 1] == pytest.approx(0.01, rel=0.1)


def test_boosting_begins_with_the_classes_shares_before_any_calibration():
    X, y = pd.DataFrame({"a": ["x"] * 1000}), [1] * 10 + [0] * 990
    model = BoostedNaiveBayesClassifier(calibration="none").fit(X, y)
    assert model.predict_proba(X[:1])[0, 1] == pytest.approx(0.01, rel=1e-6)


def seeded(model):
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def rare_table(seed, n):
    """Overlapping classes, two of them rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(4, n, p=[0.005, 0.02, 0.275, 0.7])
    X = pd.DataFrame({"a": rng.normal(size=n) + y, "b": rng.integers(0, 4, n) + y})
    X["c"] = pd.Series(rng.integers(0, 3, n) + y).astype(str)
    return X.assign(d=rng.normal(size=n)), y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_base_rates_of_new_rows_are_right_within_sampling_error(model):
    X, y = rare_table(0, 3000)
    new, _ = rare_table(1, 30_000)
    found = clone(model).fit(X, y).predict_proba(new).mean(axis=0)
    share = np.bincount(y) / len(y)
    error = np.sqrt(share * (1 - share) / len(y))
    assert (np.abs(found - share) < 3 * error + 0.02 * share).all(), (found, share)


@pytest.mark.parametrize("name", [*FAMILY])
@pytest.mark.parametrize("odds", [10, 100])
def test_every_model_knows_more_than_the_prior(name, odds):
    """One informative normal column, before rows that the model has not seen."""
    model = seeded(FAMILY[name].make())
    if isinstance(model, NaiveBayesClassifier):
        model.set_params(calibration="slope")
    rng = np.random.default_rng(odds)
    y = (np.arange(6000) % odds == 0).astype(int)
    X, new = (pd.DataFrame({"x": rng.normal(size=len(y)) + 1.5 * y}) for _ in range(2))
    found = model.fit(X, y).predict_proba(new)
    prior = log_loss(y, np.tile([1 - y.mean(), y.mean()], (len(y), 1)))
    assert log_loss(y, found) < prior + 1e-5  # C4.5 may find no test that is worth it
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)


def wide_table(n, n_columns, n_classes, seed, size=20):
    """Blocks of correlated columns, few of which differ between the classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    blocks = rng.normal(size=(n, n_columns // size))
    effects = rng.normal(size=(n_classes, n_columns // size))
    blocks += (effects * (rng.random(effects.shape) < 0.15))[y]
    return np.repeat(blocks, size, axis=1) + rng.normal(size=(n, n_columns)), y


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(calibration="slope"),
        NaiveBayesClassifier(calibration="columns"),
        NBTreeClassifier(random_state=0, max_features=8),
        BoostedNaiveBayesClassifier(random_state=0, n_estimators=5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 6])
def test_wide_tables_are_not_believed_too_much(model, n_classes):
    """Cuts that are chosen with a row's label would make its evidence look sure."""
    X, y = wide_table(240, 400, n_classes, n_classes)
    train, test = slice(0, 160), slice(160, 240)
    proba = clone(model).fit(X[train], y[train]).predict_proba(X[test])
    share = np.bincount(y[train]) / 160
    assert log_loss(y[test], proba) < log_loss(y[test], np.tile(share, (80, 1)))


@pytest.mark.parametrize("seed", range(12))
def test_heavy_weights_are_calibrated(seed):
    rng = np.random.default_rng(seed)
    n, k, d = rng.choice([50, 200, 1000]), rng.integers(2, 5), rng.choice([6, 8, 12])
    y = rng.integers(0, k, n)
    signal = rng.choice([2, 4, 8]) * y[:, None] * (rng.random((n, d)) < 0.7)
    X, weight = np.round(rng.normal(size=(n, d)) + signal, 1), rng.integers(1, 3000, n)
    for model in (NaiveBayesClassifier(calibration="columns"), BoostedNaiveBayesClassifier()):
        proba = model.fit(X, y, weight).predict_proba(X)
        share = np.bincount(y, weight) / weight.sum()
        assert np.isfinite(proba).all()
        own = proba[np.arange(n), np.searchsorted(model.classes_, y)]
        assert weight @ np.log(own) > weight @ np.log(share[y])


@each
def test_an_interrupted_refit_leaves_the_model_as_it_was(model, monkeypatch):
    X, y = mixed_table(200)
    fitted = clone(model).fit(X, y)
    before = fitted.predict_proba(X)
    monkeypatch.setattr(calibration, "minimize", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fitted.fit(X.iloc[:100, :2], y[:100])
    assert fitted.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


def test_each_row_is_judged_without_itself():
    """By naive Bayes that was fitted on all other rows, but for the prior's pooled row."""
    X = pd.DataFrame({"a": list("ppqqqrrp"), "b": list("xyxyxxyy")})
    y = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    model = NaiveBayesClassifier().fit(X, y)
    left = model._leave_one_out(model.answer_.root).scorer
    block = model._open(X).map(lambda block: block)
    bars = left.evidence(block)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        alone = NaiveBayesClassifier().fit(X[others], y[others])
        expected = alone.evidence(X[i : i + 1]).contributions[0, :, y[i]]
        if set(X["a"]) == set(X["a"][others]):
            np.testing.assert_allclose(bars[i, :, y[i]], expected, rtol=1e-12)


def test_naive_bayes_is_calibrated_by_a_pass_of_its_own():
    X, y = mixed_table(500)
    at_once = NaiveBayesClassifier(calibration="slope").fit(X, y)
    later = NaiveBayesClassifier().fit(X, y)
    assert_same_model(at_once, later.calibrate(X, y).set_params(calibration="slope"))
    assert later.answer_.root.slope != 1.0
    again = clone(later).fit(X, y).calibrate(X, y)  # not on top of the first
    assert_same_model(at_once, again)
    halves = [
        NaiveBayesClassifier().fit(X[part], y[part]) for part in (slice(250), slice(250, 500))
    ]
    merged = merge(halves)
    assert merged.answer_.root.slope == 1.0
    assert_same_model(later, merged.calibrate(X, y).set_params(calibration="slope"))
    fresh = NaiveBayesClassifier().fit(X[:250], y[:250]).calibrate(X[250:], y[250:], seen=False)
    assert 0 < fresh.answer_.root.slope < 2


def test_priors_that_are_given_stay_the_priors():
    X, y = pd.DataFrame({"a": ["x"] * 100}), [1] * 20 + [0] * 80
    model = NaiveBayesClassifier(priors=[0.5, 0.5], calibration="slope").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.5, 0.5]], atol=1e-2)


def test_calibration_needs_the_sums_and_known_classes():
    X, y = mixed_table(60)
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(ValueError, match="'new'"):
        model.calibrate(X, np.where(y == "no", "new", y))
    model.compact()
    with pytest.raises(ValueError, match="cannot be calibrated any more"):
        model.calibrate(X, y)
    with pytest.raises(ValueError, match="calibration must be 'none' or 'slope'; got 'platt'"):
        BaggedNaiveBayesClassifier(calibration="platt").fit(X, y)


def test_evidence_that_adds_up_stays_a_table_and_other_answers_are_wrapped():
    X, y = mixed_table(200)
    roots = [clone(model).fit(X, y).answer_.root for model in MODELS]
    kinds = [isinstance(root, Ensemble) and root.names == ("model",) for root in roots]
    assert kinds == [False] * 4 + [True] * 4 + [False]


def unseen_values():
    X, y = mixed_table(120)
    X.loc[:3, "city"], X.loc[5:9, "age"] = "never seen", np.nan
    return X[10:], y[10:], X, y


def few_rows_and_extremes():
    """A class of one row; columns that are constant, empty, far apart or all different."""
    y = np.array(["a"] * 8 + ["b"] * 7 + ["c"])
    values = np.arange(16.0)
    X = pd.DataFrame(
        {
            "constant": 1.0,
            "empty": np.nan,
            "far": np.where(values == 3, 1e150, -values),
            "near": 1.0 + values * 2.0**-50,
            "name": [f"row {k}" for k in range(16)],
        }
    )
    return X, y, pd.concat((X, X.assign(far=-1e150, name=None))), np.concatenate((y, y))


@pytest.mark.parametrize("table", [unseen_values, few_rows_and_extremes])
@pytest.mark.parametrize("model", [*CLASSIFIERS, *META, *CHOOSERS], ids=repr)
@pytest.mark.filterwarnings("ignore::UserWarning")  # what is wrong in such a table
def test_probabilities_are_probabilities(model, table):
    """Within 0 and 1, and with a sum of 1, so that no measure of scikit-learn refuses them."""
    X, y, new, target = table()
    shares = clone(model).fit(X, y).predict_proba(new)
    assert shares.min() >= 0
    assert shares.max() <= 1
    assert np.abs(shares.sum(axis=1) - 1).max() <= 1e-15 * shares.shape[1]
    assert np.isfinite(log_loss(target, shares, labels=np.unique(y)))


@pytest.mark.parametrize("n_values", [1, 2])
@each
def test_a_column_may_be_empty_in_an_inner_fold(model, n_values):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(1)
    X[:, 2] = np.nan
    X[:n_values, 2] = 1.0
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    assert np.isfinite(clone(model).fit(X, y).predict_proba(X)).all()
