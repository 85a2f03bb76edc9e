"""Kernels of EM: starts, E step and M step of many mixtures in one pass over the rows.

A mixture is a naive Bayes whose class, the component, is hidden. Rows are stored column by column,
so that the inner loops run over a tile of rows, whatever the number of components. Sums of
responsibilities, values and squares are integers in units to which every term is rounded, so that
they do not depend on the order of the rows. So are log-likelihoods, as whole numbers and fractions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import exponential, fill_all_logs, log_share
from unnaive.common.kernels import kernel
from unnaive.encode.hashing import bits_at

TILE = 256  # rows whose scores stay in cache while the columns are added
MIN_LOG_SHARE = -40.0  # below this, a responsibility is far less than the unit it is rounded to
TO_GRAIN = 1.5 * 2.0**32  # adding and subtracting this rounds to a multiple of 2**-20


class EMRows(NamedTuple):
    """Distinct rows of a record, column by column."""

    values: NDArray[np.float64]  # numeric columns x rows, standardized, 0 where missing
    present: NDArray[np.float64]  # columns with gaps x rows: 1 where there is a value
    cells: NDArray[np.uint16]  # blocks of categorical columns x rows
    weight: NDArray[np.float64]
    fold: NDArray[np.int64]
    keys: NDArray[np.uint64]  # hash of the row's values


class ColumnLayout(NamedTuple):
    """Numeric columns with gaps, and categorical columns in blocks.

    The cell of a block determines the slots of its columns: 0 missing, then the categories.
    """

    gap: NDArray[np.intp]  # of each numeric column: its row of `present`, -1 without gaps
    start: NDArray[np.intp]  # first cell of each block, and the end
    block: NDArray[np.intp]  # of each categorical column: its block,
    divisor: NDArray[np.intp]  # and how to read its slot from the block's cell
    width: NDArray[np.intp]
    offset: NDArray[np.intp]  # first slot of each column in a count table, and the end


class Mixtures(NamedTuple):
    """Parameters of several mixtures with equally many components."""

    log_share: NDArray[np.float64]  # mixtures x components
    mean: NDArray[np.float64]  # mixtures x components x numeric columns, of standardized values
    variance: NDArray[np.float64]
    logs: NDArray[np.float64]  # mixtures x slots x components
    table: NDArray[np.float64]  # mixtures x components x cells: logs summed over blocks
    penalty: NDArray[np.float64]  # mixtures: log density of the parameters' prior


class Sums(NamedTuple):
    """Result of one pass over the rows: integers in units, weights of cells, log-likelihoods."""

    share: NDArray[np.int64]  # mixtures x components
    moments: NDArray[np.int64]  # mixtures x components x columns x (weight, sum, squares)
    cells: NDArray[np.float64]  # mixtures x components x cells
    fit: NDArray[np.int64]  # mixtures x (training, test rows) x (whole numbers, fractions)


class Centres(NamedTuple):
    """Rows at which mixtures start: mixtures x components x columns or blocks."""

    values: NDArray[np.float64]
    cells: NDArray[np.uint16]


class Rounding(NamedTuple):
    """How terms are rounded, so that sums do not depend on order."""

    shift: float  # adding this rounds to a multiple of the unit
    unit: float
    fractions: float  # fractions per whole number in sums of log-likelihoods


class Prior(NamedTuple):
    """Regularization of the estimates; see `LatentClassClusterer`."""

    alpha: float
    prior_alpha: float
    min_variance: float


# Starts -----------------------------------------------------------------------------------------


@kernel
def _slot(layout: ColumnLayout, column: int, cell: int) -> int:
    """Return the slot of a categorical column in a cell of its block."""
    return (cell // layout.divisor[column]) % layout.width[column]


@kernel
def _draw(seed: np.uint64, key: np.uint64) -> float:
    """Return a number between 0 and 1 that depends on the row's values only."""
    return (np.float64(bits_at(seed, key) >> np.uint64(11)) + 0.5) * 2.0**-53


