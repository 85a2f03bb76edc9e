"""A grown tree as flat arrays: routing rows, scoring them, and reading it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.discretize import CoarseCoder
from unnaive.encode import column_slots
from unnaive.models.tree import kernels
from unnaive.table import Block, in_threads

ROWS = 1 << 16  # rows led through the tree at a time: enough to make slicing columns cheap


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Nodes in the order parents before children; node 0 is the root.

    Every row is numbered once: a numeric column by all cuts that any node uses, a categorical one
    by its values. A test is then a look-up from slot to child, and a node's naive Bayes a look-up
    from slot to evidence.

    Attributes
    ----------
    coders : tuple
        Numbering of each attribute.
    attribute : array of shape (nodes,)
        Attribute that a node asks, -1 for a leaf.
    threshold : array of shape (nodes,)
        Where a numeric test cuts; NaN for other nodes.
    parent, depth : arrays of shape (nodes,)
    weight, utility : arrays of shape (nodes,)
        Weight of the training rows and cross-validated accuracy of the node's naive Bayes.
    candidates : array of shape (nodes, attributes)
        Utility of splitting on each attribute; NaN where it was not considered.
    class_weight : array of shape (nodes, classes)
        Weight of the training rows of each class.
    route_start, route : arrays
        From ``route_start[node]``, the child for each slot of the node's attribute, -1 to stay.
    offsets : array of shape (attributes + 1,)
        Where the slots of each attribute begin.
    place : array of shape (nodes, slots)
        Row of ``logs`` for each slot at each node.
    logs : array of shape (any, classes)
    log_prior : array of shape (nodes, classes)
    """

    coders: tuple[CoarseCoder, ...]
    attribute: NDArray[np.intp]
    threshold: NDArray[np.float64]
    parent: NDArray[np.intp]
    depth: NDArray[np.intp]
    weight: NDArray[np.float64]
    utility: NDArray[np.float64]
    candidates: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    route_start: NDArray[np.intp]
    route: NDArray[np.intp]
    offsets: NDArray[np.intp]
    place: NDArray[np.int32]
    logs: NDArray[np.float64]
    log_prior: NDArray[np.float64]

    @property
    def n_nodes(self) -> int:
        return len(self.attribute)

    @property
    def n_leaves(self) -> int:
        return int((self.attribute < 0).sum())

    def __repr__(self) -> str:
        return f"Tree of {self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth.max()}"

    def children(self, node: int) -> list[int]:
        """Children of a node, in the order of their values."""
        return np.flatnonzero(self.parent == node).tolist()

    def slots_to(self, node: int, child: int) -> NDArray[np.intp]:
        """Slots of the node's attribute that lead to a child."""
        j = self.attribute[node]
        start = self.route_start[node]
        size = self.offsets[j + 1] - self.offsets[j]
        return np.flatnonzero(self.route[start : start + size] == child)

    # Rows -----------------------------------------------------------------------------------

    def _slots(self, block: Block) -> NDArray[np.uint16]:
        slots = np.empty((block.n_rows, len(self.coders)), dtype=np.uint16)
        for j, coder in enumerate(self.coders):
            slots[:, j] = column_slots(block, j, coder)
        return slots

    def _arrive(self, slots: NDArray[np.uint16]) -> NDArray[np.intp]:
        node = np.empty(len(slots), dtype=np.intp)
        kernels.arrive(slots, self.attribute, self.route_start, self.route, node)
        return node

    def apply(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Node where each row stops: a leaf, or a node that has no child for its value."""

        def find(start: int) -> NDArray[np.intp]:
            return self._arrive(self._slots(block.slice(start, start + ROWS)))

        return np.concatenate(list(in_threads(find, range(0, block.n_rows, ROWS), n_jobs)))

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Log P(class, row) by the naive Bayes of the node where the row stops."""
        out = np.empty((block.n_rows, self.log_prior.shape[1]))

        def score(start: int) -> None:
            slots = self._slots(block.slice(start, start + ROWS))
            node = self._arrive(slots)
            part = out[start : start + ROWS]
            part[:] = self.log_prior[node]
            kernels.add_evidence(slots, node, self.offsets, self.place, self.logs, part)

        list(in_threads(score, range(0, block.n_rows, ROWS), n_jobs))
        return out

    def evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Baseline (rows x classes) and bars (rows x attributes x classes) of the rows."""
        slots = self._slots(block)
        node = self._arrive(slots)
        at = self.place[node[:, None], self.offsets[:-1] + slots]
        return self.log_prior[node], self.logs[at]
