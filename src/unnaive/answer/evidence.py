"""Evidence for predictions: contributions that add up, in one form for every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.evidence import add_bars, weigh
from unnaive.bayes.scoring import probabilities
from unnaive.common.facts import SHOWN, Columns, Facts
from unnaive.table import Block
from unnaive.table.output import Lines
from unnaive.table.schema import refuse_duplicates

Link: TypeAlias = Literal["softmax", "identity"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence(Facts):
    """Evidence for the predictions of rows: a baseline and contributions that add up.

    Contributions are those of columns and pairs of columns, or those of members: then the evidence
    of each member by itself is among ``members``.

    Attributes
    ----------
    baseline : array of shape (rows, classes)
        Scores before any contribution is added.
    contributions : array of shape (rows, terms, classes)
    terms : list
        Names (or positions) of the columns, tuples of two for pairs, names of members; (class,
        cluster) pairs of a class decomposition.
    classes : array
    link : {"softmax", "identity"}
        What the sum is: scores, whose softmax are the probabilities, or the probabilities.
    members : tuple of Evidence
        Evidence of the members of an ensemble, of the gates and experts of a mixture, or of the
        clusters of a class decomposition.
    member_names : tuple of str
    member_weights : array of shape (rows, members) or None
        Weight of each member in an ensemble, responsibility of a gate or an expert for the row.
    n_gates : int
        How many of the members, the first ones, are gates, which have no contribution.
    class_index : array of shape (outputs,) or None
        Class number of each output of the members, where these are clusters of classes.
    node : array of shape (rows,) or None
        Node of a tree where each row stops.
    """

    PER_ROW: ClassVar = {"baseline": 0, "contributions": 0, "member_weights": 0, "node": 0}

    baseline: NDArray[np.float64]
    contributions: NDArray[np.float64]
    terms: list[Any]
    classes: NDArray[Any]
    link: Link = "softmax"
    members: tuple[Evidence, ...] = ()
    member_names: tuple[str, ...] = ()
    member_weights: NDArray[np.float64] | None = None
    n_gates: int = 0
    class_index: NDArray[np.intp] | None = None
    node: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.contributions)

    def total(self) -> NDArray[np.float64]:
        """Return the baseline plus all contributions, in their order: rows x classes."""
        return add_bars(self.baseline, self.contributions)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities that the evidence adds up to: rows x classes."""
        return probabilities(self.total()) if self.link == "softmax" else self.total()

    # Weights of evidence ----------------------------------------------------------------------

    def weights(self) -> tuple[list[Any], NDArray[np.float64]]:
        """Return the weights of evidence of columns, pairs, and members without columns.

        A weight is log P(value | class) - log P(value | the other classes), averaged over members
        by their weight in the answer for the row. Trees with class shares have changes of
        probabilities instead. Of the clusters of a class, the most probable one is taken.

        Returns
        -------
        terms : list
        weights : array of shape (rows, terms, classes)
        """
        if not self.members:
            if self.link == "identity":
                return self.terms, self.contributions
            return self.terms, weigh(self.contributions, self.baseline[:, None])
        members = self.members[self.n_gates :]
        each = [member.weights() for member in members]
        terms = list(dict.fromkeys(term for own, _ in each for term in own))
        out = np.zeros((len(self), len(terms), len(self.classes)))
        assert self.member_weights is not None
        shares = np.abs(self.member_weights[:, self.n_gates :])
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        for member, (own, of_member), share in zip(members, each, shares.T, strict=True):
            weights = of_member
            if self.class_index is not None:
                weights = _most_probable(of_member, member.total(), self.class_index)
            out[:, [terms.index(term) for term in own]] += share[:, None, None] * weights
        return terms, out

    # Tables -------------------------------------------------------------------------------------

    @property
    def _term_names(self) -> list[str]:
        return [" x ".join(map(str, t)) if isinstance(t, tuple) else str(t) for t in self.terms]

    def lines(self) -> Lines:
        """Return a line for each row: ``baseline_<class>``, then ``evidence_<term>_<class>``."""
        names = ["baseline", *(f"evidence_{name}" for name in self._term_names)]
        columns = [f"{name}_{label}" for name in names for label in self.classes]
        refuse_duplicates(columns)
        every = np.concatenate((self.baseline[:, None], self.contributions), axis=1)
        values = every.reshape(len(every), len(columns)).T.copy()
        return Lines(dict(zip(columns, values, strict=True)))

    def _columns(self) -> Columns:
        rows, n_terms, n_classes = self.contributions.shape
        return {
            "row": np.repeat(np.arange(rows), n_terms * n_classes),
            "term": [name for name in self._term_names for _ in range(n_classes)] * rows,
            "class": [str(label) for label in self.classes] * (rows * n_terms),
            "contribution": self.contributions.ravel(),
        }

    def _preview(self) -> tuple[Columns, int]:
        first = replace(self, contributions=self.contributions[:SHOWN])
        return first._columns(), self.contributions.size

    def _title(self) -> str:
        rows, terms, classes = self.contributions.shape
        return f"Evidence: {terms} terms for {classes} classes in {rows} rows, {self.link} link"


def _most_probable(
    weights: NDArray[np.float64], scores: NDArray[np.float64], class_index: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the weights of each class's most probable cluster: rows x terms x classes."""
    best = [
        np.where(class_index == c, scores, -np.inf).argmax(axis=1)
        for c in range(class_index.max() + 1)
    ]
    return np.take_along_axis(weights, np.stack(best, axis=1)[:, None], axis=2)


def scorer_evidence(
    scorer: Scorer, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """Return the evidence of one naive Bayes."""
    names = block.schema.names
    terms = [*names, *((names[pair.first], names[pair.second]) for pair in scorer.pairs)]
    baseline = np.tile(scorer.log_prior, (block.n_rows, 1))
    return Evidence(baseline, scorer.evidence(block, n_jobs), terms, classes)


def member_evidence(
    contributions: NDArray[np.float64],
    terms: Sequence[Any],
    classes: NDArray[Any],
    link: Link,
    members: Sequence[Evidence],
    weights: NDArray[np.float64],
    baseline: NDArray[np.float64] | None = None,
) -> Evidence:
    """Return evidence with one contribution of each member; weights may be those of all rows."""
    rows, _, n_classes = contributions.shape
    return Evidence(
        np.zeros((rows, n_classes)) if baseline is None else baseline,
        contributions,
        list(terms),
        classes,
        link,
        tuple(members),
        tuple(map(str, terms)),
        np.array(np.broadcast_to(weights, (rows, len(members)))),
    )


def select_outputs(both: Evidence, outputs: Any, classes: NDArray[Any]) -> Evidence:
    """Return the evidence of one of several models that are scored together."""
    contributions = both.contributions[:, :, outputs]
    return replace(
        both, baseline=both.baseline[:, outputs], contributions=contributions, classes=classes
    )
