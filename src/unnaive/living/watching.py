"""New rows beside a model, in one pass: their sums, and how the model answers for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.base import clone

from unnaive.answer.predict import probabilities
from unnaive.counts import Summary
from unnaive.counts.gather import summarize_block
from unnaive.encode import Labels
from unnaive.encode.bins import Bins
from unnaive.encode.labels import known_groups
from unnaive.table import Block, Source, open_table, scan_of
from unnaive.table.passes import COUNTING

TINY = np.finfo(np.float64).tiny  # a probability of zero is this to a logarithm


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


class _Watcher:
    """What is done with each block; may be sent to workers."""

    def __init__(self, model: Any, labelled: bool, intervals: Mapping[int, Bins]) -> None:
        self.answer, self.labelled, self.intervals = model.answer_, labelled, intervals
        self.estimator = clone(model).set_callbacks()

    def __call__(self, block: Block) -> Watched:
        estimator, n_jobs = self.estimator, self.estimator.n_jobs
        summary = summarize_block(
            block, estimator._wanted(block.schema), estimator.grid_limit, n_jobs, self.intervals
        )
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        shares = probabilities(self.answer.root, block, n_jobs)
        entropy = -float(weight @ xlogy(shares, shares).sum(axis=1))
        loss = judged = 0.0
        if self.labelled:
            assert block.target is not None
            groups = known_groups(Labels(self.answer.classes), block.target)
            rows = np.flatnonzero(groups < len(self.answer.classes))
            logs = np.log(np.maximum(shares[rows, groups[rows]], TINY))
            loss, judged = -float(weight[rows] @ logs), float(weight[rows].sum())
        total = float(weight.sum())
        return Watched(summary, self.labelled, weight @ shares, entropy, loss, total, judged)


def _open(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, bool]:
    scan = scan_of(X, y, sample_weight)
    labelled = y is not None if scan is None else scan.target is not None
    if labelled:
        return model._open_to_learn(X, y, sample_weight, model.schema_), True
    if scan is not None:
        return open_table(model, scan, fitted=model.schema_), False
    return open_table(model, X, None, sample_weight, fitted=model.schema_), False
