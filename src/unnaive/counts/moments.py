"""The second additive statistic: sum, sum of squares and weight per group and numeric column.

Floating-point sums depend on their order; these do not. A sum is kept as a whole number of units
of 2**-1088 in 32-bit limbs (one int64 each, so that many can be added before carries are due).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.counts import exact


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Exact sums.

    Attributes
    ----------
    columns : tuple of int
        Positions of the numeric columns described.
    limbs : array of int64, shape (groups, columns, 3, limbs)
        Sums of the values, of their squares, and of the weights of the rows that have a value,
        carries resolved: equal sums have equal bytes.
    """

    columns: tuple[int, ...]
    limbs: NDArray[np.int64]

    @classmethod
    def empty(cls, n_groups: int, columns: Sequence[int]) -> Moments:
        shape = (n_groups, len(columns), 3, exact.LIMBS)
        return cls(tuple(columns), np.zeros(shape, np.int64))

    def check(self) -> None:
        """Refuse what are no sums with carries resolved."""
        expect(list(self.columns) == sorted(set(self.columns)), "columns are not in order.")
        shape = (len(self.limbs), len(self.columns), 3)
        check_values("limbs", self.limbs[..., :-1], (*shape, exact.LIMBS - 1), 0, 2**32 - 1)
        check_values("limbs", self.limbs[..., -1], shape, -(2**31), 2**31)
        spread, most = self.finish(), exact.LARGEST
        check_values("weights", spread.weight, shape[:2], 0.0, HEAVIEST)
        check_values("means", spread.mean, shape[:2], -most, most, nan=True)
        check_values("variances", spread.variance, shape[:2], 0.0, most**2, nan=True)

    def __add__(self, other: Moments) -> Moments:
        limbs = self.limbs + other.limbs
        exact.carry_all(limbs)
        return Moments(self.columns, limbs)

    def widen(self, columns: Sequence[int]) -> Moments:
        """The same sums with room for more columns."""
        if tuple(columns) == self.columns:
            return self
        out = Moments.empty(len(self.limbs), columns)
        place = {j: i for i, j in enumerate(out.columns)}
        out.limbs[:, [place[j] for j in self.columns]] = self.limbs
        return out

    def sum_groups(self, place: NDArray[np.intp], n_groups: int) -> Moments:
        """Add groups together: group g becomes part of group ``place[g]``."""
        out = Moments.empty(n_groups, self.columns)
        np.add.at(out.limbs, place, self.limbs)
        exact.carry_all(out.limbs)
        return out

    def select_groups(self, groups: NDArray[np.intp]) -> Moments:
        """Return the sums of some groups only."""
        return Moments(self.columns, self.limbs[groups])

    def scaled(self, factor: float) -> Moments:
        """The sums of rows that weigh ``factor`` times as much, rounded to units once."""
        if not self.limbs.size:
            return self
        numbers, bits = exact.to_ints(self.limbs)
        mantissa, exponent = math.frexp(factor)
        whole, shift = int(math.ldexp(mantissa, 53)), exponent - 53 + exact.UNIT_BITS - bits
        scaled = [n * whole << shift if shift >= 0 else n * whole >> -shift for n in numbers]
        return Moments(self.columns, exact.from_ints(scaled).reshape(self.limbs.shape))

    def finish(self, groups: NDArray[np.intp] | None = None) -> Spread:
        """Weight, mean and variance per group and column, rounded once from the exact sums.

        Of all groups, or of some.
        """
        if groups is not None:
            return self.select_groups(groups).finish()
        shape = self.limbs.shape[:2]
        out = Spread(np.zeros(shape), np.full(shape, np.nan), np.full(shape, np.nan))
        numbers, bits = exact.to_ints(self.limbs)
        sums = zip(*[iter(numbers)] * 3, strict=True)
        for (g, j), (total, squares, weight) in zip(np.ndindex(*shape), sums, strict=True):
            if weight:
                # variance = squares / weight - (total / weight)**2, in whole numbers
                spread = max(0, squares * weight - total * total)
                out.weight[g, j] = weight / (1 << bits)
                out.mean[g, j] = total / weight
                out.variance[g, j] = spread / (weight * weight)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Weight, mean and variance, groups x columns; NaN where no row has a value."""

    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    def column(self, k: int) -> Spread:
        """One of the columns."""
        return Spread(self.weight[..., k], self.mean[..., k], self.variance[..., k])

    def whole(self, factor: NDArray[np.float64]) -> Spread:
        """Whole columns: all groups together, each weighing ``factor`` times its weight."""
        weight = self.weight * factor[:, None]
        share = weight / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
        mean = np.nansum(share * self.mean, axis=0)
        between = (self.mean - mean) ** 2
        variance = np.nansum(share * (self.variance + between), axis=0)
        present = weight.sum(axis=0) > 0
        return Spread(
            weight.sum(axis=0), np.where(present, mean, np.nan), np.where(present, variance, np.nan)
        )
