"""Which rows naive Bayes gets right when it has not seen their fold: kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.fold_tables import (
    LANES,
    NO_KERNELS,
    Kernels,
    Smoothed,
    fill_fold,
    fold_tables,
    own_widths,
    padded,
    slot_offsets,
)
from unnaive.common.compile import kernel
from unnaive.encode.instructions import add_rows

__all__ = ["NO_KERNELS", "FoldedRows", "Kernels", "Smoothed", "cross_validate"]
_CELLS = 1 << 17  # cells of the tables that are filled together: they stay in cache


class FoldedRows(NamedTuple):
    """Rows to be judged, ascending by fold.

    ``slots`` rows x attributes, 0 is missing; ``part`` of each row, -1 for none.
    """

    slots: NDArray[np.uint16]
    part: NDArray[np.int32]
    groups: NDArray[Any]
    n_classes: int
    weight: NDArray[np.float64]
    folds: NDArray[Any]
    n_folds: int


@kernel
def cross_validate(
    rows: FoldedRows,
    n_values: NDArray[np.intp],
    smoothing: Smoothed,
    kernels: Kernels,
    order: NDArray[np.int32],
    correct: NDArray[np.bool_],
) -> None:
    """Which rows their part's naive Bayes gets right when it has not seen their fold (OUT).

    n_values (IN) parts x attributes. Rows without a part keep what they have. A fold's model is the
    sum of the other folds' tables: nothing is fitted again. A row for which the other folds have no
    row at all counts as an error; ties go to the first class.

    Parts whose tables are small are looked at together, so that rows are read in their order;
    ``order`` is room for a number of each row.
    """
    n_parts, offsets = len(n_values), slot_offsets(n_values)
    widest = np.int64(offsets[:, -1].max()) if n_parts else 0
    cells = rows.n_folds * widest * rows.n_classes
    together = max(1, min(n_parts, _CELLS // max(1, cells)))
    edges = _in_batches(rows.part, n_parts, together, order)
    room = np.empty(cells * together)
    for b in range(len(edges) - 1):
        first = b * together
        last = first + together
        near = Kernels(kernels.positions[first:last], kernels.widths[first:last], kernels.floor)
        numbers = order[edges[b] : edges[b + 1]]
        _validate_batch(
            rows, numbers, first, offsets[first:last], widest, smoothing, near, room, correct
        )


@kernel
def _in_batches(
    part: NDArray[np.int32], n_parts: int, together: int, order: NDArray[np.int32]
) -> NDArray[np.intp]:
    """Rows by batch of parts, otherwise as they stand (OUT); where each batch begins and ends."""
    edges = np.zeros((n_parts + together - 1) // together + 1, dtype=np.intp)
    for p in part:
        if p >= 0:
            edges[p // together + 1] += 1
    for b in range(len(edges) - 1):
        edges[b + 1] += edges[b]
    filled = edges.copy()
    for i in range(len(part)):
        if part[i] >= 0:
            b = part[i] // together
            order[filled[b]] = i
            filled[b] += 1
    return edges


@kernel
def _number_classes(
    rows: NDArray[np.int32],
    part: NDArray[np.int32],
    first: int,
    n_parts: int,
    groups: NDArray[Any],
    n_classes: int,
) -> tuple[NDArray[np.int32], int]:
    """Classes of each part renumbered among those that occur, and the most that a part has."""
    number = np.full((n_parts, n_classes), -1, dtype=np.int32)
    for i in rows:
        number[part[i] - first, groups[i]] = 0
    most = 0
    for p in range(n_parts):
        n = 0
        for c in range(n_classes):
            if number[p, c] == 0:
                number[p, c] = n
                n += 1
        most = max(most, n)
    return number, most


@kernel
def _validate_batch(
    rows: FoldedRows,
    numbers: NDArray[np.int32],
    first: int,
    offsets: NDArray[np.uint32],
    widest: int,
    smoothing: Smoothed,
    kernels: Kernels,
    room: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> None:
    """`cross_validate` for rows by number of a few neighbouring parts, from part ``first`` on."""
    n_parts = offsets.shape[0]
    n_folds, part, groups = rows.n_folds, rows.part, rows.groups
    number, n_classes = _number_classes(numbers, part, first, n_parts, groups, rows.n_classes)
    n_cells = n_folds * n_parts * widest * n_classes
    counts = room[:n_cells].reshape((n_folds, n_parts, widest, n_classes))
    counts[:] = 0.0
    touched = np.zeros((n_folds, n_parts, widest), dtype=np.bool_)
    totals = np.zeros((n_folds, n_parts, n_classes))
    _count_folds(rows, numbers, first, offsets, number, counts, touched, totals)
    tables = fold_tables(counts, touched, totals, offsets)
    widths = own_widths(kernels.widths, number, n_classes)
    near = Kernels(kernels.positions, widths, kernels.floor)
    logs = np.zeros((n_parts, widest, padded(n_classes)))
    prior = np.empty((n_parts, padded(n_classes)))
    edges = _fold_edges(rows, numbers)
    for f in range(n_folds):
        if edges[f + 1] > edges[f]:
            fill_fold(tables, f, offsets, smoothing, near, prior, logs)
            rows_of_fold = numbers[edges[f] : edges[f + 1]]
            _mark(rows, rows_of_fold, first, offsets, number, logs, prior, correct)


@kernel
def _fold_edges(rows: FoldedRows, numbers: NDArray[np.int32]) -> NDArray[np.intp]:
    """Where the rows of each fold begin and end among rows by number."""
    edges = np.zeros(rows.n_folds + 1, dtype=np.intp)
    for i in numbers:
        edges[rows.folds[i] + 1] += 1
    for f in range(rows.n_folds):
        edges[f + 1] += edges[f]
    return edges


@kernel
def _count_folds(
    rows: FoldedRows,
    numbers: NDArray[np.int32],
    first: int,
    offsets: NDArray[np.uint32],
    number: NDArray[np.int32],
    counts: NDArray[np.float64],
    touched: NDArray[np.bool_],
    totals: NDArray[np.float64],
) -> None:
    """Add rows by number to folds x parts x slots x classes, to which slots have any row, and to
    folds x parts x classes (OUT).
    """
    n_attributes = offsets.shape[1] - 1
    for i in numbers:
        p, f, w = np.uint32(rows.part[i] - first), rows.folds[i], rows.weight[i]
        g = np.uint32(number[p, rows.groups[i]])
        totals[f, p, g] += w
        part_counts, seen = counts[f, p], touched[f, p]
        for j in range(n_attributes):
            at = offsets[p, j] + rows.slots[i, j]
            part_counts[at, g] += w
            seen[at] = True


@kernel
def _mark(
    rows: FoldedRows,
    numbers: NDArray[np.int32],
    first: int,
    offsets: NDArray[np.uint32],
    number: NDArray[np.int32],
    logs: NDArray[np.float64],
    prior: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> None:
    """Whether the first class of the highest score is the row's own (OUT)."""
    n_attributes = offsets.shape[1] - 1
    slots, part, groups = rows.slots, rows.part, rows.groups
    _, widest, lanes = logs.shape
    if lanes == 2:  # the most common case: no inner loop
        for i in numbers:
            p = np.uint32(part[i] - first)
            table = logs[p]
            zero, one = prior[p, 0], prior[p, 1]
            for j in range(n_attributes):
                at = offsets[p, j] + slots[i, j]
                zero += table[at, 0]
                one += table[at, 1]
            correct[i] = one > zero if number[p, groups[i]] == 1 else zero >= one
        return
    flat = logs.reshape(logs.size)
    starts = np.empty(n_attributes, dtype=np.int64)
    score = np.empty(lanes)
    for i in numbers:
        p = np.uint32(part[i] - first)
        for j in range(n_attributes):
            starts[j] = (p * widest + offsets[p, j] + slots[i, j]) * lanes
        for c in range(lanes):
            score[c] = prior[p, c]
        for lane in range(0, lanes, LANES):
            add_rows(flat, starts, lane, score)
        correct[i] = _is_first_best(score, number[p, groups[i]])


@kernel
def _is_first_best(score: NDArray[np.float64], c: int) -> bool:
    """Whether no score is higher than c's and none before it as high; false where it is NaN."""
    best = score[c] == score[c]
    for k in range(len(score)):
        best &= score[k] < score[c] if k < c else score[k] <= score[c]
    return best
