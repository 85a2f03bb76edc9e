"""How well scores rank rows: ROC, precision-recall and gain curves of one class against the rest.

All are read from the weight of rows above every threshold. Of rows in memory there is a threshold
for each distinct score; of rows that stay away, one for each cell of a fine histogram, which adds
up. Rows in one cell then count as equal scores, and how far that can move an area is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.facts import Columns, Facts

# Octaves below and above 1/2: scores below 2**-256 share a cell; above, floats end at 1 - 2**-53.
BELOW, ABOVE = 256, 54
FINEST, COARSEST = 8, 3  # bits of a cell's place inside its octave, for few and for many classes
MOST_BYTES = 1 << 26  # of one histogram


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreCurve(Facts):
    """Weight of the rows whose score is at least each threshold, for one class.

    Attributes
    ----------
    thresholds : array of shape (n,)
        Falling; each is a score that some row has.
    true, false : arrays of shape (n,)
        Weight of the rows of the class, and of the other rows, with at least that score.
    roc_auc_error : float
        Most by which `roc_auc` may differ from that of the scores themselves: 0 if it was computed
        from every score, else from the cells of a histogram.
    """

    thresholds: NDArray[np.float64]
    true: NDArray[np.float64]
    false: NDArray[np.float64]
    roc_auc_error: float = 0.0

    @classmethod
    def of(
        cls,
        scores: NDArray[np.float64],
        positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None = None,
    ) -> ScoreCurve:
        """The curve of every distinct score."""
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
        """Cumulative gain: share of the class in these shares of the rows, highest scores first.

        Rows of equal score are taken in parts, as if in random order. Divided by the share of the
        rows, it is their lift.
        """
        selected = np.concatenate(([0.0], self.selected))
        return np.interp(share, selected, np.concatenate(([0.0], self.recall)))

    def above(self, threshold: float) -> tuple[float, float]:
        """Weight of the rows of the class, and of the others, with at least this score."""
        last = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        return (float(self.true[last]), float(self.false[last])) if last >= 0 else (0.0, 0.0)


def score_curves(
    p: NDArray[np.float64], groups: NDArray[np.integer], weight: NDArray[np.float64] | None = None
) -> tuple[ScoreCurve, ...]:
    """The exact curve of every class against the rest, from probabilities (rows x classes)."""
    return tuple(ScoreCurve.of(p[:, c], groups == c, weight) for c in range(p.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """Weight of rows by cells of their scores: curves of rows that are never together.

    A cell is finer the nearer it is to 0 or 1: its width is at most 1/256 of its distance from
    there, or 1/8 where there are thousands of classes. Counts of parts of the rows add up to those
    of all.

    Attributes
    ----------
    counts : array of shape (classes, 2, cells)
        Of each class, the weight of the other rows and of its own rows by cell of its score.
    low, high : arrays of shape (classes, cells)
        Lowest and highest score in each cell: where they are equal, nothing is lost.
    """

    counts: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        p: NDArray[np.float64],
        groups: NDArray[np.integer],
        weight: NDArray[np.float64] | None = None,
    ) -> ScoreCounts:
        """Counts of rows with probabilities ``p`` (rows x classes) and true class numbers."""
        n_classes = p.shape[1]
        bits = _bits(n_classes)
        n_cells = (BELOW + ABOVE) << bits
        counts = np.empty((n_classes, 2, n_cells))
        low, high = np.full((n_classes, n_cells), np.inf), np.full((n_classes, n_cells), -np.inf)
        for c in range(n_classes):
            cell = _cells(p[:, c], bits)
            np.minimum.at(low[c], cell, p[:, c])
            np.maximum.at(high[c], cell, p[:, c])
            pair = cell + n_cells * (groups == c)
            counts[c] = np.bincount(pair, weight, 2 * n_cells).reshape(2, n_cells)
        return cls(counts, low, high)

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        return ScoreCounts(
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def curves(self) -> tuple[ScoreCurve, ...]:
        """The curve of every class, with the bound of its area."""
        return tuple(map(_cell_curve, self.counts, self.low, self.high))


def _cell_curve(
    counts: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> ScoreCurve:
    filled = np.flatnonzero(counts.sum(axis=0))[::-1]
    (rest, true), low, high = counts[:, filled], low[filled], high[filled]
    # Between different scores of a cell the area is taken as half; it may be nothing, or all.
    pairs = float(true.sum() * rest.sum())
    error = 0.5 * float(true @ np.where(low < high, rest, 0.0)) / pairs if pairs else 0.0
    return ScoreCurve(low, np.cumsum(true), np.cumsum(rest), error)


def _bits(n_classes: int) -> int:
    """Bits inside an octave that leave room for all classes."""
    room = MOST_BYTES // (n_classes * 4 * 8 * (BELOW + ABOVE))
    return int(np.clip(room.bit_length() - 1, COARSEST, FINEST))


def _cells(scores: NDArray[np.float64], bits: int) -> NDArray[np.intp]:
    """Number of the cell of each score, rising with it: by its distance from the nearer end."""
    upper = scores > 0.5
    above = (BELOW + ABOVE << bits) - 1 - _places(1.0 - scores, ABOVE, bits)
    return np.where(upper, above, _places(scores, BELOW, bits)).astype(np.intp)


def _places(distances: NDArray[np.float64], octaves: int, bits: int) -> NDArray[np.int64]:
    """Cells of distances of 0 to 1/2, which halve ``octaves`` times."""
    # The bits of a positive float, read as an integer, rise with it: exponent, then fraction.
    shift, least = 52 - bits, np.float64(2.0 ** -(octaves + 1))
    keys = np.maximum(distances, least).view(np.int64) >> shift
    # 1/2 itself would begin an octave of its own, to which nothing else belongs.
    return np.minimum(keys - (least.view(np.int64) >> shift), (octaves << bits) - 1)


def _share(part: NDArray[np.float64], whole: float) -> NDArray[np.float64]:
    return part / whole if whole else np.full(len(part), np.nan)
