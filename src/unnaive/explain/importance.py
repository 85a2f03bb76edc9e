"""Importance of columns: their mean evidence, the rise in log loss without them, redundancy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import TableTerm
from unnaive.bayes.evidence import CERTAIN
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.counts.table import information_of
from unnaive.encode.coders import column_slots
from unnaive.explain.model import ModelParts, read_model
from unnaive.explain.quality import labelled_rows
from unnaive.explain.rows import chunks, feature_names
from unnaive.table.block import KeptBlock


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Importance(Facts):
    """How much each attribute matters on some rows.

    Attributes
    ----------
    features : tuple of str
    evidence : array of shape (attributes,)
        Mean absolute evidence: over the rows, the absolute weight of evidence for each class,
        weighted by the class's predicted probability. Of naive Bayes trees it is that of the node
        where a row stops, without the tests; of mixtures that of the experts, without the gates; in
        C4.5 trees, by how much the tests on the column change probabilities.
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
        Pairs of attributes that have evidence beside theirs, and members without columns.
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
    """Return the mean evidence of each attribute on some rows and its rise in log loss.

    Parameters
    ----------
    model : fitted classifier
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
    read = read_model(model)
    answer, block = read.answer, KeptBlock(read.block(X))
    labelled = None if y is None else labelled_rows(read.classes, block.n_rows, y, sample_weight)
    weight = np.ones(block.n_rows) if labelled is None else labelled.weight
    n, names, total = len(read.schema), list(read.schema.names), 0.0
    for rows, part in chunks(answer, block):
        names, weights = answer.evidence(part).weights()
        strength = np.minimum(np.abs(weights), CERTAIN)
        mean = np.einsum("itc,ic->it", strength, answer.probabilities(part))
        total += weight[rows] @ mean
    evidence, of_pairs = np.split(total / weight.sum(), [n])
    features = feature_names(read.schema, names)
    loss, drop, notes = np.nan, np.full(n, np.nan), ("",) * n
    if labelled is not None:
        loss = labelled.log_loss(answer.probabilities(block))
        without = (answer.probabilities(block.without(j)) for j in range(n))
        drop = np.array([labelled.log_loss(p) for p in without]) - loss
        notes = _redundant(read, block, labelled.groups, evidence)
    return Importance(features[:n], evidence, drop, loss, by, notes, features[n:], of_pairs)


def _redundant(
    read: ModelParts, block: KeptBlock, groups: NDArray[np.intp], evidence: NDArray[np.float64]
) -> tuple[str, ...]:
    """Return for each column which other one says the same: "counted twice with ...", or "".

    Only of models that add the evidence of columns as if they were independent given the class.
    What two columns say about the class in common is I(A; C) + I(B; C) - I(A, B; C), by counts of
    the rows passed.
    """
    notes = [""] * len(read.schema)
    part = read.find(None)
    if part.role != "model" or not part.direct or block.n_rows == 0:
        return tuple(notes)
    # Of at most 50,000 rows, among the 20 most important columns.
    at = np.unique(np.linspace(0, block.n_rows - 1, 50_000).astype(np.intp))
    block, groups = block.take(at), groups[at]
    slots: dict[int, NDArray[Any]] = {}
    for j in np.argsort(-evidence, kind="stable")[:20].tolist():
        term = part.scorer.terms[j]
        if isinstance(term, TableTerm) and evidence[j] > 0:
            slots[j] = column_slots(block, j, term.coder).astype(np.intp)
    alone = {j: _information(codes, groups) for j, codes in slots.items()}
    best = dict.fromkeys(alone, 0.0)
    # Fewer nats about the class are not worth a remark.
    for a, b in combinations((j for j in alone if alone[j] >= 0.005), 2):
        width = int(slots[b].max()) + 1
        if (int(slots[a].max()) + 1) * width * (int(groups.max()) + 1) > 1 << 22:
            continue
        common = alone[a] + alone[b] - _information(slots[a] * width + slots[b], groups)
        for j, other in ((a, b), (b, a)):
            if common > max(best[j], 0.75 * alone[j]):
                best[j] = common
                notes[j] = f"counted twice with {read.schema.label(other)}"
    return tuple(notes)


def _information(codes: NDArray[np.intp], groups: NDArray[np.intp]) -> float:
    """Return the mutual information of two codes in nats."""
    width = int(groups.max()) + 1
    joint = np.bincount(codes * width + groups, minlength=(int(codes.max()) + 1) * width)
    return information_of(joint.reshape(-1, width))
