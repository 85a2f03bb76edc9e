"""Measures of predicted probabilities: losses, calibration, and curves of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.facts import Columns, Facts

LEAST = float(np.finfo(np.float64).eps)  # stands for a probability of 0 under a logarithm
N_BINS = 15  # of the calibration error
NAN = float("nan")


def log_losses(p: NDArray[np.float64], groups: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return -log P(true class) of each row, from probabilities and class numbers."""
    losses: NDArray[np.float64] = -np.log(np.maximum(p[np.arange(len(p)), groups], LEAST))
    return losses


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreCurve(Facts):
    """Weight of the rows whose score is at least each threshold, for one class.

    Attributes
    ----------
    thresholds : array of shape (n,)
        Falling; each is a score that some row has.
    true, false : arrays of shape (n,)
        Weight of the rows of the class, and of the other rows, with at least that score.
    """

    thresholds: NDArray[np.float64]
    true: NDArray[np.float64]
    false: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        scores: NDArray[np.float64],
        positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None = None,
    ) -> ScoreCurve:
        """Return the curve with a threshold for every distinct score."""
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        weights = np.ones(len(order)) if weight is None else weight[order]
        hits = positive[order]
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) if len(order) else order
        true = np.cumsum(np.where(hits, weights, 0.0))[last]
        return cls(ranked[last], true, np.cumsum(np.where(hits, 0.0, weights))[last])

    def _columns(self) -> Columns:
        return {"threshold": self.thresholds, "true": self.true, "false": self.false}

    def _title(self) -> str:
        return "Rows with at least a score: of the class (true), and others (false)"

    @property
    def positives(self) -> float:
        """Weight of the rows of the class."""
        return float(self.true[-1]) if len(self.true) else 0.0

    @property
    def negatives(self) -> float:
        """Weight of the other rows."""
        return float(self.false[-1]) if len(self.false) else 0.0

    @property
    def prevalence(self) -> float:
        """Share of the class in the rows."""
        total = self.positives + self.negatives
        return self.positives / total if total else float("nan")

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of the class with at least each threshold: the true positive rate."""
        return _share(self.true, self.positives)

    @property
    def false_positive_rate(self) -> NDArray[np.float64]:
        """Share of the other rows with at least each threshold."""
        return _share(self.false, self.negatives)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of the class among the rows with at least each threshold."""
        rows = self.true + self.false
        return np.divide(self.true, rows, out=np.full(len(rows), np.nan), where=rows > 0)

    @property
    def selected(self) -> NDArray[np.float64]:
        """Share of all rows with at least each threshold."""
        return _share(self.true + self.false, self.positives + self.negatives)

    @property
    def lift(self) -> NDArray[np.float64]:
        """How many times more frequent the class is above each threshold than in all rows."""
        return self.precision / self.prevalence if self.positives else self.precision * np.nan

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve; NaN if all rows are of one kind."""
        true = np.concatenate(([0.0], self.recall))
        return float(np.diff(self.false_positive_rate, prepend=0.0) @ (true[1:] + true[:-1]) / 2)

    @property
    def average_precision(self) -> float:
        """Mean of the precision over the recall gained at each threshold; NaN without the class."""
        gained = np.diff(self.recall, prepend=0.0)
        return float(np.where(gained == 0.0, 0.0, gained * self.precision).sum())

    @property
    def kolmogorov_smirnov(self) -> float:
        """Greatest distance between the distributions of the scores of the class and the rest."""
        distance = np.abs(self.recall - self.false_positive_rate)
        return float(distance.max()) if len(distance) else float("nan")

    def gain(self, share: Any) -> Any:
        """Return the share of the class in these shares of the rows, highest scores first.

        Rows of equal score are taken in parts, as if in random order. Divided by the share of the
        rows, it is their lift.
        """
        selected = np.concatenate(([0.0], self.selected))
        return np.interp(share, selected, np.concatenate(([0.0], self.recall)))

    def above(self, threshold: float) -> tuple[float, float]:
        """Return the weight of the rows of the class, and of the others, with at least a score."""
        last = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        return (float(self.true[last]), float(self.false[last])) if last >= 0 else (0.0, 0.0)


def score_curves(
    p: NDArray[np.float64], groups: NDArray[np.integer], weight: NDArray[np.float64] | None = None
) -> tuple[ScoreCurve, ...]:
    """Return the curve of every class against the rest, from probabilities (rows x classes)."""
    return tuple(ScoreCurve.of(p[:, c], groups == c, weight) for c in range(p.shape[1]))


def _share(part: NDArray[np.float64], whole: float) -> NDArray[np.float64]:
    return part / whole if whole else np.full(len(part), np.nan)


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of probabilities that were given to rows whose class is known.

    Attributes
    ----------
    accuracy : float
        Share of the rows whose most probable class is the right one.
    log_loss : float
        Mean of -log P(right class); a probability of 0 counts as 2.2e-16, a loss of 36.
    brier : float
        Mean squared distance between the probabilities and the right class (1 for it, 0 for the
        others), summed over the classes; with two classes, half of that.
    calibration_error : float
        How far the probability of the most probable class is from how often it is right: rows
        are put into 15 bins of equal width by that probability, and the differences between its
        mean and the accuracy in each bin are averaged, weighted by the bins' rows.
    f1 : float
        Mean of the classes' harmonic means of precision and recall (macro F1).
    roc_auc, average_precision : float
        Areas under the ROC and the precision-recall curve: with two classes, those of the second;
        with more, the mean over classes of each against the rest. NaN where nothing was ranked.
    kolmogorov_smirnov : float
        Of two classes, the greatest distance between the distributions of their scores.
    """

    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float
    f1: float = NAN
    roc_auc: float = NAN
    average_precision: float = NAN
    kolmogorov_smirnov: float = NAN

    def ranked(self, curves: Sequence[ScoreCurve]) -> Measures:
        """Return these measures with the areas under the curves of all classes."""
        areas = {name: headline(curves, name) for name in ("roc_auc", "average_precision")}
        return replace(self, **areas, kolmogorov_smirnov=two_class_distance(curves))


