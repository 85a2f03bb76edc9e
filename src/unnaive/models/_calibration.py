"""How classifiers are calibrated: from rows that are each judged as if they had not been counted.

Leaving a row out of tables of counts is a subtraction, so that no model is fitted a second time,
and neither folds nor the order of the rows matter. Of large tables some rows calibrate, drawn by
their numbers, so that calibration costs no more than learning.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer
from unnaive.answer.calibrated import calibrated
from unnaive.answer.evidence import evidence
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.nodes import Node
from unnaive.answer.predict import joint
from unnaive.answer.tree import BayesTree, Located
from unnaive.bayes.calibrate import (
    Calibration,
    Visit,
    fit_calibration,
    fit_columns,
    fit_visited,
)
from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.common.checks import check_word
from unnaive.encode import Labels
from unnaive.encode.draws import draw_uniform
from unnaive.encode.labels import groups_of
from unnaive.table import Block, Source
from unnaive.table.kept import KeptBlock
from unnaive.table.records import Records, whole_record
from unnaive.table.storage import Storage, join, join_records, stretches

CALIBRATING = "calibrating"
# Rows that calibrate a large table: as many as have so many numbers of evidence, but no fewer than
# LEAST_ROWS, nor than LEAST_OF_CLASS of a class that has them, nor than PER_PARAMETER for each
# number that they teach: then the log loss within the training rows of the largest data sets is
# that of all rows to 0.0012 (adult).
MOST_NUMBERS = 1 << 19
LEAST_ROWS, LEAST_OF_CLASS, PER_PARAMETER = 1 << 13, 1 << 8, 64
PART = 1 << 19  # numbers of rows whose evidence is taken at a time: all at once would be held twice


def check_calibration(model: Any, *more: str) -> None:
    """Refuse a parameter ``calibration`` that is no way to calibrate."""
    check_word(model, "calibration", "none", "slope", *more)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """Scores of rows by a model that has not seen them, their classes and weights.

    Scores are rows x classes; or what they are sums of: rows x (1 + columns) x classes. ``storage``
    is room for what a fit has of each row; None is memory.
    """

    PER_ROW: ClassVar = {"scores": 0, "groups": 0, "weight": 0}

    scores: NDArray[np.float64]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    storage: Storage | None = None

    def fit(self, n_jobs: int | None = None, slope: float | None = None) -> Calibration:
        """The calibration under which the classes of these rows are most probable; of scores, with
        a slope that may be known.
        """
        rows = (self.scores, self.groups, self.weight, n_jobs)
        if self.scores.ndim == 2:
            return fit_calibration(*rows, slope, self.storage)
        return fit_columns(*rows, self.storage)

    def fit_shared(self, alone: NDArray[np.bool_], n_jobs: int | None = None) -> Calibration:
        """As `fit` by column, with one factor for all columns but those that stand alone."""
        start = self.scores[:, 0] + self.scores[:, 1:][:, ~alone].sum(axis=1)
        scores = np.concatenate((start[:, None], self.scores[:, 1:][:, alone]), axis=1)
        shared = replace(self, scores=scores).fit(n_jobs)
        columns = np.full(len(alone), shared.slope)
        columns[alone] = shared.columns
        return replace(shared, columns=columns)

    def take(self, rows: NDArray[np.intp]) -> JudgedRows:
        """Some of the rows."""
        return JudgedRows(self.scores[rows], self.groups[rows], self.weight[rows], self.storage)

    def weigh_classes(self, totals: NDArray[np.float64]) -> Self:
        """The same rows, such that classes have the shares of these totals."""
        drawn = class_weights(self.groups, self.weight, len(totals))
        return replace(self, weight=self.weight * share_factor(drawn, totals)[self.groups])


def class_weights(
    groups: NDArray[Any], weight: NDArray[np.float64] | None, n_classes: int
) -> NDArray[np.float64]:
    """What the rows of each class weigh."""
    return np.bincount(groups, weight, n_classes).astype(np.float64)


def share_factor(drawn: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the weights of rows that were drawn are multiplied by, such that classes have the shares
    of all rows, and the weight of all stays: rows that were not drawn say nothing.

    Given the weights of the classes' rows. Factors are rounded, so that whole weights times these
    add exactly in any order.
    """
    whole = drawn.sum()
    factor = np.divide(totals, drawn, out=np.zeros_like(totals), where=drawn > 0.0)
    factor *= whole / max(float(drawn @ factor), LEAST_SHARE)
    grain = 2.0 ** (math.frexp(1.1 * whole)[1] - 52)
    return np.rint(factor / grain) * grain


