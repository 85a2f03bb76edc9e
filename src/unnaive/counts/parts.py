"""Many small parts of the rows counted at once, each as if it were a table of its own.

Every part has the grid of its own values, so that sums of parts are what a pass over their rows
leaves. Part by part, `summarize_block` would spend more time on being called than on counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import part_kernels as kernels
from unnaive.counts.gather import sum_moments, summarize_block
from unnaive.counts.moments import Moments
from unnaive.counts.part_codes import FEW
from unnaive.counts.part_rows import TOGETHER, PartGroups, PartRows
from unnaive.counts.summary import Coder, Summary, Wanted
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.counts.tally import refuse_too_many
from unnaive.encode import GRID_LIMIT, Grid
from unnaive.encode.bins import infinite_error
from unnaive.encode.categories import Categories, categories_of
from unnaive.encode.grid import number_values, whole_numbers
from unnaive.encode.kernels import values_of_keys
from unnaive.table import Block, Column, Schema
from unnaive.table.codes import RawCodes, code_dtype

SAMPLE, FEW_OF_SAMPLE = 1024, 128  # values of a column, and how many may differ for look-up
MOST_PARTS = 1 << 12  # parts made together


class _Cells(NamedTuple):
    """The cells of each part's own values."""

    rows: NDArray[np.int32]  # by part and cell; empty where they are as they come
    cells: NDArray[np.int32]  # of each of these among those of its part; -1 is missing
    sizes: NDArray[np.intp]  # how many cells each part has


class _Room:
    """One array for the values of many parts and columns: large pages of memory are quicker."""

    def __init__(self, size: int) -> None:
        self._free = np.empty(size, dtype=np.uint64)

    def take(self, size: int) -> NDArray[np.uint64]:
        taken, self._free = self._free[:size], self._free[size:]
        return taken


@dataclass(frozen=True, slots=True)
class _PartCells:
    """One column in the cells of each part's own values."""

    coders: list[Coder]
    cells: _Cells
    slots: NDArray[np.intp]  # of each cell, part by part; empty where they are in order
    sizes: NDArray[np.intp]  # how many values each part has
    whole: list[bool]  # whether all values of a part are whole numbers


def summarize_parts(
    block: Block,
    parts: NDArray[Any],
    n_parts: int,
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
) -> list[Summary]:
    """What each part of some rows leaves behind.

    Parameters
    ----------
    block : Block
        Fewer than 2**31 rows.
    parts : array
        Number of the part of each row; every part has rows.
    n_parts : int
    wanted, grid_limit, n_jobs :
        As in `summarize_block`.
    """
    rows = PartRows(block, parts, n_parts, wanted, n_jobs)
    runs = _runs(rows.starts, TOGETHER if rows.is_sorted else block.n_rows)

    def count(run: range) -> list[Summary]:
        large = rows.starts[run.stop] - rows.starts[run.start] > TOGETHER
        if rows.is_sorted and large and len(run) == 1:
            return [summarize_block(rows.take(run), wanted, grid_limit, 1)]
        return _summarize_run(rows, run, grid_limit)

    return list(chain.from_iterable(in_threads(count, runs, n_jobs)))


def _runs(starts: NDArray[np.intp], most: int) -> list[range]:
    """Neighbouring parts to count together, while they have few rows."""
    runs, first, edges = [], 0, starts.tolist()
    for k in range(1, len(edges)):
        last = k + 1 == len(edges)
        if last or edges[k + 1] - edges[first] > most or k - first == MOST_PARTS:
            runs.append(range(first, k))
            first = k
    return runs


def _summarize_run(rows: PartRows, run: range, limit: int) -> list[Summary]:
    """What each of some neighbouring parts leaves behind."""
    schema, wanted, span = rows.schema, rows.wanted, slice(run.start, run.stop)
    of, starts = rows.part_groups(run), rows.starts[run.start : run.stop + 1]
    starts = starts - starts[0]
    block = rows.take(run) if rows.is_sorted else rows.block
    columns: dict[int, _PartCells] = {}
    room = _Room(len(wanted.counts) * int(starts[-1]))
    for j, column in enumerate(schema):
        if column.kind == "categorical" and j not in rows.tables:
            columns[j] = _number_codes(rows.codes(j, run), column, starts)
        elif j in wanted.counts:
            columns[j] = _number_values(block.numeric(j), column, starts, limit, room)
    sizes = np.zeros((len(run), len(schema)), dtype=np.intp)
    for j in (*columns, *rows.tables):
        sizes[:, j] = columns[j].sizes if j in columns else rows.tables[j].sizes[span]
        most = int(np.argmax(sizes[:, j] * of.numbers))
        refuse_too_many(schema[j], int(sizes[most, j]), int(of.numbers[most]))
    tables = _count(rows, run, block, starts, of, columns, sizes)
    moments = _moments(rows, run, block, columns, starts, of, tables)
    for j, column in enumerate(schema):
        if column.kind == "empty":
            for table in tables:
                table.attribute(j)[:, 0] = table.totals
    n_rows = np.diff(starts).tolist()
    described = zip(*_describe(rows, span, columns), of.labels, strict=True)
    return [
        Summary(part_schema, labels, coders, table, moment, n, wanted, limit)
        for (part_schema, coders, labels), table, moment, n in zip(
            described, tables, moments, n_rows, strict=True
        )
    ]


