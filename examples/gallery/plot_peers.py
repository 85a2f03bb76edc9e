"""
Beside EBM and LightGBM
=======================

Boosted trees are the yardstick for accuracy on tables, explainable boosting machines for models
that can be read. German credit, three folds, the same for everyone.
"""

# %%
# Everyone at their defaults.

import time
import warnings

import matplotlib.pyplot as plt
from interpret.glassbox import ExplainableBoostingClassifier
from lightgbm import LGBMClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from unnaive import BoostedNaiveBayesClassifier, NaiveBayesClassifier, NBTreeClassifier
from unnaive.datasets import load_german_credit

warnings.simplefilter("ignore")
X, y = load_german_credit()
models = {
    "naive Bayes": NaiveBayesClassifier(),
    "NBTree": NBTreeClassifier(random_state=0),
    "boosted naive Bayes": BoostedNaiveBayesClassifier(),
    "EBM": ExplainableBoostingClassifier(random_state=0, n_jobs=1),
    "LightGBM": LGBMClassifier(random_state=0, n_jobs=1, verbose=-1),
}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
results = {}
for name, model in models.items():
    model.fit(X, y)  # whoever compiles something has done so
    start = time.perf_counter()
    share = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    took = time.perf_counter() - start
    labels = sorted(set(y))
    right = accuracy_score(y, [labels[k] for k in share.argmax(axis=1)])
    results[name] = (log_loss(y, share), 100 * right, took)

# %%
# Probabilities (log loss) and time for three fits, on a logarithmic scale.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (loss, right, took) in results.items():
    ours = name not in ("EBM", "LightGBM")
    ax.scatter(took, loss, s=60, color="#0072b2" if ours else "#d55e00")
    ax.annotate(
        f"{name} ({right:.1f} % right)", (took, loss), xytext=(7, 4), textcoords="offset points"
    )
ax.set(
    xscale="log",
    xlabel="seconds for three fits and predictions",
    ylabel="log loss (less is better)",
)
ax.margins(y=0.15)
ax.set_xlim(right=max(t for _, _, t in results.values()) * 20)
plt.show()
