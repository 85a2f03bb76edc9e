"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from unnaive.store import load, save

__version__ = "0.1.0.dev0"

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
    "load",
    "merge",
    "save",
]

# Imported where used.
_LATER = {
    "load": "unnaive.store",
    "save": "unnaive.store",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'unnaive' has no attribute {name!r}")
