"""Held-out evidence: how a model scores rows that it has not seen, and calibration by it.

There are three sources of held-out evidence: inner folds, leave-one-out counts and out-of-bag
rows. All start from the calibration rows of a table, which are at the driver.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.nodes import EvidenceTable, Node
from unnaive.bayes.calibration import HeldOut, Slots, fit_calibration
from unnaive.bayes.scoring import LEAST_SHARE, TableTerm
from unnaive.common.checks import check_values
from unnaive.counts.summary import row_factor
from unnaive.encode.coders import column_slots
from unnaive.encode.hashing import draw_uniform, row_bits
from unnaive.encode.labels import groups_of
from unnaive.table import Block
from unnaive.table.block import Decoded, decode_rows, join_rows
from unnaive.table.columns import RawCodes, code_dtype

if TYPE_CHECKING:
    from unnaive.models.base import FirstPass, TableClassifier

CALIBRATING = "calibrating"
MAX_ROWS, MIN_ROWS, MIN_CLASS_ROWS = 1 << 16, 1 << 14, 1 << 8
MAX_NUMBERS = 1 << 21  # of evidence of all rows, which bound the time that calibration takes
MAX_ROW_NUMBERS = 1 << 12  # of evidence of a row; tables of more columns share the slope
CROSS_FIT_ROWS = 10_000  # tables below are calibrated by inner folds
FEW_ROWS = 1_000  # tables below have more folds: with three, calibration costs them accuracy
NEVER_OUT_SHARE = 0.05  # share of rows in every bag that is worth a warning
OUT_OF_BAG = frozenset({"oob_score_", "oob_decision_function_"})


class CalibrationRows(NamedTuple):
    """Rows at the driver that calibrate a model.

    Attributes
    ----------
    block : Block
        With labels; the weights of a sample are such that classes have the shares of the table.
    y, sample_weight : arrays of shape (rows,)
        Class number of each row, and its weight in units of rows.
    """

    block: Block
    y: NDArray[Any]
    sample_weight: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> CalibrationRows:
        """Return some of the rows."""
        return CalibrationRows(self.block.take(rows), self.y[rows], self.sample_weight[rows])


def calibration_rows(first: FirstPass, n_numbers: int | None = None) -> CalibrationRows:
    """Return the rows of a table, or a random sample of a large one.

    Rows are drawn by a hash of their numbers, at least 256 of each class. ``n_numbers`` of held-out
    evidence for each row bound the size of the sample.
    """
    summary, labels = first.summary, first.summary.labels
    totals, n_classes = summary.counts.totals, len(labels)
    most = max(min(MAX_ROWS, MAX_NUMBERS // (n_numbers or n_classes)), MIN_ROWS)
    class_rows = np.maximum(summary.n_rows * totals / totals.sum(), 1.0)
    share = np.minimum(np.maximum(most / summary.n_rows, MIN_CLASS_ROWS / class_rows), 1.0)
    share = np.ones(n_classes) if summary.n_rows <= most else share

    def read(block: Block) -> tuple[Decoded, NDArray[Any], NDArray[np.float64], NDArray[np.int64]]:
        assert block.target is not None
        y = groups_of(labels, block.target)
        rows = np.flatnonzero(draw_uniform(0, block.row_ids) < share[y])
        weight = np.ones(len(rows)) if block.weight is None else block.weight[rows]
        return decode_rows(block, summary.schema, rows), y[rows], weight, block.row_ids[rows]

    parts, *arrays = zip(*first.source.each(read, CALIBRATING), strict=True)
    y, weight, row_ids = map(np.concatenate, arrays)
    if summary.n_rows > most:
        drawn = np.bincount(y, weight, n_classes)
        scale = np.divide(totals, drawn, out=np.zeros(n_classes), where=drawn > 0.0)
        weight *= scale[y] * (drawn.sum() / totals.sum())
    target = RawCodes(y.astype(code_dtype(n_classes)), labels.classes)
    block = join_rows(
        summary.schema, parts, n_rows=len(y), target=target, weight=weight, row_ids=row_ids
    )
    return CalibrationRows(block, y, weight * row_factor(summary, first.class_factor)[y])


def cross_fit(
    model: TableClassifier, first: FirstPass, rows: CalibrationRows, *, by_column: bool = False
) -> HeldOut:
    """Score rows by models of the other inner folds, which choose cuts, bandwidths and trees again.

    Of tables above 10,000 rows, one half of the rows is scored by a model of the other.
    """
    summary = first.summary
    shape = (0, 1 + len(summary.schema)) if by_column else (0,)
    parts, places = [np.empty((*shape, len(summary.labels)))], [np.empty(0, dtype=np.intp)]
    for train, test in inner_folds(first.seed, rows.y, rows.block.row_ids, summary.n_rows):
        node = model._fit_rows(first, rows.take(train))
        parts.append(score_rows(node, rows.block.take(test), by_column, first.n_jobs))
        places.append(test)
    scored = rows.take(np.concatenate(places))
    return HeldOut(np.concatenate(parts), scored.y, scored.sample_weight, scored.block)


def inner_folds(
    seed: int, y: NDArray[Any], row_ids: NDArray[np.int64], n_rows: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield positions to train on and to score: stratified folds, or one half of a large table.

    The only row of a class is trained on, and never scored.
    """
    cross = n_rows < CROSS_FIT_ROWS
    n_folds = (5 if n_rows < FEW_ROWS else 3) if cross else 2
    folds = np.empty(len(y), dtype=np.intp)
    order = np.lexsort((row_bits(seed, row_ids), y))
    folds[order] = np.arange(len(y)) % n_folds
    folds[(np.bincount(y) == 1)[y]] = n_folds
    for k in range(n_folds if cross else 1):
        if (folds == k).any():
            yield np.flatnonzero(folds != k), np.flatnonzero(folds == k)


