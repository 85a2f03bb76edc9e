"""
Merging monthly models
======================

Twelve models, one for each month, fitted wherever the month's rows are. Merging them gives the
model of the year, bit for bit; leaving the oldest out gives a sliding window, without touching
a row again.
"""

# %%
# Each month sends its model, not its rows. In July customers change their habits.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import NaiveBayesClassifier, merge

rng = np.random.default_rng(0)


def month(k: int, n: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows of one month."""
    table = pd.DataFrame(
        {"channel": rng.choice(["shop", "web", "phone"], n), "basket": rng.gamma(2.0, 20.0, n)}
    )
    habit = {"shop": 1.0, "web": -1.0, "phone": 0.0}
    odds = table["channel"].map(habit) * (1 if k < 6 else -1) + (table["basket"] - 40) / 25
    return table, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "returns", "keeps")


months = [month(k) for k in range(12)]
models = [NaiveBayesClassifier().fit(*rows) for rows in months]

# %%
# The year's model, from models alone and from all rows.

merged = merge(models)
whole = NaiveBayesClassifier().fit(
    pd.concat([table for table, _ in months]), np.concatenate([y for _, y in months])
)
first = months[0][0]
print("equal bit for bit:", (merged.predict_proba(first) == whole.predict_proba(first)).all())

# %%
# All months so far, or the last three, each judged on the month that follows.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, ink, window in (("all months so far", "#999999", 12), ("last three", "#0072b2", 3)):
    score = [100 * merge(models[max(0, k - window) : k]).score(*months[k]) for k in range(1, 12)]
    ax.plot(range(2, 13), score, "o-", color=ink, label=name)
ax.axvline(6.5, color="#d55e00", lw=1, label="habits change")
ax.set(xlabel="month", ylabel="per cent right", xticks=range(2, 13))
ax.legend()
plt.show()
