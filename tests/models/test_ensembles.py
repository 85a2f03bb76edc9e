"""Bagging and boosting around any classifier: twins from the definition, laws and edges."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from helpers import assert_same_model, mixed_table
from unnaive import (
    BaggedClassifier,
    BoostedClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    explain_rows,
)
from unnaive.answer import Calibrated, Pool
from unnaive.bayes.calibrate import fit_calibration
from unnaive.encode.draws import branch_seed, branch_seeds, draw_poisson, lane
from unnaive.models.boosting import _as_fewer_rows
from unnaive.models.ensemble.weighing import GivenRows
from unnaive.models.ensemble.weights import RowWeights
from unnaive.table.records import MemoryRecords

TREE = NBTreeClassifier(max_depth=1, cv=2, calibration="none")
C45 = C45Classifier(calibration="none")
CALIBRATED = C45Classifier(max_depth=3)  # by halves of the rows
GAUSSIAN = NaiveBayesClassifier(numeric="gaussian")


def seed_of(model):
    return int(np.random.RandomState(model.random_state).randint(2**31 - 1))


def draws_of(model, n_rows):
    """How often each bag draws the row at each place."""
    seeds = branch_seeds(branch_seed(seed_of(model), 0), model.n_estimators)
    words = draw_poisson(seeds, np.arange(n_rows), model.max_samples)
    return [lane(words, k).astype(float) for k in range(model.n_estimators)]


def member_seed(model, k):
    seeds = branch_seeds(branch_seed(seed_of(model), 1), model.n_estimators)
    return int(np.random.RandomState(int(seeds[k]) & 0x7FFFFFFF).randint(2**31 - 1))


def by_value(model, X, y):
    """The rows in the order of their places, found by fitting once."""
    members = model._read_members(X, y, None, 0, 1)
    order = np.argsort(members.shared.places)
    return X.iloc[order].reset_index(drop=True), y[order]


@pytest.mark.parametrize("tree", [C45, CALIBRATED, TREE, GAUSSIAN], ids=repr)
def test_bags_equal_members_that_are_fitted_by_hand(tree):
    """Rows that are coded once are the rows as they are read with a bag's weights."""
    model = BaggedClassifier(tree, n_estimators=3, calibration="none", random_state=5)
    X, y = by_value(model, *mixed_table(120))
    model.fit(X, y)
    block = model._open(X).block
    for k, weight in enumerate(draws_of(model, len(y))):
        own = clone(tree)
        if "random_state" in own.get_params():
            own.set_params(random_state=member_seed(model, k))
        expected = own.fit(X, y, sample_weight=weight).predict_proba(X)
        # Thresholds of C4.5 are values of the whole table, between those of rows that were drawn.
        rows = weight > 0 if isinstance(tree, C45Classifier) else slice(None)
        said = model.members_[k].probabilities(block)
        np.testing.assert_allclose(said[rows], expected[rows], atol=1e-12)
        assert model.bag_weights_[k] == weight.sum()
    mean = sum(member.probabilities(block) for member in model.members_) / 3
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)


@pytest.mark.parametrize(("tree", "trim"), [(C45, 0.0), (GAUSSIAN, 0.0), (GAUSSIAN, 0.1)], ids=repr)
def test_boosting_is_its_definition(tree, trim):
    X, y = mixed_table(150)
    model = BoostedClassifier(
        tree, n_estimators=4, learning_rate=0.7, trim=trim, calibration="none"
    ).fit(X, y)
    groups = np.searchsorted(model.classes_, y)
    members = model._read_members(X, y, None, 0, 1)  # weights below one on average stay so
    relative, total, votes = np.ones(len(y)), 0.0, 0.0
    for vote, loss in zip(model.estimator_weights_, model.estimator_errors_, strict=True):
        weight = np.rint(relative * len(y) / relative.sum() * 2**20) * 2.0**-20
        kept = weight.copy()
        for w in np.unique(weight):  # the lightest leave, while all that have left are so light
            if weight[weight <= w].sum() <= trim * weight.sum():
                kept[weight <= w] = 0.0
        n, n_eff = kept.sum(), kept.sum() ** 2 / (kept**2).sum()
        kept *= min(math.sqrt(n * n_eff) / n, 1.0)
        said = members.answers(members.learn(0, np.rint(kept * 2**20) * 2.0**-20), None)
        own = said[np.arange(len(y)), groups]
        mean = (weight * (1 - own)).sum() / weight.sum()
        assert loss == pytest.approx(mean, abs=1e-7)
        assert vote == pytest.approx(math.log((1 - mean) / mean), abs=1e-6)
        relative *= (mean / (1 - mean)) ** (0.7 * own)
        total, votes = total + vote * said, votes + vote
    assert len(model.estimator_weights_) == 4
    np.testing.assert_allclose(model.predict_proba(X), total / votes, atol=1e-6)


