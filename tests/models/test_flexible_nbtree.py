"""Flexible NBTree grows the tree of its twin, and answers as its nodes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import reference_flexible
from helpers import (
    assert_order_and_repetition_do_not_matter,
    folds_and_splits,
    interactions,
    mixed_table,
)
from unnaive import FlexibleNBTreeClassifier, NaiveBayesClassifier, export_text
from unnaive.density.estimate import FLOOR


def twin_of(model, X, y, weights, folds):
    kinds = ["numeric" if pd.api.types.is_numeric_dtype(X[c]) else "nominal" for c in X]
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    domains = [sorted({r[j] for r in rows if r[j] is not None}) for j in range(X.shape[1])]
    twin = reference_flexible.FlexibleNBTree(
        kinds,
        domains,
        sorted(set(y.tolist())),
        int(folds.max()) + 1,
        model.alpha,
        model.significance,
        floor=FLOOR,
        bandwidth=None if model.bandwidth == "cv" else model.bandwidth,
        select=model.select,
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
        np.testing.assert_allclose(tree.cuts(node), expected["threshold"], rtol=1e-12)
    children = tree.children(node)
    assert len(children) == len(expected["children"])
    for child, other in zip(children, expected["children"], strict=True):
        compare(tree, child, other)


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_the_twins_node_for_node(seed):
    select = ("utility", "delta")[seed % 2]
    X, y, weights = interactions(seed)
    folds, splits = folds_and_splits(len(y), 3, seed)
    model = FlexibleNBTreeClassifier(cv=splits, select=select, bandwidth=("cv", 0.5)[seed % 3 == 0])
    model.fit(X, y, sample_weight=weights)
    compare(model.tree_, 0, twin_of(model, X, y, weights, folds))


def test_both_readings_of_the_stopping_rule():
    """No split cuts the error by all of it: "or" leaves one leaf, "and" splits large nodes."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"t": rng.choice(list("pqr"), 200), "u": rng.choice(list("vw"), 200)})
    y = rng.integers(0, 2, 200)
    given = {"min_error_reduction": 1.0, "significance": None, "random_state": 0}
    assert FlexibleNBTreeClassifier(stop="or", **given).fit(X, y).tree_.n_nodes == 1
    tree = FlexibleNBTreeClassifier(stop="and", **given).fit(X, y).tree_
    assert tree.n_nodes > 1
    for node in np.flatnonzero(tree.attribute < 0):
        asked_all = tree.depth[node] == 2
        assert tree.weight[node] <= 30 or asked_all or tree.utility[node] == 1


def test_a_number_that_is_constant_in_a_node_says_nothing_there():
    rng = np.random.default_rng(0)
    t, z = rng.choice(list("pq"), 400), rng.normal(size=400)
    y = ((t == "p") ^ (z > 0)).astype(int)
    X = pd.DataFrame({"t": t, "x": np.where(t == "p", 1.0, rng.normal(size=400)), "z": z})
    model = FlexibleNBTreeClassifier(select="utility", random_state=0).fit(X, y)
    assert model.tree_.attribute[0] == 0
    bars = model.evidence(X.assign(x=5.0)).contributions
    assert (bars[t == "p", 1] == 0).all()


def test_some_of_these_trees_split_numbers_into_three_or_more():
    widest = 0
    for seed in range(12):
        X, y, weights = interactions(seed)
        _, splits = folds_and_splits(len(y), 3, seed)
        tree = (
            FlexibleNBTreeClassifier(cv=splits, select="utility", significance=None)
            .fit(X, y, weights)
            .tree_
        )
        widest = max([widest, *(len(tree.cuts(n)) for n in range(tree.n_nodes))])
    assert widest >= 2


