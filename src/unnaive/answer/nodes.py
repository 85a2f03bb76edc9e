"""The node types of an answer: frozen data with methods, which nest.

Trees, forests and mixtures are nodes too, in modules of their own. SQL, the page and its text lie
outside of this package and dispatch on these types.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

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
from unnaive.bayes.scoring import LEAST_LOG, PairTerm
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
from unnaive.common.wording import printable
from unnaive.counts import CountTable
from unnaive.counts.table import EXTRA_SLOTS
from unnaive.encode.coders import slots_in
from unnaive.table import Block, Schema
from unnaive.table.columns import as_objects

T = TypeVar("T")
MemberOutput: TypeAlias = Literal["probability", "log_probability", "vote"]
MAX_TEXT = 1000  # letters of a name or reason
MAX_EVIDENCE = 1e6  # nats, of an edit
EditValue: TypeAlias = bool | int | float | str | None
EditKind: TypeAlias = Literal["evidence", "flat", "increasing", "decreasing"]
LARGEST = float(np.finfo(np.float32).max)
ROWS = 1 << 14  # rows that all members of a vote or a mixture score at a time


class Node(ABC):
    """A model as plain data: what scores rows, explains its scores, and may hold other nodes."""

    __slots__ = ()
    is_additive: ClassVar[bool] = False  # whether scores are a baseline plus terms of columns

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of classes, or of (class, cluster) pairs."""

    @abstractmethod
    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""

    @property
    def has_column_terms(self) -> bool:
        """Whether columns have evidence by which a baseline changes that all rows share."""
        return False

    @property
    def has_bounded_scores(self) -> bool:
        """Whether scores are weighted and added as they are; others are limited from below."""
        return self.is_additive

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
        if self.has_bounded_scores:
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
        slope = np.array([calibration.slope])
        return Ensemble(
            (self,), ("model",), slope, calibration.intercept, "log_probability", "softmax"
        )


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


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of the evidence of a model by an expert.

    Attributes
    ----------
    kind : {"evidence", "flat", "increasing", "decreasing"}
        Whether the evidence of one value was set, or that of a column removed, or made to increase
        or decrease with its values.
    column : str or int
        The column's name, or its position where columns have no names.
    by, reason : str
        Who made the edit, and why.
    at : str
        When, as ISO 8601 in UTC.
    value : bool, int, float, str or None
        The value whose evidence was set: a category, or a number of the interval; None is missing.
    label : object
        The class that the evidence is for.
    evidence : float
        What the value does to the log odds of that class, in nats.
    """

    kind: EditKind
    column: str | int
    by: str
    reason: str
    at: str
    value: EditValue = None
    label: Any = None
    evidence: float = 0.0

    def check(self) -> None:
        """Refuse invalid edits."""
        for name in ("by", "reason"):
            text = getattr(self, name)
            expect(len(text) <= MAX_TEXT, f"{name} has {len(text)} letters, more than {MAX_TEXT}.")
        expect(bool(self.by.strip()), "by does not say who made the correction.")
        expect(len(self.at) <= MAX_TEXT, "the time of a correction is none.")
        datetime.datetime.fromisoformat(self.at)
        number = math.isfinite(self.evidence) and abs(self.evidence) <= MAX_EVIDENCE
        expect(number, f"evidence must be a number up to {MAX_EVIDENCE:g}; got {self.evidence}.")

    def __str__(self) -> str:
        """Return the edit in a sentence, on one line."""
        if self.kind == "evidence":
            value = "missing" if self.value is None else repr(self.value)
            what = f"evidence of {self.column} = {value} set to {self.evidence:+g} for {self.label}"
        elif self.kind == "flat":
            what = f"evidence of {self.column} made flat"
        else:
            what = f"evidence of {self.column} made {self.kind} for {self.label}"
        reason = f": {self.reason}" if self.reason else ""
        return printable(f"{what} by {self.by} on {self.at[:10]}{reason}")


@dataclass(frozen=True, slots=True, eq=False)
class EditLayer:
    """The edits of a table of evidence, in their order, and the evidence before them."""

    edits: tuple[Edit, ...]
    scorer: Scorer
    errors: tuple[NDArray[np.float32], ...] = ()


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
    def has_column_terms(self) -> bool:
        return True

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
class NaiveBayesStack(Node):
    """Several naive Bayes models of the same columns, scored together; a member of an `Ensemble`.

    Attributes
    ----------
    scorer : Scorer
        Of all models: their classes end to end.
    counts : CountTable or None
        Weight of the training rows by class.
    """

    scorer: Scorer
    counts: CountTable | None = None

    @property
    def n_outputs(self) -> int:
        return len(self.scorer.log_prior)

    def check_columns(self, schema: Schema) -> None:
        self.scorer.check_columns(schema, self.n_outputs)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.scorer.joint(block, n_jobs)

    def class_prior(self) -> NDArray[np.float64] | None:
        return None if self.counts is None else normalized_totals(self.counts.totals)


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble(Node):
    """A weighted combination of members: bags, rounds that vote, pools, and calibration.

    Attributes
    ----------
    members : tuple of nodes
        Or one `NaiveBayesStack`, which holds all of them.
    names : tuple of str
        The name of each member.
    weights : array of shape (members,)
    intercept : array of shape (classes,)
        Added to a weighted sum; 0 for a mean.
    member_output : {"probability", "log_probability", "vote"}
        What is combined: probabilities, their logarithms up to a constant of the row, or 1 for the
        most probable class.
    combine : {"mean", "softmax"}
        The weighted mean, or the softmax of the weighted sum and the intercept. One member and
        ``"softmax"`` of log probabilities is a calibration: the weight is its slope.
    """

    members: tuple[Node, ...]
    names: tuple[str, ...]
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    member_output: MemberOutput
    combine: Literal["mean", "softmax"]

    def check(self) -> None:
        """Check that all members are about the same classes, and have weights."""
        n, stack = len(self.names), self.stack
        expect(n, "an ensemble has no members.")
        logs = self.member_output == "log_probability"
        check_values("weights", self.weights, (n,), 0.0 if logs else -FINITE)
        check_values("intercept", self.intercept, (self.n_outputs,))
        if stack is None:
            expect(len(self.members) == n, f"{len(self.members)} members have {n} names.")
            outputs = {member.n_outputs for member in self.members}
            expect(outputs == {self.n_outputs}, "members of an ensemble have different classes.")
        else:
            same = stack.n_outputs == n * self.n_outputs
            expect(same, "members of an ensemble have different classes.")
            check_counts(stack.counts, stack.scorer, self.n_outputs)
        if self.combine == "mean":
            positive = (self.weights >= 0).all() and self.weights.sum() > 0
            expect(positive, "weights of a mean must be 0 or more, and not all 0.")
            expect(not self.intercept.any(), "a mean has an intercept.")
            expect(not logs, "a mean of log probabilities is no answer.")

    @property
    def n_outputs(self) -> int:
        return self.intercept.size

    @property
    def stack(self) -> NaiveBayesStack | None:
        """The one member that holds all models."""
        first = self.members[0]
        return first if isinstance(first, NaiveBayesStack) and len(self.members) == 1 else None

    @property
    def shares(self) -> NDArray[np.float64]:
        """The factor of each member: of a mean, weights that sum to 1."""
        return self.weights / self.weights.sum() if self.combine == "mean" else self.weights

    @property
    def has_bounded_scores(self) -> bool:
        return self.has_column_terms

    @property
    def has_column_terms(self) -> bool:
        """Whether any member has; another member is then one more term."""
        softmax_of_logs = self.combine == "softmax" and self.member_output == "log_probability"
        return softmax_of_logs and any(member.has_column_terms for member in self.members)

    def check_columns(self, schema: Schema) -> None:
        for member in self.members:
            member.check_columns(schema)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        total = self._total(block, n_jobs)
        return total if self.combine == "softmax" else log(total)

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        total = self._total(block, n_jobs)
        if self.combine == "softmax":
            return scoring.probabilities(total, n_jobs)
        return np.minimum(total, 1.0)  # shares may add up to a little more

    def _total(self, block: Block, n_jobs: int | None) -> NDArray[np.float64]:
        """Return the weighted sum of what the members give, in their order: rows x classes."""
        stack = self.stack
        if stack is None:
            out = np.tile(self.intercept, (block.n_rows, 1))
            for member, share in zip(self.members, self.shares.tolist(), strict=True):
                out += share * self._output(member, block, n_jobs)
            return out

        def add(scores: NDArray[np.float64]) -> NDArray[np.float64]:
            total: NDArray[np.float64] = self.intercept + self.shares @ self._outputs(scores)
            return total

        return np.concatenate(in_chunks(block, stack.scorer, add, n_jobs))

    def _output(self, member: Node, block: Block, n_jobs: int | None) -> NDArray[np.float64]:
        """Return what one member gives: rows x classes."""
        if self.member_output == "probability":
            return member.predict_proba(block, n_jobs)
        if self.member_output == "log_probability":
            return member.bounded_scores(block, n_jobs)
        votes: NDArray[np.float64] = np.eye(self.n_outputs)[member.predict_index(block, n_jobs)]
        return votes

    def _outputs(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what all models of the stack give: rows x members x classes; ``scores`` is used
        up.
        """
        flat = scores.reshape(-1, self.n_outputs)
        each = outputs_of_scores(self.member_output, flat)
        return each.reshape(len(scores), len(self.names), self.n_outputs)

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return the contributions of the members, or of columns where members have them."""
        baseline, stack = np.tile(self.intercept, (block.n_rows, 1)), self.stack
        if self.has_column_terms:
            return self._column_evidence(block, classes, baseline, n_jobs)
        if stack is None:
            each = [self._output(member, block, n_jobs) for member in self.members]
            values = np.stack(each, axis=1)
            members = [member.evidence(block, classes, n_jobs) for member in self.members]
        else:
            both, n = scorer_evidence(stack.scorer, block, classes, n_jobs), self.n_outputs
            values = self._outputs(both.total())
            units = [slice(k * n, (k + 1) * n) for k in range(len(self.names))]
            members = [select_outputs(both, unit, classes) for unit in units]
        link: Link = "softmax" if self.combine == "softmax" else "identity"
        shares = self.shares
        values *= shares[:, None]
        return member_evidence(values, self.names, classes, link, members, shares, baseline)

    def _column_evidence(
        self,
        block: Block,
        classes: NDArray[Any],
        baseline: NDArray[np.float64],
        n_jobs: int | None,
    ) -> Evidence:
        """Return the weighted contributions of columns and pairs, and of members without these."""
        n, extra = len(block.schema), dict[Any, NDArray[np.float64]]()
        columns = np.zeros((block.n_rows, n, self.n_outputs))
        for member, name, weight in zip(
            self.members, self.names, self.weights.tolist(), strict=True
        ):
            if not member.has_column_terms:
                more = {name: member.bounded_scores(block, n_jobs)}
            else:
                part = member.evidence(block, classes, n_jobs)
                baseline += weight * part.baseline
                columns += weight * part.contributions[:, :n]
                rest = np.moveaxis(part.contributions[:, n:], 1, 0)
                more = dict(zip(part.terms[n:], rest, strict=True))
            for term, values in more.items():
                extra[term] = extra.get(term, np.zeros(values.shape)) + weight * values
        terms = [*block.schema.names, *extra]
        contributions = [columns, *(values[:, None] for values in extra.values())]
        return Evidence(baseline, np.concatenate(contributions, axis=1), terms, classes)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        """Return the mean of those of the members, by weight."""
        shares, n, stack = np.abs(self.weights), self.n_outputs, self.stack
        if stack is None:
            each = [member.feature_importances(schema) for member in self.members]
        else:
            units = [np.arange(k * n, (k + 1) * n) for k in range(len(shares))]
            scorers = [stack.scorer.select(unit) for unit in units]
            each = [scorer_importances(scorer, stack.counts, schema) for scorer in scorers]
        return np.asarray(shares / max(shares.sum(), 1e-300) @ np.array(each))

    def class_prior(self) -> NDArray[np.float64] | None:
        """Return that of the first member that knows it: all learned from the same rows."""
        return next((s for s in (m.class_prior() for m in self.members) if s is not None), None)


def outputs_of_scores(
    member_output: MemberOutput, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a model with these scores (rows x classes, used up) gives an ensemble."""
    if member_output == "probability":
        return scoring.probabilities(scores)
    if member_output == "log_probability":
        return scores
    votes: NDArray[np.float64] = np.eye(scores.shape[1])[scores.argmax(axis=1)]
    return votes


