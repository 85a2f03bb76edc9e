"""Evidence for predictions: bars that add up, in one form for every answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.nodes import Calibrated, Folded, GatedMixture, Pool, Vote
from unnaive.answer.predict import joint, pooled_logs, share_rows
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence(Facts):
    """Why each row is predicted as it is: a baseline and bars that add up.

    Attributes
    ----------
    baseline : array of shape (rows, classes)
        Before any bar is added.
    bars : array of shape (rows, bars, classes)
        One bar for each column, then one for each pair of columns that the model knows; for models
        that vote, one for each member.
    names : list
        Names (or positions) of the columns, tuples of two for pairs; names of the members of a
        vote or a mixture.
    classes : array
        What is predicted: classes, or the (class, cluster) pairs of a decomposition.
    scale : {"log", "probability"}
        What the bars add up to: joint log probabilities, whose softmax are the probabilities, or
        the probabilities themselves.
    parts : tuple of Evidence
        Of members of a vote, and of gates and experts of a mixture: their bars by column.
    shares : array of shape (rows, parts)
        Share of each part in the answer for a row: its weight in the vote, its responsibility.
    part_names : tuple of str
    n_gates : int
        How many of the parts, the first ones, are gates.
    owner : array of shape (pairs,) or None
        Class number of each of the ``classes``, where these are (class, cluster) pairs.
    """

    PER_ROW: ClassVar = {"baseline": 0, "bars": 0, "shares": 0}

    baseline: NDArray[np.float64]
    bars: NDArray[np.float64]
    names: list[Any]
    classes: NDArray[Any]
    scale: Literal["log", "probability"]
    parts: tuple[Evidence, ...]
    shares: NDArray[np.float64]
    part_names: tuple[str, ...] = ()
    n_gates: int = 0
    owner: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.bars)

    @property
    def total(self) -> NDArray[np.float64]:
        """The baseline plus all bars, in their order: rows x classes.

        On the log scale this is `predict_joint_log_proba`, bit for bit.
        """
        return add_bars(self.baseline, self.bars)

    @property
    def outputs(self) -> NDArray[np.float64]:
        """Probabilities of ``classes`` that the bars add up to: rows x classes."""
        return probabilities(self.total) if self.scale == "log" else self.total

    def weights(self) -> tuple[list[Any], NDArray[np.float64]]:
        """Return the weight of evidence of columns, pairs and members without columns.

        A weight is log P(value | class) - log P(value | the other classes); of members, the mean
        by their shares. On the probability scale (trees of classes) it is the bar itself. Of
        (class, cluster) pairs, a class has the weights of its most probable cluster.

        Returns
        -------
        names : list
            As ``names``, of columns and pairs.
        weights : array of shape (rows, names, classes)
        """
        if not self.parts:
            log = self.scale == "log"
            bars = weigh(self.bars, self.baseline[:, None]) if log else self.bars
            return self.names, self._best_clusters(bars)
        members = [part.weights() for part in self.parts[self.n_gates :]]
        shares = self.shares[:, self.n_gates :]
        shares = shares / shares.sum(axis=1, keepdims=True)
        names = list(dict.fromkeys(name for own, _ in members for name in own))
        mean = np.zeros((len(self), len(names), members[0][1].shape[2]))
        for (own, weights), share in zip(members, shares.T, strict=True):
            mean[:, [names.index(name) for name in own]] += share[:, None, None] * weights
        return names, self._best_clusters(mean)

    def _best_clusters(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.owner is None:
            return weights
        own = self.owner[:, None] == np.arange(self.owner[-1] + 1)
        best = np.where(own, self.outputs[:, :, None], -1.0).argmax(axis=1)
        return np.take_along_axis(weights, best[:, None], axis=2)

    @property
    def _bar_names(self) -> list[str]:
        return [" x ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in self.names]

    def lines(self) -> Lines:
        """A line for each row: ``baseline_<class>``, then ``evidence_<name>_<class>`` of each bar.

        The bars of parts are left out.
        """
        names = ["baseline", *(f"evidence_{name}" for name in self._bar_names)]
        columns = [f"{name}_{label}" for name in names for label in self.classes]
        refuse_duplicates(columns)
        every = np.concatenate((self.baseline[:, None], self.bars), axis=1)
        values = every.reshape(len(every), len(columns)).T.copy()
        return Lines(dict(zip(columns, values, strict=True)))

    def _columns(self) -> Columns:
        rows, n_bars, n_classes = self.bars.shape
        return {
            "row": np.repeat(np.arange(rows), n_bars * n_classes),
            "name": [name for name in self._bar_names for _ in range(n_classes)] * rows,
            "class": [str(label) for label in self.classes] * (rows * n_bars),
            "bar": self.bars.ravel(),
        }

    def _preview(self) -> tuple[Columns, int]:
        first = replace(self, bars=self.bars[:SHOWN])
        return first._columns(), self.bars.size

    def _title(self) -> str:
        rows, bars, classes = self.bars.shape
        return f"Evidence: {bars} bars for {classes} classes in {rows} rows, {self.scale} scale"


@singledispatch
def evidence(
    node: Any,
    block: Block,  # noqa: ARG001
    classes: NDArray[Any],  # noqa: ARG001
    n_jobs: int | None = None,  # noqa: ARG001
) -> Evidence:
    """The bars of some rows by a node."""
    name = type(getattr(node, "estimator", node)).__name__
    raise TypeError(f"{name} has no evidence: it is not made of naive Bayes classifiers.")


def bars_of(
    scorer: Scorer, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """The bars of one naive Bayes."""
    baseline = np.tile(scorer.log_prior, (block.n_rows, 1))
    why = _by_column(baseline, scorer.evidence(block, n_jobs), block, classes)
    names = why.names
    pairs = [(names[pair.first], names[pair.second]) for pair in scorer.pairs]
    return replace(why, names=[*names, *pairs]) if pairs else why


def _by_column(
    baseline: NDArray[np.float64],
    bars: NDArray[np.float64],
    block: Block,
    classes: NDArray[Any],
    scale: Literal["log", "probability"] = "log",
) -> Evidence:
    shares = np.empty((block.n_rows, 0))
    return Evidence(baseline, bars, block.schema.names, classes, scale, (), shares)


@evidence.register
def _(
    node: EvidenceTable, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    return bars_of(node.scorer, block, classes, n_jobs)


@evidence.register
def _(
    node: BayesTree,
    block: Block,
    classes: NDArray[Any],
    n_jobs: int | None = None,  # noqa: ARG001
) -> Evidence:
    """The bars of the naive Bayes where a row stops."""
    return _by_column(*node.evidence(block), block, classes)


@evidence.register
def _(
    node: ClassTree,
    block: Block,
    classes: NDArray[Any],
    n_jobs: int | None = None,  # noqa: ARG001
) -> Evidence:
    """Change of the class shares by the tests on each column, along the row's path."""
    bars = node.contributions(block)
    return _by_column(
        np.tile(node.answer[0], (block.n_rows, 1)), bars, block, classes, "probability"
    )


