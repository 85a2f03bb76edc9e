"""Slow, obvious twins of the fast code, written straight from the definitions."""

from __future__ import annotations

import math
import struct
from collections import Counter
from fractions import Fraction
from statistics import NormalDist

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


# ---------------------------------------------------------------------------------------------
# NBTree, straight from Kohavi's figure 3: naive Bayes is fitted anew for every fold of every child.
# A table is a list of rows, None is missing; kinds says "numeric" or "nominal" per attribute.
# ---------------------------------------------------------------------------------------------

IMPOSSIBLE = -1e8
ABSENT = -1e12


def log_share(part, whole):
    return math.log(part / whole) if part > 0 else IMPOSSIBLE


class NBTree:
    def __init__(
        self,
        kinds,
        domains,
        classes,
        n_folds,
        alpha=0.0,
        significance=None,
        reduction=0.05,
        smallest=30,
    ):
        self.significance = significance
        self.kinds, self.domains, self.classes = kinds, domains, classes
        self.n_folds, self.alpha = n_folds, alpha
        self.reduction, self.smallest = reduction, smallest

    def grow(self, data):
        """data: list of (row, label, weight, fold). Returns a nested dict."""
        right = self.right(data)
        whole = sum(w for _, _, w, _ in data)
        utility = sum(w for (_, _, w, _), r in zip(data, right, strict=True) if r) / whole
        node = {"rows": whole, "utility": utility, "attribute": None, "candidates": {}}
        node["right"] = right
        if whole < self.smallest or all(right):
            return node
        best = None
        for j in self.asked(data):
            test = self.test(data, j)
            if test is None:
                continue
            children = [[d for d in data if test(d[0][j]) == k] for k in range(test.size)]
            after = self.joined(data, right, test, j, map(self.right, children))
            gained = sum(w for (_, _, w, _), r in zip(data, after, strict=True) if r) / whole
            node["candidates"][j] = gained
            if best is None or gained > best[0]:
                best = (gained, j, test, children, after)
        if best is None:
            return node
        error, after = 1.0 - utility, 1.0 - best[0]
        if error - after > self.reduction * error:
            _, node["attribute"], test, children = best[:4]
            node["threshold"] = test.threshold
            node["children"] = [self.grow(child) for child in children]
            self.prune(node, data, right, test)
        return node

    def asked(self, data):
        """Attributes to compare."""
        return range(len(self.kinds))

    def joined(self, data, right, test, j, answers):
        """Whether each row is right by its child's answers, or by the node's if it has no child."""
        own = [iter(answer) for answer in answers]
        return [
            was if test(x[j]) is None else next(own[test(x[j])])
            for (x, _, _, _), was in zip(data, right, strict=True)
        ]

    def prune(self, node, data, right, test):
        """Cut the children off unless they are better than the node beyond chance."""
        answers = (child["right"] for child in node["children"])
        after = self.joined(data, right, test, node["attribute"], answers)
        if self.beyond_chance(data, right, after):
            node["right"] = after
        else:
            node["attribute"] = None

    def beyond_chance(self, data, before, after):
        """Sign test, by the normal distribution, over rows that changed."""
        if self.significance is None:
            return True
        pairs = list(zip((w for _, _, w, _ in data), before, after, strict=True))
        mended = sum(w for w, b, a in pairs if a and not b)
        broken = sum(w for w, b, a in pairs if b and not a)
        if mended + broken == 0:
            return False
        chance = 1 - NormalDist().cdf((mended - broken) / math.sqrt(mended + broken))
        return chance <= self.significance

    def test(self, data, j):
        """A function from value to child, None for missing; or None where all answer alike."""
        present = [(x[j], label, w) for x, label, w, _ in data if x[j] is not None]
        if self.kinds[j] == "nominal":
            values = sorted({v for v, _, _ in present})
            if len(values) < 2:
                return None
            return Question(len(values), None, lambda v: values.index(v) if v in values else None)
        cut = best_threshold(*zip(*present, strict=True)) if present else None
        if cut is None:
            return None
        return Question(2, cut, lambda v: None if v is None else int(v > cut))

    def right(self, data):
        """Whether each row is right under cross-validation; numbers are cut once for all folds."""
        cuts = [self.cuts(data, j) for j in range(len(self.kinds))]
        coded = [
            ([self.code(x, j, cuts[j]) for j in range(len(x))], y, w, f) for x, y, w, f in data
        ]
        models = {f: self.fit([d for d in coded if d[3] != f], cuts) for f in range(self.n_folds)}
        return [
            models[f] is not None and self.predict(models[f], row) == label
            for row, label, _, f in coded
        ]

    def cuts(self, data, j):
        if self.kinds[j] == "nominal":
            return None
        rows = [(x[j], label, w) for x, label, w, _ in data if x[j] is not None]
        return mdl_cuts(*map(list, zip(*rows, strict=True))) if rows else []

    def code(self, row, j, cuts):
        value = row[j]
        if value is None or cuts is None:
            return value
        return sum(value > cut for cut in cuts)

    def fit(self, data, cuts):
        whole = sum(w for _, _, w, _ in data)
        if not whole:
            return None
        totals = [sum(w for _, y, w, _ in data if y == c) for c in self.classes]
        prior = [log_share(n, whole) if n else ABSENT for n in totals]
        tables = []
        for j, own in enumerate(cuts):
            values = self.domains[j] if own is None else range(len(own) + 1)
            count = Counter()
            for row, y, w, _ in data:
                if row[j] is not None:
                    count[row[j], y] += w
            everyone = sum(count.values())
            table = {}
            for c in self.classes:
                n = sum(count[v, c] for v in values) + self.alpha * len(values)
                for v in values:
                    pooled = sum(count[v, k] for k in self.classes)
                    if n > 0:
                        table[v, c] = log_share(count[v, c] + self.alpha, n)
                    else:
                        table[v, c] = log_share(pooled, everyone) if everyone else 0.0
            tables.append(table)
        return prior, tables

    def predict(self, model, row):
        prior, tables = model
        scores = []
        for c, start in zip(self.classes, prior, strict=True):
            score = start
            for value, table in zip(row, tables, strict=True):
                score += table[value, c] if value is not None else 0.0
            scores.append(score)
        return self.classes[scores.index(max(scores))]


class Question:
    def __init__(self, size, threshold, child):
        self.size, self.threshold, self.child = size, threshold, child

    def __call__(self, value):
        return self.child(value)


def best_threshold(values, labels, weights):
    """Midpoint of least class entropy among the boundary points; the lowest of equals."""
    cells: dict[float, Counter] = {}
    for v, label, w in zip(values, labels, weights, strict=True):
        cells.setdefault(v, Counter())[label] += w
    ordered = sorted(cells.items())
    n = sum(weights)
    found = []
    for i in range(1, len(ordered)):
        before, after = ordered[i - 1][1], ordered[i][1]
        if len(before) == 1 and before.keys() == after.keys():
            continue
        left = sum((c for _, c in ordered[:i]), Counter())
        right = sum((c for _, c in ordered[i:]), Counter())
        bits = sum(left.values()) / n * entropy(left) + sum(right.values()) / n * entropy(right)
        found.append((bits, (ordered[i - 1][0] + ordered[i][0]) / 2))
    if not found:
        return None
    least = min(bits for bits, _ in found)
    return next(cut for bits, cut in found if bits <= least + 1e-11)
