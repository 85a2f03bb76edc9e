"""How every kind of answer becomes naive Bayes parts.

A table of evidence has one part; a tree has one at every node, of which one answers for a row;
members of a vote all answer; experts answer by their responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import (
    Answer,
    BayesTree,
    Calibrated,
    ClassForest,
    ClassTree,
    EvidenceTable,
    Folded,
    Foreign,
    GatedMixture,
    Pool,
    Vote,
)
from unnaive.answer.evidence import evidence
from unnaive.answer.predict import probabilities, share_rows
from unnaive.answer.tree import Tree
from unnaive.bayes import Scorer
from unnaive.bayes.evidence import add_bars
from unnaive.bayes.kernels import IMPOSSIBLE
from unnaive.bayes.scoring import LEAST_LOG, add_scorers
from unnaive.explain.parts import ActivePart, Combiner, Part, Parts, Reading, Role
from unnaive.models.wrapped import look_inside
from unnaive.table import Block
from unnaive.table.codes import as_objects
from unnaive.table.kept import KeptBlock


def read_model(model: Any) -> Reading:
    """A fitted model as naive Bayes parts.

    Parameters
    ----------
    model : fitted estimator, or a `Reading`, which is returned as it is

    Returns
    -------
    Reading

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NBTreeClassifier
    >>> from unnaive.explain import read_model
    >>> X, y = load_iris(return_X_y=True)
    >>> reading = read_model(NBTreeClassifier(max_depth=0, random_state=0).fit(X, y))
    >>> reading.part(0)
    Part 'node 0': 3 labels, 4 attributes
    """
    if isinstance(model, Reading):
        return model
    check_is_fitted(model)
    inside = look_inside(model)
    model, answer = inside.model, getattr(inside.model, "answer_", None)
    if not isinstance(answer, Answer) or isinstance(answer.core, Foreign):
        core = getattr(getattr(answer, "core", None), "estimator", model)
        raise TypeError(
            f"{type(core).__name__} is not made of naive Bayes parts, so there is no evidence to "
            "show; classifiers of this library are, also inside a ClassDecompositionClassifier, an "
            "AutoClassifier, a Pipeline, a search or a classifier with a threshold."
        )
    return replace(read_answer(answer), model=model, prepare=inside.read)


def read_answer(answer: Answer) -> Reading:
    """An answer as naive Bayes parts, without its model: for rows that are read already."""
    return Reading(None, answer, parts_of(answer.core, answer.labels))


@singledispatch
def parts_of(node: Any, labels: NDArray[Any]) -> Parts:  # noqa: ARG001
    """The naive Bayes parts of a node that predicts some labels."""
    raise TypeError(f"a {type(node).__name__} is not made of naive Bayes parts.")


@parts_of.register
def _(node: EvidenceTable, labels: NDArray[Any]) -> Parts:
    counts = node.counts
    direct = not node.boosted and not node.is_calibrated and not node.edits
    weight = np.nan if counts is None else float(counts.totals.sum())
    votes = 1.0 if node.rounds is None else node.rounds
    given = (node.scorer, counts, weight, direct, *_factors(node, votes), node.errors)
    return _one_part(Part("naive Bayes", "model", labels, *given))


def _one_part(part: Part) -> Parts:
    """A part that answers for all rows alone."""

    def active_parts(block: Block) -> list[ActivePart]:
        return [ActivePart(0, np.arange(block.n_rows), np.ones(block.n_rows))]

    return Parts((part.name,), lambda _: part, 0, active_parts)


def _factors(
    node: EvidenceTable | BayesTree, votes: float = 1.0
) -> tuple[float, NDArray[np.float64] | None]:
    """What all evidence of a part is multiplied by, and that of each attribute."""
    return (votes if node.columns is not None else votes * node.slope), node.columns


@parts_of.register
def _(node: Vote, labels: NDArray[Any]) -> Parts:
    """Members all answer for every row; their mean evidence is a summary."""
    n, n_classes, role = node.weights.size, node.n_outputs, node.member
    shares = node.shares
    names = (*_numbered(role, n), "all together")
    weight = np.nan if node.counts is None else float(node.counts.totals.sum())

    def scorer(k: int) -> Scorer:
        return node.scorer.select(np.arange(k * n_classes, (k + 1) * n_classes))

    def part(k: int) -> Part:
        if k < n:
            return Part(names[k], role, labels, scorer(k), node.counts, weight, False)
        mean_scorer = add_scorers([scorer(i) for i in range(n)], shares / shares.sum())
        return Part(names[k], "summary", labels, mean_scorer, node.counts, weight, False)

    def active_parts(block: Block) -> list[ActivePart]:
        every = np.arange(block.n_rows)
        return [
            ActivePart(k, every, np.full(block.n_rows, share)) for k, share in enumerate(shares)
        ]

    combiner = Combiner(node.cast, node.join == "softmax")
    return Parts(names, cache(part), n, active_parts, combiner)


@parts_of.register
def _(node: GatedMixture, labels: NDArray[Any]) -> Parts:
    shape, units, totals = node.shape, node.shape.models(), node.counts.totals
    gates = shape.n_gates
    names = tuple(shape.name(k) for k in range(gates + shape.n_experts))

    def part(k: int) -> Part:
        role: Role = "gate" if k < gates else "expert"
        part_labels = as_objects(shape.children(k)) if k < gates else labels
        scorer, counts = node.scorer.select(units[k]), node.counts.select_groups(units[k])
        return Part(names[k], role, part_labels, scorer, counts, float(totals[units[k]].sum()))

    def active_parts(block: Block) -> list[ActivePart]:
        shares, every = np.exp(share_rows(node, block)[0]), np.arange(block.n_rows)
        return [
            ActivePart(k, every, shares[:, below].sum(axis=1))
            for k, below in enumerate(shape.experts_below())
        ]

    main = gates + int(np.argmax([totals[expert].sum() for expert in units[gates:]]))
    return Parts(names, cache(part), main, active_parts)


@parts_of.register
def _(node: BayesTree, labels: NDArray[Any]) -> Parts:
    weight = node.weight

    def part(n: int) -> Part:
        given = (node.scorer(n), node.node_counts(n), float(weight[n]), not node.is_calibrated)
        return Part(f"node {n}", "node", labels, *given, *_factors(node))

    def active_parts(block: Block) -> list[ActivePart]:
        stops = node.apply(block)
        return _at_nodes(np.arange(block.n_rows), stops, np.ones(block.n_rows))

    return Parts(_numbered("node", node.n_nodes), cache(part), 0, active_parts)


@parts_of.register
def _(node: ClassTree, labels: NDArray[Any]) -> Parts:
    no_terms, weight = (None,) * len(node.coders), node.weight

    def part(n: int) -> Part:
        """A naive Bayes without attributes: the shares of the node's classes."""
        answer = node.answer[n]
        logs = np.log(answer, out=np.full(len(answer), IMPOSSIBLE), where=answer > 0)
        return Part(f"node {n}", "node", labels, Scorer(logs, no_terms), None, float(weight[n]))

    def active_parts(block: Block) -> list[ActivePart]:
        return _at_nodes(*node.stops(block))

    return Parts(_numbered("node", node.n_nodes), cache(part), 0, active_parts)