@pytest.mark.parametrize("bandwidth", ["conditional", "cv", "silverman", 0.5])
@pytest.mark.parametrize("missing", ["skip", "value"])
def test_one_leaf_is_kernel_naive_bayes(bandwidth, missing):
    X, y = mixed_table(300)
    given = {"bandwidth": bandwidth, "missing": missing}
    leaf = FlexibleNBTreeClassifier(max_depth=0, calibration="none", random_state=0, **given)
    leaf.fit(X, y)
    plain = NaiveBayesClassifier(numeric="kernel", **given).fit(X, y)
    new = X.assign(city="Atlantis", age=X["age"] * 3)
    for table in (X, new):
        found = leaf.predict_joint_log_proba(table)
        np.testing.assert_allclose(found, plain.predict_joint_log_proba(table), rtol=1e-12)


def test_numbers_are_split_into_several_intervals_at_once():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 1200))
    y = (np.floor(3 * a) % 2).astype(int) ^ (b > 0.5)
    X = pd.DataFrame({"a": a, "b": b})
    for select in ("utility", "delta"):
        tree = FlexibleNBTreeClassifier(random_state=0, select=select).fit(X, y)
        assert tree.score(X, y) > 0.9
        text = export_text(tree)
        assert text.count(" row") == tree.tree_.n_leaves
    assert NaiveBayesClassifier(numeric="kernel").fit(X, y).score(X, y) < 0.75


def test_evidence_of_the_leaf_adds_up_and_gaps_stop_at_their_node():
    X, y, _ = interactions(5)
    model = FlexibleNBTreeClassifier(random_state=0, select="utility").fit(X, y)
    evidence = model.evidence(X)
    np.testing.assert_allclose(evidence.total(), model.predict_joint_log_proba(X), rtol=1e-12)
    tree = model.tree_
    assert tree.n_nodes > 1
    asked = X.columns[tree.attribute[0]]
    gone = X.assign(**{asked: None if X[asked].dtype == object else np.nan})
    assert (model.apply(gone) == 0).all()
    assert np.isfinite(model.predict_proba(gone)).all()
    path = model.decision_path(X).toarray()
    assert (path.sum(axis=1) == tree.depth[model.apply(X)] + 1).all()


def test_factors_of_the_nodes_are_kept():
    data = load_iris()
    model = FlexibleNBTreeClassifier(bandwidth="cv", random_state=0)
    factor = model.fit(data.data, data.target).tree_.densities.factor
    assert ((factor >= 0.2) & (factor <= 0.8)).all()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("select", ["utility", "delta"])
def test_order_and_repetition_do_not_matter_given_the_same_folds(seed, select):
    assert_order_and_repetition_do_not_matter(FlexibleNBTreeClassifier(select=select), seed)


def test_large_nodes_join_cells_and_stay_close():
    """Many more cells than the kernels can tell apart: eight to the narrowest width are enough."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 2))
    y = ((x[:, 0] > 0.4) ^ (x[:, 1] > -0.3)).astype(int)
    tree = FlexibleNBTreeClassifier(random_state=0, bandwidth=0.5, select="utility").fit(x, y)
    assert tree.score(x, y) > 0.97
    assert tree.tree_.utility[0] < 0.8


def test_class_weights_reach_the_tree():
    X, y = mixed_table(300, classes=2)
    weights = {"no": 3.0, "maybe": 1.0}
    model = FlexibleNBTreeClassifier(random_state=0)
    by_row = model.fit(X, y, sample_weight=[weights[label] for label in y]).predict_proba(X)
    by_class = model.set_params(class_weight=weights).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(by_class, by_row)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"select": "best"}, "select must be 'delta' or 'utility'; got 'best'"),
        (
            {"bandwidth": 0},
            "bandwidth must be 'conditional', 'cv', 'silverman' or a positive number; got 0",
        ),
        ({"alpha": -1}, "alpha must be a number, 0 or more; got -1"),
        ({"cv": 1}, "cv must be 2 folds or more; got 1"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        FlexibleNBTreeClassifier(**parameters).fit(X, y)
