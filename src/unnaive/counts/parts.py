"""Many small parts of the rows counted at once, each as if it were a table of its own.

Every part has the grid of its own values, so that sums of parts are what a pass over their rows
leaves. Part by part, `summarize_block` would spend more time on being called than on counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import part_kernels as kernels
from unnaive.counts.gather import own_order, refuse_too_many, sum_moments
from unnaive.counts.moments import Moments
from unnaive.counts.summary import Coder, Summary, Wanted
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import GRID_LIMIT, Grid, Labels
from unnaive.encode.bins import infinite_error
from unnaive.encode.categories import Categories, categories_of
from unnaive.encode.grid import grid_values, number_values, whole_numbers
from unnaive.encode.labels import keep_labels, label_groups
from unnaive.table import Block, Column
from unnaive.table.codes import code_dtype

FEW = 4  # times as many rows as parts times values: these are looked up instead of sorted
SAMPLE, FEW_OF_SAMPLE = 1024, 128  # values of a column, and how many may differ for that


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


class _Cells(NamedTuple):
    """The cells of each part's own values."""

    rows: NDArray[np.int32]  # by part and cell; empty where they are as they come
    cells: NDArray[np.int32]  # of each of these among those of its part; -1 is missing
    sizes: NDArray[np.intp]  # how many cells each part has


@dataclass(frozen=True, slots=True)
class _PartCells:
    """One column in the cells of each part's own values."""

    coders: list[Coder]
    cells: _Cells
    slots: NDArray[np.intp]  # of each cell, part by part; empty where they are in order
    sizes: NDArray[np.intp]  # how many values each part has
    whole: list[bool]  # whether all values of a part are whole numbers


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
        j: (_number_codes if column.kind == "categorical" else _number_values)(
            block, j, column, starts, grid_limit
        )
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
    no_coders, no_numbers = [None] * len(tables), [False] * len(tables)
    each = [columns.get(j) for j in range(len(schema))]
    coders = zip(*(no_coders if c is None else c.coders for c in each), strict=True)
    whole = zip(*(no_numbers if c is None else c.whole for c in each), strict=True)
    mark = cache(schema.mark_whole)
    parts = zip(map(mark, whole), of.labels, coders, tables, moments, strict=True)
    n_rows = np.diff(starts).tolist()
    return [Summary(*part, n, wanted, grid_limit) for part, n in zip(parts, n_rows, strict=True)]


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


def _number_values(
    block: Block, j: int, column: Column, starts: NDArray[np.intp], limit: int
) -> _PartCells:
    values = block.numeric(j)
    cells, low, high, shifts = _few_values(values, starts, limit) or _sort_values(
        values, column, starts, limit
    )
    grids: list[Coder] = []
    ends = np.cumsum(cells.sizes)
    begins = ends - cells.sizes
    for shift, *of in zip(shifts.tolist(), begins.tolist(), ends.tolist(), strict=True):
        first = low[slice(*of)]
        grids.append(Grid(shift, first, high[slice(*of)] if shift else first))
    whole = (cells.sizes > 0) & (shifts == 0) & (column.family == "number")  # not times
    whole[whole] = whole_numbers(low[begins[whole]])
    if whole.any():  # the first value of a part is: all of them
        filled = cells.sizes > 0
        whole[filled] &= np.logical_and.reduceat(whole_numbers(low), begins[filled])
    return _PartCells(grids, cells, np.empty(0, dtype=np.intp), cells.sizes, whole.tolist())


# Cells of parts, the smallest and the largest value of each, and how many bits each part drops.
_Numbered: TypeAlias = tuple[_Cells, NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]


