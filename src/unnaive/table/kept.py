"""A block whose columns are read once, however often they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import read_only
from unnaive.table.codes import RawCodes, code_dtype
from unnaive.table.schema import Schema
from unnaive.table.source import Block, cut_target


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
