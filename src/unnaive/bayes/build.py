"""Sums to a scorer: one term per column, whatever the column is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.estimate import gaussian_parameters, log_likelihood, missing_evidence
from unnaive.bayes.scoring import GaussianTerm, Scorer, TableTerm, Term
from unnaive.counts import Summary
from unnaive.discretize import Coarse
from unnaive.encode import Bins


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How counts become probabilities; see `NaiveBayesClassifier`."""

    alpha: float
    missing: str
    var_smoothing: float


def build_scorer(
    summary: Summary,
    coarse: Coarse,
    gaussian: Collection[int],
    prior: NDArray[np.float64],
    smoothing: Smoothing,
) -> Scorer:
    """Terms from counts, and normal densities for the columns named in ``gaussian``."""
    dense = _gaussian_terms(summary, gaussian, smoothing)
    terms = tuple(
        dense.get(j) or _table_term(summary, coarse, j, smoothing)
        for j in range(len(coarse.coders))
    )
    return Scorer(prior, terms)


def _table_term(summary: Summary, coarse: Coarse, j: int, smoothing: Smoothing) -> Term:
    coder, counts = coarse.coders[j], coarse.counts.attribute(j)
    if coder is not None:
        return TableTerm(coder, log_likelihood(counts, smoothing.alpha, smoothing.missing))
    if summary.schema[j].kind == "numeric":
        # No evidence, but numbers are still checked when they come.
        return TableTerm(Bins(np.empty(0)), np.zeros((3, len(counts))))
    return None


def _gaussian_terms(
    summary: Summary, columns: Collection[int], smoothing: Smoothing
) -> dict[int, Term]:
    if not columns:
        return {}
    moments, totals = summary.moments, summary.counts.totals
    mean, variance = moments.mean_and_variance()
    whole_mean, whole_variance = moments.sum_all().mean_and_variance()
    terms: dict[int, Term] = {}
    for j in columns:
        k = moments.columns.index(j)
        if not whole_variance[0, k] > 0:
            continue  # constant, or nothing there
        centre, spread = gaussian_parameters(
            mean[:, k],
            variance[:, k],
            whole_mean[0, k],
            whole_variance[0, k],
            smoothing.var_smoothing,
        )
        there, absent = missing_evidence(
            moments.weight[:, k], totals, smoothing.alpha, smoothing.missing
        )
        terms[j] = GaussianTerm(centre, spread, there, absent)
    return terms
