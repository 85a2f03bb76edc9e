"""Sums to a scorer: one term per column, whatever the column is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.estimate import gaussian_parameters, log_likelihood, missing_evidence
from unnaive.bayes.scoring import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable, Summary
from unnaive.density.estimate import fit_densities
from unnaive.discretize import Coarse, CoarseCoder
from unnaive.encode import Bins, Grid
from unnaive.table import Column, Schema

SMALLEST_VARIANCE = 1e-280  # below this, a column is constant: squares are no longer floats


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How counts become probabilities; see `NaiveBayesClassifier`."""

    alpha: float
    missing: str
    var_smoothing: float
    bandwidth: Any = 0.5


def build_scorer(
    summary: Summary,
    coarse: Coarse,
    methods: Mapping[int, str],
    prior: NDArray[np.float64],
    smoothing: Smoothing,
    n_jobs: int | None = None,
) -> Scorer:
    """Terms from counts, and densities for the columns whose method is one."""
    gaussian = [j for j, method in methods.items() if method == "gaussian"]
    kernel = [j for j, method in methods.items() if method == "kernel"]
    dense = {
        **_gaussian_terms(summary, gaussian, coarse.factor, smoothing),
        **_kernel_terms(summary, kernel, coarse.factor, smoothing, n_jobs),
    }
    coders, counts = coarse.coders, coarse.counts
    terms = tuple(
        dense.get(j) or _table_term(summary.schema[j], coder, counts.attribute(j), smoothing)
        for j, coder in enumerate(coders)
    )
    return Scorer(prior, terms)


def table_scorer(
    schema: Schema,
    coders: Sequence[CoarseCoder],
    table: CountTable,
    prior: NDArray[np.float64],
    smoothing: Smoothing,
) -> Scorer:
    """Terms from counts alone, by whatever groups the table has."""
    terms = tuple(
        _table_term(schema[j], coder, table.attribute(j), smoothing)
        for j, coder in enumerate(coders)
    )
    return Scorer(prior, terms)


def _table_term(
    column: Column, coder: CoarseCoder, counts: NDArray[np.float64], smoothing: Smoothing
) -> Term:
    if coder is not None:
        return TableTerm(coder, log_likelihood(counts, smoothing.alpha, smoothing.missing))
    if column.kind == "numeric":
        # No evidence, but numbers are still checked when they come.
        return TableTerm(Bins(np.empty(0)), np.zeros((3, len(counts))))
    return None


def _gaussian_terms(
    summary: Summary,
    columns: Sequence[int],
    factor: NDArray[np.float64],
    smoothing: Smoothing,
) -> dict[int, Term]:
    if not columns:
        return {}
    spread = summary.moments.finish()
    whole = spread.whole(factor)
    terms: dict[int, Term] = {}
    for j in columns:
        k = summary.moments.columns.index(j)
        there, absent = missing_evidence(
            spread.weight[:, k] * factor,
            summary.counts.attribute(j)[:, 0] * factor,
            smoothing.alpha,
            smoothing.missing,
        )
        if whole.variance[k] > SMALLEST_VARIANCE:
            centre, variance = gaussian_parameters(
                spread.mean[:, k],
                spread.variance[:, k],
                whole.mean[k],
                whole.variance[k],
                smoothing.var_smoothing,
            )
            terms[j] = GaussianTerm(centre, variance, there, absent)
        else:
            terms[j] = _presence_term(there, absent)
    return terms


def _kernel_terms(
    summary: Summary,
    columns: Sequence[int],
    factor: NDArray[np.float64],
    smoothing: Smoothing,
    n_jobs: int | None,
) -> dict[int, Term]:
    def term(j: int) -> Term:
        grid, counts = summary.coders[j], summary.counts.attribute(j) * factor[:, None]
        there, absent = missing_evidence(
            counts[:, 1:].sum(axis=1), counts[:, 0], smoothing.alpha, smoothing.missing
        )
        found = None
        if isinstance(grid, Grid):
            found = fit_densities(grid, counts[:, 1:-1], smoothing.bandwidth)
        return _presence_term(there, absent) if found is None else KernelTerm(found, there, absent)

    return dict(zip(columns, in_threads(term, columns, n_jobs), strict=True))


def _presence_term(there: NDArray[np.float64], absent: NDArray[np.float64]) -> Term:
    """Evidence of a number that is always the same: only whether it is missing can tell."""
    return TableTerm(Bins(np.empty(0)), np.stack((absent, there, np.zeros_like(there))))
