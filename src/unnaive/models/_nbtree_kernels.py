"""Kernels of NBTree: rows of a node, cuts within them, and cross-validated naive Bayes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import ABSENT, fill_logs, log_share
from unnaive.common.kernels import kernel
from unnaive.density.kernels import fill_cell_logs
from unnaive.discretize.kernels import boundaries, mdl_cuts, threshold_cell
from unnaive.encode.intrinsics import add_rows

LANES = 4  # classes that `add_rows` adds together
_DENSE = 4  # so many times more codes than rows, and the codes of the rows are sorted instead


class Smoothing(NamedTuple):
    """Pseudo-count of every value, and whether missing is a value."""

    alpha: float
    missing_is_value: bool


class Densities(NamedTuple):
    """Kernel densities of some columns.

    Slots of these columns are cells at ascending ``positions`` (all slots of all columns);
    ``widths`` (columns x classes and all together) are 0 for the other columns. Without any
    density, both are empty.
    """

    positions: NDArray[np.float64]
    widths: NDArray[np.float64]
    floor: float


class FoldedRows(NamedTuple):
    """Coded rows to cross-validate, ascending by fold.

    ``slots`` rows x columns, 0 is missing; ``y`` numbered among the classes that occur.
    """

    slots: NDArray[Any]
    y: NDArray[Any]
    n_classes: int
    weight: NDArray[np.float64]
    folds: NDArray[Any]
    n_folds: int


NO_DENSITIES = Densities(np.empty(0), np.empty((0, 0)), 0.0)


# Rows of a node ------------------------------------------------------------------------------


@kernel
def order_by(part: NDArray[Any], n_parts: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows by part, otherwise in order, and where each part begins and ends."""
    starts = np.zeros(n_parts + 1, dtype=np.intp)
    for p in part:
        starts[p + 1] += 1
    for p in range(n_parts):
        starts[p + 1] += starts[p]
    filled, order = starts.copy(), np.empty(len(part), dtype=np.intp)
    for i in range(len(part)):
        order[filled[part[i]]] = i
        filled[part[i]] += 1
    return order, starts


@kernel
def renumber(y: NDArray[Any], n_classes: int) -> tuple[NDArray[np.intp], int]:
    """Return the number of each class among those that occur, and how many these are."""
    place = np.full(n_classes, -1, dtype=np.intp)
    for c in y:
        place[c] = 0
    n = 0
    for c in range(n_classes):
        if place[c] == 0:
            place[c] = n
            n += 1
    return place, n


@kernel
def rank(codes: NDArray[Any], size: int, values: NDArray[Any]) -> int:
    """Replace codes (IN, OUT) by their ranks, from 1, among those that occur.

    0 is missing in both. Fills in the codes that occur, ascending (OUT), and returns their number.
    """
    n_values = 0
    if size > _DENSE * len(codes):
        last = 0
        for code in np.sort(codes):
            if code > last:
                values[n_values] = code
                last = code
                n_values += 1
        for i in range(len(codes)):
            codes[i] = np.searchsorted(values[:n_values], codes[i]) + 1 if codes[i] else 0
        return n_values
    place = np.zeros(size + 1, dtype=codes.dtype)
    for code in codes:
        place[code] = 1
    for v in range(1, size + 1):
        if place[v]:
            values[n_values] = v
            n_values += 1
            place[v] = n_values
    place[0] = 0
    for i in range(len(codes)):
        codes[i] = place[codes[i]]
    return n_values


@kernel
def gather_columns(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    numeric: NDArray[np.bool_],
    out: NDArray[Any],
    values: NDArray[Any],
    sizes: NDArray[np.intp],
) -> None:
    """Gather the codes of some rows (OUT, columns x rows).

    Numbers are ranked among the node's ``values`` (OUT, columns x codes); sizes (IN, OUT) becomes
    the number of these.
    """
    for j in range(codes.shape[0]):
        column, gathered = codes[j], out[j]
        for i in range(len(rows)):
            gathered[i] = column[rows[i]]
        if numeric[j]:
            sizes[j] = rank(gathered, sizes[j], values[j])


@kernel
def count_cells(
    codes: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64], size: int, n_classes: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the codes that occur, ascending, and the weight of each class there.

    The weights begin with a row for missing values.
    """
    n = 0
    if size > _DENSE * len(codes):
        ranks, cells = codes.copy(), np.empty(len(codes), dtype=codes.dtype)
        n = rank(ranks, size, cells)
        counts = np.zeros((n + 1, n_classes))
        for i in range(len(codes)):
            counts[ranks[i], y[i]] += weight[i]
        return cells[:n], counts
    counts, cells = np.zeros((size + 1, n_classes)), np.empty(size, dtype=codes.dtype)
    for i in range(len(codes)):
        counts[codes[i], y[i]] += weight[i]
    for v in range(1, size + 1):
        occurs = False
        for c in range(n_classes):
            occurs |= counts[v, c] > 0.0
        if occurs:
            cells[n] = v
            n += 1
            if n < v:
                counts[n] = counts[v]
    return cells[:n], counts[: n + 1]


@kernel
def _accumulate(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the class weights up to each cell, without those of missing values (row 0)."""
    sums = np.zeros_like(counts)
    for k in range(1, len(counts)):
        for c in range(counts.shape[1]):
            sums[k, c] = sums[k - 1, c] + counts[k, c]
    return sums


