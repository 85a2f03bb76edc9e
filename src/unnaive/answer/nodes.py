"""The node types of an answer: frozen data with methods, which nest.

Trees, forests and mixtures are nodes too, in modules of their own. SQL, the page and its text lie
outside of this package and dispatch on these types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unnaive.answer.edits import Edit, EditLayer
from unnaive.answer.evidence import (
    Evidence,
    Link,
    member_evidence,
    scorer_evidence,
    select_outputs,
)
from unnaive.bayes import Scorer, TableTerm, scoring
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.evidence import mean_strength, weigh
from unnaive.bayes.scoring import LEAST_LOG, LEAST_SHARE, PairTerm
from unnaive.bayes.values import (
    density_shares,
    logs_at,
    normalized,
    points_of,
    slot_counts,
    slot_shares,
)
from unnaive.common.checks import FINITE, check_factors, check_positive, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.table import EXTRA_SLOTS
from unnaive.encode.coding import slots_in
from unnaive.table import Block, Schema
from unnaive.table.codes import as_objects

T = TypeVar("T")
Cast: TypeAlias = Literal["probabilities", "winner"]
LARGEST = float(np.finfo(np.float32).max)
ROWS = 1 << 14  # rows that all members of a vote or a mixture score at a time


class Node(ABC):
    """A model as plain data: what scores rows, explains its scores, and may hold other nodes."""

    __slots__ = ()
    is_additive: ClassVar[bool] = False  # whether scores are a baseline plus terms of columns
    has_column_terms: ClassVar[bool] = False  # and whether the baseline is the same for all rows

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of classes, or of (class, cluster) pairs."""

    @abstractmethod
    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return log probabilities up to a constant of the row: rows x outputs."""
        return log(self.predict_proba(block, n_jobs))

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each output for each row."""
        return scoring.probabilities(self.scores(block, n_jobs), n_jobs)

    def predict_log_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the log probability of each output for each row."""
        return scoring.log_probabilities(self.scores(block, n_jobs))

    def predict_index(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Return the number of the most probable output of each row."""
        return self.predict_proba(block, n_jobs).argmax(axis=1)

    def bounded_scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return scores that may be weighted and added: without minus infinity."""
        if self.is_additive:
            return self.scores(block, n_jobs)
        return np.maximum(self.predict_log_proba(block, n_jobs), LEAST_LOG)

    def evidence(
        self,
        block: Block,  # noqa: ARG002
        classes: NDArray[Any],  # noqa: ARG002
        n_jobs: int | None = None,  # noqa: ARG002
    ) -> Evidence:
        """Return the evidence of some rows for outputs of these labels."""
        name = type(getattr(self, "estimator", self)).__name__
        raise TypeError(f"{name} has no evidence: it is not made of naive Bayes classifiers.")

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the mean absolute evidence of every column, over rows as the model expects them.

        Half of the evidence of a pair counts for each of its columns. The evidence of a tree's test
        is the change from the class shares of a node to those of its child.
        """
        raise TypeError(f"columns of a {type(self).__name__} have no importance.")

    def class_prior(self) -> NDArray[np.float64] | None:
        """Return the shares of the outputs in the training rows; None where they are unknown."""
        return None

    def calibrated(self, calibration: Calibration) -> Node:
        """Return this node with calibrated scores."""
        assert calibration.columns is None, "only evidence that adds up has columns"
        return Calibrated(self, calibration.slope, calibration.intercept)


def log(probable: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of probabilities: minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probable)


