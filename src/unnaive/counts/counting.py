"""Counting the rows of a source in one pass.

Rows are counted in whatever codes their block has; the small table, not the rows, is then moved
to the canonical order of values. Numbers of few decimals, such as prices, are counted as multiples
of their last decimal, which needs no sorting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import kernels
from unnaive.counts.encoded_rows import joint_runs
from unnaive.counts.moments import LARGEST, Moments, add_moments
from unnaive.counts.summary import Summary, Wanted, mark_whole
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.encode.categories import Order, categories_of
from unnaive.encode.coders import coder_sizes
from unnaive.encode.grid import infinite_error, number_values
from unnaive.encode.labels import label_groups
from unnaive.table import Block, Column, Schema, Source
from unnaive.table.columns import RawCodes
from unnaive.table.records import COUNTING

JOINT_COLUMNS = 4  # columns counted with one increment
JOINT_ROWS = 1 << 20  # rows counted by one task
DECIMAL_ROWS = 1 << 13  # below this, numbering rows is as quick
NEARLY_ALL = 15 / 16  # of the values must be decimals


def summarize(
    source: Source,
    wanted: Callable[[Schema], Wanted],
    *,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
    name: str = COUNTING,
) -> Summary:
    """Count all rows of a source in one pass; ``wanted`` says what to collect of columns."""

    def count(block: Block) -> Summary:
        return summarize_block(block, wanted(block.schema), grid_limit, n_jobs)

    return source.reduce(count, Summary.__add__, name)


def summarize_block(
    block: Block,
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
) -> Summary:
    """Count the rows of a block."""
    labels, groups = block_groups(block)
    n_groups = len(labels)
    schema, fine = schema_with_order(block), sorted(wanted.counts)
    counted = {
        **_count_numeric(block, fine, groups, n_groups, grid_limit, n_jobs),
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
    """Return the classes of some rows, and the number of each row's; one class where rows have
    none.
    """
    if block.target is None:
        return Labels(np.zeros(1, np.int64)), np.zeros(block.n_rows, np.uint8)
    return label_groups(block.target)


def schema_with_order(block: Block) -> Schema:
    """Return the columns with the order that these rows have for their categories."""
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
    """Return the grids of numeric columns and the counts of their cells."""

    def count(j: int) -> tuple[Grid, NDArray[Any]]:
        values, column = block.numeric(j), block.schema[j]
        if block.weight is None and DECIMAL_ROWS <= len(values) < 2**32:
            counted = _count_decimals(values, groups, n_groups, limit, column)
            if counted is not None:
                return counted
        grid, codes = _number(values, limit, column, n_groups)
        return grid, _count_column(codes, 0, groups, block.weight, grid.size, n_groups)

    return dict(zip(positions, in_threads(count, positions, n_jobs), strict=True))


def _number(
    values: NDArray[np.float64], limit: int, column: Column, n_groups: int
) -> tuple[Grid, NDArray[np.uint16]]:
    """Return the grid of a column and the slot of each value."""
    largest_table = 1 << 31  # bytes of the counts of one column
    numbered = number_values(values, limit)
    if numbered is None:
        raise infinite_error(column)
    size = 8 * numbered[0].size * n_groups
    if size > largest_table:
        raise MemoryError(
            f"{column} has {numbered[0].size:,} different values and y has {n_groups:,} classes: "
            f"counting one by the other takes {size / 1e9:.1f} GB. Pass a smaller grid_limit=, or "
            "check that y holds classes and not numbers."
        )
    return numbered


def _count_decimals(
    values: NDArray[np.float64], groups: NDArray[Any], n_groups: int, limit: int, column: Column
) -> tuple[Grid, NDArray[np.float64]] | None:
    """Return the grid and the counts of numbers of few decimals; None if they are not."""
    decimal_cells = 1 << 18  # counts that stay in cache
    window = _decimal_window(values[:: max(1, len(values) // 1024)], decimal_cells // n_groups)
    if window is None:
        return None
    scale, first, n_cells = window
    cells = np.zeros((n_cells + 2, n_groups), dtype=np.uint32)
    others = np.empty(int((1.0 - NEARLY_ALL) * len(values)), dtype=np.intp)
    n = kernels.count_decimals(
        values, groups, scale, float(first), n_cells, cells.reshape(-1), others
    )
    if n < 0:
        return None
    others, used = others[:n], np.flatnonzero(cells[:n_cells].any(axis=1))
    distinct = np.concatenate([(first + used) / scale, values[others]])
    grid, codes = _number(distinct, limit, column, n_groups)
    table = np.zeros((n_groups, grid.size + EXTRA_SLOTS))
    counts = cells[used].T.astype(np.float64, order="C")
    kernels.scatter_slots(counts, codes[: len(used)].astype(np.intp), table)
    table[:, 0] += cells[n_cells + 1]
    listed = _count_column(codes[len(used) :], 0, groups[others], None, grid.size, n_groups)
    return grid, table.T + listed


def _decimal_window(sample: NDArray[np.float64], most: int) -> tuple[float, int, int] | None:
    """Return the scale that makes nearly all values whole, the first of these and their number."""
    sample = sample[~np.isnan(sample)]
    enough = NEARLY_ALL * len(sample)
    for scale in (1.0, 10.0, 100.0, 1e3, 1e4):
        with np.errstate(over="ignore"):
            units = np.rint(sample * scale)
        units = units[(units / scale == sample) & (np.abs(units) < 2.0**52)]
        if len(units) < max(enough, 1):
            continue
        low, high = int(units.min()), int(units.max())
        n_cells = min(most, 2 << (high - low).bit_length())  # a sample has no extremes
        first = (low + high - n_cells) // 2
        inside = np.count_nonzero((units >= first) & (units < first + n_cells))
        return (scale, first, n_cells) if inside >= enough else None
    return None


def _count_column(
    codes: NDArray[Any],
    wrap: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    n_values: int,
    n_groups: int,
) -> NDArray[Any]:
    """Return the weights, or numbers of rows where they have no weight, of one column: slots x
    groups.
    """
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
    """Return the columns to count together: up to four with a small joint table."""
    joint_cells = 1 << 13  # while their joint table stays in cache
    columns = list(raw)
    widths = [
        len(c.values) + 1 if joint and c.codes.dtype == np.uint8 else None for c in raw.values()
    ]
    runs = joint_runs(widths, joint_cells // n_groups, JOINT_COLUMNS)
    return [[columns[k] for k in run] for run in runs]


def _count_raw(
    columns: Sequence[RawCodes],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    n_groups: int,
) -> list[NDArray[np.float64]]:
    """Return the counts of raw codes, slots (0 missing, then the codes) x groups, for up to four
    columns.
    """
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
    """Return the moments of columns, and the weight of rows without a value, groups x columns."""
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
