"""Kernels of the flagship: gradients, sums by cell, and steps of columns and pairs."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import exponential, log_sum
from unnaive.common.kernels import kernel


class Rows(NamedTuple):
    """Coded rows.

    Attributes
    ----------
    slots : array of shape (columns, rows)
        Slot of each value among its column's fine intervals or categories.
    pair_slots : array of shape (columns, rows)
        Slot among the coarser intervals that pairs use.
    groups : array of shape (rows,)
        Class numbers.
    weight : array of shape (rows,), or empty where all weights are 1
    folds : array of shape (rows,), or empty
        Which bag holds a row out.
    """

    slots: NDArray[np.uint16]
    pair_slots: NDArray[np.uint8]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64]
    folds: NDArray[np.uint8]


class Terms(NamedTuple):
    """Tables of evidence that are learned: one for each column or pair of columns.

    Attributes
    ----------
    first, second : arrays of shape (terms,)
        The columns; ``second`` is -1 for a single column.
    width, height : arrays of shape (terms,)
        Slots of the first column, and of the second (1 for a single column).
    start : array of shape (terms + 1,)
        Where each term's cells begin among all cells.
    sorted_first, sorted_second : arrays of shape (terms,)
        Whether slots have an order, as numbers have and categories have not.
    direction : array of shape (terms,)
        1 where evidence may only rise with the column, -1 where it may only fall, else 0.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    width: NDArray[np.intp]
    height: NDArray[np.intp]
    start: NDArray[np.intp]
    sorted_first: NDArray[np.bool_]
    sorted_second: NDArray[np.bool_]
    direction: NDArray[np.int8]


class Rule(NamedTuple):
    """How one step is taken.

    Attributes
    ----------
    rate : float
        Share of a Newton step that is taken.
    ridge : float
        Added to curvatures: it pulls each step towards zero.
    least : float
        Least weight of the rows of a leaf.
    block : int
        Terms that step from the same gradients.
    lowest : int
        First slot that steps: 0 where missing is a value, else 1.
    unit : float
        Gradients are whole multiples of this.
    leaves : int
        Leaves of a step of a single column: 2 or 4.
    """

    rate: float
    ridge: float
    least: float
    block: int
    lowest: int
    unit: float
    leaves: int


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


TILE = 1024  # rows whose gradients stay in cache while terms add them up, where there is one score
LEAST_TILE = 64
FINE = 2.0**20  # gradients of a row of weight 1 are multiples of 1 / FINE
STEEPEST = 40.0  # scores further apart tell nothing more
ROUNDING = 1.5 * 2.0**52  # adding this rounds to a whole number
NOBODY = -1  # the bag that holds out no rows


@kernel(inline="always")
def _learning_weight(rows: Rows, i: int, bag: int) -> float:
    """What a row weighs in a bag: nothing where it is held out."""
    if bag != NOBODY and rows.folds[i] == bag:
        return 0.0
    return rows.weight[i] if len(rows.weight) else 1.0


@kernel(inline="always")
def _whole(x: float) -> float:
    """The nearest whole number, in plain arithmetic, which runs on many numbers at a time."""
    return (x + ROUNDING) - ROUNDING


