"""Numbers that come again and again, such as prices: counted first, and sorted at the end.

Most such numbers have few decimals. They are whole numbers of their last decimal, so that each has
a cell of its own in a line of counts, and two lines add up without a look at the values. Numbers
that have no cell stand in a list beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import kernels
from unnaive.counts.few_kernels import EMPTY, count_decimals, count_few, used_cells
from unnaive.counts.summary import Coder, Summary, mark_whole
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import Grid
from unnaive.encode.bins import infinite_error
from unnaive.encode.coding import coder_sizes
from unnaive.encode.grid import number_values
from unnaive.encode.labels import merge_labels
from unnaive.table import Column

FEW_ROWS = 1 << 13  # below this, numbering rows is as quick
FEW_PLACES = (1 << 13, 1 << 17)  # for the values of a column: twice as many as are few
FEW_CELLS = 1 << 18  # while counts of all cells or places stay in cache
FEW_AGAIN = 1.25  # rows of each value, at least, where more places are worth a try
MOST_DECIMALS = 4
SAMPLE = 1024  # values of a column that are looked at first
LEAST_CELLS = 1 << 10
NEARLY_ALL = 15 / 16  # of the values must have cells
LONGEST_LIST = 1 << 17  # of numbers without a cell
LARGEST_TABLE = 1 << 31  # bytes of the counts of one column
MOST_ROWS = 1 << 32  # of a tally: cells are 32 bits wide
EXACT = 2.0**52  # whole numbers below it, and sums of two, are exact


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Rows of one column by value and group.

    Attributes
    ----------
    decimals, first : int
        Cell k has the value ``(first + k) / 10**decimals``.
    cells : array of uint32, cells x groups
    values, groups, counts : arrays
        Rows whose values have no cell: as many of this value and group. Missing values are among
        them, and values may come more than once.
    """

    decimals: int
    first: int
    cells: NDArray[np.uint32]
    values: NDArray[np.float64]
    groups: NDArray[np.intp]
    counts: NDArray[np.float64]

    @property
    def totals(self) -> NDArray[np.float64]:
        """Rows of each group."""
        listed = np.bincount(self.groups, self.counts, minlength=self.cells.shape[1])
        return listed + [own.sum(dtype=np.float64) for own in self.cells.T]

    def joins(self, other: Tally) -> bool:
        """Whether the sum of both is a tally of the same cells, or not many more."""
        if len(self.values) + len(other.values) > LONGEST_LIST:
            return False
        if not (len(self.cells) and len(other.cells)):
            return True
        together = max(self.stop, other.stop) - min(self.first, other.first)
        near = together * self.cells.shape[1] <= 2 * FEW_CELLS
        return near and self.decimals == other.decimals

    @property
    def stop(self) -> int:
        return self.first + len(self.cells)

    def moved(self, place: NDArray[np.intp], n_groups: int) -> Tally:
        """The same with group g as group ``place[g]`` of so many."""
        if len(place) == n_groups and (place == np.arange(n_groups)).all():
            return self
        cells = np.zeros((len(self.cells), n_groups), dtype=np.uint32)
        cells[:, place] = self.cells
        return replace(self, cells=cells, groups=place[self.groups])

    def __add__(self, other: Tally) -> Tally:
        """Both together; they join, and have the same groups."""
        some = [t for t in (self, other) if len(t.cells)] or [self]
        first, stop = min(t.first for t in some), max(t.stop for t in some)
        if len(some) == 2 and all((t.first, t.stop) == (first, stop) for t in some):
            cells = self.cells + other.cells
        else:
            cells = np.zeros((stop - first, self.cells.shape[1]), dtype=np.uint32)
            for t in some:
                cells[t.first - first : t.stop - first] += t.cells
        lists = zip(self._list, other._list, strict=True)
        return Tally(some[0].decimals, first, cells, *map(np.concatenate, lists))._shortened()

    @property
    def _list(self) -> tuple[NDArray[Any], ...]:
        return self.values, self.groups, self.counts

    def _shortened(self) -> Tally:
        """The same with each value and group once, where the list has become long."""
        if len(self.values) <= LONGEST_LIST // 2:
            return self
        n_groups = self.cells.shape[1]
        bits, place = np.unique(self.values.view(np.uint64), return_inverse=True)
        sums = np.bincount(place * n_groups + self.groups, self.counts).astype(np.float64)
        there = np.flatnonzero(sums)
        values = bits[there // n_groups].view(np.float64)
        return replace(self, values=values, groups=there % n_groups, counts=sums[there])

    def settle(self, column: Column, limit: int) -> tuple[Grid, NDArray[np.float64]]:
        """The grid of the values, and their counts in it: groups x slots."""
        n_groups = self.cells.shape[1]
        there = np.flatnonzero(functools.reduce(np.logical_or, self.cells.T))
        values = (self.first + there) / 10.0**self.decimals
        numbered = number_values(np.concatenate([values, self.values]), limit)
        if numbered is None:
            raise infinite_error(column)
        grid, codes = numbered
        refuse_too_many(column, grid.size, n_groups)
        table = np.zeros((n_groups, grid.size + EXTRA_SLOTS))
        counts = self.cells[there].T.astype(np.float64, order="C")
        kernels.scatter_slots(counts, codes[: len(there)].astype(np.intp), table)
        np.add.at(table, (self.groups, codes[len(there) :]), self.counts)
        return grid, table


def tally(values: NDArray[np.float64], groups: NDArray[Any], n_groups: int) -> Tally | None:
    """Rows by value and group, if values have few decimals or are few; else none."""
    if not FEW_ROWS <= len(values) < MOST_ROWS:
        return None
    decimal = _tally_decimals(values, groups, n_groups)
    return _tally_few(values, groups, n_groups) if decimal is None else decimal


def _tally_decimals(
    values: NDArray[np.float64], groups: NDArray[Any], n_groups: int
) -> Tally | None:
    window = _window(values[:: len(values) // SAMPLE], FEW_CELLS // n_groups)
    if window is None:
        return None
    decimals, first, n_cells = window
    cells = np.zeros((n_cells + 2, n_groups), dtype=np.uint32)
    others = np.empty(int((1.0 - NEARLY_ALL) * len(values)), dtype=np.intp)
    scale = 10.0**decimals
    n = count_decimals(values, groups, scale, float(first), n_cells, cells.reshape(-1), others)
    if n < 0:
        return None
    low, stop = used_cells(cells[:n_cells].reshape(-1), n_groups)
    if 2 * (stop - low) > n_cells:  # lines that begin and end together add up at once
        low, stop = 0, n_cells
    listed, missing = values[others[:n]], np.flatnonzero(cells[n_cells + 1])
    return Tally(
        decimals,
        first + low,
        cells[:n_cells] if stop - low == n_cells else cells[low:stop].copy(),
        np.concatenate([listed, np.full(len(missing), np.nan)]),
        np.concatenate([groups[others[:n]].astype(np.intp), missing]),
        np.concatenate([np.ones(n), cells[n_cells + 1, missing].astype(np.float64)]),
    )


def _window(sample: NDArray[np.float64], most: int) -> tuple[int, int, int] | None:
    """The decimals of nearly all values, the first cell and the number of cells; if there are."""
    sample = sample[~np.isnan(sample)]
    if not len(sample) or most < LEAST_CELLS:
        return None
    enough = NEARLY_ALL * len(sample)
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        with np.errstate(over="ignore"):
            units = np.rint(sample * scale)
        units = units[(units / scale == sample) & (np.abs(units) < EXACT)]
        if len(units) < enough:
            continue
        low, high = int(units.min()), int(units.max())
        n_cells = max(LEAST_CELLS, min(most, 1 << (2 * (high - low)).bit_length()))
        first = low // (n_cells // 2) * (n_cells // 2)
        inside = np.count_nonzero((units >= first) & (units < first + n_cells))
        return (decimals, first, n_cells) if inside >= enough else None
    return None


def _tally_few(values: NDArray[np.float64], groups: NDArray[Any], n_groups: int) -> Tally | None:
    for places in FEW_PLACES:
        if places * n_groups > FEW_CELLS:
            return None
        keys = np.full(places, EMPTY)
        out = np.zeros(places * n_groups, dtype=np.uint32)
        most, drop = places // 2, np.uint64(64 - places.bit_length() + 1)
        counted = count_few(values.view(np.uint64), groups, most, drop, keys, out)
        if counted == len(values):
            group, place = np.nonzero(out.reshape(n_groups, -1))
            counts = out[group * places + place].astype(np.float64)
            cells = np.zeros((0, n_groups), dtype=np.uint32)
            return Tally(0, 0, cells, keys[place].view(np.float64), group, counts)
        if counted < FEW_AGAIN * most:  # most values have come once so far
            return None
    return None


@dataclass(frozen=True, slots=True, eq=False)
class PartialSummary:
    """What rows leave behind, while the numbers of some columns are still tallied.

    The summary has no values of these columns.
    """

    summary: Summary
    tallies: Mapping[int, Tally]

    def __add__(self, other: PartialSummary) -> PartialSummary:
        few = self.summary.n_rows + other.summary.n_rows < MOST_ROWS
        both = self.tallies.keys() & other.tallies.keys() if few else ()
        joined = [j for j in both if self.tallies[j].joins(other.tallies[j])]
        summary = self.settle(joined) + other.settle(joined)
        labels = [self.summary.labels, other.summary.labels]
        merged, places = merge_labels(labels)
        tallies = {}
        for j in joined:
            parts = zip((self.tallies[j], other.tallies[j]), places, strict=True)
            a, b = (t.moved(place, len(merged)) for t, place in parts)
            tallies[j] = a + b
        return PartialSummary(summary, tallies)

    def settle(self, but: Collection[int] = ()) -> Summary:
        """The summary with values of all columns that are tallied, but for some."""
        old = self.summary
        columns = [j for j in self.tallies if j not in but]
        if not columns:
            return old
        settled = {j: self.tallies[j].settle(old.schema[j], old.grid_limit) for j in columns}
        coders: list[Coder] = list(old.coders)
        for j, (grid, _) in settled.items():
            coders[j] = grid
        counts = CountTable.empty(len(old.labels), coder_sizes(coders))
        for j in range(len(coders)):
            counts.attribute(j)[:] = settled[j][1] if j in settled else old.counts.attribute(j)
        counts.totals[:] = old.counts.totals
        schema = mark_whole(old.schema, coders)
        return replace(old, schema=schema, coders=tuple(coders), counts=counts)


def refuse_too_many(column: Column, n_values: int, n_groups: int) -> None:
    """Stop before counts of one column would fill the memory."""
    size = 8 * n_values * n_groups
    if size > LARGEST_TABLE:
        raise MemoryError(
            f"{column} has {n_values:,} different values and y has {n_groups:,} classes: counting "
            f"one by the other takes {size / 1e9:.1f} GB. Pass a smaller grid_limit=, or check "
            "that y holds classes and not numbers."
        )
