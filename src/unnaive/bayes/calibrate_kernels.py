"""Kernels of calibration: sums over rows in whole numbers, which add exactly in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel

# Evidence that is farther behind the best class's than this says no more.
FARTHEST = 500.0


@kernel
def largest_by_row(scores: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most that scores are above the base, for each row."""
    out = np.empty(len(scores))
    for i in range(len(scores)):
        largest = -np.inf
        for c in range(len(base)):
            largest = max(largest, scores[i, c] - base[c])
        out[i] = largest
    return out


@kernel
def _whole(term: float, scale: float, weight: float) -> np.int64:
    """A term in whole units, times a weight: weights that are whole numbers are repetitions."""
    units = np.int64(math.floor(term * scale + 0.5))
    times = np.int64(weight)
    if np.float64(times) == weight:
        return units * times
    return np.int64(math.floor(units * weight + 0.5))


@kernel
def add_sums(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    best: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    together: bool,
    loss: NDArray[np.int64],
    gradient: NDArray[np.int64],
    hessian: NDArray[np.int64],
) -> None:
    """Add the loss of rows, its gradient and its Hessian (OUT, in units of 1 / scale).

    ``point`` (IN) is the slope, then a shift for each class; the score of a class is its base plus
    the slope times its evidence plus its shift. ``together`` says whether the Hessian knows that
    classes share a probability of 1; without it, it is too large, which only shortens steps.
    """
    n = len(base)
    evidence, p = np.empty(n), np.empty(n)
    for i in range(len(groups)):
        w, g = weight[i], groups[i]
        largest = -np.inf
        for c in range(n):
            evidence[c] = max(scores[i, c] - base[c] - best[i], -FARTHEST)
            p[c] = base[c] + point[0] * evidence[c] + point[c + 1]
            largest = max(largest, p[c])
        true_score, total = p[g], 0.0
        for c in range(n):
            p[c] = math.exp(p[c] - largest)
            total += p[c]
        loss[0] += _whole(largest + math.log(total) - true_score, scale, w)
        mean, square = 0.0, 0.0
        for c in range(n):
            p[c] /= total
            mean += p[c] * evidence[c]
            square += p[c] * evidence[c] * evidence[c]
        gradient[0] += _whole(mean - evidence[g], scale, w)
        hessian[0] += _whole(max(square - mean * mean, 0.0), scale, w)
        for c in range(n):
            share = p[c] - 1.0 if c == g else p[c]
            gradient[c + 1] += _whole(share, scale, w)
            cross = _whole(p[c] * (evidence[c] - mean), scale, w)
            hessian[c + 1] += cross
            hessian[(c + 1) * (n + 1)] += cross
            hessian[(c + 1) * (n + 2)] += _whole(p[c], scale, w)
            if together:
                for d in range(n):
                    both = _whole(p[c] * p[d], scale, w)
                    hessian[(c + 1) * (n + 1) + d + 1] -= both
