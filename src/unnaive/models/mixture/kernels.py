"""Kernels of hierarchical mixtures: one row through gates and experts, and back.

Scores are products of many shares. They are kept as a number and a power of two apart, which is
the logarithm's whole part: nothing under- or overflows, and no logarithm of a counter has to be
taken again when the counter moves.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

PADDING = 8  # units are laid out in multiples of this, for vector instructions
_EXPONENT = np.int64(0x7FF)
_FRACTION = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)
# 2 to the power -k; scores 2**1074 times smaller than another are zero beside it.
_HALVES = np.array([2.0**-k for k in range(1075)] + [0.0])


@njit(cache=True, nogil=True)
def score_units(
    slots: NDArray[np.uint16],
    offsets: NDArray[np.intp],
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
    wholes: NDArray[np.float64],
    totals: NDArray[np.float64],
    gamma: float,
    stretch: int,
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    score: NDArray[np.float64],
    power: NDArray[np.int64],
) -> None:
    """Score (OUT) times two to the power (OUT) of every unit for one row (IN, 0 is missing).

    counts (IN) slots x units, wholes (IN) attributes x units, totals (IN) units: without the
    pseudo-count gamma; values (IN) number of values per attribute. After every ``stretch``
    attributes the powers of two are taken out of the products ``above`` and ``below`` (scratch).
    """
    n_units = len(score)
    bits = score.view(np.int64)
    for u in range(n_units):
        score[u] = totals[u] + gamma
        power[u] = 0
        above[u] = 1.0
        below[u] = 1.0
    pending = 0
    n = len(slots)
    for j in range(n + 1):
        if j < n and slots[j] > 0:
            own, whole = counts[offsets[j] + slots[j]], wholes[j]
            more = gamma * values[j]
            for u in range(n_units):
                above[u] *= own[u] + gamma
            for u in range(n_units):
                below[u] *= whole[u] + more
            pending += 1
        if pending == stretch or j == n:
            for u in range(n_units):
                score[u] *= above[u] / below[u]
                above[u] = 1.0
                below[u] = 1.0
            for u in range(n_units):
                power[u] += ((bits[u] >> 52) & _EXPONENT) - 1023
                bits[u] = (bits[u] & _FRACTION) | _ONE
            pending = 0


@njit(cache=True, nogil=True)
def share_out(
    score: NDArray[np.float64], power: NDArray[np.int64], start: int, step: int, n: int
) -> None:
    """Scores of n units (IN, every step-th from the start) to shares that sum to one (OUT)."""
    top = power[start]
    for k in range(1, n):
        top = max(top, power[start + k * step])
    total = 0.0
    for k in range(n):
        u = start + k * step
        score[u] *= _HALVES[min(top - power[u], 1075)]
        total += score[u]
    for k in range(n):
        score[start + k * step] /= total


@njit(cache=True, nogil=True)
def trace_back(
    share: NDArray[np.float64],
    group: int,
    first: NDArray[np.intp],
    width: NDArray[np.intp],
    n_experts: int,
    sigma: float,
    likely: NDArray[np.float64],
    blame: NDArray[np.float64],
    best: NDArray[np.intp],
) -> None:
    """Posteriors of all nodes (OUT blame) given a row's class, and each gate's best child (OUT).

    An expert that gives the class the share p is as likely as exp(-sigma (1 - p)), a gate as its
    children are, by their shares (OUT likely). Shares (IN) are those of all units.
    """
    n_gates = len(first)
    own = n_gates - 1 + n_experts + group * n_experts
    for e in range(n_experts):
        likely[n_gates + e] = math.exp(-sigma * (1.0 - share[own + e]))
    for g in range(n_gates - 1, -1, -1):
        total, largest = 0.0, -1.0
        for node in range(first[g], first[g] + width[g]):
            total += share[node - 1] * likely[node]
            if likely[node] > largest:
                largest, best[g] = likely[node], node
        likely[g] = total
    blame[0] = 1.0
    for g in range(n_gates):
        for node in range(first[g], first[g] + width[g]):
            blame[node] = blame[g] * (share[node - 1] * likely[node] / likely[g])


@njit(cache=True, nogil=True)
def move_counters(
    slots: NDArray[np.uint16],
    offsets: NDArray[np.intp],
    group: int,
    weight: float,
    n_gates: int,
    n_experts: int,
    blame: NDArray[np.float64],
    best: NDArray[np.intp],
    counts: NDArray[np.float64],
    wholes: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    """Add one row to the counters (OUT): to experts by their blame, to gates for the best child."""
    start = n_gates - 1 + n_experts + group * n_experts
    share = blame[n_gates:]
    for e in range(n_experts):
        totals[start + e] += weight * share[e]
    for g in range(n_gates):
        totals[best[g] - 1] += weight * blame[g]
    for j in range(len(slots)):
        if slots[j] > 0:
            own, whole = counts[offsets[j] + slots[j]], wholes[j]
            for e in range(n_experts):
                own[start + e] += weight * share[e]
            for e in range(n_experts):
                whole[start + e] += weight * share[e]
            for g in range(n_gates):
                own[best[g] - 1] += weight * blame[g]
                whole[best[g] - 1] += weight * blame[g]


@njit(cache=True, nogil=True)
def sweep(
    rows: NDArray[np.intp],
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    offsets: NDArray[np.intp],
    values: NDArray[np.float64],
    first: NDArray[np.intp],
    width: NDArray[np.intp],
    n_experts: int,
    n_classes: int,
    sigma: float,
    gamma: float,
    stretch: int,
    grain: float,
    counts: NDArray[np.float64],
    wholes: NDArray[np.float64],
    totals: NDArray[np.float64],
    new_counts: NDArray[np.float64],
    new_wholes: NDArray[np.float64],
    new_totals: NDArray[np.float64],
) -> None:
    """One generalized EM step after another, row by row in the given order (IN rows).

    Counters (IN) judge the row, new counters (OUT) learn from it: the same arrays when training is
    online. A grain above zero rounds posteriors to its multiples, so that they add exactly.
    """
    n_gates = len(first)
    n_units = counts.shape[1]
    above, below, score = np.empty(n_units), np.empty(n_units), np.empty(n_units)
    power = np.empty(n_units, dtype=np.int64)
    likely, blame = np.empty(n_gates + n_experts), np.empty(n_gates + n_experts)
    best = np.zeros(n_gates, dtype=np.intp)
    start = n_gates - 1 + n_experts
    for i in rows:
        row, group = slots[i], np.int64(groups[i])
        score_units(
            row, offsets, values, counts, wholes, totals, gamma, stretch, above, below, score, power
        )
        for g in range(n_gates):
            share_out(score, power, first[g] - 1, 1, width[g])
        for e in range(n_experts):
            share_out(score, power, start + e, n_experts, n_classes)
        trace_back(score, group, first, width, n_experts, sigma, likely, blame, best)
        if grain > 0.0:
            for node in range(len(blame)):
                blame[node] = math.floor(blame[node] / grain + 0.5) * grain
        move_counters(
            row, offsets, group, weight[i], n_gates, n_experts, blame, best,
            new_counts, new_wholes, new_totals,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def answer(
    rows: NDArray[np.intp],
    slots: NDArray[np.uint16],
    offsets: NDArray[np.intp],
    values: NDArray[np.float64],
    first: NDArray[np.intp],
    width: NDArray[np.intp],
    n_experts: int,
    n_classes: int,
    gamma: float,
    stretch: int,
    counts: NDArray[np.float64],
    wholes: NDArray[np.float64],
    totals: NDArray[np.float64],
    found: NDArray[np.intp],
) -> None:
    """The most probable class (OUT) of some rows (IN), while the mixture is still counters."""
    n_gates = len(first)
    n_units = counts.shape[1]
    above, below, score = np.empty(n_units), np.empty(n_units), np.empty(n_units)
    power = np.empty(n_units, dtype=np.int64)
    trust = np.empty(n_gates + n_experts)
    start = n_gates - 1 + n_experts
    for k in range(len(rows)):
        score_units(
            slots[rows[k]], offsets, values, counts, wholes, totals, gamma, stretch,
            above, below, score, power,
        )  # fmt: skip
        trust[0] = 1.0
        for g in range(n_gates):
            share_out(score, power, first[g] - 1, 1, width[g])
            for node in range(first[g], first[g] + width[g]):
                trust[node] = trust[g] * score[node - 1]
        for e in range(n_experts):
            share_out(score, power, start + e, n_experts, n_classes)
        largest = -1.0
        for c in range(n_classes):
            total = 0.0
            for e in range(n_experts):
                total += trust[n_gates + e] * score[start + c * n_experts + e]
            if total > largest:
                largest, found[k] = total, c


@njit(cache=True, nogil=True)
def fold_units(
    joint: NDArray[np.float64],
    first: NDArray[np.intp],
    width: NDArray[np.intp],
    n_experts: int,
    n_classes: int,
    trust: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Scores of all units (IN, rows x units, used up) to log trust in experts and log probabilities
    of classes (both OUT).
    """
    n_gates = len(first)
    start = n_gates - 1 + n_experts
    logs = np.empty(n_gates + n_experts)
    for i in range(joint.shape[0]):
        row = joint[i]
        logs[0] = 0.0
        for g in range(n_gates):
            _log_share(row, first[g] - 1, 1, width[g])
            for node in range(first[g], first[g] + width[g]):
                logs[node] = logs[g] + row[node - 1]
        for e in range(n_experts):
            trust[i, e] = logs[n_gates + e]
            _log_share(row, start + e, n_experts, n_classes)
        for c in range(n_classes):
            own = row[start + c * n_experts : start + (c + 1) * n_experts]
            largest = -np.inf
            for e in range(n_experts):
                largest = max(largest, own[e] + trust[i, e])
            total = 0.0
            for e in range(n_experts):
                total += math.exp(own[e] + trust[i, e] - largest)
            out[i, c] = largest + math.log(total)


@njit(cache=True, nogil=True)
def _log_share(row: NDArray[np.float64], start: int, step: int, n: int) -> None:
    """Joint logs of n units, every step-th from the start, to logs of shares, in place."""
    largest = row[start]
    for k in range(1, n):
        largest = max(largest, row[start + k * step])
    total = 0.0
    for k in range(n):
        total += math.exp(row[start + k * step] - largest)
    log_total = largest + math.log(total)
    for k in range(n):
        row[start + k * step] -= log_total
