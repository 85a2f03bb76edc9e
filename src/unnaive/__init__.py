"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from importlib import import_module
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
    from unnaive.table.scan import scan

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
    "merge",
    "scan",
]

# Names that are imported when they are first used.
_LATER = {
    "scan": "unnaive.table.scan",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
