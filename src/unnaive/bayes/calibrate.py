"""Calibration: factors of the evidence and an intercept per class, from rows with labels.

A multinomial logistic regression of the classes on their log probabilities by a model (Platt's
scaling for any number of classes), or on the evidence of each column (weighted naive Bayes). Both
are convex, and fitted by Newton's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate_kernels import (
    FARTHEST,
    add_curvature,
    add_curvature_of_two,
    add_products,
    add_sums,
    add_sums_of_two,
    fill_products,
    fill_shares,
)
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.estimate import log_prior
from unnaive.bayes.newton import minimize
from unnaive.common.threads import in_threads
from unnaive.table.storage import Storage, stretches

# Evidence against the classes that occur would turn itself around: it is nearly switched off.
LEAST_SLOPE = 0.01
# Weight, in rows, of a slope of 1, and of the classes' own shares: what few rows start from.
RIDGE, SHIFT_RIDGE = 1.0, 0.01
# The same for the factors of columns, which start from the slope: the least log loss within the
# training rows of 15 data sets, of 1, 4, 16 and 64.
COLUMN_RIDGE = 16.0
# More columns than these, or than rows, share the slope: a factor each would cost their square in
# every row, and rows could not tell them apart.
MOST_FACTORS = 512
# More classes than these are taken to move one by one: a row costs their number, not its square.
MOST_TOGETHER = 64
PART = 1 << 14  # rows that are added up at a time
MATRIX = 1 << 14  # numbers of a matrix that stays in the cache
# What a step gains, in nats of all rows together, when it is the last; of many rows, for each, less
# where intercepts alone are learned: few rows of a class are to have their share.
CLOSE, CLOSE_BY_ROW, OF_SHARES = 1e-6, 1e-6, 1e-9
# A Hessian serves as long as steps by it leave less than this share of what there is to gain; one
# of many factors costs as much as many steps.
SLOW, SLOW_OF_MANY = 0.2, 0.5
# Terms of sums are whole multiples of a grain, so that rows may be added in any order. Their sum
# has less than 62 bits.
_BITS = 2.0**61
# What pairs of so many factors or classes have is a product of matrices: of whole numbers, whose
# sums stay below 2**53 and are exact, for rows of no more than this weight. Evidence is rounded to
# multiples of 1 / _FINE; the largest term is FARTHEST**2 / 2 < 2**17 times the row's weight.
MANY, MOST_WEIGHT, _FINE = 6, 2.0**22, 2.0**10
KNOWN = 1e18  # weight, in rows, of a slope that is not learned


# Rows to learn from, wherever they are: a function of the scores, groups and weights of some is
# applied to all, and what it returns is summed.
Visit: TypeAlias = Callable[[Callable[..., NDArray[Any]]], NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Rows (scores: rows x factors x classes, or rows x classes for one factor) of so much weight,
    and what the solution is pulled to.

    A point is the factors, then a shift for each class.
    """

    visit: Visit
    weight: float
    base: NDArray[np.float64]
    centre: NDArray[np.float64]
    pull: NDArray[np.float64]
    n_jobs: int | None

    @property
    def n_factors(self) -> int:
        return len(self.centre) - len(self.base)

    @property
    def _grain(self) -> float:
        """The unit of all terms; the loss of a row may reach what its factors bring together."""
        return self.weight * FARTHEST**2 * max(1.0, self.n_factors / 8.0) / _BITS

    def solve(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """The point of least penalized loss; no factor is less than the least."""
        by_row = OF_SHARES if self.pull[0] == KNOWN else CLOSE_BY_ROW
        slow = SLOW if self.n_factors < MANY else SLOW_OF_MANY
        least = np.full(len(start), -np.inf)
        least[: self.n_factors] = LEAST_SLOPE
        return minimize(self, start, least, max(CLOSE, by_row * self.weight), slow)

    def loss(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Penalized loss of all rows, and its gradient."""
        sums, away = self._add_up(_add_loss, point), point - self.centre
        loss = float(sums[0]) + 0.5 * float(self.pull @ away**2)
        return loss, sums[1:] + self.pull * away

    def hessian(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hessian of the penalized loss."""
        n, size, light = self.n_factors, len(point), self.weight <= MOST_WEIGHT
        factors = light and n >= MANY
        classes = light and MANY <= size - n <= MOST_TOGETHER
        together = size - n <= MOST_TOGETHER and not classes
        add = partial(_add_curvature, together, not factors)
        lower = self._add_up(add, point).reshape(size, size)
        # Not at a power of two, where a sum of weights might lie on either side.
        bits = 52 - math.frexp(1.1 * self.weight)[1]
        if factors:
            lines = 1 if size - n == 2 else size - n
            add = partial(_add_products, fill_products, (lines, n), _FINE)
            lower[:n, :n] = self._add_up(add, point, 2.0 ** (17 - bits)).reshape(n, n)
        if classes:
            add = partial(_add_products, fill_shares, (1, size - n), 2.0 ** (bits // 2))
            lower[n:, n:] -= self._add_up(add, point, 2.0**-bits).reshape(size - n, size - n)
        return lower + np.tril(lower, -1).T + np.diag(self.pull)

    def _add_up(
        self,
        add: Callable[..., NDArray[np.int64]],
        point: NDArray[np.float64],
        grain: float | None = None,
    ) -> NDArray[np.float64]:
        grain = grain or self._grain
        sums = self.visit(partial(_row_sums, add, self.base, point, 1.0 / grain, self.n_jobs))
        return sums.astype(np.float64) * grain


def _row_sums(
    add: Callable[..., NDArray[np.int64]],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
    n_jobs: int | None,
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Sums of some rows in a line, in whole units of 1 / scale."""
    logs = scores[:, None] if scores.ndim == 2 else scores

    def add_part(part: slice) -> NDArray[np.int64]:
        return add((logs[part], groups[part], weight[part]), base, point, scale)

    parts = in_threads(add_part, list(stretches(len(groups), PART)), n_jobs)
    return np.sum([add_part(slice(0, 0)), *parts], axis=0)


Rows: TypeAlias = tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]


def _add_loss(
    rows: Rows, base: NDArray[np.float64], point: NDArray[np.float64], scale: float
) -> NDArray[np.int64]:
    out = np.zeros(1 + len(point), dtype=np.int64)
    add = add_sums_of_two if len(base) == 2 else add_sums
    add(*rows, base, point, scale, out[:1], out[1:])
    return out


def _add_curvature(
    together: bool,
    pairs: bool,
    rows: Rows,
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
) -> NDArray[np.int64]:
    out, (logs, _, weight) = np.zeros(len(point) ** 2, dtype=np.int64), rows
    if len(base) == 2:
        add_curvature_of_two(logs, weight, base, point, scale, pairs, out)
    else:
        add_curvature(*rows, base, point, scale, together, pairs, out)
    return out


def _add_products(
    fill: Callable[..., None],
    shape: tuple[int, int],
    fine: float,
    rows: Rows,
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    scale: float,
) -> NDArray[np.int64]:
    """The lower triangle of what pairs of factors have in the Hessian, or pairs of classes.

    ``shape`` is that of the matrices which ``fill`` makes of each row.
    """
    lines, width = shape
    out = np.zeros((width, width))
    for part in stretches(len(rows[1]), max(MATRIX // (lines * width), 1)):
        some = [array[part] for array in rows]
        left, right = np.empty((2, len(some[1]), lines, width))
        fill(*some, base, point, (scale / fine, fine), left, right)
        add_products(left.reshape(-1, width), right.reshape(-1, width), out)
    return out.astype(np.int64).ravel()


def visit_arrays(
    scores: NDArray[np.float64], groups: NDArray[Any], weight: NDArray[np.float64] | None
) -> Visit:
    """Rows that are here."""
    weights = np.ones(len(groups)) if weight is None else weight
    return lambda fn: fn(scores, groups, weights)


def fit_calibration(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
    slope: float | None = None,
    storage: Storage | None = None,
    shift_ridge: float = SHIFT_RIDGE,
) -> Calibration:
    """The slope and the intercepts under which the classes of rows are most probable.

    The evidence is what scores say beyond the shares of the classes: base rates are not scaled
    with it. The result does not depend on the order of the rows.

    Parameters
    ----------
    scores : array of shape (rows, classes), or (rows, terms, classes)
        Log probabilities by a model that has not seen the row, up to a constant of the row; or
        terms that add up to them.
    groups : array of shape (rows,)
        Class of each row.
    weight : array of shape (rows,) or None, default=None
    slope : float or None, default=None
        A slope that is known; then only the intercepts are learned.
    storage : Storage or None, default=None
        Room for the sums of terms; None is memory.
    shift_ridge : float, default=SHIFT_RIDGE
        Weight, in rows, of the classes' own shares.
    """
    totals = scores if scores.ndim == 2 else _add_terms(scores, storage or Storage())
    visit = visit_arrays(totals, groups, weight)
    return fit_visited(visit, totals.shape[1], n_jobs, slope, shift_ridge)


def fit_visited(
    visit: Visit,
    n_classes: int,
    n_jobs: int | None = None,
    slope: float | None = None,
    shift_ridge: float = SHIFT_RIDGE,
    near: Calibration | None = None,
) -> Calibration:
    """The same of rows (scores: rows x classes) that are elsewhere, and visited a few times: fewer
    where a calibration by one slope is known that is ``near``.
    """
    whole, base = base_shares(visit, n_classes)
    if base is None:
        return Calibration(slope or 1.0, np.zeros(n_classes))
    centre, pull = np.zeros(1 + n_classes), np.full(1 + n_classes, shift_ridge)
    centre[0], pull[0] = (1.0, RIDGE) if slope is None else (slope, KNOWN)
    start = centre.copy()
    if near is not None:
        start[0] = near.slope if slope is None else slope
        start[1:] = near.intercept - (1.0 - near.slope) * base
    point = Regression(visit, whole, base, centre, pull, n_jobs).solve(start)
    factor = float(point[0]) if slope is None else slope
    return Calibration(factor, (1.0 - factor) * base + point[1:])


def fit_columns(
    logs: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_jobs: int | None = None,
    storage: Storage | None = None,
) -> Calibration:
    """A factor for each column and the intercepts under which the classes are most probable.

    Factors are pulled to the slope that all of them would share, which very many columns do.

    Parameters
    ----------
    logs : array of shape (rows, 1 + columns, classes)
        What a model that has not seen the row starts from, and the evidence of its columns.
    """
    n_classes, n_factors = logs.shape[2], logs.shape[1]
    visit = visit_arrays(logs, groups, weight)
    whole, base = base_shares(visit, n_classes)
    if base is None:
        return Calibration(1.0, np.zeros(n_classes), np.ones(n_factors - 1))
    shared = fit_calibration(logs, groups, weight, n_jobs, storage=storage)
    factors = np.full(n_factors, shared.slope)
    if n_factors > min(MOST_FACTORS, whole):
        return replace(shared, columns=factors[1:])
    centre = np.concatenate((factors, np.zeros(n_classes)))
    pull = np.concatenate((np.full(n_factors, COLUMN_RIDGE), np.full(n_classes, SHIFT_RIDGE)))
    start = np.concatenate((factors, shared.intercept - (1.0 - shared.slope) * base))
    point = Regression(visit, whole, base, centre, pull, n_jobs).solve(start)
    slope, columns, shifts = float(point[0]), point[1:n_factors], point[n_factors:]
    return Calibration(slope, (1.0 - slope) * base + shifts, columns)


def _add_terms(scores: NDArray[np.float64], storage: Storage) -> NDArray[np.float64]:
    """The sum of the terms of each row and class."""
    total = storage.empty((len(scores), scores.shape[2]), np.float64)
    for part in stretches(len(scores), PART):
        np.einsum("itc->ic", scores[part], out=total[part])
    return total


def base_shares(visit: Visit, n_classes: int) -> tuple[float, NDArray[np.float64] | None]:
    """Weight of all rows, and logarithms of the classes' shares; None where there is nothing to
    tell apart.
    """
    *by_class, whole = visit(partial(_row_weights, n_classes))
    totals = np.array(by_class)
    if n_classes < 2 or not totals.any():
        return float(whole), None
    # A class that these rows lack has the share of half a row.
    return float(whole), log_prior(np.where(totals > 0.0, totals, 0.5), 0.0, None)


def _row_weights(
    n_classes: int, _scores: NDArray[np.float64], groups: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weight of the rows of each class, and of all."""
    totals = np.zeros(n_classes)
    for part in stretches(len(groups), PART):
        totals += np.bincount(groups[part], weight[part], n_classes)
    return np.append(totals, weight.sum())
