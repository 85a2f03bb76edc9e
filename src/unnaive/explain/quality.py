"""Quality of predictions on some rows: accuracy, log loss, confusion matrix, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from unnaive.bayes.quality import QualitySums, log_losses
from unnaive.common.facts import Columns, Facts
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of, label_groups, merge_labels, read_target
from unnaive.table.reading import read_weight


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Facts):
    """Observed frequency of each class among rows with about the same predicted probability.

    Attributes
    ----------
    classes : array
    predicted, observed : arrays of shape (classes, bins)
        Mean predicted probability of the rows of a bin, and the share of them that are of the
        class; NaN where a bin is empty.
    low, high : arrays of shape (classes, bins)
        Credible interval of the observed share.
    weight : array of shape (classes, bins)
        Weight of the rows in each bin.
    edges : array of shape (bins + 1,)
    """

    classes: NDArray[Any]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]
    edges: NDArray[np.float64]

    def _columns(self) -> Columns:
        c, b = np.nonzero(self.weight > 0)
        return {
            "class": [str(self.classes[k]) for k in c],
            "from": self.edges[b],
            "to": self.edges[b + 1],
            "predicted": self.predicted[c, b],
            "observed": self.observed[c, b],
            "low": self.low[c, b],
            "high": self.high[c, b],
            "rows": self.weight[c, b],
        }

    def _title(self) -> str:
        return "Predicted and observed frequency (calibration)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quality(Facts):
    """Quality of a model's predictions on some rows.

    Attributes
    ----------
    classes : array
        Those of the model, then labels that occur only in the rows.
    n_rows : int
    weight : float
    accuracy : float
        Share of the weight that is predicted right.
    log_loss : float
        Mean of minus the log probability of the true class, at least 2.2e-16.
    majority : float
        Accuracy of always predicting the most frequent class of these rows.
    confusion : array of shape (classes, classes)
        Weight of the rows of each true class (row) by predicted class (column).
    calibration : Calibration
    """

    classes: NDArray[Any]
    n_rows: int
    weight: float
    accuracy: float
    log_loss: float
    majority: float
    confusion: NDArray[np.float64]
    calibration: Calibration

    def _columns(self) -> Columns:
        names = [str(label) for label in self.classes]
        predicted = {f"predicted {n}": self.confusion[:, k] for k, n in enumerate(names)}
        return {"true class": names, **predicted}

    def _title(self) -> str:
        return (
            f"Quality on {self.n_rows} rows: accuracy {self.accuracy:.4f}, "
            f"log loss {self.log_loss:.4f}"
        )


def quality_of(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, n_bins: int = 10, level: float = 0.95
) -> Quality:
    """Accuracy, log loss, confusion matrix and calibration on some rows.

    Parameters
    ----------
    model : fitted classifier
        Of any library, with `predict_proba`.
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,) or None, default=None
    n_bins : int, default=10
        Bins of the calibration curve, equally wide.
    level : float, default=0.95
        Probability of the credible intervals.

    Returns
    -------
    Quality

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import quality_of
    >>> X, y = load_iris(return_X_y=True)
    >>> quality_of(NaiveBayesClassifier().fit(X, y), X, y)
    Quality on 150 rows: accuracy 0.9467, log loss 0.1493
    true class  predicted 0  predicted 1  predicted 2
             0           50            0            0
             1            0           45            5
             2            0            3           47
    """
    predicted = np.asarray(model.predict_proba(X))
    rows = labelled_rows(model.classes_, len(predicted), y, sample_weight)
    groups, weight = rows.groups, rows.weight
    sums = QualitySums.of(rows.widened(predicted), groups, weight)
    total = float(weight.sum())
    return Quality(
        rows.classes,
        len(groups),
        total,
        sums.quality.accuracy,
        sums.quality.log_loss,
        float(sums.confusion.sum(axis=1).max()) / total,
        sums.confusion,
        _calibrate(model.classes_, predicted, groups, weight, n_bins, level),
    )


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
    order = np.concatenate((place, new))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    every = classes if len(new) == 0 else merged.classes[order]
    return LabelledRows(every, rank[groups_of(merged, target)], weight)


def _calibrate(
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    groups: NDArray[np.intp],
    weight: NDArray[np.float64],
    n_bins: int,
    level: float,
) -> Calibration:
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    shape = (len(classes), n_bins)
    total, predicted, hits = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for c in range(len(classes)):
        bins = np.clip((probabilities[:, c] * n_bins).astype(np.intp), 0, n_bins - 1)
        total[c] = np.bincount(bins, weight, n_bins)
        predicted[c] = np.bincount(bins, weight * probabilities[:, c], n_bins)
        hits[c] = np.bincount(bins, weight * (groups == c), n_bins)
    filled = np.where(total > 0, total, np.nan)
    # A beta posterior that starts from half a row of either kind.
    above, below = hits + 0.5, total - hits + 0.5
    observed = hits / filled
    low = np.fmin(betaincinv(above, below, (1.0 - level) / 2.0), observed)
    high = np.fmax(betaincinv(above, below, (1.0 + level) / 2.0), observed)
    return Calibration(classes, predicted / filled, observed, low, high, total, edges)
