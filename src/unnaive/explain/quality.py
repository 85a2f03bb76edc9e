"""Quality of predictions on some rows: accuracy, losses, curves, confusion matrix, calibration."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from unnaive.answer import Answer, Decision
from unnaive.bayes.curves import ScoreCounts, ScoreCurve, score_curves
from unnaive.bayes.quality import (
    Additive,
    CalibrationSums,
    ClassScores,
    QualitySums,
    headline,
    two_class_distance,
)
from unnaive.common.facts import Columns, Facts
from unnaive.encode import Labels
from unnaive.encode.labels import known_groups, refuse_strange_labels
from unnaive.explain.labelled import labelled_rows
from unnaive.table import Block, open_table, scan_of
from unnaive.table.codes import as_objects
from unnaive.table.scan import Scan

OTHER_LABELS = (
    "(unknown class)"  # of rows that are not in memory, all that the model has never seen
)


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
    brier : float
        Mean squared error of the probabilities, summed over classes; with two, half of that.
    calibration_error : float
        Mean distance between the probability of the most probable class and how often it is right,
        over 15 bins.
    majority : float
        Accuracy of always predicting the most frequent class of these rows.
    confusion : array of shape (classes, classes)
        Weight of the rows of each true class (row) by predicted class (column).
    calibration : Calibration
    curves : tuple of ScoreCurve
        For each class of the model, the rows above every threshold of its probability: ROC,
        precision-recall, lift and gain curves of the class against the rest.
    decision : Decision or None
        How the model chose a class by its probabilities; None: the most probable.
    """

    classes: NDArray[Any]
    n_rows: int
    weight: float
    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float
    majority: float
    confusion: NDArray[np.float64]
    calibration: Calibration
    curves: tuple[ScoreCurve, ...]
    decision: Decision | None = None

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve of the second of two classes; of more, the mean over classes."""
        return headline(self.curves, "roc_auc")

    @property
    def roc_auc_error(self) -> float:
        """Most by which `roc_auc` may be wrong: 0 in memory, above 0 where scores were counted."""
        return headline(self.curves, "roc_auc_error")

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
class QualityParts(Additive):
    """What `Quality` is made from; those of parts of the rows add up.

    ``scores`` are None where all rows are together, which have exact curves.
    """

    n_rows: int
    sums: QualitySums
    calibration: CalibrationSums
    scores: ScoreCounts | None = None

    @classmethod
    def counted(
        cls,
        p: NDArray[np.float64],
        groups: NDArray[np.integer],
        weight: NDArray[np.float64] | None,
        decision: Decision | None = None,
        n_bins: int = 10,
    ) -> QualityParts:
        """Of some rows among others, which have probabilities ``p`` (rows x classes).

        The number of a class that the model does not know is that of its classes.
        """
        wide = np.pad(p, ((0, 0), (0, 1)))
        decided = None if decision is None else decision.choose(p)
        sums = QualitySums.of(wide, groups, weight, decided)
        calibration = CalibrationSums.of(p, groups, weight, n_bins)
        return cls(len(p), sums, calibration, ScoreCounts.of(p, groups, weight))

    def facts(
        self,
        classes: NDArray[Any],
        n_classes: int,
        decision: Decision | None = None,
        curves: tuple[ScoreCurve, ...] = (),
        level: float = 0.95,
    ) -> Quality:
        """The quality; of ``classes``, the first ``n_classes`` are the model's."""
        confusion = self.sums.confusion
        if len(confusion) > len(classes):  # a class for unknown labels, of which there are none
            confusion = confusion[: len(classes), : len(classes)]
        total, quality = float(confusion.sum()), replace(self.sums, confusion=confusion).quality
        return Quality(
            classes,
            self.n_rows,
            total,
            quality.accuracy,
            quality.log_loss,
            quality.brier,
            quality.calibration_error,
            float(confusion.sum(axis=1).max()) / total,
            confusion,
            _calibration(classes[:n_classes], self.calibration, level),
            curves if self.scores is None else self.scores.curves,
            decision,
        )


