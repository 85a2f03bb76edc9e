"""How good probabilities are: sums over rows that add up, like all counts here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST = float(np.finfo(np.float64).eps)  # what a probability of 0 counts as, under a logarithm
N_BINS = 15


def log_losses(p: NDArray[np.float64], groups: NDArray[np.integer]) -> NDArray[np.float64]:
    """-log P(right class) of each row, from probabilities (rows x classes) and class numbers."""
    losses: NDArray[np.float64] = -np.log(np.maximum(p[np.arange(len(p)), groups], LEAST))
    return losses


@dataclass(frozen=True, slots=True)
class Quality:
    """Four measures of probabilities that were given to rows whose class is known.

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
    """

    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float


@dataclass(frozen=True, slots=True, eq=False)
class QualitySums:
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
    ) -> QualitySums:
        """Sums over rows with probabilities ``p`` (rows x classes) and true class numbers."""
        n, k = p.shape
        w = np.ones(n) if weight is None else weight
        found, rows = p.argmax(axis=1), np.arange(n)
        cell = groups.astype(np.intp) * k + found
        confusion = np.bincount(cell, w, minlength=k * k).astype(np.float64, copy=False)
        true, best = p[rows, groups], p[rows, found]
        place = np.minimum((best * N_BINS).astype(np.intp), N_BINS - 1)
        # Sum over classes of (p - right)**2: that of p itself, corrected at the true class.
        squares = np.einsum("ij,ij->i", p, p) + 1 - 2 * true
        bins = [np.bincount(place, each, minlength=N_BINS) for each in (w, w * (found == groups))]
        bins.append(np.bincount(place, w * best, minlength=N_BINS))
        loss = float(w @ log_losses(p, groups))
        return cls(confusion.reshape(k, k), loss, float(w @ squares), np.stack(bins))

    def __add__(self, other: QualitySums) -> QualitySums:
        return QualitySums(
            self.confusion + other.confusion,
            self.loss + other.loss,
            self.squares + other.squares,
            self.bins + other.bins,
        )

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
        )
