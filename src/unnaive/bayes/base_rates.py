"""Base rates: intercepts of calibrated scores such that classes are as probable as frequent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate import (
    KNOWN,
    SHIFT_RIDGE,
    Regression,
    Visit,
    base_shares,
)
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.common.kernels import kernel

# Rows in which a class is so many nats behind the best count for it as one row of their mean: there
# its probability moves as its intercept does. Farther ones have nothing to add.
FAINT, UNHEARD = 10.0, 24.0
# Units of a row by which shares and weights of such rows are added up: exact in any order.
_SHARES, _WEIGHTS = 2.0**36, 2.0**20
# Nats below its own share where a class has no say, not even in all rows together.
FAR_BELOW = 7.0


@dataclass(frozen=True, slots=True, eq=False)
class MovingScores:
    """Rows as classes whose intercepts move see them: calibrated scores of these classes and, last,
    of all others together, where there are any; classes are numbered so, too.

    ``faint`` adds up the rows that are not among them, in which moving classes hardly have a say:
    their probabilities, and the rows' weight, in whole units.
    """

    scores: NDArray[np.float64]
    groups: NDArray[np.intp]
    weight: NDArray[np.float64]
    faint: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        scores: NDArray[np.float64],
        groups: NDArray[Any],
        weight: NDArray[np.float64],
        calibration: Calibration,
        moving: NDArray[np.bool_],
    ) -> MovingScores:
        """The rows of scores (rows x classes) that a calibration by one slope makes surer or less
        sure.
        """
        n_moving, n_rows = int(moving.sum()), len(groups)
        faint = np.zeros(n_moving + 1, dtype=np.int64)
        if moving.all():
            own = calibration.slope * scores + calibration.intercept
            return cls(own, groups.astype(np.intp), weight, faint)
        place = np.where(moving, np.cumsum(moving) - 1, n_moving)
        kept, out = np.empty(n_rows, dtype=np.intp), np.empty((n_rows, n_moving + 1))
        given = (calibration.slope, calibration.intercept, place)
        n = join_others(scores, groups, weight, *given, kept, out, faint)
        rows = kept[:n]
        return cls(out[:n], place[groups[rows]], weight[rows], faint)


def move_intercepts(
    visit: Visit,
    calibration: Calibration,
    moving: NDArray[np.bool_],
    faint: NDArray[np.int64],
    ridge: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Calibration:
    """A calibration by one slope, with intercepts of some classes such that these are as probable
    by scores as they are frequent; so many rows (``ridge``) hold each where it is.

    ``visit`` visits `MovingScores` by the calibration, ``faint`` is the sum of those of all.
    """
    n_moving = int(moving.sum())
    n_classes, visit = n_moving + (not moving.all()), _with_faint(visit, faint)
    whole, base = base_shares(visit, n_classes)
    if base is None:
        return calibration
    centre, pull = np.zeros(1 + n_classes), np.full(1 + n_classes, KNOWN)
    centre[0], pull[1 : 1 + n_moving] = 1.0, ridge[moving]
    point = Regression(visit, whole, base, centre, pull, n_jobs).solve(centre)
    intercept = calibration.intercept.copy()
    intercept[moving] += point[1 : 1 + n_moving]
    return replace(calibration, intercept=intercept)


def _with_faint(visit: Visit, faint: NDArray[np.int64]) -> Visit:
    """A visit of rows and of one more, which stands for those in which classes are faint."""
    weight = float(faint[-1]) / _WEIGHTS
    if not weight:
        return visit
    shares = np.maximum(faint[:-1] / (_SHARES * weight), LEAST_SHARE)
    row = np.log(np.append(shares, 1.0 - shares.sum()))[None]
    given = (row, np.array([len(shares)]), np.array([weight]))
    return lambda fn: visit(fn) + fn(*given)


@kernel
def join_others(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    slope: float,
    intercept: NDArray[np.float64],
    place: NDArray[np.intp],
    kept: NDArray[np.intp],
    out: NDArray[np.float64],
    faint: NDArray[np.int64],
) -> int:
    """Calibrated scores of moving classes and of all others together (OUT, by ``place``, the last
    for others) of the rows in which moving classes have a say (OUT); how many there are.

    What they have of other rows is added to ``faint`` (OUT, in units), and these rows' weight.
    """
    n, last = 0, out.shape[1] - 1
    for i in range(len(groups)):
        row, best, ahead = out[n], -np.inf, -np.inf
        for c in range(len(place)):
            score = slope * scores[i, c] + intercept[c]
            if place[c] < last:
                row[place[c]] = score
                ahead = max(ahead, score)
            else:
                best = max(best, score)
        own = place[groups[i]] < last
        if not own and ahead < best - UNHEARD:
            continue
        total = 0.0
        for c in range(len(place)):
            if place[c] == last:
                total += math.exp(slope * scores[i, c] + intercept[c] - best)
        row[last] = best + math.log(total)
        if own or ahead > best - FAINT:
            kept[n] = i
            n += 1
            continue
        for c in range(last):
            share = math.exp(row[c] - row[last])
            faint[c] += np.int64(math.floor(share * weight[i] * _SHARES + 0.5))
        faint[last] += np.int64(math.floor(weight[i] * _WEIGHTS + 0.5))
    return n


def find_heard(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    calibration: Calibration,
    shares: NDArray[np.float64],
    moving: NDArray[np.bool_],
) -> NDArray[np.intp]:
    """Places of the rows in which moving classes may have a say, or whose class is one of them, by
    calibrated scores (rows x classes) and the classes' shares of all rows.
    """
    out, least = np.empty(len(groups), dtype=bool), np.full(len(shares), np.inf)
    least[moving] = np.log(shares[moving]) - FAR_BELOW
    mark_heard(scores, groups, calibration.slope, calibration.intercept, least, out)
    return np.flatnonzero(out)


@kernel
def mark_heard(
    scores: NDArray[np.float64],
    groups: NDArray[Any],
    slope: float,
    intercept: NDArray[np.float64],
    least: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> None:
    """Whether the score of some class, less that of the best, is more than its least (OUT), which
    is infinite for classes that do not count; or the row's own class counts.
    """
    for i in range(len(groups)):
        best, heard = -np.inf, -np.inf
        for c in range(len(least)):
            score = slope * scores[i, c] + intercept[c]
            best = max(best, score)
            heard = max(heard, score - least[c])
        out[i] = heard > best or least[groups[i]] < np.inf


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
