"""Clusters of a table with numbers, words and gaps, and how many of them pay."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import LatentClassClusterer

rng = np.random.default_rng(0)
group = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
table = pd.DataFrame(
    {
        "age": rng.normal([30, 45, 68], [6, 7, 5], (600, 3))[range(600), group],
        "visits": rng.normal([9, 3, 7], [1.5, 1.2, 1.5], (600, 3))[range(600), group],
        "pays by": np.where(rng.random(600) < np.array([0.9, 0.8, 0.1])[group], "card", "cash"),
    }
).mask(rng.random((600, 3)) < 0.05)
model = LatentClassClusterer(random_state=0).fit(table)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 100)
age, visits = model.scorer_.terms[:2]
for k, ink in zip(range(model.n_clusters_), ("#0072B2", "#E69F00", "#009E73"), strict=True):
    left.scatter(*table[model.labels_ == k][["age", "visits"]].to_numpy().T, s=6, color=ink)
    wide, high = np.sqrt(age.variance[k]), np.sqrt(visits.variance[k])
    around = age.mean[k] + 2 * wide * np.cos(turn), visits.mean[k] + 2 * high * np.sin(turn)
    left.plot(*around, color=ink, lw=2, label=f"{model.cluster_weight_[k]:.0%} of the rows")
left.set(title="clusters, two deviations around", xlabel="age", ylabel="visits")
left.legend(frameon=False, fontsize="small")
held_out = model.cv_log_likelihood_
right.plot(np.arange(len(held_out)) + 1, held_out, "o-", color="#0072B2")
right.axvline(model.n_clusters_, color="#D55E00", lw=1, label="taken")
right.set(title="log-likelihood of a row held out", xlabel="clusters")
right.set_xticks(np.arange(len(held_out)) + 1)
right.legend(frameon=False)