@evidence.register
def _(
    node: ClassForest, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """What the tests on each column add to the log probabilities, along the row's paths."""
    baseline, bars = node.evidence(block, n_jobs)
    return _by_column(np.tile(baseline, (block.n_rows, 1)), bars, block, classes)


@evidence.register
def _(node: Vote, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    n, outputs = node.weights.size, node.n_outputs
    both = bars_of(node.scorer, block, classes, n_jobs)
    votes = node.votes(both.total)
    parts = tuple(
        replace(both, baseline=both.baseline[:, member], bars=both.bars[:, :, member])
        for member in (slice(k * outputs, (k + 1) * outputs) for k in range(n))
    )
    scale: Literal["log", "probability"] = "log" if node.join == "softmax" else "probability"
    shares = np.tile(node.shares, (block.n_rows, 1))
    names = [f"{node.member} {k}" for k in range(n)]
    baseline = np.zeros((block.n_rows, outputs))
    return Evidence(baseline, votes, names, classes, scale, parts, shares, tuple(names))


@evidence.register
def _(
    node: GatedMixture, block: Block, classes: NDArray[Any], n_jobs: int | None = None
) -> Evidence:
    """What each expert adds to the probabilities; gates come before experts among the parts."""
    shape, both = node.shape, bars_of(node.scorer, block, classes, n_jobs)
    weight = np.exp(share_rows(node, block, n_jobs)[0])
    labels = [as_objects(shape.children(g)) for g in range(shape.n_gates)]
    labels += [classes] * shape.n_experts
    parts = tuple(
        replace(both, baseline=both.baseline[:, units], bars=both.bars[:, :, units], classes=names)
        for units, names in zip(shape.models(), labels, strict=True)
    )
    shares = np.stack([weight[:, below].sum(axis=1) for below in shape.experts_below()], axis=1)
    experts = parts[shape.n_gates :]
    votes = [weight[:, e, None] * probabilities(part.total) for e, part in enumerate(experts)]
    bars, names = np.stack(votes, axis=1), [f"expert {e}" for e in range(shape.n_experts)]
    baseline = np.zeros((block.n_rows, shape.n_classes))
    every = tuple(shape.name(k) for k in range(shape.n_gates + shape.n_experts))
    members = (parts, shares, every, shape.n_gates)
    return Evidence(baseline, bars, names, classes, "probability", *members)


@evidence.register
def _(node: Folded, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """The bars of every (class, cluster) pair."""
    why = evidence(node.inner, block, as_objects(node.pairs(classes)), n_jobs)
    return replace(why, owner=node.owner if why.owner is None else node.owner[why.owner])


@evidence.register
def _(node: Pool, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """Bars of the columns and pairs of all members, weighted and added; one for each other member.

    Of a mean of probabilities, one bar for each member, whose own bars are the parts.
    """
    if node.join == "arithmetic":
        answers = [predict_probabilities(member, block, n_jobs) for member in node.members]
        bars = node.shares[:, None] * np.stack(answers, axis=1)
        baseline = np.zeros((block.n_rows, node.n_outputs))
        parts = tuple(evidence(member, block, classes, n_jobs) for member in node.members)
        members = (parts, np.tile(node.shares, (block.n_rows, 1)), node.names)
        return Evidence(baseline, bars, list(node.names), classes, "probability", *members)
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
        bars[:, :n] += weight * part.bars[:, :n]
        pairs = member.scorer.pairs if isinstance(member, EvidenceTable) else ()
        for k, pair in enumerate(pairs, n):
            bars[:, n + extra.index((pair.first, pair.second))] += weight * part.bars[:, k]
    why = _by_column(baseline, bars, block, classes)
    more = [bar if isinstance(bar, str) else (names[bar[0]], names[bar[1]]) for bar in extra]
    return replace(why, names=[*names, *more])


@evidence.register
def _(node: Calibrated, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
    """Bars on the log scale are scaled; those of probabilities are what is then calibrated."""
    why = evidence(node.inner, block, classes, n_jobs)
    if why.scale == "probability" or why.classes is not classes:
        return why
    bars = node.slope * why.bars
    scaled = replace(why, baseline=np.zeros_like(why.baseline), bars=bars)
    return replace(scaled, baseline=joint(node, block, n_jobs) - scaled.total)
