"""Counts of rows by period and class, in one sparse table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from unnaive.common.checks import HEAVIEST, check_hashes, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.counts.counting import block_groups, schema_with_order, sum_moments
from unnaive.counts.moments import Moments
from unnaive.counts.summary import Coder, Summary, Wanted, drop_unused, mark_whole, unite_values
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets
from unnaive.encode import GRID_LIMIT, Labels
from unnaive.encode.categories import categories_of, sort_values
from unnaive.encode.coders import check_coders, coder_sizes
from unnaive.encode.grid import infinite_error, number_values
from unnaive.encode.labels import merge_labels, refuse_mixed
from unnaive.table import Block, Schema


@dataclass(frozen=True, slots=True, eq=False)
class PeriodCounts:
    """Counts by period and class of every column's values, on one grid for all periods.

    Row ``p * n_classes + c`` of the table counts the rows of period p and class c; its columns are
    the slots of a `CountTable`. It is kept in compressed rows, so that values which a period does
    not have take no room.

    Attributes
    ----------
    periods : tuple
        In order.
    weights, slots, starts : arrays
        The weights that are not zero and their slots, row by row, and where each row starts.
    totals : array of shape (n_periods, n_classes)
        Weight of all rows.
    moments : Moments
        Groups as the rows of the table.
    n_rows : array of shape (n_periods,)
    """

    schema: Schema
    labels: Labels
    coders: tuple[Coder, ...]
    periods: tuple[Any, ...]
    weights: NDArray[np.float64]
    slots: NDArray[np.int64]
    starts: NDArray[np.int64]
    totals: NDArray[np.float64]
    moments: Moments
    n_rows: NDArray[np.int64]
    wanted: Wanted
    grid_limit: int = GRID_LIMIT

    def check(self) -> None:
        """Raise if the parts do not fit together."""
        check_hashes(self.periods)
        expect(len(set(self.periods)) == len(self.periods), "a period is listed twice.")
        expect(list(sort_values(self.periods)) == list(self.periods), "periods are not in order.")
        check_coders(self.coders, self.schema)
        n_groups = len(self.periods) * len(self.labels)
        check_values("totals", self.totals, (len(self.periods), len(self.labels)), 0.0, HEAVIEST)
        check_values("n_rows", self.n_rows, (len(self.periods),), 0, 2**53)
        n = len(self.weights)
        check_values("weights", self.weights, (n,), 0.0, HEAVIEST)
        check_values("slots", self.slots, (n,), 0, self.n_slots - 1)
        check_values("starts", self.starts, (n_groups + 1,), 0, n)
        expect(self.starts[0] == 0 and self.starts[-1] == n, "rows do not fill the table.")
        expect((np.diff(self.starts) >= 0).all(), "rows of the table overlap.")
        expect(len(self.moments.sums) == n_groups, "moments do not match the classes.")
        named = {*self.wanted.counts, *self.wanted.moments, *self.moments.columns}
        expect(named <= set(range(len(self.schema))), "a column with sums does not exist.")
        expect(2 <= self.grid_limit <= GRID_LIMIT, f"grid_limit is {self.grid_limit}.")

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where the slots of each column begin."""
        return slot_offsets(coder_sizes(self.coders))

    @property
    def n_slots(self) -> int:
        return int(self.offsets[-1])

    @property
    def table(self) -> csr_array:
        """The table, (periods x classes) x slots."""
        shape = (self.totals.size, self.n_slots)
        return csr_array((self.weights, self.slots, self.starts), shape=shape)

    def __add__(self, other: PeriodCounts) -> PeriodCounts:
        return merge_period_counts([self, other])

    def rename(self, names: Sequence[Any]) -> PeriodCounts:
        """Return the counts with other names of the periods; equal names are added together."""
        return merge_period_counts([replace(self, periods=tuple(names))])

    def summary(self, weight: NDArray[np.float64]) -> Summary:
        """Return the summary of the rows of some periods.

        Parameters
        ----------
        weight : array of shape (n_periods,)
            By which the weights of the rows of each period are multiplied; 0 leaves them out.
        """
        used, n = np.flatnonzero(weight), len(self.labels)
        groups = (used[:, None] * n + np.arange(n)).ravel()
        classes = np.tile(np.arange(n), len(used))
        factors = np.repeat(weight[used], n)
        select = csr_array((factors, (classes, groups)), shape=(n, self.totals.size))
        counts = CountTable(
            (select @ self.table).toarray(), self.offsets, weight[used] @ self.totals[used]
        )
        if (weight[used] == 1).all():
            moments = self.moments.select_groups(groups).sum_groups(classes, n)
        else:
            parts = (
                self.moments.select_groups(own).scaled(w)
                for own, w in zip(groups.reshape(-1, n), weight[used].tolist(), strict=True)
            )
            moments = reduce(Moments.__add__, parts)
        n_rows = int(self.n_rows[used].sum())
        columns = (self.schema, self.labels, self.coders)
        return drop_unused(Summary(*columns, counts, moments, n_rows, self.wanted, self.grid_limit))