def leave_one_out(
    node: Node,
    without: Node,
    rows: CalibrationRows,
    *,
    by_column: bool = False,
    n_jobs: int | None = None,
) -> HeldOut:
    """Score rows by counts that leave each out; ``without`` is the evidence for its own class."""
    scores = score_rows(node, rows.block, by_column, n_jobs)
    every = np.arange(len(rows.y))
    own = score_rows(without, rows.block, by_column, n_jobs)[every, ..., rows.y]
    scores[every, ..., rows.y] = own
    return HeldOut(scores, rows.y, rows.sample_weight, rows.block)


def out_of_bag(
    proba: NDArray[np.float64], y: NDArray[Any], sample_weight: NDArray[np.float64]
) -> HeldOut:
    """Return the out-of-bag probabilities of rows as evidence; NaN where all bags drew the row."""
    scored = ~np.isnan(proba[:, 0])
    logs = np.log(np.maximum(proba[scored], LEAST_SHARE))
    return HeldOut(logs, y[scored], sample_weight[scored])


class OutOfBagMixin:
    """A classifier with the parameter ``oob_score``."""

    oob_score_: float
    oob_decision_function_: NDArray[np.float64]
    classes_: NDArray[Any]

    def _set_oob(
        self, proba: NDArray[np.float64], y: NDArray[Any], weight: NDArray[np.float64]
    ) -> None:
        """Store the out-of-bag probabilities of all rows, and their accuracy."""
        scored = ~np.isnan(proba[:, 0])
        correct, whole = scored & (proba.argmax(axis=1) == y), float(weight[scored].sum())
        self.oob_decision_function_ = proba
        self.oob_score_ = float(weight[correct].sum()) / whole if whole else np.nan

    def _check_oob(self) -> None:
        """Check what a file holds."""
        if hasattr(self, "oob_decision_function_"):
            proba, n = self.oob_decision_function_, len(self.classes_)
            check_values("oob_decision_function_", proba, (len(proba), n), 0.0, nan=True)


def warn_never_out_of_bag(proba: NDArray[np.float64], where: str, stacklevel: int) -> None:
    """Warn if many rows have no out-of-bag probabilities, because they are ``where``."""
    n_rows, n_missing = len(proba), int(np.isnan(proba[:, 0]).sum())
    if n_missing > NEVER_OUT_SHARE * n_rows:
        warnings.warn(
            f"{n_missing} of {n_rows} rows are {where} and have no out-of-bag prediction; raise "
            "n_estimators.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def score_rows(
    node: Node, block: Block, by_column: bool = False, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Return the scores of rows, or (``by_column``) the baseline and the evidence of columns."""
    if by_column:
        why = node.evidence(block, np.arange(node.n_outputs), n_jobs)
        return np.concatenate((why.baseline[:, None], why.contributions), axis=1)
    return node.bounded_scores(block, n_jobs)


def calibrate_answer(
    node: Node, held_out: HeldOut, method: str, *, slope: float | None = None
) -> Node:
    """Fit a calibration ("slope", "columns" or "values") to held-out evidence; apply it to a node.

    With a known ``slope`` only the intercepts are fitted.
    """
    slots = None
    if method == "values":
        assert isinstance(node, EvidenceTable)
        slots = _evidence_slots(node, held_out.block)
    return node.calibrated(fit_calibration(held_out, method, slope=slope, slots=slots))


def _evidence_slots(node: EvidenceTable, block: Block) -> Slots:
    """Return the slots of rows that have evidence."""
    terms = node.scorer.terms
    codes = np.full((block.n_rows, len(terms)), -1, dtype=np.int64)
    sizes = []
    for j, term in enumerate(terms):
        sizes.append(len(term.logs) if isinstance(term, TableTerm) else 0)
        if isinstance(term, TableTerm):
            codes[:, j] = column_slots(block, j, term.coder)
            silent = np.all(term.logs == 0.0, axis=1)
            codes[silent[codes[:, j]], j] = -1
    return Slots(codes, sizes)
