"""The few ways in which a model answers, as plain frozen data that nests.

Trees are nodes too: `BayesTree`, `KernelTree`, `ClassTree` and `ClassForest` in modules of their
own. Every node has ``n_outputs`` (classes, or clusters), ``check_columns`` (raises if its columns
do not match a schema) and ``ADDS_UP`` (whether log probabilities are sums of one bar per column).
Every use of an answer is one function over nodes, by `functools.singledispatch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.clusters import ClassClusters
from unnaive.answer.evidence_table import EvidenceTable, check_counts
from unnaive.answer.kernel_tree import KernelTree
from unnaive.answer.mixture_shape import Shape
from unnaive.answer.tree import BayesTree
from unnaive.bayes import Scorer
from unnaive.bayes.scoring import LEAST_SHARE, probabilities
from unnaive.common.checks import check_positive, check_values, expect
from unnaive.counts import CountTable
from unnaive.table import Schema

Cast: TypeAlias = Literal["probabilities", "winner"]


@dataclass(frozen=True, slots=True, eq=False)
class Vote:
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

    ADDS_UP: ClassVar = False

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
        """Check that the columns are those of a schema."""
        self.scorer.check_columns(schema, len(self.scorer.log_prior))

    def votes(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted votes, rows x members x classes; ``joint`` (all scores) is overwritten."""
        shape = (len(joint), self.weights.size, self.n_outputs)
        votes = cast_votes(self.cast, joint.reshape(-1, self.n_outputs)).reshape(shape)
        votes *= self.weights[:, None]
        return votes / self.weights.sum() if self.join == "mean" else votes


def cast_votes(cast: Cast, joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vote of a model: probabilities, or 1 for its best class; ``joint`` is overwritten."""
    if cast == "probabilities":
        return probabilities(joint)
    votes: NDArray[np.float64] = np.eye(joint.shape[1])[joint.argmax(axis=1)]
    return votes


@dataclass(frozen=True, slots=True, eq=False)
class GatedMixture:
    """Gates divide every row among experts; gates and experts are naive Bayes models.

    Attributes
    ----------
    shape : Shape
        The architecture of gates and experts.
    scorer : Scorer
        Of all gates and experts: its classes are their units.
    counts : CountTable
        Weight of the training rows by unit.
    """

    ADDS_UP: ClassVar = False

    shape: Shape
    scorer: Scorer
    counts: CountTable

    def check(self) -> None:
        """Check that evidence and counts are those of the units."""
        units = self.shape.n_units
        n = len(self.scorer.log_prior)
        expect(n == units, f"evidence is for {n} units, but the shape has {units}.")
        check_counts(self.counts, self.scorer, units)

    @property
    def n_outputs(self) -> int:
        return self.shape.n_classes

    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""
        self.scorer.check_columns(schema, self.shape.n_units)


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """An answer about (class, cluster) pairs, folded to classes.

    Attributes
    ----------
    owner : array of shape (pairs,)
        Class number of each pair; pairs are sorted by class.
    method : {"sum", "max"}
        Probability of a class: the sum over its pairs, or its best pair's, made to sum to 1.
    inner : node
        Predicts the pairs.
    clusters : tuple of ClassClusters
        For each class, its clusters in words.
    """

    ADDS_UP: ClassVar = False

    owner: NDArray[np.intp]
    method: Literal["sum", "max"]
    inner: Node
    clusters: tuple[ClassClusters, ...] = ()

    def check(self) -> None:
        """Check that every class has pairs, sorted by class."""
        check_values("owner", self.owner, (self.inner.n_outputs,), 0, self.owner.size - 1)
        n = self.n_outputs
        expect(np.array_equal(np.unique(self.owner), np.arange(n)), "a class has no pair.")
        expect((np.diff(self.owner) >= 0).all(), "pairs are not sorted by class.")

    @property
    def n_outputs(self) -> int:
        return int(self.owner[-1]) + 1

    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""
        self.inner.check_columns(schema)

    def pairs(self, classes: NDArray[Any]) -> list[tuple[Any, int]]:
        """Class and cluster number of each pair."""
        first = np.searchsorted(self.owner, self.owner)
        return [
            (classes[c], int(p - f)) for p, (c, f) in enumerate(zip(self.owner, first, strict=True))
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
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

    ADDS_UP: ClassVar = False

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
        """Check that the columns are those of a schema."""
        self.inner.check_columns(schema)

    def scores(self, probable: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated log probabilities, up to a constant of the row, of probabilities by the inner
        answer: rows x classes.
        """
        logs = np.log(np.maximum(probable, LEAST_SHARE))
        return self.slope * logs + self.intercept


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
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

    ADDS_UP: ClassVar = False

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
        """Check that the columns of all members are those of a schema."""
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
        kinds = (EvidenceTable, ClassForest)
        return [self.join == "geometric" and isinstance(m, kinds) for m in self.members]

    @property
    def divides(self) -> bool:
        """Whether this is a mean of naive Bayes models and trees, each of which has parts that
        answer by shares of their own: all of them together are then the parts of the pool.
        """
        return self.join == "arithmetic" and all(
            isinstance(member, (BayesTree, ClassTree))
            or (isinstance(member, EvidenceTable) and not member.scorer.pairs)
            for member in self.members
        )

    @property
    def extra_bars(self) -> list[tuple[int, int] | str]:
        """What has a bar after the columns: pairs of columns, then members by name.

        Of a mean of probabilities that does not divide, only the mean as a whole.
        """
        if self.join == "arithmetic":
            return [] if self.divides else ["mean of the members"]
        bars: list[tuple[int, int] | str] = []
        for member, itemized in zip(self.members, self.itemized, strict=True):
            if itemized and isinstance(member, EvidenceTable):
                bars += [(pair.first, pair.second) for pair in member.scorer.pairs]
        bars = list(dict.fromkeys(bars))
        return bars + [n for n, listed in zip(self.names, self.itemized, strict=True) if not listed]


@dataclass(frozen=True, slots=True, eq=False)
class Foreign:
    """A classifier of another library."""

    ADDS_UP: ClassVar = False

    estimator: Any

    @property
    def n_outputs(self) -> int:
        return len(self.estimator.classes_)

    def check_columns(self, schema: Schema) -> None:
        """Its columns cannot be checked."""


Node: TypeAlias = (
    EvidenceTable
    | Vote
    | GatedMixture
    | Folded
    | Calibrated
    | BayesTree
    | KernelTree
    | ClassTree
    | ClassForest
    | Pool
    | Foreign
)
