"""The one pass: rows to codes to counts.

Rows are counted in whatever codes their block has; the small table, not the rows, is then moved
to the canonical order of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import exact, kernels
from unnaive.counts.few_kernels import EMPTY, count_few
from unnaive.counts.moments import Moments
from unnaive.counts.summary import Coder, Summary, Wanted, mark_whole
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import GRID_LIMIT, Categories, Labels
from unnaive.encode.bins import Bins, infinite_error
from unnaive.encode.categories import Order, categories_of
from unnaive.encode.coding import coder_sizes
from unnaive.encode.grid import number_values
from unnaive.encode.joint import joint_runs
from unnaive.encode.labels import label_groups
from unnaive.table import Block, Column, Schema, Source
from unnaive.table.codes import RawCodes
from unnaive.table.passes import COUNTING

JOINT_COLUMNS = 4  # columns counted with one increment
JOINT_CELLS = 1 << 13  # while their joint table stays in cache
JOINT_ROWS = 1 << 20  # rows counted by one task
FEW_PLACES = (1 << 13, 1 << 17)  # for the values of a column: twice as many as are few
FEW_CELLS = 1 << 18  # while counts of all places stay in cache
FEW_AGAIN = 1.25  # rows of each value, at least, where more places are worth a try
FEW_ROWS = 1 << 13  # below this, numbering rows is as quick
LARGEST_TABLE = 1 << 31  # bytes of the counts of one column


def gather(
    source: Source,
    wanted: Callable[[Schema], Wanted],
    *,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
    name: str = COUNTING,
) -> Summary:
    """One pass over the rows of a source; ``wanted`` says what to collect of columns."""

    def summarize(block: Block) -> Summary:
        return summarize_block(block, wanted(block.schema), grid_limit, n_jobs)

    return source.reduce(summarize, Summary.__add__, name)


def summarize_block(
    block: Block,
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
    intervals: Mapping[int, Bins] = MappingProxyType({}),
) -> Summary:
    """What some rows leave behind; columns with ``intervals`` are counted in these."""
    labels, groups = block_groups(block)
    n_groups = len(labels)
    schema, fine = own_order(block), sorted(wanted.counts - intervals.keys())
    counted = {
        **_count_numeric(block, fine, groups, n_groups, grid_limit, n_jobs),
        **_count_intervals(block, intervals, groups, n_groups, n_jobs),
        **_count_categorical(block, schema, groups, n_groups, n_jobs),
    }
    coders = tuple(counted[j][0] if j in counted else None for j in range(len(block.schema)))
    counts = CountTable.empty(n_groups, coder_sizes(coders))
    for j, (_, table) in counted.items():
        counts.attribute(j)[:] = table.T
    counts.totals[:] = _group_totals(groups, block.weight, n_groups, counted)
    for j, column in enumerate(block.schema):
        if column.kind == "empty":
            counts.attribute(j)[:, 0] = counts.totals
    moments, gaps = sum_moments(block, sorted(wanted.moments), groups, n_groups, n_jobs)
    for k, j in enumerate(moments.columns):
        if j not in counted:
            counts.attribute(j)[:, 0] = gaps[:, k]
    schema = mark_whole(schema, coders)
    return Summary(schema, labels, coders, counts, moments, block.n_rows, wanted, grid_limit)


def block_groups(block: Block) -> tuple[Labels, NDArray[Any]]:
    """The classes of some rows, and the number of each row's; one class where rows have none."""
    if block.target is None:
        return Labels(np.zeros(1, np.int64)), np.zeros(block.n_rows, np.uint8)
    return label_groups(block.target)


def own_order(block: Block) -> Schema:
    """The columns with the order that these rows have for their categories."""
    columns = block.schema.columns
    orders = [block.order(j) if c.kind == "categorical" else c.order for j, c in enumerate(columns)]
    if all(c.order == order for c, order in zip(columns, orders, strict=True)):
        return block.schema
    ordered = (replace(c, order=order) for c, order in zip(columns, orders, strict=True))
    return Schema(tuple(ordered), block.schema.named)


# Position of a column, its numbering and its counts, slots x groups.
Counted: TypeAlias = dict[int, tuple[Any, NDArray[Any]]]


