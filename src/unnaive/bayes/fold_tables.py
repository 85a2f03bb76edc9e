"""Naive Bayes of parts of the rows without one fold, from tables of counts: kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import ABSENT, fill_logs, log_share
from unnaive.common.compile import kernel
from unnaive.density.kernels import fill_cell_logs

LANES = 4  # classes that are scored together


class Smoothed(NamedTuple):
    """Pseudo-count of every value, and whether missing is a value."""

    alpha: float
    missing_is_value: bool


class Kernels(NamedTuple):
    """Attributes that are kernel densities.

    ``widths`` parts x attributes x classes and all together, 0 for attributes that have slots.
    Slots of the others are cells at ascending ``positions``, parts x slots of all attributes, as
    `fill_cell_logs` takes them. Without any, both are empty.
    """

    positions: NDArray[np.float64]
    widths: NDArray[np.float64]
    floor: float


class PartTables(NamedTuple):
    """Counts of one fold's rows of one part, and of all rows of the part."""

    counts: NDArray[np.float64]
    touched: NDArray[np.bool_]
    totals: NDArray[np.float64]
    whole: NDArray[np.float64]
    whole_totals: NDArray[np.float64]
    present: NDArray[np.float64]  # weight of the other folds' values, attributes x classes


class FoldTables(NamedTuple):
    """Counts of rows by fold, part, slot and class, and what they add up to."""

    counts: NDArray[np.float64]
    touched: NDArray[np.bool_]
    totals: NDArray[np.float64]
    whole: NDArray[np.float64]
    whole_totals: NDArray[np.float64]
    present: NDArray[np.float64]
    whole_present: NDArray[np.float64]


NO_KERNELS = Kernels(np.empty((0, 0)), np.empty((0, 0, 0)), 0.0)


