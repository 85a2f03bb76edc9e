"""The evidence of each value of each attribute for each class, in one naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_level
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.common.wording import counted
from unnaive.explain.attributes import AttributeEvidence, attribute_evidence
from unnaive.explain.pairs import PairEvidence, pair_evidence
from unnaive.explain.parts import Part, label_names
from unnaive.explain.readings import read_model
from unnaive.table import Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartEvidence(Facts):
    """The evidence of every attribute in one naive Bayes of a model.

    Attributes
    ----------
    part, role : str
        Name and role of the naive Bayes in the model; see `Part`.
    labels : array
        Classes, (class, cluster) pairs, or children of a gate.
    names : tuple of str
        The labels as text.
    log_prior : array of shape (labels,)
        The baseline, before any evidence.
    weight : float
        Weight of the training rows behind it.
    label_weight : array of shape (labels,)
        The same by label; NaN where the model keeps none.
    level : float
        Probability of the credible intervals.
    attributes : tuple of AttributeEvidence
        In the order of the table's columns.
    pairs : tuple of PairEvidence
        Of the pairs of attributes that have evidence beside theirs.
    """

    part: str
    role: str
    labels: NDArray[Any]
    names: tuple[str, ...]
    log_prior: NDArray[np.float64]
    weight: float
    label_weight: NDArray[np.float64]
    level: float
    attributes: tuple[AttributeEvidence, ...]
    pairs: tuple[PairEvidence, ...] = ()

    def __getitem__(self, name: str) -> AttributeEvidence:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(f"no attribute is named {name!r}.")

    def _columns(self) -> Columns:
        return join_columns([fact._columns() for fact in (*self.attributes, *self.pairs)])

    def _title(self) -> str:
        pairs = f", {counted(len(self.pairs), 'pair')}" if self.pairs else ""
        return (
            f"Evidence in {self.part!r}: {counted(len(self.attributes), 'attribute')}{pairs}, "
            f"{counted(len(self.labels), 'class', 'classes')}"
        )

    def reasons(self) -> dict[str, list[str]]:
        """Names of the attributes without evidence, by why they have none."""
        names: dict[str, list[str]] = {}
        for attribute in self.attributes:
            if attribute.reason:
                names.setdefault(attribute.reason, []).append(attribute.name)
        return names

    def ranked(self) -> list[AttributeEvidence]:
        """The attributes, the most important first."""
        return sorted(self.attributes, key=lambda attribute: -attribute.importance)


def evidence_of(model: Any, part: int | str | None = None, *, level: float = 0.95) -> PartEvidence:
    """Evidence of each attribute value for each class, with counts and credible intervals.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
    part : int, str or None, default=None
        Which naive Bayes of the model: a node of a tree (its root by default), "bag 3", "round 0",
        "gate 0", "expert 1". By default, the mean evidence of bags or rounds that vote, and the
        expert with most rows.
    level : float, default=0.95
        Probability of the credible intervals.

    Returns
    -------
    PartEvidence

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import evidence_of
    >>> model = NaiveBayesClassifier().fit([["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 0])
    >>> letter = evidence_of(model).attributes[0]
    >>> for value, weight, rows in zip(letter.values, letter.weights[:, 1], letter.counts[:, 1]):
    ...     print(f"{value:8}{weight:+.2f}, {rows:g} rows")
    missing +0.00, 0 rows
    a       -0.92, 0 rows
    b       +0.69, 1 rows
    unseen  +0.00, 0 rows
    """
    reading = read_model(model)
    check_level(level)
    return part_evidence(reading.find(part), reading.schema, level)


def part_evidence(part: Part, schema: Schema, level: float) -> PartEvidence:
    """The facts of one part."""
    scorer, n_labels = part.scorer, len(part.labels)
    totals = np.full(n_labels, np.nan) if part.counts is None else part.counts.totals
    attributes = tuple(
        attribute_evidence(part, schema, j, term, level) for j, term in enumerate(scorer.terms)
    )
    return PartEvidence(
        part.name,
        part.role,
        part.labels,
        label_names(part.labels),
        scorer.log_prior,
        part.weight,
        totals,
        level,
        attributes,
        tuple(pair_evidence(part, schema, pair, attributes) for pair in scorer.pairs),
    )
