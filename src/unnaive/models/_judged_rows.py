"""Rows that are judged by a model, and what a calibration makes of them; base rates of classes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.base_rates import MovingScores, move_intercepts
from unnaive.bayes.calibrate import (
    Visit,
    fit_calibration,
    fit_columns,
    fit_visited,
    visit_arrays,
)
from unnaive.bayes.calibration import Calibration
from unnaive.models._row_draw import class_weights, weigh_shares
from unnaive.table.records import MemoryRecords, Records, whole_record
from unnaive.table.storage import Storage, stretches, taken

CALIBRATING = "calibrating"
# Where a class has fewer rows than `RARE`, it is made as probable over the training rows, each of
# them counted, as it is frequent: rows that are left out find a class of a few rows rarer than the
# model does that has counted them. It is held where it is by so much of a row (`HELD`) that `FEW`
# rows and more are matched to 1 % where scores need not move by more than six nats; fewer rows are
# held by more (by the third power), lest they say too much. Within the training rows of 27 data
# sets that costs boosting 0.0008 in log loss beside `FEW` of 10 and `HELD` of 0.02, mixtures 0.0004
# and the others less, and no accuracy.
RARE, FEW, HELD = 1 << 9, 3.0, 0.005
PART = 1 << 19  # numbers of rows that are worked on at a time: of all, copies would be too large


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """Scores of rows by a model that has not seen them, their classes and weights.

    Scores are rows x classes; or what they are sums of: rows x (1 + columns) x classes. ``storage``
    is room for what a fit has of each row; None is memory. ``counted`` is what the model says that
    has seen the rows, where classes are rare: scores of all classes, or (rows x (1 + columns)) what
    those of the rows' own classes are sums of, which alone differ.
    """

    PER_ROW: ClassVar = {"scores": 0, "groups": 0, "weight": 0, "counted": 0}

    scores: NDArray[np.float64]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    storage: Storage | None = None
    counted: NDArray[np.float64] | None = None

    def fit(self, n_jobs: int | None = None) -> Calibration:
        """The calibration under which the classes of these rows are most probable."""
        rows = (self.scores, self.groups, self.weight, n_jobs)
        if self.scores.ndim == 2:
            return fit_calibration(*rows, storage=self.storage)
        return fit_columns(*rows, self.storage)

    def match(
        self, calibration: Calibration, totals: NDArray[np.float64], n_jobs: int | None = None
    ) -> Calibration:
        """A calibration with intercepts such that rare classes are as probable over these rows,
        which the model has counted, as they are frequent; the same where that is not known.
        """
        if self.counted is None:
            return calibration
        room, n_classes = self.storage or Storage(), len(calibration.intercept)
        scores = room.empty((len(self.groups), n_classes), np.float64)
        for part in stretches(len(scores), max(PART // n_classes, 1)):
            scores[part] = self._add_up(calibration, part)
        rows: MemoryRecords[JudgedRows]
        rows = MemoryRecords([replace(self, scores=scores, counted=None)], room)
        as_it_is = Calibration(1.0, np.zeros(n_classes))
        shift = match_rare(rows, whole_record, as_it_is, totals, n_jobs).intercept
        return replace(calibration, intercept=calibration.intercept + shift)

    def match_shares(self, n_jobs: int | None = None, slope: float = 1.0) -> Calibration:
        """Intercepts such that classes are as probable by the scores as they are frequent."""
        visit = visit_arrays(self.scores, self.groups, self.weight)
        return match_shares(visit, slope, self.scores.shape[1], n_jobs)

    def _add_up(self, calibration: Calibration, part: slice) -> NDArray[np.float64]:
        """Calibrated scores of some rows by the model that has counted them."""
        assert self.counted is not None
        counted, scores = self.counted[part], self.scores[part]
        if scores.ndim == 2:
            return calibration.slope * counted + calibration.intercept
        assert calibration.columns is not None
        groups, total = self.groups[part], np.tile(calibration.intercept, (len(scores), 1))
        own = calibration.intercept[groups]
        for j, factor in enumerate((calibration.slope, *calibration.columns)):
            total += factor * scores[:, j]
            own += factor * counted[:, j]
        total[np.arange(len(groups)), groups] = own
        return total

    def fit_shared(self, alone: NDArray[np.bool_] | None, n_jobs: int | None = None) -> Calibration:
        """As `fit`, by column where some stand ``alone``: all others share one factor."""
        if alone is None or alone.all():
            return self.fit(n_jobs)
        start = self.scores[:, 0] + self.scores[:, 1:][:, ~alone].sum(axis=1)
        scores = np.concatenate((start[:, None], self.scores[:, 1:][:, alone]), axis=1)
        shared = replace(self, scores=scores).fit(n_jobs)
        columns = np.full(len(alone), shared.slope)
        columns[alone] = shared.columns
        return replace(shared, columns=columns)

    def take(self, rows: NDArray[np.intp]) -> JudgedRows:
        """Some of the rows."""
        return taken(self, rows)

    def as_counted(self) -> Self:
        """The same rows by the model that has counted them; of scores of classes."""
        assert self.counted is not None
        return replace(self, scores=self.counted, counted=None)

    def weigh_classes(self, totals: NDArray[np.float64]) -> Self:
        """The same rows, such that classes have the shares of these totals."""
        drawn = class_weights(self.groups, self.weight, len(totals))
        return replace(self, weight=weigh_shares(self.groups, self.weight, drawn, totals))


def match_shares(
    visit: Visit, slope: float, n_classes: int, n_jobs: int | None = None
) -> Calibration:
    """Intercepts, beside a slope that is known, such that classes are as probable as they are
    frequent, by scores of a model that has counted the rows.
    """
    return fit_visited(visit, n_classes, n_jobs, slope, HELD)


def rare_classes(totals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which classes have few rows."""
    return totals < RARE