def _few_values(
    values: NDArray[np.float64], starts: NDArray[np.intp], limit: int
) -> _Numbered | None:
    """Numbers with few different values; None for others."""
    sample = values[:: len(values) // SAMPLE + 1]
    if len(np.unique(sample)) > FEW_OF_SAMPLE:
        return None
    numbered = number_values(values)
    if numbered is None or numbered[0].shift:
        return None
    grid, slots = numbered
    looked_up = _look_up_cells(slots.astype(np.int32), grid.size, starts)
    if looked_up is None or looked_up[0].sizes.max() > limit:
        return None
    cells, codes = looked_up
    low = grid.low[codes]
    return cells, low, low, np.zeros(len(cells.sizes), dtype=np.intp)


def _sort_values(
    values: NDArray[np.float64], column: Column, starts: NDArray[np.intp], limit: int
) -> _Numbered:
    keys = np.empty(len(values), dtype=np.uint64)
    if not kernels.keys_of_numbers(values.view(np.uint64), keys):
        raise infinite_error(column)
    cells, low, high, shifts = _sort_cells(keys, starts, limit)
    lowest = grid_values(low)
    return cells, lowest, lowest if high is low else grid_values(high), shifts


def _number_codes(
    block: Block, j: int, column: Column, starts: NDArray[np.intp], _limit: int
) -> _PartCells:
    raw = block.categorical(j)
    looked_up = _look_up_cells(raw.slots.astype(np.int32), len(raw.values), starts)
    if looked_up is None:
        keys = raw.codes.astype(np.uint64)
        keys[raw.codes == np.iinfo(raw.codes.dtype).max] = kernels.MISSING
        # The largest code means missing, so that no column has as many values as there are codes.
        cells, low = _sort_cells(keys, starts, 2**31 - 1)[:2]
        looked_up = cells, low.astype(np.int32)
    cells, codes = looked_up
    known: dict[bytes, tuple[Categories, int, NDArray[np.intp]]] = {}
    each, listed, width = [], codes.tobytes(), codes.itemsize
    ends = (width * np.cumsum(cells.sizes)).tolist()
    for start, end in pairwise([0, *ends]):
        key = listed[start:end]
        if key not in known:
            values = [raw.values[k] for k in codes[start // width : end // width].tolist()]
            categories = categories_of(values, np.ones(len(values), np.bool_), column.order)
            known[key] = categories, categories.size, categories.slots(values)[1:]
        each.append(known[key])
    coders, sizes, slots = zip(*each, strict=True)
    whole = [False] * len(each)
    return _PartCells(list(coders), cells, np.concatenate(slots), np.array(sizes), whole)


def _look_up_cells(
    slots: NDArray[np.int32], n_values: int, starts: NDArray[np.intp]
) -> tuple[_Cells, NDArray[np.int32]] | None:
    """The cells of values that are numbered (0 missing), and the values of these, part by part.

    None where so many parts have few of the values that sorting is quicker.
    """
    n_parts = len(starts) - 1
    if n_values * n_parts > FEW * len(slots):
        return None
    cells, sizes = np.empty_like(slots), np.empty(n_parts, dtype=np.intp)
    codes = np.empty(n_values * n_parts, dtype=np.int32)
    n = kernels.look_up_parts(slots, starts, n_values, cells, sizes, codes)
    return _Cells(np.empty(0, dtype=np.int32), cells, sizes), codes[:n]


def _sort_cells(
    keys: NDArray[np.uint64], starts: NDArray[np.intp], limit: int
) -> tuple[_Cells, NDArray[np.uint64], NDArray[np.uint64], NDArray[np.intp]]:
    """The cells of keys, which become sorted; the first and last key of each; bits dropped."""
    rows, cells = np.empty((2, len(keys)), dtype=np.int32)
    shifts, sizes = np.empty((2, len(starts) - 1), dtype=np.intp)
    kernels.sort_parts(keys, starts, rows)
    kernels.number_parts(keys, starts, limit, cells, shifts, sizes)
    low = np.empty(int(sizes.sum()), dtype=np.uint64)
    high = np.empty_like(low) if shifts.any() else low
    kernels.list_cells(keys, starts, cells, low, high)
    return _Cells(rows, cells, sizes), low, high, shifts


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
    for j, column in columns.items():
        first = begins[:-1] + offsets[:, j]
        given = (column.slots, starts, of.groups, weight)
        kernels.count_parts(*column.cells, *given, first, widths, out)
    part = np.repeat(of.first[:-1], np.diff(starts))
    rows = np.bincount(part + of.groups, block.weight, minlength=int(of.first[-1]))
    totals = rows.astype(np.float64)
    tables = []
    for p in range(len(sizes)):
        counts = out[begins[p] : begins[p + 1]].reshape(-1, widths[p])
        tables.append(CountTable(counts, offsets[p], totals[of.first[p] : of.first[p + 1]]))
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
