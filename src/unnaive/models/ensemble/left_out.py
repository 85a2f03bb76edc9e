"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.calibrate import Calibration, Visit, fit_visited
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.scoring import probabilities
from unnaive.counts.coded import CodedRows
from unnaive.models._calibration import CALIBRATING, JudgedRows, replace_own, take_logs
from unnaive.models.ensemble.rounds import SplitRows, class_scores, joined_logs
from unnaive.table.records import Records
from unnaive.table.storage import Storage


def judge_rounds(
    records: Records[SplitRows],
    rounds: Sequence[tuple[Scorer, Scorer, float]],
    algorithm: str,
    n_jobs: int | None = None,
) -> Calibration:
    """The calibration of rounds of boosting by the rows that they have learned from.

    Each round is its scorer, the evidence for a row of each class that was not counted, and its
    vote. What rounds know of the rows is forgotten.
    """
    step = partial(_judge, list(rounds), algorithm, records.storage, n_jobs)
    records.advance(step, operator.add, CALIBRATING)
    n_classes = len(rounds[0][0].log_prior)
    return fit_visited(judged_visit(records, _itself), n_classes, n_jobs)


def judged_visit(records: Records[Any], rows_of: Callable[[Any], JudgedRows]) -> Visit:
    """How a calibration visits the rows that states of records hold."""

    def visit(fn: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        return records.reduce(partial(_apply, fn, rows_of), operator.add, CALIBRATING)

    return visit


def _itself(state: JudgedRows) -> JudgedRows:
    return state


def _apply(
    fn: Callable[..., NDArray[Any]],
    rows_of: Callable[[Any], JudgedRows],
    _record: Any,
    state: Any,
) -> NDArray[Any]:
    rows = rows_of(state)
    return fn(rows.scores, rows.groups, rows.weight)


def empty_rows(rows: CodedRows, n_classes: int, storage: Storage) -> JudgedRows:
    """The classes and weights of rows, and room for their scores."""
    weight = storage.empty(rows.n_rows, np.float64)
    weight[:] = 1.0 if rows.weight is None else rows.weight
    scores = storage.empty((rows.n_rows, n_classes), np.float64)
    return JudgedRows(scores, rows.groups, weight)


def _judge(
    rounds: Sequence[tuple[Scorer, Scorer, float]],
    algorithm: str,
    storage: Storage,
    n_jobs: int | None,
    record: SplitRows,
    _state: Any,
) -> tuple[JudgedRows, int]:
    """Scores of rows by all rounds, each row as if it had not been counted."""
    n_classes = len(rounds[0][0].log_prior)
    rows = record.learning.distinct(n_classes)
    judged = empty_rows(rows, n_classes, storage)
    total = judged.scores
    total[:] = 0.0
    for scorer, without, vote in rounds:
        scores = coded_scores(rows, scorer, n_jobs)
        replace_own(scores, coded_scores(rows, without, n_jobs), rows.groups)
        total += class_scores(algorithm, scores, vote)
    if algorithm == "probability":
        total[:] = joined_logs(algorithm, total, [vote for _, _, vote in rounds])
    elif algorithm != "real":  # as the calibrated vote will see them
        total[:] = probabilities(total, n_jobs)
        take_logs(total)
    return judged, 0
