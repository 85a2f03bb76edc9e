"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate import Calibration, fit_visited, mean_gradient
from unnaive.bayes.calibrate_kernels import solve_positive
from unnaive.bayes.calibrate_values import fit_values
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.estimate import first_value
from unnaive.bayes.left_out_kernels import fill_evidence, replace_own_evidence
from unnaive.bayes.scoring import TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.coded import CodedRows
from unnaive.models._calibration import (
    CALIBRATING,
    JudgedRows,
    RowDraw,
    RowsOf,
    class_weights,
    judged_visit,
    replace_own,
    share_factor,
    state_rows,
    take_logs,
)
from unnaive.models.ensemble.rounds import Boosted, class_scores, joined_logs
from unnaive.models.ensemble.split import SplitRows, add_pairs
from unnaive.models.ensemble.weights import RowState
from unnaive.table.records import Records
from unnaive.table.storage import Storage, stretches

PART = 1 << 12  # rows whose evidence is filled in at a time


def draw_rows(
    draw: RowDraw | None, rows: CodedRows, n_classes: int, storage: Storage
) -> tuple[CodedRows, NDArray[np.float64]]:
    """Rows that calibrate, and what those of each class weigh where they are drawn."""
    if draw is None:
        return rows, np.zeros(n_classes)
    taken = rows.take(draw.places(rows.row_ids, rows.groups), storage)
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
    return replace(rows, weight=rows.weight * share_factor(drawn, draw.weights)[rows.groups])


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

    What is known of the rows is forgotten.
    """
    if draws[0] is None:
        return calibration
    both = []
    for draw in draws:
        step = partial(_judge_once, scorer, rows_of, records.storage, n_jobs, draw)
        drawn = records.advance(step, operator.add, CALIBRATING)
        visit = judged_visit(records, partial(weigh_drawn, draw, drawn, state_rows))
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
    slope: float | None = None,
) -> Calibration:
    """The calibration of rounds of boosting by the rows that they have learned from.

    Each round is its scorer, the evidence for a row of each class that was not counted, and its
    vote. What rounds know of the rows is forgotten. A ``slope`` that is known is not learned.
    """
    step = partial(_judge, list(rounds), algorithm, records.storage, n_jobs, draw)
    drawn = records.advance(step, operator.add, CALIBRATING)
    visit = judged_visit(records, partial(weigh_drawn, draw, drawn, state_rows))
    return fit_visited(visit, len(rounds[0][0].log_prior), n_jobs, slope)


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
        replace_own(scores, coded_scores(rows, without, n_jobs), rows.groups)
        total += class_scores(algorithm, scores, vote)
    if algorithm == "probability":
        total[:] = joined_logs(algorithm, total, [vote for _, _, vote in rounds])
    elif algorithm != "real":  # as the calibrated vote will see them
        total[:] = probabilities(total, n_jobs)
        take_logs(total)
    return judged, drawn


# Rounds that add up, column by column ----------------------------------------------------------


def places_to_watch(draw: RowDraw | None, record: SplitRows) -> NDArray[np.intp]:
    """Places of the rows that calibrate, among those that rounds learn from."""
    rows = record.learning
    return np.arange(rows.n_rows) if draw is None else draw.places(rows.row_ids, rows.groups)


def judge_columns(
    records: Records[SplitRows],
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    n_jobs: int | None = None,
) -> JudgedSlots:
    """What each column says of the rows that are watched, by rounds of boosting that add up.

    Each row is left out of every round with the weight that it has there. What rounds know of the
    rows is forgotten.

    Parameters
    ----------
    records : Records
        With states of rounds that have watched rows.
    boosted : Boosted
        Rounds of the same vote.
    scorers : tuple of two Scorer
        The evidence of all rounds; and that for a row of the mean weight of its slot that was not
        counted, which serves where nothing is left of a count.
    """
    room, n_classes = records.storage, len(scorers[0].log_prior)
    n_left, totals = records.advance(partial(_watch, n_classes, room), add_pairs, CALIBRATING)
    # Evidence is larger than what it is made of, which therefore comes here from workers.
    parts = list(records.each(state_rows))
    judged = _room_for(parts, n_classes, len(scorers[0].terms), room)
    at = 0
    for watched in parts:
        stop = at + watched.rows.n_rows
        _judge_columns(boosted, scorers, smoothing, n_jobs, watched, judged.part(slice(at, stop)))
        at = stop
    return judged.weigh_classes(totals) if n_left else judged


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRows:
    """Rows that are watched, and what they weigh in each round, relative to their own weight."""

    PER_ROW: ClassVar = {"units": 0}

    rows: CodedRows
    units: list[NDArray[np.float64]]


def _watch(
    n_classes: int, storage: Storage, record: SplitRows, state: RowState
) -> tuple[WatchedRows, tuple[int, NDArray[np.float64]]]:
    """Watched rows; how many others there are, and what the rows of each class weigh, these
    included.
    """
    assert state.watched is not None
    learning = record.learning
    rows = learning.take(state.watched, storage)
    totals = class_weights(learning.groups, learning.weight, n_classes)
    return WatchedRows(rows, list(state.units)), (learning.n_rows - rows.n_rows, totals)


def _room_for(
    parts: Sequence[WatchedRows], n_classes: int, n_columns: int, storage: Storage
) -> JudgedSlots:
    """Room for the evidence of rows, with their classes and weights."""
    n_rows = sum(watched.rows.n_rows for watched in parts)
    scores = storage.empty((n_rows, 1 + n_columns, n_classes), np.float64)
    slots = storage.zeros((n_rows, n_columns), np.uint16)
    groups = storage.empty(n_rows, np.result_type(*(watched.rows.groups for watched in parts)))
    return JudgedSlots(scores, groups, storage.empty(n_rows, np.float64), storage, slots)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSlots(JudgedRows):
    """Rows judged column by column, and the slot of each in each; 0 where a column says nothing."""

    PER_ROW: ClassVar = {**JudgedRows.PER_ROW, "slots": 0}

    slots: NDArray[np.uint16] = field(default_factory=lambda: np.empty((0, 0), np.uint16))

    def part(self, rows: slice) -> JudgedSlots:
        """Some rows, where they are."""
        given = (self.scores[rows], self.groups[rows], self.weight[rows], self.storage)
        return JudgedSlots(*given, self.slots[rows])

    def fit_values(
        self, scorer: Scorer, calibration: Calibration, missing: str
    ) -> list[NDArray[np.float64]]:
        """What the values of a scorer say beyond a calibration by column; see `shift_scorer`."""
        terms = scorer.terms
        sizes = [len(term.logs) if isinstance(term, TableTerm) else 1 for term in terms]
        first = [int(missing == "skip" or size == 1) for size in sizes]
        rows = (self.scores, self.slots, self.groups, self.weight)
        return fit_values(*rows, calibration, first, sizes, self.storage)


def _judge_columns(
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    n_jobs: int | None,
    watched: WatchedRows,
    out: JudgedSlots,
) -> None:
    """Fill in (OUT) evidence, classes and weights of watched rows."""
    rows, scores, slots = watched.rows, out.scores, out.slots
    columns = [_column_filler(rows, cells, boosted, scorers, smoothing) for cells in _columns(rows)]

    def fill(part: slice) -> None:  # few enough rows for the cache
        units = np.ones((part.stop - part.start, len(boosted.made)))
        for r, made in enumerate(boosted.made):
            if made.share is not None:
                units[:, r] = made.share * watched.units[r][part]
        scores[part, 0], scores[part, 1:] = scorers[0].log_prior, 0.0
        for fill_column in columns:
            fill_column(part, units, scores[part], slots[part])

    list(in_threads(fill, list(stretches(rows.n_rows, PART)), n_jobs))
    out.groups[:], out.weight[:] = rows.groups, 1.0 if rows.weight is None else rows.weight


def _columns(rows: CodedRows) -> Iterator[tuple[int, NDArray[np.uint16], int]]:
    """Each column of coded rows: the cells it is in, and the stride of its values among them."""
    for run, codes in zip(rows.joint.runs, rows.joint.codes, strict=True):
        stride = 1
        for j in reversed(run):
            yield j, codes, stride
            stride *= len(rows.joint.places[j])


def _column_filler(
    rows: CodedRows,
    cells: tuple[int, NDArray[np.uint16], int],
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
) -> Callable[[slice, NDArray[np.float64], NDArray[np.float64], NDArray[np.uint16]], None]:
    """What fills in the evidence and the slots of one column for some rows, given their units in
    each round.
    """
    j, codes, stride = cells
    term, without = (scorer.terms[j] for scorer in scorers)
    assert isinstance(term, TableTerm)
    assert isinstance(without, TableTerm)
    places, logs = rows.joint.places[j], (term.logs, without.logs)
    counts = np.stack([made.counts.attribute(j) for made in boosted.made], axis=2)
    first = first_value(counts[:, :, 0], smoothing.missing)
    pseudo, n_values = float(smoothing.alpha), counts.shape[1] - 1 - first
    totals = counts[:, first:-1].sum(axis=1)
    given = (counts, totals, pseudo, pseudo * n_values, boosted.votes[0], first)

    def fill(
        part: slice,
        units: NDArray[np.float64],
        scores: NDArray[np.float64],
        all_slots: NDArray[np.uint16],
    ) -> None:
        slots, groups = np.empty(len(units), dtype=np.intp), rows.groups[part]
        out = scores[:, 1 + j]
        fill_evidence(codes[part], stride, places, groups, *logs, out, slots)
        replace_own_evidence(slots, groups, units, *given, out)
        all_slots[:, j] = slots

    return fill
