"""Probabilities that mean what they say: calibration against its definition, and base rates."""

from __future__ import annotations

from dataclasses import replace

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
from unnaive.answer import Calibrated
from unnaive.bayes.calibrate import (
    LEAST_SLOPE,
    RIDGE,
    SHIFT_RIDGE,
    Calibration,
    fit_calibration,
    fit_columns,
)
from unnaive.estimator.registry import family
from unnaive.models import _row_draw
from unnaive.models._judged_rows import FEW, HELD, RARE, JudgedRows, match_rare
from unnaive.table.records import MemoryRecords, whole_record

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


def twin(scores, groups, weight):
    """The definition, minimized by another method."""
    n, n_classes = scores.shape
    share = np.bincount(groups, weight, n_classes)
    base = np.log(share / share.sum())

    def loss(point):
        z = base + point[0] * (scores - base) + point[1:]
        own = logsumexp(z, axis=1) - z[np.arange(n), groups]
        pull = RIDGE * (point[0] - 1) ** 2 + SHIFT_RIDGE * (point[1:] ** 2).sum()
        return weight @ own + 0.5 * pull

    start = np.zeros(n_classes + 1)
    point = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x
    return point[0], (1 - point[0]) * base + point[1:]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slope_and_intercepts_are_the_most_probable(n_classes):
    scores, groups = scores_of(n_classes, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(groups)).astype(float)
    found = fit_calibration(scores, groups, weight)
    slope, intercept = twin(scores, groups, weight)
    assert found.slope == pytest.approx(slope, abs=1e-4)
    np.testing.assert_allclose(found.intercept, intercept, atol=1e-3)
    assert found.slope < 0.6  # the scores are three times too sure


def test_many_classes_come_to_the_same_point():
    """Beyond a number of classes steps are shorter, but lead there."""
    scores, groups = scores_of(1, n=3000, n_classes=70)
    found = fit_calibration(scores, groups)
    calibrated = softmax(found.slope * scores + found.intercept, axis=1)
    expected = np.bincount(groups, minlength=70)
    np.testing.assert_allclose(calibrated.sum(axis=0), expected, rtol=0.02, atol=0.2)


def test_calibration_knows_neither_order_nor_threads_and_weight_is_repetition():
    scores, groups = scores_of(0, n=150_000, n_classes=2)
    weight = np.random.default_rng(1).integers(0, 3, len(groups)).astype(float)
    order = np.random.default_rng(2).permutation(
        np.repeat(np.arange(len(groups)), weight.astype(int))
    )
    one = fit_calibration(scores, groups, weight)
    other = fit_calibration(scores[order], groups[order], n_jobs=2)
    assert one.slope == other.slope
    assert (one.intercept == other.intercept).all()


def test_more_columns_than_rows_can_tell_apart_share_the_slope():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 60)
    logs = rng.normal(size=(60, 80, 2)) + 0.2 * np.eye(2)[groups][:, None]
    shared = fit_calibration(logs, groups)
    many = fit_columns(logs, groups, np.ones(60))
    assert many.slope == shared.slope
    assert (many.columns == shared.slope).all()
    np.testing.assert_array_equal(many.intercept, shared.intercept)
    few = fit_columns(logs[:, :20], groups, np.ones(60))
    assert len(np.unique(few.columns)) == 19


def test_evidence_against_the_classes_is_nearly_switched_off():
    scores, groups = scores_of(0, n_classes=2)
    found = fit_calibration(-scores, groups)
    assert found.slope == LEAST_SLOPE
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
    assert clone(model).fit(X, y).predict_proba(X[:1])[0, 1] == pytest.approx(0.01, rel=0.01)


def test_boosting_begins_with_the_classes_shares_before_any_calibration():
    X, y = pd.DataFrame({"a": ["x"] * 1000}), [1] * 10 + [0] * 990
    model = BoostedNaiveBayesClassifier(calibration="none").fit(X, y)
    assert model.predict_proba(X[:1])[0, 1] == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: type(model).__name__)
