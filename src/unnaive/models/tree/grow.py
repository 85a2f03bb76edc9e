"""Growing a tree whose leaves are naive Bayes classifiers (Kohavi, figure 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import validate
from unnaive.common.threads import in_threads
from unnaive.counts.information import highest
from unnaive.counts.kernels import row_information
from unnaive.discretize import part_kernels
from unnaive.estimator import Progress
from unnaive.models.tree import node_kernels as kernels
from unnaive.models.tree.branches import (
    Branch,
    Node,
    Slots,
    Split,
    TreeOptions,
    TreeRows,
    every_branch,
    flatten,
    is_luck,
)
from unnaive.models.tree.decided import Test
from unnaive.models.tree.view import View

ALONE = 1024  # smaller nodes, with all that is below them, are each grown in one thread

NewGrower: TypeAlias = "Callable[..., Grower]"  # of rows, n_jobs and progress


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
    """

    def __init__(
        self,
        rows: TreeRows,
        sizes: Sequence[int],
        rules: TreeOptions,
        slots: Slots | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.rows = rows
        self.sizes = np.array(sizes, dtype=np.intp)
        self.rules = rules
        self.slots = slots
        self.n_jobs = n_jobs
        self.progress = progress
        # Categories with very many values need wider codes than fine cells do.
        self.dtype = np.result_type(np.uint16, *rows.codes)
        self.storage = rows.storage
        self._codes = self.storage.empty((len(sizes), len(rows.groups)), self.dtype)
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
        self._grow_below(root)
        return flatten(root)

    def _grow_below(self, root: Branch) -> NDArray[np.bool_]:
        """Grow all that is below a node; which of all rows are right then."""
        growing: list[Branch] = [root]
        small: list[Branch] = []
        while growing:
            for child in self._divide(growing.pop(), self.n_jobs):
                (small if len(child.right) < ALONE else growing).append(child)
        small.sort(key=lambda branch: -len(branch.right))  # the longest work first
        in_threads(self._finish, small, self.n_jobs)
        return self._prune(root)

    def _prune(self, root: Branch) -> NDArray[np.bool_]:
        """Make leaves of nodes whose subtree is luck, see `is_luck`; which rows are right then."""
        branches = every_branch(root)  # parents before children: a row's last mark is its leaf's
        right = self.storage.empty(len(self.rows.groups), np.bool_)
        for branch in branches:
            right[branch.node.rows] = branch.right
        for branch in reversed(branches):
            if branch.below and self.rules.significance is not None:
                node_rows = branch.node.rows
                weight = self.storage.take(self.rows.weight, node_rows)
                after = self.storage.take(right, node_rows)
                other = self.storage.empty(len(node_rows), np.bool_)
                np.logical_xor(after, branch.right, out=other)
                changed = kernels.weight_where(other, weight)
                gained = kernels.weight_where(after, weight) - branch.node.utility * weight.sum()
                if is_luck(gained, changed, self.rules.significance):
                    branch.below, branch.node.test = [], None
                    right[node_rows] = branch.right
        return right

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
        if self.may_split(node, bool(branch.right.all())):
            view, branch.view = branch.view or self._view(node.rows), None
            split = self._split(node, branch.right, view, n_jobs)
        settled = node.weight  # rows that stay here
        if split is not None and view is not None:
            node.test = split.test
            child = self._child(view, split.test)
            for k, n in enumerate(kernels.child_sizes(child, split.test.n_children).tolist()):
                rows, right = self.storage.empty(n, np.intp), self.storage.empty(n, np.bool_)
                kernels.rows_of_child(child, k, node.rows, split.right, rows, right)
                below = self._node(rows, right, node.depth + 1)
                branch.below.append(Branch(below, right))
                settled -= below.weight
        if self.progress is not None:
            self.progress.add(settled)
        return branch.below

    def may_split(self, node: Node, all_right: bool) -> bool:
        """Whether a split is looked for at a node."""
        rules = self.rules
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        stopped = self.progress is not None and self.progress.stopped
        few = node.weight < rules.min_node_size and rules.stop == "or"
        return not (deep or stopped or few or all_right)

    def _split(
        self, node: Node, right: NDArray[np.bool_], view: View, n_jobs: int | None
    ) -> Split | None:
        """The best question, if it is significantly better than none."""
        tests = self.questions(view, n_jobs)
        splits = list(in_threads(lambda test: self._judge(view, right, test), tests, n_jobs))
        best = self.choose(node, [(split.test, split.utility) for split in splits])
        return None if best is None else splits[best]

    def choose(self, node: Node, judged: Sequence[tuple[Test, float]]) -> int | None:
        """Which of a node's questions is asked, by their utilities; None for none of them."""
        if not judged:
            return None
        node.candidates = {test.attribute: utility for test, utility in judged}
        best = max(range(len(judged)), key=lambda k: judged[k][1])  # the first of equals
        return best if self._is_better(node, judged[best][1]) else None

    def questions(self, view: View, n_jobs: int | None) -> list[Test]:
        """What is to be judged at a node: of many questions, those that tell most of the classes.

        Judging one takes as long as all attributes of all rows: judging all of thousands would
        take hours.
        """
        every = in_threads(lambda j: self._test(view, j), range(len(self.sizes)), n_jobs)
        tests = [test for test in every if test is not None and self._is_wide(view, test)]
        most = self.rules.most_tests(len(self.sizes))
        if len(tests) <= most:
            return tests
        told = in_threads(lambda test: self._information(view, test), tests, n_jobs)
        return [tests[k] for k in highest(list(told), most)]

    def _is_wide(self, view: View, test: Test) -> bool:
        """Whether every child of a question has enough weight."""
        if self.rules.min_child_weight <= 0.0:
            return True
        weights = kernels.child_weights(self._child(view, test), view.weight, test.n_children)
        return bool(weights.min() >= self.rules.min_child_weight)

    def _information(self, view: View, test: Test) -> float:
        """What the answers to a question tell about the classes."""
        given = (view.groups, view.n_classes, view.weight)
        return float(row_information(self._child(view, test), test.n_children, *given))

    def _is_better(self, node: Node, utility: float) -> bool:
        """Whether a split cuts the node's error by enough, or the node is too large for a leaf."""
        if self.rules.stop == "and" and node.weight > self.rules.min_node_size:
            return True
        error, after = 1.0 - node.utility, 1.0 - utility
        return error - after > self.rules.min_error_reduction * error

    def _judge(self, view: View, right: NDArray[np.bool_], test: Test) -> Split:
        """What a question would give.

        Rows without a child (their value is missing) stay with the node's own naive Bayes.
        """
        after = self.storage.copy(right)
        self._cross_validate(view, self._child(view, test), test.n_children, after)
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
        order = self.storage.empty(len(right), np.int32)
        validate.cross_validate(rows, n_values, self.smoothing, kernels, order, right)

    @property
    def smoothing(self) -> validate.Smoothed:
        """How naive Bayes is estimated."""
        return validate.Smoothed(self.rules.alpha, self.rules.missing == "value")

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
