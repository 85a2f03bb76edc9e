"""Flexible NBTree grows the tree of its twin, and answers as its nodes say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import reference_flexible
from helpers import assert_is_twin, folds_and_splits, grow_twin, interactions, mixed_table
from unnaive import FlexibleNBTreeClassifier, NaiveBayesClassifier, export_text
from unnaive.density.estimate import FLOOR


def twin_of(model, X, y, weights, folds):
    bandwidth = None if model.bandwidth == "cv" else model.bandwidth
    given = {"alpha": model.alpha, "significance": model.significance, "floor": FLOOR}
    twin = reference_flexible.FlexibleNBTree
    given |= {"bandwidth": bandwidth, "select": model.select}
    return grow_twin(twin, X, y, weights, folds, **given)


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_the_twins_node_for_node(seed):
    select = ("utility", "delta")[seed % 2]
    X, y, weights = interactions(seed)
    folds, splits = folds_and_splits(len(y), 3, seed)
    model = FlexibleNBTreeClassifier(cv=splits, select=select, bandwidth=("cv", 0.5)[seed % 3 == 0])
    model.fit(X, y, sample_weight=weights)
    assert_is_twin(model.tree_, 0, twin_of(model, X, y, weights, folds), rtol=1e-12)


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


def test_factors_of_the_nodes_are_kept():
    data = load_iris()
    model = FlexibleNBTreeClassifier(bandwidth="cv", random_state=0)
    factor = model.fit(data.data, data.target).tree_.densities.factor
    assert ((factor >= 0.2) & (factor <= 0.8)).all()


def test_large_nodes_join_cells_and_stay_close():
    """Many more cells than the kernels can tell apart: eight to the narrowest width are enough."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 2))
    y = ((x[:, 0] > 0.4) ^ (x[:, 1] > -0.3)).astype(int)
    tree = FlexibleNBTreeClassifier(random_state=0, bandwidth=0.5, select="utility").fit(x, y)
    assert tree.score(x, y) > 0.97
    assert tree.tree_.utility[0] < 0.8