def test_rare_classes_are_as_probable_as_they_are_frequent(model):
    rng = np.random.default_rng(0)
    y = (np.arange(30_000) % 1000 == 0).astype(int)
    X = pd.DataFrame({"x": rng.normal(size=len(y)) + y})
    found = clone(model).fit(X, y).predict_proba(X)
    prior = log_loss(y, np.tile([1 - y.mean(), y.mean()], (len(y), 1)))
    assert log_loss(y, found) < prior + 1e-9  # C4.5 finds no test that is worth it
    assert found[:, 1].mean() == pytest.approx(y.mean(), rel=0.03)


SIZES = (3, 10, 40, 400)
CALIBRATED = [
    *(member.make() for member in FAMILY.values() if member.estimator is not NaiveBayesClassifier),
    *(
        NaiveBayesClassifier(numeric=numeric, calibration=way)
        for numeric in ("mdl", "gaussian", "kernel")
        for way in ("slope", "columns")
    ),
    *(BoostedNaiveBayesClassifier(algorithm=name) for name in ("probability", "m1", "samme")),
    *(BoostedNaiveBayesClassifier(calibration=way) for way in ("slope", "columns")),
    BaggedNaiveBayesClassifier(voting="hard"),
    ClassDecompositionClassifier(C45Classifier()),
    NBTreeClassifier(calibration="slope"),
    HierarchicalMixtureClassifier(layers=(2, 2), training="batch"),
]


def seeded(model):
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def rare_table(seed, sizes=SIZES):
    """Classes of so many rows that overlap, in any order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = pd.DataFrame({"a": rng.normal(size=len(y)) + y, "b": rng.integers(0, 4, len(y)) + y})
    X["c"] = pd.Series(rng.integers(0, 3, len(y)) + y).astype(str)
    return X.assign(d=rng.normal(size=len(y))), y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", CALIBRATED, ids=repr)
def test_classes_of_few_rows_have_their_share_of_the_training_rows(model, seed):
    """Though rows that are left out, or out of bag, find them rarer."""
    X, y = rare_table(seed)
    found = seeded(clone(model)).fit(X, y).predict_proba(X).sum(axis=0)
    np.testing.assert_allclose(found, SIZES, rtol=0.01)


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(calibration="columns"),
        NaiveBayesClassifier(numeric="gaussian", calibration="slope"),
        NBTreeClassifier(),
        BoostedNaiveBayesClassifier(),
        BoostedNaiveBayesClassifier(calibration="columns"),
        BoostedNaiveBayesClassifier(algorithm="m1"),
        BaggedNaiveBayesClassifier(),
    ],
    ids=repr,
)
def test_so_they_have_where_some_rows_calibrate(model, monkeypatch):
    """Few rows have their evidence kept by column, or are asked of bags; all say base rates."""
    few = {"MOST_NUMBERS": 1 << 13, "LEAST_ROWS": 256, "LEAST_OF_CLASS": 16}
    few |= {"FEW_ROWS": 256, "FEW_OF_CLASS": 8, "PER_PARAMETER": 4}
    for name, rows in few.items():
        monkeypatch.setattr(_row_draw, name, rows)
    for sizes in ((3, 10, 40, 1200), (520, 600, 800)):
        X, y = rare_table(0, sizes)
        found = seeded(clone(model)).fit(X, y).predict_proba(X).sum(axis=0)
        np.testing.assert_allclose(found, sizes, rtol=0.01)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_one_or_two_rows_of_a_class_say_less(model):
    X, y = rare_table(1, (2, 200, 400))
    found = clone(model).fit(X, y).predict_proba(X).sum(axis=0)
    assert found[0] == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(found[1:], [200, 400], rtol=0.01)


def test_base_rates_of_counted_rows_are_matched_by_the_definition():
    """Intercepts alone, by scores of the model that has counted the rows, column by column."""
    scores, groups = scores_of(3)
    rng = np.random.default_rng(0)
    by_column = np.stack((0.2 * scores, 0.5 * scores, 0.3 * scores + 0.1), axis=1)
    counted = by_column[np.arange(len(groups)), :, groups] + rng.random((len(groups), 3))
    rows = JudgedRows(by_column, groups, np.ones(len(groups)), counted=counted)
    totals = np.bincount(groups).astype(float)
    start = Calibration(0.8, np.array([0.1, 0.2, 0.3]), np.array([0.6, 0.7]))
    found = rows.match(start, totals)
    factors = np.array([0.8, 0.6, 0.7])
    z = np.einsum("ijc,j->ic", by_column, factors)
    z[np.arange(len(groups)), groups] = counted @ factors
    shares = softmax(z + found.intercept, axis=1).sum(axis=0)
    np.testing.assert_allclose(shares, totals, rtol=0.001)
    assert rows.match(found, totals).intercept == pytest.approx(found.intercept, abs=0.01)
    bare = replace(rows, counted=None)
    assert bare.match(found, totals) is found  # of rows that were not counted nothing is known
    part = rows.match(start, np.array([10, 1000, 1000]))  # one class is rare, the others stay
    assert (part.intercept[1:] == start.intercept[1:]).all()
    shares = softmax(z + part.intercept, axis=1).sum(axis=0)
    assert shares[0] == pytest.approx(totals[0], rel=0.001)
    single = rows.match(start, np.array([1, 1000, 1000]))  # which says less
    assert abs(single.intercept[0] - start.intercept[0]) < abs(
        part.intercept[0] - start.intercept[0]
    )


def faint_rows(seed, n=3000):
    """Scores of rows in most of which the two rare classes, of about 8 and 25 rows, are faint."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(4, n, p=[8 / n, 25 / n, 0.4, 0.6 - 33 / n])
    scores = rng.normal(0.0, 4.0, (n, 4)) - [12.0, 9.0, 0.0, 0.0]
    scores[np.arange(n), groups] += 8.0
    return JudgedRows(scores, groups, rng.integers(1, 3, n).astype(float))


