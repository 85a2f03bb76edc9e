"""Evidence for predictions: contributions that add up, in one form for every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.nodes import Calibrated, Folded, GatedMixture, Pool, Vote
from unnaive.answer.predict import first_pairs, pooled_logs, share_rows
from unnaive.answer.predict import probabilities as predict_probabilities
from unnaive.answer.tree import BayesTree
from unnaive.bayes import Scorer
from unnaive.bayes.evidence import add_bars, weigh
from unnaive.bayes.scoring import probabilities
from unnaive.common.facts import SHOWN, Columns, Facts
from unnaive.table import Block
from unnaive.table.answers import Lines
from unnaive.table.codes import as_objects
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

    def top(
        self, n: int, target_class: int | NDArray[np.intp] | None = None
    ) -> tuple[list[Any], NDArray[np.intp], NDArray[np.float64]]:
        """Return the n terms with the strongest weights of evidence about a class, for every row.

        Parameters
        ----------
        n : int
        target_class : int, array of shape (rows,) or None, default=None
            Number of the class; None is the most probable one of each row.

        Returns
        -------
        terms : list
            The terms of `weights`.
        order : array of shape (rows, n)
            Positions of the strongest terms, the strongest first.
        weights : array of shape (rows, n)
            Their weights.
        """
        chosen = self.total().argmax(axis=1) if target_class is None else target_class
        chosen = np.broadcast_to(chosen, len(self))[:, None, None]
        terms, every = self.weights()
        weights = np.take_along_axis(every, chosen, axis=2)[:, :, 0]
        order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :n]
        return terms, order, np.take_along_axis(weights, order, axis=1)

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


@singledispatch
def evidence(
    node: Any,
    block: Block,  # noqa: ARG001
    classes: NDArray[Any],  # noqa: ARG001
    n_jobs: int | None = None,  # noqa: ARG001
) -> Evidence:
    """Return the evidence of some rows by a node."""
    name = type(getattr(node, "estimator", node)).__name__
    raise TypeError(f"{name} has no evidence: it is not made of naive Bayes classifiers.")


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


@evidence.register
def _(
    node: EvidenceTable, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    return scorer_evidence(node.scorer, block, classes, n_jobs)


@evidence.register
def _(
    node: BayesTree,
    block: Block,
    classes: NDArray[Any],
    n_jobs: int | None = None,  # noqa: ARG001
) -> Evidence:
    """Return the evidence of the naive Bayes where each row stops."""
    located = node.locate(block)
    baseline, contributions = node.evidence(block, located)
    return Evidence(baseline, contributions, block.schema.names, classes, node=located[1])


@evidence.register
def _(
    node: ClassTree,
    block: Block,
    classes: NDArray[Any],
    n_jobs: int | None = None,
) -> Evidence:
    """Return the change of the class shares by the tests on each column, along each row's path."""
    baseline = np.tile(node.answer[0], (block.n_rows, 1))
    changes, stops = node.contributions(block), node.apply(block, n_jobs)
    return Evidence(baseline, changes, block.schema.names, classes, "identity", node=stops)


