"""How good probabilities are: sums over rows that add up, like all counts here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.curves import ScoreCurve

LEAST = float(np.finfo(np.float64).eps)  # what a probability of 0 counts as, under a logarithm
N_BINS = 15
NAN = float("nan")


def log_losses(p: NDArray[np.float64], groups: NDArray[np.integer]) -> NDArray[np.float64]:
    """-log P(right class) of each row, from probabilities (rows x classes) and class numbers."""
    losses: NDArray[np.float64] = -np.log(np.maximum(p[np.arange(len(p)), groups], LEAST))
    return losses


@dataclass(frozen=True, slots=True)
class Quality:
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

    def ranked(self, curves: Sequence[ScoreCurve]) -> Quality:
        """The same with the areas under these curves, one for each class."""
        areas = {name: headline(curves, name) for name in ("roc_auc", "average_precision")}
        return replace(self, **areas, kolmogorov_smirnov=two_class_distance(curves))


def two_class_distance(curves: Sequence[ScoreCurve]) -> float:
    """Kolmogorov-Smirnov statistic of two classes; of more, NaN."""
    return curves[1].kolmogorov_smirnov if len(curves) == 2 else NAN


def headline(curves: Sequence[ScoreCurve], name: str) -> float:
    """One figure of the curves of all classes: of two, that of the second; of more, the mean.

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


class Additive:
    """Base of dataclasses of sums over rows: those of parts of the rows add up to those of all."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        sums: Any = self
        names = [field.name for field in fields(sums)]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, slots=True, eq=False)
class QualitySums(Additive):
    """What `Quality` is computed from; the sums of parts of the rows add up to those of all.

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
    ) -> QualitySums:
        """Sums over rows with probabilities ``p`` (rows x classes) and true class numbers.

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

    @property
    def quality(self) -> Quality:
        """The measures of all rows."""
        total = float(self.confusion.sum())
        _, right, confidence = self.bins
        half = 0.5 if len(self.confusion) == 2 else 1.0
        return Quality(
            float(np.trace(self.confusion)) / total,
            self.loss / total + 0.0,  # never minus zero
            max(half * self.squares / total, 0.0),
            float(np.abs(right - confidence).sum()) / total,
            ClassScores.of(self.confusion).macro_f1,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationSums(Additive):
    """Rows by bins of the probability of each class; those of parts of the rows add up.

    Attributes
    ----------
    total, predicted, hits : arrays of shape (classes, bins)
        Weight of the rows, their summed probability, and the weight of those of the class.
    """

    total: NDArray[np.float64]
    predicted: NDArray[np.float64]
    hits: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        p: NDArray[np.float64],
        groups: NDArray[np.integer],
        weight: NDArray[np.float64] | None = None,
        n_bins: int = 10,
    ) -> CalibrationSums:
        """Sums over rows with probabilities ``p`` (rows x classes), in bins of equal width."""
        w = np.ones(len(p)) if weight is None else weight
        sums = np.zeros((3, p.shape[1], n_bins))
        for c, column in enumerate(p.T):
            bins = np.clip((column * n_bins).astype(np.intp), 0, n_bins - 1)
            for k, each in enumerate((w, w * column, w * (groups == c))):
                sums[k, c] = np.bincount(bins, each, n_bins)
        return cls(*sums)