@kernel
def next_centre(
    rows: EMRows, layout: ColumnLayout, seed: np.uint64, fold: int, centres: Centres, m: int
) -> tuple[int, float]:
    """Draw a training row, with a probability proportional to its distance from the centres.

    Every row has an exponential time, divided by its squared distance from the nearest centre of
    mixture m; the earliest wins. Returns the row and its time; -1 if all are centres.
    """
    n, n_centres = rows.weight.size, centres.values.shape[1]
    tables = np.zeros((n_centres, layout.start[-1]))
    for c in range(len(layout.block)):
        first, last = layout.start[layout.block[c]], layout.start[layout.block[c] + 1]
        for k in range(n_centres):
            slot = _slot(layout, c, centres.cells[m, k, layout.block[c]])
            for cell in range(last - first):
                if _slot(layout, c, cell) != slot:
                    tables[k, first + cell] += 2.0  # as two independent standardized numbers
    best, chosen = np.inf, -1
    nearest, distance = np.empty(TILE), np.empty(TILE)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        nearest[:] = 1e300  # without centres, all rows are equally far
        for k in range(n_centres):
            distance[:] = 0.0
            for j in range(rows.values.shape[0]):
                values, centre = rows.values[j, first:last], centres.values[m, k, j]
                for i in range(len(values)):
                    distance[i] += (values[i] - centre) ** 2
            for b in range(rows.cells.shape[0]):
                cells, start = rows.cells[b, first:last], layout.start[b]
                for i in range(len(cells)):
                    distance[i] += tables[k, start + cells[i]]
            for i in range(TILE):
                nearest[i] = min(nearest[i], distance[i])
        for i in range(first, last):
            if rows.weight[i] > 0.0 and rows.fold[i] != fold and nearest[i - first] > 0.0:
                time = -math.log(_draw(seed, rows.keys[i])) / nearest[i - first]
                if time < best:
                    best, chosen = time, i
    return chosen, best


@kernel
def init_at_centres(
    layout: ColumnLayout,
    frequency: NDArray[np.float64],
    centres: Centres,
    prior: Prior,
    mixtures: Mixtures,
) -> None:
    """Start mixtures (OUT) at centres, with each column's own variance around them.

    A categorical column is half the centre's value, half the column's frequencies (IN, by slot).
    """
    n_mixtures, n_components = mixtures.log_share.shape
    mixtures.log_share[:] = -math.log(n_components)
    mixtures.mean[:] = centres.values
    mixtures.variance[:] = 1.0
    for m in range(n_mixtures):
        for k in range(n_components):
            for c in range(len(layout.block)):
                centre = _slot(layout, c, centres.cells[m, k, layout.block[c]])
                mixtures.logs[m, layout.offset[c], k] = 0.0
                for v in range(1, layout.width[c]):
                    share = frequency[layout.offset[c] + v]
                    if centre > 0:
                        share = 0.5 * share + (0.5 if v == centre else 0.0)
                    mixtures.logs[m, layout.offset[c] + v, k] = math.log(share)
        mixtures.penalty[m] = prior.alpha * mixtures.logs[m].sum()
        mixtures.penalty[m] += prior.prior_alpha * mixtures.log_share[m].sum()
        _fill_tables(layout, mixtures, m)


@kernel
def count_random_shares(
    rows: EMRows,
    layout: ColumnLayout,
    seeds: NDArray[np.uint64],
    fold: int,
    rounding: Rounding,
    m: int,
    sums: Sums,
) -> None:
    """Add the training rows to the sums of mixture m (OUT), in random shares.

    The shares of a row are draws by one seed per component, divided by their sum.
    """
    joint = np.empty((len(seeds), TILE))
    for first in range(0, rows.weight.size, TILE):
        last = min(first + TILE, rows.weight.size)
        for i in range(first, last):
            total = 0.0
            for k in range(len(seeds)):
                joint[k, i - first] = _draw(seeds[k], rows.keys[i])
                total += joint[k, i - first]
            weight = 0.0 if rows.fold[i] == fold else rows.weight[i]
            for k in range(len(seeds)):
                share = (joint[k, i - first] / total + TO_GRAIN) - TO_GRAIN
                joint[k, i - first] = weight * share
        _count(rows, layout, first, last, joint, rounding.shift, m, sums)


# E step -----------------------------------------------------------------------------------------


