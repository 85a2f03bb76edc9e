"""Counts and densities to a scorer: one term per column, whatever the column is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.estimate import log_likelihood, missing_evidence
from unnaive.bayes.scoring import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.counts import CountTable
from unnaive.density import Normal
from unnaive.discretize import CoarseCoder, ColumnDensity
from unnaive.encode import Bins
from unnaive.table import Column, Schema


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How counts become probabilities; see `NaiveBayesClassifier`."""

    alpha: float
    missing: str


def build_scorer(
    schema: Schema,
    coders: Sequence[CoarseCoder],
    table: CountTable,
    prior: NDArray[np.float64],
    smoothing: Smoothing,
    densities: Mapping[int, ColumnDensity] | None = None,
) -> Scorer:
    """Terms from counts, by whatever groups the table has, or from the densities of columns."""

    def term(j: int, coder: CoarseCoder) -> Term:
        counts = table.attribute(j)
        if densities is not None and j in densities:
            return _density_term(densities[j], counts[:, 0], smoothing)
        return _table_term(schema[j], coder, counts, smoothing)

    return Scorer(prior, tuple(term(j, coder) for j, coder in enumerate(coders)))


def _table_term(
    column: Column, coder: CoarseCoder, counts: NDArray[np.float64], smoothing: Smoothing
) -> Term:
    if coder is not None:
        return TableTerm(coder, log_likelihood(counts, smoothing.alpha, smoothing.missing))
    if column.kind == "numeric":
        # No evidence, but numbers are still checked when they come.
        return TableTerm(Bins(np.empty(0)), np.zeros((3, len(counts))))
    return None


def _density_term(column: ColumnDensity, absent: NDArray[np.float64], smoothing: Smoothing) -> Term:
    present, missing = missing_evidence(column.weight, absent, smoothing.alpha, smoothing.missing)
    if column.density is None:  # a number that is always the same: only its absence can tell
        logs = np.stack((missing, present, np.zeros_like(present)))
        return TableTerm(Bins(np.empty(0)), logs)
    if isinstance(column.density, Normal):
        return GaussianTerm(*column.density, present, missing)
    return KernelTerm(column.density, present, missing)
