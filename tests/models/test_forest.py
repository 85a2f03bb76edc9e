"""Random forests against a slow twin, their laws, and what they make of rows out of bag."""

from __future__ import annotations

import dataclasses
import io
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reference_forest as reference
import unnaive
from blocks import split_memory
from helpers import assert_same_model, mixed_table
from unnaive import RandomForestClassifier
from unnaive.answer.forest import Forest
from unnaive.encode import Bins
from unnaive.encode.coders import column_slots
from unnaive.encode.hashing import branch_seeds, draw_poisson, lane
from unnaive.table import open_table

FOREST = RandomForestClassifier


def coded_rows(model, X, y, weight):
    """Slots, class and weight of every row."""
    block = open_table(model, X, fitted=model.schema_).block
    slots = [
        column_slots(block, j, c).astype(np.uint16) for j, c in enumerate(model.forest_.coders)
    ]
    groups = np.searchsorted(model.classes_, y).astype(np.uint16)
    return [
        (tuple(int(column[i]) for column in slots), int(groups[i]), float(weight[i]))
        for i in range(len(y))
    ]


def as_nodes(forest: Forest, tree: int):
    """The nodes of one tree in the twin's form."""
    start, end = int(forest.start[tree]), int(forest.start[tree + 1])
    entry, nodes = int(forest.n_entries[:start].sum()), []
    for node in range(start, end):
        j, test = int(forest.attribute[node]), int(forest.test[node])
        if j < 0:
            own = range(entry, entry + int(forest.n_entries[node]))
            nodes.append({int(forest.entry_class[k]): forest.entry_weight[k] for k in own})
            entry = own.stop
        elif isinstance(forest.coders[j], Bins):
            below = [slot <= test for slot in range(1, forest.coders[j].size + 1)]
            nodes.append((j, [bool(forest.missing_first[node]), *below]))
        else:
            bits = [forest.route[test + s // 32] >> np.uint32(s % 32) & 1
                    for s in range(forest.coders[j].size + 2)]  # fmt: skip
            nodes.append((j, [bool(bit) for bit in bits]))
    return nodes


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (2, {}),
        (3, {"max_bins": 6}),
        (4, {"max_features": None, "min_samples_leaf": 3, "max_depth": 4}),
        (3, {"bootstrap": False, "max_features": 1}),
    ],
)
def test_trees_are_those_of_the_twin(classes, options):
    X, y = mixed_table(90, seed=classes, classes=classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = FOREST(n_estimators=3, random_state=1, **options).fit(X, y, weight)
    forest, rows = model.forest_, coded_rows(model, X, y, weight)
    seed = int(np.random.RandomState(1).randint(2**31 - 1))
    sizes = [coder.size for coder in forest.coders]
    numeric = [isinstance(coder, Bins) for coder in forest.coders]
    tried = {None: len(sizes), "sqrt": int(math.sqrt(len(sizes)))}.get(model.max_features, 1)
    for tree, own_seed in enumerate(branch_seeds(seed, 3)):
        drawn = np.ones(len(y))
        if model.bootstrap:
            drawn = lane(draw_poisson(np.array([own_seed]), np.arange(len(y)), 1.0), 0)
        bag = [(s, c, w * int(n)) for (s, c, w), n in zip(rows, drawn, strict=True) if n]
        depth = -1 if model.max_depth is None else model.max_depth
        expected = reference.grow(
            bag, sizes, numeric, len(model.classes_), tried, model.min_samples_leaf, depth, own_seed
        )
        assert as_nodes(forest, tree) == expected


def test_threads_and_blocks_of_rows_change_nothing(monkeypatch):
    X, y = mixed_table(400)
    weight = np.random.default_rng(1).integers(2, 9, len(y)) / 4
    model = FOREST(n_estimators=8, oob_score=True, random_state=3)
    whole = clone(model).fit(X, y, weight)
    assert_same_model(whole, clone(model).set_params(n_jobs=2).fit(X, y, weight))
    split_memory(monkeypatch, [0, 13, 200, 400])
    assert_same_model(whole, clone(model).fit(X, y, weight))


def test_rows_out_of_bag_are_answered_by_trees_that_have_not_drawn_them():
    X, y = mixed_table(120)
    model = FOREST(n_estimators=5, oob_score=True, alpha=0.5, random_state=0)
    with pytest.warns(UserWarning, match="rows are drawn by every tree"):
        model.fit(X, y)
    forest, rows = model.forest_, coded_rows(model, X, y, np.ones(len(y)))
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    drawn = draw_poisson(branch_seeds(seed, 5), np.arange(len(y)), 1.0)
    out = np.stack([lane(drawn, t) == 0 for t in range(5)])
    for row in range(len(y)):
        leaves = []
        for tree in np.flatnonzero(out[:, row]):
            nodes, node, inner = as_nodes(forest, tree), 0, 0
            while not isinstance(nodes[node], dict):
                j, goes = nodes[node]
                inner = sum(not isinstance(n, dict) for n in nodes[:node])
                node = 1 + 2 * inner + (0 if goes[rows[row][0][j]] else 1)
            shares = 0.5 * forest.prior
            for c, w in nodes[node].items():
                shares[c] += w
            leaves.append(shares / shares.sum())
        expected = np.mean(leaves, axis=0) if leaves else np.full(3, np.nan)
        np.testing.assert_allclose(model.oob_decision_function_[row], expected, atol=1e-12)
    judged = ~np.isnan(model.oob_decision_function_[:, 0])
    best = model.classes_[model.oob_decision_function_[judged].argmax(axis=1)]
    assert model.oob_score_ == pytest.approx((best == y[judged]).mean())


def test_missing_unseen_and_unknown_values_take_a_side():
    X = pd.DataFrame({"a": [1.0, 2, np.nan, np.nan] * 10, "b": ["x", "y", None, "z"] * 10})
    y = np.array(["p", "p", "q", "q"] * 10)
    model = FOREST(n_estimators=20, random_state=0).fit(X, y)
    rows = pd.DataFrame({"a": [np.nan, 99.0, -5.0], "b": [None, "new", "x"]})
    assert model.predict(rows).tolist() == ["q", "p", "p"]
    for column in ("a", "b"):  # missing alone tells the classes apart
        assert FOREST(random_state=0).fit(X[[column]], y).score(X[[column]], y) >= 0.75


def test_a_forest_learns_what_naive_bayes_cannot():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("abcd"), (800, 4)), columns=list("pqrs"))
    y = (X["p"].isin(["a", "b"]) ^ X["q"].isin(["b", "c"])).to_numpy()
    model = FOREST(n_estimators=30, random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.97


def test_evidence_of_a_forest_is_one_bar_per_column_on_the_log_scale():
    X, y = mixed_table(150)
    model = FOREST(n_estimators=10, random_state=0).fit(X, y)
    why = model.evidence(X)
    assert why.link == "softmax"
    assert why.terms == list(X.columns)
    total = np.exp(why.total() - why.total().max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        total / total.sum(axis=1, keepdims=True), model.predict_proba(X), atol=1e-12
    )


def test_a_file_of_a_forest_is_small_and_damaged_arrays_are_refused():
    X, y = mixed_table(300)
    model, file = FOREST(random_state=0).fit(X, y), io.BytesIO()
    unnaive.save(model, file)
    assert file.tell() < 6 * model.forest_.attribute.size
    forest = model.forest_
    fields = {field.name: getattr(forest, field.name) for field in dataclasses.fields(forest)}
    inner = int(np.flatnonzero(forest.attribute >= 0)[0])
    leaf = int(np.flatnonzero(forest.attribute < 0)[0])

    def changed(name, at, value):
        array = fields[name].copy()
        array[at] = value
        return {**fields, name: array}

    damaged = {
        "a test does not have two children": changed("attribute", leaf, 0),
        "outside of its column's values": changed("test", inner, 60_000),
        "entry_class has numbers": changed("entry_class", 0, 7),
        "n_entries does not match": changed("n_entries", leaf, 3),
        "a tree has no nodes": changed("start", 1, 0),
        "prior does not sum to 1": changed("prior", 0, 0.99),
    }
    for words, own in damaged.items():
        with pytest.raises(ValueError, match=words):
            Forest(**own).check()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_features": "all"}, "max_features must be 'sqrt', 'log2'"),
        ({"max_features": 0}, "max_features must be a whole number"),
        ({"max_samples": 0}, "max_samples must be more than 0"),
        ({"bootstrap": False, "oob_score": True}, "oob_score=True needs bootstrap=True"),
        ({"alpha": "oob"}, "alpha must be a number"),
        ({"calibration": "power"}, "calibration must be"),
    ],
)
def test_parameters_that_make_no_sense_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        FOREST(**options).fit([[1.0], [2.0]], [0, 1])