@dataclass(frozen=True, slots=True, eq=False)
class RowDraw:
    """Which rows calibrate: a share of those of each class, drawn by their numbers; and what all
    rows of each class weigh.
    """

    shares: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        n_rows: int,
        n_numbers: int | None,
        totals: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
        n_parameters: int = 0,
    ) -> RowDraw | None:
        """The draw of rows that are judged by so many numbers each; None where all calibrate.
        Without a number, no more are drawn than there must be.

        ``totals`` says how many rows classes have, up to a factor, ``weights`` what they weigh, if
        not the same, and ``n_parameters`` how much they teach beside factors and intercepts.
        """
        most = MOST_NUMBERS // n_numbers if n_numbers else 0
        most = max(most, LEAST_ROWS, PER_PARAMETER * n_parameters)
        given = totals if weights is None else weights
        return cls.of_few(n_rows, most, LEAST_OF_CLASS, totals, given)

    @classmethod
    def of_few(
        cls,
        n_rows: int,
        most: int,
        least_of_class: int,
        totals: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> RowDraw | None:
        """The draw of so many rows, with as many of a class that has them; as in `of`."""
        if n_rows <= most:
            return None
        of_class = np.maximum(n_rows * totals / totals.sum(), 1.0)
        shares = np.minimum(np.maximum(most / n_rows, least_of_class / of_class), 1.0)
        return cls(shares, weights)

    def places(self, row_ids: NDArray[np.int64], groups: NDArray[Any]) -> NDArray[np.intp]:
        """Places of the rows that are drawn."""
        draws = draw_uniform(0, row_ids)
        places = np.flatnonzero(draws < self.shares.max())
        return places[draws[places] < self.shares[groups[places]]]


AnyRows = TypeVar("AnyRows")
# The judged rows of a record and its state.
RowsOf: TypeAlias = Callable[[Any, Any], JudgedRows]


def state_rows(_record: Any, state: AnyRows) -> AnyRows:
    """Rows that are kept beside their record."""
    return state


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


def fit_away(
    source: Source, judge: Callable[[Block], JudgedRows], n_classes: int, n_jobs: int | None
) -> Calibration | None:
    """The calibration by rows that are judged, and stay, where they are; None where rows are to
    come here. Their weights must be such that sums are exact.
    """
    away = source.keep_away(lambda block: (judge(block), 0), operator.add, CALIBRATING)
    if away is None:
        return None
    with away[0] as records:
        return fit_visited(judged_visit(records, whole_record), n_classes, n_jobs)


def judge_left_out(
    node: Node,
    without: Node | None,
    source: Source,
    labels: Labels,
    factor: NDArray[np.float64],
    n_rows: int,
    n_jobs: int | None = None,
    *,
    by_column: bool = False,
    weigh: Callable[[Block], NDArray[np.float64]] | None = None,
    totals: NDArray[np.float64] | None = None,
) -> JudgedRows:
    """Scores of rows of a source, each as if it had not been counted; of large tables those of some
    rows, whose classes then have the shares of all.

    Parameters
    ----------
    node : node
        What is to be calibrated; its evidence adds up.
    without : node or None
        The evidence for a row of each class that was not counted; None for rows that were not.
    factor : array of shape (classes,)
        What weights of the classes' rows are multiplied by.
    by_column : bool, default=False
        Whether to keep the evidence of each column, not its sum.
    weigh : callable or None, default=None
        What the rows of a block weigh, where that is not their own weight times the factor; those
        that weigh nothing are not judged, and ``n_rows`` is the number of the others.
    totals : array of shape (classes,) or None, default=None
        How many rows classes have, up to a factor; None where that is not known.
    """
    n_classes = len(labels)
    of_class = np.ones(n_classes) if totals is None else totals
    draw = RowDraw.of(n_rows, _bars(node) if by_column else n_classes, of_class)
    judge = _Judge(node, without, labels, factor, by_column, weigh, n_jobs)
    if draw is None:
        return replace(join(source, judge, n_rows, CALIBRATING), storage=source.storage)

    def judge_some(block: Block) -> tuple[JudgedRows, NDArray[np.float64]]:
        assert block.target is not None
        groups = groups_of(labels, block.target)
        weights = class_weights(groups, judge.weights(block, groups), n_classes)
        return judge(block.take(draw.places(block.row_ids, groups))), weights

    parts, weights = zip(*source.each(judge_some, CALIBRATING), strict=True)
    return join_records(parts).weigh_classes(np.sum(weights, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """How the rows of a block are judged; see `judge_left_out`."""

    node: Node
    without: Node | None
    labels: Labels
    factor: NDArray[np.float64]
    by_column: bool
    weigh: Callable[[Block], NDArray[np.float64]] | None
    n_jobs: int | None

    def weights(self, block: Block, groups: NDArray[Any]) -> NDArray[np.float64]:
        if self.weigh is not None:
            return self.weigh(block)
        return (1.0 if block.weight is None else block.weight) * self.factor[groups]

    def _score(self, block: Block) -> list[NDArray[np.float64]]:
        nodes = [self.node] if self.without is None else [self.node, self.without]
        if not self.by_column:
            return [joint(node, block, self.n_jobs) for node in nodes]
        located = self.node.locate(block) if isinstance(self.node, BayesTree) else None
        bars = [_bars_of(node, block, self.labels, self.n_jobs, located) for node in nodes]
        return [np.concatenate((baseline[:, None], rest), axis=1) for baseline, rest in bars]

    def __call__(self, block: Block) -> JudgedRows:
        assert block.target is not None
        groups, n_outputs = groups_of(self.labels, block.target), self.node.n_outputs
        weight = self.weights(block, groups)
        if self.weigh is not None and not weight.all():
            return self(block.take(np.flatnonzero(weight)))
        shape = (_bars(self.node) // n_outputs, n_outputs) if self.by_column else (n_outputs,)
        scores = np.empty((block.n_rows, *shape))
        for whole in stretches(block.n_rows):
            kept = KeptBlock(block.slice(whole.start, whole.stop))  # columns are read once
            for part in stretches(kept.n_rows, max(PART // math.prod(shape), 1)):
                rows = slice(whole.start + part.start, whole.start + part.stop)
                some = kept.slice(part.start, part.stop)
                scores[rows], *others = self._score(some)
                for other in others:
                    replace_own(scores[rows], other, groups[rows])
        return JudgedRows(scores, groups, weight)


def _bars_of(
    node: Node, block: Block, labels: Labels, n_jobs: int | None, located: Located | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Baseline and bars of some rows, which a tree has located."""
    if isinstance(node, BayesTree):
        return node.evidence(block, located)
    why = evidence(node, block, labels.classes, n_jobs)
    return why.baseline, why.bars


def _bars(node: Node) -> int:
    """Numbers by which a row is judged, column by column."""
    assert isinstance(node, (EvidenceTable, BayesTree))
    columns = node.scorer.terms if isinstance(node, EvidenceTable) else node.coders
    return (1 + len(columns)) * node.n_outputs


def replace_own(
    scores: NDArray[np.float64], without: NDArray[np.float64], groups: NDArray[Any]
) -> None:
    """Put the scores of each row's own class (IN without, last axis) into others (OUT)."""
    every = np.arange(len(groups))
    scores[every, ..., groups] = without[every, ..., groups]


def take_logs(votes: NDArray[np.float64]) -> None:
    """Turn probabilities (IN, OUT) into logarithms, as a `Calibrated` takes them."""
    for part in stretches(len(votes)):
        np.log(np.maximum(votes[part], LEAST_SHARE), out=votes[part])


def calibrate_answer(answer: Answer, found: Calibration) -> Answer:
    """An answer with calibrated probabilities."""
    return replace(answer, root=calibrated(answer.root, found))
