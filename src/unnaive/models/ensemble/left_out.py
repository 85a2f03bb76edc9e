"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.base_rates import mean_gradient
from unnaive.bayes.calibrate import Visit, fit_visited
from unnaive.bayes.calibrate_kernels import solve_positive
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.scoring import probabilities
from unnaive.counts.encoded_rows import CodedRows
from unnaive.models._calibration import replace_own, take_logs
from unnaive.models._judged_rows import (
    CALIBRATING,
    JudgedRows,
    RowsOf,
    has_rare,
    judged_visit,
    match_rare,
    match_shares,
    state_rows,
)
from unnaive.models._row_draw import RowDraw, class_weights, weigh_shares
from unnaive.models.boosted import SplitRows, class_scores, log_proba
from unnaive.table.records import MemoryRecords, Records, whole_record
from unnaive.table.storage import Storage, join_records


def draw_rows(
    draw: RowDraw | None, rows: CodedRows, n_classes: int, storage: Storage
) -> tuple[CodedRows, NDArray[np.float64]]:
    """Rows that calibrate, and what those of each class weigh where they are drawn."""
    if draw is None:
        return rows, np.zeros(n_classes)
    taken = rows.take(draw.places_of(rows), storage)
    return taken, class_weights(taken.groups, taken.weight, n_classes)


def weigh_drawn(
    draw: RowDraw | None, drawn: NDArray[np.float64], rows_of: RowsOf, record: Any, state: Any
) -> JudgedRows:
    """Judged rows of a record such that classes have the shares of all rows, given what those that
    are drawn weigh in all records.
    """
    rows = rows_of(record, state)
    if draw is None:
        return rows
    return replace(rows, weight=weigh_shares(rows.groups, rows.weight, drawn, draw.weights))


class JudgedRecords(NamedTuple):
    """Records whose rows are judged, or have been, and how to get these."""

    records: Records[Any]
    rows_of: RowsOf

    @property
    def visit(self) -> Visit:
        """How a calibration visits the rows."""
        return judged_visit(*self)


def judged_here(
    records: Records[Any],
    judge: Callable[[Any, Any], tuple[JudgedRows, NDArray[np.float64]]],
    draw: RowDraw | None,
) -> JudgedRecords:
    """Judged rows that are few enough to come here, in one pass; ``judge`` gives those of a record,
    and what the rows of each class that are drawn weigh.
    """
    parts, drawn = zip(*records.each(judge, CALIBRATING), strict=True)
    whole = sum(drawn[1:], start=drawn[0])
    rows = weigh_drawn(draw, whole, state_rows, None, join_records(parts, records.storage))
    here = MemoryRecords([rows], records.storage)
    return JudgedRecords(here, whole_record)


def match_base_rates(
    calibration: Calibration,
    records: Records[Any],
    rows_of: Callable[[Any], CodedRows],
    scorer: Scorer,
    draws: tuple[RowDraw | None, RowDraw | None],
    n_jobs: int | None = None,
) -> Calibration:
    """A calibration learned from the rows of the first draw, with intercepts for those of the
    second: one step of Newton's method, by how much more probable classes are in one than in the
    other to naive Bayes, which answers nearly as a vote does, and at once.
    """
    if draws[0] is None:
        return calibration
    both = []
    for draw in draws:
        step = partial(_judge_once, scorer, rows_of, records.storage, n_jobs, draw)
        visit = judged_here(records, step, draw).visit
        both.append(mean_gradient(visit, calibration, n_jobs, curved=draw is draws[0]))
    (gradient, hessian), (other, _) = both
    assert hessian is not None
    shift = gradient - other
    solve_positive(hessian, shift)
    return replace(calibration, intercept=calibration.intercept + shift)


def _judge_once(
    scorer: Scorer,
    rows_of: Callable[[Any], CodedRows],
    storage: Storage,
    n_jobs: int | None,
    draw: RowDraw | None,
    record: Any,
    _state: Any,
) -> tuple[JudgedRows, NDArray[np.float64]]:
    n_classes = len(scorer.log_prior)
    rows, drawn = draw_rows(draw, rows_of(record), n_classes, storage)
    rows = rows.distinct(n_classes)
    judged = empty_rows(rows, n_classes, storage)
    judged.scores[:] = coded_scores(rows, scorer, n_jobs)
    return judged, drawn


