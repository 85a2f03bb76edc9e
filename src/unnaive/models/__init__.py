"""CLASSIFIERS: one file per model."""

from unnaive.models._base import TableClassifier
from unnaive.models.bagged import BaggedNaiveBayesClassifier
from unnaive.models.bagging import BaggedClassifier
from unnaive.models.boosted import BoostedNaiveBayesClassifier
from unnaive.models.boosting import BoostedClassifier
from unnaive.models.c45 import C45Classifier
from unnaive.models.decomposition import ClassDecompositionClassifier
from unnaive.models.flexible_nbtree import FlexibleNBTreeClassifier
from unnaive.models.forest import RandomForestClassifier
from unnaive.models.hierarchical import HierarchicalMixtureClassifier
from unnaive.models.latent_class import LatentClassClusterer
from unnaive.models.merge import merge, subtract
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.models.nbtree import NBTreeClassifier
from unnaive.models.unnaive_bayes import UnnaiveBayesClassifier

__all__ = [
    "BaggedClassifier",
    "BaggedNaiveBayesClassifier",
    "BoostedClassifier",
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
