"""Trees of many nodes and levels: what is said of them grows no faster than they do."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from unnaive import C45Classifier, load, report, save, to_sql
from unnaive.answer import Answer, ClassTree
from unnaive.answer.trees import lay_out
from unnaive.cli.app import app
from unnaive.encode import Bins, Categories
from unnaive.explain import explain_rows, tree_of
from unnaive.table.schema import Column, Schema


def model_of(column, coder, parent, answers, depth):
    """A fitted C4.5 with a given tree: one row in each leaf, classes in turn."""
    n = len(parent)
    attribute = np.where(np.isin(np.arange(n), parent), 0, -1)
    weight = np.zeros((n, 2))
    for node in range(n - 1, -1, -1):
        if attribute[node] < 0:
            weight[node, node // 2 % 2] = 1.0
        if node:
            weight[parent[node]] += weight[node]
    tree = ClassTree(
        **lay_out((coder,), attribute, answers, parent),
        depth=depth,
        class_weight=weight,
        worth=np.zeros(n),
        answer=(weight + 0.5) / (weight.sum(axis=1, keepdims=True) + 1.0),
    )
    tree.check()
    model = C45Classifier()
    model._set_answer(Answer(Schema((column,), True), np.array(["a", "b"]), tree))
    return model


def chain(levels):
    """Every test sends one value to a leaf and all others down."""
    n = 2 * levels + 1
    parent = (np.arange(n) - 1) // 2 * 2
    parent[0] = -1
    cuts = np.arange(levels) + 0.5
    answers = [cuts[k // 2 : k // 2 + 1] if k % 2 == 0 else np.empty(0) for k in range(n)]
    column = Column("x", "numeric", "number")
    return model_of(column, Bins(cuts), parent, answers, (np.arange(n) + 1) // 2)


def fan(width):
    """One test with very many answers."""
    values = Categories(tuple(f"v{k:05d}" for k in range(width)))
    parent = np.zeros(width + 1, dtype=np.intp)
    parent[0] = -1
    answers = [np.arange(width) + 1, *[np.empty(0)] * width]
    column = Column("x", "categorical", "text")
    return model_of(column, values, parent, answers, (parent == 0).astype(np.intp))


def changes_walked(tree, block):
    """What tests change, from the definition: each end of a row walks up to the root."""
    out = np.zeros((block.n_rows, len(tree.coders), tree.n_outputs))
    for row, end, share in zip(*tree.stops(block), strict=True):
        node = int(end)
        while node:
            above = int(tree.parent[node])
            out[row, tree.attribute[above]] += share * (tree.answer[node] - tree.answer[above])
            node = above
    return out


@pytest.mark.parametrize("levels", [1, 40])
def test_changes_by_column_are_those_on_the_way(levels):
    model = chain(levels)
    rows = pd.DataFrame({"x": [*np.linspace(-1, levels + 1, 9), np.nan]})
    expected = changes_walked(model.tree_, model._open(rows).block)
    np.testing.assert_allclose(model.evidence(rows).contributions, expected, atol=1e-12)


def test_a_chain_of_30_000_levels_is_explained_within_memory():
    model, levels = chain(30_000), 30_000
    rows = pd.DataFrame({"x": [0.0, levels + 1.0, np.nan]})
    model.evidence(rows[:1])  # kernels are loaded
    tracemalloc.start()
    why = model.evidence(rows)
    path = model.decision_path(rows)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6  # 60,001 nodes; a matrix of them would be 29 GB
    np.testing.assert_allclose(why.total(), model.predict_proba(rows))
    assert path.sum(axis=1).tolist()[:2] == [2, levels + 1]


def test_a_chain_of_30_000_levels_is_shown_saved_and_reported(tmp_path):
    """Far more levels than calls may nest; whatever is quadratic in nodes would not end."""
    model, levels = chain(30_000), 30_000
    rows = pd.DataFrame({"x": [0.0, levels + 1.0, np.nan]})
    assert explain_rows(model, rows[2:])[0].path == (0,)  # it goes to all leaves
    assert len(report(model, rows, model.predict(rows)).html) < 200 * len(model.tree_.parent)
    save(model, tmp_path / "chain.unv")
    loaded = load(tmp_path / "chain.unv")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "chain.unv")])
    assert shown.exit_code == 0
    assert f"[depth {levels}] x > {levels - 0.5}: a (1 row)" in shown.output
    assert len(shown.output) < 300 * len(model.tree_.parent)  # the indent does not add up


def test_a_tree_of_too_many_levels_for_sql_is_refused():
    with pytest.raises(ValueError, match="a tree of 1,001 levels is too deep .* set max_depth"):
        to_sql(chain(1001), "rows")


def test_a_node_of_very_many_values_is_read_value_by_value():
    nodes = tree_of(fan(5000))
    assert [node.condition for node in nodes[1:]] == [f"x = v{k:05d}" for k in range(5000)]
