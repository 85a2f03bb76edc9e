"""Calibration by value: what evidence lacks, or has too much of, in each slot of each column.

A multinomial logistic regression that begins with evidence already calibrated by column, and is
pulled to it: rows say more than a naive Bayes where columns depend on each other. Columns are
visited in turn, each by one step of Newton's method for every slot and class by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate import SHIFT_RIDGE
from unnaive.bayes.scoring import LEAST_SHARE, Scorer, TableTerm
from unnaive.common.kernels import kernel

# Weight, in rows, of evidence as it is, for every column: shifts of many columns add up. Of
# 1/4, 1/2 and 1 the least log loss within the training rows of 38 data sets; a weight of 8 for any
# number of columns is as good there, but worse on tables of 40 and 180 columns (waveform, dna).
VALUE_RIDGE = 0.5
# Sweeps over all columns: fewer where they take long, as most of what there is to gain comes first.
# Four in place of eleven cost letter 0.0010 in log loss within its training rows.
SWEEPS, LEAST_SWEEPS, MOST_WORK = 20, 4, 1 << 25
# Rows in which all classes but their own are less probable than so much of their shares say
# nothing, and are left out where they are many, unless shifts then make one of these so many times
# as probable in many rows: log loss within the training rows of 31 data sets is that of all rows
# (0.5395), and of shuttle one row in ten is left. Factors of columns are learned from all rows:
# those in doubt alone may switch off what others are sure by.
SURE, NO_LONGER = 0.01, 10.0
MOST, MANY = 0.75, 1.0 / 16.0  # shares of the weight of all rows, and of those that are not sure
CLOSE = 1e-4  # what a sweep gains, in nats by row, when it is the last
_LARGEST_STEP = 1.0  # e times as likely
# Terms are rounded to multiples of a grain, of which sums have at most 51 bits: exact in any order.
# Probabilities are rounded first, to the same grain while it is small: weight is repetition.
_BITS, _COARSEST = 50, 2.0**-20
_MAGIC = 1.5 * 2.0**52  # adding and subtracting it times a grain rounds to multiples of the grain


def fit_values(
    probable: NDArray[np.float64],
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    first: Sequence[int],
    sizes: Sequence[int],
) -> list[NDArray[np.float64]]:
    """What to add to the calibrated evidence of each column, slots x classes, and to the prior.

    Parameters
    ----------
    probable : array of shape (rows, classes)
        Probabilities by a model that is calibrated by column and has not seen the row; they may be
        overwritten.
    slots : array of shape (columns + 1, rows)
        0 in columns without evidence, and in the last line, which is for the prior.
    groups, weight : arrays of shape (rows,)
        Class and weight of each row.
    first, sizes : sequences of int
        The first slot of each column that has evidence, and how many slots there are.

    Returns
    -------
    list of arrays
        One for each column, then one row for the prior.
    """
    n_classes, n_terms = probable.shape[1], len(slots)
    offsets = np.concatenate(([0], np.cumsum([*sizes, 1])))
    shifts = np.zeros((offsets[-1], n_classes))
    spoken = sum(size > start for start, size in zip(first, sizes, strict=True))
    ridges = np.full(n_terms, VALUE_RIDGE * spoken)
    ridges[-1] = SHIFT_RIDGE
    # Not at a power of two, where a sum of weights might lie on either side.
    weight_of_all = float(weight.sum())
    grain = 2.0 ** (math.frexp(1.1 * weight_of_all)[1] - _BITS)
    magic = (_MAGIC * min(grain, _COARSEST), _MAGIC * grain)
    starts = np.array([*first, 0], dtype=np.intp)
    least = SURE * np.bincount(groups, weight, n_classes) / max(weight_of_all, LEAST_SHARE)
    rows = find_doubts(probable, groups, least)
    n_sweeps = _sweeps(probable.size * n_terms) if n_classes > 1 else 0
    while n_sweeps:
        if weight[rows].sum() > MOST * weight_of_all:
            rows = np.arange(len(groups))
        some, before = probable[rows], shifts.copy()
        given = (np.take(slots, rows, axis=1), groups[rows], weight[rows], starts, offsets, ridges)
        sweep = partial(improve_values, *given, magic, some, shifts)
        n_sweeps = _sweep_until(sweep, CLOSE * weight_of_all, n_sweeps)
        if len(rows) == len(groups):
            break
        change_rows(slots, starts, offsets, np.exp(shifts - before), probable)
        more = np.setdiff1d(find_doubts(probable, groups, NO_LONGER * least), rows)
        if weight[more].sum() <= MANY * weight[rows].sum():
            break
        rows = np.union1d(rows, more)
    return np.split(shifts, offsets[1:-1])


def _sweep_until(sweep: Callable[[], float], least: float, most: int) -> int:
    """Sweep at most so many times, until one gains less than the least; how many are left."""
    for left in reversed(range(most)):
        if sweep() < least:
            return left
    return 0


def find_doubts(
    probable: NDArray[np.float64], groups: NDArray[Any], least: NDArray[Any]
) -> NDArray[np.intp]:
    """Places of rows (rows x classes) that are not sure: another class has more than its least."""
    out = np.empty(len(groups), dtype=bool)
    mark_doubts(probable, groups, least, out)
    return np.flatnonzero(out)


def _sweeps(n_numbers: int) -> int:
    """How often the columns of rows with so many numbers of evidence are visited at most."""
    return min(max(MOST_WORK // max(n_numbers, 1), LEAST_SWEEPS), SWEEPS)


def shift_scorer(scorer: Scorer, shifts: Sequence[NDArray[np.float64]]) -> Scorer:
    """A scorer with more evidence in every slot, and another prior."""
    terms = tuple(
        replace(term, logs=term.logs + shift) if isinstance(term, TableTerm) else term
        for term, shift in zip(scorer.terms, shifts[:-1], strict=True)
    )
    return replace(scorer, log_prior=scorer.log_prior + shifts[-1][0], terms=terms)


@kernel
def improve_values(
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    first: NDArray[np.intp],
    offsets: NDArray[np.intp],
    ridges: NDArray[np.float64],
    magic: tuple[float, float],
    probable: NDArray[np.float64],
    shifts: NDArray[np.float64],
) -> float:
    """One step for every column in turn, the prior last; what they gain, in nats of all rows.

    ``slots`` (IN) is columns x rows, the last all 0 for the prior. ``shifts`` (IN, OUT) are slots
    of all columns x classes, ``probable`` (IN, OUT) what they make of the rows. ``magic`` rounds
    probabilities, and what is added up.
    """
    n_rows, n_classes = probable.shape
    fine, coarse = magic
    # Slots that rows are in as much for one class as for the other move by half for each of two.
    both, gain = n_classes / (n_classes - 1.0), 0.0
    for j in range(len(first)):
        start, size, of_row, least = offsets[j], offsets[j + 1] - offsets[j], slots[j], first[j]
        slope, curve = np.zeros((size, n_classes)), np.zeros((size, n_classes))
        for i in range(n_rows):
            v, w = np.int64(of_row[i]), weight[i]
            if v >= least:
                for c in range(n_classes):
                    share = (probable[i, c] + fine) - fine
                    spread = (share * (1.0 - share) + fine) - fine
                    slope[v, c] -= (w * share + coarse) - coarse
                    curve[v, c] += (w * spread + coarse) - coarse
                slope[v, groups[i]] += (w + coarse) - coarse
        for slot in range(least, size):
            for c in range(n_classes):
                shift = shifts[start + slot, c]
                uphill = slope[slot, c] - ridges[j] * shift
                step = uphill / (both * curve[slot, c] + ridges[j])
                step = min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
                gain += 0.5 * uphill * step
                shifts[start + slot, c] += step
                slope[slot, c] = math.exp(step)
        for i in range(n_rows):
            v = np.int64(of_row[i])
            if v >= least:
                total = 0.0
                for c in range(n_classes):
                    probable[i, c] *= slope[v, c]
                    total += probable[i, c]
                whole = 1.0 / total
                for c in range(n_classes):
                    probable[i, c] *= whole
    return gain


@kernel
def mark_doubts(
    probable: NDArray[np.float64],
    groups: NDArray[Any],
    least: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> None:
    """Whether another class than the row's own is more probable than its least (OUT)."""
    for i in range(len(groups)):
        above = False
        for c in range(len(least)):
            above |= probable[i, c] > least[c] and c != groups[i]
        out[i] = above


@kernel
def change_rows(
    slots: NDArray[np.uint16],
    first: NDArray[np.intp],
    offsets: NDArray[np.intp],
    factors: NDArray[np.float64],
    probable: NDArray[np.float64],
) -> None:
    """Multiply probabilities of rows (IN, OUT) by factors of their slots (slots x classes), columns
    as in `improve_values`.
    """
    n_classes = probable.shape[1]
    for i in range(len(probable)):
        for j in range(len(first)):
            v = np.int64(slots[j, i])
            if v >= first[j]:
                for c in range(n_classes):
                    probable[i, c] *= factors[offsets[j] + v, c]
        whole = 1.0 / max(probable[i].sum(), 1e-300)
        for c in range(n_classes):
            probable[i, c] *= whole
