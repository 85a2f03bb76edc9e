"""New rows beside a model, in one pass: their sums, and how the model answers for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.predict import joint
from unnaive.bayes.scoring import TableTerm
from unnaive.common.compile import kernel
from unnaive.common.threads import in_threads
from unnaive.counts import Summary
from unnaive.counts.gather import summarize_block
from unnaive.encode import Labels
from unnaive.encode.bins import Bins
from unnaive.encode.kernels import FEW_CUTS
from unnaive.encode.labels import known_groups
from unnaive.table import Block, Column, Source, open_table, scan_of
from unnaive.table.kept import KeptBlock
from unnaive.table.passes import COUNTING

MOST_LOSS = -math.log(np.finfo(np.float64).tiny)  # of a row, also where its class is impossible
FAR_BEHIND = 600.0  # nats; a row whose class is so much less probable is looked at by itself
LARGE = 1e100  # of a product whose next factor is a number of classes at most
ROWS = 1 << 18  # watched at a time


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """Sums of new rows, and sums of what a model says about them.

    Attributes
    ----------
    summary : Summary
    labelled : bool
    predicted : array of shape (n_classes,)
        Sum of the probabilities of each class.
    entropy, loss : float
        Sums of what the model expects its log loss to be, and of what it is.
    weight, judged : float
        Of all rows, and of those with a label that the model knows.
    """

    summary: Summary
    labelled: bool
    predicted: NDArray[np.float64]
    entropy: float
    loss: float
    weight: float
    judged: float

    def __add__(self, other: Watched) -> Watched:
        return Watched(
            self.summary + other.summary,
            self.labelled,
            self.predicted + other.predicted,
            self.entropy + other.entropy,
            self.loss + other.loss,
            self.weight + other.weight,
            self.judged + other.judged,
        )

    @classmethod
    def of(cls, model: Any, rows: tuple[Any, Any, Any], intervals: Mapping[int, Bins]) -> Watched:
        """Read the rows (X, y and weights) once; their numbers are counted in intervals."""
        source, labelled = _open(model, *rows)
        return source.reduce(_Watcher(model, labelled, intervals), Watched.__add__, COUNTING)

    @property
    def expected_log_loss(self) -> float:
        return self.entropy / self.weight

    @property
    def log_loss(self) -> float:
        return self.loss / self.judged if self.judged else math.nan

    def predicted_shares(self, known: NDArray[Any], classes: Sequence[Any]) -> tuple[float, ...]:
        """Mean probability of each class; 0 for classes that the model does not know."""
        mean = dict(zip(known.tolist(), (self.predicted / self.weight).tolist(), strict=True))
        return tuple(mean.get(label, 0.0) for label in classes)


class _CodedOnce(Bins):
    """Intervals of one column of some rows, whose codes are kept for who asks next."""

    __slots__ = ("_kept",)
    _kept: NDArray[Any]

    def codes(self, values: NDArray[np.float64], column: Column) -> NDArray[Any]:
        if not hasattr(self, "_kept"):
            object.__setattr__(self, "_kept", super().codes(values, column))
        return self._kept


def shared_intervals(model: Any, intervals: dict[int, Bins]) -> dict[int, Bins]:
    """Intervals with the cuts of the model's evidence among theirs, where these are few.

    Numbers are then coded once, to be counted and to be judged.
    """
    root, coders = model.answer_.root, model._sums("compared").coders
    terms = root.scorer.terms if isinstance(root, EvidenceTable) else ()
    shared = dict(intervals)
    for j in intervals.keys() & set(range(len(terms))):
        term, grid = terms[j], coders[j]
        if not isinstance(term, TableTerm) or not isinstance(term.coder, Bins):
            continue
        both = Bins(np.union1d(intervals[j].cuts, term.coder.cuts))
        if len(both.cuts) <= FEW_CUTS and not both.divide(grid.low, grid.high):
            shared[j] = both
    return shared


def _refined(term: Any, bins: Bins) -> Any:
    """The same evidence by finer intervals; None where they are not finer."""
    if not isinstance(term, TableTerm) or not isinstance(term.coder, Bins):
        return None
    if not np.isin(term.coder.cuts, bins.cuts).all():
        return None
    inner = np.append(np.searchsorted(term.coder.cuts, bins.cuts) + 1, term.coder.size)
    return term.logs[np.concatenate(([0], inner, [term.coder.size + 1]))]


class _Watcher:
    """What is done with each block; may be sent to workers."""

    def __init__(self, model: Any, labelled: bool, intervals: Mapping[int, Bins]) -> None:
        self.answer, self.labelled, self.intervals = model.answer_, labelled, intervals
        self.estimator = clone(model).set_callbacks()
        root = self.answer.root
        terms = root.scorer.terms if isinstance(root, EvidenceTable) else ()
        logs = {j: _refined(terms[j], bins) for j, bins in intervals.items() if j < len(terms)}
        self.logs = {j: table for j, table in logs.items() if table is not None}

    def __call__(self, block: Block) -> Watched:
        starts = range(0, max(1, block.n_rows), ROWS)
        parts = [block.slice(start, start + ROWS) for start in starts]
        return reduce(Watched.__add__, in_threads(self._watch, parts, self.estimator.n_jobs))

    def _watch(self, rows: Block) -> Watched:
        block, estimator = KeptBlock(rows), self.estimator
        block.target, block.weight = rows.target, rows.weight
        coded = {j: _CodedOnce(bins.cuts) for j, bins in self.intervals.items()}
        wanted = estimator._wanted(block.schema)
        summary = summarize_block(block, wanted, estimator.grid_limit, 1, coded)
        coders = [self.intervals.get(j, coder) for j, coder in enumerate(summary.coders)]
        summary = replace(summary, coders=cast(Any, tuple(coders)))
        scores = joint(self._root(coded), block, 1)
        groups = np.empty(0, dtype=np.intp)
        if self.labelled:
            assert block.target is not None
            groups = known_groups(Labels(self.answer.classes), block.target)
        weight = np.empty(0) if block.weight is None else block.weight
        predicted, sums = np.zeros(scores.shape[1]), np.zeros(4)
        _judge(scores, weight, groups, predicted, sums)
        return Watched(summary, self.labelled, predicted, *sums.tolist())

    def _root(self, coded: Mapping[int, Bins]) -> Any:
        """The model's answer, by the codes in which rows are counted."""
        root = self.answer.root
        if not self.logs:
            return root
        terms = list(root.scorer.terms)
        for j, logs in self.logs.items():
            terms[j] = TableTerm(coded[j], logs)
        return replace(root, scorer=replace(root.scorer, terms=tuple(terms)))