def two_class_distance(curves: Sequence[ScoreCurve]) -> float:
    """Return the Kolmogorov-Smirnov statistic of two classes; of more, NaN."""
    return curves[1].kolmogorov_smirnov if len(curves) == 2 else NAN


def headline(curves: Sequence[ScoreCurve], name: str) -> float:
    """Return one figure of the curves: of two classes, that of the second; of more, the mean.

    Classes that no row, or every row, belongs to have no figure and are left out of the mean.
    """
    if len(curves) == 2:
        return float(getattr(curves[1], name))
    figures = [getattr(curve, name) for curve in curves if curve.positives and curve.negatives]
    return float(np.mean(figures)) if figures else NAN


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Precision, recall and F1 of every class, 0 where there is nothing to divide by."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    macro_f1: float

    @classmethod
    def of(cls, confusion: NDArray[np.float64]) -> ClassScores:
        """From the weight of rows by true class (first axis) and predicted class."""
        right, true, given = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
        f1, there = _ratio(2 * right, true + given), (true + given) > 0
        macro = float(f1[there].mean()) if there.any() else NAN
        return cls(_ratio(right, given), _ratio(right, true), f1, macro)


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


@dataclass(frozen=True, slots=True, eq=False)
class MeasureSums:
    """What `Measures` are computed from; the sums of parts of the rows add up to those of all.

    Attributes
    ----------
    confusion : array of shape (classes, classes)
        Weight of the rows of each class (first axis) that are given each class.
    loss, squares : float
    bins : array of shape (3, 15)
        Weight of the rows of each bin, of those that are right, and their summed confidence.
    """

    confusion: NDArray[np.float64]
    loss: float
    squares: float
    bins: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        p: NDArray[np.float64],
        groups: NDArray[np.integer],
        weight: NDArray[np.float64] | None = None,
        decided: NDArray[np.integer] | None = None,
    ) -> MeasureSums:
        """Return sums over rows with probabilities ``p`` (rows x classes) and true class numbers.

        ``decided`` are the class numbers that rows were given, where those are not the most
        probable ones.
        """
        n, k = p.shape
        w = np.ones(n) if weight is None else weight
        likely, rows = p.argmax(axis=1), np.arange(n)
        cell = groups.astype(np.intp) * k + (likely if decided is None else decided)
        confusion = np.bincount(cell, w, minlength=k * k).astype(np.float64, copy=False)
        true, best = p[rows, groups], p[rows, likely]
        place = np.minimum((best * N_BINS).astype(np.intp), N_BINS - 1)
        # Sum over classes of (p - right)**2: that of p itself, corrected at the true class.
        squares = np.einsum("ij,ij->i", p, p) + 1 - 2 * true
        bins = [np.bincount(place, each, minlength=N_BINS) for each in (w, w * (likely == groups))]
        bins.append(np.bincount(place, w * best, minlength=N_BINS))
        loss = float(w @ log_losses(p, groups))
        return cls(confusion.reshape(k, k), loss, float(w @ squares), np.stack(bins))

    def __add__(self, other: MeasureSums) -> MeasureSums:
        return MeasureSums(
            self.confusion + other.confusion,
            self.loss + other.loss,
            self.squares + other.squares,
            self.bins + other.bins,
        )

    @property
    def measures(self) -> Measures:
        """The measures of all rows."""
        total = float(self.confusion.sum())
        _, right, confidence = self.bins
        half = 0.5 if len(self.confusion) == 2 else 1.0
        return Measures(
            float(np.trace(self.confusion)) / total,
            self.loss / total + 0.0,  # never minus zero
            max(half * self.squares / total, 0.0),
            float(np.abs(right - confidence).sum()) / total,
            ClassScores.of(self.confusion).macro_f1,
        )