def judge_rounds(
    records: Records[SplitRows],
    rounds: Sequence[tuple[Scorer, Scorer, float]],
    algorithm: str,
    n_jobs: int | None = None,
    draw: RowDraw | None = None,
) -> Calibration:
    """The calibration of rounds of boosting by the rows that they have learned from.

    Each round is its scorer, the evidence for a row of each class that was not counted, and its
    vote. What rounds know of the rows is forgotten where all calibrate.
    """
    judged = _judge_records(records, rounds, algorithm, n_jobs, draw)
    return fit_visited(judged.visit, len(rounds[0][0].log_prior), n_jobs)


def match_votes(
    calibration: Calibration,
    records: Records[SplitRows],
    rounds: Sequence[tuple[Scorer, float]],
    algorithm: str,
    n_jobs: int | None,
    draws: tuple[RowDraw | None, RowDraw | None],
    totals: NDArray[np.float64],
) -> Calibration:
    """A calibration of rounds that vote, learned from the rows of the first draw, with intercepts
    for those of the second: of all classes, or of those that are rare, as ``totals`` says.
    """
    rare = has_rare(totals)
    if draws[0] is None and not rare:
        return calibration
    judged = judge_counted(records, rounds, algorithm, n_jobs, draws[1])
    if rare:
        return match_rare(*judged, calibration, totals, n_jobs)
    return match_shares(judged.visit, calibration.slope, len(totals), n_jobs)


def match_evidence(
    records: Records[SplitRows],
    scorer: Scorer,
    draws: tuple[RowDraw | None, RowDraw | None],
    totals: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Calibration:
    """Intercepts of evidence that is calibrated by the rows of the first draw: those of all classes
    by rows of the second; where all rows calibrate, those of rare classes, as ``totals`` says.
    """
    as_it_is = Calibration(1.0, np.zeros(len(totals)))
    if draws[0] is None and not has_rare(totals):
        return as_it_is
    judged = judge_counted(records, [(scorer, 1.0)], "real", n_jobs, draws[1])
    if draws[0] is None:
        return match_rare(*judged, as_it_is, totals, n_jobs)
    return match_shares(judged.visit, 1.0, len(totals), n_jobs)


def judge_counted(
    records: Records[SplitRows],
    rounds: Sequence[tuple[Scorer, float]],
    algorithm: str,
    n_jobs: int | None,
    draw: RowDraw | None,
) -> JudgedRecords:
    """The rows of records, judged by scorers and their votes that have counted them."""
    counted = [(scorer, scorer, vote) for scorer, vote in rounds]
    return _judge_records(records, counted, algorithm, n_jobs, draw)


def _judge_records(
    records: Records[SplitRows],
    rounds: Sequence[tuple[Scorer, Scorer, float]],
    algorithm: str,
    n_jobs: int | None,
    draw: RowDraw | None,
) -> JudgedRecords:
    step = partial(_judge, list(rounds), algorithm, records.storage, n_jobs, draw)
    if draw is not None:
        return judged_here(records, step, draw)
    records.advance(step, operator.add, CALIBRATING)
    return JudgedRecords(records, state_rows)


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
    draw: RowDraw | None,
    record: SplitRows,
    _state: Any,
) -> tuple[JudgedRows, NDArray[np.float64]]:
    """Scores of rows by all rounds, each row as if it had not been counted; see `draw_rows`."""
    n_classes = len(rounds[0][0].log_prior)
    rows, drawn = draw_rows(draw, record.learning, n_classes, storage)
    rows = rows.distinct(n_classes)
    judged = empty_rows(rows, n_classes, storage)
    total = judged.scores
    total[:] = 0.0
    for scorer, without, vote in rounds:
        scores = coded_scores(rows, scorer, n_jobs)
        if without is not scorer:
            replace_own(scores, coded_scores(rows, without, n_jobs), rows.groups)
        total += class_scores(algorithm, scores, vote)
    if algorithm == "probability":
        total[:] = log_proba(algorithm, total, [vote for _, _, vote in rounds])
    elif algorithm != "real":  # as the calibrated vote will see them
        total[:] = probabilities(total, n_jobs)
        take_logs(total)
    return judged, drawn
