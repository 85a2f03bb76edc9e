"""Rounds of boosting on coded rows: gradients, sums by cell, steps.

Gradients and curvatures are whole numbers of a unit, so that their sums do not depend on the order
of rows. Two classes have one score, the log odds of the second; more classes have one each.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import exponential, log_sum
from unnaive.common.kernels import kernel
from unnaive.models.boost.state import Rows, Rule, Terms
from unnaive.models.boost.step_kernels import step_column, step_pair

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
