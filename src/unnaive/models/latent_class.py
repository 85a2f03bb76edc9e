"""Latent-class clustering: a naive Bayes whose class is hidden, fitted by EM."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import ClusterMixin

from unnaive.answer import Answer, EvidenceTable
from unnaive.bayes import GaussianTerm, Scorer, TableTerm
from unnaive.common.checks import check_number, check_values, check_word, expect
from unnaive.counts import Wanted
from unnaive.discretize.rules import coarsen
from unnaive.encode import GRID_LIMIT, Categories
from unnaive.estimator import Progress, TableEstimator, reports_progress
from unnaive.models._em import (
    EMData,
    EMOptions,
    EMSearch,
    FittedMixture,
    cluster_scorer,
    fit_growing,
    fit_number,
    read_em_data,
)
from unnaive.models._em_kernels import Prior
from unnaive.models.base import draw_seed
from unnaive.table import Block, Schema, scan_of


class LatentClassClusterer(ClusterMixin, TableEstimator):  # type: ignore[misc]
    """Naive Bayes with a hidden class, fitted by EM, for numbers, categories and missing values.

    Within a cluster the columns are independent, numbers are normal and categories have
    frequencies. EM finds the clusters that make the rows most likely. Missing values are skipped.
    The order of the rows does not matter where the number of clusters is given.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. ``"auto"`` adds one after another while held-out rows become likelier;
        a table with fewer rows than folds has one cluster.
    max_clusters : int, default=32
        Most clusters that ``"auto"`` tries.
    cv : int, splitter or iterable, default=10
        Folds of the cross-validation: a number, drawn by row number and seed, a scikit-learn
        splitter, or (train, test) positions.
    n_init : int, default=3
        Number of starts, of which the most likely result is kept.
    init : {"far", "random"}, default="far"
        Initialization: centres drawn from the rows with probabilities proportional to the squared
        distance from those drawn before, as in k-means++; or random shares of every row, from
        which EM finds fewer clusters. Rows with the same values have the same shares.
    max_iter : int, default=100
        Maximum number of EM steps.
    tol : float, default=1e-3
        EM stops when a step gains less than this in log-likelihood per row.
    alpha : float, default=1.0
        Pseudo-count of every value of a categorical column in every cluster.
    prior_alpha : float, default=0.0
        Pseudo-count of every cluster.
    min_variance : float, default=0.1
        Least variance of a number in a cluster, as a share of the column's variance.
    categorical_features, max_categories :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of folds and starts.
    n_jobs : int or None, default=None
        Threads; the clusters never depend on it.

    Attributes
    ----------
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    n_clusters_ : int
        Clusters found; fewer than asked for where the table has fewer different rows.
    labels_ : array of shape (n_samples,)
        Cluster of each row, the largest cluster first.
    cluster_weight_ : array of shape (n_clusters,)
        Share of the rows in each cluster.
    lower_bounds_ : array
        Penalized log-likelihood per row at every step of EM; it never falls.
    cv_log_likelihood_ : array
        With ``"auto"``: held-out log-likelihood per row with 1, 2, ... clusters, the last one
        being the first that was no better.
    converged_ : bool
    n_iter_ : int
    n_parameters_ : int
        Free parameters of the mixture, for :meth:`bic`.
    scorer_ : Scorer
        Evidence of every cluster, ready to answer.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    ClassDecompositionClassifier : Clusters of each class, to classify better.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import LatentClassClusterer
    >>> table = pd.DataFrame({
    ...     "length": [1.0, 1.1, 0.9, 1.0, 5.0, 5.2, None, 4.9],
    ...     "colour": ["red", "red", "red", None, "blue", "blue", "blue", "blue"],
    ... })
    >>> LatentClassClusterer(2, random_state=0).fit_predict(table)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    grid_limit = GRID_LIMIT  # numbers are summed, not counted
    _n_passes = 3
    answer_: Answer
    n_clusters_: int
    labels_: NDArray[np.intp]
    cluster_weight_: NDArray[np.float64]
    lower_bounds_: NDArray[np.float64]
    cv_log_likelihood_: NDArray[np.float64]
    converged_: bool
    n_iter_: int

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        max_clusters: int = 32,
        cv: Any = 10,
        n_init: int = 3,
        init: str = "far",
        max_iter: int = 100,
        tol: float = 1e-3,
        alpha: float = 1.0,
        prior_alpha: float = 0.0,
        min_variance: float = 0.1,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.cv = cv
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.prior_alpha = prior_alpha
        self.min_variance = min_variance
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self
        """
        self._check_parameters()
        scan = scan_of(X, y, sample_weight)
        given = (X, y, sample_weight) if scan is None else (scan, None, None)
        source, summary = self._read(*given)
        seed = draw_seed(self.random_state)
        coarse = coarsen(summary, {}, max_categories=self.max_categories)
        cv = self._cv(float(coarse.counts.totals.sum()))
        data = read_em_data(source, summary, coarse, cv, seed)
        with data.records:
            fitted, held_out = self._search(data, seed)
        self._set_fitted(fitted, held_out, data, summary.schema)
        # Rows of weight zero have labels, too.
        labels = self._open(given[0]).each(partial(_cluster, self.answer_), "labelling")
        self.labels_ = np.concatenate(list(labels))
        return self

    def _cv(self, weight: float) -> Any:
        """Return the folds: None where the number is given, or rows are fewer than folds."""
        if self.n_clusters != "auto":
            return None
        if isinstance(self.cv, numbers.Integral):
            return int(self.cv) if weight >= self.cv else None
        return self.cv

    def _search(self, data: EMData, seed: int) -> tuple[FittedMixture, list[float]]:
        prior = Prior(float(self.alpha), float(self.prior_alpha), float(self.min_variance))
        options = EMOptions(prior, self.n_init, self.max_iter, float(self.tol), seed, self.init)

        def progress(n: int) -> Progress:
            task = f"EM of {n} cluster{'s' if n > 1 else ''}"
            return Progress(
                task, unit="steps", n_rows=data.n_rows, step="step", steps=self.max_iter,
                hook=self._hook,
            )  # fmt: skip

        search = EMSearch(data, options, self.n_jobs, progress)
        if self.n_clusters != "auto":
            return fit_number(search, int(self.n_clusters)), []
        if data.n_folds == 0:
            if not isinstance(self.cv, numbers.Integral):
                raise ValueError("cv has a fold without training rows; use another splitter.")
            return fit_number(search, 1), []
        return fit_growing(search, self.max_clusters)

    def _set_fitted(
        self, fitted: FittedMixture, held_out: list[float], data: EMData, schema: Schema
    ) -> None:
        """Store what was learned, with the clusters in order of size."""
        shares = np.exp(fitted.mixtures.log_share[0])
        order = np.argsort(-shares, kind="stable")
        scorer = cluster_scorer(fitted.mixtures, order, data, schema)
        self.n_clusters_ = len(order)
        self.answer_ = Answer(schema, np.arange(self.n_clusters_), EvidenceTable(scorer))
        self.cluster_weight_ = shares[order]
        self.lower_bounds_ = fitted.history
        self.converged_ = fitted.converged
        self.n_iter_ = len(fitted.history)
        self.cv_log_likelihood_ = np.array(held_out)
        self._remember(schema)

    def _check_parameters(self) -> None:
        if self.n_clusters != "auto":
            if isinstance(self.n_clusters, str):
                raise ValueError(
                    f"n_clusters must be a whole number or 'auto'; got {self.n_clusters!r}."
                )
            check_number(self, "n_clusters", 1, whole=True)
        if self.cv is None or isinstance(self.cv, (str, numbers.Number)):
            check_number(self, "cv", 2, whole=True)
        for name in ("max_clusters", "n_init", "max_iter"):
            check_number(self, name, 1, whole=True)
        for name in ("tol", "alpha", "prior_alpha"):
            check_number(self, name, 0)
        check_number(self, "min_variance", 1e-12, 1)
        check_word(self, "init", "far", "random")

    def _check_learned(self) -> None:
        super()._check_learned()
        n, expected = self.n_clusters_, self.labels_.size
        expect(n > 0, "there are no clusters.")
        expect(len(self.answer_.classes) == n, "answer_ is for other clusters.")
        expect(self.answer_.schema.names == self.schema_.names, "answer_ is for other columns.")
        check_values("labels_", self.labels_, (expected,), 0, n - 1)
        check_values("cluster_weight_", self.cluster_weight_, (n,), 0.0, 1.0 + 1e-9)
        for name in ("lower_bounds_", "cv_log_likelihood_"):
            values = getattr(self, name)
            check_values(name, values, (values.size,), nan=True)
        steps = len(self.lower_bounds_)
        expect(self.n_iter_ == steps, f"n_iter_ is not {steps}, the length of lower_bounds_.")

    def _n_tasks(self) -> int | None:
        return None if self.n_clusters == "auto" else 1

    def _supervised(self, y: Any) -> bool:  # noqa: ARG002
        return False

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(frozenset(), schema.numeric)

    # Answering ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predict the most probable cluster of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        source = self._open(X)
        return source.map(partial(_cluster, self.answer_, n_jobs=self.n_jobs), ["cluster"])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each cluster for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_clusters)
        """
        source = self._open(X)
        names = [f"probability_{k}" for k in range(self.n_clusters_)]
        ask = partial(self.answer_.probabilities, n_jobs=self.n_jobs)
        shares: NDArray[np.float64] = source.map(ask, names)
        return shares

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of each row: log density of its numbers, else log probability.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        source = self._open(X)
        answer, n_jobs = self.answer_, self.n_jobs
        likelihood: NDArray[np.float64] = source.map(
            lambda block: logsumexp(answer.joint(block, n_jobs), axis=1), ["log_likelihood"]
        )
        return likelihood

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of the rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion on some rows: lower is better.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        scores = self.score_samples(X)
        return float(self.n_parameters_ * np.log(len(scores)) - 2.0 * scores.sum())

    @property
    def scorer_(self) -> Scorer:
        """Evidence of every cluster."""
        root = self.answer_.root
        assert isinstance(root, EvidenceTable)
        return root.scorer

    @property
    def n_parameters_(self) -> int:
        """Free parameters: shares, means and variances, frequencies."""
        k = self.n_clusters_
        free = 0
        for term in self.scorer_.terms:
            if isinstance(term, GaussianTerm):
                free += 2
            elif isinstance(term, TableTerm) and isinstance(term.coder, Categories):
                free += term.coder.size - 1
        return k - 1 + k * free


def _cluster(answer: Answer, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
    """Return the most probable cluster of each row."""
    return answer.joint(block, n_jobs).argmax(axis=1)
