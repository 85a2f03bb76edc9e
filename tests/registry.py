"""Every public estimator, in the configurations that all common tests visit."""

from __future__ import annotations

from unnaive import (
    C45Classifier,
    Discretizer,
    FlexibleNBTreeClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
)

CLASSIFIERS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(numeric="width", missing="value"),
    NaiveBayesClassifier(numeric="frequency", alpha=0.0),
    NaiveBayesClassifier(numeric="sigma", alpha=0.1),
    NaiveBayesClassifier(numeric="gaussian"),
    NaiveBayesClassifier(numeric="kernel", bandwidth="cv"),
    NaiveBayesClassifier(numeric="kernel", bandwidth="silverman", missing="value", n_jobs=2),
    NaiveBayesClassifier(numeric="bayes", bandwidth="cv"),
    NaiveBayesClassifier(grid_limit=8, n_jobs=2),
]
TREES = [
    C45Classifier(),
    C45Classifier(alpha=0.0, min_rows=5, raising=False, grid_limit=8, n_jobs=2),
    NBTreeClassifier(random_state=0),
    NBTreeClassifier(discretize="global", alpha=0.5, missing="value", random_state=0, n_jobs=2),
    FlexibleNBTreeClassifier(random_state=0),
    FlexibleNBTreeClassifier(
        select="utility", bandwidth=0.5, missing="value", random_state=0, n_jobs=2
    ),
]
TRANSFORMERS = [
    Discretizer(),
    Discretizer("width"),
    Discretizer("frequency", n_bins=4),
    Discretizer("sigma", grid_limit=8, n_jobs=2),
    Discretizer("bayes"),
]
ADDITIVE = [*CLASSIFIERS, *TRANSFORMERS]
CLASSIFIERS = [*CLASSIFIERS, *TREES]
ESTIMATORS = [*CLASSIFIERS, *TRANSFORMERS]

# Checks that an estimator may fail, each with its reason. Only estimators that draw rows at random
# may be excused, and only from the sample-weight equivalence check.
EXCUSED: dict[str, dict[str, str]] = {}
