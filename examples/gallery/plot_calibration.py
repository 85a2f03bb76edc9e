"""
Too sure: calibration of naive Bayes and its family
===================================================

Naive Bayes counts related columns twice. Its order of rows stays good, its probabilities move
to 0 and 1. Boosting with small steps, or scikit-learn's calibration around it, brings them
back.
"""

# %%
# Four columns are informative, twelve more are mixtures of these four.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from unnaive import BoostedNaiveBayesClassifier, NaiveBayesClassifier, NBTreeClassifier

X, y = make_classification(
    6000, 16, n_informative=4, n_redundant=12, n_clusters_per_class=2, flip_y=0.1, random_state=3
)
models = {
    "naive Bayes": NaiveBayesClassifier(),
    "NBTree": NBTreeClassifier(random_state=0),
    "boosted": BoostedNaiveBayesClassifier(),
    "naive Bayes, isotonic": CalibratedClassifierCV(
        NaiveBayesClassifier(), method="isotonic", cv=5
    ),
}

# %%
# Every row is judged by a model that has not seen it.

folds = StratifiedKFold(3, shuffle=True, random_state=0)
fig, ax = plt.subplots(figsize=(6, 5.4), layout="constrained")
inks = ["#0072b2", "#009e73", "#d55e00", "#999999"]
for (name, model), ink in zip(models.items(), inks, strict=True):
    share = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    label = f"{name}: log loss {log_loss(y, share):.3f}"
    CalibrationDisplay.from_predictions(y, share[:, 1], n_bins=8, name=label, ax=ax, color=ink)
ax.set(xlabel="predicted probability", ylabel="observed frequency")
plt.show()
