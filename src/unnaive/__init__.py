"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from unnaive.discretize import Discretizer
from unnaive.models import (
    ClassDecompositionClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
    merge,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "ClassDecompositionClassifier",
    "Discretizer",
    "LatentClassClusterer",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "__version__",
    "export_text",
    "merge",
]
