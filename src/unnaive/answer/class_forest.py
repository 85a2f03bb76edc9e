"""Many randomised trees of class shares, as flat arrays of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import forest_kernels as kernels
from unnaive.answer.forest_kernels import WORD, Trees
from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.discretize import CoarseCoder
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.encode.coding import check_coders, coder_sizes, column_slots
from unnaive.table import Block, Schema

ROWS = 1 << 12  # rows that go through a tree at a time: their slots stay in cache


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassForest:
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

    ADDS_UP: ClassVar = False

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
        expect((np.diff(self.start) == 2 * inner + 1).all(), "a test has not two children.")
        place = np.arange(n) - np.repeat(self.start[:-1], np.diff(self.start))
        expect((self.first_child[tests] > np.arange(n)[tests]).all(), "a child comes too early.")
        expect((place[~tests] >= 0).all(), "a leaf is in no tree.")
        expect(self.missing_first.shape == (n,), "missing_first is not one for each node.")
        expect(self.test.shape == (n,), "test is not one for each node.")
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
        expect(((test >= 0) & (test <= last)).all(), "a test is outside of its column's values.")

    def _check_entries(self, tests: NDArray[np.bool_]) -> None:
        n = self.entry_class.size
        expect(self.n_entries.shape == self.attribute.shape, "n_entries is not one for each node.")
        expect(((self.n_entries == 0) == tests).all(), "a leaf has no class, or a test has one.")
        expect(self.n_entries.sum() == n, "n_entries does not match the entries.")
        check_values("entry_class", self.entry_class, (n,), 0, self.n_outputs - 1)
        check_values("entry_weight", self.entry_weight, (n,), 0.0, HEAVIEST)
        expect((self.entry_weight > 0).all(), "a class of a leaf weighs nothing.")

    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""
        check_coders(self.coders, schema)

    @property
    def n_outputs(self) -> int:
        return self.prior.size

    @property
    def n_trees(self) -> int:
        return self.start.size - 1

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which columns are numbers."""
        return np.array([isinstance(coder, Bins) for coder in self.coders], dtype=bool)

    @property
    def first_child(self) -> NDArray[np.int64]:
        """The first child of every node, which the second follows; -1 for a leaf."""
        tests = self.attribute >= 0
        before = np.cumsum(tests) - tests  # tests before each node, of all trees
        begin = np.repeat(self.start[:-1], np.diff(self.start))
        return np.where(tests, begin + 1 + 2 * (before - before[begin]), -1)

    def __repr__(self) -> str:
        return f"Forest of {self.n_trees} trees, {self.attribute.size} nodes"

    # Rows -----------------------------------------------------------------------------------

    def trees(self) -> Trees:
        """The arrays that kernels send rows by."""
        edges = np.zeros(self.attribute.size + 1, dtype=np.int64)
        np.cumsum(self.n_entries, out=edges[1:])
        leaf = np.repeat(np.arange(self.attribute.size), self.n_entries)
        whole = np.bincount(leaf, self.entry_weight, self.attribute.size) + self.alpha
        whole[self.attribute >= 0] = 1.0  # no leaf
        return Trees(
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
            self.alpha / whole,
        )

    def _slots(self, block: Block) -> NDArray[np.uint16]:
        slots = np.empty((block.n_rows, len(self.coders)), dtype=np.uint16)
        for j, coder in enumerate(self.coders):
            slots[:, j] = column_slots(block, j, coder)
        return slots

    def probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Probability of each class for each row: the mean of the leaves that it ends in."""
        trees = self.trees()

        def answer(start: int) -> NDArray[np.float64]:
            slots = self._slots(block.slice(start, start + ROWS))
            return self.answer_slots(slots, trees, np.ones((self.n_trees, len(slots)), np.bool_))

        parts = list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))
        return np.concatenate(parts) if parts else np.empty((0, self.n_outputs))

    def answer_slots(
        self, slots: NDArray[np.uint16], trees: Trees, judges: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Mean answer of the trees that judge each row (trees x rows); NaN where none does."""
        n = len(slots)
        out, rest, leaf = np.zeros((n, self.n_outputs)), np.zeros(n), np.empty(n, np.int64)
        for t in range(self.n_trees):
            kernels.find_leaves(slots, trees, t, leaf)
            kernels.add_leaves(leaf, trees, judges[t], out, rest)
        out += rest[:, None] * self.prior
        with np.errstate(invalid="ignore"):
            out /= judges.sum(axis=0)[:, None]
        return out

    def leaves(self, block: Block) -> NDArray[np.int64]:
        """The leaf of each tree that each row ends in, rows x trees."""
        slots, trees = self._slots(block), self.trees()
        out = np.empty((self.n_trees, block.n_rows), np.int64)
        for t in range(self.n_trees):
            kernels.find_leaves(slots, trees, t, out[t])
        return out.T

    def answers(self, trees: Trees | None = None) -> Iterator[NDArray[np.float64]]:
        """Of each tree, the probabilities of the classes at all of its nodes."""
        trees = self.trees() if trees is None else trees
        for t, size in enumerate(np.diff(self.start).tolist()):
            out = np.empty((size, self.n_outputs))
            kernels.node_answers(trees, t, self.entry_weight, self.alpha, self.prior, out)
            yield out

    def contributions(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the roots' probabilities, and how the tests on each column change it.

        Rows x columns x classes; with the first they add up to the probabilities.
        """
        slots, trees = self._slots(block), self.trees()
        baseline = np.zeros(self.n_outputs)
        out = np.zeros((block.n_rows, len(self.coders), self.n_outputs))
        for t, answers in enumerate(self.answers(trees)):
            baseline += answers[0]
            kernels.add_changes(slots, trees, t, answers, out)
        return baseline / self.n_trees, out / self.n_trees
