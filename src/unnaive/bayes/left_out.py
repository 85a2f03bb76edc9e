"""The evidence that a row would have met, had it not been counted itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.estimate import tables_without_one
from unnaive.bayes.kernels import FARTHEST
from unnaive.bayes.scoring import (
    Adder,
    GaussianTerm,
    KernelTerm,
    Scorer,
    Smoothing,
    TableTerm,
    Term,
)
from unnaive.counts import CountTable
from unnaive.table import Block

# Of the variance of few values, the share that is left without one of them, at least.
LEAST_LEFT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class GaussianWithoutOne(GaussianTerm):
    """Normal densities at values that have no part in them; ``rows`` is how many each class has."""

    rows: NDArray[np.float64]

    def adder(self, block: Block, j: int) -> Adder:
        values, others = block.numeric(j), np.maximum(self.rows - 1.0, 1.0)
        more = np.maximum(self.rows, 1.0) / others

        def add(rows: slice, joint: NDArray[np.float64]) -> None:
            away = values[rows, None] - self.mean
            left = self.variance * (1.0 + 1.0 / others) - away**2 * (more / others)
            variance = np.maximum(left, LEAST_LEFT * self.variance)
            squares = np.minimum(0.5 * (away * more) ** 2 / variance, FARTHEST)
            logs = self.log_weight - 0.5 * np.log(2.0 * np.pi * variance) - squares
            joint += np.where(np.isnan(away), self.missing, logs)

        return add


def scorer_without_one(
    scorer: Scorer, counts: CountTable, rows: CountTable, smoothing: Smoothing
) -> Scorer:
    """The evidence for each class of one of its rows that was not counted; priors stay.

    Parameters
    ----------
    scorer : Scorer
        As built from ``counts``.
    rows : CountTable
        How many rows are behind the counts.
    """
    tables = _tables_without_one(scorer, counts, rows, smoothing)

    def term(j: int, whole: Term) -> Term:
        there = rows.totals - rows.attribute(j)[:, 0]
        if isinstance(whole, TableTerm):
            return TableTerm(whole.coder, tables.get(j, whole.logs))
        if isinstance(whole, KernelTerm):
            return replace(whole, densities=whole.densities.without_one(there))
        if isinstance(whole, GaussianTerm):
            normal = (whole.mean, whole.variance, whole.log_weight, whole.missing)
            return GaussianWithoutOne(*normal, there)
        return whole

    return replace(scorer, terms=tuple(term(j, whole) for j, whole in enumerate(scorer.terms)))


def _tables_without_one(
    scorer: Scorer, counts: CountTable, rows: CountTable, smoothing: Smoothing
) -> dict[int, NDArray[np.float64]]:
    """The tables of the attributes that have evidence in every slot."""
    sizes = np.diff(counts.offsets)
    logs = {
        j: term.logs
        for j, term in enumerate(scorer.terms)
        if isinstance(term, TableTerm) and len(term.logs) == sizes[j]
    }
    if not logs:
        return {}
    slots = np.repeat(np.isin(np.arange(len(sizes)), list(logs)), sizes)
    table, behind = (np.ascontiguousarray(some.counts.T[slots]) for some in (counts, rows))
    ends = np.cumsum([len(own) for own in logs.values()])
    starts = np.concatenate(([0], ends[:-1]))
    given = (starts, smoothing.alpha, smoothing.missing, behind)
    left = tables_without_one(table, np.concatenate(list(logs.values())), *given)
    return dict(zip(logs, np.split(left, ends[:-1]), strict=True))
