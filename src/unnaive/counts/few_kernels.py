"""Numbers that are few and come again and again: counted as they are, in one look at each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.encode.kernels import INFINITE, SIGN

# No number has these bits, and no missing one is left with them.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_MISSING = np.uint64(0x7FF8000000000000)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # of the golden ratio: neighbours go far apart
_VALUES = 1024  # that are worked on at a time


@kernel
def _place(
    keys: NDArray[np.uint64], value: np.uint64, place: np.uint64, n: int, most: int
) -> tuple[np.uint64, int]:
    """The place of a value that is not at its first one, and how many values there are now."""
    last = np.uint64(len(keys) - 1)
    while keys[place] != value:
        if keys[place] == EMPTY:
            if n == most:
                return place, -1
            keys[place] = value
            return place, n + 1
        place = (place + np.uint64(1)) & last
    return place, n


@kernel
def count_few(
    bits: NDArray[np.uint64],
    groups: NDArray[Any],
    most: int,
    drop: np.uint64,
    keys: NDArray[np.uint64],
    out: NDArray[np.uint32],
) -> int:
    """Rows per (group, place of a value), in one line (OUT).

    Returns how many rows were counted: all, or those before the first value that is one too many.
    Values (IN, as bits) have places in ``keys`` (OUT, empty at first), found by the bits that are
    left when ``drop`` of them are dropped from a product; the next free one where it is taken.
    """
    n, size = 0, np.uint64(len(keys))  # places are unsigned: none of them counts from the end
    for i in range(len(bits)):
        value = bits[i]
        place = (value * _SPREAD) >> drop
        if keys[place] != value or value == EMPTY:
            if value & ~SIGN > INFINITE:
                value = _MISSING
                place = (value * _SPREAD) >> drop
            place, n = _place(keys, value, place, n, most)
            if n < 0:
                return i
        out[place + size * np.uint64(groups[i])] += np.uint32(1)
    return len(bits)


@kernel
def count_decimals(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    scale: float,
    first: float,
    n_cells: int,
    out: NDArray[np.uint32],
    others: NDArray[np.intp],
) -> int:
    """Rows per (cell, group), in one line (OUT); cell k has the value (first + k) / scale.

    Two cells more count rows whose values (IN) have no cell, and missing ones. The places of the
    former are listed (OUT). Returns their number, or -1 when they are more than the list is long.
    """
    n_groups = np.uint32(len(out) // (n_cells + 2))
    end = np.float64(n_cells)
    cell = np.empty(_VALUES, dtype=np.uint32)
    n = 0
    for start in range(0, len(values), _VALUES):
        part, group = values[start : start + _VALUES], groups[start : start + _VALUES]
        gone = np.int64(0)
        for i in range(len(part)):  # no branch: many values at a time
            unit = np.rint(part[i] * scale)
            at = unit - first
            known = (unit / scale == part[i]) & (at >= 0.0) & (at < end)
            missing = part[i] != part[i]
            cell[i] = np.uint32(at if known else (end + 1.0 if missing else end))
            gone += np.int64(not (known or missing))
        for i in range(len(part)):
            out[cell[i] * n_groups + np.uint32(group[i])] += np.uint32(1)
        if gone:
            if n + gone > len(others):
                return -1
            for i in range(len(part)):
                if cell[i] == np.uint32(n_cells):
                    others[n] = start + i
                    n += 1
    return n


@kernel
def used_cells(counts: NDArray[np.uint32], n_groups: int) -> tuple[int, int]:
    """The first cell of a line (IN) that has rows, and the one after the last."""
    first, stop = 0, len(counts)
    while first < stop and counts[first] == 0:
        first += 1
    while stop > first and counts[stop - 1] == 0:
        stop -= 1
    return first // n_groups, (stop + n_groups - 1) // n_groups
