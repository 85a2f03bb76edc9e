"""Coded rows judged by an ensemble in which they were not counted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import EvidenceTable
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate import Calibration, fit_visited
from unnaive.bayes.calibrate_kernels import fill_evidence, replace_own_evidence
from unnaive.bayes.calibrate_values import fit_values, shift_scorer
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.estimate import first_value
from unnaive.bayes.scoring import TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.coded import CodedRows
from unnaive.models._calibration import (
    CALIBRATING,
    MOST_NUMBERS,
    JudgedRows,
    judged_visit,
    replace_own,
    take_logs,
)
from unnaive.models.ensemble.rounds import Boosted, class_scores, joined_logs
from unnaive.models.ensemble.split import SplitRows, add_pairs
from unnaive.models.ensemble.weights import RowState
from unnaive.table.records import Records
from unnaive.table.storage import Storage, stretches

PART = 1 << 12  # rows whose evidence is filled in at a time


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
    return fit_visited(judged_visit(records), n_classes, n_jobs)


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


# Rounds that add up, column by column ----------------------------------------------------------


def calibrating_share(n_rows: int, n_numbers: int) -> float:
    """The share of rows that calibrate, where each takes so many numbers: all of them, or of large
    tables some.
    """
    return min(1.0, MOST_NUMBERS / (n_rows * n_numbers))


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
    parts = list(records.each(_state_of))
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
    rows, totals = learning.take(state.watched, storage), np.zeros(n_classes)
    totals += np.bincount(learning.groups, learning.weight, n_classes)
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


def _state_of(_record: SplitRows, state: WatchedRows) -> WatchedRows:
    return state


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSlots(JudgedRows):
    """Rows judged column by column, and the slot of each in each; 0 where a column says nothing."""

    PER_ROW: ClassVar = {**JudgedRows.PER_ROW, "slots": 0}

    slots: NDArray[np.uint16] = field(default_factory=lambda: np.empty((0, 0), np.uint16))

    def part(self, rows: slice) -> JudgedSlots:
        """Some rows, where they are."""
        given = (self.scores[rows], self.groups[rows], self.weight[rows], self.storage)
        return JudgedSlots(*given, self.slots[rows])

    def shift_values(
        self, node: EvidenceTable, calibration: Calibration, missing: str
    ) -> EvidenceTable:
        """A node that was calibrated by column, with what its values say beyond that."""
        terms = node.scorer.terms
        sizes = [len(term.logs) if isinstance(term, TableTerm) else 1 for term in terms]
        first = [int(missing == "skip" or size == 1) for size in sizes]
        rows = (self.scores, self.slots, self.groups, self.weight)
        shifts = fit_values(*rows, calibration, first, sizes, self.storage)
        return replace(node, scorer=shift_scorer(node.scorer, shifts))


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