# Classes of clusters, other libraries -----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class GroupedClasses(Node):
    """An answer about (class, cluster) pairs, folded to classes.

    Attributes
    ----------
    class_index : array of shape (pairs,)
        Class number of each pair; pairs are sorted by class.
    aggregation : {"sum", "max"}
        Probability of a class: the sum over its pairs, or its best pair's, made to sum to 1.
    inner : node
        Predicts the pairs.
    weight : array of shape (pairs,) or None, default=None
        Weight of the training rows of each pair.
    """

    class_index: NDArray[np.intp]
    aggregation: Literal["sum", "max"]
    inner: Node
    weight: NDArray[np.float64] | None = None

    def check(self) -> None:
        """Check that every class has pairs, sorted by class."""
        check_values(
            "class_index", self.class_index, (self.inner.n_outputs,), 0, self.class_index.size - 1
        )
        n = self.n_outputs
        expect(np.array_equal(np.unique(self.class_index), np.arange(n)), "a class has no pair.")
        expect((np.diff(self.class_index) >= 0).all(), "pairs are not sorted by class.")
        if self.weight is not None:
            check_values("weight", self.weight, self.class_index.shape, 0.0, FINITE)

    @property
    def n_outputs(self) -> int:
        return int(self.class_index[-1]) + 1

    def check_columns(self, schema: Schema) -> None:
        self.inner.check_columns(schema)

    def pairs(self, classes: NDArray[Any]) -> list[tuple[Any, int]]:
        """Return the class and cluster number of each pair."""
        first = np.searchsorted(self.class_index, self.class_index)
        return [
            (classes[c], int(p - f))
            for p, (c, f) in enumerate(zip(self.class_index, first, strict=True))
        ]

    @property
    def first_pairs(self) -> NDArray[np.intp]:
        """Where the pairs of each class begin."""
        return np.flatnonzero(np.diff(self.class_index, prepend=-1))

    def group(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of classes, given those of pairs: rows x pairs."""
        if self.aggregation == "sum":
            return np.minimum(np.add.reduceat(pairs, self.first_pairs, axis=1), 1.0)
        best = np.maximum.reduceat(pairs, self.first_pairs, axis=1)
        return best / best.sum(axis=1, keepdims=True)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        pairs = self.inner.predict_log_proba(block, n_jobs)
        if self.aggregation == "max":
            return np.maximum.reduceat(pairs, self.first_pairs, axis=1)
        parts = np.split(pairs, self.first_pairs[1:], axis=1)
        return np.column_stack([logsumexp(part, axis=1) for part in parts])

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.group(self.inner.predict_proba(block, n_jobs))

    def predict_index(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
        estimator = getattr(self.inner, "estimator", None)
        if estimator is not None and not hasattr(estimator, "predict_proba"):
            return self.class_index[self.inner.predict_index(block, n_jobs)]
        return self.predict_proba(block, n_jobs).argmax(axis=1)

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return what every (class, cluster) pair adds to the probability of its class."""
        pairs = self.pairs(classes)
        inner = self.inner.evidence(block, as_objects(pairs), n_jobs)
        p = inner.probabilities()
        if self.aggregation == "max":
            most = np.maximum.reduceat(p, self.first_pairs, axis=1)
            first = [
                np.where(self.class_index == c, p, -1.0).argmax(axis=1) for c in self.class_index
            ]
            here = np.stack(first, axis=1) == np.arange(len(pairs))
            p = np.where(here, p, 0.0) / most.sum(axis=1, keepdims=True)
        each = p[:, :, None] * np.eye(self.n_outputs)[self.class_index]
        why = member_evidence(each, pairs, classes, "identity", [inner], np.ones(1))
        return replace(why, member_names=("clusters",), class_index=self.class_index)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        return self.inner.feature_importances(schema)

    def class_prior(self) -> NDArray[np.float64] | None:
        pairs = self.inner.class_prior()
        return None if pairs is None else np.bincount(self.class_index, pairs).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ExternalEstimator(Node):
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
