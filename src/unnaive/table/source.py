"""Where rows are: the protocol that models read through.

A model never asks what kind of source it has. It hands over a function of one `Block` of rows and
says how two results add up (`reduce`), or asks for one answer per row (`map`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.table.columns import Native, RawCodes, read_categorical, read_numeric
from unnaive.table.schema import Schema

T = TypeVar("T")


class Block:
    """Consecutive rows of a table, with their labels and weights.

    Parameters
    ----------
    schema : Schema
    columns : sequence of arrays or narwhals Series, or a 2-D array
    target, weight : arrays or None
    first_row : int
        Row id of the first row, for random draws that do not depend on how rows are split.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[Native] | NDArray[Any],
        *,
        n_rows: int,
        target: NDArray[Any] | None = None,
        weight: NDArray[np.float64] | None = None,
        first_row: int = 0,
    ) -> None:
        self.schema = schema
        self.matrix = columns if isinstance(columns, np.ndarray) else None
        self._columns = columns
        self.n_rows = n_rows
        self.target = target
        self.weight = weight
        self.first_row = first_row

    def _column(self, j: int) -> Native:
        return self._columns[j] if self.matrix is None else self.matrix[:, j]

    def numeric(self, j: int) -> NDArray[np.float64]:
        """Values of one numeric column: contiguous float64, NaN where missing."""
        return read_numeric(self._column(j), self.schema[j])

    def numeric_matrix(self, js: Sequence[int]) -> NDArray[np.float64]:
        """Several numeric columns as rows x columns, without a copy where rows are stored so."""
        m = self.matrix
        if m is not None and m.dtype == np.float64 and len(js) == js[-1] - js[0] + 1:
            return m[:, js[0] : js[-1] + 1]
        return np.stack([self.numeric(j) for j in js]).T

    def categorical(self, j: int) -> RawCodes:
        """Codes and values of one categorical column."""
        return read_categorical(self._column(j))

    def slice(self, start: int, stop: int) -> Block:
        """A stretch of the rows, without copying them."""
        own = slice(start, min(stop, self.n_rows))
        return Block(
            self.schema,
            self._columns[own] if self.matrix is not None else [c[own] for c in self._columns],
            n_rows=own.stop - start,
            target=None if self.target is None else self.target[own],
            weight=None if self.weight is None else self.weight[own],
            first_row=self.first_row + start,
        )

    def keep(self, rows: NDArray[np.bool_]) -> Block:
        """The block without the rows that are not marked."""
        if self.matrix is not None:
            columns: Sequence[Native] | NDArray[Any] = self.matrix[rows]
        else:
            columns = [
                c.filter(rows.tolist()) if isinstance(c, nw.Series) else c[rows]
                for c in self._columns
            ]
        return Block(
            self.schema,
            columns,
            n_rows=int(rows.sum()),
            target=None if self.target is None else self.target[rows],
            weight=None if self.weight is None else self.weight[rows],
            first_row=self.first_row,
        )


class Source(Protocol):
    """Rows that can be visited, as often as needed."""

    schema: Schema

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """Apply ``fn`` to every block and sum the results with ``add``, in any order."""
        ...

    def map(self, fn: Callable[[Block], NDArray[Any]]) -> Any:
        """One answer per row, in the form that suits the source."""
        ...


class MemorySource:
    """A table in memory: one block."""

    def __init__(self, block: Block) -> None:
        self.schema = block.schema
        self.block = block

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T]) -> T:  # noqa: ARG002
        return fn(self.block)  # one block: nothing to add

    def map(self, fn: Callable[[Block], NDArray[Any]]) -> NDArray[Any]:
        return fn(self.block)
