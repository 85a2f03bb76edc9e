"""Which pairs of columns have something to say that their columns have not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts.table import most_informative
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.rounds import Bag, Booster, make_terms

Pair: TypeAlias = tuple[int, int]
LEAST_GAIN = 1e-4  # share of the held-out loss that a pair must be worth
MOST_COLUMNS = 128  # among which all pairs are looked at, 8,128 of them
TOGETHER = 64  # pairs that a thread scores at a time


def strongest_pairs(
    booster: Booster, numbering: Numbering, columns: Sequence[int], most: int, apart: bool
) -> list[list[Pair]]:
    """For each bag the pairs that would gain most on what single columns leave, the best first.

    Bags ``apart`` have their own pairs, so that the rows that a bag holds out have no say in them;
    otherwise all have the same.
    """
    candidates = _candidates(numbering, columns)
    if apart and len(candidates) < len(columns):  # as many for each column that is looked at
        most = most * len(candidates) // len(columns)
    pairs = list(combinations(candidates, 2))
    if not pairs or most < 1:
        return [[] for _ in booster.bags]
    none = np.zeros(len(numbering.coders), np.int8)
    parts = [pairs[i : i + TOGETHER] for i in range(0, len(pairs), TOGETHER)]

    def score(task: tuple[Bag, Sequence[Pair]]) -> NDArray[np.float64]:
        bag, own = task
        terms, gains = make_terms(numbering, [], own, none), np.zeros(len(own))
        kernels.pair_gains(
            rows[bag.number], terms, booster.rule, bag.number, scores[bag.number], gains
        )
        return gains

    rows = {bag.number: booster.learning(bag, 0) for bag in booster.bags}
    scores = {bag.number: booster.score(bag, rows[bag.number]) for bag in booster.bags}
    tasks = [(bag, part) for bag in booster.bags for part in parts]
    scored = np.concatenate(list(in_threads(score, tasks, booster.n_jobs)))
    gains = scored.reshape(len(booster.bags), len(pairs))
    if not apart:
        gains[:] = gains.sum(axis=0)
    orders = np.argsort(-gains, axis=1, kind="stable")[:, :most]
    return [
        [pairs[i] for i in order if own[i] > 0.0] for order, own in zip(orders, gains, strict=True)
    ]


def _candidates(numbering: Numbering, columns: Sequence[int]) -> Sequence[int]:
    """The columns whose pairs are looked at: of very many, those that say most by themselves.

    They are chosen by the counts of all rows, so that the order and division of rows do not matter.
    """
    if len(columns) <= MOST_COLUMNS:
        return columns
    tables = [numbering.counts.attribute(j).T for j in columns]
    return [columns[k] for k in most_informative(tables, MOST_COLUMNS)]


def useful_pairs(
    booster: Booster,
    numbering: Numbering,
    n_columns: int,
    pairs: Sequence[Sequence[Pair]],
    most: int,
) -> list[Pair]:
    """The pairs, of those of each bag, by which rows held out gain, the best first."""
    none = np.zeros(len(numbering.coders), np.int8)

    def gain(task: tuple[Bag, int, Pair]) -> float:
        bag, t, pair = task
        rows, one = booster.held_out(bag), make_terms(numbering, [], [pair], none)
        without = scores[bag.number].copy()
        kernels.add_tables(rows, one, -bag.table(t), without)
        after = kernels.held_out_loss(rows, bag.number, scores[bag.number])
        return kernels.held_out_loss(rows, bag.number, without) - after

    scores = {bag.number: booster.score(bag, booster.held_out(bag)) for bag in booster.bags}
    tasks = [
        (bag, n_columns + p, pair)
        for bag, own in zip(booster.bags, pairs, strict=True)
        for p, pair in enumerate(own)
    ]
    gains = dict.fromkeys(chain(*pairs), 0.0)
    for (_, _, pair), own in zip(tasks, in_threads(gain, tasks, booster.n_jobs), strict=True):
        gains[pair] += own
    least = LEAST_GAIN * booster.held_out_loss() * booster.held_weight
    useful = [pair for pair in sorted(gains, key=lambda p: (-gains[p], p)) if gains[pair] > least]
    return useful[:most]
