"""One step of one term: the best few leaves, and a Newton step in each."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unnaive.models.boost.state import Rule

NO_CUT = -1


@njit(cache=True, nogil=True)
def _ranked(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    lowest: int,
    has_order: bool,
    ridge: float,
) -> NDArray[np.intp]:
    """The slots that step (from ``lowest`` on, without unseen), in the order in which they are cut.

    Numbers are cut in their order; categories in that of the steps they would take alone, in the
    class with most to gain.
    """
    n = len(gradient) - 1 - lowest
    places = np.empty(n, np.intp)
    for i in range(n):
        places[i] = lowest + i
    if has_order:
        return places
    best, widest = -1.0, 0
    for k in range(gradient.shape[1]):
        gain = 0.0
        for i in places:
            gain += gradient[i, k] ** 2 / (curvature[i, k] + ridge)
        if gain > best:
            best, widest = gain, k
    alone = np.empty(n)
    for i in range(n):
        alone[i] = gradient[lowest + i, widest] / (curvature[lowest + i, widest] + ridge)
    return places[np.argsort(alone, kind="mergesort")]


@njit(cache=True, nogil=True)
def _gain(
    gradient: NDArray[np.float64], curvature: NDArray[np.float64], ridge: float
) -> float:
    """What a Newton step of one leaf gains, twice."""
    total = 0.0
    for k in range(len(gradient)):
        total += gradient[k] ** 2 / (curvature[k] + ridge)
    return total


@njit(cache=True, nogil=True)
def step_column(
    sums: NDArray[np.int64],
    weight: NDArray[np.float64],
    has_order: bool,
    direction: int,
    rule: Rule,
    step: NDArray[np.float64],
) -> float:
    """Steps of a column's slots (OUT, slots x scores): two leaves, and missing for itself.

    sums (IN) slots x scores x 2 in units, weight (IN) of the rows of each slot. Returns the gain.
    """
    n_slots, n_scores = step.shape
    gradient = sums[:, :, 0] * rule.unit
    curvature = sums[:, :, 1] * rule.unit
    step[:] = 0.0
    if rule.lowest == 0 and weight[0] >= rule.least:
        for k in range(n_scores):
            step[0, k] = rule.rate * gradient[0, k] / (curvature[0, k] + rule.ridge)
    order = _ranked(gradient, curvature, 1, has_order, rule.ridge)
    n = len(order)
    whole_g, whole_h, rest = np.zeros(n_scores), np.zeros(n_scores), 0.0
    for i in order:
        rest += weight[i]
        for k in range(n_scores):
            whole_g[k] += gradient[i, k]
            whole_h[k] += curvature[i, k]
    g, h, own = np.zeros(n_scores), np.zeros(n_scores), 0.0
    best, cut = -1.0, NO_CUT
    left, right = np.zeros(n_scores), np.zeros(n_scores)
    for o in range(n - 1):
        i = order[o]
        own += weight[i]
        rest -= weight[i]
        for k in range(n_scores):
            g[k] += gradient[i, k]
            h[k] += curvature[i, k]
        if weight[i] == 0.0 or own < rule.least or rest < rule.least:
            continue
        gain = 0.0
        for k in range(n_scores):
            gain += g[k] ** 2 / (h[k] + rule.ridge)
            gain += (whole_g[k] - g[k]) ** 2 / (whole_h[k] - h[k] + rule.ridge)
        if gain <= best:
            continue
        low = g[0] / (h[0] + rule.ridge)
        high = (whole_g[0] - g[0]) / (whole_h[0] - h[0] + rule.ridge)
        if direction * (high - low) < 0.0:
            continue
        best, cut = gain, o
        for k in range(n_scores):
            left[k] = rule.rate * g[k] / (h[k] + rule.ridge)
            right[k] = rule.rate * (whole_g[k] - g[k]) / (whole_h[k] - h[k] + rule.ridge)
    if cut == NO_CUT:
        return 0.0
    for o in range(n):
        step[order[o]] = left if o <= cut else right
    return best - _gain(whole_g, whole_h, rule.ridge)


@njit(cache=True, nogil=True)
def step_pair(
    sums: NDArray[np.int64],
    weight: NDArray[np.float64],
    shape: tuple[int, int],
    sorted_first: bool,
    sorted_second: bool,
    rule: Rule,
    step: NDArray[np.float64],
) -> float:
    """Steps of a pair's cells (OUT, cells x scores): a cut of one column, and on each side one of
    the other, whichever way round gains more. Returns the gain.
    """
    n_scores = step.shape[1]
    n_first, n_second = shape
    gradient = (sums[:, :, 0] * rule.unit).reshape((n_first, n_second, n_scores))
    curvature = (sums[:, :, 1] * rule.unit).reshape((n_first, n_second, n_scores))
    step[:] = 0.0
    lowest = rule.lowest
    order_a = _ranked(
        gradient[:, lowest:].sum(axis=1), curvature[:, lowest:].sum(axis=1), lowest, sorted_first,
        rule.ridge,
    )  # fmt: skip
    order_b = _ranked(
        gradient[lowest:].sum(axis=0), curvature[lowest:].sum(axis=0), lowest, sorted_second,
        rule.ridge,
    )  # fmt: skip
    na, nb = len(order_a), len(order_b)
    g, h = np.empty((na, nb, n_scores)), np.empty((na, nb, n_scores))
    w = np.empty((na, nb))
    for a in range(na):
        for b in range(nb):
            i, j = order_a[a], order_b[b]
            w[a, b] = weight[i * n_second + j]
            for k in range(n_scores):
                g[a, b, k] = gradient[i, j, k]
                h[a, b, k] = curvature[i, j, k]
    gain, cut, low, high = _best_tree(g, h, w, rule)
    turned = (g.transpose((1, 0, 2)).copy(), h.transpose((1, 0, 2)).copy(), w.T.copy())
    other, other_cut, other_low, other_high = _best_tree(turned[0], turned[1], turned[2], rule)
    flip = other > gain
    if flip:
        gain, cut, low, high = other, other_cut, other_low, other_high
    if cut == NO_CUT:
        return 0.0
    leaf_g, leaf_h = np.zeros((4, n_scores)), np.zeros((4, n_scores))
    for a in range(na):
        for b in range(nb):
            leaf = _leaf(b, a, cut, low, high) if flip else _leaf(a, b, cut, low, high)
            for k in range(n_scores):
                leaf_g[leaf, k] += g[a, b, k]
                leaf_h[leaf, k] += h[a, b, k]
    whole = _gain(leaf_g.sum(axis=0), leaf_h.sum(axis=0), rule.ridge)
    for a in range(na):
        for b in range(nb):
            leaf = _leaf(b, a, cut, low, high) if flip else _leaf(a, b, cut, low, high)
            own = step[order_a[a] * n_second + order_b[b]]
            for k in range(n_scores):
                own[k] = rule.rate * leaf_g[leaf, k] / (leaf_h[leaf, k] + rule.ridge)
    return gain - whole


@njit(cache=True, nogil=True, inline="always")
def _leaf(a: int, b: int, cut: int, low: int, high: int) -> int:
    """Which of four leaves a cell lies in."""
    if a <= cut:
        return 0 if b <= low else 1
    return 2 if b <= high else 3


@njit(cache=True, nogil=True)
def _best_tree(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    weight: NDArray[np.float64],
    rule: Rule,
) -> tuple[float, int, int, int]:
    """The best cut of the rows of a table, and on each side the best cut of its columns.

    Returns the gain, and the last row and columns before the cuts; -1 where there is none.
    """
    na, nb, n_scores = gradient.shape
    above_g, above_h = np.zeros((nb, n_scores)), np.zeros((nb, n_scores))
    below_g, below_h = np.zeros((nb, n_scores)), np.zeros((nb, n_scores))
    above_w, below_w = np.zeros(nb), np.zeros(nb)
    scratch = np.empty((4, n_scores))
    for a in range(na):
        for b in range(nb):
            below_w[b] += weight[a, b]
            for k in range(n_scores):
                below_g[b, k] += gradient[a, b, k]
                below_h[b, k] += curvature[a, b, k]
    best, cut, low, high = -1.0, NO_CUT, NO_CUT, NO_CUT
    for a in range(na - 1):
        moved = 0.0
        for b in range(nb):
            moved += weight[a, b]
            above_w[b] += weight[a, b]
            below_w[b] -= weight[a, b]
            for k in range(n_scores):
                above_g[b, k] += gradient[a, b, k]
                above_h[b, k] += curvature[a, b, k]
                below_g[b, k] -= gradient[a, b, k]
                below_h[b, k] -= curvature[a, b, k]
        if moved == 0.0:
            continue
        one, at_one = _best_cut(above_g, above_h, above_w, rule, scratch)
        if one < 0.0:
            continue
        two, at_two = _best_cut(below_g, below_h, below_w, rule, scratch)
        if two >= 0.0 and one + two > best:
            best, cut, low, high = one + two, a, at_one, at_two
    return best, cut, low, high


@njit(cache=True, nogil=True)
def _best_cut(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    weight: NDArray[np.float64],
    rule: Rule,
    scratch: NDArray[np.float64],
) -> tuple[float, int]:
    """The best cut of a line of cells, or none, and its gain; -1 where the rows are too few.

    ``scratch`` is room for four numbers of each score.
    """
    nb, n_scores = gradient.shape
    whole_g, whole_h, g, h = scratch[0], scratch[1], scratch[2], scratch[3]
    scratch[:] = 0.0
    rest = own = 0.0
    for b in range(nb):
        rest += weight[b]
        for k in range(n_scores):
            whole_g[k] += gradient[b, k]
            whole_h[k] += curvature[b, k]
    if rest < rule.least:
        return -1.0, NO_CUT
    best, cut = _gain(whole_g, whole_h, rule.ridge), NO_CUT
    for b in range(nb - 1):
        own += weight[b]
        rest -= weight[b]
        for k in range(n_scores):
            g[k] += gradient[b, k]
            h[k] += curvature[b, k]
        if weight[b] == 0.0 or own < rule.least or rest < rule.least:
            continue
        gain = 0.0
        for k in range(n_scores):
            gain += g[k] ** 2 / (h[k] + rule.ridge)
            gain += (whole_g[k] - g[k]) ** 2 / (whole_h[k] - h[k] + rule.ridge)
        if gain > best:
            best, cut = gain, b
    return best, cut
