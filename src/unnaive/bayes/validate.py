"""Which rows naive Bayes gets right when it has not seen their fold: kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import ABSENT, fill_logs, log_share
from unnaive.common.compile import kernel
from unnaive.density.kernels import fill_cell_logs
from unnaive.encode.intrinsics import add_rows

_CELLS = 1 << 17  # cells of the tables that are filled together: they stay in cache
_LANES = 4  # classes that are scored together
# Positions, widths and floor where no attribute is a kernel density.
NO_KERNELS = (np.empty((0, 0)), np.empty((0, 0, 0)), 0.0)


@kernel
def cross_validate(
    slots: NDArray[np.uint16],
    part: NDArray[np.int32],
    n_values: NDArray[np.intp],
    groups: NDArray[Any],
    n_classes: int,
    weight: NDArray[np.float64],
    folds: NDArray[Any],
    n_folds: int,
    alpha: float,
    missing_is_value: bool,
    positions: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    order: NDArray[np.int32],
    correct: NDArray[np.bool_],
) -> None:
    """Which rows their part's naive Bayes gets right when it has not seen their fold (OUT).

    slots (IN) rows x attributes, 0 is missing; part (IN) of each row, -1 for none: such rows keep
    what they have; n_values (IN) parts x attributes; folds (IN) ascending. A fold's model is the
    sum of the other folds' tables: nothing is fitted again. A row for which the other folds have no
    row at all counts as an error; ties go to the first class.

    Attributes with widths (IN, parts x attributes x classes and all together; 0 for others) are
    kernel densities: their slots are cells at ascending positions (IN, parts x slots of all
    attributes, as `fill_cell_logs` takes them). Without any, both are empty.

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
    together = max(1, min(n_parts, _CELLS // max(1, n_folds * widest * n_classes)))
    edges = _in_batches(part, n_parts, together, order)
    counts = np.empty(n_folds * together * widest * n_classes)
    for b in range(len(edges) - 1):
        first = b * together
        _validate_batch(
            slots,
            order[edges[b] : edges[b + 1]],
            part,
            first,
            offsets[first : first + together],
            widest,
            groups,
            n_classes,
            weight,
            folds,
            n_folds,
            alpha,
            missing_is_value,
            positions[first : first + together],
            widths[first : first + together],
            floor,
            counts,
            correct,
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
    slots: NDArray[np.uint16],
    rows: NDArray[np.int32],
    part: NDArray[np.int32],
    first: int,
    offsets: NDArray[np.uint32],
    widest: int,
    groups: NDArray[Any],
    n_classes: int,
    weight: NDArray[np.float64],
    folds: NDArray[Any],
    n_folds: int,
    alpha: float,
    missing_is_value: bool,
    positions: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    room: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> None:
    """`cross_validate` for the rows (IN) of a few neighbouring parts, from part ``first`` on."""
    n_parts, n_attributes = offsets.shape[0], offsets.shape[1] - 1
    number, n_classes = _number_classes(rows, part, first, n_parts, groups, n_classes)
    n_cells = n_folds * n_parts * widest * n_classes
    counts = room[:n_cells].reshape((n_folds, n_parts, widest, n_classes))
    counts[:] = 0.0
    touched = np.zeros((n_folds, n_parts, widest), dtype=np.bool_)
    totals = np.zeros((n_folds, n_parts, n_classes))
    edges = np.zeros(n_folds + 1, dtype=np.intp)
    for i in rows:
        p, f, w = np.uint32(part[i] - first), folds[i], weight[i]
        g = np.uint32(number[p, groups[i]])
        edges[f + 1] += 1
        totals[f, p, g] += w
        own, seen = counts[f, p], touched[f, p]
        for j in range(n_attributes):
            at = offsets[p, j] + slots[i, j]
            own[at, g] += w
            seen[at] = True
    present = _weigh_values(counts, touched, offsets)
    whole, whole_present = _add_folds(counts, touched), present.sum(axis=0)
    whole_totals = totals.sum(axis=0)
    padded = (n_classes + _LANES - 1) // _LANES * _LANES if n_classes > 2 else 2
    logs = np.zeros((n_parts, widest, padded))
    prior = np.empty((n_parts, padded))
    scratch = np.empty((2, n_classes))
    dense = len(widths) > 0
    own_widths = _own_widths(widths, number, n_classes)
    no_positions, no_widths = np.empty(0), np.zeros((n_attributes, n_classes + 1))
    for f in range(n_folds):
        edges[f + 1] += edges[f]
        if edges[f + 1] == edges[f]:
            continue
        for q in range(n_parts):
            _fill_part(
                counts[f, q],
                touched[f, q],
                whole[q],
                whole_present[q] - present[f, q],
                totals[f, q],
                whole_totals[q],
                offsets[q],
                alpha,
                missing_is_value,
                positions[q] if dense else no_positions,
                own_widths[q] if dense else no_widths,
                floor,
                scratch,
                prior[q],
                logs[q],
            )
        _mark(
            slots,
            rows[edges[f] : edges[f + 1]],
            part,
            first,
            offsets,
            groups,
            number,
            logs,
            prior,
            correct,
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
    counts: NDArray[np.float64],
    touched: NDArray[np.bool_],
    whole: NDArray[np.float64],
    present: NDArray[np.float64],
    totals: NDArray[np.float64],
    whole_totals: NDArray[np.float64],
    offsets: NDArray[np.uint32],
    alpha: float,
    missing_is_value: bool,
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
    others = whole_totals - totals
    n = others.sum()
    prior[:] = ABSENT if n > 0.0 else np.nan
    if n <= 0.0 or not totals.any():
        return
    for c in range(len(totals)):
        if others[c] > 0.0:
            prior[c] = log_share(others[c], n)
    for j in range(len(offsets) - 1):
        a, b = np.int64(offsets[j]), np.int64(offsets[j + 1])
        if widths[j, len(totals)] > 0.0:
            _fill_densities(
                whole[a:b],
                counts[a:b],
                present[j],
                alpha,
                missing_is_value,
                touched[a:b],
                positions[a:b],
                widths[j],
                floor,
                scratch,
                logs[a:b],
            )
            continue
        fill_logs(
            whole[a:b],
            counts[a:b],
            present[j],
            alpha,
            missing_is_value,
            touched[a:b],
            scratch,
            logs[a:b],
        )


@kernel
def _own_widths(
    widths: NDArray[np.float64], number: NDArray[np.int32], n_classes: int
) -> NDArray[np.float64]:
    """Widths of the classes as each part numbers them, then that of all together."""
    n_parts, n_attributes = widths.shape[0], widths.shape[1]
    own = np.zeros((n_parts, n_attributes, n_classes + 1))
    for p in range(n_parts):
        for j in range(n_attributes):
            own[p, j, n_classes] = widths[p, j, -1]
            for c in range(number.shape[1]):
                if number[p, c] >= 0:
                    own[p, j, number[p, c]] = widths[p, j, c]
    return own


@kernel
def _fill_densities(
    counts: NDArray[np.float64],
    less: NDArray[np.float64],
    present: NDArray[np.float64],
    alpha: float,
    missing_is_value: bool,
    needed: NDArray[np.bool_],
    positions: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    scratch: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """`fill_logs` for kernel densities: that a value is there, and its density."""
    n_classes = counts.shape[1]
    both, nothing = np.zeros((2, n_classes)), np.zeros((2, n_classes))  # missing, there
    both[0], both[1] = counts[0] - less[0], present
    there = np.zeros((2, n_classes))
    always = np.ones(2, dtype=np.bool_)
    fill_logs(both, nothing, present, alpha, missing_is_value, always, scratch, there)
    fill_cell_logs(positions[1:], counts[1:], less[1:], widths, floor, needed[1:], logs[1:])
    for c in range(n_classes):
        logs[0, c] = there[0, c]
        for v in range(1, len(counts)):
            if needed[v]:
                logs[v, c] += there[1, c]


@kernel
def _mark(
    slots: NDArray[np.uint16],
    rows: NDArray[np.int32],
    part: NDArray[np.int32],
    first: int,
    offsets: NDArray[np.uint32],
    groups: NDArray[Any],
    number: NDArray[np.int32],
    logs: NDArray[np.float64],
    prior: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> None:
    """Whether the first class of the highest score is the row's own (OUT)."""
    n_attributes = offsets.shape[1] - 1
    _, widest, padded = logs.shape
    if padded == 2:  # the most common case: no inner loop
        for i in rows:
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
    for i in rows:
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
