"""Slow, obvious twins of kernel densities: direct sums over all pairs of rows.

Positions are values scaled by the column's smallest and largest; all rows of a class weigh one or
their weight.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from reference import entropy

NARROWEST = 1 / 4096
CANDIDATES = [k / 100 for k in range(20, 81)]

# Columns that tests try: values given the class, 0, 1 or more.
SHAPES = {
    "normal": lambda rng, y: rng.normal(y, 1),
    "skewed": lambda rng, y: np.exp(1.5 * rng.normal(size=len(y)) + y),
    "very skewed": lambda rng, y: np.exp(4 * rng.normal(size=len(y)) + y),
    "few values": lambda rng, y: (rng.integers(0, 6, len(y)) + y).astype(float),
    "years": lambda rng, y: rng.normal(40 + 5 * y, 12).round(),
    "two hills": lambda rng, y: rng.normal(6 * (rng.random(len(y)) < 0.5) + y, 0.4),
    "mostly zero": lambda rng, y: np.where(rng.random(len(y)) < 0.8, 0, rng.exponential(1 + y)),
    "even": lambda rng, y: rng.random(len(y)) + 0.1 * y,
    "far rows": lambda rng, y: rng.standard_cauchy(len(y)) + y,
}


def normal(z):
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def scaled(values, low, high):
    return (np.asarray(values, dtype=float) - low) / (high - low)


def density(x, rows, weights, h):
    """Sum of kernels around the rows, at each x."""
    z = (np.asarray(x)[:, None] - np.asarray(rows)[None, :]) / h
    return (normal(z) * weights).sum(axis=1) / (sum(weights) * h)


def narrowest(values):
    """A sixth of the mean gap between neighbouring values, in units of the range."""
    return max(1 / (6 * max(len(set(values)) - 1, 1)), NARROWEST)


def width(c, n, least):
    """The paper's c / sqrt(n), but no narrower than ``least``."""
    return max(c / math.sqrt(n), least)


def cross_entropy(rows, weights, h, floor):
    """Minus the log density of all rows, each among the others; a weight of 2 is two rows."""
    rows, weights = np.asarray(rows), np.asarray(weights, dtype=float)
    z = (rows[:, None] - rows[None, :]) / h
    sums = (normal(z) * weights).sum(axis=1) - normal(np.zeros(1))  # itself once
    others = weights.sum() - 1
    found = sums.clip(0) / (others * h) if others > 0 else np.zeros(len(rows))
    return -(weights * np.log(found + floor)).sum()


def cross_entropies(classes, floor, least):
    """For each candidate c, over all classes: pairs of positions and weights."""
    return [
        sum(cross_entropy(x, w, width(c, sum(w), least), floor) for x, w in classes)
        for c in CANDIDATES
    ]


def best_factor(classes, floor, least):
    """The first factor of least cross-entropy; equal but for rounding is equal."""
    found = np.round(cross_entropies(classes, floor, least), 9).tolist()
    return CANDIDATES[found.index(min(found))]


# ---------------------------------------------------------------------------------------------
# The Bayes measure, and cuts where the most probable class changes
# ---------------------------------------------------------------------------------------------


def most_probable_by_density(values, labels, weights, at, floor, bandwidth=None):
    """The class of highest density times weight at each value of ``at``; the first of equals."""
    values, weights, labels = (
        np.asarray(values, float),
        np.asarray(weights, float),
        np.asarray(labels),
    )
    low, high = values.min(), values.max()
    p, q = scaled(values, low, high), scaled(at, low, high)
    names = sorted(set(labels.tolist()))
    classes = [(p[labels == c], weights[labels == c]) for c in names]
    least = narrowest(values)
    c = best_factor(classes, floor, least) if bandwidth is None else bandwidth
    scores = [
        (density(q, *own, width(c, own[1].sum(), least)) + floor) * own[1].sum() for own in classes
    ]
    return [names[k] for k in np.argmax(scores, axis=0)]


def measure(values, labels, weights, best):
    """Share of the weight whose class is the best of its value; ``best`` maps values to classes."""
    whole = sum(weights)
    commonest = Counter()
    for label, w in zip(labels, weights, strict=True):
        commonest[label] += w
    usual = min(commonest, key=lambda c: (-commonest[c], c))
    right = sum(
        w
        for v, label, w in zip(values, labels, weights, strict=True)
        if label == (usual if v is None else best[v])
    )
    return right / whole


def mdl_among(cells, allowed):
    """Fayyad and Irani's recursion over (value, Counter) cells; only some cuts are allowed.

    ``allowed`` holds the values that may stand first after a cut.
    """
    whole = sum((labels for _, labels in cells), Counter())
    n = sum(whole.values())
    splits = []
    for i in range(1, len(cells)):
        if cells[i][0] in allowed:
            left = sum((labels for _, labels in cells[:i]), Counter())
            right = sum((labels for _, labels in cells[i:]), Counter())
            share = sum(left.values()) / n
            splits.append((share * entropy(left) + (1 - share) * entropy(right), i, left, right))
    if not splits or n <= 1:
        return []
    least = min(e for e, *_ in splits)
    e, i, left, right = next(s for s in splits if s[0] <= least + 1e-11)
    k, k1, k2 = len(whole), len(left), len(right)
    cost = math.log2(3**k - 2) - (k * entropy(whole) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(whole) - e <= math.log2(n - 1) / n + cost / n:
        return []
    cut = (cells[i - 1][0] + cells[i][0]) / 2
    return [*mdl_among(cells[:i], allowed), cut, *mdl_among(cells[i:], allowed)]


def bayes_cuts(values, labels, weights, floor, bandwidth=None):
    """Wang and Yuan, 1.2: boundaries where the most probable class changes, that pass MDL."""
    cells: dict[float, Counter] = {}
    for v, label, w in zip(values, labels, weights, strict=True):
        cells.setdefault(v, Counter())[label] += w
    ordered = sorted(cells.items())
    at = [v for v, _ in ordered]
    best = most_probable_by_density(values, labels, weights, at, floor, bandwidth)
    allowed = {at[i] for i in range(1, len(at)) if best[i] != best[i - 1]}
    return mdl_among(ordered, allowed)
