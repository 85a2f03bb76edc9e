"""Evidence of pairs of attributes: what two values say beside what each says alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.evidence import mean_strength, weigh
from unnaive.bayes.scoring import PairTerm, TableTerm, Term
from unnaive.common.facts import Columns, Facts
from unnaive.discretize.words import slot_words
from unnaive.encode import Bins, Categories
from unnaive.encode.coding import column_slots, slots_in
from unnaive.explain.attributes import AttributeEvidence
from unnaive.explain.parts import Part, label_names
from unnaive.table import Block, Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairEvidence(Facts):
    """Evidence of two attributes together, beside that of each alone.

    Attributes
    ----------
    columns : tuple of str
        The two attributes.
    term : PairTerm
        Where they stand, and how their values are numbered.
    values : tuple of two tuples of str
        Names of the values of either: missing, its values, unseen.
    logs : array of shape (values, values, labels)
        What is added to the log probability of each label.
    weights : array of shape (values, values, labels)
        Weight of evidence, for the label against all others.
    labels : tuple of str
        The labels as text.
    log_prior : array of shape (labels,)
    margins : tuple of two arrays of shape (values, labels)
        How frequent the values of either attribute are in each label; NaN where that is not known.
    """

    columns: tuple[str, str]
    term: PairTerm
    values: tuple[tuple[str, ...], tuple[str, ...]]
    logs: NDArray[np.float64]
    weights: NDArray[np.float64]
    labels: tuple[str, ...]
    log_prior: NDArray[np.float64]
    margins: tuple[NDArray[np.float64], NDArray[np.float64]]

    @property
    def name(self) -> str:
        """Both attributes."""
        return pair_name(*self.columns)

    @property
    def shares(self) -> NDArray[np.float64]:
        """How frequent two values are together in each label (values x values x labels), as if the
        attributes were independent in it: models keep no counts of pairs.
        """
        first, second = self.margins
        shares: NDArray[np.float64] = first[:, None, :] * second[None, :, :]
        return shares

    @property
    def importance(self) -> float:
        """Mean absolute evidence for the true label, over rows as frequent as ``shares``."""
        return mean_strength(self.weights, np.nan_to_num(self.shares), self.log_prior)

    def count(self, block: Block) -> NDArray[np.float64]:
        """How many rows of a block have each pair of values."""
        first, second = (
            column_slots(block, j, coder).astype(np.intp) for j, coder in self.term.columns
        )
        n, m = (len(names) for names in self.values)
        counts = np.bincount(first * m + second, minlength=n * m).reshape(n, m)
        return counts.astype(np.float64)

    def shown_slots(
        self, counts: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The values of either attribute to show: missing and unseen only if rows had them."""
        speaks = (np.abs(self.logs).max(axis=2) > 0) & (self.shares.max(axis=2) != 0)
        if counts is not None:
            speaks |= counts > 0
        shown = []
        for axis, names in enumerate(self.values):
            marked = speaks.any(axis=1 - axis)
            marked[1 : len(names) - 1] = True
            shown.append(np.flatnonzero(marked))
        return shown[0], shown[1]

    def _columns(self) -> Columns:
        first, second = self.values
        n_labels, cells = len(self.labels), len(first) * len(second)
        unknown = np.full(cells * n_labels, np.nan)
        both = [f"{a}, {b}" for a in first for b in second]
        return {
            "column": [self.name] * (cells * n_labels),
            "value": [value for value in both for _ in range(n_labels)],
            "class": list(self.labels) * cells,
            "evidence": self.weights.ravel(),
            "low": unknown,
            "high": unknown,
            "rows": unknown,
            "share": unknown,
        }

    def _title(self) -> str:
        first, second = self.values
        return f"Evidence of {self.name}: {len(first)} x {len(second)} values"


def pair_name(first: str, second: str) -> str:
    """What to call a pair of attributes."""
    return f"{first} x {second}"


def _margin(
    attribute: AttributeEvidence, term: Term, coder: Bins | Categories
) -> NDArray[np.float64]:
    """How frequent the values of an attribute are in each label, in a pair's numbering."""
    shares = attribute.distribution()
    margin = np.zeros((coder.size + 2, shares.shape[1]))
    if not isinstance(term, TableTerm):
        return np.full(margin.shape, np.nan)
    np.add.at(margin, slots_in(coder, term.coder)[: len(shares)], shares)  # numbers: no unseen
    return margin


def pair_evidence(
    part: Part, schema: Schema, term: PairTerm, attributes: Sequence[AttributeEvidence]
) -> PairEvidence:
    """The facts of one pair of a part, beside those of its attributes."""
    first, second = (slot_words(coder, schema[position]) for position, coder in term.columns)
    one, two = (_margin(attributes[j], part.scorer.terms[j], coder) for j, coder in term.columns)
    return PairEvidence(
        (schema.label(term.first), schema.label(term.second)),
        term,
        (first, second),
        term.logs,
        weigh(term.logs, part.scorer.log_prior),
        label_names(part.labels),
        part.scorer.log_prior,
        (one, two),
    )
