"""One tree of a forest the slow and obvious way: lists of rows, every cut weighed anew.

A row is (slots, class, weight); slot 0 is missing. A tree is a list of nodes, level by level.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from unnaive.encode.hashing import row_bits


class Draws:
    """Whole numbers by seed and place: the k-th draw is made of the bits of row k."""

    def __init__(self, seed):
        self.seed, self.k = int(seed), 0

    def below(self, n):
        self.k += 1
        high = int(row_bits(self.seed, np.array([self.k]))[0]) >> 32
        return high * n >> 32


def weights_of(rows, n_classes):
    return [sum(w for _, c, w in rows if c == k) for k in range(n_classes)]


def worth(first, second, n_classes, least):
    """Weight of each side times its sum of squared class shares; None where a side is too small."""
    total = 0.0
    for side in (first, second):
        weights = weights_of(side, n_classes)
        if not side or sum(weights) < least:
            return None
        total += sum(w * w for w in weights) / sum(weights)
    return total


def numeric_tests(rows, j, size):
    """(slots that go first, cut, whether missing goes first), as they are tried."""
    codes = sorted({slots[j] for slots, _, _ in rows} - {0})
    gone = any(slots[j] == 0 for slots, _, _ in rows)
    for missing_first in (False, True) if gone else (False,):
        for last, following in pairwise(codes):
            first = {code for code in codes if code <= last} | ({0} if missing_first else set())
            yield first, (last + following) // 2, missing_first
        if gone and not missing_first:
            yield set(codes), size, False


def value_tests(rows, j, chosen):
    """Categories, and missing as one, by their share of a class: the first of them go first."""
    share = {}
    for slot in sorted({slots[j] for slots, _, _ in rows}):
        own = [(c, w) for slots, c, w in rows if slots[j] == slot]
        share[slot] = sum(w for c, w in own if c == chosen) / sum(w for _, w in own)
    ranked = sorted(share, key=share.get)
    for k in range(1, len(ranked)):
        yield set(ranked[:k]), None, None


def best_test(rows, sizes, numeric, n_classes, max_features, least, draws, columns):
    best, test = -1.0, None
    for tried in range(len(columns)):
        if tried >= max_features and test is not None:
            break
        other = tried + draws.below(len(columns) - tried)
        columns[tried], columns[other] = columns[other], columns[tried]
        j = columns[tried]
        if len({slots[j] for slots, _, _ in rows}) == 1:
            continue
        if numeric[j]:
            tests = numeric_tests(rows, j, sizes[j])
        else:
            there = [k for k, w in enumerate(weights_of(rows, n_classes)) if w]
            chosen = 1 if n_classes == 2 else there[draws.below(len(there))]
            tests = value_tests(rows, j, chosen)
        for first, cut, missing_first in tests:
            sides = (
                [row for row in rows if row[0][j] in first],
                [row for row in rows if row[0][j] not in first],
            )
            value = worth(*sides, n_classes, least)
            if value is not None and value > best:
                best, test = value, (j, first, cut, missing_first, *sides)
    return test


def grow(rows, sizes, numeric, n_classes, max_features, least, max_depth, seed):
    """Nodes as (class weights) or (column, where each slot goes), in the order of the levels."""
    draws, columns, nodes, pending = Draws(seed), list(range(len(sizes))), [], [(rows, 0)]
    while pending:
        own, depth = pending.pop(0)
        weights, test = weights_of(own, n_classes), None
        mixed = sum(w > 0 for w in weights) > 1
        if mixed and depth != max_depth and sum(weights) >= 2 * least:
            test = best_test(own, sizes, numeric, n_classes, max_features, least, draws, columns)
        if test is None:
            nodes.append({c: w for c, w in enumerate(weights) if w})
            continue
        j, first, cut, missing_first, left, right = test
        larger = 2 * sum(w for _, _, w in left) >= sum(weights)
        present = {slots[j] for slots, _, _ in own}
        if numeric[j]:
            gone = missing_first if 0 in present else larger
            goes = [gone, *(slot <= cut for slot in range(1, sizes[j] + 1))]
        else:
            goes = [slot in first if slot in present else larger for slot in range(sizes[j] + 2)]
        nodes.append((j, goes))
        pending += [(left, depth + 1), (right, depth + 1)]
    return nodes
