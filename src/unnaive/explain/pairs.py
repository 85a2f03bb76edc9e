"""Evidence of pairs of attributes: what two values say beside what each says alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.evidence import weigh
from unnaive.bayes.scoring import PairTerm
from unnaive.common.facts import Columns, Facts
from unnaive.discretize.words import slot_words
from unnaive.explain.parts import Part, label_names
from unnaive.table import Schema


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
    """

    columns: tuple[str, str]
    term: PairTerm
    values: tuple[tuple[str, ...], tuple[str, ...]]
    logs: NDArray[np.float64]
    weights: NDArray[np.float64]
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        """Both attributes."""
        return pair_name(*self.columns)

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


def pair_evidence(part: Part, schema: Schema, term: PairTerm) -> PairEvidence:
    """The facts of one pair of a part."""
    first, second = (slot_words(coder, schema[position]) for position, coder in term.columns)
    return PairEvidence(
        (schema.label(term.first), schema.label(term.second)),
        term,
        (first, second),
        term.logs,
        weigh(term.logs, part.scorer.log_prior),
        label_names(part.labels),
    )
