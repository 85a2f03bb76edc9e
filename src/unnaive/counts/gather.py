"""The one pass: rows to codes to counts.

Rows are counted in whatever codes their block has; the small table, not the rows, is then moved
to the canonical order of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import kernels
from unnaive.counts.moments import LARGEST, Moments, add_moments
from unnaive.counts.summary import Summary, Wanted, mark_whole
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.counts.tally import PartialSummary, Tally, refuse_too_many, tally
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.encode.bins import infinite_error
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


def gather(
    source: Source,
    wanted: Callable[[Schema], Wanted],
    *,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
    name: str = COUNTING,
) -> Summary:
    """One pass over the rows of a source; ``wanted`` says what to collect of columns."""

    def summarize(block: Block) -> PartialSummary:
        return tally_block(block, wanted(block.schema), grid_limit, n_jobs)

    return source.reduce(summarize, PartialSummary.__add__, name).settle()


def summarize_block(
    block: Block,
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
) -> Summary:
    """Return the sums of some rows."""
    return tally_block(block, wanted, grid_limit, n_jobs).settle()


def tally_block(
    block: Block,
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
) -> PartialSummary:
    """The same, with numbers that come again and again not sorted yet."""
    labels, groups = block_groups(block)
    n_groups = len(labels)
    schema, fine = own_order(block), sorted(wanted.counts)
    numbers, tallies = _count_numeric(block, fine, groups, n_groups, grid_limit, n_jobs)
    counted = {
        **numbers,
        **_count_categorical(block, schema, groups, n_groups, n_jobs),
    }
    coders = tuple(counted[j][0] if j in counted else None for j in range(len(block.schema)))
    counts = CountTable.empty(n_groups, coder_sizes(coders))
    for j, (_, table) in counted.items():
        counts.attribute(j)[:] = table.T
    counts.totals[:] = _group_totals(groups, block.weight, n_groups, counted, tallies)
    for j, column in enumerate(block.schema):
        if column.kind == "empty":
            counts.attribute(j)[:, 0] = counts.totals
    moments, gaps = sum_moments(block, sorted(wanted.moments), groups, n_groups, n_jobs)
    for k, j in enumerate(moments.columns):
        if j not in counted and j not in tallies:
            counts.attribute(j)[:, 0] = gaps[:, k]
    schema = mark_whole(schema, coders)
    summary = Summary(schema, labels, coders, counts, moments, block.n_rows, wanted, grid_limit)
    return PartialSummary(summary, tallies)


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
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    n_groups: int,
    counted: Counted,
    tallies: Mapping[int, Tally],
) -> NDArray[np.float64]:
    if weight is None and counted:  # every row has one slot in any column
        _, table = next(iter(counted.values()))
        return table.sum(axis=0, dtype=np.float64)
    if tallies:
        return next(iter(tallies.values())).totals
    return np.bincount(groups, weight, minlength=n_groups).astype(np.float64)


def _count_numeric(
    block: Block,
    positions: Sequence[int],
    groups: NDArray[Any],
    n_groups: int,
    limit: int,
    n_jobs: int | None,
) -> tuple[Counted, dict[int, Tally]]:
    """Counts of numbers in their grids, or as tallies where they come again and again."""

    def count(j: int) -> Tally | tuple[Grid, NDArray[Any]]:
        values = block.numeric(j)
        few = None if block.weight is not None else tally(values, groups, n_groups)
        if few is not None:
            if np.isinf(few.values).any():
                raise infinite_error(block.schema[j])
            return few
        numbered = number_values(values, limit)
        if numbered is None:
            raise infinite_error(block.schema[j])
        grid, codes = numbered
        refuse_too_many(block.schema[j], grid.size, n_groups)
        return grid, _count_column(codes, 0, groups, block.weight, grid.size, n_groups)

    counted: Counted = {}
    tallies: dict[int, Tally] = {}
    for j, column in zip(positions, in_threads(count, positions, n_jobs), strict=True):
        if isinstance(column, Tally):
            tallies[j] = column
        else:
            counted[j] = column
    return counted, tallies


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
        sums, gaps = np.zeros_like(out.sums[:, span]), np.zeros_like(missing[:, span])
        bad = add_moments(block.numeric_matrix(js), groups, weight, gaps, sums)
        if bad >= 0:
            raise _too_large(block.schema[js[bad]])
        out.sums[:, span], missing[:, span] = sums, gaps

    runs = [range(len(positions))[k : k + 5] for k in range(0, len(positions), 5)]
    list(in_threads(add, runs, n_jobs))
    return out, missing


def _too_large(column: Column) -> ValueError:
    return ValueError(
        f"{column} holds a number beyond {LARGEST:.0e}, or Input X contains infinity; "
        "rescale the column, or replace such numbers by NaN (missing)."
    )
