"""Kernels that judge tests by gain ratio (Quinlan's C4.5, releases 7 and 8)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.discretize.kernels import TIE, x_log_x

EPSILON = 1e-3  # C4.5's slack when it compares gains and weights
WIDEST = 25.0  # most rows that each side of a threshold must hold


@kernel
def _bits(x: float, ready: NDArray[np.float64]) -> float:
    """The bits x log2 x, from a table of whole numbers where x is one."""
    k = int(x)
    if k == x and k < len(ready):
        return ready[k]
    return x_log_x(x)


@kernel
def cells_of(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The codes that occur in a table (codes x classes, overwritten), less 0, and their rows."""
    size, n_classes = len(table) - 1, table.shape[1]
    cells = np.empty(size, dtype=np.int64)
    n_cells = 0
    for code in range(1, size + 1):
        here = False
        for c in range(n_classes):
            here |= table[code, c] > 0.0
        if here:
            table[n_cells] = table[code]
            cells[n_cells] = code
            n_cells += 1
    return cells[:n_cells], table[:n_cells]


@kernel
def count(
    codes: NDArray[np.uint16],
    rows: NDArray[np.int32],
    groups: NDArray[np.int64],
    weight: NDArray[np.float64],
    size: int,
    n_classes: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The codes that rows with a value have, ascending, and the class weights of each."""
    n = len(rows)
    if size * n_classes <= 4 * n + 512:
        table = np.zeros((size + 1, n_classes))
        for k in range(n):
            table[codes[rows[k]], groups[k]] += weight[k]
        return cells_of(table)
    keys = np.empty(n, dtype=np.int64)  # a few values of many: sort what is there
    n_known = 0
    for k in range(n):
        if codes[rows[k]] != 0:
            keys[n_known] = (np.int64(codes[rows[k]]) << 32) | k
            n_known += 1
    keys = keys[:n_known]
    keys.sort()
    cells = np.empty(n_known, dtype=np.int64)
    table = np.zeros((n_known, n_classes))
    n_cells = 0
    for key in keys:
        if n_cells == 0 or cells[n_cells - 1] != key >> 32:
            cells[n_cells] = key >> 32
            n_cells += 1
        row = key & 0xFFFFFFFF
        table[n_cells - 1, groups[row]] += weight[row]
    return cells[:n_cells], table[:n_cells]


@kernel
def best_threshold(
    table: NDArray[np.float64],
    total: NDArray[np.float64],
    known: float,
    items: float,
    least: float,
    by_ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[float, float, int, int]:
    """Where to cut ascending cells: bits gained, weight on the left, last cell there, tries.

    table (IN) cells x classes, total (IN) its sum, known (IN) the sum of that, items (IN) also with
    rows without a value. Each side must weigh ``least``; the cell is -1 where none does. The cut is
    the one of greatest gain, or (``by_ratio``) of greatest gain ratio among those whose gain is at
    least the mean of all tried.
    """
    n_classes = len(total)
    left = np.zeros(n_classes)
    in_left = in_right = n_left = 0.0
    for c in range(n_classes):
        in_right += _bits(total[c], ready)
    whole = _bits(known, ready) - in_right
    tie = TIE * (_bits(known, ready) + 1.0)
    # Gains of the cuts tried, the weight on their left, and the last cell there.
    cuts = np.empty((3, len(table) if by_ratio else 0))
    best, best_left, at, tries = np.inf, 0.0, -1, 0
    for k in range(len(table) - 1):
        for c in range(n_classes):
            add = table[k, c]
            if add > 0.0:
                right = total[c] - left[c]
                in_left += _bits(left[c] + add, ready) - _bits(left[c], ready)
                in_right += _bits(right - add, ready) - _bits(right, ready)
                left[c] += add
                n_left += add
        if n_left < least:
            continue
        if known - n_left < least:
            break
        bits = _bits(n_left, ready) - in_left + _bits(known - n_left, ready) - in_right
        if by_ratio:
            cuts[0, tries], cuts[1, tries], cuts[2, tries] = whole - bits, n_left, k
        elif bits < best - tie:
            best, best_left, at = bits, n_left, k
        tries += 1
    if by_ratio and tries:
        i = _best_ratio(cuts[0, :tries], cuts[1, :tries], known, items, ready)
        return cuts[0, i], cuts[1, i], int(cuts[2, i]), tries
    return whole - best, best_left, at, tries


@kernel
def _best_ratio(
    gains: NDArray[np.float64],
    lefts: NDArray[np.float64],
    known: float,
    items: float,
    ready: NDArray[np.float64],
) -> int:
    """The cut of greatest gain ratio among those of at least mean gain; the first of equals."""
    least = gains.mean() - EPSILON * items
    best, worth = 0, -np.inf
    for i in range(len(gains)):
        info = split_bits(items, known, lefts[i], ready)
        if gains[i] >= least and info > EPSILON * items and gains[i] / info > worth + TIE:
            best, worth = i, gains[i] / info
    return best


@kernel
def split_bits(items: float, known: float, left: float, ready: NDArray[np.float64]) -> float:
    """Bits that tell for all rows on which side of a threshold they are, or that it is missing."""
    info = _bits(items, ready) - _bits(left, ready) - _bits(known - left, ready)
    return info - _bits(items - known, ready)


@kernel
def judge_number(
    table: NDArray[np.float64],
    items: float,
    least: float,
    penalty: bool,
    by_ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[float, float, int]:
    """Gain and split information per row of the best threshold, and its cell; -1 for none."""
    n_classes = table.shape[1]
    total = np.zeros(n_classes)
    for k in range(len(table)):
        for c in range(n_classes):
            total[c] += table[k, c]
    known = total.sum()
    side = min(max(0.1 * known / n_classes, least), max(WIDEST, least))
    gained, left, at, tries = best_threshold(table, total, known, items, side, by_ratio, ready)
    if at < 0:
        return 0.0, 0.0, -1
    if penalty:
        gained -= math.log2(tries)
    if gained <= TIE * items:
        return 0.0, 0.0, -1
    return gained / items, split_bits(items, known, left, ready) / items, at


@kernel
def judge_values(
    table: NDArray[np.float64], items: float, least: float, ready: NDArray[np.float64]
) -> tuple[float, float, bool]:
    """Gain and split information per row of a child for each value, and whether two are large."""
    n_classes = table.shape[1]
    total = np.zeros(n_classes)
    known = after = parts = 0.0
    large = 0
    for v in range(len(table)):
        n = 0.0
        for c in range(n_classes):
            total[c] += table[v, c]
            n += table[v, c]
            after -= _bits(table[v, c], ready)
        after += _bits(n, ready)
        parts += _bits(n, ready)
        known += n
        large += n >= least
    before = _bits(known, ready)
    for c in range(n_classes):
        before -= _bits(total[c], ready)
    info = _bits(items, ready) - parts - _bits(items - known, ready)
    return (before - after) / items, info / items, large >= 2


@kernel
def choose(
    gain: NDArray[np.float64],
    info: NDArray[np.float64],
    possible: NDArray[np.bool_],
    ordinary: NDArray[np.bool_],
    ratio: bool,
) -> tuple[int, float]:
    """The test of greatest gain ratio among those of at least average gain, or -1.

    Discrete attributes with very many values do not count in the average.
    """
    average, n = 0.0, 0
    for j in range(len(gain)):
        if possible[j] and ordinary[j]:
            average += gain[j]
            n += 1
    if n:
        average /= n
    best, worth = -1, 0.0
    for j in range(len(gain)):
        if not possible[j] or (ratio and (gain[j] < average - EPSILON or info[j] <= EPSILON)):
            continue
        here = gain[j] / info[j] if ratio else gain[j]
        if here > worth + TIE:
            best, worth = j, here
    return best, worth
