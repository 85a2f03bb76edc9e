"""Growing a tree whose leaves are naive Bayes classifiers (Kohavi, figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import kernels as bayes_kernels
from unnaive.discretize import kernels as cut_kernels
from unnaive.table import in_threads

# Coarse slots, rows x attributes, and numbers of values.
Slots: TypeAlias = tuple[NDArray[np.uint16], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Encoded rows: what growing sees of a table.

    Attributes
    ----------
    codes : list of arrays
        Slot of each row in each attribute: 0 missing, then fine cells or categories.
    numeric : tuple of bool
        Which attributes are numbers, their codes in ascending order of value.
    groups, weight, folds : arrays
        Class, weight and fold of each row.
    """

    codes: list[NDArray[Any]]
    numeric: tuple[bool, ...]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    folds: NDArray[np.int64]
    n_classes: int
    n_folds: int


@dataclass(frozen=True, slots=True)
class Rules:
    """When to split and how leaves estimate; see `NBTreeClassifier`."""

    alpha: float
    missing: str
    min_error_reduction: float
    min_node_size: float
    min_child_weight: float
    max_depth: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A question about one attribute: which child a slot leads to.

    A numeric test has two children, up to ``below`` and from ``above`` (codes of the cells on both
    sides of the threshold); a discrete one has a child for each of ``values`` (codes).
    """

    attribute: int
    below: int = 0
    above: int = 0
    values: tuple[int, ...] = ()

    @property
    def n_children(self) -> int:
        return len(self.values) or 2

    def child(self, codes: NDArray[Any], size: int) -> NDArray[np.intp]:
        """Child of each code, -1 for missing and for values without a child."""
        place = np.full(size + 2, -1, dtype=np.intp)
        if self.values:
            place[list(self.values)] = np.arange(len(self.values))
        else:
            place[1 : self.below + 1] = 0
            place[self.above : size + 1] = 1
        return place[codes]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A question, its utility, the child of each row, and which rows are then right."""

    test: Test
    utility: float
    child: NDArray[np.intp]
    right: NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Node:
    """One node of a grown tree, with everything that was considered there."""

    rows: NDArray[np.intp]
    depth: int
    weight: float
    utility: float
    candidates: dict[int, float] = field(default_factory=dict)
    test: Test | None = None
    children: list[int] = field(default_factory=list)


class View:
    """The rows of one node, gathered once for all the questions that are tried on them.

    Classes and the values of numbers are renumbered among those that occur: a small node has few.
    """

    def __init__(self, rows: Rows, chosen: NDArray[np.intp], slots: Slots | None) -> None:
        self.n_rows = len(chosen)
        self.codes = [codes[chosen] for codes in rows.codes]
        present, self.groups = np.unique(rows.groups[chosen], return_inverse=True)
        self.n_classes = len(present)
        self.weight, self.folds = rows.weight[chosen], rows.folds[chosen]
        self.ready = None if slots is None else (slots[0][chosen], slots[1])
        self.numeric = np.flatnonzero(rows.numeric)
        n_columns = len(self.codes)
        self.ranks = np.zeros((n_columns, self.n_rows), dtype=np.uint16)
        self.n_ranks = np.zeros(n_columns, dtype=np.intp)
        self.cells: dict[int, NDArray[np.intp]] = {}  # code of each rank, from rank 1
        for j in self.numeric.tolist():
            self.cells[j], self.ranks[j] = _ranks(self.codes[j])
            self.n_ranks[j] = len(self.cells[j])
        self._order: dict[int, NDArray[np.intp]] = {}
        if slots is None:
            self.base = np.empty((self.n_rows, n_columns), dtype=np.uint16)
            for j, codes in enumerate(self.codes):
                self.base[:, j] = codes

    def sorted(self, j: int) -> NDArray[np.intp]:
        """Rows in ascending order of a numeric attribute."""
        if j not in self._order:
            self._order[j] = np.argsort(self.ranks[j], kind="stable")
        return self._order[j]


def _ranks(codes: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.uint16]]:
    """The codes that occur, and each row's rank among them from 1; 0 is missing in both."""
    present = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    present[codes] = True
    present[0] = False
    return np.flatnonzero(present), np.cumsum(present).astype(np.uint16)[codes]


