"""Labels of rows in memory, beside the classes of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.quality import log_losses
from unnaive.encode import Labels
from unnaive.encode.labels import (
    groups_of,
    label_groups,
    merge_labels,
    read_target,
    refuse_strange_labels,
)
from unnaive.table.reading import read_weight


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows with known labels: the class number and weight of each."""

    classes: NDArray[Any]
    groups: NDArray[np.intp]
    weight: NDArray[np.float64]

    def widened(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """A model's probabilities, with 0 for labels it has never seen."""
        new = len(self.classes) - probabilities.shape[1]
        return np.pad(probabilities, ((0, 0), (0, new))) if new else probabilities

    def log_loss(self, probabilities: NDArray[np.float64]) -> float:
        """Mean of minus the log probability of the true class."""
        losses = log_losses(self.widened(probabilities), self.groups)
        return float(self.weight @ losses / self.weight.sum())


def labelled_rows(classes: NDArray[Any], n_rows: int, y: Any, sample_weight: Any) -> LabelledRows:
    """Labels of rows among a model's classes; labels that are new to it come after them."""
    target = read_target(y)
    if len(target) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(target)} labels.")
    weight = read_weight(sample_weight, len(target))
    weight = np.ones(len(target)) if weight is None else weight
    model_labels, (row_labels, _) = Labels(classes), label_groups(target)
    merged, (place, _) = merge_labels([model_labels, row_labels])
    # The model's classes first, in its order; then labels it has never seen.
    new = np.setdiff1d(np.arange(len(merged)), place)
    refuse_strange_labels(len(new) < len(row_labels), model_labels, row_labels.classes.tolist())
    order = np.concatenate((place, new))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    every = classes if len(new) == 0 else merged.classes[order]
    return LabelledRows(every, rank[groups_of(merged, target)], weight)
