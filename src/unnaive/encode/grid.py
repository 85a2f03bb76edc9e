"""The fine grid of a numeric column: at most 65,534 cells that no way of splitting rows changes.

A float's bits, read as an integer in the right way, sort like the float. Dropping the L lowest
bits merges neighbours; L is the smallest number that leaves at most ``limit`` distinct keys. L
depends on the set of values alone, so chunks, merges and partitions agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_ascending, expect
from unnaive.common.kernels import read_only
from unnaive.encode import kernels
from unnaive.table import Column
from unnaive.table.columns import code_dtype

GRID_LIMIT = 65_534  # with missing and unseen, the most that 16-bit codes can name


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells in ascending order, each with its smallest and largest value.

    Attributes
    ----------
    shift : int
        Low bits dropped; 0 means that every distinct value has a cell of its own.
    low, high : arrays of float64
        Smallest and largest value in each cell.
    """

    shift: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def check(self) -> None:
        """Refuse cells that no column has."""
        expect(0 <= self.shift < 64, f"{self.shift} bits cannot be dropped.")
        check_ascending("cells", self.low)
        expect(self.high.shape == self.low.shape, "cells have no end.")
        expect(self.size <= GRID_LIMIT, f"{self.size} cells are more than {GRID_LIMIT}.")
        check_ascending("cells", np.stack((self.low, self.high), axis=1).ravel())
        cells = self.cells
        expect((cells[1:] > cells[:-1]).all(), "two cells are the same.")
        expect(self.shift or (self.low == self.high).all(), "cells hold more than one value.")

    @property
    def size(self) -> int:
        return len(self.low)

    @property
    def is_whole(self) -> bool:
        """Return whether every value is known, and a whole number that floats tell from its
        neighbours.
        """
        return bool(self.size and not self.shift and whole_numbers(self.low).all())

    @property
    def cells(self) -> NDArray[np.uint64]:
        bits = self.low.view(np.uint64)
        # As `kernels.key_of_bits` does, without Numba: files are looked at before it is there.
        keys: NDArray[np.uint64] = bits | kernels.SIGN
        if self.size and not self.low[0] >= 0:  # values ascend
            negative = (bits & kernels.SIGN != 0) & (bits != kernels.SIGN)
            keys = np.where(negative, ~bits, keys)
        keys >>= np.uint64(self.shift)
        return keys

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.uint16]:
        """Return the slot of each value: 0 missing, then the cells. For values the grid was made
        from.
        """
        codes = np.zeros(len(values), dtype=np.uint16)
        if self.size:
            cells = self.cells
            span = int(cells[-1] - cells[0])
            # About eight buckets per cell, so that most buckets hold one cell or none.
            drop = np.uint64(max(0, span.bit_length() - self.size.bit_length() - 3))
            starts = np.empty((span >> int(drop)) + 2, dtype=np.int32)
            kernels.index_cells(cells, drop, starts)
            shift = np.uint64(self.shift)
            kernels.cell_codes(values.view(np.uint64), cells, shift, drop, starts, codes)
        return codes


def number_values(
    values: NDArray[np.float64], limit: int = GRID_LIMIT
) -> tuple[Grid, NDArray[np.uint16]] | None:
    """Return the grid of a column and the slot of each value; None when one of them is infinite."""
    bitmap_bits = (24, 26)  # a second try costs less than sorting, if there are rows enough
    unsorted_rows = 4096  # below this, sorting is as quick
    bits = values.view(np.uint64)
    n, first, last = kernels.key_range(bits)
    if n < 0:
        return None
    for size in bitmap_bits[: 0 if n < unsorted_rows else 1 if n <= limit else 2]:
        numbered = _number_unsorted(bits, int(first), int(last), size, limit)
        if numbered is not None:
            return numbered
    keys = np.empty(n, dtype=np.uint64)
    kernels.ordered_keys(bits, keys)
    keys.sort()
    grid = _grid_of_sorted(keys, kernels.smallest_shift(keys, limit), limit)
    return grid, grid.codes(values)


def _number_unsorted(
    bits: NDArray[np.uint64], first: int, last: int, size: int, limit: int
) -> tuple[Grid, NDArray[np.uint16]] | None:
    """Return the same without sorting, by marking the leading bits of each key in a bitmap of
    2**size.

    Enough when these bits alone tell more than ``limit`` keys apart, or when no two different
    values share them; None otherwise.
    """
    coarse = np.uint64(max(0, (last - first).bit_length() - size))
    base = np.uint64(first >> int(coarse))
    words = np.zeros((((last >> int(coarse)) - int(base)) >> 6) + 1, dtype=np.uint64)
    kernels.mark_bits(bits, coarse, base, words)
    rank = np.empty(len(words), dtype=np.uint32)
    distinct = kernels.rank_bits(words, rank)
    cells = np.empty(distinct, dtype=np.uint64)
    kernels.list_bits(words, base, cells)
    more = kernels.smallest_shift(cells, limit)
    merged = cells >> np.uint64(more)
    place = np.concatenate(([0], np.cumsum(merged[1:] != merged[:-1]))).astype(np.uint16)
    n_cells = int(place[-1]) + 1
    low, high = np.full(n_cells, ~np.uint64(0)), np.zeros(n_cells, dtype=np.uint64)
    codes = np.empty(len(bits), dtype=np.uint16)
    kernels.bitmap_codes(bits, coarse, base, words, rank, place, low, high, codes)
    if more == 0 and not (low == high).all():
        return None  # finer keys would fit: only sorting tells how fine
    shift = int(coarse) + more if more else 0
    return _grid_of_keys(shift, low, high), codes