class Grower:
    """Grow a tree, node by node, parents before children.

    Parameters
    ----------
    rows : Rows
    sizes : sequence of int
        Number of values of each attribute's codes.
    rules : Rules
    slots : pair of arrays or None
        Coarse slots of all rows and their numbers of values, where they are the same at every
        node; None to cut numbers anew at each.
    n_jobs : int or None
        Threads for judging candidates; the tree does not depend on it.
    """

    def __init__(
        self,
        rows: Rows,
        sizes: Sequence[int],
        rules: Rules,
        slots: Slots | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.rows = rows
        self.sizes = list(sizes)
        self.rules = rules
        self.slots = slots
        self.n_jobs = n_jobs

    def grow(self) -> list[Node]:
        """All nodes, each with its rows."""
        # Rows of one fold stand together in every node, so that the fold's table stays in cache.
        everyone = np.argsort(self.rows.folds, kind="stable")
        right = np.zeros(len(everyone), dtype=np.bool_)
        view = View(self.rows, everyone, self.slots)
        self._cross_validate(view, np.zeros(len(everyone), dtype=np.intp), 1, right)
        nodes: list[Node] = []
        stack = [(everyone, right, 0, -1)]
        while stack:
            chosen, right, depth, parent = stack.pop()
            node = self._node(chosen, right, depth)
            if parent >= 0:
                nodes[parent].children.append(len(nodes))
            nodes.append(node)
            split = self._split(node, right)
            if split is not None:
                node.test = split.test
                for child in range(split.test.n_children - 1, -1, -1):
                    own = split.child == child
                    stack.append((chosen[own], split.right[own], depth + 1, len(nodes) - 1))
        return nodes

    def _node(self, chosen: NDArray[np.intp], right: NDArray[np.bool_], depth: int) -> Node:
        weight = self.rows.weight[chosen]
        whole = weight.sum()
        return Node(chosen, depth, float(whole), float(weight[right].sum() / whole))

    def _split(self, node: Node, right: NDArray[np.bool_]) -> Split | None:
        """The best question, if it is significantly better than none."""
        rules = self.rules
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        if deep or node.weight < rules.min_node_size or right.all():
            return None
        view = View(self.rows, node.rows, self.slots)
        attributes = range(len(self.sizes))
        found = in_threads(lambda j: self._judge(view, right, j), attributes, self.n_jobs)
        splits = [split for split in found if split is not None]
        if not splits:
            return None
        node.candidates = {split.test.attribute: split.utility for split in splits}
        best = max(splits, key=lambda split: split.utility)  # the first of equals
        error, after = 1.0 - node.utility, 1.0 - best.utility
        return best if error - after > rules.min_error_reduction * error else None

    def _judge(self, view: View, right: NDArray[np.bool_], j: int) -> Split | None:
        """What asking attribute j would give.

        Rows without a child (their value is missing) stay with the node's own naive Bayes.
        """
        test = self._test(view, j)
        if test is None:
            return None
        child = test.child(view.codes[j], self.sizes[j])
        if self.rules.min_child_weight > 0.0:
            weights = np.bincount(child[child >= 0], view.weight[child >= 0], test.n_children)
            if weights.min() < self.rules.min_child_weight:
                return None
        after = right.copy()
        self._cross_validate(view, child, test.n_children, after)
        utility = float(view.weight[after].sum() / view.weight.sum())
        return Split(test, utility, child, after)

    def _test(self, view: View, j: int) -> Test | None:
        """The question that attribute j asks of these rows; None if all answer alike."""
        codes = view.codes[j]
        if not self.rows.numeric[j]:
            values = np.flatnonzero(np.bincount(codes, minlength=1)[1:]) + 1
            return Test(j, values=tuple(values.tolist())) if len(values) > 1 else None
        cells, cumulative = cut_kernels.class_cells(
            view.ranks[j], int(view.n_ranks[j]), view.groups, view.weight, view.n_classes
        )
        cut = cut_kernels.threshold_cell(cumulative) if len(cells) > 1 else -1
        codes_of = view.cells[j]
        return None if cut < 0 else Test(j, int(codes_of[cut - 1]), int(codes_of[cut]))

    def _cross_validate(
        self, view: View, part: NDArray[np.intp], n_parts: int, right: NDArray[np.bool_]
    ) -> None:
        """Mark, for rows of any part, whether the part's naive Bayes gets them right (OUT)."""
        slots, n_values = self._part_slots(view, part, n_parts)
        order = np.argsort(part, kind="stable")
        edges = np.searchsorted(part[order], np.arange(n_parts + 1))
        bayes_kernels.cross_validate_parts(
            slots,
            order,
            edges,
            n_values,
            view.groups,
            view.weight,
            view.folds,
            self.rows.n_folds,
            view.n_classes,
            self.rules.alpha,
            self.rules.missing == "value",
            right,
        )

    def _part_slots(self, view: View, part: NDArray[np.intp], n_parts: int) -> Slots:
        """Coarse slots of the rows, numbers cut within each part, and the parts' sizes."""
        if view.ready is not None:
            return view.ready[0], np.tile(view.ready[1], (n_parts, 1))
        slots = view.base.copy()
        n_values = np.tile(np.array(self.sizes, dtype=np.intp), (n_parts, 1))
        given = (part, n_parts, view.groups, view.weight, view.n_classes)
        # A table of all cells where it is smaller than the rows, else the rows in order of value.
        small = n_parts * view.n_classes * view.n_ranks[view.numeric] <= 4 * view.n_rows
        cut_kernels.discretize_columns(
            view.ranks, view.n_ranks, view.numeric[small], *given, slots, n_values
        )
        for j in view.numeric[~small].tolist():
            cut_kernels.discretize_parts(
                view.sorted(j), view.ranks[j], *given, slots[:, j], n_values[:, j]
            )
        return slots, n_values
