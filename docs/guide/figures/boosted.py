"""Three columns that repeat each other: naive Bayes counts them thrice, boosting less."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import BoostedNaiveBayesClassifier, ExplanationDisplay, NaiveBayesClassifier

rng = np.random.default_rng(0)
ill = rng.random(4000) < 0.5
table = pd.DataFrame(
    {
        name: np.where(ill ^ (rng.random(4000) < 0.1), "yes", "no")
        for name in ("fever", "hot", "sweat")
    }
)
table["cough"] = rng.choice(["yes", "no"], 4000)
odds = 1.5 * (2 * ill - 1) + 2 * (table["cough"] == "yes") - 1
found = np.where(rng.random(4000) < 1 / (1 + np.exp(-odds)), "flu", "well")
row = pd.DataFrame({"fever": ["yes"], "hot": ["yes"], "sweat": ["yes"], "cough": ["no"]})

fig, axes = plt.subplots(2, 1, figsize=(7.5, 5.2), layout="constrained")
models = {
    "naive Bayes": NaiveBayesClassifier(),
    "boosted, 60 rounds": BoostedNaiveBayesClassifier(n_estimators=60),
}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    display = ExplanationDisplay.from_estimator(model.fit(table, found), row, ax=ax)
    ax.set_title(f"{name}: P(flu) = {display.waterfall.probability:.2f}", loc="left")
    ax.set_xlim(-1.5, 3.5)
axes[0].set_xlabel("")
