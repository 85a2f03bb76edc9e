"""Kernels of hierarchical mixtures: one row through gates and experts, and back.

Scores are products of many shares. They are kept as a number and a power of two apart, which is
the logarithm's whole part: nothing under- or overflows, and no logarithm of a counter has to be
taken again when the counter moves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture import Net
from unnaive.common.kernels import kernel

PADDING = 8  # units are laid out in multiples of this, for vector instructions
BERNOULLI = -1.0  # stands for sigma where experts are as likely as the share they give
LEAST_LIKELY = 1e-100  # products with the gates' shares stay numbers
_EXPONENT = np.int64(0x7FF)
_FRACTION = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)
# 2 to the power -k; scores 2**1074 times smaller than another are zero beside it.
_HALVES = np.array([2.0**-k for k in range(1075)] + [0.0])


class Units(NamedTuple):
    """Counters of all units, without the pseudo-count: slots x units, attributes x units, units.

    ``offsets`` says where the slots of each attribute begin, ``values`` how many it has.
    """

    offsets: NDArray[np.intp]
    values: NDArray[np.float64]
    counts: NDArray[np.float64]
    wholes: NDArray[np.float64]
    totals: NDArray[np.float64]


class Scores(NamedTuple):
    """Scores of all units for one row: a number times two to a power. The rest is scratch."""

    score: NDArray[np.float64]
    power: NDArray[np.int64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]


@kernel
def room_for(n_units: int) -> Scores:
    return Scores(
        np.empty(n_units), np.empty(n_units, dtype=np.int64), np.empty(n_units), np.empty(n_units)
    )


@kernel
def score_units(
    slots: NDArray[np.uint16], units: Units, gamma: float, stretch: int, room: Scores
) -> None:
    """Scores (OUT) of every unit for one row (IN, 0 is missing), with the pseudo-count gamma.

    After every ``stretch`` attributes the powers of two are taken out of the products.
    """
    score, power, above, below = room
    offsets, values, counts, wholes, totals = units
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
            counted, whole = counts[offsets[j] + slots[j]], wholes[j]
            more = gamma * values[j]
            for u in range(n_units):
                above[u] *= counted[u] + gamma
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


@kernel
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


@kernel
def share_units(
    slots: NDArray[np.uint16], net: Net, units: Units, gamma: float, stretch: int, room: Scores
) -> None:
    """Shares (OUT, in place of scores) of a gate's children and of an expert's classes."""
    score_units(slots, units, gamma, stretch, room)
    start = len(net.first) - 1 + net.n_experts
    for g in range(len(net.first)):
        share_out(room.score, room.power, net.first[g] - 1, 1, net.width[g])
    for e in range(net.n_experts):
        share_out(room.score, room.power, start + e, net.n_experts, net.n_classes)


@kernel
def trace_back(
    share: NDArray[np.float64],
    group: int,
    net: Net,
    sigma: float,
    likely: NDArray[np.float64],
    blame: NDArray[np.float64],
    best: NDArray[np.intp],
) -> None:
    """Posteriors of all nodes (OUT blame) given a row's class, and each gate's best child (OUT).

    An expert that gives the class the share p is as likely as exp(-sigma (1 - p)), where sigma is
    ``BERNOULLI`` as p itself, a gate as its children are, by their shares (OUT likely). Shares (IN)
    are those of all units.
    """
    first, width, n_experts, _ = net
    n_gates = len(first)
    start = n_gates - 1 + n_experts + group * n_experts
    for e in range(n_experts):
        given = share[start + e]
        if sigma == BERNOULLI:
            likely[n_gates + e] = max(given, LEAST_LIKELY)
        else:
            likely[n_gates + e] = math.exp(-sigma * (1.0 - given))
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


@kernel
def move_counters(
    slots: NDArray[np.uint16],
    group: int,
    weight: float,
    net: Net,
    blame: NDArray[np.float64],
    best: NDArray[np.intp],
    units: Units,
) -> None:
    """Add one row to the counters (OUT): to experts by their blame, to gates for the best child."""
    n_gates, n_experts = len(net.first), net.n_experts
    offsets, _, counts, wholes, totals = units
    start = n_gates - 1 + n_experts + group * n_experts
    share = blame[n_gates:]
    for e in range(n_experts):
        totals[start + e] += weight * share[e]
    for g in range(n_gates):
        totals[best[g] - 1] += weight * blame[g]
    for j in range(len(slots)):
        if slots[j] > 0:
            counted, whole = counts[offsets[j] + slots[j]], wholes[j]
            for e in range(n_experts):
                counted[start + e] += weight * share[e]
            for e in range(n_experts):
                whole[start + e] += weight * share[e]
            for g in range(n_gates):
                counted[best[g] - 1] += weight * blame[g]
                whole[best[g] - 1] += weight * blame[g]


@kernel
def sweep(
    rows: NDArray[np.intp],
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    net: Net,
    sigma: float,
    gamma: float,
    stretch: int,
    grain: float,
    units: Units,
    new: Units,
) -> None:
    """One generalized EM step after another, row by row in the given order (IN rows).

    Counters (IN) judge the row, new counters (OUT) learn from it: the same arrays when training is
    online. A grain above zero rounds posteriors to its multiples, so that they add exactly.
    """
    n_gates = len(net.first)
    room = room_for(len(units.totals))
    likely, blame = np.empty(n_gates + net.n_experts), np.empty(n_gates + net.n_experts)
    best = np.zeros(n_gates, dtype=np.intp)
    for i in rows:
        row, group = slots[i], np.int64(groups[i])
        share_units(row, net, units, gamma, stretch, room)
        trace_back(room.score, group, net, sigma, likely, blame, best)
        if grain > 0.0:
            for node in range(len(blame)):
                blame[node] = math.floor(blame[node] / grain + 0.5) * grain
        move_counters(row, group, weight[i], net, blame, best, new)


@kernel
def answer_left_out(
    rows: NDArray[np.intp],
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    n_sweeps: float,
    net: Net,
    sigma: float,
    gamma: float,
    stretch: int,
    units: Units,
    probable: NDArray[np.float64],
    counted: NDArray[np.float64],
) -> None:
    """Probabilities of the classes (OUT, rows x classes) of some rows (IN), each as if it had not
    been counted; and with it, where there is room for that (OUT, rows x classes, or no rows).

    What a row has left in the counters is taken to be what it would leave now, in every sweep.
    Only the counters that it moved are changed, and then set back.
    """
    n_gates, n_experts = len(net.first), net.n_experts
    room = room_for(len(units.totals))
    likely, blame = np.empty(n_gates + n_experts), np.empty(n_gates + n_experts)
    best = np.zeros(n_gates, dtype=np.intp)
    n_columns, n_units = slots.shape[1], len(units.totals)
    counts, wholes = np.empty((n_columns, n_units)), np.empty((n_columns, n_units))
    totals = units.totals.copy()
    for i in rows:
        row, group = slots[i], np.int64(groups[i])
        share_units(row, net, units, gamma, stretch, room)
        if len(counted):
            add_experts(room.score, net, likely, counted[i])
        trace_back(room.score, group, net, sigma, likely, blame, best)
        for j in range(n_columns):
            counts[j] = units.counts[units.offsets[j] + row[j]]
            wholes[j] = units.wholes[j]
        move_counters(row, group, -n_sweeps, net, blame, best, units)
        for j in range(n_columns):
            _keep_positive(units.counts[units.offsets[j] + row[j]])
            _keep_positive(units.wholes[j])
        _keep_positive(units.totals)
        share_units(row, net, units, gamma, stretch, room)
        add_experts(room.score, net, blame, probable[i])
        for j in range(n_columns):
            units.counts[units.offsets[j] + row[j]] = counts[j]
            units.wholes[j] = wholes[j]
        units.totals[:] = totals


@kernel
def _keep_positive(counters: NDArray[np.float64]) -> None:
    """Counters that fell below zero (IN, OUT) are zero."""
    for u in range(len(counters)):
        counters[u] = max(counters[u], 0.0)


@kernel
def add_experts(
    share: NDArray[np.float64], net: Net, trust: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Probabilities of the classes (OUT) from the shares of all units; ``trust`` is scratch."""
    n_gates, n_experts = len(net.first), net.n_experts
    start = n_gates - 1 + n_experts
    trust[0] = 1.0
    for g in range(n_gates):
        for node in range(net.first[g], net.first[g] + net.width[g]):
            trust[node] = trust[g] * share[node - 1]
    for c in range(net.n_classes):
        out[c] = 0.0
        for e in range(n_experts):
            out[c] += trust[n_gates + e] * share[start + c * n_experts + e]


@kernel
def answer(
    rows: NDArray[np.intp],
    slots: NDArray[np.uint16],
    net: Net,
    gamma: float,
    stretch: int,
    units: Units,
    predicted: NDArray[np.intp],
) -> None:
    """The most probable class (OUT) of some rows (IN), while the mixture is still counters."""
    room = room_for(len(units.totals))
    trust, probable = np.empty(len(net.first) + net.n_experts), np.empty(net.n_classes)
    for k in range(len(rows)):
        share_units(slots[rows[k]], net, units, gamma, stretch, room)
        add_experts(room.score, net, trust, probable)
        predicted[k] = np.argmax(probable)