def count_periods(
    block: Block,
    periods: Sequence[Any],
    places: NDArray[np.integer[Any]],
    wanted: Wanted,
    grid_limit: int = GRID_LIMIT,
    n_jobs: int | None = None,
) -> PeriodCounts:
    """Count the rows of a block; ``places`` has the position of each row's period."""
    labels, classes = block_groups(block)
    groups = places.astype(np.int64) * len(labels) + classes
    n_groups = len(periods) * len(labels)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    schema = schema_with_order(block)

    def count(j: int) -> tuple[Coder, csr_array]:
        coder, slots, rows = _code_column(block, j, schema, wanted, grid_limit)
        shape = (n_groups, (0 if coder is None else coder.size) + EXTRA_SLOTS)
        n_cells = shape[0] * shape[1]
        if n_cells > len(slots):
            return coder, csr_array((weight[rows], (groups[rows], slots)), shape=shape)
        cells = np.bincount(groups[rows] * shape[1] + slots, weight[rows], minlength=n_cells)
        return coder, csr_array(cells.reshape(shape))

    counted = list(in_threads(count, range(len(schema)), n_jobs))
    coders = tuple(coder for coder, _ in counted)
    totals = np.bincount(groups, weight, minlength=n_groups).astype(np.float64)
    moments, _ = sum_moments(block, sorted(wanted.moments), groups, n_groups, n_jobs)
    return PeriodCounts(
        mark_whole(schema, coders),
        labels,
        coders,
        tuple(periods),
        *_compressed(hstack([table for _, table in counted])),
        totals.reshape(len(periods), len(labels)),
        moments,
        np.bincount(places, minlength=len(periods)),
        wanted,
        grid_limit,
    )


def _code_column(
    block: Block, j: int, schema: Schema, wanted: Wanted, grid_limit: int
) -> tuple[Coder, NDArray[Any], slice | NDArray[np.bool_]]:
    """Return the coder of a column, the slots of rows, and which rows these are."""
    every = slice(None)
    if schema[j].kind == "categorical":
        raw = block.categorical(j)
        present = np.bincount(raw.slots, minlength=len(raw.values) + 1)[1:] > 0
        coder = categories_of(raw.values, present, schema[j].order)
        return coder, coder.slots(raw.values)[raw.slots], every
    if j in wanted.counts:
        numbered = number_values(block.numeric(j), grid_limit)
        if numbered is None:
            raise infinite_error(schema[j])
        return *numbered, every
    # Of a column with moments alone, rows without a value are counted; an empty one has no other.
    missing = np.isnan(block.numeric(j)) if j in wanted.moments else np.ones(block.n_rows, bool)
    return None, np.zeros(missing.sum(), dtype=np.intp), missing


def merge_period_counts(parts: Sequence[PeriodCounts]) -> PeriodCounts:
    """Return the counts of the rows of all parts together; periods of one name are added."""
    for part in parts:
        refuse_mixed(parts[0].labels, part.labels)
    schema = reduce(Schema.__add__, [p.schema for p in parts])
    labels, class_maps = merge_labels([p.labels for p in parts])
    coders, slot_maps = unite_values(parts, schema)
    offsets = slot_offsets(coder_sizes(coders))
    periods = sort_values(name for part in parts for name in part.periods)
    place = {name: k for k, name in enumerate(periods)}
    shape, n_classes = (len(periods) * len(labels), int(offsets[-1])), len(labels)
    columns = sorted({j for p in parts for j in p.moments.columns})
    table, moments = csr_array(shape), Moments.empty(shape[0], columns)
    totals, n_rows = np.zeros((len(periods), n_classes)), np.zeros(len(periods), dtype=np.int64)
    for part, classes, slots in zip(parts, class_maps, slot_maps, strict=True):
        own = np.array([place[name] for name in part.periods], dtype=np.intp)
        groups = (own[:, None] * n_classes + classes).ravel()
        new_slots = np.concatenate([s + start for s, start in zip(slots, offsets, strict=False)])
        cells = part.table.tocoo()
        rows, values = (axis.astype(np.int64) for axis in cells.coords)
        table = table + csr_array((cells.data, (groups[rows], new_slots[values])), shape=shape)
        moments = moments + part.moments.widen(columns).sum_groups(groups, shape[0])
        np.add.at(totals, (own[:, None], classes), part.totals)
        np.add.at(n_rows, own, part.n_rows)
    return PeriodCounts(
        mark_whole(schema, coders),
        labels,
        coders,
        tuple(periods),
        *_compressed(table),
        totals,
        moments,
        n_rows,
        reduce(Wanted.__or__, [p.wanted for p in parts]),
        parts[0].grid_limit,
    )


def _compressed(table: Any) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the arrays of a table in compressed rows, equal for equal tables."""
    table = csr_array(table)
    table.sum_duplicates()
    return table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64)
