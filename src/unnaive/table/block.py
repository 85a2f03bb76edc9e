"""Rows of a table, with their labels and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import read_only
from unnaive.table.columns import (
    Native,
    RawCodes,
    code_dtype,
    order_of,
    read_categorical,
    read_numeric,
)
from unnaive.table.schema import Schema


class Block:
    """Consecutive rows of a table, with their labels and weights.

    Parameters
    ----------
    schema : Schema
    columns : sequence of arrays or narwhals Series, or a 2-D array
    target : array, RawCodes or None
        Labels; as codes where they are not whole numbers or come from text.
    weight : array or None
    first_row, row_ids : int or array
        Numbers of the rows in the whole table: from the first on, or each.
    period : array, narwhals Series or None
        A column beside the others that says when each row was, as it came.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[Native] | NDArray[Any],
        *,
        n_rows: int,
        target: NDArray[Any] | RawCodes | None = None,
        weight: NDArray[np.float64] | None = None,
        first_row: int = 0,
        row_ids: NDArray[np.int64] | None = None,
        period: Native | None = None,
    ) -> None:
        self.schema = schema
        self.matrix = columns if isinstance(columns, np.ndarray) else None
        self._columns = columns
        self.n_rows = n_rows
        self.target = target
        self.weight = weight
        self.first_row = first_row
        self._row_ids = row_ids
        self.period = period

    @property
    def columns(self) -> Sequence[Native] | NDArray[Any]:
        """The columns as they came."""
        return self._columns

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Number of each row in the whole table, for choices that must not depend on splitting."""
        if self._row_ids is not None:
            return self._row_ids
        return np.arange(self.first_row, self.first_row + self.n_rows)

    @property
    def is_consecutive(self) -> bool:
        """Whether rows are numbered one after the other."""
        return self._row_ids is None

    def numeric(self, j: int) -> NDArray[np.float64]:
        """Values of one numeric column: contiguous float64, NaN where missing."""
        return read_numeric(column_of(self._columns, j), self.schema[j])

    def numeric_matrix(self, js: Sequence[int]) -> NDArray[np.float64]:
        """Several numeric columns as rows x columns, without a copy where rows are stored so."""
        m = self.matrix
        if m is not None and m.dtype == np.float64 and len(js) == js[-1] - js[0] + 1:
            return read_only(m[:, js[0] : js[-1] + 1])
        return read_only(np.stack([self.numeric(j) for j in js]).T)

    def categorical(self, j: int) -> RawCodes:
        """Codes and values of one categorical column."""
        codes, values = read_categorical(column_of(self._columns, j), self.schema[j])
        return RawCodes(read_only(codes), values)

    def order(self, j: int) -> tuple[Any, ...]:
        """The values of one categorical column in the order that its type declares; else none."""
        return order_of(column_of(self._columns, j))

    def native(self) -> Any:
        """The rows as a table of the kind they came as, or an array."""
        return self.with_columns({}) if self.matrix is None else self.matrix

    def with_columns(self, new: Mapping[int, NDArray[Any]]) -> Any:
        """The block with some columns replaced: a table of its own kind, or an array of objects."""
        columns = [column_of(self._columns, j) for j in range(len(self.schema))]
        first = columns[0]
        if not isinstance(first, nw.Series):
            out = np.empty((self.n_rows, len(columns)), dtype=object)
            for j, column in enumerate(columns):
                out[:, j] = new.get(j, column)
            return out
        made = {
            j: nw.new_series(columns[j].name, values.tolist(), backend=first.implementation)
            for j, values in new.items()
        }
        if first.implementation.is_pandas_like():
            for series in made.values():  # the index itself, with its name and levels
                series.to_native().index = first.to_native().index
        each = [made.get(j, column) for j, column in enumerate(columns)]
        return each[0].to_frame().with_columns(*each[1:]).to_native()

    def slice(self, start: int, stop: int) -> Block:
        """A stretch of the rows, without copying them."""
        rows = slice(start, min(stop, self.n_rows))
        return Block(
            self.schema,
            self._columns[rows] if self.matrix is not None else [c[rows] for c in self._columns],
            n_rows=rows.stop - start,
            target=cut_target(self.target, rows),
            weight=None if self.weight is None else self.weight[rows],
            first_row=self.first_row + start,
            row_ids=None if self._row_ids is None else self._row_ids[rows],
        )

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Some of the rows, in any order, as often as asked."""
        return Block(
            self.schema,
            [c[rows] for c in self._columns] if self.matrix is None else self.matrix[rows],
            n_rows=len(rows),
            target=cut_target(self.target, rows),
            weight=None if self.weight is None else self.weight[rows],
            row_ids=self.row_ids[rows],
        )


def cut_target(target: NDArray[Any] | RawCodes | None, rows: Any) -> NDArray[Any] | RawCodes | None:
    """Labels of some rows."""
    if isinstance(target, RawCodes):
        return RawCodes(target.codes[rows], target.values)
    return None if target is None else target[rows]


def keep_rows(
    columns: Sequence[Native] | NDArray[Any], rows: NDArray[np.bool_]
) -> Sequence[Native] | NDArray[Any]:
    """Columns without the rows that are not marked."""
    if isinstance(columns, np.ndarray):
        return columns[rows]
    return [c.filter(rows.tolist()) if isinstance(c, nw.Series) else c[rows] for c in columns]