@kernel
def slot_offsets(n_values: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Where the slots of each attribute begin in each part's tables; the last is where they end."""
    n_parts, n_attributes = n_values.shape
    offsets = np.zeros((n_parts, n_attributes + 1), dtype=np.uint32)
    for p in range(n_parts):
        end = 0
        for j in range(n_attributes):
            end += int(n_values[p, j]) + 1
            offsets[p, j + 1] = end
    return offsets


@kernel
def padded(n_classes: int) -> int:
    """Classes with room for those that are scored together."""
    return (n_classes + LANES - 1) // LANES * LANES if n_classes > 2 else 2


@kernel
def fold_tables(
    counts: NDArray[np.float64],
    touched: NDArray[np.bool_],
    totals: NDArray[np.float64],
    offsets: NDArray[np.uint32],
) -> FoldTables:
    """Counts by fold and what they add up to."""
    present = _weigh_values(counts, touched, offsets)
    whole = _add_folds(counts, touched)
    sums = (whole, totals.sum(axis=0), present, present.sum(axis=0))
    return FoldTables(counts, touched, totals, *sums)


@kernel
def fill_fold(
    tables: FoldTables,
    f: int,
    offsets: NDArray[np.uint32],
    smoothing: Smoothed,
    kernels: Kernels,
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """Naive Bayes of each part without the rows of fold f (OUT)."""
    n_parts, n_classes = tables.whole_totals.shape
    scratch = np.empty((2, n_classes))
    dense = len(kernels.widths) > 0
    no_positions, no_widths = np.empty(0), np.zeros((offsets.shape[1] - 1, n_classes + 1))
    for q in range(n_parts):
        part = PartTables(
            tables.counts[f, q], tables.touched[f, q], tables.totals[f, q], tables.whole[q],
            tables.whole_totals[q], tables.whole_present[q] - tables.present[f, q],
        )  # fmt: skip
        near = kernels.positions[q] if dense else no_positions
        far = kernels.widths[q] if dense else no_widths
        _fill_part(
            part, offsets[q], smoothing, near, far, kernels.floor, scratch, prior[q], logs[q]
        )


@kernel
def _add_folds(counts: NDArray[np.float64], touched: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The tables of all folds together; slots that no row of a fold has are passed over."""
    whole = np.zeros(counts.shape[1:])
    n_folds, n_parts, n_slots = touched.shape
    for f in range(n_folds):
        for p in range(n_parts):
            for s in range(n_slots):
                if touched[f, p, s]:
                    for c in range(counts.shape[3]):
                        whole[p, s, c] += counts[f, p, s, c]
    return whole


@kernel
def _weigh_values(
    counts: NDArray[np.float64], touched: NDArray[np.bool_], offsets: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """Weight of each class's values, without missing: folds x parts x attributes x classes."""
    n_folds, n_parts, _, n_classes = counts.shape
    n_attributes = offsets.shape[1] - 1
    present = np.zeros((n_folds, n_parts, n_attributes, n_classes))
    for f in range(n_folds):
        for p in range(n_parts):
            for j in range(n_attributes):
                for s in range(np.int64(offsets[p, j]) + 1, np.int64(offsets[p, j + 1])):
                    if touched[f, p, s]:
                        for c in range(n_classes):
                            present[f, p, j, c] += counts[f, p, s, c]
    return present


@kernel
def _fill_part(
    tables: PartTables,
    offsets: NDArray[np.uint32],
    smoothing: Smoothed,
    positions: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    scratch: NDArray[np.float64],
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """Naive Bayes of one part without the rows of one fold: prior and logs (OUT).

    Slots that no row of the fold has are left as they are. Where no row is left the priors are NaN,
    which is never the best.
    """
    totals = tables.totals
    others = tables.whole_totals - totals
    n = others.sum()
    prior[:] = ABSENT if n > 0.0 else np.nan
    if n <= 0.0 or not totals.any():
        return
    for c in range(len(totals)):
        if others[c] > 0.0:
            prior[c] = log_share(others[c], n)
    alpha, missing_is_value = smoothing
    for j in range(len(offsets) - 1):
        a, b = np.int64(offsets[j]), np.int64(offsets[j + 1])
        whole, less, needed = tables.whole[a:b], tables.counts[a:b], tables.touched[a:b]
        present, out = tables.present[j], logs[a:b]
        if widths[j, len(totals)] == 0.0:
            fill_logs(whole, less, present, alpha, missing_is_value, needed, scratch, out)
            continue
        near = positions[a + 1 : b]
        fill_cell_logs(near, whole[1:], less[1:], widths[j], floor, needed[1:], out[1:])
        _add_presence(whole[0] - less[0], present, smoothing, needed, scratch, out)


@kernel
def own_widths(
    widths: NDArray[np.float64], number: NDArray[np.int32], n_classes: int
) -> NDArray[np.float64]:
    """Widths of the classes as each part numbers them, then that of all together."""
    n_parts, n_attributes = widths.shape[0], widths.shape[1]
    renumbered = np.zeros((n_parts, n_attributes, n_classes + 1))
    for p in range(n_parts):
        for j in range(n_attributes):
            renumbered[p, j, n_classes] = widths[p, j, -1]
            for c in range(number.shape[1]):
                if number[p, c] >= 0:
                    renumbered[p, j, number[p, c]] = widths[p, j, c]
    return renumbered


@kernel
def _add_presence(
    absent: NDArray[np.float64],
    present: NDArray[np.float64],
    smoothing: Smoothed,
    needed: NDArray[np.bool_],
    scratch: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """Beside a density: the evidence of a value's being missing, or there (added to OUT)."""
    n_classes = len(present)
    both, nothing = np.zeros((2, n_classes)), np.zeros((2, n_classes))  # missing, there
    both[0], both[1] = absent, present
    there = np.zeros((2, n_classes))
    always = np.ones(2, dtype=np.bool_)
    alpha, missing_is_value = smoothing
    fill_logs(both, nothing, present, alpha, missing_is_value, always, scratch, there)
    for c in range(n_classes):
        logs[0, c] = there[0, c]
        for v in range(1, len(needed)):
            if needed[v]:
                logs[v, c] += there[1, c]
