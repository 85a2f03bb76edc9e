"""One step of one term: the best few leaves, and a Newton step in each."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.models.boost.state import Rule

NO_CUT = -1
TOO_FEW = -1e300


@kernel
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
        for slot in places:
            gain += gradient[slot, k] ** 2 / (curvature[slot, k] + ridge)
        if gain > best:
            best, widest = gain, k
    alone = np.empty(n)
    for i in range(n):
        alone[i] = gradient[lowest + i, widest] / (curvature[lowest + i, widest] + ridge)
    return places[np.argsort(alone, kind="mergesort")]


@kernel
def _gain(gradient: NDArray[np.float64], curvature: NDArray[np.float64], ridge: float) -> float:
    """What a Newton step of one leaf gains, twice."""
    total = 0.0
    for k in range(len(gradient)):
        total += gradient[k] ** 2 / (curvature[k] + ridge)
    return total


@kernel
def step_column(
    sums: NDArray[np.int64],
    weight: NDArray[np.float64],
    has_order: bool,
    direction: int,
    rule: Rule,
    step: NDArray[np.float64],
) -> float:
    """Steps of a column's slots (OUT, slots x scores): two leaves or four, and missing for itself.

    sums (IN) slots x scores x 2 in units, weight (IN) of the rows of each slot. Returns the gain.
    Columns that may only rise or fall have two.
    """
    gradient = sums[:, :, 0] * rule.unit
    curvature = sums[:, :, 1] * rule.unit
    step[:] = 0.0
    if rule.lowest == 0 and weight[0] >= rule.least:
        _step_together(gradient, curvature, np.zeros(1, np.int64), rule, step)
    order = _ranked(gradient, curvature, 1, has_order, rule.ridge)
    gain, cut = _best_cut(gradient, curvature, weight, order, direction, rule)
    if cut == NO_CUT:
        return 0.0
    ends = np.array([NO_CUT, cut, NO_CUT, len(order) - 1])
    if rule.leaves > 2 and direction == 0:
        more, below = _best_cut(gradient, curvature, weight, order[: cut + 1], 0, rule)
        if below != NO_CUT:
            ends[0], gain = below, gain + more
        more, above = _best_cut(gradient, curvature, weight, order[cut + 1 :], 0, rule)
        if above != NO_CUT:
            ends[2], gain = cut + 1 + above, gain + more
    first = 0
    for last in ends:
        if last != NO_CUT:
            _step_together(gradient, curvature, order[first : last + 1], rule, step)
            first = last + 1
    return gain


@kernel
def _best_cut(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    direction: int,
    rule: Rule,
) -> tuple[float, int]:
    """What two leaves of slots in this order gain over one, and where the first ends, or NO_CUT."""
    n_scores = gradient.shape[1]
    whole_g, whole_h, rest = np.zeros(n_scores), np.zeros(n_scores), 0.0
    for i in order:
        rest += weight[i]
        for k in range(n_scores):
            whole_g[k] += gradient[i, k]
            whole_h[k] += curvature[i, k]
    g, h, mass = np.zeros(n_scores), np.zeros(n_scores), 0.0
    best, cut = -1.0, NO_CUT
    for o in range(len(order) - 1):
        i = order[o]
        mass += weight[i]
        rest -= weight[i]
        for k in range(n_scores):
            g[k] += gradient[i, k]
            h[k] += curvature[i, k]
        if weight[i] == 0.0 or mass < rule.least or rest < rule.least:
            continue
        gain = 0.0
        for k in range(n_scores):
            gain += g[k] ** 2 / (h[k] + rule.ridge)
            gain += (whole_g[k] - g[k]) ** 2 / (whole_h[k] - h[k] + rule.ridge)
        if gain <= best:
            continue
        low = g[0] / (h[0] + rule.ridge)
        high = (whole_g[0] - g[0]) / (whole_h[0] - h[0] + rule.ridge)
        if direction * (high - low) >= 0.0:
            best, cut = gain, o
    return best - _gain(whole_g, whole_h, rule.ridge), cut


@kernel
def _step_together(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    leaf: NDArray[np.int64],
    rule: Rule,
    step: NDArray[np.float64],
) -> None:
    """The step (OUT) of all slots of a leaf."""
    for k in range(step.shape[1]):
        g, h = 0.0, 0.0
        for i in leaf:
            g += gradient[i, k]
            h += curvature[i, k]
        for i in leaf:
            step[i, k] = rule.rate * g / (h + rule.ridge)


@kernel
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
    n_scores, height = step.shape[1], shape[1]
    step[:] = 0.0
    one, two = _pair_order(sums, shape, sorted_first, sorted_second, rule)
    na, nb = len(one), len(two)
    # Sums of all cells up to each one, in both directions: those of any leaf follow.
    gradient, curvature = np.empty((n_scores, na, nb)), np.empty((n_scores, na, nb))
    heavy = np.empty((na, nb))
    for a in range(na):
        for b in range(nb):
            heavy[a, b] = weight[one[a] * height + two[b]]
            cell = sums[one[a] * height + two[b]]
            for k in range(n_scores):
                gradient[k, a, b] = cell[k, 0] * rule.unit
                curvature[k, a, b] = cell[k, 1] * rule.unit
    _accumulate(heavy)
    for k in range(n_scores):
        _accumulate(gradient[k])
        _accumulate(curvature[k])
    corners = _corner_gains(gradient, curvature, heavy, rule)
    gain, cut, low, high = _best_tree(corners[0], corners[1], corners[2], corners[3])
    other, other_cut, other_low, other_high = _best_tree(
        corners[0].T, corners[2].T, corners[1].T, corners[3].T
    )
    flip = other > gain
    if flip:
        gain, cut, low, high = other, other_cut, other_low, other_high
    if cut == NO_CUT:
        return 0.0
    leaf = np.empty(4)
    whole = 0.0
    for k in range(n_scores):
        g, h = gradient[k], curvature[k]
        whole += g[-1, -1] ** 2 / (h[-1, -1] + rule.ridge)
        if flip:
            g, h = g.T, h.T
        above_g, above_h = (g[cut, low], h[cut, low]) if low != NO_CUT else (0.0, 0.0)
        left_g, left_h = (g[-1, high], h[-1, high]) if high != NO_CUT else (0.0, 0.0)
        if high != NO_CUT:
            left_g, left_h = left_g - g[cut, high], left_h - h[cut, high]
        leaf[0] = above_g / (above_h + rule.ridge)
        leaf[1] = (g[cut, -1] - above_g) / (h[cut, -1] - above_h + rule.ridge)
        leaf[2] = left_g / (left_h + rule.ridge)
        leaf[3] = (g[-1, -1] - g[cut, -1] - left_g) / (h[-1, -1] - h[cut, -1] - left_h + rule.ridge)
        for a in range(na):
            for b in range(nb):
                p, q = (b, a) if flip else (a, b)
                place = (0 if q <= low else 1) if p <= cut else (2 if q <= high else 3)
                step[one[a] * height + two[b], k] = rule.rate * leaf[place]
    return gain - whole


@kernel
def _pair_order(
    sums: NDArray[np.int64], shape: tuple[int, int], sorted_first: bool, sorted_second: bool,
    rule: Rule,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:  # fmt: skip
    """The slots of both columns, each in the order in which it is cut."""
    width, height = shape
    n_scores, lowest = sums.shape[1], rule.lowest
    one, two = np.zeros((width, n_scores, 2)), np.zeros((height, n_scores, 2))
    if not (sorted_first and sorted_second):
        for a in range(lowest, width - 1):
            for b in range(lowest, height - 1):
                cell = sums[a * height + b]
                for k in range(n_scores):
                    one[a, k, 0] += cell[k, 0] * rule.unit
                    one[a, k, 1] += cell[k, 1] * rule.unit
                    two[b, k, 0] += cell[k, 0] * rule.unit
                    two[b, k, 1] += cell[k, 1] * rule.unit
    return (
        _ranked(one[:, :, 0], one[:, :, 1], lowest, sorted_first, rule.ridge),
        _ranked(two[:, :, 0], two[:, :, 1], lowest, sorted_second, rule.ridge),
    )


@kernel
def _accumulate(table: NDArray[np.float64]) -> None:
    """Replace each cell (IN, OUT) by the sum of all cells up to it, in both directions."""
    for a in range(table.shape[0]):
        along = 0.0
        for b in range(table.shape[1]):
            along += table[a, b]
            table[a, b] = along
    for a in range(1, table.shape[0]):
        for b in range(table.shape[1]):
            table[a, b] += table[a - 1, b]


@kernel
def _corner_gains(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    heavy: NDArray[np.float64],
    rule: Rule,
) -> NDArray[np.float64]:
    """What each of the four leaves around every crossing of two cuts gains: above left, above
    right, below left, below right.

    The last line and column are crossings without a second cut. Leaves of too few rows have gains
    so low that no cut is worth them, but for those that are empty because there is no cut.
    """
    n_scores, na, nb = gradient.shape
    out = np.zeros((4, na, nb))
    for k in range(n_scores):
        g, h = gradient[k], curvature[k]
        all_g, all_h = g[-1, -1], h[-1, -1]
        for a in range(na):
            row_g, row_h = g[a, -1], h[a, -1]
            for b in range(nb):
                x, y = g[a, b], h[a, b]
                u, v = row_g - x, row_h - y
                out[0, a, b] += x * x / (y + rule.ridge)
                out[1, a, b] += u * u / (v + rule.ridge)
                x, y = g[-1, b] - x, h[-1, b] - y
                out[2, a, b] += x * x / (y + rule.ridge)
                u, v = all_g - row_g - x, all_h - row_h - y
                out[3, a, b] += u * u / (v + rule.ridge)
    for a in range(na):
        for b in range(nb):
            x = heavy[a, b]
            y, u = heavy[a, -1] - x, heavy[-1, b] - x
            v = heavy[-1, -1] - heavy[a, -1] - u
            if x < rule.least:
                out[0, a, b] = TOO_FEW
            if y < rule.least and b < nb - 1:
                out[1, a, b] = TOO_FEW
            if u < rule.least and a < na - 1:
                out[2, a, b] = TOO_FEW
            if v < rule.least and a < na - 1 and b < nb - 1:
                out[3, a, b] = TOO_FEW
    return out


@kernel
def _best_tree(
    above_left: NDArray[np.float64],
    above_right: NDArray[np.float64],
    below_left: NDArray[np.float64],
    below_right: NDArray[np.float64],
) -> tuple[float, int, int, int]:
    """The best cut between lines, and above and below it the best cut between columns, or none.

    Returns the gain, and the last line and columns before the cuts; -1 where there is none.
    """
    na, nb = above_left.shape
    best, cut, low, high = 0.0, NO_CUT, NO_CUT, NO_CUT
    for a in range(na - 1):
        one, two = above_left[a, nb - 1], below_left[a, nb - 1]  # no cut
        at_one, at_two = NO_CUT, NO_CUT
        for b in range(nb - 1):
            above = above_left[a, b] + above_right[a, b]
            if above > one:
                one, at_one = above, b
            below = below_left[a, b] + below_right[a, b]
            if below > two:
                two, at_two = below, b
        if one + two > best:
            best, cut, low, high = one + two, a, at_one, at_two
    return best, cut, low, high
