"""Kernels that add evidence to rows and turn it into probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.density.kernels import look_up

# Stands for log 0: so low that the class with the fewest impossible values wins, and finite, so
# that scores add up.
IMPOSSIBLE = -1e8
# Log prior of a class without rows: no number of impossible values makes it the best.
ABSENT = -1e12
# A value more than 100 standard deviations away tells classes apart no further.
FARTHEST = 0.5 * 100.0**2
# Scores closer than this differ by rounding only.
TIE = 1e-9
JUDGED = 2048  # rows whose scores stay in cache
_NO_MASK = 0xFFFF
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_WHOLE = 1.5 * 2.0**52  # adding this rounds to a whole number, which the lowest bits then hold


@kernel(inline="always")
def exponential(x: float) -> float:
    """Exponential of a number from -40 to 0, in plain arithmetic: the same alone and in vectors."""
    shifted = x * _LOG2_E + _WHOLE
    n = shifted - _WHOLE
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The lowest bits of `shifted` are n: add it to the exponent.
    exponent = np.float64(shifted).view(np.int64) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@kernel
def log_share(part: float, whole: float) -> float:
    """Logarithm of a share, with a floor instead of minus infinity."""
    return math.log(part / whole) if part > 0.0 else IMPOSSIBLE


@kernel
def fill_logs(
    counts: NDArray[np.float64],
    less: NDArray[np.float64],
    present: NDArray[np.float64],
    alpha: float,
    missing_is_value: bool,
    needed: NDArray[np.bool_],
    scratch: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> None:
    """Log probability of each value of one attribute given each class.

    counts (IN) slots x classes: missing, then the values; less (IN) what is to be taken from them;
    present (IN) what then is the weight of each class's values, without missing; needed (IN) the
    slots that anyone asks for; scratch has two rows of classes; logs (OUT) has at least as many
    slots and classes. Missing has no evidence unless it is a value that occurs. A class without a
    single value, and without pseudo-counts, looks like all classes together.
    """
    n_slots, n_classes = counts.shape
    whole, nothing = scratch[0], scratch[1]
    first = 1
    if missing_is_value:
        for c in range(n_classes):
            if counts[0, c] - less[0, c] > 0.0:
                first = 0
    everyone = 0.0
    for c in range(n_classes):
        n = present[c]
        if first == 0:
            n += counts[0, c] - less[0, c]
        else:
            logs[0, c] = 0.0
        everyone += n
        whole[c] = n + alpha * (n_slots - first)
        if whole[c] > 0.0:
            nothing[c] = log_share(alpha, whole[c])  # most counts of a small table are zero
    for v in range(first, n_slots):
        if not needed[v]:
            continue
        for c in range(n_classes):
            n = counts[v, c] - less[v, c]
            if whole[c] > 0.0:
                logs[v, c] = log_share(n + alpha, whole[c]) if n != 0.0 else nothing[c]
            else:
                n = counts[v].sum() - less[v].sum()
                logs[v, c] = log_share(n, everyone) if everyone > 0.0 else 0.0


@kernel
def fill_all_logs(
    counts: NDArray[np.float64], alpha: float, missing_is_value: bool, logs: NDArray[np.float64]
) -> None:
    """`fill_logs` of a whole table (IN, slots x classes: missing, then the values)."""
    n_slots, n_classes = counts.shape
    present = np.zeros(n_classes)
    for v in range(1, n_slots):
        for c in range(n_classes):
            present[c] += counts[v, c]
    none, every = np.zeros((n_slots, n_classes)), np.ones(n_slots, dtype=np.bool_)
    scratch = np.empty((2, n_classes))
    fill_logs(counts, none, present, alpha, missing_is_value, every, scratch, logs)


@kernel
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


@kernel
def add_pair(
    first: NDArray[Any],
    second: NDArray[Any],
    logs: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> None:
    """Add to each row (OUT, rows x classes) the evidence of its two slots (IN, slots x slots x
    classes).
    """
    n_classes = joint.shape[1]
    if n_classes == 2:
        for i in range(len(first)):
            joint[i, 0] += logs[first[i], second[i], 0]
            joint[i, 1] += logs[first[i], second[i], 1]
        return
    for i in range(len(first)):
        for c in range(n_classes):
            joint[i, c] += logs[first[i], second[i], c]


@kernel
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


@kernel
def add_densities(
    values: NDArray[np.float64],
    low: float,
    half_range: float,
    start: NDArray[np.float64],
    per_step: NDArray[np.float64],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    logs: NDArray[np.float64],
    there: NDArray[np.float64],
    missing: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> int:
    """Add to each row (OUT) the log density of its value, from tables of nodes (`Densities`).

    Returns the position of the first infinite value, or -1.
    """
    infinite = -1
    inverse = 1.0 / half_range
    for c in range(len(start)):
        class_logs = logs[first[c] : last[c]]
        scale = inverse * per_step[c]
        shift = start[c] * per_step[c]
        for i in range(len(values)):
            x = values[i]
            if x != x:
                joint[i, c] += missing[c]
                continue
            if infinite < 0 and (x == np.inf or x == -np.inf):
                infinite = i
            joint[i, c] += there[c] + look_up((0.5 * x - 0.5 * low) * scale - shift, class_logs)
    return infinite


@kernel
def log_sum(logs: NDArray[np.float64], start: int, step: int, n: int) -> float:
    """The logarithm of the sum of n numbers given by their logs, every step-th from the start."""
    largest = logs[start]
    for k in range(1, n):
        largest = max(largest, logs[start + k * step])
    total = 0.0
    for k in range(n):
        total += math.exp(logs[start + k * step] - largest)
    return largest + math.log(total)


@kernel
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


@kernel
def add_cells(
    codes: NDArray[np.uint16],
    starts: NDArray[np.intp],
    logs: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> None:
    """Add to each row (OUT, rows x classes) the evidence of its cells (IN, runs x rows)."""
    for r in range(len(codes)):
        add_table(codes[r], 0, _NO_MASK, logs[starts[r] : starts[r + 1]], joint)


@kernel
def compare_classes(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    margin: NDArray[np.float64],
    hit: NDArray[np.bool_],
) -> None:
    """Margin of each row's own class over the mean, and whether it is found (both OUT)."""
    n_classes = scores.shape[1]
    for i in range(len(scores)):
        largest, total = -np.inf, 0.0
        for c in range(n_classes):
            total += scores[i, c]
            largest = max(largest, scores[i, c])
        best = 0
        while scores[i, best] < largest - TIE:
            best += 1
        margin[i] = scores[i, groups[i]] - total / n_classes
        hit[i] = best == groups[i]


@kernel
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
    scores = np.empty((JUDGED, n_classes))
    for first in range(0, len(groups), JUDGED):
        m = min(JUDGED, len(groups) - first)
        for i in range(m):
            scores[i] = prior
        last = first + m
        add_cells(codes[:, first:last], starts, logs, scores[:m])
        compare_classes(scores[:m], groups[first:last], margin[first:last], hit[first:last])


@kernel
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
    for first in range(0, len(groups), JUDGED):
        m = min(JUDGED, len(groups) - first)
        margins, of = margin[first : first + m], groups[first : first + m]
        for i in range(m):
            margins[i] = prior[of[i]]
        for r in range(0, len(codes) - 1, 2):  # two runs at a time
            one, two = logs[starts[r] : starts[r + 1]], logs[starts[r + 1] : starts[r + 2]]
            code, next_code = codes[r, first : first + m], codes[r + 1, first : first + m]
            for i in range(m):
                margins[i] += one[code[i], of[i]] + two[next_code[i], of[i]]
        if len(codes) % 2:
            one, code = logs[starts[-2] :], codes[-1, first : first + m]
            for i in range(m):
                margins[i] += one[code[i], of[i]]
        for i in range(m):
            hit[first + i] = margins[i] >= least[of[i]]
