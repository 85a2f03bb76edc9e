"""
Evidence of german credit
=========================

Kohavi's picture of a naive Bayes: for every value of every column, how much it speaks for a class
and against the rest. Thin data look thin: the whiskers are credible intervals.
"""

# %%
# 1,000 loans, 20 columns.

import matplotlib.pyplot as plt

from unnaive import NaiveBayesClassifier
from unnaive.datasets import load_german_credit
from unnaive.explain import EvidenceDisplay, ExplanationDisplay

X, y = load_german_credit()
model = NaiveBayesClassifier().fit(X, y)

# %%
# What speaks for a bad loan, over all values.

EvidenceDisplay.from_estimator(model)
plt.show()

# %%
# And why one loan is thought bad: the bars add up to the answer.

doubtful = model.predict_proba(X)[:, list(model.classes_).index("bad")].argsort()[-20]
ExplanationDisplay.from_estimator(model, X.iloc[[doubtful]])
plt.show()
