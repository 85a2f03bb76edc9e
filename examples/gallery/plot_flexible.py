"""
Skewed numbers: intervals, a normal density, kernel densities
=============================================================

Incomes, waiting times and amounts have long tails and odd shapes. A normal density has one
hill; intervals are steps; kernel densities follow the shape, and Flexible NBTree has them in
its leaves.
"""

# %%
# Waiting times of two kinds of calls.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from unnaive import FlexibleNBTreeClassifier, NaiveBayesClassifier

rng = np.random.default_rng(0)
short = np.concatenate([rng.exponential(1.0, 250), rng.normal(9.0, 0.5, 250)])
long = rng.gamma(6.0, 0.9, 500)
wait = np.concatenate([short, long])[:, None]
kind = np.repeat(["bimodal", "skewed"], 500)

# %%
# What each way of reading numbers believes about the class, minute by minute.

minutes = np.linspace(0, 14, 400)[:, None]
fig, axes = plt.subplots(2, 1, figsize=(7, 5.5), sharex=True, layout="constrained")
axes[0].hist([short, long], bins=50, stacked=True, color=["#0072b2", "#d55e00"],
             label=["bimodal", "skewed"])  # fmt: skip
axes[0].set_ylabel("calls")
axes[0].legend()
styles = {
    "intervals (mdl)": (NaiveBayesClassifier(numeric="mdl"), "#009e73"),
    "normal density": (NaiveBayesClassifier(numeric="gaussian"), "#999999"),
    "kernel density": (NaiveBayesClassifier(numeric="kernel"), "#cc79a7"),
    "Flexible NBTree": (FlexibleNBTreeClassifier(random_state=0), "black"),
}
for name, (model, ink) in styles.items():
    held_out = 100 * cross_val_score(model, wait, kind, cv=5).mean()
    share = model.fit(wait, kind).predict_proba(minutes)[:, 0]
    axes[1].plot(minutes, share, color=ink, label=f"{name}: {held_out:.0f} % right held out")
axes[1].set(xlabel="minutes", ylabel="P(bimodal)")
axes[1].legend(fontsize="small", loc="lower left")
plt.show()
