"""Calibration: one factor for all evidence and an intercept per class, from rows with labels.

A multinomial logistic regression of the classes on their log probabilities by a model (Platt's
scaling for any number of classes), fitted by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate_kernels import FARTHEST, add_sums, largest_by_row
from unnaive.bayes.estimate import log_prior
from unnaive.common.threads import in_threads
from unnaive.table.storage import stretches

# Evidence against the classes that occur would turn itself around: it is nearly switched off.
LEAST_SLOPE = 0.01
# Weight, in rows, of a slope of 1, and of the classes' own shares: what few rows start from.
RIDGE, SHIFT_RIDGE = 1.0, 0.01
# More classes than these are taken to move one by one: a row costs their number, not its square.
MOST_TOGETHER = 64
STEPS = 100
CLOSE = 1e-9  # what a step would still gain, in nats of all rows together, when no more is taken
# Terms of sums are whole multiples of a grain, so that rows may be added in any order. Their sum
# has less than 62 bits.
_BITS = 2.0**61


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Calibrated scores are ``slope * scores + intercept``, but for a constant of the row."""

    slope: float
    intercept: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Penalized loss, gradient and Hessian by (slope, one shift for each class)."""

    loss: float
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]


def fit_calibration(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Calibration:
    """The slope and the intercepts under which the classes of rows are most probable.

    The evidence is what scores say beyond the shares of the classes: base rates are not scaled
    with it. The result does not depend on the order of the rows.

    Parameters
    ----------
    scores : array of shape (rows, classes)
        Log probabilities by a model that has not seen the row, up to a constant of the row.
    groups : array of shape (rows,)
        Class of each row.
    weight : array of shape (rows,) or None, default=None
    """
    n_classes = scores.shape[1]
    weight = np.ones(len(groups)) if weight is None else weight
    totals = np.bincount(groups, weight, n_classes)
    if n_classes < 2 or not totals.any():
        return Calibration(1.0, np.zeros(n_classes))
    # A class that these rows lack has the share of half a row.
    base = log_prior(np.where(totals > 0.0, totals, 0.5), 0.0, None)
    grain = totals.sum() * FARTHEST**2 / _BITS

    def sums(point: NDArray[np.float64]) -> _Sums:
        return _add_up(scores, groups, weight, base, point, grain, n_jobs)

    point = np.zeros(n_classes + 1)
    point[0] = 1.0
    point = _newton(sums, point)
    return Calibration(float(point[0]), (1.0 - point[0]) * base + point[1:])


def _add_up(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    base: NDArray[np.float64],
    point: NDArray[np.float64],
    grain: float,
    n_jobs: int | None,
) -> _Sums:
    """Sums over all rows, and the pull towards a slope of 1 and no shifts."""
    n = len(point)
    together = n - 1 <= MOST_TOGETHER

    def add(part: slice) -> NDArray[np.int64]:
        out = np.zeros(1 + n + n * n, dtype=np.int64)
        best = largest_by_row(scores[part], base)  # again each time: no array of all rows is held
        rows = (scores[part], groups[part], weight[part], base, best)
        add_sums(*rows, point, 1.0 / grain, together, out[0:1], out[1 : n + 1], out[n + 1 :])
        return out

    parts = in_threads(add, list(stretches(len(groups))), n_jobs)
    sums = np.sum(list(parts), axis=0).astype(np.float64) * grain
    away, pull = point.copy(), np.full(n, SHIFT_RIDGE)
    away[0], pull[0] = point[0] - 1.0, RIDGE
    loss = float(sums[0]) + 0.5 * float(pull @ away**2)
    hessian = sums[n + 1 :].reshape(n, n) + np.diag(pull)
    return _Sums(loss, sums[1 : n + 1] + pull * away, hessian)


def _newton(
    sums: Callable[[NDArray[np.float64]], _Sums], point: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method; a step that does not gain is halved."""
    here = sums(point)
    for _ in range(STEPS):
        step = _step(here, point)
        gain = 0.5 * float(here.gradient @ step)
        while gain > CLOSE:
            there = sums(point - step)
            if there.loss <= here.loss:
                point, here = point - step, there
                break
            step, gain = 0.5 * step, 0.5 * gain
        if gain <= CLOSE:
            break
    return point


def _step(here: _Sums, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far to go back, so that the slope does not fall below its least value."""
    step = np.linalg.solve(here.hessian, here.gradient).astype(np.float64)
    room = point[0] - LEAST_SLOPE
    if step[0] > room:
        rest = here.gradient[1:] - room * here.hessian[1:, 0]
        step[0], step[1:] = room, np.linalg.solve(here.hessian[1:, 1:], rest)
    return step
