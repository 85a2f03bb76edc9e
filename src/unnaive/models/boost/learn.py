"""From coded rows to one table of evidence per column and pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.scoring import PairTerm, TableTerm, Term, log_probabilities
from unnaive.encode import Bins
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.options import Interactions
from unnaive.models.boost.pairs import strongest_pairs, useful_pairs
from unnaive.models.boost.purify import centre, purify
from unnaive.models.boost.rounds import Booster, make_terms
from unnaive.models.boost.state import Terms
from unnaive.table import Schema


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

    def scorer(self, numbering: Numbering, schema: Schema) -> Scorer:
        """Evidence as log probabilities of the classes, but for constants: it sums to 0 over them.

        The prior is one of probabilities.
        """
        n_classes = numbering.counts.n_groups

        def logs(table: NDArray[np.float64]) -> NDArray[np.float64]:
            if n_classes == 2:
                return np.concatenate((-0.5 * table, 0.5 * table), axis=-1)
            return table - table.mean(axis=-1, keepdims=True)

        def term(j: int) -> Term:
            coder = numbering.coders[j]
            if j in self.columns:
                assert coder is not None
                return TableTerm(coder, logs(self.columns[j]))
            if coder is None and schema[j].kind != "numeric":
                return None
            coder = Bins(np.empty(0)) if coder is None else coder
            return TableTerm(coder, np.zeros((coder.size + 2, n_classes)))

        pairs = tuple(
            PairTerm(a, b, numbering.pair_of(a, b), logs(table))
            for (a, b), table in self.pairs.items()
        )
        prior = log_probabilities(logs(self.intercept)[None])[0]
        return Scorer(prior, tuple(term(j) for j in range(len(schema))), pairs)


def learn(
    booster: Booster, numbering: Numbering, interactions: Interactions, directions: NDArray[np.int8]
) -> Learned:
    """Boost single columns, find pairs, boost both, and purify."""
    columns = numbering.varying
    alone = make_terms(numbering, columns, [], directions)
    losses, more = booster.run(alone), []
    terms, pairs = alone, list(interactions.listed or ())
    if interactions.listed is None:
        free = [j for j in columns if directions[j] == 0]
        pairs = strongest_pairs(booster, numbering, free, interactions.most)
    if pairs:
        terms = make_terms(numbering, columns, pairs, directions)
        more = booster.run(terms)
        if interactions.held_out and booster.stopping.early:
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
    useful = useful_pairs(booster, numbering, terms, pairs)
    if all(useful):
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
