"""Base rates: intercepts of calibrated scores such that classes are as probable as frequent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate import (
    KNOWN,
    PART,
    SHIFT_RIDGE,
    Calibration,
    Regression,
    Visit,
    base_shares,
)
from unnaive.table.storage import stretches

UNHEARD = 16.0  # nats behind the best class, where a class has no say


def move_intercepts(
    visit: Visit,
    calibration: Calibration,
    moving: NDArray[np.bool_],
    ridge: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Calibration:
    """A calibration by one slope, with intercepts of some classes such that these are as probable
    by scores (rows x classes) as they are frequent; so many rows (``ridge``) hold each where it is.

    Rows in which these classes are next to impossible are left out.
    """
    slope, intercept = calibration.slope, calibration.intercept
    of_rows = partial(_of_concerned, slope, intercept, moving)

    def concerned(fn: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        return visit(partial(of_rows, fn))

    whole, base = base_shares(concerned, len(intercept))
    if base is None:
        return calibration
    centre = np.concatenate(([slope], intercept - (1.0 - slope) * base))
    pull = np.concatenate(([KNOWN], np.where(moving, ridge, KNOWN)))
    point = Regression(concerned, whole, base, centre, pull, n_jobs).solve(centre)
    return replace(calibration, intercept=(1.0 - slope) * base + point[1:])


def _of_concerned(
    slope: float,
    intercept: NDArray[np.float64],
    moving: NDArray[np.bool_],
    fn: Callable[..., NDArray[Any]],
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
) -> NDArray[Any]:
    """A function of rows in which some classes have a say, or whose class is one of them."""
    if moving.all():
        return fn(scores, groups, weight)
    say = np.empty(len(groups), dtype=bool)
    for part in stretches(len(groups), PART):
        each = slope * scores[part] + intercept
        say[part] = each[:, moving].max(axis=1) > each.max(axis=1) - UNHEARD
    rows = np.flatnonzero(say | moving[groups])
    return fn(scores[rows], groups[rows], weight[rows])


def mean_gradient(
    visit: Visit, calibration: Calibration, n_jobs: int | None = None, *, curved: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Gradient of the mean loss of calibrated scores by the intercepts: how much more probable each
    class is on the whole than it occurs; and the Hessian where ``curved`` asks for it.
    """
    n_classes = len(calibration.intercept)
    whole, base = base_shares(visit, n_classes)
    if base is None:
        return np.zeros(n_classes), np.eye(n_classes) if curved else None
    shifts = calibration.intercept - (1.0 - calibration.slope) * base
    point = np.concatenate(([calibration.slope], shifts))
    rows = Regression(visit, whole, base, point, np.full(len(point), SHIFT_RIDGE), n_jobs)
    hessian = rows.hessian(point)[1:, 1:] / whole if curved else None
    return rows.loss(point)[1][1:] / whole, hessian
