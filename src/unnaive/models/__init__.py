"""CLASSIFIERS: one file per model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unnaive.models.merge import merge, subtract

if TYPE_CHECKING:
    from unnaive.models.answer_classifier import AnswerClassifier
    from unnaive.models.bagged import BaggedNaiveBayesClassifier
    from unnaive.models.base import TableClassifier
    from unnaive.models.boosted import BoostedNaiveBayesClassifier
    from unnaive.models.c45 import C45Classifier
    from unnaive.models.decomposition import ClassDecompositionClassifier
    from unnaive.models.flexible_nbtree import FlexibleNBTreeClassifier
    from unnaive.models.forest import RandomForestClassifier
    from unnaive.models.hierarchical import HierarchicalMixtureClassifier
    from unnaive.models.latent_class import LatentClassClusterer
    from unnaive.models.naive_bayes import NaiveBayesClassifier
    from unnaive.models.nbtree import NBTreeClassifier
    from unnaive.models.unnaive_bayes import UnnaiveBayesClassifier

# The module of each name, which is imported when it is first asked for: one model needs no other.
_LATER = {
    "AnswerClassifier": "answer_classifier",
    "BaggedNaiveBayesClassifier": "bagged",
    "BoostedNaiveBayesClassifier": "boosted",
    "C45Classifier": "c45",
    "ClassDecompositionClassifier": "decomposition",
    "FlexibleNBTreeClassifier": "flexible_nbtree",
    "HierarchicalMixtureClassifier": "hierarchical",
    "LatentClassClusterer": "latent_class",
    "NBTreeClassifier": "nbtree",
    "NaiveBayesClassifier": "naive_bayes",
    "RandomForestClassifier": "forest",
    "TableClassifier": "base",
    "UnnaiveBayesClassifier": "unnaive_bayes",
}

__all__ = [
    "AnswerClassifier",
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "C45Classifier",
    "ClassDecompositionClassifier",
    "FlexibleNBTreeClassifier",
    "HierarchicalMixtureClassifier",
    "LatentClassClusterer",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "RandomForestClassifier",
    "TableClassifier",
    "UnnaiveBayesClassifier",
    "merge",
    "subtract",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'unnaive.models' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"unnaive.models.{_LATER[name]}"), name)
    return value
