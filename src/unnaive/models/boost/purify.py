"""What belongs to a single column stands in that column: functional analysis of variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SWEEPS = 100
CLOSE = 1e-12  # of what is left to move, relative to the largest evidence


def purify(
    table: NDArray[np.float64], weight: NDArray[np.float64], lowest: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Split the table of a pair into two columns' parts and what is left.

    Parameters
    ----------
    table : array of shape (slots of first, slots of second, scores)
    weight : array of shape (slots of first, slots of second)
        Weight of the training rows.
    lowest : int
        First slot that has evidence; slots below it, and the last, which is unseen, have none.

    Returns
    -------
    rest : array of the table's shape
        Its weighted mean over either column vanishes for every value of the other.
    first, second : arrays of shape (slots, scores)
        With ``rest`` they add up to the table, in every cell that has evidence.
    """
    inside = (slice(lowest, -1), slice(lowest, -1))
    rest, share = table[inside].copy(), weight[inside]
    ends = np.zeros((table.shape[0], table.shape[2])), np.zeros((table.shape[1], table.shape[2]))
    limit = CLOSE * float(np.abs(rest).max(initial=0.0))
    for _ in range(SWEEPS):
        moved = 0.0
        for axis in (1, 0):
            whole = share.sum(axis=axis)
            mean = (rest * share[:, :, None]).sum(axis=axis) / np.where(whole > 0, whole, 1)[
                :, None
            ]
            rest -= np.expand_dims(mean, axis)
            ends[1 - axis][lowest:-1] += mean
            moved = max(moved, float(np.abs(mean).max(initial=0.0)))
        if moved <= limit:
            break
    out = np.zeros_like(table)
    out[inside] = rest
    return out, ends[0], ends[1]


def centre(
    table: NDArray[np.float64], weight: NDArray[np.float64], lowest: int
) -> NDArray[np.float64]:
    """Take the weighted mean of a column's table (IN, OUT, slots x scores) away; return it."""
    inside = slice(lowest, -1)
    whole = weight[inside].sum()
    if whole == 0.0:
        return np.zeros(table.shape[1])
    mean: NDArray[np.float64] = (table[inside] * weight[inside, None]).sum(axis=0) / whole
    table[inside] -= mean
    return mean
