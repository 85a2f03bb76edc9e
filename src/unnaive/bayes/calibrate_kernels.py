"""Kernels of calibration: sums over rows in whole numbers, which add exactly in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import TIE
from unnaive.common.compile import kernel

# Evidence that is farther behind the best class's than this says no more.
FARTHEST = 500.0


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
    hessian: NDArray[np.int64],
) -> None:
    """Add the lower triangle of the loss's Hessian (OUT, in units of 1 / scale).

    Arguments as in `add_sums`. ``together`` says whether the Hessian knows that classes share a
    probability of 1; without it, it is too large, which only shortens steps.
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
            for k in range(j + 1):
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
            for k in range(j + 1):
                hessian[j * size + k] += _whole(share * ahead[k], scale, w, times)
        units = _whole(both, scale, w, times)
        hessian[first + n_factors] += units
        hessian[second + n_factors] -= units
        hessian[second + n_factors + 1] += units


@kernel
def judge_left_out(
    codes: NDArray[Any],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    own: NDArray[np.float64],
    prior: NDArray[np.float64],
    groups: NDArray[Any],
    margin: NDArray[np.float64],
    hit: NDArray[np.bool_],
) -> None:
    """Margin of each row's own class over the mean, and whether it is found (both OUT).

    ``logs`` and ``own`` (IN, cells x classes) are the evidence for other classes and for a row's
    own; ``codes`` (IN, runs x rows) its cells.
    """
    n = len(prior)
    scores = np.empty(n)
    for i in range(len(groups)):
        g = groups[i]
        scores[:] = prior
        own_score = prior[g]
        for r in range(len(codes)):
            cell = starts[r] + codes[r, i]
            for c in range(n):
                scores[c] += logs[cell, c]
            own_score += own[cell, g]
        scores[g] = own_score
        largest, total = -np.inf, 0.0
        for c in range(n):
            total += scores[c]
            largest = max(largest, scores[c])
        best = 0
        while scores[best] < largest - TIE:
            best += 1
        margin[i] = own_score - total / n
        hit[i] = best == g


@kernel
def fill_evidence(
    codes: NDArray[Any],
    stride: int,
    places: NDArray[np.intp],
    groups: NDArray[Any],
    logs: NDArray[np.float64],
    without: NDArray[np.float64],
    out: NDArray[np.float64],
    slots: NDArray[np.intp],
) -> None:
    """The evidence of one column for coded rows (OUT, rows x classes), and its slots (OUT).

    ``codes`` (IN) are cells of several columns; the column's values among them follow each other at
    a stride, and ``places`` says which slot each is of ``logs`` (IN, slots x classes), and of
    ``without`` (IN), which is for a row's own class.
    """
    width = len(places)
    for i in range(len(groups)):
        slots[i] = places[(np.int64(codes[i]) // stride) % width]
        for c in range(logs.shape[1]):
            out[i, c] = logs[slots[i], c]
        out[i, groups[i]] = without[slots[i], groups[i]]


@kernel
def _log_ratio(left: float, whole: float) -> float:
    """The logarithm of a share; minus infinity where there is none."""
    return math.log(left / whole) if left > 0.0 and whole > 0.0 else -np.inf


@kernel
def replace_own_evidence(
    slots: NDArray[np.intp],
    groups: NDArray[Any],
    units: NDArray[np.float64],
    counts: NDArray[np.float64],
    totals: NDArray[np.float64],
    pseudo: float,
    all_pseudo: float,
    vote: float,
    silent: int,
    out: NDArray[np.float64],
) -> None:
    """Evidence of one column for each row's own class, without the row (OUT, rows x classes).

    ``counts`` (IN) is classes x slots x rounds, ``totals`` (IN) classes x rounds their sums,
    ``units`` (IN, rows x rounds) what the row weighs in each round; all rounds have one vote.
    ``pseudo`` and ``all_pseudo`` are added to counts and totals. Slots below ``silent`` have no
    evidence; where nothing would be left of a count, what ``out`` holds stays.
    """
    for i in range(len(groups)):
        slot, g = slots[i], groups[i]
        if slot < silent:
            continue
        log, left, whole = 0.0, 1.0, 1.0
        of_slot, of_class, unit = counts[g, slot], totals[g], units[i]
        for r in range(len(unit)):
            left *= max(of_slot[r] - unit[r], 0.0) + pseudo
            whole *= max(of_class[r] - unit[r], 0.0) + all_pseudo
            if r % 8 == 7:  # products of more could be too large or too small for a number
                log += _log_ratio(left, whole)
                left, whole = 1.0, 1.0
        log += _log_ratio(left, whole)
        if log > -np.inf:
            out[i, g] = vote * log
