"""How classifiers are calibrated: from rows that are each judged as if they had not been counted.

Leaving a row out of tables of counts is a subtraction, so that no model is fitted a second time,
and neither folds nor the order of the rows matter. Of large tables some rows calibrate, drawn by
their numbers, so that calibration costs no more than learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer
from unnaive.answer.nodes import EvidenceTable, Node
from unnaive.answer.trees import Located, NaiveBayesTree
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.common.checks import check_word
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of
from unnaive.models._judged_rows import CALIBRATING, PART, JudgedRows, has_rare
from unnaive.models._row_draw import RowDraw, class_weights
from unnaive.table import Block, Source
from unnaive.table.kept import KeptBlock
from unnaive.table.storage import join, join_records, stretches

MOST = 2  # a block of fewer rows than so many times those that are taken is read whole


def check_calibration(model: Any, *more: str) -> None:
    """Refuse a parameter ``calibration`` that is no way to calibrate."""
    check_word(model, "calibration", "none", "slope", *more)


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
    counted = without is not None and has_rare(of_class)
    judge = _Judge(node, without, labels, factor, by_column, weigh, n_jobs, counted)
    if draw is None:
        return replace(join(source, judge, n_rows, CALIBRATING), storage=source.storage)

    def judge_some(block: Block) -> tuple[JudgedRows, NDArray[np.float64]]:
        groups, weight = judge.known(block)
        rows = draw.places(block.row_ids, groups)
        return judge(block, rows), class_weights(groups, weight, n_classes)

    parts, weights = zip(*source.each(judge_some, CALIBRATING), strict=True)
    return join_records(parts).weigh_classes(np.sum(weights, axis=0))


def calibrate_node(
    judge: Callable[..., JudgedRows],
    node: Node,
    without: Node | None,
    alone: NDArray[np.bool_] | None,
    totals: NDArray[np.float64],
    n_rows: int,
    n_jobs: int | None = None,
) -> Node:
    """A calibrated node; ``judge`` is `judge_left_out` but for the nodes and whether by column.

    ``alone`` says which columns have a factor of their own; None where one serves for all evidence.
    """
    judged = judge(node, without, by_column=alone is not None)
    node = node.calibrated(judged.match(judged.fit_shared(alone, n_jobs), totals, n_jobs))
    if alone is None or len(judged.groups) == n_rows:
        return node
    # How probable classes are on the whole is a matter of more rows than are kept by column.
    return node.calibrated(judge(node, None).match_shares(n_jobs))


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
    counted: bool

    def known(self, block: Block) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Classes and weights of the rows of a block."""
        assert block.target is not None
        groups = groups_of(self.labels, block.target)
        if self.weigh is not None:
            return groups, self.weigh(block)
        return groups, (1.0 if block.weight is None else block.weight) * self.factor[groups]

    def _score(
        self, block: Block, groups: NDArray[Any], scores: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Fill in the scores of rows (OUT); what `JudgedRows` keep of them as they were counted."""
        nodes, counted = [self.node] if self.without is None else [self.node, self.without], None
        located = None
        if self.by_column and isinstance(self.node, NaiveBayesTree):
            located = self.node.locate(block)
        for node in nodes:
            parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
            if self.by_column:
                bars = _bars_of(node, block, self.labels, self.n_jobs, located)
                parts = [(scores[:, 0], bars[0]), (scores[:, 1:], bars[1])]
            else:
                parts = [(scores, node.scores(block, self.n_jobs))]
            for out, given in parts:
                if node is self.node:
                    out[:] = given
                else:
                    replace_own(out, given, groups)
            if node is self.node and self.counted:
                every = np.arange(len(groups))
                counted = scores[every, :, groups] if self.by_column else scores.copy()
        return counted

    def __call__(self, block: Block, rows: NDArray[np.intp] | None = None) -> JudgedRows:
        """The rows of a block, or some of them."""
        groups, weight = self.known(block)
        if self.weigh is not None and not weight.all():
            rows = np.flatnonzero(weight) if rows is None else rows[weight[rows] != 0.0]
        if rows is not None:
            groups, weight = groups[rows], weight[rows]
        n_rows, n_outputs = len(groups), self.node.n_outputs
        shape = (_bars(self.node) // n_outputs, n_outputs) if self.by_column else (n_outputs,)
        scores = np.empty((n_rows, *shape))
        counted = np.empty((n_rows, shape[0])) if self.counted else None
        for whole in stretches(n_rows):
            kept = _keep_columns(block, rows, whole)
            for part in stretches(kept.n_rows, max(PART // math.prod(shape), 1)):
                here = slice(whole.start + part.start, whole.start + part.stop)
                some = kept.slice(part.start, part.stop)
                seen = self._score(some, groups[here], scores[here])
                if counted is not None:
                    counted[here] = seen
        return JudgedRows(scores, groups, weight, counted=counted)


def _keep_columns(block: Block, rows: NDArray[np.intp] | None, part: slice) -> KeptBlock:
    """A part of the rows of a block, or of some of them, whose columns are read once."""
    n_rows = part.stop - part.start
    if rows is None:
        whole = n_rows == block.n_rows
        return KeptBlock(block if whole else block.slice(part.start, part.stop))
    if MOST * n_rows > block.n_rows:
        return KeptBlock(block).take(rows[part])
    return KeptBlock(block.take(rows[part]))


def _bars_of(
    node: Node, block: Block, labels: Labels, n_jobs: int | None, located: Located | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Baseline and bars of some rows, which a tree has located."""
    if isinstance(node, NaiveBayesTree):
        return node.contributions(block, located)
    why = node.evidence(block, labels.classes, n_jobs)
    return why.baseline, why.contributions


def _bars(node: Node) -> int:
    """Numbers by which a row is judged, column by column."""
    assert isinstance(node, (EvidenceTable, NaiveBayesTree))
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
    return replace(answer, root=answer.root.calibrated(found))
