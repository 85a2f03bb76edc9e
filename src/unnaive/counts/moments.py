"""Sums of values, of their squares and of weights, per group and numeric column.

A sum is two floats whose exact sum is about twice as precise as one: the variance of numbers that
lie close together far from zero keeps its digits. Sums in another order agree to about 1e-30.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.common.kernels import kernel

LARGEST = 2.0**500  # squares of larger numbers are not floats
_LARGEST_TERM = 2.0**1000
_CHUNK = 512  # rows of all columns that are summed at a time: rows stay in cache


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums of rows.

    Attributes
    ----------
    columns : tuple of int
        Positions of the numeric columns described.
    sums : array of shape (groups, columns, 3, 2)
        Sums of the values, of their squares, and of the weights of the rows that have a value;
        each as a float and what it lacks.
    """

    columns: tuple[int, ...]
    sums: NDArray[np.float64]

    @classmethod
    def empty(cls, n_groups: int, columns: Sequence[int]) -> Moments:
        """Return sums of no rows."""
        return cls(tuple(columns), np.zeros((n_groups, len(columns), 3, 2)))

    def check(self) -> None:
        """Raise if these are not sums of rows."""
        expect(list(self.columns) == sorted(set(self.columns)), "columns are not in order.")
        shape = (len(self.sums), len(self.columns))
        check_values("sums", self.sums, (*shape, 3, 2), -_LARGEST_SUM, _LARGEST_SUM)
        spread = self.finish()
        check_values("weights", spread.weight, shape, 0.0, HEAVIEST)
        check_values("means", spread.mean, shape, -LARGEST, LARGEST, nan=True)
        check_values("variances", spread.variance, shape, 0.0, LARGEST**2, nan=True)

    def __add__(self, other: Moments) -> Moments:
        return self._plus(other, 1.0)

    def __sub__(self, other: Moments) -> Moments:
        return self._plus(other, -1.0)

    def _plus(self, other: Moments, factor: float) -> Moments:
        sums = self.sums.copy()
        _add_sums(other.sums, np.arange(len(sums)), factor, sums)
        return Moments(self.columns, sums)

    def widen(self, columns: Sequence[int]) -> Moments:
        """Return the same sums with room for more columns."""
        if tuple(columns) == self.columns:
            return self
        out = Moments.empty(len(self.sums), columns)
        place = {j: i for i, j in enumerate(out.columns)}
        out.sums[:, [place[j] for j in self.columns]] = self.sums
        return out

    def sum_groups(self, place: NDArray[np.intp], n_groups: int) -> Moments:
        """Add groups together: group g becomes part of group ``place[g]``."""
        out = Moments.empty(n_groups, self.columns)
        _add_sums(self.sums, place, 1.0, out.sums)
        return out

    def select_groups(self, groups: NDArray[np.intp]) -> Moments:
        """Return the sums of some groups only."""
        return Moments(self.columns, self.sums[groups])

    def scaled(self, factor: float) -> Moments:
        """Return the sums of rows that weigh ``factor`` times as much."""
        out = Moments.empty(len(self.sums), self.columns)
        _add_sums(self.sums, np.arange(len(self.sums)), factor, out.sums)
        return out

    def finish(self, groups: NDArray[np.intp] | None = None) -> Spread:
        """Return weight, mean and variance per group and column, of all groups or of some."""
        sums = self.sums if groups is None else self.sums[groups]
        out = np.empty((3, *sums.shape[:2]))
        _finish(sums, out)
        return Spread(*out)


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


_LARGEST_SUM = 2.0**1023
_SPLIT = 134217729.0  # 2**27 + 1 cuts a float into two halves


@kernel(inline="always")
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Return the sum of two floats and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel(inline="always")
def _add_to(sums: NDArray[np.float64], g: int, k: int, a: float, a_low: float) -> None:
    """Add a number to a sum (IN, OUT), which keeps about 106 bits however many there are."""
    total, error = _two_sum(sums[g, k, 0], a)
    low = sums[g, k, 1] + (error + a_low)
    high = total + low
    sums[g, k, 0], sums[g, k, 1] = high, low - (high - total)


