"""CLASSIFIERS: one file per model."""

from unnaive.models.bagged import BaggedNaiveBayesClassifier
from unnaive.models.boosted import BoostedNaiveBayesClassifier
from unnaive.models.hierarchical import HierarchicalMixtureClassifier
from unnaive.models.merge import merge
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.models.nbtree import NBTreeClassifier
from unnaive.models.tree.export import export_text

__all__ = [
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "HierarchicalMixtureClassifier",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "export_text",
    "merge",
]
