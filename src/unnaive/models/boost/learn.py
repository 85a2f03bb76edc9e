"""From coded rows to one table of evidence per column and pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.pairs import losses_without, strongest_pairs
from unnaive.models.boost.purify import centre, purify
from unnaive.models.boost.rounds import Booster, make_terms
from unnaive.models.boost.state import Terms


@dataclass(frozen=True, slots=True)
class Wish:
    """Which pairs are wanted: those listed, or the ``most`` strongest; where ``choosy``, only those
    that held-out rows gain by.
    """

    most: int
    choosy: bool
    listed: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Evidence by slot, for two classes of the second (slots x 1), else of each class.

    ``columns`` and ``pairs`` map columns to tables; ``losses`` are held-out losses every few
    rounds, of single columns, then with pairs.
    """

    intercept: NDArray[np.float64]
    columns: dict[int, NDArray[np.float64]]
    pairs: dict[tuple[int, int], NDArray[np.float64]]
    losses: tuple[list[float], list[float]]


def learn(
    booster: Booster, numbering: Numbering, wish: Wish, directions: NDArray[np.int8]
) -> Learned:
    """Boost single columns, find pairs, boost both, and purify."""
    columns = numbering.varying
    alone = make_terms(numbering, columns, [], directions)
    losses, more = booster.run(alone), []
    terms, pairs = alone, list(wish.listed or ())
    if wish.listed is None:
        free = [j for j in columns if directions[j] == 0]
        pairs = strongest_pairs(booster, numbering, free, wish.most)
    if pairs:
        terms = make_terms(numbering, columns, pairs, directions)
        more = booster.run(terms)
        if wish.choosy and booster.stopping.early:
            terms, pairs = _keep_useful(booster, numbering, terms, columns, pairs, directions)
    return _purified(booster, numbering, terms, len(columns), (losses, more))


def _keep_useful(
    booster: Booster,
    numbering: Numbering,
    terms: Terms,
    columns: Sequence[int],
    pairs: list[tuple[int, int]],
    directions: NDArray[np.int8],
) -> tuple[Terms, list[tuple[int, int]]]:
    """Leave out the pairs without which held-out rows are judged as well."""
    n = len(columns)
    without = losses_without(booster, terms, n)
    useful = without > booster.loss
    if useful.all():
        return terms, pairs
    kept = [pair for pair, use in zip(pairs, useful, strict=True) if use]
    cells = np.repeat(np.append(np.ones(n, bool), useful), np.diff(terms.start))
    for bag in booster.bags:
        bag.tables = bag.tables[cells]
    return make_terms(numbering, columns, kept, directions), kept


def _purified(
    booster: Booster,
    numbering: Numbering,
    terms: Terms,
    n_columns: int,
    losses: tuple[list[float], list[float]],
) -> Learned:
    tables, start, lowest = booster.mean_tables(), terms.start, booster.rule.lowest
    weight = np.empty(start[-1])
    kernels.weigh_terms(booster.rows, terms, kernels.NOBODY, weight)
    columns: dict[int, NDArray[np.float64]] = {}
    for t in range(n_columns):
        columns[int(terms.first[t])] = tables[start[t] : start[t + 1]].copy()
    pairs: dict[tuple[int, int], NDArray[np.float64]] = {}
    for t in range(n_columns, len(terms.first)):
        a, b = int(terms.first[t]), int(terms.second[t])
        shape = (int(terms.width[t]), int(terms.height[t]))
        own = slice(start[t], start[t + 1])
        table = tables[own].reshape(*shape, -1)
        pairs[a, b], first, second = purify(table, weight[own].reshape(shape), lowest)
        columns[a] += first[numbering.places[a]]
        columns[b] += second[numbering.places[b]]
    intercept = booster.prior.copy()
    for t in range(n_columns):
        own = slice(start[t], start[t + 1])
        intercept += centre(columns[int(terms.first[t])], weight[own], lowest)
    return Learned(intercept, columns, pairs, losses)
