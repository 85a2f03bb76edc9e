"""Slow, obvious twins of the fast code, written straight from the definitions."""

from __future__ import annotations

import math
import struct
from collections import Counter
from fractions import Fraction

import numpy as np


def ordered_key(value: float) -> int:
    """An integer that sorts like the float."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value + 0.0))
    return (~bits & (2**64 - 1)) if bits >> 63 else bits | (1 << 63)


def grid_shift(values, limit: int) -> int:
    """Smallest number of low bits to drop so that at most ``limit`` keys are left."""
    keys = {ordered_key(v) for v in values if not math.isnan(v)}
    shift = 0
    while len({k >> shift for k in keys}) > limit:
        shift += 1
    return shift


def grid_cells(values, limit: int) -> list[tuple[float, float]]:
    """Smallest and largest value of each cell, ascending."""
    shift = grid_shift(values, limit)
    cells: dict[int, list[float]] = {}
    for v in values:
        if not math.isnan(v):
            cells.setdefault(ordered_key(v) >> shift, []).append(v + 0.0)
    return [(min(vs), max(vs)) for _, vs in sorted(cells.items())]


def count_table(slots, groups, weights, n_slots: int, n_groups: int) -> np.ndarray:
    """Weight of the rows per slot and group."""
    out = np.zeros((n_slots, n_groups))
    for slot, group, weight in zip(slots, groups, weights, strict=True):
        out[slot, group] += weight
    return out


def moments(values, weights) -> tuple[float, float]:
    """Mean and variance by exact arithmetic, rounded once."""
    kept = [
        (Fraction(v), Fraction(w))
        for v, w in zip(values, weights, strict=True)
        if not math.isnan(v)
    ]
    total = sum(w for _, w in kept)
    mean = sum(w * v for v, w in kept) / total
    variance = sum(w * v * v for v, w in kept) / total - mean * mean
    return float(mean), float(variance)


def entropy(labels: Counter) -> float:
    n = sum(labels.values())
    return -sum(c / n * math.log2(c / n) for c in labels.values() if c > 0)


def mdl_cuts(values, labels, weights=None) -> list[float]:
    """Fayyad and Irani's recursion on sorted distinct values: every boundary point is tried."""
    weights = [1] * len(values) if weights is None else weights
    distinct: dict[float, Counter] = {}
    for v, label, w in zip(values, labels, weights, strict=True):
        if not math.isnan(v):
            distinct.setdefault(v, Counter())[label] += w
    return _mdl(sorted(distinct.items()))


def _mdl(cells: list[tuple[float, Counter]]) -> list[float]:
    whole = sum((labels for _, labels in cells), Counter())
    n = sum(whole.values())
    splits = []
    for i in range(1, len(cells)):
        before, after = cells[i - 1][1], cells[i][1]
        if len(before) == 1 and before.keys() == after.keys():
            continue  # not a boundary point
        left = sum((labels for _, labels in cells[:i]), Counter())
        right = sum((labels for _, labels in cells[i:]), Counter())
        n1, n2 = sum(left.values()), sum(right.values())
        splits.append((n1 / n * entropy(left) + n2 / n * entropy(right), i, left, right))
    if not splits or n <= 1:
        return []
    least = min(e for e, *_ in splits)
    e, i, left, right = next(s for s in splits if s[0] <= least + 1e-11)
    k, k1, k2 = len(whole), len(left), len(right)
    delta = math.log2(3**k - 2) - (k * entropy(whole) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(whole) - e <= math.log2(n - 1) / n + delta / n:
        return []
    cut = (cells[i - 1][0] + cells[i][0]) / 2
    return [*_mdl(cells[:i]), cut, *_mdl(cells[i:])]


def naive_bayes_joint(train, labels, weights, row, alpha: float, classes) -> list[float]:
    """Log P(class, row) from tables of values, None for missing: counts, Laplace, logs."""
    joint = []
    whole = sum(weights)
    for c in classes:
        own = [(r, w) for r, label, w in zip(train, labels, weights, strict=True) if label == c]
        score = math.log(sum(w for _, w in own) / whole)
        for j, value in enumerate(row):
            values = {r[j] for r in train if r[j] is not None}
            if value not in values:
                continue  # missing or never seen
            n = sum(w for r, w in own if r[j] is not None)
            same = sum(w for r, w in own if r[j] == value)
            score += math.log((same + alpha) / (n + alpha * len(values)))
        joint.append(score)
    return joint