def quality_of(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_bins: int = 10,
    level: float = 0.95,
) -> Quality:
    """Accuracy, log loss, ROC, precision-recall and gain curves, confusion, calibration on rows.

    Parameters
    ----------
    model : fitted classifier
        Of any library, with `predict_proba`; of this one if X is not in memory.
    X : table of shape (n_samples, n_features), path or `scan`
        Of rows that are not in memory, everything is a sum over them; areas under curves then come
        from a fine histogram of the probabilities, and ``roc_auc_error`` is their bound.
    y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        None only where a `scan` names the column. Labels that the model has never seen count as
        wrong; if there are no others, the labels are of another kind, and an error is raised.
    sample_weight : array-like of shape (n_samples,), name of a column or None, default=None
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
        return _quality_of_scan(model, scan, n_bins, level)
    predicted = np.asarray(model.predict_proba(X))
    rows = labelled_rows(model.classes_, len(predicted), y, sample_weight)
    groups, weight = rows.groups, rows.weight
    answer = getattr(model, "answer_", None)
    if isinstance(answer, Answer):
        decided, decision = answer.choose(predicted), answer.decision
    else:  # other libraries may choose a class in their own way
        decided, decision = _numbers(rows.classes, model.predict(X)), None
    parts = QualityParts(
        len(groups),
        QualitySums.of(rows.widened(predicted), groups, weight, decided),
        CalibrationSums.of(predicted, groups, weight, n_bins),
    )
    curves = score_curves(predicted, groups, weight)
    return parts.facts(rows.classes, predicted.shape[1], decision, curves, level)


def _numbers(classes: NDArray[Any], labels: Any) -> NDArray[np.intp]:
    return known_groups(Labels(classes), np.asarray(labels))


def _quality_of_scan(model: Any, scan: Scan, n_bins: int, level: float) -> Quality:
    answer, n_jobs = getattr(model, "answer_", None), getattr(model, "n_jobs", None)
    if not isinstance(answer, Answer):
        raise TypeError(
            f"rows that are not in memory are judged for classifiers of this library; got a "
            f"{type(model).__name__}. Read the rows, or a sample of them, first."
        )
    if scan.target is None:
        raise ValueError("y is None: name the column with the labels, as in quality_of(m, X, 'y').")
    labels = Labels(answer.classes)

    def count(block: Block) -> QualityParts:
        assert block.target is not None
        p, groups = answer.probabilities(block, n_jobs), known_groups(labels, block.target)
        return QualityParts.counted(p, groups, block.weight, answer.decision, n_bins)

    parts: QualityParts = open_table(model, scan, fitted=answer.schema).reduce(count, operator.add)
    classes = with_other_labels(answer.classes, parts)
    return parts.facts(classes, len(labels), answer.decision, level=level)


def with_other_labels(classes: NDArray[Any], parts: QualityParts) -> NDArray[Any]:
    """A model's classes, and one for all labels that are new to it, where rows have such labels."""
    confusion = parts.sums.confusion
    refuse_strange_labels(confusion[:-1].any(), Labels(classes), ["other labels"])
    if not confusion[-1].any():
        return classes
    return as_objects([*classes.tolist(), OTHER_LABELS])


def _calibration(classes: NDArray[Any], sums: CalibrationSums, level: float) -> Calibration:
    total, hits = sums.total, sums.hits
    filled = np.where(total > 0, total, np.nan)
    # A beta posterior that starts from half a row of either kind.
    above, below = hits + 0.5, total - hits + 0.5
    observed = hits / filled
    low = np.fmin(betaincinv(above, below, (1.0 - level) / 2.0), observed)
    high = np.fmax(betaincinv(above, below, (1.0 + level) / 2.0), observed)
    edges = np.linspace(0.0, 1.0, total.shape[1] + 1)
    return Calibration(classes, sums.predicted / filled, observed, low, high, total, edges)