@evidence.register
def _(
    node: ClassForest, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """Return what the tests on each column add to the log probabilities, along the paths."""
    baseline, contributions = node.evidence(block, n_jobs)
    baseline = np.tile(baseline, (block.n_rows, 1))
    return Evidence(baseline, contributions, block.schema.names, classes)


@evidence.register
def _(node: Vote, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    n, outputs = node.weights.size, node.n_outputs
    both = scorer_evidence(node.scorer, block, classes, n_jobs)
    votes = node.votes(both.total())
    units = [slice(k * outputs, (k + 1) * outputs) for k in range(n)]
    members = [_select(both, unit, classes) for unit in units]
    link: Link = "softmax" if node.join == "softmax" else "identity"
    names = [f"{node.member} {k}" for k in range(n)]
    return member_evidence(votes, names, classes, link, members, node.shares)


def _select(both: Evidence, units: Any, classes: NDArray[Any]) -> Evidence:
    """Return the evidence of one of several models that are scored together."""
    bars = both.contributions[:, :, units]
    return replace(both, baseline=both.baseline[:, units], contributions=bars, classes=classes)


@evidence.register
def _(
    node: GatedMixture, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """Return what each expert adds to the probabilities; gates come first among the members."""
    shape, both = node.shape, scorer_evidence(node.scorer, block, classes, n_jobs)
    weight = np.exp(share_rows(node, block, n_jobs)[0])
    labels = [as_objects(shape.children(g)) for g in range(shape.n_gates)]
    labels += [classes] * shape.n_experts
    members = [_select(both, *each) for each in zip(shape.models(), labels, strict=True)]
    shares = np.stack([weight[:, below].sum(axis=1) for below in shape.experts_below()], axis=1)
    experts = [member.probabilities() for member in members[shape.n_gates :]]
    votes = weight[:, :, None] * np.stack(experts, axis=1)
    names = [shape.name(k) for k in range(len(members))]
    terms = names[shape.n_gates :]
    why = member_evidence(votes, terms, classes, "identity", members, shares)
    return replace(why, member_names=tuple(names), n_gates=shape.n_gates)


@evidence.register
def _(node: Folded, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """Return what every (class, cluster) pair adds to the probability of its class."""
    pairs = node.pairs(classes)
    inner = evidence(node.inner, block, as_objects(pairs), n_jobs)
    p = inner.probabilities()
    if node.method == "max":
        most = np.maximum.reduceat(p, first_pairs(node), axis=1)
        first = np.stack([np.where(node.owner == c, p, -1.0).argmax(axis=1) for c in node.owner], 1)
        p = np.where(first == np.arange(len(pairs)), p, 0.0) / most.sum(axis=1, keepdims=True)
    each = p[:, :, None] * np.eye(node.n_outputs)[node.owner]
    why = member_evidence(each, pairs, classes, "identity", [inner], np.ones(1))
    return replace(why, member_names=("clusters",), class_index=node.owner)


@evidence.register
def _(node: Pool, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """Return the contributions of the columns and pairs of members that have them, weighted and
    added, and of every other member; where no member has them, and of a mean of probabilities, the
    contributions of the members.
    """
    arithmetic = node.join == "arithmetic"
    if arithmetic or not any(node.itemized):
        ask = predict_probabilities if arithmetic else pooled_logs
        weights = node.shares if arithmetic else node.weights
        answers = [ask(member, block, n_jobs) for member in node.members]
        bars = weights[:, None] * np.stack(answers, axis=1)
        members = [evidence(member, block, classes, n_jobs) for member in node.members]
        link: Link = "identity" if arithmetic else "softmax"
        baseline = np.tile(node.intercept, (block.n_rows, 1))
        return member_evidence(bars, node.names, classes, link, members, weights, baseline)
    names, extra = block.schema.names, node.extra_bars
    n = len(names)
    bars = np.zeros((block.n_rows, n + len(extra), node.n_outputs))
    baseline = np.tile(node.intercept, (block.n_rows, 1))
    for member, name, weight, itemized in zip(
        node.members, node.names, node.weights.tolist(), node.itemized, strict=True
    ):
        if not itemized:
            bars[:, n + extra.index(name)] += weight * pooled_logs(member, block, n_jobs)
            continue
        part = evidence(member, block, classes, n_jobs)
        baseline += weight * part.baseline
        bars[:, :n] += weight * part.contributions[:, :n]
        pairs = member.scorer.pairs if isinstance(member, EvidenceTable) else ()
        for k, pair in enumerate(pairs, n):
            at = n + extra.index((pair.first, pair.second))
            bars[:, at] += weight * part.contributions[:, k]
    more = [bar if isinstance(bar, str) else (names[bar[0]], names[bar[1]]) for bar in extra]
    return Evidence(baseline, bars, [*names, *more], classes)


@evidence.register
def _(node: Calibrated, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """Return the contribution of what is calibrated, or its contributions by column."""
    one = Pool((node.inner,), ("model",), np.array([node.slope]), node.intercept, "geometric")
    return evidence(one, block, classes, n_jobs)
