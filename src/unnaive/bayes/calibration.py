"""Calibration: a penalised multinomial logistic regression on held-out evidence.

Calibrated scores are a linear function of the parameters: one factor for all evidence (Platt's
scaling for any number of classes), a factor for each column (weighted naive Bayes), or an offset
for each value of each column, and always an intercept for each class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from unnaive.bayes.estimate import log_prior
from unnaive.bayes.kernels import IMPOSSIBLE

MIN_SLOPE = 0.01  # evidence against the classes that occur is switched off, not turned around
# Weight, in rows, of the prior values: of a slope of 1, of an intercept of 0, of the common slope
# for the factors of columns, and of an offset of 0 in each of the columns.
SLOPE_RIDGE, INTERCEPT_RIDGE, COLUMN_RIDGE, VALUE_RIDGE = 1.0, 0.5, 16.0, 0.5
# Share by which the loss falls in the last iteration: of factors, and of offsets, which are many.
TOLERANCE, VALUE_TOLERANCE = 1e-9, 1e-6
IMPOSSIBLE_EVIDENCE = -500.0  # what stands for the logarithm of 0


class HeldOut(NamedTuple):
    """Evidence for rows by a model that has not seen them.

    Attributes
    ----------
    scores : array of shape (rows, classes) or (rows, 1 + columns, classes)
        Log probabilities up to a constant of the row; or the baseline and the evidence of each
        column, which add up to them.
    y, sample_weight : arrays of shape (rows,)
        Class number and weight of each row.
    block : Block or None
        The rows.
    """

    scores: NDArray[np.float64]
    y: NDArray[Any]
    sample_weight: NDArray[np.float64]
    block: Any = None


class Slots(NamedTuple):
    """Slots of rows (rows x columns) among those of all columns; -1 where there is no evidence."""

    codes: NDArray[np.int64]
    sizes: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A calibration of log probabilities.

    Calibrated scores are ``slope * scores + intercept``, up to a constant of the row. With
    ``columns``, the evidence of each column has its own factor, and the slope is that of the
    baseline. With ``values``, an offset (slots x classes) is added to the evidence of each column.
    """

    slope: float
    intercept: NDArray[np.float64]
    columns: NDArray[np.float64] | None = None
    values: tuple[NDArray[np.float64], ...] | None = None


def fit_calibration(
    held_out: HeldOut,
    method: str = "slope",
    *,
    slope: float | None = None,
    slots: Slots | None = None,
) -> Calibration:
    """Fit a calibration to held-out evidence.

    Parameters
    ----------
    held_out : HeldOut
    method : {"slope", "columns", "values"}
        ``"columns"`` and ``"values"`` need the evidence of each column; columns that outnumber the
        rows share the slope.
    slope : float or None
        A known slope: only the intercepts are fitted.
    slots : Slots or None
        For ``"values"``: the slot of each row in each column.
    """
    scores, y, weight, _ = held_out
    evidence = scores[:, None] if scores.ndim == 2 else scores
    n_rows, n_terms, n_classes = evidence.shape
    totals = np.bincount(y, weight, n_classes)
    if n_classes < 2 or not totals.any():
        ones = None if method == "slope" else np.ones(n_terms - 1)
        return Calibration(1.0 if slope is None else slope, np.zeros(n_classes), ones)
    # Base rates are not scaled with the evidence. An absent class has the share of half a row.
    base = log_prior(np.where(totals > 0.0, totals, 0.5), 0.0, None)
    problem = _Problem(y, weight, base)
    total = _bounded(evidence.sum(axis=1)) - base[:, None]
    start = np.array([1.0 if slope is None else slope])
    ridge = SLOPE_RIDGE if slope is None else np.inf
    factors, shift = problem.fit_factors(total[None], start, ridge)
    columns = None
    if method != "slope":
        columns = np.full(n_terms - 1, factors[0])
        if n_terms <= n_rows:
            terms = np.stack([_bounded(evidence[:, k]) for k in range(n_terms)])
            terms[0] -= base[:, None]
            start = np.full(n_terms, factors[0])
            factors, shift = problem.fit_factors(terms, start, COLUMN_RIDGE, shift)
            columns, total = factors[1:], np.tensordot(factors, terms, axes=1)
        else:
            total *= factors[0]
    found = Calibration(float(factors[0]), (1.0 - factors[0]) * base + shift, columns)
    if method != "values":
        return found
    assert slots is not None
    values, shift = problem.fit_values(total, slots, shift)
    return replace(found, intercept=(1.0 - factors[0]) * base + shift, values=values)