def _describe(
    rows: PartRows, span: slice, columns: dict[int, _PartCells]
) -> tuple[Sequence[Schema], Sequence[tuple[Coder, ...]]]:
    """The columns and coders of parts; made once where all parts have the same."""
    n_parts, schema = span.stop - span.start, rows.schema
    if not columns and all(len(table.coders) == 1 for table in rows.tables.values()):
        only = {j: table.coders[0] for j, table in rows.tables.items()}
        shared = tuple(only.get(j) for j in range(len(schema)))
        return [schema.mark_whole([False] * len(schema))] * n_parts, [shared] * n_parts
    no_coders: list[Coder] = [None] * n_parts
    each: list[Sequence[Coder]] = []
    whole = [[False] * n_parts] * len(schema)
    for j in range(len(schema)):
        if j in columns:
            each.append(columns[j].coders)
            whole[j] = columns[j].whole
        else:
            each.append(rows.tables[j].part_coders(span) if j in rows.tables else no_coders)
    mark = cache(schema.mark_whole)
    return [mark(marks) for marks in zip(*whole, strict=True)], list(zip(*each, strict=True))


def _number_values(
    values: NDArray[np.float64], column: Column, starts: NDArray[np.intp], limit: int, room: _Room
) -> _PartCells:
    cells, low, high, shifts = _few_values(values, starts, limit) or _sort_values(
        values, column, starts, limit, room
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
    values: NDArray[np.float64], column: Column, starts: NDArray[np.intp], limit: int, room: _Room
) -> _Numbered:
    keys = np.empty(len(values), dtype=np.uint64)
    if not kernels.keys_of_numbers(values.view(np.uint64), keys):
        raise infinite_error(column)
    cells, low, high, shifts = _sort_cells(keys, starts, limit, room)
    for edges in (low,) if high is low else (low, high):
        values_of_keys(edges, edges)  # where they lie
    return cells, low.view(np.float64), high.view(np.float64), shifts


def _number_codes(raw: RawCodes, column: Column, starts: NDArray[np.intp]) -> _PartCells:
    """Categories of which each part has few: sorted."""
    keys = raw.codes.astype(np.uint64)
    keys[raw.codes == np.iinfo(raw.codes.dtype).max] = kernels.MISSING
    # The largest code means missing, so that no column has as many values as there are codes.
    cells, low = _sort_cells(keys, starts, 2**31 - 1, _Room(len(keys)))[:2]
    codes = low.astype(np.int32)
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
    keys: NDArray[np.uint64], starts: NDArray[np.intp], limit: int, room: _Room
) -> tuple[_Cells, NDArray[np.uint64], NDArray[np.uint64], NDArray[np.intp]]:
    """The cells of keys, which become sorted; the first and last key of each; bits dropped."""
    rows, cells = np.empty((2, len(keys)), dtype=np.int32)
    shifts, sizes = np.empty((2, len(starts) - 1), dtype=np.intp)
    kernels.sort_parts(keys, starts, rows)
    kernels.number_parts(keys, starts, limit, cells, shifts, sizes)
    low = room.take(int(sizes.sum()))
    high = np.empty_like(low) if shifts.any() else low
    kernels.list_cells(keys, starts, cells, low, high)
    return _Cells(rows, cells, sizes), low, high, shifts


def _count(
    rows: PartRows,
    run: range,
    block: Block,
    starts: NDArray[np.intp],
    of: PartGroups,
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
    groups = rows.run_groups(run) if columns else rows.groups[:0]
    for j, column in columns.items():
        first = begins[:-1] + offsets[:, j]
        given = (column.slots, starts, groups, of.classes, weight)
        kernels.count_parts(*column.cells, *given, first, widths, out)
    n_classes = len(rows.labels)
    for j, counted in rows.tables.items():
        table = counted.tables[run.start * n_classes : run.stop * n_classes]
        patterns = counted.patterns[run.start : run.stop]
        first = begins[:-1] + offsets[:, j]
        kernels.move_parts(table, patterns, counted.slots, of.classes, first, widths, out)
    tables, edges, classes = [], begins.tolist(), of.first.tolist()
    for p, width in enumerate(widths.tolist()):
        counts = out[edges[p] : edges[p + 1]].reshape(-1, width)
        totals = of.totals[classes[p] : classes[p + 1]]
        tables.append(CountTable(counts, offsets[p], totals))
    return tables


def _moments(
    rows: PartRows,
    run: range,
    block: Block,
    columns: dict[int, _PartCells],
    starts: NDArray[np.intp],
    of: PartGroups,
    tables: Sequence[CountTable],
) -> list[Moments]:
    """The moments of parts; rows without a value are counted where nothing else counts them."""
    positions = sorted(rows.wanted.moments)
    if not positions:
        none = cache(lambda n_classes: Moments.empty(n_classes, ()))
        return [none(n) for n in of.numbers.tolist()]
    n_groups = int(of.first[-1])
    part = np.repeat(np.arange(len(run)), np.diff(starts))
    groups = of.first[part] + of.classes[part, rows.run_groups(run)]
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
