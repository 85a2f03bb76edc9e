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
def _whole(term: float, scale: float, weight: float) -> np.int64:
    """A term in whole units, times a weight: weights that are whole numbers are repetitions."""
    units = np.int64(math.floor(term * scale + 0.5))
    times = np.int64(weight)
    if np.float64(times) == weight:
        return units * times
    return np.int64(math.floor(units * weight + 0.5))


@kernel
def add_sums(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    together: bool,
    loss: NDArray[np.int64],
    gradient: NDArray[np.int64],
    hessian: NDArray[np.int64],
) -> None:
    """Add the loss of rows, its gradient and its Hessian (OUT, in units of 1 / scale).

    ``logs`` (IN) is rows x factors x classes. What its first factor multiplies includes the base:
    that is taken out. ``point`` (IN) is the factors, then a shift for each class; the score of a
    class is its base plus its evidence, each times its factor, plus its shift. ``together`` says
    whether the Hessian knows that classes share a probability of 1; without it, it is too large,
    which only shortens steps.
    """
    n_factors, n = logs.shape[1], len(base)
    size = n_factors + n
    evidence, away = np.empty((n_factors, n)), np.empty((n_factors, n))
    p, mean = np.empty(n), np.empty(n_factors)
    for i in range(len(groups)):
        w, g = weight[i], groups[i]
        for c in range(n):
            p[c] = base[c]
        for j in range(n_factors):
            best = -np.inf
            for c in range(n):
                evidence[j, c] = logs[i, j, c] - base[c] if j == 0 else logs[i, j, c]
                best = max(best, evidence[j, c])
            for c in range(n):
                evidence[j, c] = max(evidence[j, c] - best, -FARTHEST)
                p[c] += point[j] * evidence[j, c]
        largest = -np.inf
        for c in range(n):
            p[c] += point[n_factors + c]
            largest = max(largest, p[c])
        true_score, total = p[g], 0.0
        for c in range(n):
            p[c] = math.exp(p[c] - largest)
            total += p[c]
        loss[0] += _whole(largest + math.log(total) - true_score, scale, w)
        for c in range(n):
            p[c] /= total
        for j in range(n_factors):
            mean[j] = 0.0
            for c in range(n):
                mean[j] += p[c] * evidence[j, c]
            gradient[j] += _whole(mean[j] - evidence[j, g], scale, w)
            for c in range(n):
                away[j, c] = p[c] * (evidence[j, c] - mean[j])
                cross = _whole(away[j, c], scale, w)
                hessian[j * size + n_factors + c] += cross
                hessian[(n_factors + c) * size + j] += cross
            for k in range(j + 1):
                covariance = 0.0
                for c in range(n):
                    covariance += away[j, c] * evidence[k, c]
                both = _whole(covariance, scale, w)
                hessian[j * size + k] += both
                if k < j:
                    hessian[k * size + j] += both
        for c in range(n):
            share = p[c] - 1.0 if c == g else p[c]
            gradient[n_factors + c] += _whole(share, scale, w)
            row = (n_factors + c) * size + n_factors
            hessian[row + c] += _whole(p[c], scale, w)
            if together:
                for d in range(n):
                    hessian[row + d] -= _whole(p[c] * p[d], scale, w)
