"""Every public estimator, in the configurations that all common tests visit."""

from __future__ import annotations

from unnaive import (
    ClassDecompositionClassifier,
    Discretizer,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
)

CLASSIFIERS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(numeric="width", missing="value"),
    NaiveBayesClassifier(numeric="frequency", alpha=0.0),
    NaiveBayesClassifier(numeric="sigma", alpha=0.1),
    NaiveBayesClassifier(numeric="gaussian"),
    NaiveBayesClassifier(grid_limit=8, n_jobs=2),
]
TREES = [
    NBTreeClassifier(random_state=0),
    NBTreeClassifier(discretize="global", alpha=0.5, missing="value", random_state=0, n_jobs=2),
]
TRANSFORMERS = [
    Discretizer(),
    Discretizer("width"),
    Discretizer("frequency", n_bins=4),
    Discretizer("sigma", grid_limit=8, n_jobs=2),
]
CLUSTERERS = [
    LatentClassClusterer(random_state=0),
    LatentClassClusterer(3, n_init=2, prior_alpha=0.5, min_variance=0.01, random_state=1, n_jobs=2),
]
# Around any estimators: their evidence is that of (class, cluster) pairs.
META = [
    ClassDecompositionClassifier(random_state=0),
    ClassDecompositionClassifier(NBTreeClassifier(), fold="max", random_state=0, n_jobs=2),
    ClassDecompositionClassifier(select="accuracy", min_rows=4, random_state=0),
]
ADDITIVE = [*CLASSIFIERS, *TRANSFORMERS]
CLASSIFIERS = [*CLASSIFIERS, *TREES]
ESTIMATORS = [*CLASSIFIERS, *TRANSFORMERS, *CLUSTERERS, *META]

# Checks that an estimator may fail, each with its reason. Only estimators that draw rows at random
# may be excused, and only from the sample-weight equivalence check.
EXCUSED: dict[str, dict[str, str]] = {}
