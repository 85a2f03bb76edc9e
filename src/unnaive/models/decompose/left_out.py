"""Rows of a decomposition, each judged as if it had not been counted."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.answer import Answer, Folded
from unnaive.answer.nodes import Node
from unnaive.bayes.calibrate import fit_visited
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.scoring import probabilities
from unnaive.common.advice import silence
from unnaive.common.sklearn_private import check_method_params
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of
from unnaive.models._calibration import replace_own, take_logs
from unnaive.models._halves import draw_halves
from unnaive.models._judged_rows import (
    CALIBRATING,
    JudgedRows,
    counted_rows,
    judged_visit,
    match_shares,
)
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.table import Block, Source
from unnaive.table.picking import take_rows
from unnaive.table.records import keep_records, whole_record
from unnaive.table.scan import Scan
from unnaive.table.storage import Storage, join, join_records


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """Rows with their pairs, and what the estimator's ``fit`` takes beside them."""

    X: Any
    pairs: NDArray[np.intp]
    params: Any
    row_ids: NDArray[np.int64]
    storage: Storage

    def take(self, rows: NDArray[np.intp]) -> PairRows:
        """Some of the rows."""
        params = check_method_params(self.X, self.params, indices=rows)
        pairs, ids = (self.storage.take(own, rows) for own in (self.pairs, self.row_ids))
        return PairRows(take_rows(self.X, rows), pairs, params, ids, self.storage)


def calibrate_pairs(
    folded: Folded, fitted: Any, rows: PairRows | Scan, n_jobs: int | None = None
) -> Calibration | None:
    """How sure to be of classes, around an estimator of the library; rows that are elsewhere have
    their pairs there. None where rows are too few.
    """
    given: tuple[Any, ...] = (rows, None, None)
    if isinstance(rows, PairRows):
        if not (isinstance(fitted, NaiveBayesClassifier) and fitted.calibration == "none"):
            return calibrate_halves(folded, fitted, rows, n_jobs)
        given = (rows.X, rows.pairs, rows.params.get("sample_weight"))
    source = fitted._rows_to_learn(*given, fitted.schema_)
    return calibrate_left_out(folded, fitted._leave_one_out(fitted.answer_.root), source, n_jobs)


def calibrate_left_out(
    folded: Folded, without: Node, source: Source, n_jobs: int | None = None
) -> Calibration:
    """How sure to be of classes, by all rows of a source, whose labels are pairs.

    ``without`` is the evidence for a row of each pair that was not counted. Rows are judged once,
    and stay where they are.
    """
    labels = Labels(np.arange(len(folded.owner)))

    def judge(block: Block) -> tuple[JudgedRows, int]:
        assert block.target is not None
        pairs = groups_of(labels, block.target)
        scores = folded.inner.scores(block, n_jobs)
        counted = folded.group(probabilities(scores.copy(), n_jobs))
        replace_own(scores, without.scores(block, n_jobs), pairs)
        votes = folded.group(probabilities(scores, n_jobs))
        take_logs(votes)
        take_logs(counted)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return JudgedRows(votes, folded.owner[pairs], weight, counted=counted), 0

    records, _ = keep_records(source, judge, operator.add, CALIBRATING)
    with records:
        visit, n_classes = judged_visit(records, whole_record), folded.n_outputs
        slope = fit_visited(visit, n_classes, n_jobs).slope
        every = judged_visit(records, partial(counted_rows, rows_of=whole_record))
        return match_shares(every, slope, n_classes, n_jobs)


def calibrate_halves(
    folded: Folded, fitted: Any, rows: PairRows, n_jobs: int | None = None
) -> Calibration | None:
    """How sure to be of classes, around any estimator of the library.

    The slope is learned from rows that are each judged by a model of the half, drawn by the rows'
    numbers, that they are not in, with the same clusters; intercepts from the fitted model on all
    rows. None where a half would be empty.
    """
    halves = draw_halves(rows.row_ids, rows.storage)
    if halves is None:
        return None
    first, second = (rows.take(halves.rows(k)) for k in range(2))
    judged = []
    for learned, other in ((first, second), (second, first)):
        with silence():
            model = clone(fitted).fit(learned.X, learned.pairs, **learned.params)
        judged.append(_judge_by(model, folded, other, n_jobs))
    slope = join_records(judged).fit(n_jobs).slope
    return _judge_by(fitted, folded, rows, n_jobs).match_shares(n_jobs, slope)


def _judge_by(model: Any, folded: Folded, rows: PairRows, n_jobs: int | None) -> JudgedRows:
    """Log probabilities of the classes of rows by a model that may not know all pairs.

    Rows of classes that it does not know have no weight.
    """
    root, labels = Answer.of(model, None).root, Labels(np.arange(len(folded.owner)))
    known = np.isin(np.arange(folded.n_outputs), folded.owner[model.classes_])
    weight = rows.params.get("sample_weight")
    source = model._rows_to_learn(rows.X, rows.pairs, weight, model.schema_)

    def judge(block: Block) -> JudgedRows:
        assert block.target is not None
        groups = folded.owner[groups_of(labels, block.target)]
        pairs = np.zeros((block.n_rows, len(folded.owner)))
        pairs[:, model.classes_] = root.predict_proba(block, n_jobs)
        scores = folded.group(pairs)
        take_logs(scores)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return JudgedRows(scores, groups, np.where(known[groups], weight, 0.0))

    return join(source, judge, len(rows.pairs), CALIBRATING)
