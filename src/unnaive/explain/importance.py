"""Importance of attributes: their mean evidence, and the rise in log loss without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, KernelTerm, Term
from unnaive.bayes.evidence import CERTAIN, weigh
from unnaive.bayes.scoring import probabilities
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.encode.coding import column_slots
from unnaive.explain.labelled import labelled_rows
from unnaive.explain.parts import Part, Reading
from unnaive.explain.readings import RowEvidence, read_model
from unnaive.explain.reasons import bar_names
from unnaive.explain.repeated import repeated_evidence
from unnaive.table import Block
from unnaive.table.kept import KeptBlock

ROWS = 1 << 15  # rows looked at together
LARGE = 1e6  # scores with the penalty of an impossible value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Importance(Facts):
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
    by : {"evidence", "loss"}
        What attributes are ranked by.
    notes : tuple of str
        What to know about each attribute: that it is counted twice with another one. "" where
        there is nothing to say, or no labels to tell by.
    pairs : tuple of str
        Pairs of attributes that have evidence beside theirs.
    pair_evidence : array of shape (pairs,)
        Mean absolute evidence of the pairs.
    """

    features: tuple[str, ...]
    evidence: NDArray[np.float64]
    drop: NDArray[np.float64]
    log_loss: float
    by: str
    notes: tuple[str, ...]
    pairs: tuple[str, ...]
    pair_evidence: NDArray[np.float64]

    @property
    def size(self) -> NDArray[np.float64]:
        """What attributes are ranked by: (attributes,)."""
        return self.evidence if self.by == "evidence" else self.drop

    @property
    def order(self) -> NDArray[np.intp]:
        """The attributes, the most important first."""
        return np.argsort(-self.size, kind="stable")

    def _columns(self) -> Columns:
        unknown = np.full(len(self.pairs), np.nan)
        evidence = np.concatenate((self.evidence, self.pair_evidence))
        drop = np.concatenate((self.drop, unknown))
        names, notes = (*self.features, *self.pairs), (*self.notes, *("" for _ in self.pairs))
        size = np.nan_to_num(evidence if self.by == "evidence" else drop, nan=-np.inf)
        order = np.argsort(-size, kind="stable")
        return {
            "column": [names[k] for k in order],
            "evidence": evidence[order],
            "rise_in_log_loss": drop[order],
            "note": [notes[k] for k in order],
        }

    def _title(self) -> str:
        ranked = "mean absolute evidence" if self.by == "evidence" else "rise in log loss without"
        return f"Importance of {counted(len(self.features), 'attribute')}, by {ranked}"


def importance_of(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, by: str = "evidence"
) -> Importance:
    """Mean evidence of each attribute on some rows, and the rise in log loss if it is missing.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or None, default=None
        Labels, for the rise in log loss.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    by : {"evidence", "loss"}, default="evidence"
        What attributes are ranked by: what their values say, or the rise in log loss without them.
        The latter needs labels. It is small, or below zero, for attributes that others repeat: in
        naive Bayes their evidence is counted twice, which ``notes`` say.

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
    >>> importance.features[importance.order[0]]
    'petal width (cm)'
    """
    if by not in ("evidence", "loss"):
        raise ValueError(f"by must be 'evidence' or 'loss'; got {by!r}.")
    if by == "loss" and y is None:
        raise ValueError("by='loss' needs labels: pass y.")
    reading = read_model(model)
    block = KeptBlock(reading.block(X))
    features = tuple(reading.schema.label(j) for j in range(len(reading.schema)))
    labelled = None if y is None else labelled_rows(reading.classes, block.n_rows, y, sample_weight)
    weight = np.ones(block.n_rows) if labelled is None else labelled.weight
    evidence = np.zeros(len(features) + len(reading.answer.extra_bars))
    for start in range(0, block.n_rows, ROWS):
        rows = slice(start, start + ROWS)
        evidence += _evidence(reading, block.slice(start, start + ROWS), weight[rows])
    evidence, of_pairs = np.split(evidence / weight.sum(), [len(features)])
    pairs = bar_names(reading)[len(features) :]
    loss, drop = np.nan, np.full(len(features), np.nan)
    notes: tuple[str, ...] = ("",) * len(features)
    if labelled is not None:
        loss = labelled.log_loss(reading.answer.probabilities(block))
        drop = np.array([labelled.log_loss(p) for p in _without_each(reading, block)]) - loss
        notes = repeated_evidence(reading, block, labelled.groups, evidence)
    return Importance(features, evidence, drop, loss, by, notes, pairs, of_pairs)


def _evidence(
    reading: Reading, block: KeptBlock, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum over rows of the absolute evidence of each attribute, in the parts that answer."""
    n_bars = len(block.schema) + len(reading.answer.extra_bars)
    out, total_share = np.zeros(n_bars), np.zeros(block.n_rows)
    active = [a for a in reading.active_parts(block) if reading.part(a.part).role != "gate"]
    for one in active:
        total_share[one.rows] += one.share  # one, but for votes that are log odds
    for one in active:
        part, rows = reading.part(one.part), block.take(one.rows)
        trust = weight[one.rows] * one.share / total_share[one.rows]
        belief = probabilities(part.scorer.joint(rows))
        for k, weights in _bar_weights(part, rows):
            if k < n_bars:
                strength = np.minimum(np.abs(weights), CERTAIN)
                out[k] += trust @ (strength * belief).sum(axis=1)
    return out


def _bar_weights(part: Part, block: Block) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Weight of evidence of every bar that says something: rows x labels."""
    scorer = part.scorer
    if isinstance(scorer, RowEvidence):
        bars = weigh(scorer.evidence(block), scorer.log_prior)
        yield from ((k, bars[:, k]) for k in range(bars.shape[1]))
        return
    for j, term in enumerate(scorer.terms):
        if term is not None:
            yield j, _weights(part, term, block, j)
    for k, pair in enumerate(scorer.pairs, len(scorer.terms)):
        slots = (column_slots(block, j, coder) for j, coder in pair.columns)
        yield k, weigh(pair.logs, scorer.log_prior)[tuple(slots)]


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