def _group_totals(
    groups: NDArray[Any], weight: NDArray[np.float64] | None, n_groups: int, counted: Counted
) -> NDArray[np.float64]:
    if weight is None and counted:  # every row has one slot in any column
        _, table = next(iter(counted.values()))
        return table.sum(axis=0, dtype=np.float64)
    return np.bincount(groups, weight, minlength=n_groups).astype(np.float64)


def _count_numeric(
    block: Block,
    positions: Sequence[int],
    groups: NDArray[Any],
    n_groups: int,
    limit: int,
    n_jobs: int | None,
) -> Counted:
    def count(j: int) -> tuple[Coder, NDArray[Any]]:
        values = block.numeric(j)
        few = None if block.weight is not None else _count_few(values, groups, n_groups)
        numbered = number_values(values if few is None else few[0], limit)
        if numbered is None:
            raise infinite_error(block.schema[j])
        grid, codes = numbered
        refuse_too_many(block.schema[j], grid.size, n_groups)
        if few is None:
            return grid, _count_column(codes, 0, groups, block.weight, grid.size, n_groups)
        table = np.zeros((n_groups, grid.size + EXTRA_SLOTS))
        kernels.scatter_slots(few[1], codes.astype(np.intp), table)
        return grid, table.T

    return dict(zip(positions, in_threads(count, positions, n_jobs), strict=True))


def _count_intervals(
    block: Block,
    intervals: Mapping[int, Bins],
    groups: NDArray[Any],
    n_groups: int,
    n_jobs: int | None,
) -> Counted:
    def count(j: int) -> tuple[Bins, NDArray[Any]]:
        bins = intervals[j]
        codes = bins.codes(block.numeric(j), block.schema[j])
        return bins, _count_column(codes, 0, groups, block.weight, bins.size, n_groups)

    return dict(zip(intervals, in_threads(count, [*intervals], n_jobs), strict=True))