@kernel(inline="always")
def _tile(n_scores: int) -> int:
    """Rows whose scores and gradients stay in cache."""
    return max(TILE // n_scores, LEAST_TILE)


@kernel
def unit_weights(rows: Rows, bag: int, unit: float) -> NDArray[np.float64]:
    """What rows weigh in a bag, for gradients that are counted in units."""
    weight = np.empty(len(rows.groups))
    for i in range(len(weight)):
        weight[i] = _learning_weight(rows, i, bag) / (FINE * unit)
    return weight


@kernel
def fill_gradients(
    groups: NDArray[np.uint16],
    weight: NDArray[np.float64],
    part: NDArray[np.float64],
    gradients: NDArray[np.int32],
) -> None:
    """Gradient and curvature of rows (OUT, rows x scores x 2) from their scores (IN), in units."""
    n, n_scores = part.shape
    share = np.empty(n)
    if n_scores == 1:
        # Loops of few steps, which take several rows at a time.
        for i in range(n):
            share[i] = exponential(max(-abs(part[i, 0]), -STEEPEST))
        for i in range(n):
            small = share[i]
            share[i] = (1.0 if part[i, 0] > 0.0 else small) / (1.0 + small)
        _write(share, groups == 1, weight, gradients[:, 0])
        return
    top, total = np.empty(n), np.zeros(n)
    # Class by class in arrays without gaps, on which loops take several rows at a time.
    shares = np.empty((n_scores, n))
    for k in range(n_scores):
        for i in range(n):
            shares[k, i] = part[i, k]
    top[:] = shares[0]
    for k in range(1, n_scores):
        of_class = shares[k]
        for i in range(n):
            top[i] = max(top[i], of_class[i])
    for k in range(n_scores):
        of_class = shares[k]
        for i in range(n):
            of_class[i] = exponential(max(of_class[i] - top[i], -STEEPEST))
            total[i] += of_class[i]
    for k in range(n_scores):
        of_class = shares[k]
        for i in range(n):
            share[i] = of_class[i] / total[i]
        _write(share, groups == k, weight, gradients[:, k])


@kernel
def _write(
    share: NDArray[np.float64],
    target: NDArray[np.bool_],
    weight: NDArray[np.float64],
    gradients: NDArray[np.int32],
) -> None:
    """Gradients and curvatures (OUT, rows x 2) of one score from its probabilities.

    Rounded before they are multiplied, so that a row of weight 2 is two rows.
    """
    n = len(share)
    slope, bend = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        p = share[i]
        slope[i] = np.int32(_whole(weight[i] * _whole((np.float64(target[i]) - p) * FINE)))
        bend[i] = np.int32(_whole(weight[i] * _whole(p * (1.0 - p) * FINE)))
    for i in range(n):
        gradients[i, 0] = slope[i]
        gradients[i, 1] = bend[i]


@kernel
def fill_cells(rows: Rows, terms: Terms, t: int, first: int, cells: NDArray[np.int32]) -> None:
    """Cell of each row (OUT) in the table of term t, from row ``first`` on."""
    a, b = terms.first[t], terms.second[t]
    n = len(cells)
    if b < 0:
        column = rows.slots[a, first : first + n]
        for i in range(n):
            cells[i] = column[i]
        return
    height = np.int32(terms.height[t])
    one, two = rows.pair_slots[a, first : first + n], rows.pair_slots[b, first : first + n]
    for i in range(n):
        cells[i] = one[i] * height + two[i]


@kernel
def add_up(cells: NDArray[np.int32], gradients: NDArray[np.int32], sums: NDArray[np.int64]) -> None:
    """Add the gradients of rows (IN, rows x scores x 2) to their cells (OUT)."""
    n_scores = gradients.shape[1]
    if n_scores == 1:
        for i in range(len(cells)):
            c = cells[i]
            sums[c, 0, 0] += gradients[i, 0, 0]
            sums[c, 0, 1] += gradients[i, 0, 1]
        return
    for i in range(len(cells)):
        cell = sums[cells[i]]
        for k in range(n_scores):
            cell[k, 0] += gradients[i, k, 0]
            cell[k, 1] += gradients[i, k, 1]


@kernel
def _move(
    cells: NDArray[np.int32], steps: NDArray[np.float64], scores: NDArray[np.float64]
) -> None:
    """Add the steps of their cells (IN, cells x scores) to the scores of rows (OUT)."""
    n_scores = scores.shape[1]
    if n_scores == 1:
        for i in range(len(cells)):
            scores[i, 0] += steps[cells[i], 0]
        return
    for i in range(len(cells)):
        added = steps[cells[i]]
        for k in range(n_scores):
            scores[i, k] += added[k]


@kernel
def take_rounds(
    rows: Rows,
    terms: Terms,
    rule: Rule,
    bag: int,
    n_rounds: int,
    cell_weight: NDArray[np.float64],
    scores: NDArray[np.float64],
    tables: NDArray[np.float64],
) -> None:
    """Every term steps once a round: scores of the rows and tables of the terms move (both OUT).

    cell_weight (IN, cells) is the weight of the rows that the bag learns from.
    """
    n_terms, n_rows = len(terms.first), len(scores)
    n_scores = scores.shape[1]
    largest = 0
    for s in range(0, n_terms, rule.block):
        largest = max(largest, terms.start[min(s + rule.block, n_terms)] - terms.start[s])
    sums = np.empty((largest, n_scores, 2), np.int64)
    steps = np.zeros((largest, n_scores))
    tile = _tile(n_scores)
    gradients = np.empty((tile, n_scores, 2), np.int32)
    cells = np.empty(tile, np.int32)
    weight = unit_weights(rows, bag, rule.unit)
    before, until = 0, 0  # terms whose steps the rows have yet to take
    for r in range(n_rounds + 1):
        for s in range(0, n_terms, rule.block):
            if r == n_rounds and s > 0:
                break
            e = min(s + rule.block, n_terms) if r < n_rounds else s
            base, old = terms.start[s], terms.start[before]
            sums[: terms.start[e] - base] = 0
            for first in range(0, n_rows, tile):
                m = min(tile, n_rows - first)
                for t in range(before, until):
                    fill_cells(rows, terms, t, first, cells[:m])
                    _move(cells[:m], steps[terms.start[t] - old :], scores[first : first + m])
                if e > s:
                    some = slice(first, first + m)
                    fill_gradients(rows.groups[some], weight[some], scores[some], gradients)
                for t in range(s, e):
                    fill_cells(rows, terms, t, first, cells[:m])
                    add_up(cells[:m], gradients[:m], sums[terms.start[t] - base :])
            for t in range(s, e):
                a, z = terms.start[t], terms.start[t + 1]
                step = steps[a - base : z - base]
                _step(terms, t, rule, sums[a - base : z - base], cell_weight[a:z], step)
                for c in range(z - a):
                    for k in range(n_scores):
                        tables[a + c, k] += step[c, k]
            before, until = s, e


@kernel
def _step(
    terms: Terms,
    t: int,
    rule: Rule,
    sums: NDArray[np.int64],
    cell_weight: NDArray[np.float64],
    step: NDArray[np.float64],
) -> float:
    """The step of one term (OUT, cells x scores) from its sums; its gain."""
    if terms.second[t] < 0:
        return step_column(sums, cell_weight, terms.sorted_first[t], terms.direction[t], rule, step)
    shape = (terms.width[t], terms.height[t])
    return step_pair(
        sums, cell_weight, shape, terms.sorted_first[t], terms.sorted_second[t], rule, step
    )


@kernel
def pair_gains(
    rows: Rows,
    terms: Terms,
    rule: Rule,
    bag: int,
    scores: NDArray[np.float64],
    gains: NDArray[np.float64],
) -> None:
    """Add to each term (OUT) what its best step would gain."""
    n_rows, n_scores = scores.shape
    gradients = np.empty((n_rows, n_scores, 2), np.int32)
    of_rows = unit_weights(rows, bag, rule.unit)
    for first in range(0, n_rows, TILE):
        some = slice(first, min(first + TILE, n_rows))
        fill_gradients(rows.groups[some], of_rows[some], scores[some], gradients[some])
    cells = np.empty(n_rows, np.int32)
    for t in range(len(terms.first)):
        n_cells = terms.start[t + 1] - terms.start[t]
        sums = np.zeros((n_cells, n_scores, 2), np.int64)
        weight, step = np.zeros(n_cells), np.empty((n_cells, n_scores))
        fill_cells(rows, terms, t, 0, cells)
        add_up(cells, gradients, sums)
        weigh_cells(rows, cells, 0, bag, weight)
        gains[t] += _step(terms, t, rule, sums, weight, step)


@kernel
def weigh_cells(
    rows: Rows, cells: NDArray[np.int32], first: int, bag: int, weight: NDArray[np.float64]
) -> None:
    """Add the rows' weights to their cells (OUT), rounded so that their order does not matter."""
    for i in range(len(cells)):
        learning = _learning_weight(rows, first + i, bag)
        weight[cells[i]] += np.rint(learning * 1024.0) / 1024.0


@kernel
def weigh_terms(rows: Rows, terms: Terms, bag: int, weight: NDArray[np.float64]) -> None:
    """Weight of the rows of a bag in every cell of every term (OUT)."""
    cells = np.empty(TILE, np.int32)
    weight[:] = 0.0
    for first in range(0, rows.slots.shape[1], TILE):
        m = min(TILE, rows.slots.shape[1] - first)
        for t in range(len(terms.first)):
            fill_cells(rows, terms, t, first, cells[:m])
            weigh_cells(rows, cells[:m], first, bag, weight[terms.start[t] :])


@kernel
def weigh_classes(
    rows: Rows, terms: Terms, bag: int, n_classes: int, weight: NDArray[np.float64]
) -> None:
    """Weight of the rows of a bag by cell of every term and class (OUT, laid end to end)."""
    cells = np.empty(TILE, np.int32)
    weight[:] = 0.0
    for first in range(0, rows.slots.shape[1], TILE):
        m = min(TILE, rows.slots.shape[1] - first)
        for t in range(len(terms.first)):
            fill_cells(rows, terms, t, first, cells[:m])
            for i in range(m):
                cells[i] = cells[i] * n_classes + rows.groups[first + i]
            weigh_cells(rows, cells[:m], first, bag, weight[terms.start[t] * n_classes :])


@kernel
def add_tables(
    rows: Rows, terms: Terms, tables: NDArray[np.float64], scores: NDArray[np.float64]
) -> None:
    """Add the evidence of all terms to the scores of all rows (OUT)."""
    tile = _tile(scores.shape[1])
    cells = np.empty(tile, np.int32)
    for first in range(0, len(scores), tile):
        m = min(tile, len(scores) - first)
        for t in range(len(terms.first)):
            fill_cells(rows, terms, t, first, cells[:m])
            _move(cells[:m], tables[terms.start[t] :], scores[first : first + m])


@kernel
def _row_loss(scores: NDArray[np.float64], group: int) -> float:
    """Minus log probability of a row's own class, at most STEEPEST."""
    n_scores = len(scores)
    if n_scores == 1:
        z = scores[0] if group == 1 else -scores[0]
        return min(max(-z, 0.0) + math.log1p(math.exp(-abs(z))), STEEPEST)
    return min(log_sum(scores, 0, 1, n_scores) - scores[group], STEEPEST)


@kernel
def held_out_loss(rows: Rows, bag: int, scores: NDArray[np.float64]) -> float:
    """Log loss of the rows that a bag holds out, added up in whole multiples of 1 / FINE."""
    total = 0.0
    for i in range(len(scores)):
        if rows.folds[i] == bag:
            weight = rows.weight[i] if len(rows.weight) else 1.0
            total += _whole(weight * _whole(_row_loss(scores[i], rows.groups[i]) * FINE))
    return total / FINE
