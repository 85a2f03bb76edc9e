"""
Exclusive or: why naive Bayes fails, and who does not
=====================================================

Two columns, four corners, opposite corners belong together. Each column alone says nothing
about the class, so adding up what single columns say cannot work. Nor does a greedy tree, which
asks first what helps most at once: nothing does. A mixture learns who is responsible for which
corner; a decomposition finds two clusters in each class.
"""

# %%
# Four clouds of points, two per class.

import matplotlib.pyplot as plt
import numpy as np

from unnaive import (
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
)

rng = np.random.default_rng(0)
corner = rng.integers(0, 2, size=(400, 2))
X = corner + rng.normal(scale=0.18, size=(400, 2))
y = np.where(corner[:, 0] == corner[:, 1], "same", "different")

# %%
# The same rows, four models. The colour is the probability of "same".

models = {
    "naive Bayes": NaiveBayesClassifier(numeric="gaussian"),
    "C4.5": C45Classifier(min_rows=20),
    "mixture, 4 experts": HierarchicalMixtureClassifier(layers=(4,), n_sweeps=20, random_state=0),
    "decomposition": ClassDecompositionClassifier(random_state=0),
}
across = np.linspace(-0.7, 1.7, 120)
grid = np.array([(a, b) for b in across for a in across])

fig, axes = plt.subplots(2, 2, figsize=(7, 6.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    model.fit(X, y)
    same = model.predict_proba(grid)[:, list(model.classes_).index("same")]
    ax.imshow(
        same.reshape(120, 120), origin="lower", extent=(-0.7, 1.7, -0.7, 1.7),
        cmap="PuOr", vmin=0, vmax=1, alpha=0.75,
    )  # fmt: skip
    for label, ink in (("same", "#40004b"), ("different", "#7f3b08")):
        ax.scatter(*X[y == label].T, s=5, color=ink)
    ax.set_title(f"{name}: {100 * model.score(X, y):.0f} % right")
plt.show()
