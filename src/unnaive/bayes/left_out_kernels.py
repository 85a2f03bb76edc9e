"""Kernels of coded rows that are judged as if they had not been counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import JUDGED, add_cells, compare_classes
from unnaive.common.kernels import kernel


@kernel
def judge_left_out(
    codes: NDArray[Any],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    own: NDArray[np.float64],
    prior: NDArray[np.float64],
    groups: NDArray[Any],
    margin: NDArray[np.float64],
    hit: NDArray[np.bool_],
) -> None:
    """Margin of each row's own class over the mean, and whether it is found (both OUT).

    ``logs`` and ``own`` (IN, cells x classes) are the evidence for other classes and for a row's
    own; ``codes`` (IN, runs x rows) its cells.
    """
    scores, own_scores = np.empty((JUDGED, len(prior))), np.empty(JUDGED)
    for first in range(0, len(groups), JUDGED):
        last = min(first + JUDGED, len(groups))
        m, of, cells = last - first, groups[first:last], codes[:, first:last]
        for i in range(m):
            scores[i], own_scores[i] = prior, prior[of[i]]
        add_cells(cells, starts, logs, scores[:m])
        for r in range(len(codes)):
            for i in range(m):
                own_scores[i] += own[starts[r] + cells[r, i], of[i]]
        for i in range(m):
            scores[i, of[i]] = own_scores[i]
        compare_classes(scores[:m], of, margin[first:last], hit[first:last])


@kernel
def fill_own_evidence(
    codes: NDArray[Any],
    stride: int,
    places: NDArray[np.intp],
    groups: NDArray[Any],
    without: NDArray[np.float64],
    own: NDArray[np.float64],
    slots: NDArray[np.uint16],
) -> None:
    """The evidence of one column for each coded row's own class (OUT), and its slots (OUT).

    ``codes`` (IN) are cells of several columns; the column's values among them follow each other at
    a stride, and ``places`` says which slot each is of ``without`` (IN, slots x classes).
    """
    width = len(places)
    for i in range(len(groups)):
        slot = places[(np.int64(codes[i]) // stride) % width]
        slots[i], own[i] = slot, without[slot, groups[i]]


@kernel
def fill_evidence(
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    own: NDArray[np.float64],
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
    starts: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None:
    """The prior, then the evidence of all columns for rows (OUT, rows x (1 + columns) x classes).

    ``slots`` and ``own`` (IN, columns x rows) are the slots of rows and the evidence for their own
    classes; ``logs`` (IN) has the slots of all columns x classes, those of each from its start.
    """
    n_columns, n_classes = len(own), len(prior)
    for i in range(len(groups)):
        row, g = out[i], groups[i]
        for c in range(n_classes):
            row[0, c] = prior[c]
        for j in range(n_columns):
            slot = starts[j] + np.int64(slots[j, i])
            for c in range(n_classes):
                row[1 + j, c] = logs[slot, c]
            row[1 + j, g] = own[j, i]


@kernel
def _log_ratio(left: float, whole: float) -> float:
    """The logarithm of a share; minus infinity where there is none."""
    return math.log(left / whole) if left > 0.0 and whole > 0.0 else -np.inf


@kernel
def replace_own_evidence(
    slots: NDArray[np.uint16],
    groups: NDArray[Any],
    units: NDArray[np.float64],
    counts: NDArray[np.float64],
    totals: NDArray[np.float64],
    pseudo: float,
    all_pseudo: float,
    vote: float,
    silent: int,
    own: NDArray[np.float64],
) -> None:
    """Evidence of one column for each row's own class, without the row (OUT).

    ``counts`` (IN) is classes x slots x rounds, ``totals`` (IN) classes x rounds their sums,
    ``units`` (IN, rows x rounds) what the row weighs in each round; all rounds have one vote.
    ``pseudo`` and ``all_pseudo`` are added to counts and totals. Slots below ``silent`` have no
    evidence; where nothing would be left of a count, what ``own`` holds stays.
    """
    for i in range(len(groups)):
        slot, g = slots[i], groups[i]
        if slot < silent:
            continue
        log, left, whole = 0.0, 1.0, 1.0
        of_slot, of_class, unit = counts[g, slot], totals[g], units[i]
        for r in range(len(unit)):
            left *= max(of_slot[r] - unit[r], 0.0) + pseudo
            whole *= max(of_class[r] - unit[r], 0.0) + all_pseudo
            if r % 8 == 7:  # products of more could be too large or too small for a number
                log += _log_ratio(left, whole)
                left, whole = 1.0, 1.0
        log += _log_ratio(left, whole)
        if log > -np.inf:
            own[i] = vote * log
