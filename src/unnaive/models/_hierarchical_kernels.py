"""Kernels of hierarchical mixtures: one row through gates and experts, and back.

Scores are products of many shares. They are stored as a number and a power of two, which is the
integer part of the logarithm: nothing under- or overflows, and no logarithm of a counter has to be
taken again when the counter changes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture import Net
from unnaive.common.kernels import kernel

BERNOULLI = -1.0  # stands for sigma where the likelihood of an expert is the share it gives
MIN_LIKELIHOOD = 1e-100  # products with the gates' shares stay numbers
_EXPONENT = np.int64(0x7FF)
_FRACTION = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)
# 2 to the power -k; scores 2**1074 times smaller than another are zero beside it.
_HALVES = np.array([2.0**-k for k in range(1075)] + [0.0])


class Counters(NamedTuple):
    """Counters of all units, without the pseudo-count.

    ``offsets`` are the first slots of the features, ``sizes`` their numbers of values.
    """

    offsets: NDArray[np.intp]
    sizes: NDArray[np.float64]
    counts: NDArray[np.float64]  # slots x units
    feature_totals: NDArray[np.float64]  # features x units
    totals: NDArray[np.float64]  # units


class Buffers(NamedTuple):
    """Scores of all units for one row, a number times a power of two, and scratch."""

    score: NDArray[np.float64]
    power: NDArray[np.int64]
    numerator: NDArray[np.float64]
    denominator: NDArray[np.float64]


@kernel
def sweep(
    slots: NDArray[np.uint16],
    y: NDArray[Any],
    weight: NDArray[np.float64],
    net: Net,
    sigma: float,
    gamma: float,
    rescale_every: int,
    grain: float,
    counters: Counters,
    new: Counters,
) -> None:
    """Take one generalized EM step for each row (IN, rows x features) in turn.

    Counters (IN) score the row, new counters (OUT) learn it: the same arrays in online training. A
    grain above zero rounds posteriors to its multiples, so that their sums are exact.
    """
    n_gates = len(net.first)
    buffers = _buffers(len(counters.totals))
    likelihood, posterior = np.empty(n_gates + net.n_experts), np.empty(n_gates + net.n_experts)
    best = np.zeros(n_gates, dtype=np.intp)
    for i in range(len(slots)):
        _unit_shares(slots[i], net, counters, gamma, rescale_every, buffers)
        _posteriors(buffers.score, np.int64(y[i]), net, sigma, likelihood, posterior, best)
        if grain > 0.0:
            for node in range(len(posterior)):
                posterior[node] = math.floor(posterior[node] / grain + 0.5) * grain
        _count_row(slots[i], np.int64(y[i]), weight[i], net, posterior, best, new)


@kernel
def predict(
    slots: NDArray[np.uint16],
    net: Net,
    gamma: float,
    rescale_every: int,
    counters: Counters,
    predicted: NDArray[np.intp],
) -> None:
    """Predict the class (OUT) of each row (IN, rows x features)."""
    n_gates, n_experts = len(net.first), net.n_experts
    start = n_gates - 1 + n_experts
    buffers = _buffers(len(counters.totals))
    share, trust, proba = buffers.score, np.ones(n_gates + n_experts), np.empty(net.n_classes)
    for i in range(len(slots)):
        _unit_shares(slots[i], net, counters, gamma, rescale_every, buffers)
        for g in range(n_gates):
            for node in range(net.first[g], net.first[g] + net.width[g]):
                trust[node] = trust[g] * share[node - 1]
        proba[:] = 0.0
        for c in range(net.n_classes):
            for e in range(n_experts):
                proba[c] += trust[n_gates + e] * share[start + c * n_experts + e]
        predicted[i] = np.argmax(proba)


@kernel
def _buffers(n_units: int) -> Buffers:
    return Buffers(
        np.empty(n_units), np.empty(n_units, dtype=np.int64), np.empty(n_units), np.empty(n_units)
    )


@kernel
def _unit_shares(
    slots: NDArray[np.uint16],
    net: Net,
    counters: Counters,
    gamma: float,
    rescale_every: int,
    buffers: Buffers,
) -> None:
    """Compute the shares (OUT, as scores) of a gate's children and of an expert's classes."""
    _unit_scores(slots, counters, gamma, rescale_every, buffers)
    start = len(net.first) - 1 + net.n_experts
    for g in range(len(net.first)):
        _normalize(buffers, net.first[g] - 1, 1, net.width[g])
    for e in range(net.n_experts):
        _normalize(buffers, start + e, net.n_experts, net.n_classes)


@kernel
def _unit_scores(
    slots: NDArray[np.uint16], counters: Counters, gamma: float, rescale_every: int, out: Buffers
) -> None:
    """Compute the scores (OUT) of all units for one row (IN, 0 is missing).

    After every ``rescale_every`` features the powers of two are taken out of the products.
    """
    score, power, numerator, denominator = out
    n_units, n = len(score), len(slots)
    bits = score.view(np.int64)
    for u in range(n_units):
        score[u] = counters.totals[u] + gamma
        power[u] = 0
        numerator[u] = 1.0
        denominator[u] = 1.0
    pending = 0
    for j in range(n + 1):
        if j < n and slots[j] > 0:
            counts = counters.counts[counters.offsets[j] + slots[j]]
            totals, alpha = counters.feature_totals[j], gamma * counters.sizes[j]
            for u in range(n_units):
                numerator[u] *= counts[u] + gamma
            for u in range(n_units):
                denominator[u] *= totals[u] + alpha
            pending += 1
        if pending == rescale_every or j == n:
            for u in range(n_units):
                score[u] *= numerator[u] / denominator[u]
                numerator[u] = 1.0
                denominator[u] = 1.0
            for u in range(n_units):
                power[u] += ((bits[u] >> 52) & _EXPONENT) - 1023
                bits[u] = (bits[u] & _FRACTION) | _ONE
            pending = 0


@kernel
def _normalize(buffers: Buffers, start: int, step: int, n: int) -> None:
    """Divide the scores of n units, every step-th from the start, by their sum (IN, OUT)."""
    score, power = buffers.score, buffers.power
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


@kernel
def _posteriors(
    share: NDArray[np.float64],
    label: int,
    net: Net,
    sigma: float,
    likelihood: NDArray[np.float64],
    posterior: NDArray[np.float64],
    best: NDArray[np.intp],
) -> None:
    """Compute posteriors of all nodes (OUT) given a row's class, and each gate's best child (OUT).

    The likelihood (OUT) of an expert that gives the class the share p is exp(-sigma (1 - p)), or p
    itself where sigma is ``BERNOULLI``; that of a gate is the mean of its children's, by their
    shares (IN).
    """
    first, width, n_experts, _ = net
    n_gates = len(first)
    start = n_gates - 1 + n_experts + label * n_experts
    for e in range(n_experts):
        given = share[start + e]
        if sigma == BERNOULLI:
            likelihood[n_gates + e] = max(given, MIN_LIKELIHOOD)
        else:
            likelihood[n_gates + e] = math.exp(-sigma * (1.0 - given))
    for g in range(n_gates - 1, -1, -1):
        total, largest = 0.0, -1.0
        for node in range(first[g], first[g] + width[g]):
            total += share[node - 1] * likelihood[node]
            if likelihood[node] > largest:
                largest, best[g] = likelihood[node], node
        likelihood[g] = total
    posterior[0] = 1.0
    for g in range(n_gates):
        for node in range(first[g], first[g] + width[g]):
            posterior[node] = posterior[g] * (share[node - 1] * likelihood[node] / likelihood[g])


@kernel
def _count_row(
    slots: NDArray[np.uint16],
    label: int,
    weight: float,
    net: Net,
    posterior: NDArray[np.float64],
    best: NDArray[np.intp],
    counters: Counters,
) -> None:
    """Add one row to the counters (OUT): to experts by posterior, to gates for the best child."""
    n_gates, n_experts = len(net.first), net.n_experts
    start = n_gates - 1 + n_experts + label * n_experts
    share = posterior[n_gates:]
    for e in range(n_experts):
        counters.totals[start + e] += weight * share[e]
    for g in range(n_gates):
        counters.totals[best[g] - 1] += weight * posterior[g]
    for j in range(len(slots)):
        if slots[j] > 0:
            counts = counters.counts[counters.offsets[j] + slots[j]]
            totals = counters.feature_totals[j]
            for e in range(n_experts):
                counts[start + e] += weight * share[e]
            for e in range(n_experts):
                totals[start + e] += weight * share[e]
            for g in range(n_gates):
                counts[best[g] - 1] += weight * posterior[g]
                totals[best[g] - 1] += weight * posterior[g]
