"""From coded rows to one table of evidence per column and pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.scoring import PairTerm, TableTerm, Term, log_probabilities
from unnaive.encode import Bins
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.judge import base_rate_shift
from unnaive.models.boost.options import Interactions
from unnaive.models.boost.pairs import Pair, strongest_pairs, useful_pairs
from unnaive.models.boost.purify import centre, purify
from unnaive.models.boost.rounds import CAREFUL, Booster, make_terms
from unnaive.models.boost.spread import Evidence, jackknife
from unnaive.models.boost.start import boost_columns
from unnaive.models.boost.state import Terms
from unnaive.table import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Evidence by slot, for two classes of the second (slots x 1), else of each class.

    ``errors`` are standard errors of columns, where there are several bags; ``losses`` are held-out
    losses every few rounds, of single columns, then with pairs.
    """

    evidence: Evidence
    errors: dict[int, NDArray[np.float64]]
    losses: tuple[list[float], list[float]]

    def standard_errors(self, schema: Schema, n_classes: int) -> tuple[NDArray[np.float32], ...]:
        """Of every column (slots x classes), empty where it has no evidence; of none, nothing."""
        none = np.empty((0, n_classes), np.float32)
        if not self.errors:
            return ()
        return tuple(
            np.broadcast_to(self.errors[j], (len(self.errors[j]), n_classes)).astype(np.float32)
            if j in self.errors
            else none
            for j in range(len(schema))
        )

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
            if j in self.evidence.columns:
                assert coder is not None
                return TableTerm(coder, logs(self.evidence.columns[j]))
            if coder is None and schema[j].kind != "numeric":
                return None
            coder = Bins(np.empty(0)) if coder is None else coder
            return TableTerm(coder, np.zeros((coder.size + 2, n_classes)))

        pairs = tuple(
            PairTerm(a, b, numbering.pair_of(a, b), logs(table))
            for (a, b), table in self.evidence.pairs.items()
        )
        prior = log_probabilities(logs(self.evidence.intercept)[None])[0]
        return Scorer(prior, tuple(term(j) for j in range(len(schema))), pairs)


def learn(
    booster: Booster,
    numbering: Numbering,
    interactions: Interactions,
    directions: NDArray[np.int8],
    n_folds: int,
) -> Learned:
    """Boost single columns, find pairs, boost both, and purify; bags hold out 1 of n_folds."""
    columns = numbering.varying
    losses, more = boost_columns(booster, numbering), []
    choose = interactions.held_out and booster.stopping.early
    if interactions.listed is None:
        free = [j for j in columns if directions[j] == 0]
        pairs = strongest_pairs(booster, numbering, free, interactions.most, choose)
    else:
        pairs = [list(interactions.listed) for _ in booster.bags]
    if any(pairs):
        for bag, own in zip(booster.bags, pairs, strict=True):
            known = bag.tables
            bag.terms = make_terms(numbering, columns, own, directions)
            bag.tables = np.zeros((bag.terms.start[-1], known.shape[1]))
            bag.tables[: len(known)] = known
        more = booster.run(CAREFUL)
    kept = pairs[0]
    if choose:
        # Bags that differ in a few pairs keep them all; many that hardly matter are left out.
        kept = useful_pairs(booster, numbering, len(columns), pairs, 2 * interactions.most)
        for bag, own in zip(booster.bags, pairs, strict=True):
            for t, pair in enumerate(own, len(columns)):
                if pair not in kept:
                    bag.table(t)[:] = 0.0
    return _purified(booster, numbering, columns, kept, pairs, (losses, more), n_folds)


def _purified(
    booster: Booster,
    numbering: Numbering,
    columns: Sequence[int],
    kept: Sequence[Pair],
    pairs: Sequence[Sequence[Pair]],
    losses: tuple[list[float], list[float]],
    n_folds: int,
) -> Learned:
    """Evidence averaged over the bags; what pairs say of single columns stands in these."""
    terms = make_terms(numbering, columns, kept, np.zeros(len(numbering.coders), np.int8))
    start, n = terms.start, len(columns)
    weight = booster.stripes.weigh(terms)

    def laid_out() -> Iterator[NDArray[np.float64]]:
        for bag, own in zip(booster.bags, pairs, strict=True):
            tables = np.zeros((start[-1], len(booster.prior)))
            tables[: start[n]] = bag.tables[: start[n]]
            for t, pair in enumerate(kept, n):
                if pair in own:
                    tables[start[t] : start[t + 1]] = bag.table(n + own.index(pair))
            yield tables

    def pure(tables: NDArray[np.float64]) -> Evidence:
        return _split(tables, terms, weight, booster, numbering, columns, kept)

    mean = np.zeros((start[-1], len(booster.prior)))
    for tables in laid_out():
        mean += tables
    mean /= len(booster.bags)
    shift = base_rate_shift(booster, terms, mean, numbering.counts.n_groups)
    evidence = pure(mean)
    evidence.intercept[:] += shift
    errors = {}
    if len(booster.bags) > 1:
        errors = jackknife(evidence, map(pure, laid_out()), n_folds)
    return Learned(evidence, errors, losses)


def _split(
    tables: NDArray[np.float64],
    terms: Terms,
    weight: NDArray[np.float64],
    booster: Booster,
    numbering: Numbering,
    columns: Sequence[int],
    kept: Sequence[Pair],
) -> Evidence:
    """Tables laid end to end (IN, OUT) as those of an intercept, of columns and of pairs."""
    start, n, lowest = terms.start, len(columns), booster.rule.lowest
    of_column = {j: tables[start[t] : start[t + 1]] for t, j in enumerate(columns)}
    of_pair: dict[Pair, NDArray[np.float64]] = {}
    for t, (a, b) in enumerate(kept, n):
        shape, cells = (terms.width[t], terms.height[t]), slice(start[t], start[t + 1])
        table, share = tables[cells].reshape(*shape, -1), weight[cells].reshape(shape)
        of_pair[a, b], first, second = purify(table, share, lowest)
        of_column[a] += first[numbering.places[a]]
        of_column[b] += second[numbering.places[b]]
    intercept = booster.prior.copy()
    for t, j in enumerate(columns):
        intercept += centre(of_column[j], weight[start[t] : start[t + 1]], lowest)
    return Evidence(intercept, of_column, of_pair)