def _bounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores (classes x rows) relative to the best class; impossible classes are bounded."""
    relative = (scores - scores.max(axis=1, keepdims=True)).T
    return np.where(relative > IMPOSSIBLE / 2, relative, IMPOSSIBLE_EVIDENCE)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The classes and weights of rows, and the logarithms of the classes' shares."""

    y: NDArray[Any]
    weight: NDArray[np.float64]
    base: NDArray[np.float64]

    def fit_factors(
        self,
        terms: NDArray[np.float64],
        start: NDArray[np.float64],
        ridge: float,
        shift: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factors of terms (terms x classes x rows) and the intercepts."""
        flat, shape = terms.reshape(len(terms), -1), terms.shape[1:]
        known = np.isinf(ridge)
        return self._minimize(
            self.base[:, None],
            lambda theta: (theta @ flat).reshape(shape),
            lambda residual: flat @ residual.ravel(),
            start,
            0.0 if known else ridge,
            shift,
            (start[0], start[0]) if known else (MIN_SLOPE, None),
        )

    def fit_values(
        self, scores: NDArray[np.float64], slots: Slots, shift: NDArray[np.float64]
    ) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
        """Return the offsets of each column, slots x classes, and the intercepts."""
        n_classes, ends = len(self.base), np.cumsum(slots.sizes)
        rows, columns = np.nonzero(slots.codes >= 0)
        places = slots.codes[rows, columns] + (ends - slots.sizes)[columns]
        shape = (len(slots.codes), int(ends[-1]))
        operator = csr_array((np.ones(len(rows)), (rows, places)), shape)
        adjoint = operator.T.tocsr()
        solution, shift = self._minimize(
            self.base[:, None] + scores,
            lambda theta: (operator @ theta.reshape(-1, n_classes)).T,
            lambda residual: (adjoint @ np.ascontiguousarray(residual.T)).ravel(),
            np.zeros(shape[1] * n_classes),
            VALUE_RIDGE * len(np.unique(columns)),
            shift,
            (None, None),
            VALUE_TOLERANCE,
        )
        return tuple(np.split(solution.reshape(-1, n_classes), ends[:-1])), shift

    def _minimize(
        self,
        offset: NDArray[np.float64],
        apply: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        adjoint: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        centre: NDArray[np.float64],
        ridge: float,
        shift: NDArray[np.float64] | None,
        bounds: tuple[float | None, float | None],
        tolerance: float = TOLERANCE,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return parameters near ``centre`` and intercepts of least penalised mean log loss."""
        n, n_classes, rows = len(centre), len(self.base), np.arange(len(self.y))
        whole = self.weight.sum()

        def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            away, shift = point[:n] - centre, point[n:]
            scores = offset + apply(point[:n])
            scores += shift[:, None]
            scores -= scores.max(axis=0)
            own = scores[self.y, rows]
            proba = np.exp(scores, out=scores)
            sums = proba.sum(axis=0)
            penalty = 0.5 * (ridge * away @ away + INTERCEPT_RIDGE * shift @ shift)
            value = penalty + self.weight @ (np.log(sums) - own)
            proba *= self.weight / sums
            proba[self.y, rows] -= self.weight
            gradient = np.concatenate(
                (adjoint(proba) + ridge * away, proba.sum(axis=1) + INTERCEPT_RIDGE * shift)
            )
            return value / whole, gradient / whole

        start = np.concatenate((centre, np.zeros(n_classes) if shift is None else shift))
        # A class that no row was held out of has no intercept: nothing is known of its base rate.
        held_out = np.bincount(self.y, self.weight, n_classes) > 0.0
        limits = [bounds] * n + [(None, None) if some else (0.0, 0.0) for some in held_out]
        options = {"maxiter": 200, "maxcor": 20, "ftol": tolerance, "gtol": 1e-7}
        point = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options).x
        return point[:n], point[n:]
