"""Kernels that add evidence to rows and turn it into probabilities."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Stands for log 0: so low that the class with the fewest impossible values wins, and finite, so
# that scores add up.
IMPOSSIBLE = -1e8
# Log prior of a class without rows: no number of impossible values makes it the best.
ABSENT = -1e12
# A value more than 100 standard deviations away tells classes apart no further.
FARTHEST = 0.5 * 100.0**2
# Scores closer than this differ by rounding only.
TIE = 1e-9
_JUDGED = 2048  # rows whose scores stay in cache
_NO_MASK = 0xFFFF


@njit(cache=True, nogil=True)
def log_share(part: float, whole: float) -> float:
    """Logarithm of a share, with a floor instead of minus infinity."""
    return math.log(part / whole) if part > 0.0 else IMPOSSIBLE


@njit(cache=True, nogil=True)
def fill_logs(
    counts: NDArray[np.float64], alpha: float, missing_is_value: bool, logs: NDArray[np.float64]
) -> None:
    """Log probability of each value of one attribute given each class.

    counts (IN) slots x classes: missing, then the values; logs (OUT) the same shape. Missing has
    no evidence unless it is a value that occurs. A class without a single value, and without
    pseudo-counts, looks like all classes together.
    """
    n_slots, n_classes = counts.shape
    first = 1
    if missing_is_value:
        for c in range(n_classes):
            if counts[0, c] > 0.0:
                first = 0
    for c in range(n_classes):
        whole = alpha * (n_slots - first)
        for v in range(first, n_slots):
            whole += counts[v, c]
        logs[0, c] = 0.0
        for v in range(first, n_slots):
            if whole > 0.0:
                logs[v, c] = log_share(counts[v, c] + alpha, whole)
            else:
                everyone = counts[first:].sum()
                logs[v, c] = log_share(counts[v].sum(), everyone) if everyone > 0.0 else 0.0


@njit(cache=True, nogil=True)
def cross_validate(
    slots: NDArray[np.uint16],
    rows: NDArray[np.intp],
    n_values: NDArray[np.intp],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    folds: NDArray[np.int64],
    n_folds: int,
    n_classes: int,
    alpha: float,
    missing_is_value: bool,
    correct: NDArray[np.bool_],
) -> None:
    """Which rows naive Bayes gets right when it has not seen their fold (OUT).

    slots (IN) all rows x attributes, 0 is missing; rows (IN) those to look at; n_values (IN) per
    attribute. A fold's model is the sum of the other folds' tables: nothing is fitted again. A row
    for which the other folds have no row at all counts as an error; ties go to the first class.
    """
    n_attributes = len(n_values)
    offsets = np.zeros(n_attributes + 1, dtype=np.intp)
    for j in range(n_attributes):
        offsets[j + 1] = offsets[j] + n_values[j] + 1
    counts = np.zeros((n_folds, offsets[-1], n_classes))
    totals = np.zeros((n_folds, n_classes))
    fold = -1
    own = counts[0]
    for i in rows:
        if folds[i] != fold:  # rows of one fold mostly stand together
            fold = folds[i]
            own = counts[fold]
        g, w = groups[i], weight[i]
        totals[fold, g] += w
        for j in range(n_attributes):
            own[offsets[j] + slots[i, j], g] += w
    logs = np.empty_like(counts)
    prior = np.empty_like(totals)
    trained = np.zeros(n_folds, dtype=np.bool_)
    whole, whole_totals = counts.sum(axis=0), totals.sum(axis=0)
    for f in range(n_folds):
        others = whole_totals - totals[f]
        n = others.sum()
        trained[f] = n > 0.0
        if not trained[f] or not totals[f].any():
            continue
        for c in range(n_classes):
            prior[f, c] = log_share(others[c], n) if others[c] > 0.0 else ABSENT
        rest = whole - counts[f]
        for j in range(n_attributes):
            span = slice(offsets[j], offsets[j + 1])
            fill_logs(rest[span], alpha, missing_is_value, logs[f, span])
    fold = -1
    table = logs[0]
    score = np.empty(n_classes)
    for i in rows:
        if folds[i] != fold:
            fold = folds[i]
            table = logs[fold]
        correct[i] = trained[fold] and groups[i] == _best_class(
            slots[i], offsets, table, prior[fold], score
        )


@njit(cache=True, nogil=True)
def _best_class(
    slots: NDArray[np.uint16],
    offsets: NDArray[np.intp],
    table: NDArray[np.float64],
    prior: NDArray[np.float64],
    score: NDArray[np.float64],
) -> int:
    """The first class of the highest score; ``score`` is scratch."""
    n_classes = len(prior)
    if n_classes == 2:  # the most common case: no inner loop
        first, second = prior[0], prior[1]
        for j in range(len(slots)):
            at = offsets[j] + slots[j]
            first += table[at, 0]
            second += table[at, 1]
        return 1 if second > first else 0
    score[:] = prior
    for j in range(len(slots)):
        at = offsets[j] + slots[j]
        for c in range(n_classes):
            score[c] += table[at, c]
    best = 0
    for c in range(1, n_classes):
        if score[c] > score[best]:
            best = c
    return best


@njit(cache=True, nogil=True)
def cross_validate_parts(
    slots: NDArray[np.uint16],
    order: NDArray[np.intp],
    edges: NDArray[np.intp],
    n_values: NDArray[np.intp],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    folds: NDArray[np.int64],
    n_folds: int,
    n_classes: int,
    alpha: float,
    missing_is_value: bool,
    correct: NDArray[np.bool_],
) -> None:
    """`cross_validate` for each part: its rows stand in order (IN) between two edges (IN)."""
    for p in range(len(edges) - 1):
        cross_validate(
            slots,
            order[edges[p] : edges[p + 1]],
            n_values[p],
            groups,
            weight,
            folds,
            n_folds,
            n_classes,
            alpha,
            missing_is_value,
            correct,
        )


@njit(cache=True, nogil=True)
def add_table(
    codes: NDArray[Any], wrap: int, mask: int, logs: NDArray[np.float64], joint: NDArray[np.float64]
) -> None:
    """Add to each row (OUT, rows x classes) the evidence of its slot (IN, slots x classes)."""
    n_classes = joint.shape[1]
    if n_classes == 2:  # the most common case: no inner loop
        for i in range(len(codes)):
            slot = (np.int64(codes[i]) + wrap) & mask
            joint[i, 0] += logs[slot, 0]
            joint[i, 1] += logs[slot, 1]
        return
    for i in range(len(codes)):
        slot = (np.int64(codes[i]) + wrap) & mask
        for c in range(n_classes):
            joint[i, c] += logs[slot, c]


@njit(cache=True, nogil=True)
def add_gaussian(
    values: NDArray[np.float64],
    peak: NDArray[np.float64],
    mean: NDArray[np.float64],
    deviation: NDArray[np.float64],
    missing: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> int:
    """Add to each row (OUT) the log density of its value: peak - ((x - mean) / deviation)**2 / 2.

    Returns the position of the first infinite value, or -1.
    """
    infinite = -1
    for i in range(len(values)):
        x = values[i]
        if x != x:
            for c in range(len(peak)):
                joint[i, c] += missing[c]
            continue
        if infinite < 0 and (x == np.inf or x == -np.inf):
            infinite = i
        for c in range(len(peak)):
            z = (x - mean[c]) / deviation[c]
            joint[i, c] += peak[c] - min(0.5 * z * z, FARTHEST)
    return infinite


@njit(cache=True, nogil=True)
def normalize(joint: NDArray[np.float64]) -> None:
    """Joint log probabilities to probabilities of classes, row by row, in place."""
    for i in range(joint.shape[0]):
        largest = -np.inf
        for c in range(joint.shape[1]):
            largest = max(largest, joint[i, c])
        total = 0.0
        for c in range(joint.shape[1]):
            joint[i, c] = math.exp(joint[i, c] - largest)
            total += joint[i, c]
        for c in range(joint.shape[1]):
            joint[i, c] /= total


@njit(cache=True, nogil=True)
def add_cells(
    codes: NDArray[np.uint16],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> None:
    """Add to each row (OUT, rows x classes) the evidence of its cells (IN, runs x rows)."""
    for r in range(len(codes)):
        add_table(codes[r], 0, _NO_MASK, logs[starts[r] : starts[r + 1]], joint)


@njit(cache=True, nogil=True)
def judge_many(
    codes: NDArray[np.uint16],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    prior: NDArray[np.float64],
    groups: NDArray[Any],
    margin: NDArray[np.float64],
    hit: NDArray[np.bool_],
) -> None:
    """Margin of each row's own class over the mean, and whether it is found (both OUT)."""
    n_classes = len(prior)
    scores = np.empty((_JUDGED, n_classes))
    for first in range(0, len(groups), _JUDGED):
        m = min(_JUDGED, len(groups) - first)
        for i in range(m):
            scores[i] = prior
        add_cells(codes[:, first : first + m], starts, logs, scores[:m])
        for i in range(m):
            largest, total = -np.inf, 0.0
            for c in range(n_classes):
                total += scores[i, c]
                largest = max(largest, scores[i, c])
            best = 0
            while scores[i, best] < largest - TIE:
                best += 1
            margin[first + i] = scores[i, groups[first + i]] - total / n_classes
            hit[first + i] = best == groups[first + i]


