"""
When missing values are informative
===================================

A test that the doctor did not order says something about the patient. ``missing="value"`` lets
a gap speak; ``missing="skip"`` passes over it. Filling gaps with the mean puts them where they
do not belong: a normal density blurs them with the values that were measured.
"""

# %%
# A laboratory value that is measured mostly for those who look ill.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from unnaive import NaiveBayesClassifier

rng = np.random.default_rng(0)
n = 3000
ill = rng.random(n) < 0.3
lab = rng.normal(np.where(ill, 1.0, 0.0), 1.0)
age = rng.normal(50, 12, n) + 4 * ill

# %%
# Accuracy as the habit of ordering tests depends more and more on how the patient looks.

strengths = np.linspace(0, 0.45, 6)
models = {
    "a gap is a value": (NaiveBayesClassifier(numeric="gaussian", missing="value"), "#d55e00"),
    "a gap says nothing": (NaiveBayesClassifier(numeric="gaussian"), "#0072b2"),
    "imputed by the mean": (
        make_pipeline(SimpleImputer(), NaiveBayesClassifier(numeric="gaussian")),
        "#999999",
    ),
}
curves: dict[str, list[float]] = {name: [] for name in models}
for strength in strengths:
    ordered = rng.random(n) < 0.5 + strength * np.where(ill, 1, -1)
    table = pd.DataFrame({"lab": np.where(ordered, lab, np.nan), "age": age})
    for name, (model, _) in models.items():
        curves[name].append(100 * cross_val_score(model, table, ill, cv=5).mean())

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, curve in curves.items():
    ax.plot(100 * (0.5 + strengths), curve, "o-", color=models[name][1], label=name)
ax.set(
    xlabel="tests ordered for the ill, per cent (the rest for the healthy)", ylabel="per cent right"
)
ax.legend()
plt.show()