@kernel
def _judge(
    joint: NDArray[np.float64],
    weight: NDArray[np.float64],
    groups: NDArray[np.intp],
    predicted: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Sums over rows (OUT): probabilities of classes; entropy, log loss, weight, judged weight.

    ``joint`` (IN, OUT) are joint log probabilities; what is needed are their differences to the
    largest, and the logarithm of the sum of their exponentials. Sums of such logarithms are that
    of a product, where every row weighs one. ``weight`` (IN) is empty there, and ``groups`` (IN)
    where labels are unknown.
    """
    n_rows, n_classes = joint.shape
    entropy = loss = weights = judged = 0.0
    product = known = 1.0  # of all rows, and of those that are judged
    for i in range(n_rows):
        w = weight[i] if len(weight) else 1.0
        best = 0
        for c in range(1, n_classes):
            best = c if joint[i, c] > joint[i, best] else best
        largest, total, spread = joint[i, best], 1.0, 0.0
        has_label = len(groups) > 0 and groups[i] < n_classes
        behind = largest - joint[i, groups[i]] if has_label else 0.0
        joint[i, best] = 1.0
        for c in range(n_classes):
            if c != best:
                shift = joint[i, c] - largest
                joint[i, c] = odds = math.exp(shift)
                total += odds
                spread -= odds * shift if odds > 0.0 else 0.0
        share = w / total
        for c in range(n_classes):
            predicted[c] += share * joint[i, c]
        entropy += share * spread
        weights += w
        if len(weight):
            entropy += w * math.log(total)
        else:
            product *= total
        if has_label:
            judged += w
            if len(weight) or behind > FAR_BEHIND:
                loss += w * min(math.log(total) + behind, MOST_LOSS)
            else:
                loss += behind
                known *= total
        if product > LARGE:
            entropy, product = entropy + math.log(product), 1.0
        if known > LARGE:
            loss, known = loss + math.log(known), 1.0
    sums[0] += entropy + math.log(product)
    sums[1] += loss + math.log(known)
    sums[2] += weights
    sums[3] += judged


def _open(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, bool]:
    scan = scan_of(X, y, sample_weight)
    labelled = y is not None if scan is None else scan.target is not None
    if labelled:
        return model._open_to_learn(X, y, sample_weight, model.schema_), True
    if scan is not None:
        return open_table(model, scan, fitted=model.schema_), False
    return open_table(model, X, None, sample_weight, fitted=model.schema_), False
