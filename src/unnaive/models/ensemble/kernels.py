"""Kernels of the rounds of boosting."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def lower_by_margin(
    logs: NDArray[np.float64], margin: NDArray[np.float64], vote: float, steepest: float
) -> float:
    """Subtract vote times margin, at most ``steepest``, from each log (IN, OUT); the largest."""
    top = -np.inf
    for i in range(len(logs)):
        logs[i] -= vote * min(max(margin[i], -steepest), steepest)
        top = max(top, logs[i])
    return top


@njit(cache=True, nogil=True)
def lower_by_hit(logs: NDArray[np.float64], hit: NDArray[np.bool_], vote: float) -> float:
    """Subtract the vote from the logs of rows that are hit (IN, OUT); the largest."""
    top = -np.inf
    for i in range(len(logs)):
        logs[i] -= vote * hit[i]
        top = max(top, logs[i])
    return top


# The sum of exact multiples may be taken in any order.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def missed_weight(weight: NDArray[np.float64], hit: NDArray[np.bool_]) -> float:
    """Weight of the rows that are not hit."""
    total = 0.0
    for i in range(len(hit)):
        total += weight[i] * np.float64(not hit[i])
    return total
