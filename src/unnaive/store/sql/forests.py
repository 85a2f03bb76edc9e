"""Forests in SQL: the leaf of every tree, then the mean of what leaves say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.answer import ClassForest
from unnaive.answer.forest_kernels import WORD, Trees
from unnaive.encode import Bins
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import case, is_null, op, ref, whole
from unnaive.store.sql.statement import MOST_JOINS
from unnaive.store.sql.trees import Below, Folder, among

AT_ONCE = MOST_JOINS  # trees whose leaves are looked up in one step


@dataclass(frozen=True, slots=True)
class OneTree:
    """One tree of a forest; its nodes are numbered from 0."""

    forest: ClassForest
    trees: Trees
    tree: int

    @property
    def start(self) -> int:
        return int(self.trees.start[self.tree])

    @property
    def n_nodes(self) -> int:
        return int(self.trees.start[self.tree + 1]) - self.start

    def children(self, node: int) -> list[int]:
        first = int(self.trees.first_child[self.start + node])
        return [] if first < 0 else [first - self.start, first - self.start + 1]

    def slots_first(self, node: int) -> NDArray[np.intp]:
        """Slots of a category that go to the first child of a node."""
        at = self.start + node
        coder = self.forest.coders[self.trees.attribute[at]]
        assert coder is not None
        slots = np.arange(coder.size + 2)
        words = self.trees.route[self.trees.test[at] + slots // WORD].astype(np.int64)
        return np.flatnonzero((words >> (slots % WORD)) & 1)

    def shares(self) -> NDArray[np.float64]:
        """What the leaves say of each class; 0 at other nodes."""
        trees, n_classes = self.trees, self.forest.n_outputs
        out = np.zeros((self.n_nodes, n_classes))
        nodes = np.arange(self.start, self.start + self.n_nodes)
        first, last = trees.first_entry[nodes[0]], trees.first_entry[nodes[-1] + 1]
        leaf = np.repeat(
            np.arange(self.n_nodes), np.diff(trees.first_entry[nodes[0] : nodes[-1] + 2])
        )
        out[leaf, trees.entry_class[first:last]] = trees.entry_share[first:last]
        leaves = trees.first_child[nodes] < 0
        out[leaves] += trees.rest[nodes[leaves], None] * self.forest.prior
        return out


def mean_forest(columns: Columns, forest: ClassForest) -> list[str]:
    """The mean of the leaves that a row ends in, as a column for each class."""
    trees, double = forest.trees(), columns.dialect.double
    totals: list[exp.Expr] = [double(0.0) for _ in range(forest.n_outputs)]
    for first in range(0, forest.n_trees, AT_ONCE):
        some = range(first, min(first + AT_ONCE, forest.n_trees))
        several = [OneTree(forest, trees, t) for t in some]
        leaves = [_leaf(columns, tree) for tree in several]
        step = columns.statement.step("votes")
        for tree, leaf in zip(several, leaves, strict=True):
            said = step.look_up(ref(leaf), np.arange(tree.n_nodes), tree.shares())
            totals = [
                total if share is None else op(total, "+", share)
                for total, share in zip(totals, said, strict=True)
            ]
        totals = [ref(step.define("t", total)) for total in totals]
    step, n = columns.statement.step("means"), double(float(forest.n_trees))
    return [step.define("p", op(t, "/", n.copy())) for t in totals]


def _leaf(columns: Columns, tree: OneTree) -> str:
    """The leaf where a row ends in one tree, as a column."""
    trees = tree.trees

    def combine(node: int, below: Below) -> exp.Expr:
        if not below:
            return whole(node)
        first, second = below
        assert first is not None
        assert second is not None
        columns.statement.count(1)
        return case([(_goes_first(columns, tree, tree.start + node), first)], second)

    for j in sorted({int(j) for j in trees.attribute[tree.start :][: tree.n_nodes] if j >= 0}):
        _tested(columns, tree.forest, j)
    leaf = Folder(columns.statement, tree).fold("leaf", combine)
    assert leaf is not None
    return leaf


def _tested(columns: Columns, forest: ClassForest, j: int) -> str:
    """The column that tests look at: a value of a number, a slot of a category."""
    coder = forest.coders[j]
    return columns.value(j) if isinstance(coder, Bins) else columns.slot(j, coder)


def _goes_first(columns: Columns, tree: OneTree, at: int) -> exp.Expr:
    """Whether a row goes to the first child of a node."""
    trees, j = tree.trees, int(tree.trees.attribute[at])
    coder, column = tree.forest.coders[j], _tested(columns, tree.forest, j)
    if not isinstance(coder, Bins):
        return among(column, tree.slots_first(at - tree.start))
    last = int(trees.test[at])
    if last == coder.size:  # all that have a value
        every = exp.Not(this=is_null(ref(column)))
        return exp.true() if trees.missing_first[at] else every
    below: exp.Expr
    below = op(ref(column), "<=", columns.dialect.cut(float(coder.cuts[last - 1])))
    return exp.or_(is_null(ref(column)), below) if trees.missing_first[at] else below
