"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from importlib import import_module
from typing import Any

from unnaive.density import bayes_measure
from unnaive.discretize import Discretizer
from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
    merge,
)

__version__ = "0.1.0.dev0"

# Names whose modules are imported when they are asked for.
_LATER = {
    "to_sql": "unnaive.store.sql",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'unnaive' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


__all__ = [
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "C45Classifier",
    "ClassDecompositionClassifier",
    "Discretizer",
    "FlexibleNBTreeClassifier",
    "HierarchicalMixtureClassifier",
    "LatentClassClusterer",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "__version__",
    "bayes_measure",
    "export_text",
    "merge",
    "to_sql",
]
