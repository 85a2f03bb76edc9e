"""
Clusters of a mixed table, in words
===================================

Latent-class clustering is naive Bayes whose class nobody wrote down. It takes text, numbers and
gaps as they are, finds how many clusters the rows support, and says what each is like.
"""

# %%
# Wine, with its cultivars hidden, three columns turned to words, and gaps made at random.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from unnaive import LatentClassClusterer

wine = load_wine(as_frame=True)
table = wine.data.copy()
for name in ("hue", "magnesium", "ash"):
    table[name] = pd.qcut(table[name], 3, labels=["low", "middle", "high"])
rng = np.random.default_rng(0)
table = table.mask(rng.random(table.shape) < 0.1)

# %%
# Held-out log-likelihood says how many clusters pay for themselves.

model = LatentClassClusterer(n_init=4, random_state=0).fit(table)
agreement = adjusted_rand_score(wine.target, model.labels_)
print(f"{model.n_clusters_} clusters; agreement with the hidden cultivars {agreement:.2f}")

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
held_out = list(model.cv_log_likelihood_)
axes[0].plot(range(1, len(held_out) + 1), held_out, "o-", color="#0072b2")
axes[0].axvline(model.n_clusters_, color="#d55e00", lw=1)
axes[0].set(
    xlabel="clusters", ylabel="held-out log-likelihood per row", xticks=range(1, len(held_out) + 1)
)
table = pd.crosstab(wine.target_names[wine.target], model.labels_)
axes[1].imshow(table, cmap="Blues", aspect="auto")
for (i, j), count in np.ndenumerate(table.to_numpy()):
    axes[1].text(j, i, count, ha="center", va="center", color="white" if count > 30 else "black")
axes[1].set_yticks(range(3), table.index)
axes[1].set(title="hidden cultivar and cluster", xlabel="cluster", xticks=range(table.shape[1]))
plt.show()
