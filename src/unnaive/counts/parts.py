"""Many small parts of the rows counted at once, each as if it were a table of its own.

Every part has the grid of its own values, so that sums of parts are what a pass over their rows
leaves. Part by part, `summarize_block` would spend more time on being called than on counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import part_kernels as kernels
from unnaive.counts.gather import own_order, refuse_too_many, sum_moments
from unnaive.counts.moments import Moments
from unnaive.counts.summary import Coder, Summary, Wanted
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets
from unnaive.encode import GRID_LIMIT, Grid, Labels
from unnaive.encode.bins import infinite_error
from unnaive.encode.categories import Order, categories_of
from unnaive.encode.coding import coder_sizes
from unnaive.encode.grid import grid_values, whole_numbers
from unnaive.encode.labels import keep_labels, label_groups
from unnaive.table import Block, Column, Schema
from unnaive.table.codes import RawCodes, code_dtype


@dataclass(frozen=True, slots=True)
class _PartGroups:
    """The classes of each part, and the number of each row's class among those of its part."""

    labels: list[Labels]
    groups: NDArray[Any]
    first: NDArray[np.intp]  # number of each part's first class, all parts together

    @property
    def numbers(self) -> NDArray[np.intp]:
        """How many classes each part has."""
        return np.diff(self.first)


