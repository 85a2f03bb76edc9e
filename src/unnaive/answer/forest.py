"""Many randomised trees of class shares, as flat arrays of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import tree_kernels as kernels
from unnaive.answer.evidence import Evidence
from unnaive.answer.nodes import Node
from unnaive.answer.tree_kernels import WORD, ForestArrays
from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.discretize import CoarseCoder
from unnaive.encode import GRID_LIMIT
from unnaive.encode.coders import check_coders, coder_sizes, numeric_columns, row_slots
from unnaive.table import Block, Schema

ROWS = 1 << 12  # rows that go through a tree at a time: their slots stay in cache


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Forest(Node):
    """Trees of class shares whose mean is the answer.

    Nodes of a tree come level by level: the children of the first node with a test are its second
    and third node, those of the next one follow, and so on. What a leaf says are the weights of its
    training rows by class, as entries of the classes that it has, and ``alpha`` rows more, spread
    as the classes are.

    Attributes
    ----------
    coders : tuple
        Numbering of each column.
    start : array of shape (trees + 1,)
        Where the nodes of each tree begin.
    attribute : array of shape (nodes,)
        Column that a node tests, -1 for a leaf.
    test : array of shape (nodes,)
        Of a number: the last slot that goes to the first child. Of a category: where its bits begin
        in ``route``, one for each slot, 1 for those that go to the first child.
    missing_first : array of shape (nodes,)
        Whether a number that is missing goes to the first child.
    route : array of words
    n_entries : array of shape (nodes,)
        How many classes a leaf has; 0 for other nodes.
    entry_class, entry_weight : arrays of shape (entries,)
        The classes of each leaf, and the weight of its rows of each.
    alpha : float
    prior : array of shape (classes,)
        Shares of the classes in all rows.
    """

    coders: tuple[CoarseCoder, ...]
    start: NDArray[np.int64]
    attribute: NDArray[np.int32]
    test: NDArray[np.int32]
    missing_first: NDArray[np.bool_]
    route: NDArray[np.uint32]
    n_entries: NDArray[np.uint16]
    entry_class: NDArray[np.uint16]
    entry_weight: NDArray[np.float64]
    alpha: float
    prior: NDArray[np.float64]

    def check(self) -> None:
        """Check that the arrays are trees: kernels follow them unchecked."""
        n, n_classes = self.attribute.size, self.prior.size
        check_values("prior", self.prior, (n_classes,), 0.0, 1.0)
        expect(abs(self.prior.sum() - 1.0) < 1e-9, "prior does not sum to 1.")
        expect(0.0 <= self.alpha <= HEAVIEST, f"alpha is {self.alpha}, not a finite number.")
        check_values("start", self.start, (self.start.size,), 0, n)
        expect(self.n_trees >= 1 and self.start[0] == 0, "there is no tree.")
        expect(self.start[-1] == n and (np.diff(self.start) > 0).all(), "a tree has no nodes.")
        check_values("attribute", self.attribute, (n,), -1, len(self.coders) - 1)
        tests = self.attribute >= 0
        inner = np.add.reduceat(tests.astype(np.int64), self.start[:-1])
        expect((np.diff(self.start) == 2 * inner + 1).all(), "a test does not have two children.")
        expect((self.first_child[tests] > np.arange(n)[tests]).all(), "a child comes too early.")
        expect(self.missing_first.shape == (n,), "missing_first does not have one entry per node.")
        expect(self.test.shape == (n,), "test does not have one entry per node.")
        self._check_tests(tests)
        self._check_entries(tests)

    def _check_tests(self, tests: NDArray[np.bool_]) -> None:
        sizes = np.array(coder_sizes(self.coders), dtype=np.int64)
        expect(sizes.max(initial=0) <= GRID_LIMIT, "a column has too many values.")
        column, test = self.attribute[tests], self.test[tests]
        expect((sizes[column] > 0).all(), "a node tests a column without values.")
        last = sizes[column]
        words = -(-(sizes[column] + 2) // WORD)
        by_bits = ~self.numeric[column]
        last[by_bits] = self.route.size - words[by_bits]
        expect(self.route.ndim == 1, "route is not a list of words.")
        first = np.where(by_bits, 0, 1)
        expect(
            ((test >= first) & (test <= last)).all(), "a test is outside of its column's values."
        )

    def _check_entries(self, tests: NDArray[np.bool_]) -> None:
        n = self.entry_class.size
        expect(self.n_entries.shape == tests.shape, "n_entries does not have one entry per node.")
        expect(((self.n_entries == 0) == tests).all(), "a leaf has no class, or a test has one.")
        expect(self.n_entries.sum() == n, "n_entries does not match the entries.")
        check_values("entry_class", self.entry_class, (n,), 0, self.n_outputs - 1)
        check_values("entry_weight", self.entry_weight, (n,), 0.0, HEAVIEST)
        expect((self.entry_weight > 0).all(), "a class of a leaf weighs nothing.")

    def check_columns(self, schema: Schema) -> None:
        check_coders(self.coders, schema)

    @property
    def n_outputs(self) -> int:
        return self.prior.size

    @property
    def has_column_terms(self) -> bool:
        return True

    @property
    def n_trees(self) -> int:
        return self.start.size - 1

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which columns are numbers."""
        return numeric_columns(self.coders)

    @property
    def first_child(self) -> NDArray[np.int64]:
        """The first child of every node, which the second follows; -1 for a leaf."""
        tests = self.attribute >= 0
        before: NDArray[np.int64] = np.cumsum(tests) - tests  # tests before each node, of all trees
        begin = np.repeat(self.start[:-1], np.diff(self.start))
        return np.where(tests, begin + 1 + 2 * (before - before[begin]), -1)

    def __repr__(self) -> str:
        return f"Forest of {self.n_trees} trees, {self.attribute.size} nodes"

    # Rows -----------------------------------------------------------------------------------

    def trees(self) -> ForestArrays:
        """Return the arrays that kernels route rows by."""
        alpha = self.alpha
        edges = np.zeros(self.attribute.size + 1, dtype=np.int64)
        np.cumsum(self.n_entries, out=edges[1:])
        leaf = np.repeat(np.arange(self.attribute.size), self.n_entries)
        whole = np.bincount(leaf, self.entry_weight, self.attribute.size).astype(np.float64)
        whole += alpha
        whole[self.attribute >= 0] = 1.0  # no leaf
        return ForestArrays(
            self.start,
            self.attribute,
            self.numeric,
            self.test,
            self.missing_first,
            self.route,
            self.first_child,
            edges,
            self.entry_class,
            self.entry_weight / whole[leaf],
            alpha / whole,
        )

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the mean of the leaves that each row reaches."""
        trees, out = self.trees(), np.empty((block.n_rows, self.n_outputs))

        def score(start: int) -> None:
            slots = row_slots(block.slice(start, start + ROWS), self.coders)
            every = np.ones((self.n_trees, len(slots)), np.bool_)
            out[start : start + ROWS] = mean_leaves(slots, trees, self.prior, every)

        list(in_threads(score, range(0, block.n_rows, ROWS), n_jobs))
        return out

    @property
    def log_baseline(self) -> NDArray[np.float64]:
        """What all roots say together, before any test, on the log scale."""
        trees, total = self.trees(), np.zeros(self.n_outputs)
        for t, size in enumerate(np.diff(self.start).tolist()):
            total += self._node_answers(trees, t, size)[0]
        return np.log(np.maximum(total / self.n_trees, LEAST_SHARE))

    def _node_answers(self, trees: ForestArrays, tree: int, n_nodes: int) -> NDArray[np.float64]:
        """Return the class shares at the nodes of one tree."""
        out = np.empty((n_nodes, self.n_outputs))
        kernels.node_answers(trees, tree, self.entry_weight, self.alpha, self.prior, out)
        return out

    def contributions(
        self, block: Block, n_jobs: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of the roots' class shares, and how the tests on each column change it.

        Rows x columns x classes; with the first they add up to the mean of the leaves.
        """
        trees = self.trees()
        out = np.zeros((block.n_rows, len(self.coders), self.n_outputs))
        baseline, starts = np.zeros(self.n_outputs), range(0, block.n_rows, ROWS)
        slots = [row_slots(block.slice(start, start + ROWS), self.coders) for start in starts]
        for t, size in enumerate(np.diff(self.start).tolist()):
            answers = self._node_answers(trees, t, size)
            baseline += answers[0]

            def add(
                part: tuple[int, NDArray[np.uint16]],
                t: int = t,
                answers: NDArray[np.float64] = answers,
            ) -> None:
                start, rows = part
                kernels.add_forest_changes(rows, trees, t, answers, out[start : start + ROWS])

            list(in_threads(add, list(zip(starts, slots, strict=True)), n_jobs))
        return baseline / self.n_trees, out / self.n_trees

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return what the tests on each column add to the log probabilities, along the paths.

        The logarithm of the mean of the leaves, less that of the roots, is shared out among the
        columns as the mean itself is.
        """
        shares, bars = self.contributions(block, n_jobs)
        base = np.maximum(shares, LEAST_SHARE)
        total = bars.sum(axis=1)
        mean = np.maximum(base + total, LEAST_SHARE)
        change = total / base  # near 0 the logarithm of a ratio loses digits
        log_ratio = np.where(
            np.abs(change) < 0.5, np.log1p(change.clip(-0.5, 0.5)), np.log(mean / base)
        )
        factor = np.divide(log_ratio, total, out=1.0 / (base + 0.0 * total), where=total != 0.0)
        baseline = np.tile(np.log(base), (block.n_rows, 1))
        return Evidence(baseline, factor[:, None] * bars, block.schema.names, classes)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the mean absolute change of probabilities by the tests on each column."""
        trees, out = self.trees(), np.zeros(len(self.coders))
        leaf = np.repeat(np.arange(self.attribute.size), self.n_entries)
        weight = np.bincount(leaf, self.entry_weight, self.attribute.size).astype(np.float64)
        for t, (first, last) in enumerate(pairwise(self.start.tolist())):
            tests = np.flatnonzero(self.attribute[first:last] >= 0)
            child = trees.first_child[first:last][tests] - first
            rows = weight[first:last]
            for node, one in zip(tests[::-1].tolist(), child[::-1].tolist(), strict=True):
                rows[node] = rows[one] + rows[one + 1]  # children come after their parents
            answers = self._node_answers(trees, t, last - first)
            size = sum(
                rows[child + k] * np.abs(answers[child + k] - answers[tests]).sum(axis=1)
                for k in (0, 1)
            )
            np.add.at(out, self.attribute[first:last][tests], size / max(rows[0], 1e-300))
        return out / self.n_trees

    def class_prior(self) -> NDArray[np.float64] | None:
        return self.prior


def mean_leaves(
    slots: NDArray[Any],
    arrays: ForestArrays,
    prior: NDArray[np.float64],
    trees_of_row: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the mean of the leaves of each row's trees (trees x rows); NaN where it has none."""
    slots, n = np.ascontiguousarray(slots, np.uint16), len(slots)
    leaf, total, rest = np.empty(n, np.int64), np.zeros((n, len(prior))), np.zeros(n)
    for t in range(len(trees_of_row)):
        kernels.find_leaves(slots, arrays, t, leaf)
        kernels.add_leaves(leaf, arrays, trees_of_row[t], total, rest)
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = total + rest[:, None] * prior
        return mean / trees_of_row.sum(axis=0)[:, None]