def test_unequal_weights_add_up_to_fewer_rows_and_equal_ones_stay():
    given = np.array([1.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(_as_fewer_rows(given, given), given)
    weight = np.array([0.25, 1.75, 2.0, 0.0])
    n_eff = 4.0**2 / (0.25**2 + 1.75**2 + 2 * 1.0**2)
    assert _as_fewer_rows(weight, given).sum() == pytest.approx(math.sqrt(4 * n_eff), abs=1e-5)


@pytest.mark.parametrize("kind", [BaggedClassifier, BoostedClassifier])
@pytest.mark.parametrize("tree", [CALIBRATED, TREE], ids=repr)
def test_the_order_of_rows_does_not_matter(kind, tree):
    X, y = mixed_table(200)
    order = np.random.default_rng(0).permutation(len(y))
    model = kind(tree, n_estimators=2, random_state=0)
    again = clone(model).fit(X.iloc[order], y[order])
    assert_same_model(model.fit(X, y), again)


def test_boosting_takes_a_weight_as_repetition():
    X, y = mixed_table(100)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = BoostedClassifier(C45, n_estimators=3, calibration="none")
    repeated = clone(model).fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight))
    assert_same_model(model.fit(X, y, sample_weight=weight), repeated)


@pytest.mark.parametrize(
    "model",
    [
        BaggedClassifier(TREE, n_estimators=2, oob_score=True, calibration="slope", random_state=0),
        BoostedClassifier(NBTreeClassifier(max_depth=1, cv=2), n_estimators=2, random_state=0),
        BaggedClassifier(GAUSSIAN, n_estimators=2, random_state=0, n_jobs=2),
        BaggedClassifier(
            BoostedClassifier(GAUSSIAN, n_estimators=2), n_estimators=2, random_state=0
        ),
        BoostedClassifier(
            HierarchicalMixtureClassifier(layers=(2,), training="batch", n_sweeps=2),
            n_estimators=2,
            random_state=0,
        ),
        BaggedClassifier(ClassDecompositionClassifier(min_rows=20), n_estimators=2, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*raise n_estimators")
def test_files_give_the_model_of_the_same_rows_in_memory(model, tmp_path):
    X, y = mixed_table(150)
    table = X.assign(label=y)
    for k in range(3):
        table[k * 50 : (k + 1) * 50].to_parquet(tmp_path / f"part{k}.parquet")
    in_memory = pd.concat([pd.read_parquet(tmp_path / f"part{k}.parquet") for k in range(3)])
    in_memory = in_memory.reset_index(drop=True)
    from_files = clone(model).fit(tmp_path, "label")
    assert_same_model(model.fit(in_memory.drop(columns="label"), y), from_files)


def test_rows_are_judged_by_the_members_that_have_not_drawn_them():
    model = BaggedClassifier(
        C45, n_estimators=8, oob_score=True, calibration="slope", random_state=2
    )
    X, y = by_value(model, *mixed_table(80))
    model.fit(X, y)
    draws, members = np.array(draws_of(model, len(y))), model.members_
    block = model._open(X).block
    said = [member.probabilities(block) for member in members]
    out = draws == 0
    expected = np.einsum("br,brc->rc", out, said) / np.maximum(out.sum(axis=0), 1)[:, None]
    expected[~out.any(axis=0)] = np.nan
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)
    known = out.any(axis=0)
    right = model.classes_[expected[known].argmax(axis=1)] == y[known]
    assert model.oob_score_ == pytest.approx(right.mean())
    assert isinstance(model.answer_.root, Calibrated)
    assert len(members) == 8


def test_bags_have_intercepts_by_all_members_and_a_slope_by_rows_that_they_have_not_drawn():
    X, y = mixed_table(300)
    X, y = X[(y != y[0]) | (np.arange(300) < 40)], y[(y != y[0]) | (np.arange(300) < 40)]
    model = BaggedClassifier(GAUSSIAN, n_estimators=12, oob_score=True, random_state=0).fit(X, y)
    node = model.answer_.root
    assert isinstance(node, Calibrated)
    assert node.slope == 1.0
    rows = np.array([(y == c).sum() for c in model.classes_])
    plain = clone(model).set_params(calibration="none").fit(X, y)
    assert isinstance(plain.answer_.root, Pool)
    sloped = clone(model).set_params(calibration="slope").fit(X, y)
    judged = ~np.isnan(sloped.oob_decision_function_[:, 0])
    groups = np.searchsorted(model.classes_, y[judged])
    found = fit_calibration(np.log(sloped.oob_decision_function_[judged]), groups)
    assert sloped.answer_.root.slope == pytest.approx(found.slope, rel=1e-6)
    said = np.log(plain.predict_proba(X))
    for one in (model, sloped):
        shares = one.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=0), rows, rtol=1e-3)
        expected = softmax(one.answer_.root.slope * said + one.answer_.root.intercept, axis=1)
        np.testing.assert_allclose(shares, expected, atol=1e-9)


def test_every_member_knows_every_class():
    X = pd.DataFrame({"a": np.arange(40.0), "b": list("xyzw") * 10})
    y = np.array(["rare", *["common"] * 39])
    for tree in (C45, GAUSSIAN):
        model = BaggedClassifier(tree, n_estimators=12, random_state=0).fit(X, y)
        assert all(member.root.n_outputs == 2 for member in model.members_)
        assert model.predict_proba(X).shape == (40, 2)


