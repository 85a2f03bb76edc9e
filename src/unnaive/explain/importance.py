"""Importance of attributes: their mean evidence, and the rise in log loss without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, KernelTerm, Term
from unnaive.bayes.evidence import weigh
from unnaive.bayes.scoring import probabilities
from unnaive.encode.coding import column_slots
from unnaive.explain.attributes import CERTAIN
from unnaive.explain.parts import Part, Reading
from unnaive.explain.quality import labelled_rows
from unnaive.explain.readings import RowEvidence, read_model
from unnaive.table import Block
from unnaive.table.kept import KeptBlock

ROWS = 1 << 15  # rows looked at together
LARGE = 1e6  # scores with the penalty of an impossible value


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """How much each attribute matters on some rows.

    Attributes
    ----------
    features : tuple of str
    evidence : array of shape (attributes,)
        Mean absolute evidence: over the rows, the absolute weight of evidence for each class,
        weighted by the class's predicted probability. The tests of a tree and the gates of a
        mixture are not counted.
    drop : array of shape (attributes,)
        By how much the log loss rises if the attribute is missing in every row; NaN without labels.
        Negative where the model does better without it.
    log_loss : float
        With all attributes; NaN without labels.
    """

    features: tuple[str, ...]
    evidence: NDArray[np.float64]
    drop: NDArray[np.float64]
    log_loss: float

    @property
    def size(self) -> NDArray[np.float64]:
        """The rise in log loss where it is measured, else the evidence: (attributes,)."""
        return self.evidence if np.isnan(self.log_loss) else self.drop

    def __repr__(self) -> str:
        best = int(np.argmax(self.evidence))
        return f"Importance of {len(self.features)} attributes, first {self.features[best]!r}"


def importance_of(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Importance:
    """Mean evidence of each attribute on some rows, and the rise in log loss if it is missing.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or None, default=None
        Labels, for the rise in log loss.
    sample_weight : array-like of shape (n_samples,) or None, default=None

    Returns
    -------
    Importance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import importance_of
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target)
    >>> importance = importance_of(model, data.data, data.target)
    >>> importance.features[importance.evidence.argmax()]
    'petal width (cm)'
    """
    reading = read_model(model)
    block = KeptBlock(reading.block(X))
    features = tuple(reading.schema.label(j) for j in range(len(reading.schema)))
    labelled = None if y is None else labelled_rows(reading.classes, block.n_rows, y, sample_weight)
    weight = np.ones(block.n_rows) if labelled is None else labelled.weight
    evidence = np.zeros(len(features))
    for start in range(0, block.n_rows, ROWS):
        rows = slice(start, start + ROWS)
        evidence += _evidence(reading, block.slice(start, start + ROWS), weight[rows])
    evidence /= weight.sum()
    if labelled is None:
        return Importance(features, evidence, np.full(len(features), np.nan), np.nan)
    loss = labelled.log_loss(reading.answer.probabilities(block))
    drop = np.array([labelled.log_loss(p) for p in _without_each(reading, block)]) - loss
    return Importance(features, evidence, drop, loss)


def _evidence(
    reading: Reading, block: KeptBlock, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum over rows of the absolute evidence of each attribute, in the parts that answer."""
    out, total_share = np.zeros(len(block.schema)), np.zeros(block.n_rows)
    active = [a for a in reading.active_parts(block) if reading.part(a.part).role != "gate"]
    for one in active:
        total_share[one.rows] += one.share  # one, but for votes that are log odds
    for one in active:
        part, rows = reading.part(one.part), block.take(one.rows)
        trust = weight[one.rows] * one.share / total_share[one.rows]
        belief = probabilities(part.scorer.joint(rows))
        for j, weights in _column_weights(part, rows):
            strength = np.minimum(np.abs(weights), CERTAIN)
            out[j] += trust @ (strength * belief).sum(axis=1)
    return out


def _column_weights(part: Part, block: Block) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Weight of evidence of each attribute that says something: rows x labels."""
    if isinstance(part.scorer, RowEvidence):
        bars = weigh(part.scorer.evidence(block), part.scorer.log_prior)
        yield from ((j, bars[:, j]) for j in range(len(block.schema)))
        return
    for j, term in enumerate(part.scorer.terms):
        if term is not None:
            yield j, _weights(part, term, block, j)


def _weights(part: Part, term: Term, block: Block, j: int) -> NDArray[np.float64]:
    """Weight of evidence of one attribute of the rows: rows x labels."""
    prior = part.scorer.log_prior
    assert term is not None
    if isinstance(term, (GaussianTerm, KernelTerm)):
        logs = np.zeros((block.n_rows, len(prior)))
        term.adder(block, j)(slice(0, block.n_rows), logs)
        return weigh(logs, prior)
    # Values are fewer than rows: weigh each once.
    return weigh(term.logs, prior)[column_slots(block, j, term.coder)]


def _without_each(reading: Reading, block: KeptBlock) -> Iterator[NDArray[np.float64]]:
    """Probabilities of the classes if one column is missing in every row, for each column."""
    part = reading.part(reading.main)
    joint = part.scorer.joint(block) if part.role == "model" else None
    if joint is not None and (part.scorer.pairs or np.abs(joint).max() > LARGE):
        joint = None  # pairs go with their columns; large differences would round
    for j, term in enumerate(part.scorer.terms):
        gone = block.without(j)
        if joint is None:
            yield reading.answer.probabilities(gone)
            continue
        change = np.zeros(joint.shape)
        if term is not None:
            term.adder(block, j)(slice(0, block.n_rows), change)
            change *= -1.0
            term.adder(gone, j)(slice(0, block.n_rows), change)
        yield reading.combiner.fold(probabilities(joint + change))
