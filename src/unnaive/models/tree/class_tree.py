"""A tree whose nodes answer with the shares of their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_values, expect
from unnaive.common.threads import in_threads
from unnaive.common.wording import amount, counted
from unnaive.models.tree import kernels
from unnaive.models.tree.tree import ROWS, Tree
from unnaive.table import Block


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassTree(Tree):
    """A tree of classes, as C4.5 makes it.

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
        expect(np.allclose(self.answer.sum(axis=1), 1.0, atol=1e-9), "answers do not sum to 1.")
        asked = np.bincount(self.parent[1:], self.weight[1:], self.n_nodes)
        expect((asked[self.attribute >= 0] > 0).all(), "no row has come to a node's children.")
        expect(np.isfinite(asked).all(), "the rows of a node weigh too much.")

    def describe(self, node: int, classes: NDArray[Any]) -> str:
        own = self.class_weight[node]
        best = int(own.argmax())
        wrong = own.sum() - own[best]
        rows = counted(own.sum(), "row")
        return (
            f"{classes[best]} ({rows})"
            if wrong == 0
            else f"{classes[best]} ({rows}, {amount(wrong)} wrong)"
        )

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of its parent's children's rows that each node has."""
        below = self.parent[1:]
        weight = self.weight[1:]
        share = np.ones(self.n_nodes)
        share[1:] = weight / np.bincount(below, weight, self.n_nodes)[below]
        return share

    def probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Probability of each class for each row."""
        return self._added(block, self.answer, n_jobs)

    def shares(self, block: Block) -> NDArray[np.float64]:
        """How much of each row stops at each node: rows x nodes."""
        return self._added(block, np.eye(self.n_nodes), None)

    def _added(
        self, block: Block, answers: NDArray[np.float64], n_jobs: int | None
    ) -> NDArray[np.float64]:
        """What the nodes (IN, nodes x any) answer for each row, by its share at each."""
        out = np.zeros((block.n_rows, answers.shape[1]))
        way, share = self.routing(), self.share

        def answer(start: int) -> None:
            slots = self._slots(block.slice(start, start + ROWS))
            kernels.add_shares(slots, way, share, answers, out[start : start + ROWS])

        list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))
        return out