@dataclass(frozen=True, slots=True)
class _PartCells:
    """One column in the cells of each part's own values, rows sorted by part and cell."""

    coders: list[Coder]
    rows: NDArray[np.int32]
    cells: NDArray[np.int32]  # of each sorted row among those of its part; -1 is missing
    slots: NDArray[np.intp]  # of each cell, part by part; empty where they are in order
    whole: list[bool]  # whether all values of a part are whole numbers

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many values each part has."""
        return np.array(coder_sizes(self.coders), dtype=np.intp)


def summarize_parts(
    block: Block, starts: NDArray[np.intp], wanted: Wanted, grid_limit: int = GRID_LIMIT
) -> list[Summary]:
    """What each part of some rows leaves behind.

    Parameters
    ----------
    block : Block
        Fewer than 2**31 rows, those of the first part first.
    starts : array
        Where each part begins, and where the last one ends; no part is empty.
    wanted, grid_limit :
        As in `summarize_block`.
    """
    schema = own_order(block)
    of = _part_groups(block, starts)
    columns = {
        j: _number_column(block, j, starts, grid_limit)
        for j, column in enumerate(schema)
        if j in wanted.counts or column.kind == "categorical"
    }
    nothing = np.zeros(len(starts) - 1, dtype=np.intp)
    sizes = np.stack(
        [columns[j].sizes if j in columns else nothing for j in range(len(schema))], axis=1
    )
    for j in columns:
        most = int(np.argmax(sizes[:, j] * of.numbers))
        refuse_too_many(schema[j], int(sizes[most, j]), int(of.numbers[most]))
    tables = _count(block, starts, of, columns, sizes)
    moments = _moments(block, wanted, columns, starts, of, tables)
    for j, column in enumerate(schema):
        if column.kind == "empty":
            for table in tables:
                table.attribute(j)[:, 0] = table.totals
    marked: dict[tuple[bool, ...], Schema] = {}
    summaries = []
    for p, n_rows in enumerate(np.diff(starts).tolist()):
        whole = tuple(j in columns and columns[j].whole[p] for j in range(len(schema)))
        if whole not in marked:
            marked[whole] = schema.mark_whole(whole)
        coders = tuple(columns[j].coders[p] if j in columns else None for j in range(len(schema)))
        parts = (marked[whole], of.labels[p], coders, tables[p], moments[p])
        summaries.append(Summary(*parts, n_rows, wanted, grid_limit))
    return summaries


def _part_groups(block: Block, starts: NDArray[np.intp]) -> _PartGroups:
    n_parts = len(starts) - 1
    if block.target is None:
        one = Labels(np.zeros(1, np.int64))
        groups = np.zeros(block.n_rows, np.uint8)
        return _PartGroups([one] * n_parts, groups, np.arange(n_parts + 1))
    labels, groups = label_groups(block.target)
    part = np.repeat(np.arange(n_parts), np.diff(starts))
    present = np.zeros((n_parts, len(labels)), dtype=np.bool_)
    present[part, groups] = True
    known: dict[bytes, tuple[Labels, NDArray[np.intp]]] = {}
    each, place = [], np.zeros(present.shape, dtype=groups.dtype)
    for p, here in enumerate(present):
        key = here.tobytes()
        if key not in known:
            known[key] = keep_labels(labels, np.flatnonzero(here))
        present_labels, kept = known[key]
        each.append(present_labels)
        place[p, kept] = np.arange(len(kept))
    first = np.concatenate(([0], np.cumsum(present.sum(axis=1))))
    return _PartGroups(each, place[part, groups], first)


def _number_column(block: Block, j: int, starts: NDArray[np.intp], limit: int) -> _PartCells:
    column = block.schema[j]
    raw = block.categorical(j) if column.kind == "categorical" else None
    keys = _number_keys(block.numeric(j), column) if raw is None else _code_keys(raw)
    rows = np.empty(len(keys), dtype=np.int32)
    kernels.sort_parts(keys, starts, rows)
    cells = np.empty(len(keys), dtype=np.int32)
    shifts, sizes = np.empty((2, len(starts) - 1), dtype=np.intp)
    # The largest code means missing, so that no column has as many categories as there are codes.
    most = limit if raw is None else 2**31 - 1
    kernels.number_parts(keys, starts, most, cells, shifts, sizes)
    low, high = np.empty((2, int(sizes.sum())), dtype=np.uint64)
    kernels.list_cells(keys, starts, cells, low, high)
    ends = np.cumsum(sizes)
    if raw is None:
        grids, whole = _grids(low, high, shifts, ends)
        slots = np.empty(0, dtype=np.intp)
        numbers = column.family == "number"  # not times
        return _PartCells([*grids], rows, cells, slots, [numbers and one for one in whole])
    coders, slots = _categories(raw, low.astype(np.intp), ends, block.order(j))
    return _PartCells(coders, rows, cells, slots, [False] * len(sizes))


def _number_keys(values: NDArray[np.float64], column: Column) -> NDArray[np.uint64]:
    keys = np.empty(len(values), dtype=np.uint64)
    if not kernels.keys_of_numbers(values.view(np.uint64), keys):
        raise infinite_error(column)
    return keys


def _code_keys(raw: RawCodes) -> NDArray[np.uint64]:
    keys = raw.codes.astype(np.uint64)
    keys[raw.codes == np.iinfo(raw.codes.dtype).max] = kernels.MISSING
    return keys


def _grids(
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    shifts: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> tuple[list[Grid], list[bool]]:
    """The grids of parts, and which of them hold whole numbers alone."""
    lowest = grid_values(low)
    highest = grid_values(high) if shifts.any() else lowest
    broken = np.concatenate(([0], np.cumsum(~whole_numbers(lowest))))
    grids, whole, start = [], [], 0
    for shift, end in zip(shifts.tolist(), ends.tolist(), strict=True):
        first = lowest[start:end]
        grids.append(Grid(shift, first, highest[start:end] if shift else first))
        whole.append(shift == 0 and end > start and bool(broken[end] == broken[start]))
        start = end
    return grids, whole


def _categories(
    raw: RawCodes, codes: NDArray[np.intp], ends: NDArray[np.intp], order: Order
) -> tuple[list[Coder], NDArray[np.intp]]:
    """The categories of parts, and the slot of each code (IN, those of the first part first)."""
    known: dict[bytes, tuple[Coder, NDArray[np.intp]]] = {}
    coders: list[Coder] = []
    places = [np.empty(0, dtype=np.intp)]
    start = 0
    for end in ends.tolist():
        here = codes[start:end]
        key = here.tobytes()
        if key not in known:
            values = [raw.values[k] for k in here.tolist()]
            categories = categories_of(values, np.ones(len(values), np.bool_), order)
            known[key] = categories, categories.slots(values)[1:]
        coders.append(known[key][0])
        places.append(known[key][1])
        start = end
    return coders, np.concatenate(places)


def _count(
    block: Block,
    starts: NDArray[np.intp],
    of: _PartGroups,
    columns: dict[int, _PartCells],
    sizes: NDArray[np.intp],
) -> list[CountTable]:
    """The counts of parts, whose tables lie one after the other in memory."""
    offsets = np.zeros((len(sizes), sizes.shape[1] + 1), dtype=np.intp)
    np.cumsum(sizes + EXTRA_SLOTS, axis=1, out=offsets[:, 1:])
    widths = offsets[:, -1].copy()
    begins = np.concatenate(([0], np.cumsum(widths * of.numbers)))
    out = np.zeros(begins[-1])
    weight = np.empty(0) if block.weight is None else block.weight
    for j, cells in columns.items():
        first = begins[:-1] + offsets[:, j]
        given = (cells.rows, starts, of.groups, weight)
        kernels.count_parts(cells.cells, cells.slots, *given, first, widths, out)
    part = np.repeat(of.first[:-1], np.diff(starts))
    rows = np.bincount(part + of.groups, block.weight, minlength=int(of.first[-1]))
    totals = rows.astype(np.float64)
    tables = []
    for p in range(len(sizes)):
        counts = out[begins[p] : begins[p + 1]].reshape(-1, widths[p])
        offsets = slot_offsets(sizes[p])
        tables.append(CountTable(counts, offsets, totals[of.first[p] : of.first[p + 1]]))
    return tables


def _moments(
    block: Block,
    wanted: Wanted,
    columns: dict[int, _PartCells],
    starts: NDArray[np.intp],
    of: _PartGroups,
    tables: Sequence[CountTable],
) -> list[Moments]:
    """The moments of parts; rows without a value are counted where nothing else counts them."""
    positions = sorted(wanted.moments)
    n_groups = int(of.first[-1])
    groups = np.repeat(of.first[:-1], np.diff(starts)) + of.groups
    groups = groups.astype(code_dtype(n_groups))
    sums, gaps = sum_moments(block, positions, groups, n_groups, 1)
    each = []
    for p, table in enumerate(tables):
        of_part = slice(of.first[p], of.first[p + 1])
        each.append(Moments(sums.columns, sums.limbs[of_part]))
        for k, j in enumerate(positions):
            if j not in columns:
                table.attribute(j)[:, 0] = gaps[of_part, k]
    return each
