"""Which rows naive Bayes gets right when it has not seen their fold: kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import ABSENT, fill_logs, log_share
from unnaive.common.compile import kernel
from unnaive.density.kernels import fill_cell_logs
from unnaive.encode.instructions import add_rows

_CELLS = 1 << 17  # cells of the tables that are filled together: they stay in cache
_LANES = 4  # classes that are scored together


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


NO_KERNELS = Kernels(np.empty((0, 0)), np.empty((0, 0, 0)), 0.0)


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
    n_parts, n_attributes = n_values.shape
    offsets = np.zeros((n_parts, n_attributes + 1), dtype=np.uint32)
    widest = 0
    for p in range(n_parts):
        end = 0
        for j in range(n_attributes):
            end += int(n_values[p, j]) + 1
            offsets[p, j + 1] = end
        widest = max(widest, end)
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
    n_parts, n_attributes = offsets.shape[0], offsets.shape[1] - 1
    n_folds, part, groups = rows.n_folds, rows.part, rows.groups
    number, n_classes = _number_classes(numbers, part, first, n_parts, groups, rows.n_classes)
    n_cells = n_folds * n_parts * widest * n_classes
    counts = room[:n_cells].reshape((n_folds, n_parts, widest, n_classes))
    counts[:] = 0.0
    touched = np.zeros((n_folds, n_parts, widest), dtype=np.bool_)
    totals = np.zeros((n_folds, n_parts, n_classes))
    edges = np.zeros(n_folds + 1, dtype=np.intp)
    for i in numbers:
        p, f, w = np.uint32(part[i] - first), rows.folds[i], rows.weight[i]
        g = np.uint32(number[p, groups[i]])
        edges[f + 1] += 1
        totals[f, p, g] += w
        part_counts, seen = counts[f, p], touched[f, p]
        for j in range(n_attributes):
            at = offsets[p, j] + rows.slots[i, j]
            part_counts[at, g] += w
            seen[at] = True
    present = _weigh_values(counts, touched, offsets)
    whole, whole_present = _add_folds(counts, touched), present.sum(axis=0)
    whole_totals = totals.sum(axis=0)
    padded = (n_classes + _LANES - 1) // _LANES * _LANES if n_classes > 2 else 2
    logs = np.zeros((n_parts, widest, padded))
    prior = np.empty((n_parts, padded))
    scratch = np.empty((2, n_classes))
    dense = len(kernels.widths) > 0
    widths = _own_widths(kernels.widths, number, n_classes)
    no_positions, no_widths = np.empty(0), np.zeros((n_attributes, n_classes + 1))
    for f in range(n_folds):
        edges[f + 1] += edges[f]
        if edges[f + 1] == edges[f]:
            continue
        for q in range(n_parts):
            tables = PartTables(
                counts[f, q], touched[f, q], totals[f, q], whole[q], whole_totals[q],
                whole_present[q] - present[f, q],
            )  # fmt: skip
            near = kernels.positions[q] if dense else no_positions
            far = widths[q] if dense else no_widths
            _fill_part(
                tables, offsets[q], smoothing, near, far, kernels.floor, scratch, prior[q], logs[q]
            )
        _mark(rows, numbers[edges[f] : edges[f + 1]], first, offsets, number, logs, prior, correct)


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
def _own_widths(
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
    _, widest, padded = logs.shape
    if padded == 2:  # the most common case: no inner loop
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
    score = np.empty(padded)
    for i in numbers:
        p = np.uint32(part[i] - first)
        for j in range(n_attributes):
            starts[j] = (p * widest + offsets[p, j] + slots[i, j]) * padded
        for c in range(padded):
            score[c] = prior[p, c]
        for lane in range(0, padded, _LANES):
            add_rows(flat, starts, lane, score)
        correct[i] = _is_first_best(score, number[p, groups[i]])


@kernel
def _is_first_best(score: NDArray[np.float64], c: int) -> bool:
    """Whether no score is higher than c's and none before it as high; false where it is NaN."""
    best = score[c] == score[c]
    for k in range(len(score)):
        best &= score[k] < score[c] if k < c else score[k] <= score[c]
    return best
