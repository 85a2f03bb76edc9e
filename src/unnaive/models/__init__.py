"""CLASSIFIERS: one file per model."""

from unnaive.models.decomposition import ClassDecompositionClassifier
from unnaive.models.latent_class import LatentClassClusterer
from unnaive.models.merge import merge
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.models.nbtree import NBTreeClassifier
from unnaive.models.tree.export import export_text

__all__ = [
    "ClassDecompositionClassifier",
    "LatentClassClusterer",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "export_text",
    "merge",
]
