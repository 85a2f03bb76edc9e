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


def losses_without(booster: Booster, terms: Terms, n_columns: int) -> NDArray[np.float64]:
    """Held-out loss of all bags together without each of the pairs."""

    def loss(task: tuple[Bag, int]) -> float:
        bag, t = task
        scores = bag.scores.copy()
        one = Terms(*(part[t : t + 1] for part in terms[:4]), terms.start[t : t + 2], *(
            part[t : t + 1] for part in terms[5:]
        ))  # fmt: skip
        kernels.add_tables(booster.rows, one, -bag.tables, scores)
        return kernels.held_out_loss(booster.rows, bag.number, scores)

    n_terms = len(terms.first)
    tasks = [(bag, t) for t in range(n_columns, n_terms) for bag in booster.bags]
    found = np.array(list(in_threads(loss, tasks, booster.n_jobs)))
    by_pair = found.reshape(n_terms - n_columns, len(booster.bags))
    return np.array([math.fsum(each) for each in by_pair]) / booster.held_weight