@kernel
def mdl_positions(counts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return where MDL cuts the cells of `count_cells`: cut k lies before cell k."""
    if len(counts) < 3:
        return np.empty(0, dtype=np.intp)
    cumulative = _accumulate(counts)
    return mdl_cuts(cumulative, boundaries(cumulative))


@kernel
def threshold(counts: NDArray[np.float64]) -> int:
    """Return the cut of least class entropy between the cells of `count_cells`, or -1."""
    return threshold_cell(_accumulate(counts)) if len(counts) > 2 else -1


# Cross-validated naive Bayes -----------------------------------------------------------------


@kernel
def mark_correct(
    codes: NDArray[Any],
    sizes: NDArray[np.intp],
    cut: NDArray[np.bool_],
    rows: FoldedRows,
    order: NDArray[np.intp],
    starts: NDArray[np.intp],
    smoothing: Smoothing,
    correct: NDArray[np.bool_],
) -> None:
    """Mark the rows (OUT) that naive Bayes on the other folds of their part classifies correctly.

    codes (IN) columns x rows, of which the columns ``cut`` are cut by MDL among all rows of a part;
    order, starts (IN) as `order_by` returns them, of parts from 1: rows of part 0 keep their marks.
    ``rows.slots`` is scratch with room for the largest part.
    """
    n_slots = np.empty(len(sizes), dtype=np.intp)
    for p in range(1, len(starts) - 1):
        part = order[starts[p] : starts[p + 1]]
        if len(part) == 0:
            continue
        y, weight, folds = rows.y[part], rows.weight[part], rows.folds[part]
        place, n_classes = renumber(y, rows.n_classes)
        for i in range(len(y)):
            y[i] = place[y[i]]
        slots, marks = rows.slots[: len(part)], np.empty(len(part), dtype=np.bool_)
        for j in range(len(sizes)):
            n_slots[j] = _fill_slots(
                codes[j], part, y, weight, sizes[j], n_classes, cut[j], slots[:, j]
            )
        of_part = FoldedRows(slots, y, n_classes, weight, folds, rows.n_folds)
        cross_validate(of_part, n_slots, smoothing, NO_DENSITIES, marks)
        correct[part] = marks


@kernel
def _fill_slots(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    y: NDArray[Any],
    weight: NDArray[np.float64],
    size: int,
    n_classes: int,
    cut: bool,
    slots: NDArray[Any],
) -> int:
    """Fill in the slots of some rows in one column (OUT), and return the number of its values.

    y and weight are of these rows.
    """
    if not cut:
        for i in range(len(rows)):
            slots[i] = codes[rows[i]]
        return size
    own = codes[rows]
    if size > _DENSE * len(own):
        size = rank(own, size, np.empty_like(own))
    cells, counts = count_cells(own, y, weight, size, n_classes)
    cuts = mdl_positions(counts)
    slot_of, k = np.zeros(size + 1, dtype=slots.dtype), 0
    for i in range(len(cells)):
        k += k < len(cuts) and cuts[k] == i
        slot_of[cells[i]] = k + 1
    for i in range(len(own)):
        slots[i] = slot_of[own[i]]
    return len(cuts) + 1 if len(cells) else 0


@kernel
def cross_validate(
    rows: FoldedRows,
    n_slots: NDArray[np.intp],
    smoothing: Smoothing,
    densities: Densities,
    correct: NDArray[np.bool_],
) -> None:
    """Mark the rows (OUT) that naive Bayes on the other folds classifies correctly.

    n_slots (IN) is the number of values of each column. The model of a fold is the sum of the
    other folds' tables: nothing is fitted again. A row for which the other folds have no row at
    all counts as an error; ties go to the first class.
    """
    n_columns, n_classes, n_folds = len(n_slots), rows.n_classes, rows.n_folds
    offsets = np.zeros(n_columns + 1, dtype=np.uint32)
    for j in range(n_columns):
        offsets[j + 1] = offsets[j] + np.uint32(n_slots[j] + 1)
    counts = np.zeros((n_folds, np.int64(offsets[-1]), n_classes))
    totals, edges = np.zeros((n_folds, n_classes)), np.zeros(n_folds + 1, dtype=np.intp)
    for i in range(len(rows.y)):
        f, c, w = rows.folds[i], rows.y[i], rows.weight[i]
        edges[f + 1] += 1
        totals[f, c] += w
        of_fold = counts[f]
        for j in range(n_columns):
            of_fold[offsets[j] + rows.slots[i, j], c] += w
    whole, whole_totals = counts.sum(axis=0), totals.sum(axis=0)
    room = (n_classes + LANES - 1) // LANES * LANES if n_classes > 2 else n_classes
    logs, prior, score = np.zeros((len(whole), room)), np.zeros(room), np.empty(room)
    for f in range(n_folds):
        edges[f + 1] += edges[f]
        if edges[f + 1] == edges[f]:
            continue
        others = whole_totals - totals[f]
        n = others.sum()
        if n == 0.0:
            correct[edges[f] : edges[f + 1]] = False
            continue
        for c in range(n_classes):
            prior[c] = log_share(others[c], n) if others[c] > 0.0 else ABSENT
        _fill_logs(whole, counts[f], offsets, smoothing, densities, logs)
        _mark_fold(rows, edges[f], edges[f + 1], offsets, prior, logs, score, correct)


@kernel
def _mark_fold(
    rows: FoldedRows,
    start: int,
    stop: int,
    offsets: NDArray[np.uint32],
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
    score: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> None:
    """Mark the rows from start to stop whose own class is the first of the highest score (OUT)."""
    slots, y = rows.slots, rows.y
    n_columns, n_classes = len(offsets) - 1, rows.n_classes
    if n_classes == 2:  # the most common case: no inner loop
        for i in range(start, stop):
            zero, one = prior[0], prior[1]
            for j in range(n_columns):
                at = offsets[j] + slots[i, j]
                zero += logs[at, 0]
                one += logs[at, 1]
            correct[i] = one > zero if y[i] == 1 else zero >= one
        return
    flat, starts = logs.reshape(logs.size), np.empty(n_columns, dtype=np.int64)
    for i in range(start, stop):
        for j in range(n_columns):
            starts[j] = (offsets[j] + slots[i, j]) * len(score)
        score[:] = prior
        for lane in range(0, len(score), LANES):
            add_rows(flat, starts, lane, score)
        own, best = y[i], True
        for c in range(n_classes):
            best &= score[c] < score[own] if c < own else score[c] <= score[own]
        correct[i] = best


@kernel
def _fill_logs(
    whole: NDArray[np.float64],
    less: NDArray[np.float64],
    offsets: NDArray[np.uint32],
    smoothing: Smoothing,
    densities: Densities,
    logs: NDArray[np.float64],
) -> None:
    """Fill in naive Bayes (OUT, slots x classes) of all rows (IN) less those of a fold (IN).

    Slots that no row of the fold has are left as they are.
    """
    n_slots, n_classes = whole.shape
    needed, scratch = np.zeros(n_slots, dtype=np.bool_), np.empty((2, n_classes))
    for v in range(n_slots):
        for c in range(n_classes):
            needed[v] |= less[v, c] > 0.0
    present = np.empty(n_classes)
    for j in range(len(offsets) - 1):
        a, b = np.int64(offsets[j]), np.int64(offsets[j + 1])
        present[:] = 0.0
        for v in range(a + 1, b):
            for c in range(n_classes):
                present[c] += whole[v, c] - less[v, c]
        if len(densities.widths) == 0 or densities.widths[j, n_classes] == 0.0:
            fill_logs(
                whole[a:b], less[a:b], present, smoothing.alpha, smoothing.missing_is_value,
                needed[a:b], scratch, logs[a:b],
            )  # fmt: skip
            continue
        fill_cell_logs(
            densities.positions[a + 1 : b], whole[a + 1 : b], less[a + 1 : b],
            densities.widths[j], densities.floor, needed[a + 1 : b], logs[a + 1 : b],
        )  # fmt: skip
        _add_presence(whole[a] - less[a], present, smoothing, needed[a:b], scratch, logs[a:b])


@kernel
def _add_presence(
    absent: NDArray[np.float64],
    present: NDArray[np.float64],
    smoothing: Smoothing,
    needed: NDArray[np.bool_],
    scratch: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """Add to a density (OUT) the evidence of a value's being missing, or there."""
    n_classes = len(present)
    both, nothing = np.zeros((2, n_classes)), np.zeros((2, n_classes))  # missing, there
    both[0], both[1] = absent, present
    there, always = np.zeros((2, n_classes)), np.ones(2, dtype=np.bool_)
    fill_logs(
        both, nothing, present, smoothing.alpha, smoothing.missing_is_value, always, scratch, there
    )
    for c in range(n_classes):
        logs[0, c] = there[0, c]
        for v in range(1, len(needed)):
            if needed[v]:
                logs[v, c] += there[1, c]