def column_of(columns: Sequence[Native] | NDArray[Any], j: int) -> Native:
    """Column j of a list of columns or of a matrix."""
    return columns[:, j] if isinstance(columns, np.ndarray) else columns[j]


class KeptBlock(Block):
    """Some rows of a block, in any order, with some columns as if they were missing.

    Columns are read when they are first asked for, and kept for all that is taken from this block.

    Parameters
    ----------
    whole : Block
        Whose columns are read.
    rows : array, slice or None, default=None
        The rows of it, None for all; a slice has a start and a stop.
    gone : frozenset of int
        Columns whose values are missing in every row.
    """

    def __init__(
        self,
        whole: Block,
        rows: NDArray[np.intp] | slice | None = None,
        gone: frozenset[int] = frozenset(),
        kept: dict[tuple[str, int], NDArray[np.float64] | RawCodes] | None = None,
    ) -> None:
        if isinstance(rows, slice):
            n_rows = rows.stop - rows.start
        else:
            n_rows = whole.n_rows if rows is None else len(rows)
        super().__init__(
            whole.schema,
            (),
            n_rows=n_rows,
            target=whole.target if rows is None else cut_target(whole.target, rows),
            weight=whole.weight if rows is None or whole.weight is None else whole.weight[rows],
            row_ids=whole.row_ids if rows is None else whole.row_ids[rows],
        )
        self._whole, self._rows, self._gone = whole, rows, gone
        self._kept = {} if kept is None else kept

    def numeric(self, j: int) -> NDArray[np.float64]:
        if j in self._gone:
            return read_only(np.full(self.n_rows, np.nan))
        values = self._kept.get(("numeric", j))
        if values is None:
            values = self._kept["numeric", j] = self._whole.numeric(j)
        assert not isinstance(values, RawCodes)
        return values if self._rows is None else read_only(values[self._rows])

    def categorical(self, j: int) -> RawCodes:
        raw = self._kept.get(("categorical", j))
        if raw is None:
            raw = self._kept["categorical", j] = self._whole.categorical(j)
        assert isinstance(raw, RawCodes)
        codes = raw.codes if self._rows is None else raw.codes[self._rows]
        if j in self._gone:  # the largest code means missing
            codes = np.full(self.n_rows, np.iinfo(codes.dtype).max, dtype=codes.dtype)
        return RawCodes(read_only(codes), raw.values)

    def order(self, j: int) -> tuple[Any, ...]:
        return self._whole.order(j) if len(self._whole.columns) else self.schema[j].order or ()

    def read(self) -> None:
        """Read all columns now, as threads that share them would each do."""
        for j, column in enumerate(self.schema):
            if column.kind == "numeric":
                self.numeric(j)
            elif column.kind == "categorical":
                self.categorical(j)

    def take(self, rows: NDArray[np.intp]) -> KeptBlock:
        """Some of the rows, in any order, as often as asked."""
        if isinstance(self._rows, slice):
            places = rows + self._rows.start
        else:
            places = rows if self._rows is None else self._rows[rows]
        return KeptBlock(self._whole, places, self._gone, self._kept)

    def slice(self, start: int, stop: int) -> KeptBlock:
        stop = min(stop, self.n_rows)
        if self._rows is None:  # a view
            return KeptBlock(self._whole, slice(start, stop), self._gone, self._kept)
        return self.take(np.arange(start, stop))

    def without(self, j: int) -> KeptBlock:
        """The same rows, one column missing in all of them."""
        return KeptBlock(self._whole, self._rows, self._gone | {j}, self._kept)


# Columns of some rows, decoded; None where a column holds nothing.
Decoded: TypeAlias = list[NDArray[np.float64] | RawCodes | None]


def decode_rows(block: Block, schema: Schema, rows: NDArray[np.intp]) -> Decoded:
    """Return the columns of some rows of a block, which can be sent and joined."""
    few = block.take(rows)
    columns: Decoded = []
    for j, column in enumerate(schema):
        if column.kind == "categorical":
            raw = few.categorical(j)
            used, codes = np.unique(raw.codes, return_inverse=True)
            if len(used) and used[-1] == np.iinfo(raw.codes.dtype).max:
                codes[codes == len(used) - 1] = -1
                used = used[:-1]
            columns.append(RawCodes(codes, [raw.values[code] for code in used]))
        else:
            columns.append(few.numeric(j) if column.kind == "numeric" else None)
    return columns


def join_rows(schema: Schema, parts: Sequence[Decoded], **rows: Any) -> KeptBlock:
    """Return one block of the rows that `decode_rows` has read; ``rows`` are as in `Block`."""
    kept: dict[tuple[str, int], NDArray[np.float64] | RawCodes] = {}
    for j, column in enumerate(schema):
        each: list[Any] = [part[j] for part in parts]
        if column.kind == "numeric":
            kept["numeric", j] = np.concatenate(each)
        elif column.kind == "categorical":
            place: dict[Any, int] = {}
            codes = []
            for raw in each:
                places = [place.setdefault(value, len(place)) for value in raw.values]
                codes.append(np.array([*places, -1])[raw.codes])
            joined = np.concatenate(codes).astype(code_dtype(len(place)))
            kept["categorical", j] = RawCodes(joined, list(place))
    return KeptBlock(Block(schema, (), **rows), kept=kept)
