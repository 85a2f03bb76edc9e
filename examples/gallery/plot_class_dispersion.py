"""
A class in several places
=========================

Vilalta and Rish: naive Bayes describes a class by one distribution per column. A class that
lies in two places is blurred over everything between them, where the other class lives.
Clustering each class first undoes that.
"""

# %%
# One class sits at both ends, the other in the middle.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import ClassDecompositionClassifier, NaiveBayesClassifier
from unnaive.explain import profiles_of

rng = np.random.default_rng(1)
ends = np.concatenate([rng.normal(-3, 0.7, (150, 2)), rng.normal(3, 0.7, (150, 2))])
middle = rng.normal(0, 0.9, (300, 2))
table = pd.DataFrame(np.concatenate([ends, middle]), columns=["width", "height"])
kind = np.repeat(["outer", "inner"], 300)

# %%
# Ellipses show what each model believes: one normal density per class, or one per cluster.

naive = NaiveBayesClassifier(numeric="gaussian", var_smoothing=0.0).fit(table, kind)
decomposed = ClassDecompositionClassifier(random_state=0).fit(table, kind)
print(profiles_of(decomposed))

turn = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(turn), np.sin(turn)])
inks = {"outer": "#0072b2", "inner": "#d55e00"}
fig, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, name, model in ((axes[0], "naive Bayes", naive), (axes[1], "decomposition", decomposed)):
    scorer = (model if model is naive else model.estimator_).scorer_
    owners = [str(c) for c in naive.classes_] if model is naive else [
        str(c) for c, _ in decomposed.pairs_
    ]  # fmt: skip
    for label, ink in inks.items():
        ax.scatter(*table[kind == label].to_numpy().T, s=4, color=ink, label=label)
    for g, owner in enumerate(owners):
        mean = np.array([[term.mean[g]] for term in scorer.terms])
        deviation = np.array([[np.sqrt(term.variance[g])] for term in scorer.terms])
        ax.plot(*(mean + 2 * deviation * circle), color=inks[owner], lw=2)
    ax.set(title=f"{name}: {100 * model.score(table, kind):.0f} % right", xlabel="width")
axes[0].set_ylabel("height")
axes[0].legend(loc="upper left")
plt.show()
