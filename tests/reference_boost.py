"""Slow, obvious twin of evidence of columns and pairs: the model's formula, and rounds of boosting
from their definition, in plain Python.
"""

from __future__ import annotations

import math
from itertools import product


def joint(log_prior, columns, pairs, slots, pair_slots):
    """Log P(class, row) but for a constant: prior, then columns, then pairs, in order."""
    scores = list(log_prior)
    for j, table in enumerate(columns):
        scores = [s + e for s, e in zip(scores, table[slots[j]], strict=True)]
    for (a, b), table in pairs:
        own = table[pair_slots[a]][pair_slots[b]]
        scores = [s + e for s, e in zip(scores, own, strict=True)]
    return scores


def gradients(scores, group, weight):
    """Gradient and curvature of each score of a row; one score is the log odds of class 1."""
    if len(scores) == 1:
        shares, targets = [1 / (1 + math.exp(-scores[0]))], [float(group == 1)]
    else:
        total = sum(math.exp(s) for s in scores)
        shares = [math.exp(s) / total for s in scores]
        targets = [float(group == k) for k in range(len(scores))]
    return [(weight * (t - p), weight * p * (1 - p)) for p, t in zip(shares, targets, strict=True)]


class Sums:
    """Gradients, curvatures and weight of some rows."""

    def __init__(self, rows, n_scores):
        self.weight = sum(w for w, _ in rows)
        self.g = [sum(own[k][0] for _, own in rows) for k in range(n_scores)]
        self.h = [sum(own[k][1] for _, own in rows) for k in range(n_scores)]

    def gain(self, ridge):
        return sum(g * g / (h + ridge) for g, h in zip(self.g, self.h, strict=True))

    def step(self, rate, ridge):
        return [rate * g / (h + ridge) for g, h in zip(self.g, self.h, strict=True)]


class Boosting:
    """Rounds that visit one term after the other, each from fresh gradients.

    ``terms`` are lists of columns (one or two), ``sizes`` the slots of each column (missing,
    values, unseen), ``has_order`` whether they are numbers.
    """

    def __init__(
        self, terms, sizes, has_order, rate, ridge, least, missing_is_value=True, leaves=2
    ):
        self.terms, self.sizes, self.has_order, self.leaves = terms, sizes, has_order, leaves
        self.rate, self.ridge, self.least = rate, ridge, least
        self.lowest = 0 if missing_is_value else 1

    def fit(self, rows, groups, weights, start, n_rounds):
        """Tables of the terms, by cell, after so many rounds; rows are lists of slots."""
        scores = [list(start) for _ in rows]
        tables = [{} for _ in self.terms]
        for _ in range(n_rounds):
            for term, table in zip(self.terms, tables, strict=True):
                data = [
                    (tuple(row[j] for j in term), w, gradients(s, y, w))
                    for row, s, y, w in zip(rows, scores, groups, weights, strict=True)
                ]
                steps = self.column(term, data) if len(term) == 1 else self.pair(term, data)
                for cell, step in steps.items():
                    known = table.get(cell, [0.0] * len(start))
                    table[cell] = [t + e for t, e in zip(known, step, strict=True)]
                for score, (cell, _, _) in zip(scores, data, strict=True):
                    for k, e in enumerate(steps.get(cell, [0.0] * len(start))):
                        score[k] += e
        return tables

    def of(self, data, cells):
        inside = set(cells)
        return Sums([(w, own) for cell, w, own in data if cell in inside], len(data[0][2]))

    def ranked(self, data, axis, column):
        """Slots in the order in which they are cut."""
        lowest = 1 if len(data[0][0]) == 1 else self.lowest
        slots = list(range(lowest, self.sizes[column] - 1))
        if self.has_order[column]:
            return slots
        usable = [d for d in data if all(s >= lowest for s in d[0])]
        alone = {
            v: Sums([(w, own) for cell, w, own in usable if cell[axis] == v], len(data[0][2]))
            for v in slots
        }
        gains = [
            sum(s.g[k] ** 2 / (s.h[k] + self.ridge) for s in alone.values())
            for k in range(len(data[0][2]))
        ]
        k = gains.index(max(gains))
        return sorted(slots, key=lambda v: alone[v].g[k] / (alone[v].h[k] + self.ridge))

    def column(self, term, data):
        """Leaves by the best cut, or by one more in each; and one of missing values."""
        steps = {}
        missing = self.of(data, [(0,)])
        if self.lowest == 0 and missing.weight >= self.least:
            steps[0,] = missing.step(self.rate, self.ridge)
        leaves = self.cut(data, self.ranked(data, 0, term[0]))
        if len(leaves) == 2 and self.leaves == 4:
            leaves = [part for leaf in leaves for part in self.cut(data, leaf)]
        for leaf in leaves if len(leaves) > 1 else []:
            cells = [(v,) for v in leaf]
            steps |= dict.fromkeys(cells, self.of(data, cells).step(self.rate, self.ridge))
        return steps

    def cut(self, data, order):
        """Slots in order as two leaves, or as one where none can be cut off."""
        best, chosen = -1.0, [order]
        for i in range(1, len(order)):
            leaves = [order[:i], order[i:]]
            sums = [self.of(data, [(v,) for v in leaf]) for leaf in leaves]
            gain = sum(s.gain(self.ridge) for s in sums)
            if min(s.weight for s in sums) >= self.least and gain > best + 1e-9:
                best, chosen = gain, leaves
        return chosen

    def pair(self, term, data):
        """A cut of one column, and on each side one of the other or none: the best of all."""
        orders = [self.ranked(data, axis, column) for axis, column in enumerate(term)]
        best, chosen = 0.0, None
        for axis in (0, 1):
            one, two = orders[axis], orders[1 - axis]
            for i in range(1, len(one)):
                gain, leaves = 0.0, []
                for side in (one[:i], one[i:]):
                    options = [[list(product(side, two))]]
                    for c in range(1, len(two)):
                        options.append([list(product(side, part)) for part in (two[:c], two[c:])])
                    top, cells = self.best_option(data, options, axis)
                    gain, leaves = gain + top, leaves + cells
                if gain > best + 1e-9:
                    best, chosen = gain, leaves
        steps = {}
        for leaf in chosen or []:
            own = self.of(data, leaf).step(self.rate, self.ridge)
            steps |= dict.fromkeys(leaf, own)
        return steps

    def best_option(self, data, options, axis):
        top, cells = -math.inf, []
        for leaves in options:
            turned = [[cell[::-1] if axis else cell for cell in leaf] for leaf in leaves]
            sums = [self.of(data, leaf) for leaf in turned]
            gain = sum(s.gain(self.ridge) for s in sums)
            if min(s.weight for s in sums) >= self.least and gain > top + 1e-9:
                top, cells = gain, turned
        return top, cells