def has_rare(totals: NDArray[np.float64]) -> bool:
    """Whether some class has few rows."""
    return bool(rare_classes(totals).any())


AnyRows = TypeVar("AnyRows")
# The judged rows of a record and its state.
RowsOf: TypeAlias = Callable[[Any, Any], JudgedRows]


def state_rows(_record: Any, state: AnyRows) -> AnyRows:
    """Rows that are kept beside their record."""
    return state


def counted_rows(record: Any, state: Any, rows_of: RowsOf = state_rows) -> JudgedRows:
    """The same rows as the model judges them that has counted them."""
    return rows_of(record, state).as_counted()


def judged_visit(records: Records[Any], rows_of: RowsOf = state_rows) -> Visit:
    """How a calibration visits the judged rows of records."""

    def visit(fn: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        return records.reduce(partial(_apply, fn, rows_of), operator.add, CALIBRATING)

    return visit


def _apply(
    fn: Callable[..., NDArray[Any]], rows_of: RowsOf, record: Any, state: Any
) -> NDArray[Any]:
    rows = rows_of(record, state)
    return fn(rows.scores, rows.groups, rows.weight)


def match_rare(
    records: Records[Any],
    rows_of: RowsOf,
    calibration: Calibration,
    totals: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Calibration:
    """A calibration by one slope under which classes that have few rows, as ``totals`` says, are as
    probable as they are frequent, by scores of a model that has counted the rows of records.

    What is known of the rows is forgotten.
    """
    keep = partial(_keep_rare, rows_of, calibration, totals)
    faint = records.advance(keep, operator.add, CALIBRATING)
    ridge = HELD * np.maximum(FEW / np.maximum(totals, 1.0), 1.0) ** 3
    given = (calibration, rare_classes(totals), faint, ridge, n_jobs)
    return move_intercepts(judged_visit(records), *given)


def _keep_rare(
    rows_of: RowsOf, calibration: Calibration, totals: NDArray[np.float64], record: Any, state: Any
) -> tuple[MovingScores, NDArray[np.int64]]:
    rows, rare = rows_of(record, state), rare_classes(totals)
    moving = MovingScores.of(rows.scores, rows.groups, rows.weight, calibration, rare)
    return moving, moving.faint
