"""Which pairs of columns have something to say that their columns have not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.rounds import Bag, Booster, make_terms
from unnaive.models.boost.state import Terms

SCORED_BAGS = 2  # bags that say what pairs would gain
TOGETHER = 64  # pairs that a thread scores at a time
ERRORS = 1.0  # standard errors that a gain must be above zero


def strongest_pairs(
    booster: Booster, numbering: Numbering, columns: Sequence[int], most: int
) -> list[tuple[int, int]]:
    """The pairs that would gain most on what single columns leave, the best first."""
    pairs = list(combinations(columns, 2))
    bags = booster.bags[:SCORED_BAGS]
    none = np.zeros(len(numbering.coders), np.int8)
    tasks = [pairs[i : i + TOGETHER] for i in range(0, len(pairs), TOGETHER)]

    def score(own: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        terms, gains = make_terms(numbering, [], own, none), np.zeros(len(own))
        for bag in bags:
            kernels.pair_gains(booster.rows, terms, booster.rule, bag.number, bag.scores, gains)
        return gains

    if not pairs or most < 1:
        return []
    gains = np.concatenate(list(in_threads(score, tasks, booster.n_jobs)))
    order = np.argsort(-gains, kind="stable")[:most]
    return [pairs[i] for i in order if gains[i] > 0.0]


def useful_pairs(
    booster: Booster, numbering: Numbering, terms: Terms, pairs: Sequence[tuple[int, int]]
) -> list[bool]:
    """Whether held-out rows gain by each of the pairs, more than chance would have it."""
    none = np.zeros(len(numbering.coders), np.int8)
    n_columns = len(terms.first) - len(pairs)

    def gain(task: tuple[Bag, int]) -> tuple[float, float]:
        bag, p = task
        one, t = make_terms(numbering, [], [pairs[p]], none), n_columns + p
        without = bag.scores.copy()
        kernels.add_tables(booster.rows, one, -bag.tables[terms.start[t] :], without)
        return kernels.held_out_gain(booster.rows, bag.number, without, bag.scores)

    tasks = [(bag, p) for p in range(len(pairs)) for bag in booster.bags]
    gains = np.array(list(in_threads(gain, tasks, booster.n_jobs)))
    return [is_gain(own) for own in gains.reshape(len(pairs), len(booster.bags), 2)]


def is_gain(gains: NDArray[np.float64]) -> bool:
    """Whether bags (their gains, and squares of them over rows) gain more than chance would."""
    total, squares = (math.fsum(part) for part in gains.T)
    return total > ERRORS * math.sqrt(squares)
