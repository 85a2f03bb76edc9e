"""Growing a tree whose leaves are naive Bayes classifiers (Kohavi, figure 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import validate
from unnaive.common.threads import in_threads
from unnaive.counts.information import most_informative
from unnaive.discretize import part_kernels
from unnaive.estimator import Progress
from unnaive.models._checkpoint import Checkpoint
from unnaive.models.tree import node_kernels as kernels
from unnaive.models.tree.decided import Decided, Test
from unnaive.models.tree.view import View
from unnaive.table.storage import Storage

CANDIDATES = 128  # attributes that a node judges
ALONE = 1024  # smaller nodes, with all that is below them, are each grown in one thread
# Coarse slots, rows x attributes, and numbers of values.
Slots: TypeAlias = tuple[NDArray[np.uint16], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class TreeRows:
    """Encoded rows: what growing sees of a table.

    Attributes
    ----------
    codes : list of arrays
        Slot of each row in each attribute: 0 missing, then fine cells or categories.
    numeric : tuple of bool
        Which attributes are numbers, their codes in ascending order of value.
    groups, weight, folds : arrays
        Class, weight and fold of each row.
    storage : Storage
        Where more arrays of rows go.
    """

    codes: list[NDArray[Any]]
    numeric: tuple[bool, ...]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    folds: NDArray[Any]
    n_classes: int
    n_folds: int
    storage: Storage


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """When to split and how leaves estimate; see `NBTreeClassifier`.

    ``stop`` says whether a node stays a leaf where a split cuts its error too little "or" it has
    too few rows, or only where both hold ("and").
    """

    alpha: float
    missing: str
    min_error_reduction: float
    significance: float | None
    min_node_size: float
    min_child_weight: float
    max_depth: int | None
    stop: str = "or"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A question, its utility, and which of the node's rows are then right."""

    test: Test
    utility: float
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


@dataclass(slots=True, eq=False)
class Branch:
    """A node that grows: which of its rows are right, its view, and what has grown below it."""

    node: Node
    right: NDArray[np.bool_]
    view: View | None = None
    below: list[Branch] = field(default_factory=list)
    path: tuple[int, ...] = ()  # from the root: which child each time


