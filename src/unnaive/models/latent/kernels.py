"""One step of EM for many mixtures in one pass over the rows.

A mixture is a naive Bayes whose class, the component, is hidden. Rows stand column by column, so
that the inner loops run over a tile of rows, whatever the number of components. Sums of
responsibilities, values and squares are whole numbers of a unit, to which every term is rounded:
they do not depend on order, and the compiler may add several at a time. So are log-likelihoods,
in whole ones and parts of one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import exponential, fill_all_logs, log_share
from unnaive.common.compile import kernel
from unnaive.encode.instructions import float_bits
from unnaive.models.latent.state import EMRows, Grains, Mixtures, Packs, Prior, Sums

TILE = 256  # rows whose scores stay in cache while the columns are added
LOWEST = -40.0  # below this, a component's share of a row is far less than the unit of shares
# Adding and subtracting this rounds to a multiple of 2**-20.
ROUNDING = 1.5 * 2.0**32


@kernel
def add_weights(
    place: NDArray[Any],
    weight: NDArray[np.float64],
    fold: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Add the weight of each row at its place (OUT, folds x places); no folds are one."""
    for i in range(len(place)):
        out[fold[i] if len(fold) else 0, place[i]] += weight[i]


@kernel
def _score(
    rows: EMRows,
    packs: Packs,
    mixtures: Mixtures,
    m: int,
    first: int,
    last: int,
    joint: NDArray[np.float64],
) -> None:
    """Log P(component, row) of a tile of rows (OUT, components x rows)."""
    n_columns = rows.values.shape[0]
    n = last - first
    for k in range(mixtures.log_share.shape[1]):
        out = joint[k, :n]
        base = mixtures.log_share[m, k]
        for j in range(n_columns):
            if rows.gap[j] < 0:
                base -= 0.5 * math.log(2.0 * math.pi * mixtures.variance[m, k, j])
        out[:] = base
        for j in range(n_columns):
            mean, variance = mixtures.mean[m, k, j], mixtures.variance[m, k, j]
            scale = 1.0 / math.sqrt(2.0 * variance)
            values = rows.values[j, first:last]
            if rows.gap[j] < 0:
                for i in range(n):
                    d = (values[i] - mean) * scale
                    out[i] -= d * d
            else:
                peak = -0.5 * math.log(2.0 * math.pi * variance)
                present = rows.present[rows.gap[j], first:last]
                for i in range(n):
                    d = (values[i] - mean) * scale
                    out[i] += present[i] * (peak - d * d)
        for q in range(rows.cells.shape[0]):
            table = mixtures.table[m, k, packs.start[q] : packs.start[q + 1]]
            cells = rows.cells[q, first:last]
            for i in range(n):
                out[i] += table[cells[i]]


@kernel
def _add_exactly(term: float, fine: float, total: NDArray[np.int64]) -> None:
    """Add a number to a sum (OUT) of whole ones and of parts, of which one has so many."""
    term = max(term, -1e15)
    whole = math.floor(term)
    total[0] += np.int64(whole)
    total[1] += np.int64((term - whole) * fine + 0.5)


@kernel
def _divide(
    joint: NDArray[np.float64],
    weight: NDArray[np.float64],
    held: NDArray[np.float64],
    fine: float,
    top: NDArray[np.float64],
    total: NDArray[np.float64],
    fit: NDArray[np.int64],
) -> None:
    """Scores (IN) to the weight that each component gets of each row, in place.

    Responsibilities are rounded to multiples of 2**-20. ``fit`` (OUT) gains the log-likelihood of
    the weight trained on and of the weight held out; ``top`` and ``total`` are scratch.
    """
    n_components, n = len(joint), len(weight)
    top[:n] = joint[0, :n]
    for k in range(1, n_components):
        row = joint[k]
        for i in range(n):
            top[i] = max(top[i], row[i])
    total[:n] = 0.0
    for k in range(n_components):
        row = joint[k]
        for i in range(n):
            row[i] = exponential(max(row[i] - top[i], LOWEST))
            total[i] += row[i]
    for i in range(n):
        likelihood = top[i] + math.log(total[i])
        _add_exactly((weight[i] - held[i]) * likelihood, fine, fit[0])
        _add_exactly(held[i] * likelihood, fine, fit[1])
        total[i] = 1.0 / total[i]
    for k in range(n_components):
        row = joint[k]
        for i in range(n):
            share = (row[i] * total[i] + ROUNDING) - ROUNDING
            row[i] = share * (weight[i] - held[i])


@kernel
def _count(
    rows: EMRows,
    packs: Packs,
    first: int,
    last: int,
    joint: NDArray[np.float64],
    rounding: float,
    m: int,
    sums: Sums,
) -> None:
    """Add a tile's weights (IN, components x rows) to the sums (OUT)."""
    n = last - first
    zero = float_bits(rounding) * n
    for k in range(len(joint)):
        weight = joint[k, :n]
        share = np.int64(0)
        for i in range(n):
            share += float_bits(weight[i] + rounding)
        sums.share[m, k] += share - zero
        for j in range(rows.values.shape[0]):
            values = rows.values[j, first:last]
            total, squares = np.int64(0), np.int64(0)
            for i in range(n):
                part = weight[i] * values[i]
                total += float_bits(part + rounding)
                squares += float_bits(part * values[i] + rounding)
            sums.moments[m, k, j, 1] += total - zero
            sums.moments[m, k, j, 2] += squares - zero
            if rows.gap[j] >= 0:
                present = rows.present[rows.gap[j], first:last]
                there = np.int64(0)
                for i in range(n):
                    there += float_bits(weight[i] * present[i] + rounding)
                sums.moments[m, k, j, 0] += there - zero
            else:
                sums.moments[m, k, j, 0] += share - zero
        for q in range(rows.cells.shape[0]):
            counts = sums.cells[m, k, packs.start[q] : packs.start[q + 1]]
            cells = rows.cells[q, first:last]
            for i in range(n):
                counts[cells[i]] += weight[i]


