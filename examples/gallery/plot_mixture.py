"""
Growing a mixture
=================

A hierarchical mixture divides rows among experts, each a naive Bayes, by gates that are naive
Bayes too. ``layers="grow"`` adds experts while cross-validated accuracy improves.
"""

# %%
# Monks' first problem: true where head and body have the same shape, or the jacket is red.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import HierarchicalMixtureClassifier, NaiveBayesClassifier

rng = np.random.default_rng(0)
shapes = ["round", "square", "octagon"]
robots = pd.DataFrame(
    {
        "head": rng.choice(shapes, 1500),
        "body": rng.choice(shapes, 1500),
        "smiles": rng.choice(["yes", "no"], 1500),
        "holds": rng.choice(["sword", "balloon", "flag"], 1500),
        "jacket": rng.choice(["red", "yellow", "green", "blue"], 1500),
        "tie": rng.choice(["yes", "no"], 1500),
    }
)
monk = ((robots["head"] == robots["body"]) | (robots["jacket"] == "red")).map(
    {True: "monk", False: "other"}
)

# %%
# ``growth_`` records what was tried, and how often it was right on held-out rows. Beside it, who
# answers for whom: the mean share of each expert, by the shape of head and body.

grown = HierarchicalMixtureClassifier(layers="grow", n_sweeps=10, random_state=0).fit(robots, monk)
naive = NaiveBayesClassifier().fit(robots, monk)
tried = {str(layers): share for layers, share in grown.growth_}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].barh(list(tried), [100 * v for v in tried.values()], color="#0072b2")
axes[0].axvline(100 * naive.score(robots, monk), color="#d55e00", label="naive Bayes")
axes[0].invert_yaxis()
axes[0].set(title="architectures tried", xlabel="per cent right, held out", xlim=(60, 101))
axes[0].legend(loc="lower left")

same = np.where(robots["head"] == robots["body"], "same shape", "different")
red = np.where(robots["jacket"] == "red", "red", "not red")
share = pd.DataFrame(grown.responsibilities(robots)).groupby([same, red]).mean()
axes[1].imshow(share.to_numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes[1].set_yticks(range(len(share)), [", ".join(key) for key in share.index])
axes[1].set_xticks(range(share.shape[1]), [f"expert {k + 1}" for k in range(share.shape[1])])
axes[1].tick_params(axis="x", rotation=60)
axes[1].set_title("responsibility")
plt.show()
