"""Vilalta and Rish's protocol: stratified ten-fold cross-validation, five times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive.models import ClassDecompositionClassifier
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.measures import NOTHING, by_set
from unnaive_papers.numbers import Numbers
from unnaive_papers.protocol import folds, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, exactly, mean_estimate
from unnaive_papers.study import Study

FOLDS = 10
CLUSTERS = 3  # of clusterers that must be told: about the paper's mean of 3.42


def _around(clusterer: Any, seed: int) -> Any:
    """Decomposition by a clusterer of numbers, with the paper's naive Bayes."""
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Numbers("columns", scale=True), clusterer)
    return ClassDecompositionClassifier(clusterer=pipeline, fold="max", random_state=seed)


def _k_means(seed: int) -> Any:
    from sklearn.cluster import KMeans

    return _around(KMeans(CLUSTERS, n_init=3, random_state=seed), seed)


def _gaussian_mixture(seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(CLUSTERS, covariance_type="diag", reg_covar=1e-3, random_state=seed)
    return _around(model, seed)


def _ward(seed: int) -> Any:
    from sklearn.cluster import AgglomerativeClustering

    return _around(AgglomerativeClustering(CLUSTERS), seed)


def _logistic(_: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Numbers("columns", scale=True), LogisticRegression(max_iter=500))


def _linear_svm(seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(Numbers("columns", scale=True), LinearSVC(random_state=seed))


CONFIGURATIONS: dict[str, Callable[[Any], Any]] = {
    **EXACT["vilalta"],
    "NB', by accuracy": lambda seed: ClassDecompositionClassifier(
        select="accuracy", random_state=seed
    ),
    "k-means": _k_means,
    "Gaussian mixture": _gaussian_mixture,
    "Ward": _ward,
    "logistic": _logistic,
    "logistic'": lambda seed: ClassDecompositionClassifier(
        _logistic(seed), fold="sum", random_state=seed
    ),
    "linear SVM": _linear_svm,
    "linear SVM'": lambda seed: ClassDecompositionClassifier(_linear_svm(seed), random_state=seed),
}


def accuracy(
    sample: Sample, method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """One repeat: accuracy fold by fold, and clusters per class (mean, least, most).

    What NB' learned is also folded by sums, the library's default, without learning it again.
    """
    import warnings

    X, y = sample.X, sample.y
    parts = folds(y, options.get("folds", FOLDS), seed)
    fitted: list[Any] = []

    def make() -> Any:
        model = CONFIGURATIONS[method](seed)
        fitted.append(model)
        return model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # linear models that stop early, empty columns
        found = held_out(make, X, y, parts)
        if method == "NB'":
            right = [
                int((model.set_params(fold="sum").predict(X.iloc[test]) == y[test]).sum())
                for model, (_, test) in zip(fitted, parts, strict=True)
            ]
            found["sum_accuracy"] = 100 * sum(right) / len(y)
    found["clusters_mean"] = found["clusters"][0]
    return found


EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "accuracy": accuracy,
    "clusterers": accuracy,
    "linear": accuracy,
    "by_accuracy": accuracy,
}


# ---------------------------------------------------------------------------------------------
# Measures
# ---------------------------------------------------------------------------------------------


def few_clusters(records: Any, method: str, most: float) -> Estimate:
    """On how many sets classes have at most so many clusters on average."""
    own = records[records["method"] == method].groupby("set")["clusters_mean"].mean()
    return exactly(int((own <= most).sum()), len(own)) if len(own) else NOTHING


def many_or_few(records: Any, method: str, beside: str, more: float) -> Estimate:
    """How much larger the mean gain is on sets with more clusters than this than on the rest."""
    wide = by_set(records)
    own = records[records["method"] == method].groupby("set")["clusters_mean"].mean()
    if method not in wide or beside not in wide:
        return NOTHING
    gaps = (wide[method] - wide[beside]).dropna()
    many = own.loc[gaps.index] > more
    if many.sum() < 2 or (~many).sum() < 2:
        return NOTHING
    a, b = (mean_estimate(gaps[part], "sets") for part in (many, ~many))
    half = float(np.hypot(a.high - a.value, b.high - b.value))
    gap = a.value - b.value
    return Estimate(gap, gap - half, gap + half, "sets", len(gaps))


MEASURES: dict[str, Callable[..., Estimate]] = {
    "few clusters": few_clusters,
    "many clusters gain more": many_or_few,
}
