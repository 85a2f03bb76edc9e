"""The second additive statistic: weight, sum and sum of squares per group and numeric column.

Floating-point sums depend on their order; these do not. A sum is kept as a whole number of units
of 2**-1088 in 32-bit limbs (one int64 each, so that many can be added before carries are due).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import exact

UNIT_BITS = exact.UNIT_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Exact sums.

    Attributes
    ----------
    columns : tuple of int
        Positions of the numeric columns described.
    weight : array of shape (groups, columns)
        Weight of the rows that have a value.
    limbs : array of int64, shape (groups, columns, 2, limbs)
        Sum of the values and of their squares, carries resolved: equal sums have equal bytes.
    """

    columns: tuple[int, ...]
    weight: NDArray[np.float64]
    limbs: NDArray[np.int64]

    @classmethod
    def empty(cls, n_groups: int, columns: Sequence[int]) -> Moments:
        shape = (n_groups, len(columns))
        return cls(tuple(columns), np.zeros(shape), np.zeros((*shape, 2, exact.LIMBS), np.int64))

    def __add__(self, other: Moments) -> Moments:
        limbs = self.limbs + other.limbs
        exact.carry_all(limbs)
        return Moments(self.columns, self.weight + other.weight, limbs)

    def widen(self, columns: Sequence[int]) -> Moments:
        """The same sums with room for more columns."""
        if tuple(columns) == self.columns:
            return self
        out = Moments.empty(len(self.weight), columns)
        place = [out.columns.index(j) for j in self.columns]
        out.weight[:, place] = self.weight
        out.limbs[:, place] = self.limbs
        return out

    def sum_groups(self, place: NDArray[np.intp], n_groups: int) -> Moments:
        """Add groups together: group g becomes part of group ``place[g]``."""
        out = Moments.empty(n_groups, self.columns)
        np.add.at(out.weight, place, self.weight)
        np.add.at(out.limbs, place, self.limbs)
        exact.carry_all(out.limbs)
        return out

    def sum_all(self) -> Moments:
        """The moments of whole columns: all groups as one."""
        return self.sum_groups(np.zeros(len(self.weight), dtype=np.intp), 1)

    def mean_and_variance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance per group and column, rounded once from the exact sums.

        NaN where no row has a value.
        """
        mean, variance = np.full((2, *self.weight.shape), np.nan)
        for g, j in np.argwhere(self.weight > 0):
            mean[g, j], variance[g, j] = _mean_and_variance(self.weight[g, j], *self.limbs[g, j])
        return mean, variance


def _mean_and_variance(
    weight: float, sum_limbs: NDArray[np.int64], square_limbs: NDArray[np.int64]
) -> tuple[float, float]:
    total, squares = exact.to_int(sum_limbs), exact.to_int(square_limbs)
    p, q = float(weight).as_integer_ratio()  # the weight is exactly p / q
    mean = (total * q) / (p << UNIT_BITS)
    # variance = (squares * weight - total**2) / weight**2, all in whole numbers
    spread = ((squares * p) << UNIT_BITS) - total * total * q
    return mean, max(0, spread) * q / ((p * p) << (2 * UNIT_BITS))
