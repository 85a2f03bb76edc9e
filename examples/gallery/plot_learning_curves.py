"""
NBTree and naive Bayes as rows grow
===================================

Kohavi's observation: with few rows naive Bayes is hard to beat, with many rows trees win.
NBTree follows the better of the two, because it splits only where cross-validation says that it
pays.
"""

# %%
# Ten answers of a questionnaire add up; visits mean the opposite in north and south.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import LearningCurveDisplay, ShuffleSplit

from unnaive import C45Classifier, NaiveBayesClassifier, NBTreeClassifier

rng = np.random.default_rng(0)
n = 12_000
table = pd.DataFrame({f"answer {k}": rng.choice(["no", "partly", "yes"], n) for k in range(10)})
table["region"] = rng.choice(["north", "south"], n)
table["visits"] = rng.integers(0, 10, n).astype(float)
agreed = (table.iloc[:, :10] == "yes").sum(axis=1) - (table.iloc[:, :10] == "no").sum(axis=1)
turned = np.where(table["region"] == "north", 1.0, -1.0) * (table["visits"] - 4.5) / 2
leaves = np.where(agreed + turned + rng.logistic(size=n) > 0, "leaves", "stays")

# %%
# scikit-learn's own display draws the curves.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
models = {
    "C4.5": (C45Classifier(), "#999999"),
    "naive Bayes": (NaiveBayesClassifier(), "#0072b2"),
    "NBTree": (NBTreeClassifier(random_state=0), "#d55e00"),
}
for name, (model, ink) in models.items():
    display = LearningCurveDisplay.from_estimator(
        model, table, leaves, ax=ax, cv=ShuffleSplit(4, test_size=0.3, random_state=0),
        train_sizes=np.geomspace(0.02, 1.0, 7), score_type="test", score_name="accuracy",
        line_kw={"color": ink}, fill_between_kw={"color": ink, "alpha": 0.15},
    )  # fmt: skip
    display.lines_[0].set_label(name)
ax.set(xscale="log", xlabel="training rows")
ax.legend(loc="lower right")
plt.show()
