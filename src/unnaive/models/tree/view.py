"""The rows of one node of a growing tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.models.tree import node_kernels as kernels

if TYPE_CHECKING:
    from unnaive.models.tree.branches import Slots, TreeRows


class View:
    """The rows of one node, gathered once for all the questions that are tried on them.

    Classes and the values of numbers are renumbered among those that occur: a small node has few.

    Parameters
    ----------
    rows : TreeRows
    codes : array of shape (attributes, all rows)
        The rows' codes, as one array.
    sizes : array of shape (attributes,)
    chosen : array
        The node's rows, in order of their folds.
    slots : pair of arrays or None
        As in `Grower`.
    """

    def __init__(
        self,
        rows: TreeRows,
        codes: NDArray[Any],
        sizes: NDArray[np.intp],
        chosen: NDArray[np.intp],
        slots: Slots | None,
    ) -> None:
        n_columns, n_rows = len(codes), len(chosen)
        self.chosen = chosen
        self._storage = storage = rows.storage
        self.codes = storage.empty((n_columns, n_rows), codes.dtype)
        kernels.gather_columns(codes, chosen, self.codes)
        self.groups = storage.empty(n_rows, np.int32)
        self.n_classes = kernels.renumber(rows.groups, chosen, rows.n_classes, self.groups)
        self.weight, self.folds = (
            storage.take(rows.weight, chosen),
            storage.take(rows.folds, chosen),
        )
        self.whole = float(self.weight.sum())
        self.ready = None if slots is None else (storage.take(slots[0], chosen), slots[1])
        self.numeric = np.flatnonzero(rows.numeric)
        self.ranks = storage.empty(self.codes.shape, codes.dtype)  # only of numbers
        self.n_ranks = np.zeros(n_columns, dtype=np.intp)
        kernels.rank_columns(self.codes, sizes, self.numeric, self.ranks, self.n_ranks)
        self._order: dict[int, NDArray[np.intp]] = {}
        if slots is None:
            self.base = storage.empty((n_rows, n_columns), codes.dtype)
            kernels.transpose(self.codes, self.base)

    def sorted(self, j: int) -> NDArray[np.intp]:
        """Rows in ascending order of a numeric attribute."""
        if j not in self._order:
            order = self._storage.empty(len(self.groups), np.intp)
            kernels.order_by(self.ranks[j], self.n_ranks[j] + 1, order)
            self._order[j] = order
        return self._order[j]
