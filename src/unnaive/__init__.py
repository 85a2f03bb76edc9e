"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from unnaive.discretize import Discretizer
from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
    merge,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "Discretizer",
    "HierarchicalMixtureClassifier",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "__version__",
    "export_text",
    "merge",
]
