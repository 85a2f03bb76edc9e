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
def count_few(
    bits: NDArray[np.uint64],
    groups: NDArray[Any],
    n_groups: int,
    most: int,
    drop: np.uint64,
    keys: NDArray[np.uint64],
    out: NDArray[np.uint32],
) -> int:
    """Rows per (place of a value, group), in one line (OUT); how many values differ, or -1 if more
    than ``most``.

    Values (IN, as bits) have places in ``keys`` (OUT, empty at first), found by the bits that are
    left when ``drop`` of them are dropped from a product; the next free one where it is taken.
    """
    last, n = len(keys) - 1, 0
    for i in range(len(bits)):
        value = bits[i]
        if value & ~SIGN > INFINITE:
            value = _MISSING
        place = np.int64((value * _SPREAD) >> drop)
        while keys[place] != value:
            if keys[place] == EMPTY:
                if n == most:
                    return -1
                keys[place] = value
                n += 1
                break
            place = (place + 1) & last
        out[place * n_groups + groups[i]] += np.uint32(1)
    return n