@kernel
def e_step(
    rows: EMRows,
    layout: ColumnLayout,
    mixtures: Mixtures,
    fold: NDArray[np.intp],
    active: NDArray[np.bool_],
    rounding: Rounding,
    start: int,
    stop: int,
    sums: Sums,
) -> None:
    """Add some rows to the sums (OUT) of all active mixtures, each of which holds out a fold."""
    joint = np.empty((mixtures.log_share.shape[1], TILE))
    scratch = np.empty((3, TILE))
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for m in range(len(fold)):
            if active[m]:
                _score(rows, layout, mixtures, m, first, last, joint)
                held_out = rows.fold[first:last] == fold[m]
                weight = rows.weight[first:last]
                _responsibilities(joint, weight, held_out, rounding.fractions, scratch, sums.fit[m])
                _count(rows, layout, first, last, joint, rounding.shift, m, sums)


@kernel
def _score(
    rows: EMRows,
    layout: ColumnLayout,
    mixtures: Mixtures,
    m: int,
    first: int,
    last: int,
    joint: NDArray[np.float64],
) -> None:
    """Compute log P(component, row) of a tile of rows (OUT, components x rows)."""
    n_columns = rows.values.shape[0]
    n = last - first
    for k in range(mixtures.log_share.shape[1]):
        out = joint[k, :n]
        base = mixtures.log_share[m, k]
        for j in range(n_columns):
            if layout.gap[j] < 0:
                base -= 0.5 * math.log(2.0 * math.pi * mixtures.variance[m, k, j])
        out[:] = base
        for j in range(n_columns):
            mean, variance = mixtures.mean[m, k, j], mixtures.variance[m, k, j]
            scale = 1.0 / math.sqrt(2.0 * variance)
            values = rows.values[j, first:last]
            if layout.gap[j] < 0:
                for i in range(n):
                    d = (values[i] - mean) * scale
                    out[i] -= d * d
            else:
                peak = -0.5 * math.log(2.0 * math.pi * variance)
                present = rows.present[layout.gap[j], first:last]
                for i in range(n):
                    d = (values[i] - mean) * scale
                    out[i] += present[i] * (peak - d * d)
        for b in range(rows.cells.shape[0]):
            table = mixtures.table[m, k, layout.start[b] : layout.start[b + 1]]
            cells = rows.cells[b, first:last]
            for i in range(n):
                out[i] += table[cells[i]]


@kernel
def _responsibilities(
    joint: NDArray[np.float64],
    weight: NDArray[np.float64],
    held_out: NDArray[np.bool_],
    fractions: float,
    scratch: NDArray[np.float64],
    fit: NDArray[np.int64],
) -> None:
    """Replace scores (IN) by the training weight that each component gets of each row (OUT).

    Responsibilities are rounded to multiples of 2**-20. The log-likelihoods of training and of
    held-out rows are added to fit (OUT).
    """
    n_components, n = len(joint), len(weight)
    top, total, training = scratch[0], scratch[1], scratch[2]
    top[:n] = joint[0, :n]
    for k in range(1, n_components):
        row = joint[k]
        for i in range(n):
            top[i] = max(top[i], row[i])
    total[:n] = 0.0
    for k in range(n_components):
        row = joint[k]
        for i in range(n):
            row[i] = exponential(max(row[i] - top[i], MIN_LOG_SHARE))
            total[i] += row[i]
    for i in range(n):
        term = max(weight[i] * (top[i] + math.log(total[i])), -1e15)
        whole, out = math.floor(term), np.int64(held_out[i])
        fit[out, 0] += np.int64(whole)
        fit[out, 1] += np.int64((term - whole) * fractions + 0.5)
        total[i] = 1.0 / total[i]
        training[i] = 0.0 if held_out[i] else weight[i]
    for k in range(n_components):
        row = joint[k]
        for i in range(n):
            share = (row[i] * total[i] + TO_GRAIN) - TO_GRAIN
            row[i] = share * training[i]


