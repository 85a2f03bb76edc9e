"""Vilalta and Rish's protocol: stratified ten-fold cross-validation, five times."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from unnaive.models import ClassDecompositionClassifier, LatentClassClusterer
from unnaive.papers import CONFIGURATIONS as EXACT
from unnaive_papers.measures import NOTHING, by_set
from unnaive_papers.numbers import Numbers, is_number
from unnaive_papers.protocol import folds, held_out
from unnaive_papers.sets import Sample
from unnaive_papers.statistics import Estimate, exactly, mean_estimate
from unnaive_papers.study import Study
from unnaive_papers.vilalta.entropy import figure_1, maximum_entropy
from unnaive_papers.vilalta.plain_em import ZeroDensityError, plain_clusters

FOLDS = 10
FEWEST = 10  # rows of a class that is clustered
LEAST_VARIANCE = 1e-6  # in a cluster, of a class's: programs of the time had hardly a bound
LEAST_GAIN = 1e-6  # of log-likelihood per row in a step of EM, as in programs of the time
Find = Callable[[Any, int], tuple[Any, int]]  # rows, seed: clusters of the rows, how many there are
CLUSTERS = 3  # of clusterers that must be told: about the paper's mean of 3.42


def _around(clusterer: Any, seed: int) -> Any:
    """Decomposition by a clusterer of numbers, with the paper's naive Bayes."""
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Numbers("columns", scale=True), clusterer)
    return ClassDecompositionClassifier(
        clusterer=pipeline, fold="max", calibration="none", random_state=seed
    )


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
    "NB', plain products": EXACT["vilalta"]["NB"],  # on pairs that were found beforehand
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
                int((_by_sums(model).predict(X.iloc[test]) == y[test]).sum())
                for model, (_, test) in zip(fitted, parts, strict=True)
            ]
            found["sum_accuracy"] = 100 * sum(right) / len(y)
    found["clusters_mean"] = found["clusters"][0]
    return found


def _by_sums(model: Any) -> Any:
    """What was learned, with pairs added up to classes: another answer, not another fit."""
    other = copy(model)
    other.fold_ = "sum"
    return other


def whole_set(
    sample: Sample, method: str, seed: int, _: Study, options: dict[str, Any]
) -> dict[str, Any]:
    """One repeat in which the classes of all rows, test rows too, are clustered once beforehand.

    Test rows then take part in choosing clusters: figures of this mode are comparable with the
    paper's, but no estimate of what new rows would get. Their own clusters are not used to judge
    them, only their classes.
    """
    X, y = sample.X, sample.y
    find = FINDERS.get(method)
    pairs, owner, clusters = (y, None, [1]) if find is None else clustered(X, y, seed, find)
    right, tested = [], []
    for train, test in folds(y, options.get("folds", FOLDS), seed):
        model = EXACT["vilalta"]["NB"](seed).fit(X.iloc[train], pairs[train])
        given = model.predict(X.iloc[test])
        if owner is not None:
            given = owner[given]
        right.append(int((given == y[test]).sum()))
        tested.append(len(test))
    return {
        "accuracy": 100 * sum(right) / sum(tested),
        "folds": [100 * r / n for r, n in zip(right, tested, strict=True)],
        "clusters": [float(np.mean(clusters)), float(min(clusters)), float(max(clusters))],
        "clusters_mean": float(np.mean(clusters)),
        "tested": sum(tested),
    }


def replace_missing(X: Any) -> Any:
    """Missing numbers as the mean of their column, missing categories as its most frequent one."""
    usual = {c: X[c].mean() if is_number(X[c]) else X[c].mode().iloc[0] for c in X if X[c].count()}
    return X.fillna(usual)


def clustered(X: Any, y: Any, seed: int, find: Find) -> tuple[Any, Any, list[int]]:
    """The pair (class, cluster) of each row by number, the class of each pair, clusters per class.

    Classes of fewer than ten rows stay whole, as in the library and in the program of the time.
    """
    pairs = np.empty(len(y), dtype=np.intp)
    owner: list[Any] = []
    clusters: list[int] = []
    for label in np.unique(y):
        rows, n = np.flatnonzero(y == label), 1
        pairs[rows] = len(owner)
        if len(rows) >= FEWEST:
            labels, n = find(X.iloc[rows], seed)
            pairs[rows] += labels
        owner += [label] * n
        clusters.append(n)
    return pairs, np.array(owner, dtype=object), clusters


def _from_random_shares(X: Any, seed: int) -> tuple[Any, int]:
    """EM as programs of the paper's time ran it, but in logarithms, so that it never fails.

    Missing values are replaced; one start in random shares of the rows; hardly a least variance.
    """
    em = LatentClassClusterer(
        n_init=1,
        init="random",
        tol=LEAST_GAIN,
        min_variance=LEAST_VARIANCE,
        random_state=seed,
    ).fit(replace_missing(X))
    return em.labels_, em.n_clusters_


def _by_plain_products(X: Any, seed: int) -> tuple[Any, int]:
    """EM by products of densities; a class on which it ends with an error stays whole."""
    try:
        return plain_clusters(X, seed)
    except ZeroDensityError:
        return 0, 1


FINDERS: dict[str, Find] = {
    "NB'": _from_random_shares,
    "NB', plain products": _by_plain_products,
}

EXPERIMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "accuracy": accuracy,
    "whole_set": whole_set,
    "clusterers": accuracy,
    "linear": accuracy,
    "by_accuracy": accuracy,
    "entropy": maximum_entropy,
    "figure_1": figure_1,
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
