"""Which rows of a large table calibrate: some of each class, drawn by their numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.counts.encoded_rows import CodedRows
from unnaive.encode.hashing import draw_uniform

# Rows that calibrate a large table: as many as have so many numbers of evidence, but no fewer than
# LEAST_ROWS, nor than LEAST_OF_CLASS of a class that has them, nor than PER_PARAMETER for each
# number that they teach: then the log loss within the training rows of the largest data sets is
# that of all rows to 0.0012 (adult).
MOST_NUMBERS = 1 << 19
LEAST_ROWS, LEAST_OF_CLASS, PER_PARAMETER = 1 << 13, 1 << 8, 64
# The same where more rows mend what these miss, such as base rates or shifts of values: within the
# training rows of ten large data sets the log loss is that of all rows to 0.0005 (bags of adult).
FEW_ROWS, FEW_OF_CLASS, PER_FACTOR = 1 << 11, 1 << 6, 32
PIECE = 1 << 13  # rows whose draws stay in cache


def class_weights(
    groups: NDArray[Any], weight: NDArray[np.float64] | None, n_classes: int
) -> NDArray[np.float64]:
    """What the rows of each class weigh."""
    return np.bincount(groups, weight, n_classes).astype(np.float64)


def weigh_shares(
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    drawn: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Weights of rows that were drawn such that classes have the shares of all rows, and the weight
    of all stays: rows that were not drawn say nothing.

    Given what the rows of each class weigh, of those drawn (of which these may be some) and of all.
    Factors are rounded, so that whole weights times these add exactly in any order.
    """
    whole = drawn.sum()
    factor = np.divide(totals, drawn, out=np.zeros_like(totals), where=drawn > 0.0)
    factor *= whole / max(float(drawn @ factor), LEAST_SHARE)
    grain = 2.0 ** (math.frexp(1.1 * whole)[1] - 52)
    return np.asarray(weight * (np.rint(factor / grain) * grain)[groups])


@dataclass(frozen=True, slots=True, eq=False)
class RowDraw:
    """Which rows calibrate: a share of those of each class, drawn by their numbers; and what all
    rows of each class weigh.
    """

    shares: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        n_rows: int,
        n_numbers: int | None,
        totals: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
        n_parameters: int = 0,
    ) -> RowDraw | None:
        """The draw of rows that are judged by so many numbers each; None where all calibrate. For 0
        no more rows are drawn than there must be; without a number even fewer, because others will
        mend what they miss.

        ``totals`` says how many rows classes have, up to a factor, ``weights`` what they weigh, if
        not the same, and ``n_parameters`` how much they teach beside factors and intercepts.
        """
        if n_numbers is None:
            most, least_of_class = max(FEW_ROWS, PER_FACTOR * n_parameters), FEW_OF_CLASS
        else:
            most = MOST_NUMBERS // n_numbers if n_numbers else 0
            most = max(most, LEAST_ROWS, PER_PARAMETER * n_parameters)
            least_of_class = LEAST_OF_CLASS
        if n_rows <= most:
            return None
        of_class = np.maximum(n_rows * totals / totals.sum(), 1.0)
        shares = np.minimum(np.maximum(most / n_rows, least_of_class / of_class), 1.0)
        return cls(shares, totals if weights is None else weights)

    @classmethod
    def of_large(
        cls, n_rows: int, totals: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> RowDraw | None:
        """The draw of few rows of a large table; of a smaller one all calibrate."""
        return None if n_rows <= LEAST_ROWS else cls.of(n_rows, None, totals, weights)

    def places_of(self, rows: CodedRows) -> NDArray[np.intp]:
        """Places of coded rows that are drawn; a few rows are looked at at a time."""
        parts = [
            part.start + self.places(rows.numbers_of(part), rows.groups[part])
            for part in rows.stretches(PIECE)
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *parts])

    def places(self, row_ids: NDArray[np.int64], groups: NDArray[Any]) -> NDArray[np.intp]:
        """Places of the rows that are drawn."""
        draws = draw_uniform(0, row_ids)
        places = np.flatnonzero(draws < self.shares.max())
        return places[draws[places] < self.shares[groups[places]]]