@kernel
def _count(
    rows: EMRows,
    layout: ColumnLayout,
    first: int,
    last: int,
    joint: NDArray[np.float64],
    shift: float,
    m: int,
    sums: Sums,
) -> None:
    """Add the weights of a tile (IN, components x rows) to the sums of mixture m (OUT)."""
    n = last - first
    zero = np.float64(shift).view(np.int64) * n
    for k in range(len(joint)):
        weight = joint[k, :n]
        share = np.int64(0)
        for i in range(n):
            share += np.float64(weight[i] + shift).view(np.int64)
        sums.share[m, k] += share - zero
        for j in range(rows.values.shape[0]):
            values = rows.values[j, first:last]
            total, squares = np.int64(0), np.int64(0)
            for i in range(n):
                part = weight[i] * values[i]
                total += np.float64(part + shift).view(np.int64)
                squares += np.float64(part * values[i] + shift).view(np.int64)
            sums.moments[m, k, j, 1] += total - zero
            sums.moments[m, k, j, 2] += squares - zero
            if layout.gap[j] >= 0:
                present = rows.present[layout.gap[j], first:last]
                there = np.int64(0)
                for i in range(n):
                    there += np.float64(weight[i] * present[i] + shift).view(np.int64)
                sums.moments[m, k, j, 0] += there - zero
            else:
                sums.moments[m, k, j, 0] += share - zero
        for b in range(rows.cells.shape[0]):
            counts = sums.cells[m, k, layout.start[b] : layout.start[b + 1]]
            cells = rows.cells[b, first:last]
            for i in range(n):
                counts[cells[i]] += weight[i]


# M step -----------------------------------------------------------------------------------------


@kernel
def improve(
    layout: ColumnLayout,
    sums: Sums,
    rounding: Rounding,
    prior: Prior,
    tol: float,
    trained: NDArray[np.float64],
    step: int,
    history: NDArray[np.float64],
    active: NDArray[np.bool_],
    mixtures: Mixtures,
) -> None:
    """Record the fit of all active mixtures, and re-estimate (OUT) those that still improve.

    history (OUT, mixtures x steps x 2) gets the penalized log-likelihood per unit of training
    weight (IN), and the log-likelihood of the held-out rows. A mixture that gains less than tol,
    or has no step left, becomes inactive (OUT).
    """
    for m in range(len(active)):
        if active[m]:
            fit = sums.fit[m, :, 0] + sums.fit[m, :, 1] / rounding.fractions
            history[m, step, 0] = (fit[0] + mixtures.penalty[m]) / trained[m]
            history[m, step, 1] = fit[1]
            last = step + 1 == history.shape[1]
            if last or (step > 0 and history[m, step, 0] - history[m, step - 1, 0] < tol):
                active[m] = False
            else:
                estimate(layout, sums, rounding.unit, prior, m, mixtures)


@kernel
def estimate(
    layout: ColumnLayout, sums: Sums, unit: float, prior: Prior, m: int, mixtures: Mixtures
) -> None:
    """Estimate the parameters of mixture m (OUT) from the sums (IN) and the prior."""
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
    counts = np.zeros(mixtures.logs[m].shape)
    for c in range(len(layout.block)):
        first, last = layout.start[layout.block[c]], layout.start[layout.block[c] + 1]
        for cell in range(last - first):
            slot = layout.offset[c] + _slot(layout, c, cell)
            for k in range(n_components):
                counts[slot, k] += sums.cells[m, k, first + cell]
        slots = slice(layout.offset[c], layout.offset[c + 1])
        fill_all_logs(counts[slots], prior.alpha, False, mixtures.logs[m, slots])
        penalty += prior.alpha * mixtures.logs[m, slots].sum()
    mixtures.penalty[m] = penalty
    _fill_tables(layout, mixtures, m)


@kernel
def _fill_tables(layout: ColumnLayout, mixtures: Mixtures, m: int) -> None:
    """Sum the logs of single columns for every cell of their block (OUT)."""
    table = mixtures.table[m]
    table[:] = 0.0
    for c in range(len(layout.block)):
        first, last = layout.start[layout.block[c]], layout.start[layout.block[c] + 1]
        for cell in range(last - first):
            slot = layout.offset[c] + _slot(layout, c, cell)
            for k in range(table.shape[0]):
                table[k, first + cell] += mixtures.logs[m, slot, k]
