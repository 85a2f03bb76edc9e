"""A classifier of your own: complement naive Bayes (Rennie and others, 2003) in one file.

A class's evidence is what speaks against all other classes together, which helps where classes
differ much in size. The file counts, leaves an answer and registers itself. Everything else
(predicting, evidence, explanations, the report, SQL, model files, merging, `unnaive.compare` and,
with an entry point in the group ``unnaive.models``, the command) follows from that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from unnaive.answer import Answer, EvidenceTable
from unnaive.bayes import Scorer, Smoothing, TableTerm
from unnaive.bayes.estimate import log_prior
from unnaive.bayes.scoring import build_scorer
from unnaive.common.checks import check_number
from unnaive.common.registry import register
from unnaive.counts import CountTable, Summary
from unnaive.discretize import RuledEstimator
from unnaive.encode import GRID_LIMIT
from unnaive.estimator import AdditiveEstimator
from unnaive.models import TableClassifier


@register("complement", "Naive Bayes by what speaks against all other classes.", cost=15)
class ComplementNaiveBayesClassifier(TableClassifier, RuledEstimator, AdditiveEstimator):
    """Complement naive Bayes for tables with numbers, categories and missing values in any mix."""

    def __init__(
        self,
        *,
        numeric: str = "mdl",
        n_bins: int = 10,
        bandwidth: str | float = 0.5,
        alpha: float = 1.0,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        n_jobs: int | None = None,
    ) -> None:
        self.numeric = numeric
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_number(self, "alpha", 0)
        self._check_options()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table in memory, files, Dask or Spark: one pass of counting."""
        self._check_parameters()
        return self._learn(self._gather(X, y, sample_weight, None))

    def _finish(self, summary: Summary) -> None:
        """Evidence from counts: no rows are seen here, so that models can be merged."""
        coarse = self._coarsen(summary, None)
        by_class = coarse.counts
        rest, totals = (n.sum(axis=0) - n for n in (by_class.counts, by_class.totals))
        others = CountTable(rest, by_class.offsets, totals)
        prior = log_prior(by_class.totals, 0.0, None)
        against = build_scorer(
            summary.schema, coarse.coders, others, prior, Smoothing(self.alpha, "skip")
        )
        terms = tuple(
            replace(term, logs=-term.logs) if isinstance(term, TableTerm) else None
            for term in against.terms
        )
        root = EvidenceTable(Scorer(prior, terms), by_class)
        self._set_answer(Answer(summary.schema, summary.labels.classes, root))