@kernel
def visit(
    rows: EMRows,
    packs: Packs,
    mixtures: Mixtures,
    fold: NDArray[np.intp],
    grains: Grains,
    first: int,
    last: int,
    sums: Sums,
) -> None:
    """One pass over a stretch of rows for all mixtures: score, divide, count.

    ``fold`` (IN) says which weight each mixture holds out; sums (OUT) grow.
    """
    joint = np.empty((mixtures.log_share.shape[1], TILE))
    top, total = np.empty(TILE), np.empty(TILE)
    for start in range(first, last, TILE):
        stop = min(start + TILE, last)
        weight = rows.weight[start:stop]
        for m in range(len(fold)):
            _score(rows, packs, mixtures, m, start, stop, joint)
            held = rows.held[fold[m], start:stop]
            _divide(joint, weight, held, grains.fine, top, total, sums.fit[m])
            _count(rows, packs, start, stop, joint, grains.rounding, m, sums)


@kernel
def fill_tables(packs: Packs, mixtures: Mixtures, m: int) -> None:
    """The logs of single columns, summed for every cell of their pack (OUT)."""
    table = mixtures.table[m]
    table[:] = 0.0
    for c in range(len(packs.pack)):
        first, last = packs.start[packs.pack[c]], packs.start[packs.pack[c] + 1]
        for cell in range(last - first):
            slot = packs.offset[c] + (cell // packs.divisor[c]) % packs.width[c]
            for k in range(table.shape[0]):
                table[k, first + cell] += mixtures.logs[m, slot, k]


@kernel
def _slot_counts(packs: Packs, cells: NDArray[np.float64], counts: NDArray[np.float64]) -> None:
    """Weights of cells (IN, components x cells) to weights of slots (OUT, slots x components)."""
    counts[:] = 0.0
    for c in range(len(packs.pack)):
        first, last = packs.start[packs.pack[c]], packs.start[packs.pack[c] + 1]
        for cell in range(last - first):
            slot = packs.offset[c] + (cell // packs.divisor[c]) % packs.width[c]
            for k in range(cells.shape[0]):
                counts[slot, k] += cells[k, first + cell]


@kernel
def estimate(
    packs: Packs, sums: Sums, unit: float, prior: Prior, m: int, mixtures: Mixtures
) -> None:
    """The parameters of mixture m (OUT) that fit the sums (IN) best, given the prior."""
    n_components, n_columns = mixtures.mean.shape[1:]
    share = sums.share[m] * unit
    whole = share.sum() + prior.prior_alpha * n_components
    penalty = 0.0
    for k in range(n_components):
        mixtures.log_share[m, k] = log_share(share[k] + prior.prior_alpha, whole)
        penalty += prior.prior_alpha * mixtures.log_share[m, k]
        for j in range(n_columns):
            weight, total, squares = sums.moments[m, k, j]
            if weight > 0:
                mean = total / weight
                mixtures.mean[m, k, j] = mean
                variance = squares / weight - mean * mean
                mixtures.variance[m, k, j] = max(variance, prior.min_variance)
    counts = np.empty(mixtures.logs[m].shape)
    _slot_counts(packs, sums.cells[m], counts)
    for c in range(len(packs.pack)):
        slots = slice(packs.offset[c], packs.offset[c + 1])
        fill_all_logs(counts[slots], prior.alpha, False, mixtures.logs[m, slots])
        penalty += prior.alpha * mixtures.logs[m, slots].sum()
    mixtures.penalty[m] = penalty
    fill_tables(packs, mixtures, m)


@kernel
def improve(
    packs: Packs,
    sums: Sums,
    grains: Grains,
    prior: Prior,
    tol: float,
    trained: NDArray[np.float64],
    step: int,
    history: NDArray[np.float64],
    active: NDArray[np.bool_],
    mixtures: Mixtures,
) -> bool:
    """After a pass: note how good each active mixture is, and move it or let it rest.

    ``history`` (OUT, mixtures x steps) gets the penalized log-likelihood per unit of weight
    trained on (IN). A mixture that gains less than ``tol``, or has no step left, rests. Returns
    whether any moves on.
    """
    moving = False
    for m in range(len(active)):
        if not active[m]:
            continue
        fit = sums.fit[m, 0, 0] + sums.fit[m, 0, 1] / grains.fine
        history[m, step] = (fit + mixtures.penalty[m]) / trained[m]
        last = step + 1 == history.shape[1]
        if last or (step > 0 and history[m, step] - history[m, step - 1] < tol):
            active[m] = False
        else:
            estimate(packs, sums, grains.unit, prior, m, mixtures)
            moving = True
    return moving
