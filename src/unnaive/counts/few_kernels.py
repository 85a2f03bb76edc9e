"""Numbers that are few and come again and again: counted as they are, in one look at each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.encode.kernels import INFINITE, SIGN

# No number has these bits, and no missing one is left with them.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_MISSING = np.uint64(0x7FF8000000000000)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # of the golden ratio: neighbours go far apart


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
