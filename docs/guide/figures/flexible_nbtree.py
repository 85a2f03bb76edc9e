"""One number is cut, and the density of another turns over from part to part."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unnaive import FlexibleNBTreeClassifier, TreeDisplay, evidence_of
from unnaive.explain import tree_of

rng = np.random.default_rng(0)
load = rng.uniform(0, 100, 1500)
fault = rng.random(1500) < np.where((load > 35) & (load < 70), 0.75, 0.25)
turned = fault ^ (load > 35) & (load < 70)
table = pd.DataFrame({"load": load, "vibration": rng.gamma(np.where(turned, 8.0, 3.0), 1.0)})

tree = FlexibleNBTreeClassifier(max_depth=1, random_state=0)
tree.fit(table, np.where(fault, "fault", "fine"))
parts = tree_of(tree)[1:]

fig = plt.figure(figsize=(7.5, 5.2), layout="constrained")
upper, lower = fig.subfigures(2, 1, height_ratios=[1.3, 1.0])
TreeDisplay.from_estimator(tree, ax=upper.add_axes((0.01, 0.15, 0.98, 0.75)))
for ax, node in zip(lower.subplots(1, len(parts), sharey=True), parts, strict=True):
    own = evidence_of(tree, node.node)["vibration"]
    for c, ink in enumerate(("#0072B2", "#E69F00")):
        ax.plot(own.raw[1:], own.shares[1:, c], color=ink)
    ax.set_title(node.condition, fontsize="medium")
    ax.set_xlabel("vibration")
