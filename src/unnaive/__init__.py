"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from unnaive.density import bayes_measure
from unnaive.discretize import Discretizer
from unnaive.models import (
    C45Classifier,
    FlexibleNBTreeClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
    merge,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "C45Classifier",
    "Discretizer",
    "FlexibleNBTreeClassifier",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "__version__",
    "bayes_measure",
    "export_text",
    "merge",
]
