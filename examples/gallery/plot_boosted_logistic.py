"""
Boosted naive Bayes is a logistic regression one can read
=========================================================

Elkan: for two classes naive Bayes is a logistic regression whose weights are differences of log
probabilities, one per value. Boosting with real votes adds such weights up, so the result is
still one weight per value. Boosting moves the weights of related columns down, as fitting a
logistic regression would.
"""

# %%
# Three noisy copies of one signal, and one column of its own.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from unnaive import BoostedNaiveBayesClassifier, NaiveBayesClassifier


def draw(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows in which columns a, b and c repeat each other, and d does not."""
    signal = rng.random(n) < 0.5
    table = pd.DataFrame({name: signal ^ (rng.random(n) < 0.1) for name in "abc"})
    table["d"] = rng.random(n) < 0.5
    odds = 1.5 * (2 * signal - 1) + 1.0 * (2 * table["d"] - 1)
    return table, (rng.random(n) < 1 / (1 + np.exp(-odds))).to_numpy()


X, y = draw(4000, np.random.default_rng(0))
new, truth = draw(20_000, np.random.default_rng(1))

# %%
# The weight of a column: by how much the log odds rise when it is true instead of false.

models = {
    "naive Bayes": NaiveBayesClassifier().fit(X, y),
    "boosted, 10 rounds": BoostedNaiveBayesClassifier().fit(X, y),
    "boosted, 60 rounds": BoostedNaiveBayesClassifier(n_estimators=60).fit(X, y),
    "logistic regression": LogisticRegression(C=1e6).fit(X, y),
}
pair = pd.DataFrame({name: [False, True] for name in X})
weights = {}
for name, model in models.items():
    if isinstance(model, LogisticRegression):
        weights[name] = model.coef_[0]
    else:
        bars = model.evidence(pair).contributions
        odds = bars[..., 1] - bars[..., 0]
        weights[name] = odds[1] - odds[0]

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
inks = ["#0072b2", "#56b4e9", "#009e73", "#d55e00"]
for k, (name, weight) in enumerate(weights.items()):
    loss = log_loss(truth, models[name].predict_proba(new))
    ax.bar(
        np.arange(4) + 0.2 * k, weight, 0.18, color=inks[k], label=f"{name}: log loss {loss:.3f}"
    )
ax.set_xticks(np.arange(4) + 0.3, ["a", "b (copy)", "c (copy)", "d"])
ax.set_ylabel("weight of true against false")
ax.margins(y=0.45)
ax.set_ylim(bottom=0)
ax.legend(loc="upper center", ncols=2, fontsize="small")
plt.show()