@pytest.mark.parametrize("seed", range(3))
def test_rare_classes_are_matched_by_the_definition(seed):
    """Though rows in which they are faint count as one, and farther ones not at all."""
    rows = faint_rows(seed)
    totals = np.bincount(rows.groups, rows.weight, 4)
    rare, start = totals < RARE, Calibration(0.7, np.array([0.5, -0.5, 0.1, 0.2]))
    assert rare.tolist() == [True, True, False, False]
    z = start.slope * rows.scores + start.intercept
    own = z[np.arange(len(z)), rows.groups]
    ridge = HELD * np.maximum(FEW / totals[rare], 1.0) ** 3

    def loss(shift):
        moved = z + np.array([*shift, 0.0, 0.0])
        gain = own + np.array([*shift, 0.0, 0.0])[rows.groups]
        return rows.weight @ (logsumexp(moved, axis=1) - gain) + 0.5 * ridge @ shift**2

    shift = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-7}).x
    records = MemoryRecords([rows])
    found = match_rare(records, whole_record, start, totals)
    np.testing.assert_allclose(found.intercept - start.intercept, [*shift, 0, 0], atol=1e-3)
    shares = rows.weight @ softmax(start.slope * rows.scores + found.intercept, axis=1)
    np.testing.assert_allclose(shares[:2], totals[:2], rtol=0.01)
    (kept,) = records.states  # rows in which rare classes have a say
    assert len(kept.groups) < 0.5 * len(rows.groups)


def test_rare_classes_know_neither_order_nor_parts_nor_threads():
    rows = faint_rows(0)
    totals = np.bincount(rows.groups, rows.weight, 4)
    start, order = Calibration(0.7, np.zeros(4)), np.random.default_rng(0).permutation(3000)
    whole = match_rare(MemoryRecords([rows]), whole_record, start, totals).intercept
    for cuts in ([], [10, 1000]):
        parts = [rows.take(part) for part in np.split(order, cuts)]
        records = MemoryRecords(parts)
        again = match_rare(records, whole_record, start, totals, n_jobs=2).intercept
        np.testing.assert_array_equal(whole, again)


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
    assert log_loss(y, found) < prior
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.01)


def test_each_row_is_judged_without_itself():
    """By naive Bayes that was fitted on all other rows, but for the prior's pooled row."""
    X = pd.DataFrame({"a": list("ppqqqrrp"), "b": list("xyxyxxyy")})
    y = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    model = NaiveBayesClassifier().fit(X, y)
    left = model._without_one().scorer
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
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.5, 0.5]], atol=1e-3)


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
    kinds = [isinstance(clone(model).fit(X, y).answer_.root, Calibrated) for model in MODELS]
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
