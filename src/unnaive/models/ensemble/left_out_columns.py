"""Coded rows judged column by column by rounds of boosting that add up, without themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate_values import fit_values
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.coded import coded_scores
from unnaive.bayes.estimate import first_value
from unnaive.bayes.left_out_kernels import (
    fill_evidence,
    fill_own_evidence,
    replace_own_evidence,
)
from unnaive.bayes.scoring import TableTerm, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts.encoded_rows import CodedRows
from unnaive.models._judged_rows import (
    JudgedRows,
)
from unnaive.models._row_draw import RowDraw, class_weights, weigh_shares
from unnaive.models.boosted import BoostingRounds, Round, SplitRows
from unnaive.table.records import Records
from unnaive.table.storage import Storage, stretches

PART = 1 << 12  # rows whose evidence is filled in at a time


def judge_columns(
    records: Records[SplitRows],
    booster: BoostingRounds,
    rounds: list[Round],
    scorers: tuple[Scorer, Scorer],
    smoothing: Smoothing,
    draw: RowDraw | None,
    n_jobs: int | None = None,
) -> JudgedColumns:
    """Return the evidence of each column for rows left out of every round with their weight there.

    Parameters
    ----------
    scorers : tuple of two Scorer
        The evidence of all rounds; and that for a row of the mean weight of its slot that was not
        counted, which serves where nothing is left of a count.
    draw : RowDraw or None
        Which rows calibrate.
    """
    room, n_classes = records.storage, len(scorers[0].log_prior)
    # Evidence is larger than what it is made of, which therefore comes here from workers.
    parts = list(records.each(partial(_take_rows, draw, n_classes, room)))
    totals, n_all = (
        sum((part[1] for part in parts), np.zeros(n_classes)),
        sum(part[2] for part in parts),
    )
    coded = [part[0] for part in parts]
    n_rows, n_columns = sum(rows.n_rows for rows in coded), len(scorers[0].terms)
    groups = room.empty(n_rows, np.result_type(*(rows.groups for rows in coded)))
    weight, row_ids = room.empty(n_rows, np.float64), room.empty(n_rows, np.int64)
    own, slots = (
        room.zeros((n_columns, n_rows), np.float64),
        room.zeros((n_columns + 1, n_rows), np.uint16),
    )
    own_evidence, at = _OwnEvidence(rounds, scorers[1], smoothing, n_jobs), 0
    for rows in coded:
        here = slice(at, at + rows.n_rows)
        groups[here], row_ids[here] = rows.groups, rows.row_ids
        weight[here] = 1.0 if rows.weight is None else rows.weight
        own_evidence.fill(rows, booster.replay(rounds, rows), own[:, here], slots[:, here])
        at = here.stop
    sizes = (n_all - n_rows, totals)
    return JudgedColumns(
        coded, groups, weight, row_ids, own, slots, scorers[0], *sizes, room, n_jobs
    )


def _take_rows(
    draw: RowDraw | None, n_classes: int, storage: Storage, record: SplitRows, _state: Any
) -> tuple[CodedRows, NDArray[np.float64], int]:
    """Return the rows that calibrate, the weight of all rows by class and their number."""
    rows = record.learning
    totals = class_weights(rows.groups, rows.weight, n_classes)
    taken = rows if draw is None else rows.take(draw.places_of(rows), storage)
    return taken, totals, rows.n_rows


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

    rounds: list[Round]
    without: Scorer
    smoothing: Smoothing
    n_jobs: int | None

    def fill(
        self,
        rows: CodedRows,
        units: NDArray[np.float64],
        own: NDArray[np.float64],
        slots: NDArray[np.uint16],
    ) -> None:
        """Fill in (OUT, columns x rows) evidence and slots of rows that count ``units``."""
        columns = [(*cells, self._sums(cells[0])) for cells in _columns(rows)]

        def task(part: slice) -> None:  # few enough rows for the cache
            groups = rows.groups[part]
            for j, codes, stride, sums in columns:
                term, places = self.without.terms[j], rows.joint.places[j]
                assert isinstance(term, TableTerm)
                out = (own[j, part], slots[j, part])
                fill_own_evidence(codes[part], stride, places, groups, term.logs, *out)
                replace_own_evidence(out[1], groups, units[part], *sums, out[0])

        list(in_threads(task, list(stretches(rows.n_rows, PART)), self.n_jobs))

    def _sums(self, j: int) -> tuple[Any, ...]:
        """Counts of a column in all rounds, and how they become evidence."""
        counts = np.stack([one.counts.attribute(j) for one in self.rounds], axis=2)
        first = first_value(counts[:, :, 0], self.smoothing.missing)
        pseudo, n_values = float(self.smoothing.alpha), counts.shape[1] - 1 - first
        totals = counts[:, first:-1].sum(axis=1)
        return counts, totals, pseudo, pseudo * n_values, self.rounds[0].vote, first


def _columns(rows: CodedRows) -> Iterator[tuple[int, NDArray[np.uint16], int]]:
    """Each column of coded rows: the cells it is in, and the stride of its values among them."""
    for run, codes in zip(rows.joint.runs, rows.joint.codes, strict=True):
        stride = 1
        for j in reversed(run):
            yield j, codes, stride
            stride *= len(rows.joint.places[j])
