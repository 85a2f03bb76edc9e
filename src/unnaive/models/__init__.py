"""CLASSIFIERS: one file per model."""

from unnaive.models.merge import merge
from unnaive.models.naive_bayes import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier", "merge"]
