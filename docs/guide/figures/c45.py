"""A tree of german credit, opened where most loans are."""

from unnaive import C45Classifier, TreeDisplay
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
tree = C45Classifier().fit(X, y)
TreeDisplay.from_estimator(tree, max_nodes=16)
