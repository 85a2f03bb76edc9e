"""Slow, obvious twins of kernel densities: direct sums over all pairs of rows.

Written from Wang and Yuan's formulas: (8) the density, its leave-one-out cross-entropy, the grid of
c from 0.20 to 0.80. Positions are values scaled by the smallest and largest of the rows at hand;
all rows of a class weigh one or their weight.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

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


def cross_entropy(rows, weights, h):
    """Minus the log density of all rows, each among the others; a weight of 2 is two rows.

    A row without others has no density and is passed over. Logarithms are added, not densities, so
    that a row far from all others has one, however small.
    """
    rows, weights = np.asarray(rows, dtype=float), np.asarray(weights, dtype=float)
    gone = np.minimum(weights, 1.0)
    others = weights[None, :] - np.diag(gone)
    z = (rows[:, None] - rows[None, :]) / h
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = logsumexp(-0.5 * z * z, axis=1, b=others)
        logs -= np.log((weights.sum() - gone) * h * math.sqrt(2 * math.pi))
    there = others.max(axis=1) > 0
    return -(weights * logs)[there].sum()


def cross_entropies(classes):
    """For each candidate c, over all classes: pairs of positions and weights."""
    return [sum(cross_entropy(x, w, c / math.sqrt(sum(w))) for x, w in classes) for c in CANDIDATES]


def best_factor(classes):
    """The first factor of least cross-entropy; equal but for rounding is equal."""
    return _best_factor(tuple((tuple(x), tuple(w)) for x, w in classes))


@lru_cache(maxsize=4096)  # twins of trees ask for the same rows again and again
def _best_factor(classes):
    found = np.round(cross_entropies(classes), 9).tolist()
    return CANDIDATES[found.index(min(found))]


FACTORS = [4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625]


def conditional_likelihoods(classes, floor, least):
    """For each factor, the log probability of the rows' classes, each row left out of its class."""
    everyone = np.concatenate([x for x, _ in classes])
    every_weight = np.concatenate([w for _, w in classes])
    mean = np.average(everyone, weights=every_weight)
    spread = math.sqrt(np.average((everyone - mean) ** 2, weights=every_weight))
    found = []
    for factor in FACTORS:
        widths = [max(factor * spread * w.sum() ** -0.2, least) for _, w in classes]
        total = 0.0
        for c, (x, w) in enumerate(classes):
            scores = [
                (density(x, *own, h) + floor) * own[1].sum()
                for own, h in zip(classes, widths, strict=True)
            ]
            n = w.sum()
            for i in range(len(x)):
                others = w.copy()
                others[i] -= 1
                if n > 1:
                    scores[c][i] = (density(x[i : i + 1], x, others, widths[c])[0] + floor) * (
                        n - 1
                    )
                    total += w[i] * math.log(scores[c][i] / sum(score[i] for score in scores))
        found.append((total, widths))
    return found


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
    c = best_factor(classes) if bandwidth is None else bandwidth
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
