"""NBTree grows the paper's tree, and answers as its nodes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import KFold

import reference
from helpers import (
    assert_order_and_repetition_do_not_matter,
    assert_same_model,
    folds_and_splits,
    interactions,
    mixed_table,
)
from unnaive import NaiveBayesClassifier, NBTreeClassifier, export_text
from unnaive.models.coded import exact_weights


def twin_of(model, X, y, weights, folds):
    kinds = ["numeric" if pd.api.types.is_numeric_dtype(X[c]) else "nominal" for c in X]
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    domains = [sorted({r[j] for r in rows if r[j] is not None}) for j in range(X.shape[1])]
    twin = reference.NBTree(
        kinds,
        domains,
        sorted(set(y.tolist())),
        int(folds.max()) + 1,
        model.alpha,
        model.significance,
    )
    return twin.grow(list(zip(rows, y.tolist(), weights.tolist(), folds.tolist(), strict=True)))


def compare(tree, node, expected):
    """The same node, and then its children."""
    assert tree.weight[node] == expected["rows"]
    assert tree.utility[node] == pytest.approx(expected["utility"], abs=1e-12)
    considered = {j: u for j, u in enumerate(tree.candidates[node]) if not np.isnan(u)}
    assert considered.keys() == expected["candidates"].keys()
    for j, utility in considered.items():
        assert utility == pytest.approx(expected["candidates"][j], abs=1e-12)
    if expected["attribute"] is None:
        assert tree.attribute[node] == -1
        return
    assert tree.attribute[node] == expected["attribute"]
    if expected["threshold"] is not None:
        assert tree.cuts(node).tolist() == [expected["threshold"]]
    children = tree.children(node)
    assert len(children) == len(expected["children"])
    for child, other in zip(children, expected["children"], strict=True):
        compare(tree, child, other)


@pytest.mark.parametrize("seed", range(24))
def test_the_tree_is_the_twins_node_for_node(seed):
    X, y, weights = interactions(seed)
    folds, splits = folds_and_splits(len(y), 5, seed)
    model = NBTreeClassifier(
        cv=splits, alpha=(0.0, 0.5)[seed % 5 == 0], significance=(None, 0.05)[seed % 2]
    )
    model.fit(X, y, sample_weight=weights)
    compare(model.tree_, 0, twin_of(model, X, y, weights, folds))


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
    compare(model.tree_, 0, twin_of(model, X, y, np.ones(len(y), dtype=int), folds))


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


@pytest.mark.parametrize("discretize", ["node", "global"])
def test_threads_do_not_change_the_tree(discretize):
    X, y, weights = interactions(1)
    model = NBTreeClassifier(discretize=discretize, random_state=3)
    one = model.set_params(n_jobs=1).fit(X, y, weights)
    two = NBTreeClassifier(discretize=discretize, random_state=3, n_jobs=2).fit(X, y, weights)
    assert_same_model(one, two)
    assert one.tree_.n_nodes > 1


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


def test_missing_and_unseen_split_values_stay_with_the_node():
    X, y, _ = interactions(1)
    model = NBTreeClassifier(random_state=0).fit(X, y)
    name = X.columns[model.tree_.attribute[0]]
    for value in (None, "never seen"):
        assert (model.apply(X.assign(**{name: value})) == 0).all()
    path = model.decision_path(X).toarray()
    assert (path[:, 0] == 1).all()
    assert (path.sum(axis=1) == model.tree_.depth[model.apply(X)] + 1).all()


def test_evidence_of_the_leaf_adds_up():
    X, y, _ = interactions(2)
    model = NBTreeClassifier(random_state=0).fit(X, y)
    evidence = model.evidence(X)
    assert (evidence.total() == model.predict_joint_log_proba(X)).all()
    assert evidence.terms == list(X.columns)


def test_text_shows_every_leaf():
    X, y, _ = interactions(2)
    model = NBTreeClassifier(random_state=0).fit(X, y)
    text = export_text(model)
    assert text.count(" row") == model.tree_.n_leaves
    assert " = " in text
    assert export_text(model, max_depth=0).count("\n") == 0


def test_xor_is_learned():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    assert NaiveBayesClassifier().fit(X, y).score(X, y) < 0.65
    tree = NBTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.95


def test_boosting_and_bagging_work_around_it():
    X, y = mixed_table(200)
    numbers = X[["age", "income", "ratio"]].fillna(0)
    tree = NBTreeClassifier(random_state=0, alpha=0.5)
    for ensemble in (AdaBoostClassifier(tree, n_estimators=3), BaggingClassifier(tree, 3)):
        assert ensemble.set_params(random_state=0).fit(numbers, y).score(numbers, y) > 0.5


def test_splitters_and_bad_folds():
    X, y = mixed_table(80)
    assert NBTreeClassifier(cv=KFold(4)).fit(X, y).tree_.n_nodes >= 1
    with pytest.raises(ValueError, match="cv leaves rows out of every test set"):
        NBTreeClassifier(cv=[(np.arange(40), np.arange(40, 80))]).fit(X, y)
    with pytest.raises(ValueError, match="cv puts a row into two test sets"):
        NBTreeClassifier(cv=[(np.arange(40), np.arange(80))] * 2).fit(X, y)
    with pytest.raises(ValueError, match="cv must be 2 folds or more; got 1"):
        NBTreeClassifier(cv=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1}, "alpha must be a number, 0 or more; got -1"),
        ({"min_node_size": "30"}, "min_node_size must be a number, 0 or more; got '30'"),
        ({"max_depth": 1.5}, "max_depth must be a whole number, 0 or more; got 1.5"),
        ({"max_features": 0}, "max_features must be a whole number, 1 or more; got 0"),
        ({"max_features": 1.5}, "max_features must be a number, from 1e-09 to 1; got 1.5"),
        ({"discretize": "leaf"}, "discretize must be 'node' or 'global'; got 'leaf'"),
        ({"missing": "drop"}, "missing must be 'skip' or 'value'; got 'drop'"),
        ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf must be a number, from 0"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        NBTreeClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("discretize", ["node", "global"])
def test_order_and_repetition_do_not_matter_given_the_same_folds(seed, discretize):
    assert_order_and_repetition_do_not_matter(NBTreeClassifier(discretize=discretize), seed)


def test_class_weights_reach_the_tree_and_its_global_cuts():
    X, y = mixed_table(300, classes=2)
    weights = {"no": 3.0, "maybe": 1.0}
    for discretize in ("node", "global"):
        model = NBTreeClassifier(discretize=discretize, random_state=0)
        by_row = model.fit(X, y, sample_weight=[weights[label] for label in y]).predict_proba(X)
        by_class = model.set_params(class_weight=weights).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(by_class, by_row)
    with pytest.raises(ValueError, match="class_weight names the class 'perhaps'"):
        NBTreeClassifier(class_weight={"perhaps": 2}).fit(X, y)


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


def test_scikit_learns_progress_bar_works(capfd):
    X, y, _ = interactions(3)
    NBTreeClassifier(random_state=0).set_callbacks(ProgressBar()).fit(X, y)
    assert "NBTreeClassifier - fit" in capfd.readouterr().out


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
