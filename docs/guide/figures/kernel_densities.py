"""A normal density has one hill, a kernel density as many as the values have."""

import matplotlib.pyplot as plt
import numpy as np

from unnaive import NaiveBayesClassifier, evidence_of

rng = np.random.default_rng(0)
alone = np.concatenate([rng.exponential(1.0, 60), rng.normal(9.0, 0.5, 60)])
minutes = np.concatenate([alone, rng.gamma(6.0, 0.9, 120)])[:, None]
kind = np.repeat(["question", "complaint"], 120)

fig, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True, layout="constrained")
for ax, numeric in zip(axes, ("gaussian", "kernel"), strict=True):
    facts = evidence_of(NaiveBayesClassifier(numeric=numeric).fit(minutes, kind))
    own = facts.attributes[0]
    for c, ink in enumerate(("#D55E00", "#0072B2")):
        label = facts.names[c]
        ax.plot(own.raw[1:], own.shares[1:, c], color=ink, label=label)
        ax.plot(minutes[kind == label], np.full(120, -0.01 - 0.012 * c), "|", ms=5, color=ink)
    ax.set_title(f'numeric="{numeric}"', loc="left")
    ax.set(ylabel="density", xlim=(-0.2, 14))
axes[1].set_xlabel("minutes waited; a stroke for every call")
axes[0].legend(frameon=False)
