"""Rows through coders: one slot per row and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import expect
from unnaive.encode.categories import Categories
from unnaive.encode.grid import Bins, Grid
from unnaive.table import Block, Schema
from unnaive.table.columns import code_dtype

AnyCoder: TypeAlias = Grid | Bins | Categories | None


def check_coders(coders: Sequence[AnyCoder], schema: Schema) -> None:
    """Refuse coders that are not those of a table's columns."""
    expect(len(coders) == len(schema), f"{len(coders)} columns are numbered, not {len(schema)}.")
    for column, coder in zip(schema, coders, strict=True):
        kind = "categorical" if isinstance(coder, Categories) else "numeric"
        expect(coder is None or column.kind == kind, f"{column} is numbered as {kind}.")
        if isinstance(coder, Bins) and column.family != "number":
            dates = np.abs(coder.cuts) < 2.0**63  # microseconds
            expect(dates.all(), f"{column} is cut where there are no dates.")


def coder_sizes(coders: Sequence[AnyCoder]) -> list[int]:
    """Return the number of values of each column; 0 where it has no coder."""
    return [0 if coder is None else coder.size for coder in coders]


def row_slots(block: Block, coders: Sequence[AnyCoder]) -> NDArray[np.uint16]:
    """Return the slots of all columns: rows x columns."""
    slots = np.empty((block.n_rows, len(coders)), dtype=np.uint16)
    for j, coder in enumerate(coders):
        slots[:, j] = column_slots(block, j, coder)
    return slots


def numeric_columns(coders: Sequence[AnyCoder]) -> NDArray[np.bool_]:
    """Return which columns are cut into intervals."""
    return np.array([isinstance(coder, Bins) for coder in coders], dtype=bool)


def slots_in(coarse: Bins | Categories, fine: Bins | Categories) -> NDArray[np.int64]:
    """Return the slot in a coarser numbering of each slot of a column's own."""
    last = coarse.size + 1
    slots = np.full(fine.size + 2, last, dtype=np.int64)
    slots[0] = 0
    if isinstance(coarse, Bins) and isinstance(fine, Bins):
        # An interval lies where its upper end does.
        slots[1:-1] = 1 + np.searchsorted(coarse.cuts, np.append(fine.cuts, np.inf))
    elif isinstance(coarse, Categories) and isinstance(fine, Categories):
        for value, slot in fine.index.items():
            slots[slot] = coarse.index.get(value, last)
    return slots


def column_slots(block: Block, j: int, coder: AnyCoder, *, unseen: bool = True) -> NDArray[Any]:
    """Return the slot of each row in column j: 0 missing, then the coder's values, then unseen.

    Where there is no slot for ``unseen`` values, as in rows to learn from, they are as good as
    missing.
    """
    if coder is None:
        return np.zeros(block.n_rows, dtype=np.uint8)
    if isinstance(coder, Categories):
        raw = block.categorical(j)
        place = coder.slots(raw.values).astype(code_dtype(coder.size))
        if not unseen:
            place[place > coder.size] = 0
        return place[raw.slots]
    if isinstance(coder, Bins):
        return coder.codes(block.numeric(j), block.schema[j])
    return coder.codes(block.numeric(j))
