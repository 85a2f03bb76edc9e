"""Kernels of calibration: sums over rows in whole numbers, which add exactly in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

# Evidence that is farther behind the best class's than this says no more.
FARTHEST = 500.0
LEAST_PIVOT = 1e-3


@kernel
def _whole(term: float, scale: float, weight: float, times: np.int64) -> np.int64:
    """A term in whole units, times a weight.

    ``times`` is the weight where that is a whole number, which is then a repetition; else -1.
    """
    units = np.int64(math.floor(term * scale + 0.5))
    if times >= 0:
        return units * times
    return np.int64(math.floor(units * weight + 0.5))


@kernel
def _times(weight: float) -> np.int64:
    """A weight as a number of repetitions; -1 where it is none."""
    times = np.int64(weight)
    return times if np.float64(times) == weight else np.int64(-1)


@kernel
def add_sums(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    loss: NDArray[np.int64],
    gradient: NDArray[np.int64],
) -> None:
    """Add the loss of rows and its gradient (OUT, in units of 1 / scale).

    ``logs`` (IN) is rows x factors x classes. What its first factor multiplies includes the base:
    that is taken out. ``point`` (IN) is the factors, then a shift for each class; the score of a
    class is its base plus its evidence, each times its factor, plus its shift.
    """
    n_factors, n = logs.shape[1], len(base)
    evidence, p = np.empty((n_factors, n)), np.empty(n)
    for i in range(len(groups)):
        w, g = weight[i], groups[i]
        times = _times(w)
        row_loss = _probabilities(logs[i], base, point, g, evidence, p)
        loss[0] += _whole(row_loss, scale, w, times)
        for j in range(n_factors):
            away = -evidence[j, g]
            for c in range(n):
                away += p[c] * evidence[j, c]
            gradient[j] += _whole(away, scale, w, times)
        for c in range(n):
            share = p[c] - 1.0 if c == g else p[c]
            gradient[n_factors + c] += _whole(share, scale, w, times)


@kernel
def add_curvature(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    together: bool,
    pairs: bool,
    hessian: NDArray[np.int64],
) -> None:
    """Add the lower triangle of the loss's Hessian (OUT, in units of 1 / scale).

    Arguments as in `add_sums`. ``together`` says whether the Hessian knows that classes share a
    probability of 1; without it, it is too large, which only shortens steps. ``pairs`` says whether
    to add what pairs of factors have: `fill_products` is quicker where these are many, and
    `fill_shares` where classes are.
    """
    n_factors, n = logs.shape[1], len(base)
    size = n_factors + n
    evidence, p = np.empty((n_factors, n)), np.empty(n)
    away = np.empty(n)
    for i in range(len(groups)):
        w = weight[i]
        times = _times(w)
        _probabilities(logs[i], base, point, groups[i], evidence, p)
        for j in range(n_factors):
            mean = 0.0
            for c in range(n):
                mean += p[c] * evidence[j, c]
            for c in range(n):
                away[c] = p[c] * (evidence[j, c] - mean)
                hessian[(n_factors + c) * size + j] += _whole(away[c], scale, w, times)
            for k in range(j + 1 if pairs else 0):
                covariance = 0.0
                for c in range(n):
                    covariance += away[c] * evidence[k, c]
                hessian[j * size + k] += _whole(covariance, scale, w, times)
        for c in range(n):
            row = (n_factors + c) * size + n_factors
            hessian[row + c] += _whole(p[c], scale, w, times)
            if together:
                for d in range(c + 1):
                    hessian[row + d] -= _whole(p[c] * p[d], scale, w, times)


@kernel
def _probabilities(
    logs: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    group: int,
    evidence: NDArray[np.float64],
    p: NDArray[np.float64],
) -> float:
    """Evidence behind that for the best class (OUT) of a row, probabilities (OUT), and its loss."""
    n_factors, n = evidence.shape
    for c in range(n):
        p[c] = base[c] + point[n_factors + c]
    for j in range(n_factors):
        best = -np.inf
        for c in range(n):
            evidence[j, c] = logs[j, c] - base[c] if j == 0 else logs[j, c]
            best = max(best, evidence[j, c])
        for c in range(n):
            evidence[j, c] = max(evidence[j, c] - best, -FARTHEST)
            p[c] += point[j] * evidence[j, c]
    largest = -np.inf
    for c in range(n):
        largest = max(largest, p[c])
    true_score, total = p[group], 0.0
    for c in range(n):
        p[c] = math.exp(p[c] - largest)
        total += p[c]
    for c in range(n):
        p[c] /= total
    return largest + math.log(total) - true_score


@kernel
def _ahead(
    logs: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    ahead: NDArray[np.float64],
) -> float:
    """How far evidence for the second of two classes is ahead (OUT), and its score."""
    n = len(ahead)
    score = base[1] + point[n + 1] - base[0] - point[n]
    for j in range(n):
        more = logs[j, 1] - logs[j, 0]
        if j == 0:
            more -= base[1] - base[0]
        ahead[j] = min(max(more, -FARTHEST), FARTHEST)
        score += point[j] * ahead[j]
    return score


@kernel
def add_sums_of_two(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    loss: NDArray[np.int64],
    gradient: NDArray[np.int64],
) -> None:
    """`add_sums` for two classes, where only differences of evidence matter."""
    n_factors = logs.shape[1]
    ahead = np.empty(n_factors)
    for i in range(len(groups)):
        w = weight[i]
        times = _times(w)
        score = _ahead(logs[i], base, point, ahead)
        small = math.exp(-abs(score))
        right = (score >= 0.0) == (groups[i] == 1)
        row_loss = math.log1p(small) + (0.0 if right else abs(score))
        loss[0] += _whole(row_loss, scale, w, times)
        away = (small if right else 1.0) / (1.0 + small)
        away = -away if groups[i] == 1 else away
        for j in range(n_factors):
            gradient[j] += _whole(away * ahead[j], scale, w, times)
        units = _whole(away, scale, w, times)
        gradient[n_factors] -= units
        gradient[n_factors + 1] += units


@kernel
def add_curvature_of_two(
    logs: NDArray[np.float64],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    pairs: bool,
    hessian: NDArray[np.int64],
) -> None:
    """`add_curvature` for two classes."""
    n_factors = logs.shape[1]
    size = n_factors + 2
    first, second = n_factors * size, (n_factors + 1) * size
    ahead = np.empty(n_factors)
    for i in range(len(weight)):
        w = weight[i]
        times = _times(w)
        small = math.exp(-abs(_ahead(logs[i], base, point, ahead)))
        both = small / (1.0 + small) ** 2
        for j in range(n_factors):
            share = both * ahead[j]
            units = _whole(share, scale, w, times)
            hessian[first + j] -= units
            hessian[second + j] += units
            for k in range(j + 1 if pairs else 0):
                hessian[j * size + k] += _whole(share * ahead[k], scale, w, times)
        units = _whole(both, scale, w, times)
        hessian[first + n_factors] += units
        hessian[second + n_factors] -= units
        hessian[second + n_factors + 1] += units


@kernel
def fill_products(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scales: tuple[float, float],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
) -> None:
    """Two matrices (OUT, rows x classes x factors; of two classes, rows x 1 x factors) whose
    product, over rows and classes, is the Hessian of the factors.

    Arguments as in `add_sums`. Both are whole numbers of 1 / scale, so that sums are exact.
    """
    n_factors, n = logs.shape[1], len(base)
    evidence, p, ahead = np.empty((n_factors, n)), np.empty(n), np.empty(n_factors)
    for i in range(len(groups)):
        w = weight[i]
        times = _times(w)
        if n == 2:
            small = math.exp(-abs(_ahead(logs[i], base, point, ahead)))
            both = small / (1.0 + small) ** 2
            for j in range(n_factors):
                left[i, 0, j] = _whole(both * ahead[j], scales[0], w, times)
                right[i, 0, j] = math.floor(ahead[j] * scales[1] + 0.5)
            continue
        _probabilities(logs[i], base, point, groups[i], evidence, p)
        for j in range(n_factors):
            mean = 0.0
            for c in range(n):
                mean += p[c] * evidence[j, c]
            for c in range(n):
                left[i, c, j] = _whole(p[c] * (evidence[j, c] - mean), scales[0], w, times)
                right[i, c, j] = math.floor(evidence[j, c] * scales[1] + 0.5)


@kernel
def fill_shares(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scales: tuple[float, float],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
) -> None:
    """Two matrices (OUT, rows x 1 x classes) whose product is what pairs of classes have in the
    Hessian, but for its sign; as in `fill_products`.
    """
    n_factors, n = logs.shape[1], len(base)
    evidence, p = np.empty((n_factors, n)), np.empty(n)
    for i in range(len(groups)):
        w = weight[i]
        times = _times(w)
        _probabilities(logs[i], base, point, groups[i], evidence, p)
        for c in range(n):
            left[i, 0, c] = _whole(p[c], scales[0], w, times)
            right[i, 0, c] = math.floor(p[c] * scales[1] + 0.5)


@kernel
def add_products(
    left: NDArray[np.float64], right: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Add the lower triangle (OUT) of the product of two matrices of whole numbers (IN, lines x
    factors), four lines at a time: BLAS would take threads of its own for so little.
    """
    n, size = left.shape
    for first in range(0, n - n % 4, 4):
        l0, l1, l2, l3 = left[first], left[first + 1], left[first + 2], left[first + 3]
        r0, r1, r2, r3 = right[first], right[first + 1], right[first + 2], right[first + 3]
        for j in range(size):
            a, b, c, d = l0[j], l1[j], l2[j], l3[j]
            row = out[j]
            for k in range(j + 1):
                row[k] += a * r0[k] + b * r1[k] + c * r2[k] + d * r3[k]
    for i in range(n - n % 4, n):
        for j in range(size):
            for k in range(j + 1):
                out[j, k] += left[i, j] * right[i, k]


@kernel
def solve_positive(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Solve a system whose matrix is symmetric and positive (OUT: its Cholesky factor); ``right``
    (IN) becomes the solution (OUT). One order of sums, where LAPACK's depends on its threads.

    What pulls the solution of a regression to its centre keeps pivots above the least.
    """
    n = len(right)
    column = np.empty(n)
    for k in range(n):
        root = math.sqrt(max(matrix[k, k], LEAST_PIVOT))
        matrix[k, k] = root
        right[k] /= root
        for i in range(k + 1, n):
            matrix[i, k] /= root
            column[i] = matrix[i, k]
            right[i] -= column[i] * right[k]
        for i in range(k + 1, n):
            row, factor = matrix[i], column[i]
            for j in range(k + 1, i + 1):
                row[j] -= factor * column[j]
    for k in range(n - 1, -1, -1):
        right[k] /= matrix[k, k]
        for i in range(k):
            right[i] -= matrix[k, i] * right[k]
