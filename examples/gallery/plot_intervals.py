"""
Intervals that the data pay for
===============================

The MDL rule of Fayyad and Irani cuts a number where the classes change, and stops where a
further cut costs more to describe than it gains. The other rules do not look at the classes.
"""

# %%
# Petal lengths of three kinds of iris.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from unnaive import Discretizer

iris = load_iris(as_frame=True)
length, kind = iris.data[["petal length (cm)"]], iris.target_names[iris.target]

# %%
# The cuts of each rule.

inks = {"setosa": "#0072b2", "versicolor": "#009e73", "virginica": "#d55e00"}
rng = np.random.default_rng(0)
height = rng.random(len(kind))
rules = ("mdl", "bayes", "width", "frequency", "sigma")
fig, axes = plt.subplots(len(rules), 1, figsize=(7, 6), sharex=True, layout="constrained")
for ax, rule in zip(axes, rules, strict=True):
    discretizer = Discretizer(rule, n_bins=5).fit(length, kind)
    for name, ink in inks.items():
        rows = kind == name
        ax.scatter(length[rows], height[rows], s=8, color=ink, label=name)
    for cut in discretizer.cuts_[0]:
        ax.axvline(cut, color="black", lw=1)
    ax.set_yticks([])
    ax.set_ylabel(rule, rotation=0, ha="right", va="center")
axes[0].legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
axes[-1].set_xlabel("petal length (cm)")
plt.show()