@kernel(inline="always")
def _two_product(a: float, b: float) -> tuple[float, float]:
    """Return the product of two floats and its rounding error."""
    product = a * b
    t = _SPLIT * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = _SPLIT * b
    b_high = t - (t - b)
    b_low = b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


@kernel
def _multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    product, error = _two_product(a, b)
    return _two_sum(product, error + (a * b_low + a_low * b))


@kernel
def _add_sums(
    sums: NDArray[np.float64], place: NDArray[np.intp], factor: float, out: NDArray[np.float64]
) -> None:
    """Add sums times a factor (IN, groups first) to those of the groups at ``place`` (OUT)."""
    for g in range(len(sums)):
        for j in range(sums.shape[1]):
            for k in range(3):
                a, b = sums[g, j, k], out[place[g], j, k]
                high, low = _multiply(a[0], a[1], factor, 0.0)
                total, error = _two_sum(b[0], high)
                b[0], b[1] = _two_sum(total, error + (b[1] + low))


@kernel
def _finish(sums: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Weight, mean and variance (OUT) of each group and column."""
    for g in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            weight, weight_low = sums[g, j, 2]
            out[:, g, j] = np.nan
            out[0, g, j] = weight
            if weight > 0.0:
                # variance = (squares * weight - total**2) / weight**2, of numbers near one
                scale = -math.frexp(math.sqrt(max(sums[g, j, 1, 0], 0.0) / weight))[1]
                total, total_low = sums[g, j, 0, 0], sums[g, j, 0, 1]
                out[1, g, j] = total / weight + (total_low - weight_low * (total / weight)) / weight
                a, a_low = math.ldexp(total, scale), math.ldexp(total_low, scale)
                b = math.ldexp(math.ldexp(sums[g, j, 1, 0], scale), scale)
                b_low = math.ldexp(math.ldexp(sums[g, j, 1, 1], scale), scale)
                a, a_low = _multiply(a, a_low, a, a_low)
                b, b_low = _multiply(b, b_low, weight, weight_low)
                spread = (b - a) + (b_low - a_low)
                if spread <= b * (16.0 + weight) * 2.0**-106:
                    spread = 0.0  # a constant column: what is left is the rounding of the sums
                variance = spread / weight / weight
                out[2, g, j] = math.ldexp(math.ldexp(variance, -scale), -scale)


@kernel
def add_moments(
    matrix: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    missing: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> int:
    """Add weight * x, weight * x**2 and weight per group and column.

    matrix (IN) rows x columns; weight (IN) empty when every row weighs one; missing (OUT) groups x
    columns, the weight of rows without a value; sums (OUT) groups x columns x 3 x 2. Returns -1, or
    the column in which an infinite or too large number stands.
    """
    n_rows, n_columns = matrix.shape
    for start in range(0, n_rows, _CHUNK):
        rows = slice(start, min(n_rows, start + _CHUNK))
        for j in range(n_columns):
            values, own, gaps = matrix[rows, j], sums[:, j], missing[:, j]
            if len(weight):
                fits = _add_weighted(values, groups[rows], weight[rows], gaps, own)
            else:
                fits = _add_values(values, groups[rows], gaps, own)
            if not fits:
                return j
    _add_sums(np.zeros_like(sums), np.arange(len(sums)), 1.0, sums)  # each in one form
    return -1


@kernel
def _add_values(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    missing: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> bool:
    for i in range(len(values)):
        value, g = values[i], groups[i]
        if abs(value) <= LARGEST:
            square, square_low = _two_product(value, value)
            _add_to(sums, g, 0, value, 0.0)
            _add_to(sums, g, 1, square, square_low)
            sums[g, 2, 0] += 1.0
        elif value != value:
            missing[g] += 1.0
        else:
            return False
    return True


@kernel
def _add_weighted(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    missing: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> bool:
    for i in range(len(values)):
        value, w, g = values[i], weight[i], groups[i]
        if value != value:
            missing[g] += w
            continue
        if abs(value) > LARGEST or w * value * value > _LARGEST_TERM:
            return False
        x, x_low = _two_product(w, value)
        square, square_low = _two_product(x, value)
        _add_to(sums, g, 0, x, x_low)
        _add_to(sums, g, 1, square, square_low + x_low * value)
        _add_to(sums, g, 2, w, 0.0)
    return True
