"""How often the predicted class is right, by its probability: before and after calibration."""

import matplotlib.pyplot as plt
import numpy as np

from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
)
from unnaive.datasets import load_german_credit
from unnaive_papers.generators import make_led, make_waveform

BINS, SEED = 6, {"random_state": 0}
MODELS = {
    "naive Bayes": (NaiveBayesClassifier, "columns", {}),
    "NBTree": (NBTreeClassifier, "columns", SEED),
    "Flexible NBTree": (FlexibleNBTreeClassifier, "columns", SEED),
    "boosted": (BoostedNaiveBayesClassifier, "columns", SEED),
    "bagged": (BaggedNaiveBayesClassifier, "slope", SEED),
    "mixture": (HierarchicalMixtureClassifier, "slope", SEED),
    "decomposition": (ClassDecompositionClassifier, "slope", SEED),
    "C4.5": (C45Classifier, "slope", {}),
}
TABLES = {
    "german credit, 600 rows": (load_german_credit(), 600),
    "waveform, 500 rows": (make_waveform(2500, random_state=0), 500),
    "LED, 300 rows": (make_led(2300, random_state=0), 300),
}


def reliability(model, X, y, n):
    """Mean probability of the predicted class, and how often it is right, in bins of equal size."""
    order = np.random.default_rng(0).permutation(len(y))
    y = np.asarray(y)
    learned, judged = order[:n], order[n:]
    model.fit(X.iloc[learned], y[learned])
    found = model.predict_proba(X.iloc[judged])
    sure, right = found.max(axis=1), model.classes_[found.argmax(axis=1)] == y[judged]
    parts = np.array_split(np.argsort(sure, kind="stable"), BINS)
    return [sure[part].mean() for part in parts], [right[part].mean() for part in parts]


figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), sharex=True, sharey=True)
for column, (title, ((X, y), n)) in zip(axes.T, TABLES.items(), strict=True):
    column[0].set_title(title, fontsize=10)
    for k, (name, (make, way, options)) in enumerate(MODELS.items()):
        for ax, calibration in zip(column, ("none", way), strict=True):
            line = reliability(make(calibration=calibration, **options), X, y, n)
            ax.plot(*line, marker="o", markersize=3, linewidth=1.2, color=f"C{k}", label=name)
for ax in axes.flat:
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    ax.set(xlim=(0.25, 1.02), ylim=(0.25, 1.02))
for row, name in zip(axes, ("before", "calibrated"), strict=True):
    row[0].set_ylabel(f"{name}\nhow often right")
for ax in axes[1]:
    ax.set_xlabel("probability of the predicted class")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False)
figure.tight_layout(rect=(0, 0.09, 1, 1))