def _count_few(
    values: NDArray[np.float64], groups: NDArray[Any], n_groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The different values of a column and their counts, groups x values, if they are few.

    Values that are rounded, or whole numbers, need no numbering row by row: the grid is that of the
    set of values, and their counts are moved to it.
    """
    n_rows = len(values)
    if not FEW_ROWS <= n_rows < 2**32:
        return None
    for places in FEW_PLACES:
        if places * n_groups > FEW_CELLS:
            return None
        keys = np.full(places, EMPTY)
        out = np.zeros(places * n_groups, dtype=np.uint32)
        most, drop = places // 2, np.uint64(64 - places.bit_length() + 1)
        counted = count_few(values.view(np.uint64), groups, most, drop, keys, out)
        if counted == n_rows:
            there = np.flatnonzero(keys != EMPTY)
            counts = out.reshape(n_groups, -1)[:, there]
            return keys[there].view(np.float64), counts.astype(np.float64, order="C")
        if counted < FEW_AGAIN * most:  # most values have come once so far
            return None
    return None


def refuse_too_many(column: Column, n_values: int, n_groups: int) -> None:
    """Stop before counts of one column would fill the memory."""
    size = 8 * n_values * n_groups
    if size > LARGEST_TABLE:
        raise MemoryError(
            f"{column} has {n_values:,} different values and y has {n_groups:,} classes: counting "
            f"one by the other takes {size / 1e9:.1f} GB. Pass a smaller grid_limit=, or check "
            "that y holds classes and not numbers."
        )


def _count_column(
    codes: NDArray[Any],
    wrap: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    n_values: int,
    n_groups: int,
) -> NDArray[Any]:
    """Weights, or numbers of rows where they have no weight, of one column: slots x groups."""
    mask = np.iinfo(codes.dtype).max
    shape = (n_values + EXTRA_SLOTS, n_groups)
    if weight is not None:
        weights = np.zeros(shape)
        kernels.count_weighted(codes, wrap, mask, groups, weight, weights)
        return weights
    rows = np.zeros(shape, dtype=np.uint32 if len(codes) < 2**32 else np.uint64)
    kernels.count_one(codes, wrap, mask, groups, rows)
    return rows


def _count_categorical(
    block: Block, schema: Schema, groups: NDArray[Any], n_groups: int, n_jobs: int | None
) -> Counted:
    raw = {j: block.categorical(j) for j, c in enumerate(block.schema) if c.kind == "categorical"}
    joint = block.weight is None and groups.dtype == np.uint8
    # Whole numbers add up in any order; the sums of weights keep the order of the rows.
    step = JOINT_ROWS if joint else max(1, block.n_rows)
    tasks = [
        (js, slice(start, start + step))
        for js in _joint_columns(raw, n_groups, joint)
        for start in range(0, block.n_rows, step)
    ]

    def count(task: tuple[list[int], slice]) -> list[NDArray[np.float64]]:
        js, rows = task
        columns = [RawCodes(raw[j].codes[rows], raw[j].values) for j in js]
        weight = None if block.weight is None else block.weight[rows]
        return _count_raw(columns, groups[rows], weight, n_groups)

    tables: dict[int, NDArray[np.float64]] = {}
    for (js, _), counted in zip(tasks, in_threads(count, tasks, n_jobs), strict=True):
        for j, table in zip(js, counted, strict=True):
            tables[j] = tables[j] + table if j in tables else table
    return {j: _canonical(raw[j], table, schema[j].order) for j, table in tables.items()}


def _joint_columns(raw: dict[int, RawCodes], n_groups: int, joint: bool) -> list[list[int]]:
    """Columns to count together: up to four small ones whose joint table stays in cache."""
    columns = list(raw)
    widths = [
        len(c.values) + 1 if joint and c.codes.dtype == np.uint8 else None for c in raw.values()
    ]
    runs = joint_runs(widths, JOINT_CELLS // n_groups, JOINT_COLUMNS)
    return [[columns[k] for k in run] for run in runs]


def _count_raw(
    columns: Sequence[RawCodes],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    n_groups: int,
) -> list[NDArray[np.float64]]:
    """Counts of raw codes, slots (0 missing, then the codes) x groups, for up to four columns."""
    codes = [c.codes for c in columns]
    if len(columns) == 1:
        n_values = len(columns[0].values)
        table = _count_column(codes[0], 1, groups, weight, n_values, n_groups)
        return [table[:-1].astype(np.float64)]
    spare = JOINT_COLUMNS - len(columns)
    sizes = [len(c.values) + 1 for c in columns]
    widths = np.array(sizes + [1] * spare, np.uint16)
    used = np.array([1] * len(columns) + [0] * spare, np.uint16)
    out = np.zeros((kernels.TURNS, math.prod(sizes) * n_groups), dtype=np.uint32)
    kernels.count_joint(*codes, *codes[:1] * spare, widths, used, groups, n_groups, out)
    tables = np.zeros((len(sizes), max(sizes), n_groups))
    whole = out.sum(axis=0, dtype=np.uint64).reshape(-1, n_groups)
    kernels.marginals(whole, np.array(sizes, dtype=np.intp), tables)
    return [tables[k, :size] for k, size in enumerate(sizes)]


def _canonical(
    raw: RawCodes, table: NDArray[np.float64], order: Order
) -> tuple[Categories, NDArray[np.float64]]:
    """Move counts of raw codes to the values that occur, in their order."""
    categories = categories_of(raw.values, table[1:].sum(axis=1) > 0, order)
    out = np.zeros((categories.size + EXTRA_SLOTS, table.shape[1]))
    np.add.at(out, categories.slots(raw.values), table)
    return categories, out


def sum_moments(
    block: Block, positions: Sequence[int], groups: NDArray[Any], n_groups: int, n_jobs: int | None
) -> tuple[Moments, NDArray[np.float64]]:
    """Moments of some columns, and the weight of rows without a value, groups x columns."""
    out = Moments.empty(n_groups, positions)
    missing = np.zeros((n_groups, len(positions)))
    weight = np.empty(0) if block.weight is None else block.weight

    def add(run: Sequence[int]) -> None:
        js = [positions[k] for k in run]
        span = slice(run[0], run[-1] + 1)
        sums, gaps = np.zeros_like(out.limbs[:, span]), np.zeros_like(missing[:, span])
        bad = exact.add_moments(block.numeric_matrix(js), groups, weight, gaps, sums)
        if bad >= 0:
            raise _too_large(block.schema[js[bad]])
        out.limbs[:, span], missing[:, span] = sums, gaps

    runs = [range(len(positions))[k : k + 5] for k in range(0, len(positions), 5)]
    list(in_threads(add, runs, n_jobs))
    return out, missing


def _too_large(column: Column) -> ValueError:
    return ValueError(
        f"{column} holds a number beyond {exact.LARGEST:.0e}, or Input X contains infinity; "
        "rescale the column, or replace such numbers by NaN (missing)."
    )
