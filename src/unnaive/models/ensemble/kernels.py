"""Kernels of the rounds of boosting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel


@kernel
def lower_by_margin(
    logs: NDArray[np.float64],
    margin: NDArray[np.float64],
    vote: float,
    steepest: float,
    out: NDArray[np.float64],
) -> None:
    """Logs (IN) less vote times margin, at most ``steepest`` (OUT, which may be the logs)."""
    for i in range(len(logs)):
        out[i] = logs[i] - vote * min(max(margin[i], -steepest), steepest)


@kernel
def lower_by_hit(
    logs: NDArray[np.float64], hit: NDArray[np.bool_], vote: float, out: NDArray[np.float64]
) -> None:
    """Logs (IN) less the vote where rows are hit (OUT, which may be the logs)."""
    for i in range(len(logs)):
        out[i] = logs[i] - vote * np.float64(hit[i])


# Sums of exact multiples may be taken in any order, by several numbers at a time.
_ANY_ORDER = {"reassoc", "nsz"}


@kernel(fastmath=_ANY_ORDER)
def total_and_missed(weight: NDArray[np.float64], hit: NDArray[np.bool_]) -> tuple[float, float]:
    """Weight of all rows, and of those that are not hit."""
    total, missed = 0.0, 0.0
    for i in range(len(hit)):
        total += weight[i]
        missed += weight[i] * np.float64(not hit[i])
    return total, missed


@kernel(fastmath=_ANY_ORDER)
def round_weights(
    weight: NDArray[np.float64], grain: float, given: NDArray[np.float64], fine: float
) -> tuple[float, float]:
    """Weights (IN, OUT) as multiples of the grain, times those given (IN, empty where all are 1).

    Returned are their sum, and that of the squares of the relative ones in units of 1 / fine, each
    as often as is given.
    """
    total, squares, factor = 0.0, 0.0, 1.0 / grain
    if len(given) == 0:
        for i in range(len(weight)):
            relative = np.floor(weight[i] * factor + 0.5) * grain
            weight[i] = relative
            total += relative
            squares += np.floor(relative * relative * fine + 0.5)
    else:
        for i in range(len(weight)):
            relative = np.floor(weight[i] * factor + 0.5) * grain
            weight[i] = relative * given[i]
            total += weight[i]
            squares += np.floor(relative * relative * fine + 0.5) * given[i]
    return total, squares