@pytest.mark.parametrize(
    "member",
    [
        NaiveBayesClassifier(numeric="kernel"),
        FlexibleNBTreeClassifier(max_depth=1, cv=2),
        NBTreeClassifier(discretize="global", max_depth=1, cv=2),
        HierarchicalMixtureClassifier(layers=(2,), training="batch", n_sweeps=2),
        ClassDecompositionClassifier(min_rows=60),
        BaggedClassifier(C45, n_estimators=2),
    ],
    ids=repr,
)
def test_members_of_all_kinds_answer_together(member):
    X, y = mixed_table(100)
    for kind in (BaggedClassifier, BoostedClassifier):
        model = kind(member, n_estimators=2, calibration="none", random_state=0).fit(X, y)
        pool = model.answer_.core
        assert isinstance(pool, Pool)
        mean = sum(
            share * own.probabilities(model._open(X).block)
            for share, own in zip(pool.shares, model.members_, strict=True)
        )
        np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
        why = model.evidence(X)
        assert why.terms == list(pool.names)
        np.testing.assert_allclose(why.total(), mean, atol=1e-12)


def test_ten_trees_are_more_often_right_than_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=900) > 0).astype(int)
    train, test = slice(0, 400), slice(400, 900)
    one = C45.fit(X[train], y[train]).score(X[test], y[test])
    for kind in (BaggedClassifier, BoostedClassifier):
        many = kind(C45, random_state=0).fit(X[train], y[train])
        assert many.score(X[test], y[test]) > one


def test_a_first_round_that_loses_half_answers_alone():
    X = pd.DataFrame({"a": ["x"] * 40})
    y = np.array([0, 1, 2, 3] * 10)
    model = BoostedClassifier(C45, n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.estimator_weights_, [1.0])
    np.testing.assert_allclose(model.predict_proba(X), 0.25)


def test_without_draws_every_member_has_all_rows():
    X, y = mixed_table(100)
    model = BaggedClassifier(C45, n_estimators=2, bootstrap=False).fit(X, y)
    np.testing.assert_array_equal(model.bag_weights_, [100, 100])
    alone = C45.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), alone, atol=1e-15)


def test_parts_of_a_row_are_those_of_the_members_that_answer_for_it():
    X, y = mixed_table(150)
    model = BaggedClassifier(TREE, n_estimators=3, calibration="none", random_state=0).fit(X, y)
    row = explain_rows(model, X[:1])[0]
    owners = [piece.part.split(", ")[0] for piece in row.pieces]
    assert owners == ["bag 0", "bag 1", "bag 2"]
    assert [piece.share for piece in row.pieces] == pytest.approx([1 / 3] * 3)
    mean = sum(piece.share * softmax(piece.joint) for piece in row.pieces)
    np.testing.assert_allclose(mean, model.predict_proba(X[:1])[0], atol=1e-12)


def test_one_class_only():
    X, _ = mixed_table(30)
    for model in (BaggedClassifier(C45), BoostedClassifier(C45)):
        np.testing.assert_allclose(model.fit(X, ["yes"] * 30).predict_proba(X), 1, rtol=1e-12)


def test_mean_losses_are_exact_sums_over_rows():
    rng = np.random.default_rng(0)
    own, given = rng.random(1000), rng.integers(1, 4, 1000).astype(float)
    weights = RowWeights(MemoryRecords([GivenRows(given, np.arange(1000))]), given.sum())
    parts = np.array_split(rng.permutation(1000), 3)
    records = MemoryRecords([GivenRows(given[part], part) for part in parts])
    other = RowWeights(records, given.sum())
    loss = math.fsum(given * (1 - own)) / given.sum()

    def say(rows):
        return lambda part: (own[rows.row_ids[part]], None)

    assert weights.judge(say) == loss
    assert other.judge(say) == loss


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BaggedClassifier(LogisticRegression()), "estimator must be a classifier of this library"),
        (BoostedClassifier("nbtree"), "estimator must be a classifier of this library"),
        (BaggedClassifier(NBTreeClassifier(alpha=-1)), "alpha must be a number"),
        (BaggedClassifier(n_estimators=0), "n_estimators must be a whole number, 1 or more; got 0"),
        (BaggedClassifier(max_samples=0), "max_samples must be more than 0"),
        (BaggedClassifier(calibration="x"), "calibration must be 'none' or 'slope' or 'intercept'"),
        (BaggedClassifier(bootstrap=False, oob_score=True), "oob_score=True needs bootstrap=True"),
        (
            BaggedClassifier(bootstrap=False, calibration="slope"),
            "calibration='slope' needs bootstrap=True",
        ),
        (BoostedClassifier(learning_rate=0), "learning_rate must be a number"),
        (BoostedClassifier(trim=0.6), "trim must be a number, from 0 to 0.5; got 0.6"),
        (
            BaggedClassifier(ClassDecompositionClassifier(DecisionTreeClassifier(), min_rows=1000)),
            "built around a classifier of another library",
        ),
    ],
)
def test_errors_say_what_to_do(model, words):
    X, y = mixed_table(40)
    numbers = X[["age", "income"]].fillna(0.0)
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(numbers, y)
