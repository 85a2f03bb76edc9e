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
    from unnaive.store import load, save
    from unnaive.table import scan

__version__ = "0.1.0.dev0"

# Names that are imported when they are first used: name, room.
_LATER = {
    "DecompositionDisplay": "unnaive.explain",
    "EvidenceDisplay": "unnaive.explain",
    "ExplanationDisplay": "unnaive.explain",
    "MixtureDisplay": "unnaive.explain",
    "NomogramDisplay": "unnaive.explain",
    "TreeDisplay": "unnaive.explain",
    "discriminate": "unnaive.explain",
    "evidence_of": "unnaive.explain",
    "explain_rows": "unnaive.explain",
    "importance_of": "unnaive.explain",
    "load": "unnaive.store",
    "quality_of": "unnaive.explain",
    "save": "unnaive.store",
    "scan": "unnaive.table",
    "what_if": "unnaive.explain",
}

__all__ = [
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "C45Classifier",
    "ClassDecompositionClassifier",
    "DecompositionDisplay",
    "Discretizer",
    "EvidenceDisplay",
    "ExplanationDisplay",
    "FlexibleNBTreeClassifier",
    "HierarchicalMixtureClassifier",
    "LatentClassClusterer",
    "MixtureDisplay",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "NomogramDisplay",
    "TreeDisplay",
    "__version__",
    "bayes_measure",
    "discriminate",
    "evidence_of",
    "explain_rows",
    "export_text",
    "importance_of",
    "load",
    "merge",
    "quality_of",
    "save",
    "scan",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
