"""A slow, obvious twin of Flexible NBTree: Wang and Yuan's steps on the twin of NBTree.

Kernels are summed directly, row by row, for every fold of every child.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

import reference
import reference_density


class FlexibleNBTree(reference.NBTree):
    def __init__(self, *given, floor, bandwidth=None, select="utility", **named):
        super().__init__(*given, **named)
        self.floor, self.bandwidth, self.select = floor, bandwidth, select

    def asked(self, data):
        """All attributes, or the first that has a test, by the Bayes measure."""
        if self.select == "utility":
            return super().asked(data)
        ordered = sorted(range(len(self.kinds)), key=lambda j: -self.delta(data, j))
        return [j for j in ordered if self.test(data, j) is not None][:1]

    def totals(self, data):
        found = Counter()
        for _, label, w, _ in data:
            found[label] += w
        return found

    def delta(self, data, j):
        """Share of the rows whose class is the most probable one given attribute j."""
        rows, labels, weights, _ = zip(*data, strict=True)
        values = [x[j] for x in rows]
        if self.kinds[j] == "nominal":
            best = {}
            for v in set(values) - {None}:
                own = Counter()
                for x, label, w in zip(values, labels, weights, strict=True):
                    if x == v:
                        own[label] += w
                best[v] = min(own, key=lambda c: (-own[c], c))
        else:
            if self.density(data, j) is None:
                return 0.0
            there = sorted({v for v in values if v is not None})
            best = dict(zip(there, self.most_probable(data, j, there), strict=True))
        return reference_density.measure(values, labels, weights, best)

    def density(self, data, j):
        """Kernels of one number at a node: positions, labels, weights, folds, widths, range."""
        there = [(x[j], label, w, f) for x, label, w, f in data if x[j] is not None]
        if len({v for v, *_ in there}) < 2:
            return None
        values, labels, weights, folds = (np.array(v) for v in zip(*there, strict=True))
        low, high, least = values.min(), values.max(), reference_density.narrowest(values)
        p = reference_density.scaled(values, low, high)
        names = sorted(set(labels.tolist()))
        classes = [(p[labels == k], weights[labels == k].astype(float)) for k in names]
        c = self.bandwidth or reference_density.best_factor(classes)
        widths = {
            k: reference_density.width(c, w.sum(), least)
            for k, (_, w) in zip(names, classes, strict=True)
        }
        widths[None] = reference_density.width(c, weights.sum(), least)
        return p, labels, weights.astype(float), folds, widths, (low, high)

    def log_density(self, kernels, at, label, without=None):
        """Log density of a class at positions, without the rows of one fold."""
        p, labels, weights, folds, widths, _ = kernels
        rest = np.ones(len(p), dtype=bool) if without is None else folds != without
        own = rest & (labels == label)
        h = widths[label] if own.any() else widths[None]
        own = own if own.any() else rest
        if not own.any():
            return np.full(len(at), math.log(self.floor))
        return np.log(reference_density.density(at, p[own], weights[own], h) + self.floor)

    def most_probable(self, data, j, at):
        kernels, totals = self.density(data, j), self.totals(data)
        q = reference_density.scaled(at, *kernels[5])
        names = sorted(totals)
        scores = [self.log_density(kernels, q, k) + math.log(totals[k]) for k in names]
        return [names[k] for k in np.argmax(scores, axis=0)]

    def test(self, data, j):
        if self.kinds[j] == "nominal":
            return super().test(data, j)
        if self.density(data, j) is None:
            return None if self.select == "delta" else super().test(data, j)
        cells: dict[float, Counter] = {}
        for x, label, w, _ in data:
            if x[j] is not None:
                cells.setdefault(x[j], Counter())[label] += w
        ordered = sorted(cells.items())
        at = [v for v, _ in ordered]
        best = self.most_probable(data, j, at)
        allowed = {at[i] for i in range(1, len(at)) if best[i] != best[i - 1]}
        cuts = reference_density.mdl_among(ordered, allowed)
        if not cuts:
            return None if self.select == "delta" else super().test(data, j)
        child = lambda v: None if v is None else sum(v > cut for cut in cuts)  # noqa: E731
        return reference.Question(len(cuts) + 1, cuts, child)

    def right(self, data):
        """Whether each row is right under cross-validation; widths are those of all folds."""
        numbers = {
            j: self.density(data, j) for j, kind in enumerate(self.kinds) if kind == "numeric"
        }
        out = []
        for row, label, _, fold in data:
            others = [d for d in data if d[3] != fold]
            whole = sum(w for _, _, w, _ in others)
            if not whole:
                out.append(False)
                continue
            totals = self.totals(others)
            scores = []
            for c in self.classes:
                n = totals[c]
                score = reference.log_share(n, whole) if n else reference.ABSENT
                for j, value in enumerate(row):
                    if value is None:
                        continue
                    if self.kinds[j] == "nominal":
                        score += self.log_frequency(others, j, value, c)
                    elif numbers[j] is not None and c in numbers[j][4]:
                        at = reference_density.scaled([value], *numbers[j][5])
                        score += float(self.log_density(numbers[j], at, c, fold)[0])
                scores.append(score)
            out.append(self.classes[scores.index(max(scores))] == label)
        return out

    def log_frequency(self, data, j, value, c):
        own = [(x[j], w) for x, label, w, _ in data if label == c and x[j] is not None]
        n = sum(w for _, w in own) + self.alpha * len(self.domains[j])
        if n > 0:
            return reference.log_share(sum(w for v, w in own if v == value) + self.alpha, n)
        everyone = [(x[j], w) for x, _, w, _ in data if x[j] is not None]
        whole = sum(w for _, w in everyone)
        return (
            reference.log_share(sum(w for v, w in everyone if v == value), whole) if whole else 0.0
        )
