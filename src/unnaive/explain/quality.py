"""Quality of predictions on some rows: accuracy, losses, curves, confusion matrix, calibration."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from unnaive.answer import Answer, Decision
from unnaive.bayes.metrics import (
    ClassScores,
    MeasureSums,
    ScoreCurve,
    headline,
    log_losses,
    score_curves,
    two_class_distance,
)
from unnaive.common.facts import Columns, Facts
from unnaive.encode import Labels
from unnaive.encode.hashing import draw_uniform
from unnaive.encode.labels import (
    groups_of,
    known_groups,
    label_groups,
    merge_labels,
    read_target,
    refuse_strange_labels,
)
from unnaive.table import Block, open_table, scan_of
from unnaive.table.columns import as_objects
from unnaive.table.scan import Scan
from unnaive.table.source import read_weight

MAX_ROWS = 5_000_000  # from which curves are made; of more rows, a random sample


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
        Credible interval (95 %) of the observed share.
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
    confusion : array of shape (classes, classes)
        Weight of the rows of each true class (row) by predicted class (column).
    accuracy : float
        Share of the weight that is predicted right.
    log_loss : float
        Mean of minus the log probability of the true class, at least 2.2e-16.
    brier : float
        Mean squared error of the probabilities, summed over classes; with two, half of that.
    calibration_error : float
        Mean distance between the probability of the most probable class and how often it is right,
        over 15 bins.
    calibration : Calibration
    curves : tuple of ScoreCurve
        For each class of the model, the rows above every threshold of its probability: ROC,
        precision-recall, lift and gain curves of the class against the rest.
    decision : Decision or None
        How the model chose a class by its probabilities; None: the most probable.
    """

    classes: NDArray[Any]
    n_rows: int
    confusion: NDArray[np.float64]
    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float
    calibration: Calibration
    curves: tuple[ScoreCurve, ...]
    decision: Decision | None = None

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self.confusion.sum())

    @property
    def majority(self) -> float:
        """Accuracy of always predicting the most frequent class of these rows."""
        return float(self.confusion.sum(axis=1).max()) / self.weight

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve of the second of two classes; of more, the mean over classes."""
        return headline(self.curves, "roc_auc")

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve, as `roc_auc` is under the ROC curve."""
        return headline(self.curves, "average_precision")

    @property
    def kolmogorov_smirnov(self) -> float:
        """Greatest distance between the scores' distributions in two classes; of more, NaN."""
        return two_class_distance(self.curves)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Of each class, the share of the rows predicted as it that are of it."""
        return ClassScores.of(self.confusion).precision

    @property
    def recall(self) -> NDArray[np.float64]:
        """Of each class, the share of its rows that are predicted as it."""
        return ClassScores.of(self.confusion).recall

    @property
    def f1(self) -> NDArray[np.float64]:
        """Of each class, the harmonic mean of precision and recall."""
        return ClassScores.of(self.confusion).f1

    @property
    def macro_f1(self) -> float:
        """Mean of `f1` over the classes that occur."""
        return ClassScores.of(self.confusion).macro_f1

    @property
    def mean_cost(self) -> float:
        """Cost of a row on average by the decision; NaN without one."""
        if self.decision is None:
            return float("nan")
        return self.decision.mean_cost(self.confusion)

    def _columns(self) -> Columns:
        names = [str(label) for label in self.classes]
        predicted = {f"predicted {n}": self.confusion[:, k] for k, n in enumerate(names)}
        return {"true class": names, **predicted}

    def _title(self) -> str:
        area = f", ROC AUC {self.roc_auc:.4f}" if self.roc_auc == self.roc_auc else ""
        return (
            f"Quality on {self.n_rows} rows: accuracy {self.accuracy:.4f}, "
            f"log loss {self.log_loss:.4f}{area}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows with known labels: the class number and weight of each."""

    classes: NDArray[Any]
    groups: NDArray[np.intp]
    weight: NDArray[np.float64]

    def widened(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a model's probabilities, with 0 for labels it has never seen."""
        new = len(self.classes) - probabilities.shape[1]
        return np.pad(probabilities, ((0, 0), (0, new))) if new else probabilities

    def log_loss(self, probabilities: NDArray[np.float64]) -> float:
        """Return the mean of minus the log probability of the true class."""
        losses = log_losses(self.widened(probabilities), self.groups)
        return float(self.weight @ losses / self.weight.sum())


def labelled_rows(classes: NDArray[Any], n_rows: int, y: Any, sample_weight: Any) -> LabelledRows:
    """Return labels of rows among a model's classes; those that are new to it come last."""
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


@dataclass(frozen=True, slots=True, eq=False)
class PredictedRows:
    """Predictions for some rows: sums over all of them, and a random sample of at most MAX_ROWS.

    Those of parts of the rows add up to those of all.
    """

    n_rows: int
    sums: MeasureSums
    p: NDArray[np.float64]
    groups: NDArray[np.intp]
    weight: NDArray[np.float64]
    draws: NDArray[np.float64]
    share: float = 1.0

    @classmethod
    def of(
        cls,
        p: NDArray[np.float64],
        groups: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
        row_ids: NDArray[np.int64],
        decision: Decision | None,
    ) -> PredictedRows:
        """Return those of rows with probabilities ``p`` (rows x classes).

        A class that the model does not know has the number of classes as its number.
        """
        wide = np.pad(p, ((0, 0), (0, 1)))
        decided = None if decision is None else decision.choose(p)
        weight = np.ones(len(p)) if weight is None else weight
        sums = MeasureSums.of(wide, groups, weight, decided)
        return cls(len(p), sums, p, groups, weight, draw_uniform(0, row_ids))._limited()

    def __add__(self, other: PredictedRows) -> PredictedRows:
        arrays: dict[str, Any] = {
            name: np.concatenate((getattr(self, name), getattr(other, name)))
            for name in ("p", "groups", "weight", "draws")
        }
        share = min(self.share, other.share)
        n_rows, sums = self.n_rows + other.n_rows, self.sums + other.sums
        return PredictedRows(n_rows, sums, **arrays, share=share)._limited()

    def _limited(self) -> PredictedRows:
        """Return the same with a sample that is drawn by one share and small enough."""
        share, most = self.share, min(MAX_ROWS, (1 << 27) // self.p.shape[1])  # at most 1 GiB
        while np.count_nonzero(self.draws < share) > most:
            share /= 2
        drawn = self.draws < share
        if drawn.all():
            return self
        p, groups, weight = self.p[drawn], self.groups[drawn], self.weight[drawn]
        draws = self.draws[drawn]
        return replace(self, p=p, groups=groups, weight=weight, draws=draws, share=share)

    def quality(self, answer: Answer) -> Quality:
        """Return the quality; labels that the model does not know count as one class."""
        classes, confusion = answer.classes, self.sums.confusion
        refuse_strange_labels(confusion[:-1].any(), Labels(classes), ["other labels"])
        if confusion[-1].any():
            classes = as_objects([*classes.tolist(), "(unknown class)"])
        else:
            confusion = confusion[:-1, :-1]
        sums = replace(self.sums, confusion=confusion)
        rows = LabelledRows(classes, self.groups, self.weight)
        return _quality(rows, self.p, sums, self.n_rows, answer.decision)


def _quality(
    rows: LabelledRows,
    p: NDArray[np.float64],
    sums: MeasureSums,
    n_rows: int,
    decision: Decision | None,
) -> Quality:
    measures = sums.measures
    return Quality(
        rows.classes,
        n_rows,
        sums.confusion,
        measures.accuracy,
        measures.log_loss,
        measures.brier,
        measures.calibration_error,
        _calibration(rows, p),
        score_curves(p, rows.groups, rows.weight),
        decision,
    )


def _calibration(rows: LabelledRows, p: NDArray[np.float64]) -> Calibration:
    """Return frequencies by ten bins of equal width of the probability of each class."""
    n_bins, w = 10, rows.weight
    sums = np.zeros((3, p.shape[1], n_bins))
    for c, column in enumerate(p.T):
        bins = np.clip((column * n_bins).astype(np.intp), 0, n_bins - 1)
        for k, each in enumerate((w, w * column, w * (rows.groups == c))):
            sums[k, c] = np.bincount(bins, each, n_bins)
    total, predicted, hits = sums
    filled = np.where(total > 0, total, np.nan)
    # A beta posterior that starts from half a row of either kind.
    above, below = hits + 0.5, total - hits + 0.5
    observed = hits / filled
    low = np.fmin(betaincinv(above, below, 0.025), observed)
    high = np.fmax(betaincinv(above, below, 0.975), observed)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    classes = rows.classes[: p.shape[1]]
    return Calibration(classes, predicted / filled, observed, low, high, total, edges)


def quality_of(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Quality:
    """Return accuracy, losses, ROC, precision-recall and gain curves, confusion and calibration.

    Parameters
    ----------
    model : fitted classifier
        Of any library, with `predict_proba`; of this one if X is not in memory.
    X : table of shape (n_samples, n_features), path or `scan`
        Of more than 5,000,000 rows that are not in memory, curves and calibration are those of a
        random sample of so many; everything else is of all rows.
    y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        None only where a `scan` names the column. Labels that the model has never seen count as
        wrong; if there are no others, the labels are of another kind, and an error is raised.
    sample_weight : array-like of shape (n_samples,), name of a column or None, default=None

    Returns
    -------
    Quality

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import quality_of
    >>> X, y = load_iris(return_X_y=True)
    >>> quality = quality_of(NaiveBayesClassifier().fit(X, y), X, y)
    >>> quality
    Quality on 150 rows: accuracy 0.9467, log loss 0.1493, ROC AUC 0.9909
    true class  predicted 0  predicted 1  predicted 2
             0           50            0            0
             1            0           45            5
             2            0            3           47
    >>> quality.recall
    array([1.  , 0.9 , 0.94])
    """
    scan = scan_of(X, y, sample_weight)
    if scan is not None:
        return _quality_of_scan(model, scan)
    predicted = np.asarray(model.predict_proba(X))
    rows = labelled_rows(model.classes_, len(predicted), y, sample_weight)
    groups, weight = rows.groups, rows.weight
    answer = getattr(model, "answer_", None)
    if isinstance(answer, Answer):
        decided, decision = answer.choose(predicted), answer.decision
    else:  # other libraries may choose a class in their own way
        decided, decision = _numbers(rows.classes, model.predict(X)), None
    sums = MeasureSums.of(rows.widened(predicted), groups, weight, decided)
    return _quality(rows, predicted, sums, len(groups), decision)


def _numbers(classes: NDArray[Any], labels: Any) -> NDArray[np.intp]:
    return known_groups(Labels(classes), np.asarray(labels))


def _quality_of_scan(model: Any, scan: Scan) -> Quality:
    answer, n_jobs = getattr(model, "answer_", None), getattr(model, "n_jobs", None)
    if not isinstance(answer, Answer):
        raise TypeError(
            f"rows that are not in memory are judged for classifiers of this library; got a "
            f"{type(model).__name__}. Read the rows, or a sample of them, first."
        )
    if scan.target is None:
        raise ValueError("y is None: name the column with the labels, as in quality_of(m, X, 'y').")
    labels = Labels(answer.classes)

    def predict(block: Block) -> PredictedRows:
        assert block.target is not None
        p, groups = answer.probabilities(block, n_jobs), known_groups(labels, block.target)
        return PredictedRows.of(p, groups, block.weight, block.row_ids, answer.decision)

    source = open_table(model, scan, fitted=answer.schema)
    rows: PredictedRows = source.reduce(predict, operator.add)
    return rows.quality(answer)