@dataclass(frozen=True, slots=True, eq=False)
class RowEvidence(Scorer):
    """A prior, and evidence that depends on the whole row, so that no term of a column holds it."""

    node: Any = None

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        prior = np.tile(self.log_prior, (block.n_rows, 1))
        return add_bars(prior, self.evidence(block, n_jobs))

    def evidence(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        if not (isinstance(self.node, Pool) and self.node.join == "arithmetic"):
            why = evidence(self.node, block, np.arange(len(self.log_prior)), n_jobs)
            if not why.members:
                return why.contributions
            columns = np.zeros((len(why), len(self.terms), len(self.log_prior)))
            return np.concatenate((columns, why.contributions), axis=1)
        bars = np.zeros((block.n_rows, len(self.terms) + 1, len(self.log_prior)))
        mean = probabilities(self.node, block, n_jobs)
        bars[:, -1] = np.log(np.maximum(mean, np.exp(LEAST_LOG)))
        return bars


@parts_of.register
def _(node: ClassForest, labels: NDArray[Any]) -> Parts:
    """One part, whose evidence is that of the tests along a row's paths."""
    return _one_part(_whole(node, "forest", labels))


@parts_of.register
def _(node: Pool, labels: NDArray[Any]) -> Parts:
    """Of a mean the parts of all members, where it divides into them; else one part that answers:
    what members say about columns and pairs, and what others say as a whole. Members whose evidence
    is a table are shown beside it, the one with most weight by default.
    """
    if node.divides:
        return _member_parts(node, labels)
    whole = _one_part(_whole(node, "pool", labels))
    tables = [
        m
        for m in np.argsort(-node.weights, kind="stable").tolist()
        if node.itemized[m] and isinstance(node.members[m], EvidenceTable)
    ]
    names = ("pool", *(node.names[m] for m in tables))

    def part(k: int) -> Part:
        if k == 0:
            return whole.part(0)
        member = parts_of(node.members[tables[k - 1]], labels).part(0)
        return replace(member, name=names[k], role="pool")

    return Parts(names, cache(part), min(1, len(tables)), whole.active_parts)


def _member_parts(node: Pool, labels: NDArray[Any]) -> Parts:
    """The parts of members, which answer for a row by their shares times the member's."""
    members = [parts_of(member, labels) for member in node.members]
    first = np.cumsum([0, *(len(member.names) for member in members)])
    names = tuple(
        owner if len(member.names) == 1 else f"{owner}, {name}"
        for owner, member in zip(node.names, members, strict=True)
        for name in member.names
    )

    def part(k: int) -> Part:
        m = int(np.searchsorted(first, k, side="right")) - 1
        return replace(members[m].part(k - int(first[m])), name=names[k], role="pool")

    def active_parts(block: KeptBlock) -> list[ActivePart]:
        return [
            ActivePart(int(start) + one.part, one.rows, share * one.share)
            for member, share, start in zip(members, node.shares, first[:-1], strict=True)
            for one in member.active_parts(block)
        ]

    return Parts(names, cache(part), members[0].main, active_parts)


def _whole(node: Any, role: Literal["forest", "pool"], labels: NDArray[Any]) -> Part:
    """A node as one part, whose evidence depends on the whole row."""
    scorer = RowEvidence(_baseline(node), (None,) * _n_columns(node), (), node)
    return Part(role, role, labels, scorer, None, np.nan, False)


def _n_columns(node: Any) -> int:
    while isinstance(node, (Pool, Folded, Calibrated)):
        node = node.members[0] if isinstance(node, Pool) else node.inner
    return len(node.coders if isinstance(node, (Tree, ClassForest)) else node.scorer.terms)


def _baseline(node: EvidenceTable | ClassForest | Pool) -> NDArray[np.float64]:
    """What is said before any column is known, the same for all rows."""
    if isinstance(node, EvidenceTable):
        return node.scorer.log_prior
    if isinstance(node, ClassForest):
        return node.log_baseline
    out = node.intercept.copy()
    for member, weight, itemized in zip(node.members, node.weights, node.itemized, strict=True):
        if itemized:
            assert isinstance(member, (EvidenceTable, ClassForest))
            out += weight * _baseline(member)
    return out


def _at_nodes(
    rows: NDArray[np.intp], nodes: NDArray[np.intp], shares: NDArray[np.float64]
) -> list[ActivePart]:
    """The nodes that rows stop at, each with its rows."""
    order = np.lexsort((rows, nodes))
    rows, nodes, shares = rows[order], nodes[order], shares[order]
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    ends = [*starts[1:].tolist(), len(nodes)]
    return [
        ActivePart(int(nodes[start]), rows[start:end], shares[start:end])
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def _numbered(word: str, n: int) -> tuple[str, ...]:
    return tuple(f"{word} {k}" for k in range(n))