def normalized_totals(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights as shares of their sum."""
    return weight / weight.sum()


def in_chunks(
    block: Block, scorer: Scorer, fold: Callable[[NDArray[np.float64]], T], n_jobs: int | None
) -> list[T]:
    """Return the scores of several models at once, folded ROWS rows at a time."""

    def answer(start: int) -> T:
        return fold(scorer.joint(block.slice(start, start + ROWS)))

    return list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))


# Naive Bayes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceTable(Node):
    """One table of evidence: a prior, and one contribution per column.

    Attributes
    ----------
    scorer : Scorer
    counts : CountTable or None
        Weight of the training rows by class, in the slots of the scorer's coders.
    rounds : float or None
        Of boosting rounds that were added up, the sum of their votes.
    slope : float
        Calibration factor that is in the evidence; 1 without it.
    discriminative : bool
        Whether the evidence was trained to predict the classes, by gradient boosting, instead of
        being estimated from the counts.
    errors : tuple of arrays of shape (slots, classes)
        Standard error of the weight of evidence of every slot, for each column; empty where they
        are not known otherwise than by the counts.
    columns : array of shape (columns,) or None
        Calibration factors of the columns, where each has its own; the slope is then that of the
        prior alone.
    layer : EditLayer or None
        Corrections by experts, which are in the evidence, and what it was before them.
    """

    is_additive: ClassVar = True
    has_column_terms: ClassVar = True

    scorer: Scorer
    counts: CountTable | None = None
    rounds: float | None = None
    slope: float = 1.0
    discriminative: bool = False
    errors: tuple[NDArray[np.float32], ...] = ()
    columns: NDArray[np.float64] | None = None
    layer: EditLayer | None = None

    def check(self) -> None:
        """Check that the counts and errors match the evidence."""
        check_counts(self.counts, self.scorer, self.n_outputs)
        expect(len(self.errors) in (0, len(self.scorer.terms)), "columns and errors differ.")
        for error, term in zip(self.errors, self.scorer.terms, strict=False):
            slots = len(term.logs) if isinstance(term, TableTerm) and error.size else 0
            check_values("errors", error, (slots, self.n_outputs), 0.0, LARGEST)
        if self.rounds is not None:
            expect(abs(self.rounds) <= FINITE, f"rounds is {self.rounds}, not a finite number.")
        check_positive("slope", self.slope)
        check_factors("columns", self.columns, len(self.scorer.terms))

    @property
    def n_outputs(self) -> int:
        return len(self.scorer.log_prior)

    @property
    def boosted(self) -> bool:
        """Whether boosting made the evidence, so that it does not follow from the counts."""
        return self.discriminative or self.rounds is not None

    @property
    def is_calibrated(self) -> bool:
        return self.slope != 1.0 or self.columns is not None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The corrections by experts, in their order."""
        return () if self.layer is None else self.layer.edits

    def check_columns(self, schema: Schema) -> None:
        self.scorer.check_columns(schema, self.n_outputs)
        if self.layer is not None:
            before = replace(self, scorer=self.layer.scorer, errors=self.layer.errors, layer=None)
            before.check()
            before.check_columns(schema)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.scorer.joint(block, n_jobs)

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        return scorer_evidence(self.scorer, block, classes, n_jobs)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        return scorer_importances(self.scorer, self.counts, schema)

    def class_prior(self) -> NDArray[np.float64] | None:
        return None if self.counts is None else normalized_totals(self.counts.totals)

    def calibrated(self, calibration: Calibration) -> EvidenceTable:
        return replace(
            self,
            scorer=self.scorer.calibrated(calibration),
            slope=calibration.slope * self.slope,
            columns=column_factors(self.slope, self.columns, calibration),
        )


def column_factors(
    slope: float, columns: NDArray[np.float64] | None, calibration: Calibration
) -> NDArray[np.float64] | None:
    """Return the factors of columns after one more calibration; None where one serves for all."""
    if calibration.columns is None:
        return None if columns is None else calibration.slope * columns
    return calibration.columns * (slope if columns is None else columns)


def check_counts(counts: CountTable | None, scorer: Scorer, n_groups: int) -> None:
    """Check that counts match the evidence."""
    if counts is not None:
        n, n_columns = counts.n_attributes, len(scorer.terms)
        expect(n == n_columns, f"counts have {n} columns, but the evidence has {n_columns}.")
        expect(counts.n_groups == n_groups, f"counts have {counts.n_groups} of {n_groups} classes.")
        for term, slots in zip(scorer.terms, np.diff(counts.offsets), strict=True):
            if isinstance(term, TableTerm) and slots > EXTRA_SLOTS:
                same = len(term.logs) == slots
                expect(same, "counts of a column have other values than its evidence.")


def scorer_importances(
    scorer: Scorer, counts: CountTable | None, schema: Schema
) -> NDArray[np.float64]:
    """Return the mean absolute evidence of every column of one naive Bayes."""
    prior = scorer.log_prior
    out = np.zeros(len(schema))
    for j, term in enumerate(scorer.terms):
        if term is None:
            continue
        if isinstance(term, TableTerm):
            logs = term.logs
            shares = slot_shares(slot_counts(counts, j, len(logs), logs.shape[1]), logs)
        else:
            points = logs_at(term, schema[j], points_of(term, schema[j]))
            logs = np.vstack((term.missing, points))
            missing = np.zeros(len(prior))
            if counts is not None:
                missing = normalized(slot_counts(counts, j, 3, len(prior))[:2])[0]
            shares = density_shares(missing, np.exp(points - term.log_weight))
        out[j] = mean_strength(weigh(logs, prior), shares, prior)
    for pair, size in zip(scorer.pairs, pair_strengths(scorer, counts), strict=True):
        out[[pair.first, pair.second]] += size / 2.0
    return out


def pair_strengths(scorer: Scorer, counts: CountTable | None) -> list[float]:
    """Return the mean absolute evidence of every pair, its columns independent given the class."""
    sizes = []
    for pair in scorer.pairs:
        first, second = (_pair_shares(scorer, counts, pair, k) for k in (0, 1))
        weights = weigh(pair.logs, scorer.log_prior)
        sizes.append(mean_strength(weights, first[:, None] * second, scorer.log_prior))
    return sizes


def _pair_shares(
    scorer: Scorer, counts: CountTable | None, pair: PairTerm, k: int
) -> NDArray[np.float64]:
    """Return the distribution of each class over the slots of one column of a pair."""
    j, coder = pair.columns[k]
    term, n = scorer.terms[j], coder.size + 2
    if counts is None or not isinstance(term, TableTerm):
        return np.full((n, len(scorer.log_prior)), 1.0 / n)
    slots = slot_counts(counts, j, len(term.logs), term.n_classes)
    out = np.zeros((n, term.n_classes))
    np.add.at(out, slots_in(coder, term.coder), slots)
    return normalized(out)


# Several models ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Vote(Node):
    """Several naive Bayes models of the same columns that answer together.

    Attributes
    ----------
    weights : array of shape (members,)
    cast : {"probabilities", "winner"}
        The vote of a member: its probabilities, or 1 for its most probable class.
    join : {"mean", "softmax"}
        The weighted mean of the votes, or the softmax of their weighted sum: votes are then on the
        log scale, as in AdaBoost.
    member : {"bag", "round"}
        Name of a member.
    scorer : Scorer
        Of all members: their classes end to end.
    counts : CountTable or None
        Weight of the training rows by class.
    """

    weights: NDArray[np.float64]
    cast: Cast
    join: Literal["mean", "softmax"]
    member: Literal["bag", "round"]
    scorer: Scorer
    counts: CountTable | None = None

    def check(self) -> None:
        """Check that there is one weight for each member."""
        expect(self.weights.size, "a vote has no members.")
        check_values("weights", self.weights, (self.weights.size,))
        matching = self.weights.size * self.n_outputs == len(self.scorer.log_prior)
        expect(matching, "members of a vote have different classes.")
        if self.join == "mean":
            positive = (self.weights >= 0).all() and self.weights.sum() > 0
            expect(positive, "weights of a mean must be 0 or more, and not all 0.")
        check_counts(self.counts, self.scorer, self.n_outputs)

    @property
    def n_outputs(self) -> int:
        return len(self.scorer.log_prior) // self.weights.size

    @property
    def shares(self) -> NDArray[np.float64]:
        """What each member counts: of a mean, weights that sum to 1."""
        return self.weights / self.weights.sum() if self.join == "mean" else self.weights

    def check_columns(self, schema: Schema) -> None:
        self.scorer.check_columns(schema, len(self.scorer.log_prior))

    def votes(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted votes, rows x members x classes; ``joint`` (all scores) is overwritten."""
        shape = (len(joint), self.weights.size, self.n_outputs)
        votes = cast_votes(self.cast, joint.reshape(-1, self.n_outputs)).reshape(shape)
        votes *= self.weights[:, None]
        return votes / self.weights.sum() if self.join == "mean" else votes

    def _add_votes(self, block: Block, n_jobs: int | None) -> NDArray[np.float64]:
        def add(scores: NDArray[np.float64]) -> NDArray[np.float64]:
            votes, out = self.votes(scores), np.zeros((len(scores), self.n_outputs))
            for k in range(votes.shape[1]):  # in the order of the members
                out += votes[:, k]
            return out

        return np.concatenate(in_chunks(block, self.scorer, add, n_jobs))

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        total = self._add_votes(block, n_jobs)
        return total if self.join == "softmax" else log(total)

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        total = self._add_votes(block, n_jobs)
        return total if self.join == "mean" else scoring.probabilities(total, n_jobs)

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        n, outputs = self.weights.size, self.n_outputs
        both = scorer_evidence(self.scorer, block, classes, n_jobs)
        votes = self.votes(both.total())
        units = [slice(k * outputs, (k + 1) * outputs) for k in range(n)]
        members = [select_outputs(both, unit, classes) for unit in units]
        link: Link = "softmax" if self.join == "softmax" else "identity"
        names = [f"{self.member} {k}" for k in range(n)]
        return member_evidence(votes, names, classes, link, members, self.shares)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        n = self.n_outputs
        shares = np.abs(self.weights) / max(np.abs(self.weights).sum(), 1e-300)
        members = [self.scorer.select(np.arange(k * n, (k + 1) * n)) for k in range(len(shares))]
        each = [scorer_importances(scorer, self.counts, schema) for scorer in members]
        return np.asarray(shares @ np.array(each))

    def class_prior(self) -> NDArray[np.float64] | None:
        return None if self.counts is None else normalized_totals(self.counts.totals)


def cast_votes(cast: Cast, joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vote of a model: probabilities, or 1 for its best class; ``joint`` is overwritten."""
    if cast == "probabilities":
        return scoring.probabilities(joint)
    votes: NDArray[np.float64] = np.eye(joint.shape[1])[joint.argmax(axis=1)]
    return votes


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated(Node):
    """Another answer's probabilities p, calibrated: p**slope times a factor for each class, made to
    sum to 1.

    A calibrated table of evidence is a table of evidence, and so is each of a tree: `calibrated`
    makes this node of other answers alone.

    Attributes
    ----------
    inner : node
    slope : float
        Above 0.
    intercept : array of shape (classes,)
        Logarithms of the factors.
    """

    inner: Node
    slope: float
    intercept: NDArray[np.float64]

    def check(self) -> None:
        """Check that there is an intercept for each class."""
        check_positive("slope", self.slope)
        check_values("intercept", self.intercept, (self.inner.n_outputs,))

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    def check_columns(self, schema: Schema) -> None:
        self.inner.check_columns(schema)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.apply(self.inner.predict_proba(block, n_jobs))

    def apply(self, probable: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return calibrated scores, given probabilities by the inner node: rows x classes."""
        logs = np.log(np.maximum(probable, LEAST_SHARE))
        return self.slope * logs + self.intercept

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        one = Pool((self.inner,), ("model",), np.array([self.slope]), self.intercept, "geometric")
        return one.evidence(block, classes, n_jobs)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        return self.slope * self.inner.feature_importances(schema)

    def class_prior(self) -> NDArray[np.float64] | None:
        return self.inner.class_prior()


@dataclass(frozen=True, slots=True, eq=False)
class Pool(Node):
    """Several answers about the same columns and classes, joined by weight.

    Attributes
    ----------
    members : tuple of nodes
    names : tuple of str
        What each member is called.
    weights : array of shape (members,)
        0 or more. Those of a sum of logarithms need not sum to 1: more makes the pool surer.
    intercept : array of shape (classes,)
        Added to a sum of logarithms; 0 for a mean of probabilities.
    join : {"geometric", "arithmetic"}
        The softmax of the weighted sum of log probabilities, or the weighted mean of probabilities.
    """

    members: tuple[Node, ...]
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    join: Literal["geometric", "arithmetic"]

    def check(self) -> None:
        """Check that all members are about the same classes, and have weights."""
        expect(self.members, "a pool has no members.")
        n = len(self.members)
        expect(len(self.names) == n, f"a pool of {n} members has {len(self.names)} names.")
        check_values("weights", self.weights, (n,), 0.0)
        check_values("intercept", self.intercept, (self.members[0].n_outputs,))
        same = {member.n_outputs for member in self.members} == {self.n_outputs}
        expect(same, "members of a pool have different classes.")
        if self.join == "arithmetic":
            expect(self.weights.sum() > 0, "weights of a mean are all 0.")
            expect(not self.intercept.any(), "a mean of probabilities has an intercept.")

    @property
    def n_outputs(self) -> int:
        return self.intercept.size

    def check_columns(self, schema: Schema) -> None:
        for member in self.members:
            member.check_columns(schema)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Weights that sum to 1, of a mean; all 0 where no member counts."""
        return self.weights / (self.weights.sum() or 1.0)

    @property
    def itemized(self) -> list[bool]:
        """Which members have evidence of single columns and a baseline that is the same for all
        rows; another member is one bar.
        """
        return [self.join == "geometric" and m.has_column_terms for m in self.members]

    @property
    def extra_bars(self) -> list[tuple[int, int] | str]:
        """What has a bar after the columns: pairs of columns, then members by name."""
        if self.join == "arithmetic":
            return ["mean of the members"]
        bars: list[tuple[int, int] | str] = []
        for member, itemized in zip(self.members, self.itemized, strict=True):
            if itemized and isinstance(member, EvidenceTable):
                bars += [(pair.first, pair.second) for pair in member.scorer.pairs]
        bars = list(dict.fromkeys(bars))
        return bars + [n for n, listed in zip(self.names, self.itemized, strict=True) if not listed]

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        if self.join == "arithmetic":
            return log(self.predict_proba(block, n_jobs))
        out = np.tile(self.intercept, (block.n_rows, 1))
        for member, weight in zip(self.members, self.weights.tolist(), strict=True):
            out += weight * member.bounded_scores(block, n_jobs)
        return out

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        if self.join == "geometric":
            return scoring.probabilities(self.scores(block, n_jobs), n_jobs)
        out = np.zeros((block.n_rows, self.n_outputs))
        for member, share in zip(self.members, self.shares.tolist(), strict=True):
            out += share * member.predict_proba(block, n_jobs)
        return np.minimum(out, 1.0)  # shares may add up to a little more

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return the contributions of the columns and pairs of members that have them, weighted and
        added, and of every other member; where no member has them, and of a mean of probabilities,
        the contributions of the members.
        """
        arithmetic = self.join == "arithmetic"
        if arithmetic or not any(self.itemized):
            weights = self.shares if arithmetic else self.weights
            answers = [
                (m.predict_proba if arithmetic else m.bounded_scores)(block, n_jobs)
                for m in self.members
            ]
            bars = weights[:, None] * np.stack(answers, axis=1)
            members = [member.evidence(block, classes, n_jobs) for member in self.members]
            link: Link = "identity" if arithmetic else "softmax"
            baseline = np.tile(self.intercept, (block.n_rows, 1))
            return member_evidence(bars, self.names, classes, link, members, weights, baseline)
        names, extra = block.schema.names, self.extra_bars
        n = len(names)
        bars = np.zeros((block.n_rows, n + len(extra), self.n_outputs))
        baseline = np.tile(self.intercept, (block.n_rows, 1))
        for member, name, weight, itemized in zip(
            self.members, self.names, self.weights.tolist(), self.itemized, strict=True
        ):
            if not itemized:
                bars[:, n + extra.index(name)] += weight * member.bounded_scores(block, n_jobs)
                continue
            part = member.evidence(block, classes, n_jobs)
            baseline += weight * part.baseline
            bars[:, :n] += weight * part.contributions[:, :n]
            pairs = member.scorer.pairs if isinstance(member, EvidenceTable) else ()
            for k, pair in enumerate(pairs, n):
                at = n + extra.index((pair.first, pair.second))
                bars[:, at] += weight * part.contributions[:, k]
        more = [bar if isinstance(bar, str) else (names[bar[0]], names[bar[1]]) for bar in extra]
        return Evidence(baseline, bars, [*names, *more], classes)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        return np.asarray(
            self.shares @ np.array([m.feature_importances(schema) for m in self.members])
        )

    def class_prior(self) -> NDArray[np.float64] | None:
        """Those of the first member that knows them: all learned from the same rows."""
        return next((s for s in (m.class_prior() for m in self.members) if s is not None), None)


# Classes of clusters, other libraries -----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Folded(Node):
    """An answer about (class, cluster) pairs, folded to classes.

    Attributes
    ----------
    owner : array of shape (pairs,)
        Class number of each pair; pairs are sorted by class.
    method : {"sum", "max"}
        Probability of a class: the sum over its pairs, or its best pair's, made to sum to 1.
    inner : node
        Predicts the pairs.
    weight : array of shape (pairs,) or None, default=None
        Weight of the training rows of each pair.
    """

    owner: NDArray[np.intp]
    method: Literal["sum", "max"]
    inner: Node
    weight: NDArray[np.float64] | None = None

    def check(self) -> None:
        """Check that every class has pairs, sorted by class."""
        check_values("owner", self.owner, (self.inner.n_outputs,), 0, self.owner.size - 1)
        n = self.n_outputs
        expect(np.array_equal(np.unique(self.owner), np.arange(n)), "a class has no pair.")
        expect((np.diff(self.owner) >= 0).all(), "pairs are not sorted by class.")
        if self.weight is not None:
            check_values("weight", self.weight, self.owner.shape, 0.0, FINITE)

    @property
    def n_outputs(self) -> int:
        return int(self.owner[-1]) + 1

    def check_columns(self, schema: Schema) -> None:
        self.inner.check_columns(schema)

    def pairs(self, classes: NDArray[Any]) -> list[tuple[Any, int]]:
        """Class and cluster number of each pair."""
        first = np.searchsorted(self.owner, self.owner)
        return [
            (classes[c], int(p - f)) for p, (c, f) in enumerate(zip(self.owner, first, strict=True))
        ]

    @property
    def first_pairs(self) -> NDArray[np.intp]:
        """Where the pairs of each class begin."""
        return np.flatnonzero(np.diff(self.owner, prepend=-1))

    def group(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of classes, given those of pairs: rows x pairs."""
        if self.method == "sum":
            return np.minimum(np.add.reduceat(pairs, self.first_pairs, axis=1), 1.0)
        best = np.maximum.reduceat(pairs, self.first_pairs, axis=1)
        return best / best.sum(axis=1, keepdims=True)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        pairs = self.inner.predict_log_proba(block, n_jobs)
        if self.method == "max":
            return np.maximum.reduceat(pairs, self.first_pairs, axis=1)
        parts = np.split(pairs, self.first_pairs[1:], axis=1)
        return np.column_stack([logsumexp(part, axis=1) for part in parts])

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.group(self.inner.predict_proba(block, n_jobs))

    def predict_index(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
        estimator = getattr(self.inner, "estimator", None)
        if estimator is not None and not hasattr(estimator, "predict_proba"):
            return self.owner[self.inner.predict_index(block, n_jobs)]
        return self.predict_proba(block, n_jobs).argmax(axis=1)

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return what every (class, cluster) pair adds to the probability of its class."""
        pairs = self.pairs(classes)
        inner = self.inner.evidence(block, as_objects(pairs), n_jobs)
        p = inner.probabilities()
        if self.method == "max":
            most = np.maximum.reduceat(p, self.first_pairs, axis=1)
            first = [np.where(self.owner == c, p, -1.0).argmax(axis=1) for c in self.owner]
            here = np.stack(first, axis=1) == np.arange(len(pairs))
            p = np.where(here, p, 0.0) / most.sum(axis=1, keepdims=True)
        each = p[:, :, None] * np.eye(self.n_outputs)[self.owner]
        why = member_evidence(each, pairs, classes, "identity", [inner], np.ones(1))
        return replace(why, member_names=("clusters",), class_index=self.owner)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        return self.inner.feature_importances(schema)

    def class_prior(self) -> NDArray[np.float64] | None:
        pairs = self.inner.class_prior()
        return None if pairs is None else np.bincount(self.owner, pairs).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Foreign(Node):
    """A classifier of another library."""

    estimator: Any

    @property
    def n_outputs(self) -> int:
        return len(self.estimator.classes_)

    def check_columns(self, schema: Schema) -> None:
        """Do nothing: its columns cannot be checked."""

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        if hasattr(self.estimator, "predict_log_proba"):
            return np.asarray(self.estimator.predict_log_proba(block.native()))
        return log(self.predict_proba(block, n_jobs))

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:  # noqa: ARG002
        return np.asarray(self.estimator.predict_proba(block.native()))

    def predict_log_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.scores(block, n_jobs)

    def predict_index(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:  # noqa: ARG002
        labels = np.asarray(self.estimator.predict(block.native()))
        return np.searchsorted(self.estimator.classes_, labels)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG002
        values = getattr(self.estimator, "feature_importances_", None)
        if values is None:
            name = type(self.estimator).__name__
            raise AttributeError(f"{name} has no importance of its columns.")
        return np.asarray(values, dtype=np.float64)
