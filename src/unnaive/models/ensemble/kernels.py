"""Kernels of the rounds of boosting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel


@kernel
def lower_by_margin(
    logs: NDArray[np.float64], margin: NDArray[np.float64], vote: float, steepest: float
) -> None:
    """Subtract vote times margin, at most ``steepest``, from each log (IN, OUT)."""
    for i in range(len(logs)):
        logs[i] -= vote * min(max(margin[i], -steepest), steepest)


@kernel
def lower_by_hit(logs: NDArray[np.float64], hit: NDArray[np.bool_], vote: float) -> None:
    """Subtract the vote from the logs of rows that are hit (IN, OUT)."""
    for i in range(len(logs)):
        logs[i] -= vote * np.float64(hit[i])


# Sums of exact multiples may be taken in any order, by several numbers at a time.
_ANY_ORDER = {"reassoc", "nsz"}


@kernel(fastmath=_ANY_ORDER)
def missed_weight(weight: NDArray[np.float64], hit: NDArray[np.bool_]) -> float:
    """Weight of the rows that are not hit."""
    total = 0.0
    for i in range(len(hit)):
        total += weight[i] * np.float64(not hit[i])
    return total


@kernel(fastmath=_ANY_ORDER)
def exact_total(relative: NDArray[np.float64], fine: float, given: NDArray[np.float64]) -> float:
    """Sum of weights, each rounded to multiples of 1 / fine, in these units.

    ``given`` (IN) multiplies them; it is empty where all are 1.
    """
    total = 0.0
    if len(given) == 0:
        for i in range(len(relative)):
            total += np.floor(relative[i] * fine + 0.5)
    else:
        for i in range(len(relative)):
            total += np.floor(relative[i] * fine + 0.5) * given[i]
    return total


@kernel(fastmath=_ANY_ORDER)
def round_weights(
    weight: NDArray[np.float64], scale: float, grain: float, given: NDArray[np.float64]
) -> float:
    """Weights (IN, OUT) times scale as multiples of the grain, times those given; their sum."""
    total, factor = 0.0, scale / grain
    if len(given) == 0:
        for i in range(len(weight)):
            weight[i] = np.floor(weight[i] * factor + 0.5) * grain
            total += weight[i]
    else:
        for i in range(len(weight)):
            weight[i] = np.floor(weight[i] * factor + 0.5) * grain * given[i]
            total += weight[i]
    return total


@kernel(fastmath=_ANY_ORDER)
def exact_squares(weight: NDArray[np.float64], given: NDArray[np.float64], scale: float) -> float:
    """Sum of the squares of weights relative to those given, in units of 1 / scale.

    ``given`` (IN) says how many rows each is; it is empty where that is 1.
    """
    total = 0.0
    if len(given) == 0:
        for i in range(len(weight)):
            total += np.floor(weight[i] * weight[i] * scale + 0.5)
    else:
        for i in range(len(weight)):
            if given[i] > 0.0:
                relative = weight[i] / given[i]
                total += np.floor(relative * relative * scale + 0.5) * given[i]
    return total
