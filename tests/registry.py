"""Every public estimator, in the configurations that all common tests visit."""

from __future__ import annotations

from typing import Any

from unnaive import (
    AutoClassifier,
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    Discretizer,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    PooledClassifier,
    RandomForestClassifier,
    UnnaiveBayesClassifier,
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
    C45Classifier(alpha=0.0, min_rows=5, raising=False, calibration="none", grid_limit=8, n_jobs=2),
    NBTreeClassifier(random_state=0),
    NBTreeClassifier(discretize="global", alpha=0.5, missing="value", random_state=0, n_jobs=2),
    FlexibleNBTreeClassifier(random_state=0),
    FlexibleNBTreeClassifier(
        select="utility", bandwidth=0.5, missing="value", random_state=0, n_jobs=2
    ),
]
BOOSTED = [
    BoostedNaiveBayesClassifier(),
    BoostedNaiveBayesClassifier(algorithm="m1", numeric="sigma", alpha=0.1, random_state=0),
    BoostedNaiveBayesClassifier(algorithm="samme", missing="value", random_state=0, n_jobs=2),
    BoostedNaiveBayesClassifier(algorithm="probability"),
]
BAGGED = [
    BaggedNaiveBayesClassifier(random_state=0),
    BaggedNaiveBayesClassifier(voting="hard", numeric="frequency", alpha=0.0, random_state=0),
]
MIXTURES = [
    HierarchicalMixtureClassifier(random_state=0),
    HierarchicalMixtureClassifier(layers=(2, 2), training="batch", numeric="mdl", random_state=0),
    HierarchicalMixtureClassifier(
        layers="grow", training="batch", max_experts=4, cv=3, random_state=0, n_jobs=2
    ),
]
TRANSFORMERS = [
    Discretizer(),
    Discretizer("width"),
    Discretizer("frequency", n_bins=4),
    Discretizer("sigma", grid_limit=8, n_jobs=2),
    Discretizer("bayes"),
]
CLUSTERERS = [
    LatentClassClusterer(random_state=0),
    LatentClassClusterer(3, n_init=1, init="random", random_state=1),
    LatentClassClusterer(3, n_init=2, prior_alpha=0.5, min_variance=0.01, random_state=1, n_jobs=2),
]
# Evidence of columns and pairs; the second holds out no rows.
UNNAIVE = [
    UnnaiveBayesClassifier(max_rounds=60, random_state=0),
    UnnaiveBayesClassifier(
        interactions=2, early_stopping=False, max_rounds=10, missing="skip", n_jobs=2
    ),
]
# Trees that draw rows; the second draws none, so that nothing is out of bag.
FORESTS = [
    RandomForestClassifier(n_estimators=12, random_state=0),
    RandomForestClassifier(
        n_estimators=4, bootstrap=False, max_features=None, min_samples_leaf=3, max_bins=8,
        alpha=0.0, random_state=0, n_jobs=2,
    ),
]  # fmt: skip
# Around any estimators: their evidence is that of (class, cluster) pairs.
META = [
    ClassDecompositionClassifier(random_state=0),
    ClassDecompositionClassifier(
        NBTreeClassifier(), fold="max", calibration="none", random_state=0, n_jobs=2
    ),
    ClassDecompositionClassifier(
        select="accuracy", cv=2, max_clusters=2, min_rows=4, random_state=0
    ),
]
# Choose among the others or join them; what they answer is kept.
CHOOSERS = [
    AutoClassifier(models=["nb", "kernel", "c45"], cv=3, random_state=0),
    PooledClassifier(
        [("nb", NaiveBayesClassifier()), ("forest", RandomForestClassifier(n_estimators=8))],
        random_state=0,
    ),
]
ADDITIVE = [*CLASSIFIERS, *TRANSFORMERS]
CLASSIFIERS = [*CLASSIFIERS, *TREES, *BOOSTED, *BAGGED, *MIXTURES, *UNNAIVE, *FORESTS]
ESTIMATORS = [*CLASSIFIERS, *TRANSFORMERS, *CLUSTERERS, *META]

# Checks that an estimator may fail, each with its reason. Only estimators that draw rows at random
# may be excused, and only from the sample-weight equivalence check.
_EQUIVALENCE = "check_sample_weight_equivalence_on_dense_data"
_INNER_FOLDS = "a row of weight 2 is in one of the folds that calibrate; two rows are apart"
EXCUSED: dict[str, dict[str, str]] = {
    "BaggedNaiveBayesClassifier": {
        _EQUIVALENCE: "a row of weight 2 is drawn once and counts twice; two rows are drawn apart"
    },
    "RandomForestClassifier": {
        _EQUIVALENCE: "a row of weight 2 is drawn once and counts twice; two rows are drawn apart"
    },
    "PooledClassifier": {
        _EQUIVALENCE: "a row of weight 2 is held out, or drawn, once; two rows are apart"
    },
    "BoostedNaiveBayesClassifier": {_EQUIVALENCE: _INNER_FOLDS},  # more columns than rows
    "C45Classifier": {_EQUIVALENCE: _INNER_FOLDS},
    "NBTreeClassifier": {_EQUIVALENCE: _INNER_FOLDS},
    "FlexibleNBTreeClassifier": {_EQUIVALENCE: _INNER_FOLDS},
    "HierarchicalMixtureClassifier": {_EQUIVALENCE: _INNER_FOLDS},
    "ClassDecompositionClassifier": {_EQUIVALENCE: _INNER_FOLDS},
    "UnnaiveBayesClassifier": {
        _EQUIVALENCE: "a row of weight 2 is held out by one bag; two rows are held out apart"
    },
}


def excused(estimator: Any) -> dict[str, str]:
    """The checks that one configuration may fail."""
    if estimator.get_params().get("calibration") == "none":
        return {}
    if estimator in [TREES[1], *UNNAIVE[1:], *FORESTS[1:]]:  # these draw no rows
        return {}
    return EXCUSED.get(type(estimator).__name__, {})
