"""Naive Bayes that is not naive: accurate, fast, readable classifiers for tables."""

from unnaive.discretize import Discretizer
from unnaive.models import NaiveBayesClassifier, merge

__version__ = "0.1.0.dev0"

__all__ = ["Discretizer", "NaiveBayesClassifier", "__version__", "merge"]
