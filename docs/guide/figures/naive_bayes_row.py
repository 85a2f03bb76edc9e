"""Why one loan is thought bad."""

from unnaive import ExplanationDisplay, NaiveBayesClassifier
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
model = NaiveBayesClassifier().fit(X, y)
ExplanationDisplay.from_estimator(model, X, row=3, max_bars=8)