def _grid_of_sorted(keys: NDArray[np.uint64], shift: int, limit: int) -> Grid:
    room = min(len(keys), limit)
    low, high = np.empty((2, room), dtype=np.uint64)
    n = kernels.cells_of_sorted(keys, np.uint64(shift), low, high)
    return _grid_of_keys(shift, low[:n], high[:n])


def _grid_of_keys(shift: int, low: NDArray[np.uint64], high: NDArray[np.uint64]) -> Grid:
    smallest = grid_values(low)
    return Grid(shift, smallest, smallest if shift == 0 else grid_values(high))


def grid_values(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the values that have these keys."""
    bits = np.empty(len(keys), dtype=np.uint64)
    kernels.values_of_keys(keys, bits)
    return bits.view(np.float64)


def whole_numbers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values are whole numbers that floats tell from their neighbours."""
    largest_whole = 1e15  # below it, halves between whole numbers are exact
    whole: NDArray[np.bool_] = (np.abs(values) < largest_whole) & (values == np.rint(values))
    return whole


def merge_grids(
    grids: Sequence[Grid], limit: int = GRID_LIMIT
) -> tuple[Grid, list[NDArray[np.intp]]]:
    """Return the grid of all values together, and for each part where its slots went.

    The time it takes grows with the number of cells of all parts, not with that of pairs of parts.
    """
    exact = [g for g in grids if g.shift == 0]
    if len(exact) > 2:  # their cells are values, and are numbered as those of rows are
        united, places = _merge_values(exact, limit)
        coarse = [g for g in grids if g.shift]
        if not coarse:
            return united, places
        merged, (first, *others) = merge_grids([united, *coarse], limit)
        of_exact, of_coarse = iter(places), iter(others)
        return merged, [next(of_coarse) if g.shift else first[next(of_exact)] for g in grids]
    base = max((g.shift for g in grids), default=0)
    parts = [g.cells >> np.uint64(base - g.shift) for g in grids]
    union = _unite(parts)
    more = kernels.smallest_shift(union, limit)
    if more:
        union = kernels.unite_cells(union[:0], union >> np.uint64(more))
    low, high = np.full(len(union), np.inf), np.full(len(union), -np.inf)
    maps = []
    for grid, part in zip(grids, parts, strict=True):
        place = np.empty(grid.size + 2, dtype=np.intp)
        kernels.place_cells(part, np.uint64(more), grid.low, grid.high, union, low, high, place)
        maps.append(place)
    shift = base + more
    return Grid(shift, low, low if shift == 0 else high), maps


def _merge_values(grids: Sequence[Grid], limit: int) -> tuple[Grid, list[NDArray[np.intp]]]:
    """Merge grids whose cells hold one value each."""
    numbered = number_values(np.concatenate([g.low for g in grids]), limit)
    assert numbered is not None  # grids hold no infinite values
    grid, codes = numbered
    ends = np.cumsum([g.size for g in grids])
    places = np.empty(len(codes) + 2 * len(grids), dtype=np.intp)
    kernels.lay_places(codes, ends, grid.size, places)
    stops = ends + 2 * np.arange(1, len(grids) + 1)
    return grid, [places[b - g.size - 2 : b] for g, b in zip(grids, stops.tolist(), strict=True)]


def _unite(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the ascending keys of all lists, each once; short lists meet short ones."""
    lists = [kernels.unite_cells(np.empty(0, np.uint64), part) for part in parts]
    while len(lists) > 1:
        pairs = [kernels.unite_cells(*lists[k : k + 2]) for k in range(0, len(lists) - 1, 2)]
        lists = pairs + lists[len(lists) - len(lists) % 2 :]
    return lists[0] if lists else np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Intervals ``(cut, next cut]`` between ascending cuts. Slot 0 is missing."""

    cuts: NDArray[np.float64]

    def check(self) -> None:
        """Refuse cuts that no rule makes."""
        check_ascending("cuts", self.cuts)

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    def place(self, low: NDArray[np.float64]) -> NDArray[Any]:
        """Return the slot of each slot of a grid whose cells, from ``low``, no cut divides."""
        ends = np.searchsorted(low, self.cuts, side="right")  # cuts are fewer than cells
        widths = np.diff(ends, prepend=0, append=len(low))
        slots = np.arange(self.size + 2, dtype=code_dtype(self.size))
        return np.repeat(slots, np.concatenate(([1], widths, [1])))

    def divide(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
        """Return whether some cut lies within a cell, from ``low`` until before ``high``."""
        inside = np.searchsorted(low, self.cuts, side="right") - 1
        return bool((self.cuts < high[inside])[inside >= 0].any())

    def codes(self, values: NDArray[np.float64], column: Column) -> NDArray[Any]:
        """Return the slot of each value; infinite values are refused."""
        codes = np.empty(len(values), dtype=code_dtype(self.size))
        infinite = kernels.bin_codes(read_only(values), read_only(self.cuts), codes)
        if infinite >= 0:
            raise infinite_error(column, values[infinite])
        return codes


def infinite_error(column: Column, value: float | None = None) -> ValueError:
    what = "an infinite number" if value is None else f"the number {value}"
    return ValueError(
        f"{column} holds {what}; Input X contains infinity. "
        "Replace infinite numbers by NaN (missing) or by a finite limit."
    )
