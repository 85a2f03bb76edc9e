"""Coded rows judged column by column by rounds of boosting that add up, without themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate import Calibration
from unnaive.bayes.calibrate_values import fit_values
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.estimate import first_value
from unnaive.bayes.left_out_kernels import (
    fill_evidence,
    fill_own_evidence,
    replace_own_evidence,
)
from unnaive.bayes.scoring import TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.coded import CodedRows
from unnaive.models._judged_rows import (
    CALIBRATING,
    JudgedRows,
    state_rows,
)
from unnaive.models._row_draw import RowDraw, class_weights, weigh_shares
from unnaive.models.ensemble.rounds import Boosted
from unnaive.models.ensemble.split import SplitRows, add_pairs
from unnaive.models.ensemble.weighing import RowState
from unnaive.table.records import Records
from unnaive.table.storage import Storage, stretches

PART = 1 << 12  # rows whose evidence is filled in at a time


def places_to_watch(draw: RowDraw | None, record: SplitRows) -> NDArray[np.intp]:
    """Places of the rows that calibrate, among those that rounds learn from."""
    rows = record.learning
    return np.arange(rows.n_rows) if draw is None else draw.places_of(rows)


def judge_columns(
    records: Records[SplitRows],
    boosted: Boosted,
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    n_jobs: int | None = None,
) -> JudgedColumns:
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
    n_rows, n_columns = sum(part.rows.n_rows for part in parts), len(scorers[0].terms)
    groups = room.empty(n_rows, np.result_type(*(part.rows.groups for part in parts)))
    weight, row_ids = room.empty(n_rows, np.float64), room.empty(n_rows, np.int64)
    own, slots = (
        room.zeros((n_columns, n_rows), np.float64),
        room.zeros((n_columns + 1, n_rows), np.uint16),
    )
    own_evidence, at = _OwnEvidence(boosted, scorers[1], smoothing, n_jobs), 0
    for part in parts:
        here = slice(at, at + part.rows.n_rows)
        groups[here], row_ids[here] = part.rows.groups, part.rows.row_ids
        weight[here] = 1.0 if part.rows.weight is None else part.rows.weight
        own_evidence.fill(part, own[:, here], slots[:, here])
        at = here.stop
    coded = [part.rows for part in parts]
    rows = (groups, weight, row_ids)
    return JudgedColumns(coded, *rows, own, slots, scorers[0], n_left, totals, room, n_jobs)


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


@dataclass(frozen=True, slots=True, eq=False)
class JudgedColumns:
    """Rows judged column by column, as a scorer judges them but for their own classes.

    ``own`` (columns x rows) is the evidence of each column for the rows' own classes, ``slots`` the
    slots of the rows in each, and a line of 0 for the prior. ``n_left`` is how many other rows
    there are, and ``totals`` what the rows of each class weigh, these included.
    """

    coded: list[CodedRows]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]
    own: NDArray[np.float64]
    slots: NDArray[np.uint16]
    scorer: Scorer
    n_left: int
    totals: NDArray[np.float64]
    storage: Storage
    n_jobs: int | None

    def fit(self, *, few: bool = False) -> Calibration:
        """A factor for each column; by few rows where shifts of values will mend what they miss."""
        return self.evidence(self._few() if few else None).fit(self.n_jobs)

    def evidence(self, draw: RowDraw | None = None) -> JudgedRows:
        """The evidence of each column for rows that are drawn, or for all."""
        slots, own, groups, weight = self.slots, self.own, self.groups, self.weight
        if draw is not None:
            places = draw.places(self.row_ids, groups)
            slots, own = slots[:, places], own[:, places]
            groups, weight = groups[places], weight[places]
        shape = (len(groups), 1 + len(own), len(self.totals))
        scores = self.storage.empty(shape, np.float64)
        tables = [
            term.logs if isinstance(term, TableTerm) else np.zeros((1, shape[2]))
            for term in self.scorer.terms
        ]
        starts = np.cumsum([0, *(len(table) for table in tables)])
        logs = np.concatenate([*tables, np.empty((0, shape[2]))])
        fill_evidence(slots, groups, own, self.scorer.log_prior, logs, starts, scores)
        judged = JudgedRows(scores, groups, weight, self.storage)
        drawn = self.n_left > 0 or draw is not None
        return judged.weigh_classes(self.totals) if drawn else judged

    def fit_values(
        self, scorer: Scorer, calibration: Calibration, missing: str
    ) -> list[NDArray[np.float64]]:
        """What the values of a scorer, calibrated by column, say beyond that; see `shift_scorer`.

        Rows need the sum of their evidence alone.
        """
        assert calibration.columns is not None
        n_rows, n_classes = len(self.groups), len(self.totals)
        probable, at = self.storage.empty((n_rows, n_classes), np.float64), 0
        for rows in self.coded:
            probable[at : at + rows.n_rows] = coded_scores(rows, scorer, self.n_jobs)
            at += rows.n_rows
        for part in stretches(n_rows, PART):
            groups, own = self.groups[part], scorer.log_prior[self.groups[part]]
            for factor, evidence in zip(calibration.columns, self.own, strict=True):
                own += factor * evidence[part]
            probable[part][np.arange(len(groups)), groups] = own
        probabilities(probable, self.n_jobs)
        sizes = [len(term.logs) if isinstance(term, TableTerm) else 1 for term in scorer.terms]
        first = [int(missing == "skip" or size == 1) for size in sizes]
        weight = self.weight
        if self.n_left:
            drawn = class_weights(self.groups, weight, n_classes)
            weight = weigh_shares(self.groups, weight, drawn, self.totals)
        return fit_values(probable, self.slots, self.groups, weight, first, sizes)

    def _few(self) -> RowDraw | None:
        n_rows, n_parameters = self.n_left + len(self.groups), 1 + len(self.own) + len(self.totals)
        return RowDraw.of(n_rows, None, self.totals, n_parameters=n_parameters)


@dataclass(frozen=True, slots=True, eq=False)
class _OwnEvidence:
    """Evidence of rounds for the own classes of rows, without them."""

    boosted: Boosted
    without: Scorer
    smoothing: Smoothing
    n_jobs: int | None

    def fill(
        self, watched: WatchedRows, own: NDArray[np.float64], slots: NDArray[np.uint16]
    ) -> None:
        """Fill in (OUT, columns x rows) evidence and slots of rows."""
        rows = watched.rows
        columns = [(*cells, self._sums(cells[0])) for cells in _columns(rows)]

        def task(part: slice) -> None:  # few enough rows for the cache
            groups, units = rows.groups[part], self._units(watched, part)
            for j, codes, stride, sums in columns:
                term, places = self.without.terms[j], rows.joint.places[j]
                assert isinstance(term, TableTerm)
                out = (own[j, part], slots[j, part])
                fill_own_evidence(codes[part], stride, places, groups, term.logs, *out)
                replace_own_evidence(out[1], groups, units, *sums, out[0])

        list(in_threads(task, list(stretches(rows.n_rows, PART)), self.n_jobs))

    def _units(self, watched: WatchedRows, part: slice) -> NDArray[np.float64]:
        """What rows weigh in each round: rows x rounds."""
        units = np.ones((part.stop - part.start, len(self.boosted.made)))
        for r, made in enumerate(self.boosted.made):
            if made.share is not None:
                units[:, r] = made.share * watched.units[r][part]
        return units

    def _sums(self, j: int) -> tuple[Any, ...]:
        """Counts of a column in all rounds, and how they become evidence."""
        counts = np.stack([made.counts.attribute(j) for made in self.boosted.made], axis=2)
        first = first_value(counts[:, :, 0], self.smoothing.missing)
        pseudo, n_values = float(self.smoothing.alpha), counts.shape[1] - 1 - first
        totals = counts[:, first:-1].sum(axis=1)
        return counts, totals, pseudo, pseudo * n_values, self.boosted.votes[0], first


def _columns(rows: CodedRows) -> Iterator[tuple[int, NDArray[np.uint16], int]]:
    """Each column of coded rows: the cells it is in, and the stride of its values among them."""
    for run, codes in zip(rows.joint.runs, rows.joint.codes, strict=True):
        stride = 1
        for j in reversed(run):
            yield j, codes, stride
            stride *= len(rows.joint.places[j])