@njit(cache=True, nogil=True)
def judge_two(
    codes: NDArray[np.uint16],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    prior: NDArray[np.float64],
    groups: NDArray[Any],
    margin: NDArray[np.float64],
    hit: NDArray[np.bool_],
) -> None:
    """`judge_many` for two classes, whose logs and prior (IN) are centred: only the row's own
    class is looked up.
    """
    least = np.array([-TIE / 2, TIE / 2])  # the first class wins ties
    for first in range(0, len(groups), _JUDGED):
        m = min(_JUDGED, len(groups) - first)
        own, of = margin[first : first + m], groups[first : first + m]
        for i in range(m):
            own[i] = prior[of[i]]
        for r in range(0, len(codes) - 1, 2):  # two runs at a time
            one, two = logs[starts[r] : starts[r + 1]], logs[starts[r + 1] : starts[r + 2]]
            code, next_code = codes[r, first : first + m], codes[r + 1, first : first + m]
            for i in range(m):
                own[i] += one[code[i], of[i]] + two[next_code[i], of[i]]
        if len(codes) % 2:
            one, code = logs[starts[-2] :], codes[-1, first : first + m]
            for i in range(m):
                own[i] += one[code[i], of[i]]
        for i in range(m):
            hit[first + i] = own[i] >= least[of[i]]
