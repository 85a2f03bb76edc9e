"""What values of three columns say about a loan."""

from unnaive import EvidenceDisplay, NaiveBayesClassifier
from unnaive.datasets import load_german_credit

X, y = load_german_credit()
model = NaiveBayesClassifier().fit(X, y)
EvidenceDisplay.from_estimator(
    model, label="bad", attributes=["checking_account", "duration_months", "housing"]
)
