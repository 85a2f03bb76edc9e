"""
A nomogram: naive Bayes on paper
================================

One line per column; read the points of each value off the scale, add them up, and read the
probability below. No computer needed: that is what evidence that adds up means.
"""

# %%
# Survival on a sinking ship, drawn from made-up passengers.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import NaiveBayesClassifier
from unnaive.explain import NomogramDisplay

rng = np.random.default_rng(0)
n = 2000
people = pd.DataFrame(
    {
        "class": rng.choice(["first", "second", "third", "crew"], n, p=[0.15, 0.13, 0.32, 0.4]),
        "sex": rng.choice(["woman", "man"], n, p=[0.22, 0.78]),
        "age": rng.normal(34, 14, n).clip(1, 75).round(),
    }
)
help_of = {"first": 0.9, "second": 0.2, "third": -0.5, "crew": -0.2}
odds = people["class"].map(help_of) + np.where(people["sex"] == "woman", 1.2, -1.2)
odds += np.where(people["age"] < 14, 1.0, 0.0)
survived = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "survived", "died")
people.loc[rng.random(n) < 0.1, "age"] = np.nan

# %%
# Missing ages have a place of their own on the line.

model = NaiveBayesClassifier(missing="value").fit(people, survived)
NomogramDisplay.from_estimator(model)
plt.show()
