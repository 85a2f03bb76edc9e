"""A tree whose nodes predict their class shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import tree_kernels as kernels
from unnaive.answer.tree import ROWS, Tree
from unnaive.common.checks import check_values, expect
from unnaive.common.threads import in_threads
from unnaive.common.wording import amount, counted
from unnaive.encode.coding import row_slots
from unnaive.table import Block
from unnaive.table.storage import stretches


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassTree(Tree):
    """A tree with class shares at its nodes, as C4.5 grows it.

    Attributes
    ----------
    worth : array of shape (nodes,)
        Gain ratio of the node's test, 0 for a leaf.
    answer : array of shape (nodes, classes)
        Probability of each class at the node.
    """

    worth: NDArray[np.float64]
    answer: NDArray[np.float64]

    def check(self) -> None:
        Tree.check(self)
        check_values("worth", self.worth, (self.n_nodes,))
        check_values("answer", self.answer, self.class_weight.shape, 0.0, 1.0)
        total = self.answer.sum(axis=1)
        expect(np.allclose(total, 1.0, atol=1e-9), "answer does not sum to 1 at every node.")
        below = np.bincount(self.parent[1:], self.weight[1:], self.n_nodes)
        expect((below[self.attribute >= 0] > 0).all(), "the children of a node have no rows.")
        expect(np.isfinite(below).all(), "the weight of a node's rows is not finite.")

    def describe(self, node: int, classes: NDArray[Any]) -> str:
        weight = self.class_weight[node]
        best = int(weight.argmax())
        wrong = weight.sum() - weight[best]
        errors = f", {amount(wrong)} wrong" if wrong else ""
        return f"{classes[best]} ({counted(weight.sum(), 'row')}{errors})"

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of each node in the rows of its parent's children."""
        below = self.parent[1:]
        weight = self.weight[1:]
        share = np.ones(self.n_nodes)
        share[1:] = weight / np.bincount(below, weight, self.n_nodes)[below]
        return share

    def probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Probability of each class for each row."""
        return self._answer(
            lambda part: row_slots(block.slice(part.start, part.stop), self.coders),
            block.n_rows, n_jobs,
        )  # fmt: skip

    def answer_slots(
        self, slots: NDArray[np.uint16], n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """The same, given the slots of rows (rows x columns)."""
        return self._answer(lambda part: slots[part], len(slots), n_jobs)

    def _answer(
        self, slots_of: Callable[[slice], NDArray[np.uint16]], n_rows: int, n_jobs: int | None
    ) -> NDArray[np.float64]:
        out = np.zeros((n_rows, self.n_outputs))
        routing, share = self.routing(), self.share

        def answer(part: slice) -> None:
            kernels.add_shares(slots_of(part), routing, share, self.answer, out[part])

        list(in_threads(answer, list(stretches(n_rows, ROWS)), n_jobs))
        return out

    def single_ends(self, slots: NDArray[np.uint16]) -> NDArray[np.intp] | None:
        """The node where each row stops, given its slots; None where a row stops at several."""
        n = len(slots)
        rows, nodes, shares = np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n)
        ends = kernels.list_ends(slots, self.routing(), self.share, rows, nodes, shares)
        return nodes if ends == n else None

    def stops(self, block: Block) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """The nodes where rows stop: row, node, and share of the row, one entry for each."""
        slots, routing, share = row_slots(block, self.coders), self.routing(), self.share
        n = 0
        while True:
            rows, nodes, shares = np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n)
            needed = kernels.list_ends(slots, routing, share, rows, nodes, shares)
            if needed == n:
                return rows, nodes, shares
            n = needed

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """Change of the class shares by the tests on each column, along a row's paths.

        Rows x columns x classes; with the root's shares they add up to the probabilities.
        """
        out = np.zeros((block.n_rows, len(self.coders), self.n_outputs))
        kernels.add_changes(*self.stops(block), self.parent, self.attribute, self.answer, out)
        return out