class Grower:
    """Grow a tree, node by node, parents before children.

    Parameters
    ----------
    rows : TreeRows
    sizes : sequence of int
        Number of values of each attribute's codes.
    rules : TreeOptions
    slots : pair of arrays or None
        Coarse slots of all rows and their numbers of values, where they are the same at every
        node; None to cut numbers anew at each.
    n_jobs : int or None
        Threads for judging candidates; the tree does not depend on it.
    progress : Progress or None
        Counts the weight of rows that have come to a leaf, and may stop the growing.
    kept : Checkpoint or None
        What was decided at nodes before, which is not searched again.
    """

    def __init__(
        self,
        rows: TreeRows,
        sizes: Sequence[int],
        rules: TreeOptions,
        slots: Slots | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        kept: Checkpoint | None = None,
    ) -> None:
        self.rows = rows
        self.sizes = np.array(sizes, dtype=np.intp)
        self.rules = rules
        self.slots = slots
        self.n_jobs = n_jobs
        self.progress = progress
        self.decided = Decided(kept, self.sizes)
        # Categories with very many values need wider codes than fine cells do.
        wide = np.result_type(np.uint16, *rows.codes)
        self.storage = rows.storage
        self._codes = self.storage.empty((len(sizes), len(rows.groups)), wide)
        for j, codes in enumerate(rows.codes):
            self._codes[j] = codes

    def grow(self) -> list[Node]:
        """All nodes, each with its rows."""
        # Rows of one fold stand together in every node, so that the fold's table stays in cache.
        everyone = self.storage.empty(len(self.rows.folds), np.intp)
        kernels.order_by(self.rows.folds, self.rows.n_folds, everyone)
        right = self.storage.zeros(len(everyone), np.bool_)
        view = self._view(everyone)
        self._cross_validate(view, self.storage.zeros(len(everyone), np.int32), 1, right)
        root = Branch(self._node(everyone, right, 0), right, view)
        growing: list[Branch] = [root]
        small: list[Branch] = []
        while growing:
            for child in self._divide(growing.pop(), self.n_jobs):
                (small if len(child.right) < ALONE else growing).append(child)
        small.sort(key=lambda branch: -len(branch.right))  # the longest work first
        in_threads(self._finish, small, self.n_jobs)
        if self.rules.significance is not None:
            self._prune(root, self.rules.significance)
        return _flatten(root)

    def _prune(self, root: Branch, significance: float) -> None:
        """Make leaves of nodes whose subtree is not right more often beyond chance.

        Chance: held-out rows that only the node or only its subtree gets right are as likely to be
        either. Small steps that lead somewhere together are so judged together.
        """
        branches = [root]
        for branch in branches:  # parents before children: a row's last mark is its leaf's
            branches += branch.below
        right = self.storage.empty(len(self.rows.groups), np.bool_)
        for branch in branches:
            right[branch.node.rows] = branch.right
        for branch in reversed(branches):
            if branch.below:
                node_rows = branch.node.rows
                weight = self.storage.take(self.rows.weight, node_rows)
                after = self.storage.take(right, node_rows)
                other = self.storage.empty(len(node_rows), np.bool_)
                np.logical_xor(after, branch.right, out=other)
                changed = kernels.weight_where(other, weight)
                gained = kernels.weight_where(after, weight) - branch.node.utility * weight.sum()
                if not changed or normal_tail(gained / math.sqrt(changed)) > significance:
                    branch.below, branch.node.test = [], None
                    right[node_rows] = branch.right

    def _finish(self, branch: Branch) -> None:
        """Grow all that is below a small node, in one thread."""
        growing = [branch]
        while growing:
            growing += self._divide(growing.pop(), None)

    def _view(self, chosen: NDArray[np.intp]) -> View:
        return View(self.rows, self._codes, self.sizes, chosen, self.slots)

    def _node(self, chosen: NDArray[np.intp], right: NDArray[np.bool_], depth: int) -> Node:
        weight = self.storage.take(self.rows.weight, chosen)
        whole = weight.sum()
        return Node(chosen, depth, float(whole), kernels.weight_where(right, weight) / float(whole))

    def _divide(self, branch: Branch, n_jobs: int | None) -> list[Branch]:
        """Split a node if that is worth it; its new branches."""
        node = branch.node
        split = view = None
        if self._may_split(branch):
            split, view = self._decide(branch, n_jobs)
        settled = node.weight  # rows that stay here
        if split is not None and view is not None:
            node.test = split.test
            child = self._child(view, split.test)
            for k, n in enumerate(kernels.child_sizes(child, split.test.n_children).tolist()):
                rows, right = self.storage.empty(n, np.intp), self.storage.empty(n, np.bool_)
                kernels.rows_of_child(child, k, node.rows, split.right, rows, right)
                below = self._node(rows, right, node.depth + 1)
                branch.below.append(Branch(below, right, path=(*branch.path, k)))
                settled -= below.weight
        if self.progress is not None:
            self.progress.add(settled)
        return branch.below

    def _may_split(self, branch: Branch) -> bool:
        rules, node = self.rules, branch.node
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        stopped = self.progress is not None and self.progress.stopped
        few = node.weight < rules.min_node_size and rules.stop == "or"
        return not (deep or stopped or few or branch.right.all())

    def _decide(self, branch: Branch, n_jobs: int | None) -> tuple[Split | None, View | None]:
        """The split of a node, searched or as it was found before, and the rows it is of."""
        node, right = branch.node, branch.right
        view, branch.view = branch.view, None
        decision = self.decided.get(branch.path, node.utility)
        if decision is not None:
            node.candidates = decision.candidates
            if decision.test is None:
                return None, None
        view = view or self._view(node.rows)
        if decision is not None and decision.test is not None:
            split = self._judge_test(view, right, decision.test)
            self.decided.expect(split is not None and split.utility == decision.split_utility)
            return split, view
        split = self._split(node, right, view, n_jobs)
        test = None if split is None else split.test
        self.decided.add(branch.path, node.utility, test, node.candidates)
        return split, view

    def _split(
        self, node: Node, right: NDArray[np.bool_], view: View, n_jobs: int | None
    ) -> Split | None:
        """The best question, if it is significantly better than none."""
        attributes = self._candidates(view, n_jobs)
        judged = in_threads(lambda j: self._judge(view, right, j), attributes, n_jobs)
        splits = [split for split in judged if split is not None]
        if not splits:
            return None
        node.candidates = {split.test.attribute: split.utility for split in splits}
        best = max(splits, key=lambda split: split.utility)  # the first of equals
        return best if self._is_better(node, best) else None

    def _candidates(self, view: View, n_jobs: int | None) -> Sequence[int]:
        """Attributes to judge: of very many, those whose question tells most about the classes.

        Judging one takes as long as all attributes of all rows: judging all of thousands would
        take hours.
        """
        everyone = range(len(self.sizes))
        if len(everyone) <= CANDIDATES:
            return everyone
        tables = in_threads(lambda j: self._class_table(view, j), everyone, n_jobs)
        return most_informative(list(tables), CANDIDATES)

    def _class_table(self, view: View, j: int) -> NDArray[Any] | None:
        """Weight of the rows by their answer to attribute j's question, and class."""
        test = self._test(view, j)
        if test is None:
            return None
        cells = (self._child(view, test) + 1).astype(np.intp) * view.n_classes + view.groups
        size = (test.n_children + 1) * view.n_classes
        return np.bincount(cells, view.weight, minlength=size).reshape(-1, view.n_classes)

    def _is_better(self, node: Node, split: Split) -> bool:
        """Whether a split cuts the node's error by enough, or the node is too large for a leaf."""
        if self.rules.stop == "and" and node.weight > self.rules.min_node_size:
            return True
        error, after = 1.0 - node.utility, 1.0 - split.utility
        return error - after > self.rules.min_error_reduction * error

    def _judge(self, view: View, right: NDArray[np.bool_], j: int) -> Split | None:
        """What asking attribute j would give."""
        test = self._test(view, j)
        return None if test is None else self._judge_test(view, right, test)

    def _judge_test(self, view: View, right: NDArray[np.bool_], test: Test) -> Split | None:
        """What a question would give.

        Rows without a child (their value is missing) stay with the node's own naive Bayes.
        """
        child = self._child(view, test)
        if self.rules.min_child_weight > 0.0:
            weights = kernels.child_weights(child, view.weight, test.n_children)
            if weights.min() < self.rules.min_child_weight:
                return None
        after = self.storage.copy(right)
        self._cross_validate(view, child, test.n_children, after)
        return Split(test, kernels.weight_where(after, view.weight) / view.whole, after)

    def _child(self, view: View, test: Test) -> NDArray[np.int32]:
        j = test.attribute
        child = self.storage.empty(len(view.weight), np.int32)
        test.child(view.codes[j], int(self.sizes[j]), child)
        return child

    def _test(self, view: View, j: int) -> Test | None:
        """The question that attribute j asks of these rows; None if all answer alike."""
        codes = view.codes[j]
        if not self.rows.numeric[j]:
            values = kernels.values_present(codes, self.sizes[j])
            return Test(j, values=tuple(values.tolist())) if len(values) > 1 else None
        below, above = kernels.threshold(
            codes, view.ranks[j], view.n_ranks[j], view.groups, view.weight, view.n_classes
        )
        return Test(j, (below,), (above,)) if below else None

    def _cross_validate(
        self, view: View, part: NDArray[np.int32], n_parts: int, right: NDArray[np.bool_]
    ) -> None:
        """Mark, for rows of any part, whether the part's naive Bayes gets them right (OUT)."""
        slots, n_values = self._part_slots(view, part, n_parts)
        self._mark(self._folded(view, slots, part), n_values, validate.NO_KERNELS, right)

    def _folded(
        self, view: View, slots: NDArray[np.uint16], part: NDArray[np.int32]
    ) -> validate.FoldedRows:
        given = (view.groups, view.n_classes, view.weight, view.folds, self.rows.n_folds)
        return validate.FoldedRows(slots, part, *given)

    def _mark(
        self,
        rows: validate.FoldedRows,
        n_values: NDArray[np.intp],
        kernels: validate.Kernels,
        right: NDArray[np.bool_],
    ) -> None:
        smoothing = validate.Smoothed(self.rules.alpha, self.rules.missing == "value")
        order = self.storage.empty(len(right), np.int32)
        validate.cross_validate(rows, n_values, smoothing, kernels, order, right)

    def _part_slots(self, view: View, part: NDArray[np.int32], n_parts: int) -> Slots:
        """Coarse slots of the rows, numbers cut within each part, and the parts' sizes."""
        n_values = np.empty((n_parts, len(self.sizes)), dtype=np.intp)
        if view.ready is not None:
            n_values[:] = view.ready[1]
            return view.ready[0], n_values
        slots = self.storage.copy(view.base)
        n_values[:] = self.sizes
        given = (part, n_parts, view.groups, view.weight, view.n_classes)
        # A table of all cells where it is smaller than the rows, else the rows in order of value.
        small = n_parts * view.n_classes * view.n_ranks[view.numeric] <= 4 * len(part)
        part_kernels.discretize_columns(
            view.ranks, view.n_ranks, view.numeric[small], *given, slots, n_values
        )
        for j in view.numeric[~small].tolist():
            part_kernels.discretize_parts(
                view.sorted(j), view.ranks[j], *given, slots[:, j], n_values[:, j]
            )
        return slots, n_values


def normal_tail(deviations: float) -> float:
    """Chance of a normal variable to lie so many standard deviations or more above its mean."""
    return 0.5 * math.erfc(deviations / math.sqrt(2.0))


def _flatten(root: Branch) -> list[Node]:
    """Nodes in order, parents before children, with the numbers of their children."""
    nodes: list[Node] = []
    stack = [(root, -1)]
    while stack:
        branch, parent = stack.pop()
        if parent >= 0:
            nodes[parent].children.append(len(nodes))
        stack += [(below, len(nodes)) for below in reversed(branch.below)]
        nodes.append(branch.node)
    return nodes
