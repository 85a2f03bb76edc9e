"""Random choices about rows that depend on the seed and the row alone.

A generator with a state would give a row another number when rows are split differently; here the
row's number is the state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def row_bits(seed: int, row_ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """64 random bits for each row: the splitmix64 sequence of the seed, at the row's place."""
    with np.errstate(over="ignore"):
        step = np.uint64(0x9E3779B97F4A7C15)
        z = (row_ids.astype(np.uint64) + np.uint64(1)) * step
        z += np.uint64(seed & (2**64 - 1)) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def draw_folds(seed: int, row_ids: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each row, each equally likely."""
    high = row_bits(seed, row_ids) >> np.uint64(32)
    return ((high * np.uint64(n_folds)) >> np.uint64(32)).astype(np.int64)
