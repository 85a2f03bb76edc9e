"""NBTree grows the paper's tree, and answers as its nodes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import KFold

import reference
from helpers import (
    assert_is_twin,
    assert_order_and_repetition_do_not_matter,
    assert_same_model,
    folds_and_splits,
    grow_twin,
    interactions,
    mixed_table,
)
from unnaive import (
    FlexibleNBTreeClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
)
from unnaive.models.coded import exact_weights

BOTH = (NBTreeClassifier, FlexibleNBTreeClassifier)


def twin_of(model, X, y, weights, folds):
    given = {"alpha": model.alpha, "significance": model.significance}
    return grow_twin(reference.NBTree, X, y, weights, folds, **given)


@pytest.mark.parametrize("seed", range(24))
def test_the_tree_is_the_twins_node_for_node(seed):
    X, y, weights = interactions(seed)
    folds, splits = folds_and_splits(len(y), 5, seed)
    model = NBTreeClassifier(
        cv=splits, alpha=(0.0, 0.5)[seed % 5 == 0], significance=(None, 0.05)[seed % 2]
    )
    model.fit(X, y, sample_weight=weights)
    assert_is_twin(model.tree_, 0, twin_of(model, X, y, weights, folds))


def test_most_of_these_trees_have_three_inner_nodes_or_more():
    inner = []
    for seed in range(24):
        X, y, weights = interactions(seed)
        _, splits = folds_and_splits(len(y), 5, seed)
        for significance in (None, 0.05):
            model = NBTreeClassifier(
                cv=splits, alpha=(0.0, 0.5)[seed % 5 == 0], significance=significance
            )
            tree = model.fit(X, y, sample_weight=weights).tree_
            inner.append(tree.n_nodes - tree.n_leaves)
    assert sum(n >= 3 for n in inner[::2]) >= 12
    assert sum(n >= 3 for n in inner[1::2]) >= 6
    assert inner[::2] != inner[1::2]


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_real_tables_give_the_twins_tree(load, alpha):
    X, y = load(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, -6:], y.to_numpy()  # a twin takes seconds for each column
    folds, splits = folds_and_splits(len(y), 5, 0)
    model = NBTreeClassifier(cv=splits, alpha=alpha).fit(X, y)
    assert_is_twin(model.tree_, 0, twin_of(model, X, y, np.ones(len(y), dtype=int), folds))


def test_a_tree_of_one_leaf_is_naive_bayes():
    X, y = mixed_table(300)
    for alpha, missing in ((0.5, "skip"), (0.0, "value")):
        given = {"alpha": alpha, "missing": missing, "calibration": "none"}
        tree = NBTreeClassifier(max_depth=0, **given).fit(X, y)
        plain = NaiveBayesClassifier(**given).fit(X, y)
        assert tree.tree_.n_nodes == 1
        np.testing.assert_array_equal(
            tree.predict_joint_log_proba(X), plain.predict_joint_log_proba(X)
        )


def test_the_leaf_answers_as_naive_bayes_on_its_rows():
    X, y, _ = interactions(0)
    given = {"alpha": 0, "significance": None, "calibration": "none"}
    model = NBTreeClassifier(random_state=0, **given).fit(X, y)
    leaf = model.apply(X)
    assert len(np.unique(leaf)) == model.tree_.n_leaves > 2
    for node in np.unique(leaf):
        own = leaf == node
        plain = NaiveBayesClassifier(alpha=0).fit(X[own], y[own])
        found = model.predict_joint_log_proba(X[own])
        present = np.isin(model.classes_, plain.classes_)
        np.testing.assert_allclose(found[:, present], plain.predict_joint_log_proba(X[own]))


@pytest.mark.parametrize("cls", BOTH)
def test_missing_and_unseen_split_values_stay_with_the_node(cls):
    X, y, _ = interactions(5 if cls is FlexibleNBTreeClassifier else 1)
    more = {"select": "utility"} if cls is FlexibleNBTreeClassifier else {}
    model = cls(random_state=0, **more).fit(X, y)
    tree, name = model.tree_, X.columns[model.tree_.attribute[0]]
    values = [None, "never seen"] if X[name].dtype == object else [np.nan]
    for value in values:
        gone = X.assign(**{name: value})
        assert (model.apply(gone) == 0).all()
        assert np.isfinite(model.predict_proba(gone)).all()
    path = model.decision_path(X).toarray()
    assert (path[:, 0] == 1).all()
    assert (path.sum(axis=1) == tree.depth[model.apply(X)] + 1).all()
    evidence = model.evidence(X)
    np.testing.assert_allclose(evidence.total(), model.predict_joint_log_proba(X), rtol=1e-12)
    assert evidence.terms == list(X.columns)


def test_text_shows_every_leaf():
    X, y, _ = interactions(2)
    model = NBTreeClassifier(random_state=0).fit(X, y)
    text = export_text(model)
    assert text.count(" row") == model.tree_.n_leaves
    assert " = " in text
    assert export_text(model, max_depth=0).count("\n") == 0


def test_splitters_and_bad_folds():
    X, y = mixed_table(80)
    assert NBTreeClassifier(cv=KFold(4)).fit(X, y).tree_.n_nodes >= 1
    with pytest.raises(ValueError, match="cv leaves rows out of every test set"):
        NBTreeClassifier(cv=[(np.arange(40), np.arange(40, 80))]).fit(X, y)
    with pytest.raises(ValueError, match="cv puts a row into two test sets"):
        NBTreeClassifier(cv=[(np.arange(40), np.arange(80))] * 2).fit(X, y)


@pytest.mark.parametrize(
    ("classes", "parameters", "words"),
    [
        (BOTH, {"alpha": -1}, "alpha must be a number, 0 or more; got -1"),
        (BOTH, {"min_node_size": "30"}, "min_node_size must be a number, 0 or more; got '30'"),
        (BOTH, {"max_depth": 1.5}, "max_depth must be a whole number, 0 or more; got 1.5"),
        (BOTH, {"missing": "drop"}, "missing must be 'skip' or 'value'; got 'drop'"),
        (BOTH, {"cv": 1}, "cv must be 2 folds or more; got 1"),
        (
            BOTH,
            {"min_weight_fraction_leaf": 0.6},
            "min_weight_fraction_leaf must be a number",
        ),
        (BOTH[:1], {"max_features": 0}, "max_features must be a whole number, 1 or more; got 0"),
        (
            BOTH[:1],
            {"max_features": 1.5},
            "max_features must be a number, from 1e-09 to 1; got 1",
        ),
        (BOTH[:1], {"discretize": "leaf"}, "discretize must be 'node' or 'global'; got 'leaf'"),
        (BOTH[1:], {"select": "best"}, "select must be 'delta' or 'utility'; got 'best'"),
        (
            BOTH[1:],
            {"bandwidth": 0},
            "'cv', 'silverman' or a positive number; got 0",
        ),
    ],
)
def test_bad_parameters_are_named(classes, parameters, words):
    X, y = mixed_table(50)
    for cls in classes:
        with pytest.raises(ValueError, match=words):
            cls(**parameters).fit(X, y)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "model",
    [
        NBTreeClassifier(),
        NBTreeClassifier(discretize="global"),
        FlexibleNBTreeClassifier(),
        FlexibleNBTreeClassifier(select="utility"),
    ],
    ids=repr,
)
def test_order_and_repetition_do_not_matter_given_the_same_folds(seed, model):
    assert_order_and_repetition_do_not_matter(model, seed)


@pytest.mark.parametrize(
    "model",
    [
        NBTreeClassifier(random_state=0),
        NBTreeClassifier(discretize="global", random_state=0),
        FlexibleNBTreeClassifier(random_state=0),
    ],
    ids=repr,
)
def test_class_weights_reach_the_tree_and_its_cuts(model):
    X, y = mixed_table(300, classes=2)
    weights = {"no": 3.0, "maybe": 1.0}
    by_row = model.fit(X, y, sample_weight=[weights[label] for label in y]).predict_proba(X)
    by_class = model.set_params(class_weight=weights).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(by_class, by_row)
    with pytest.raises(ValueError, match="class_weight names the class 'perhaps'"):
        model.set_params(class_weight={"perhaps": 2}).fit(X, y)


def test_rare_categories_are_grouped_in_trees_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"t": [f"v{k}" for k in rng.integers(0, 40, 400) % 20], "x": rng.random(400)})
    model = NBTreeClassifier(max_categories=5, random_state=0).fit(X, X["x"] > 0.5)
    assert model.tree_.coders[0].size == 5
    assert model.predict(X.assign(t="v3")).shape == (400,)


class StepCounter:
    """A callback that counts steps, and stops a fit after so many steps."""

    def __init__(self, most=1000):
        self.most, self.began, self.ended, self.torn_down = most, 0, 0, False

    def setup(self, estimator, context):
        self.steps = context.max_subtasks

    def on_fit_task_begin(self, estimator, context):
        self.began += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended >= self.most

    def teardown(self, estimator, context):
        self.torn_down = True


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_hear_each_hundredth_of_the_rows_that_reach_a_leaf(n_jobs):
    X, y, _ = interactions(3)
    counter = StepCounter()
    model = NBTreeClassifier(random_state=0, n_jobs=n_jobs).set_callbacks(counter).fit(X, y)
    assert (counter.steps, counter.began, counter.ended) == (100, 101, 101)
    assert counter.torn_down
    assert_same_model(model, NBTreeClassifier(random_state=0).fit(X, y))


def test_a_callback_can_stop_the_growing():
    X = np.random.default_rng(0).random((3000, 3))
    y = (X > [0.3, 0.4, 0.5]).sum(axis=1) % 2
    whole = NBTreeClassifier(random_state=0).fit(X, y)
    stopped = NBTreeClassifier(random_state=0).set_callbacks(StepCounter(1)).fit(X, y)
    assert 1 < stopped.tree_.n_nodes < whole.tree_.n_nodes
    assert np.isfinite(stopped.predict_proba(X)).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 7e8])
def test_sums_of_weights_are_exact_in_any_order(scale):
    rng = np.random.default_rng(0)
    weight = scale * np.append(rng.gamma(0.1, size=5000), 1e-300)
    exact = exact_weights(weight, weight.sum())
    sums = {float(np.cumsum(rng.permutation(exact))[-1]) for _ in range(20)}
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(weight.sum(), rel=1e-12)
    assert (exact > 0).all()
    whole = rng.integers(1, 100, 5000).astype(float)
    np.testing.assert_array_equal(exact_weights(whole, whole.sum()), whole)
