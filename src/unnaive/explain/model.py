"""Evidence of a fitted model: every value of every column, pairs of columns, and its components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import (
    Answer,
    ClassTree,
    Ensemble,
    EvidenceTable,
    ExternalEstimator,
    Forest,
    GatedMixture,
    NaiveBayesTree,
)
from unnaive.answer.unwrap import unwrap
from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.evidence import mean_strength, weigh
from unnaive.bayes.kernels import IMPOSSIBLE
from unnaive.bayes.scoring import PairTerm, add_scorers
from unnaive.bayes.values import (
    density_shares,
    logs_at,
    normalized,
    points_of,
    slot_counts,
    slot_shares,
)
from unnaive.common.checks import check_level
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.common.wording import counted, listed
from unnaive.counts import CountTable
from unnaive.discretize.intervals import cut_names, levels_at, slot_words
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import column_slots, slots_in
from unnaive.table import Block, Column, Schema, Source
from unnaive.table.columns import as_objects

State = Literal["missing", "value", "unseen"]
Role = Literal["model", "node", "round", "bag", "gate", "expert", "forest", "pool", "summary"]
# Why a column has no evidence.
UNCUT = (
    "numbers that are not cut, because no cut tells classes apart by enough to pay for itself in "
    "description length (MDL); numeric='frequency' keeps intervals anyway, and "
    "UnnaiveBayesClassifier finds weak effects and those of two columns together"
)
BY_ROW = (
    "what a value says depends on the other values of its row; explain_rows shows it row by row, "
    "importance_of how much the column counts"
)


# Components --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One naive Bayes inside a model.

    Attributes
    ----------
    name : str
    role : str
        "model", "node" of a tree, "forest", "pool", "round", "bag", "gate" or "expert"; "summary"
        is the mean evidence of members that vote, which only approximates their answer.
    labels : array
        What it predicts: classes, (class, cluster) pairs, or the children of a gate.
    scorer : Scorer
        Prior and evidence; without terms where evidence depends on the whole row.
    counts : CountTable or None
        Weight of the training rows by label, in the slots of the scorer's coders.
    weight : float
        Weight of its training rows; NaN where the model keeps none.
    direct : bool
        Whether its estimates follow from ``counts``; rounds and bags weight the rows differently,
        and calibration scales the evidence.
    factors : array of shape (columns,) or float
        What calibration and boosting multiply the evidence of a column by.
    errors : tuple of arrays
        Standard errors of the evidence by column, where the model knows them.
    """

    name: str
    role: Role
    labels: NDArray[Any]
    scorer: Scorer
    counts: CountTable | None
    weight: float
    direct: bool = True
    factors: NDArray[np.float64] | float = 1.0
    errors: tuple[NDArray[np.float32], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The naive Bayes components of a node: their names, a function from number to `Part`, and
    the number of the one to show by default.
    """

    names: tuple[str, ...]
    part: Callable[[int], Part]
    main: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ModelParts:
    """A fitted model and its naive Bayes components.

    Attributes
    ----------
    model : fitted estimator
    answer : Answer
    parts : Parts
        Of the innermost node.
    prepare : callable
        What a `Pipeline` does to a table before the model sees it.
    """

    model: Any
    answer: Answer
    parts: Parts
    prepare: Callable[[Any], Any]

    @property
    def schema(self) -> Schema:
        return self.answer.schema

    @property
    def classes(self) -> NDArray[Any]:
        return self.answer.classes

    def find(self, part: int | str | None) -> Part:
        """Return a component by its number or name; the main one for None."""
        names = self.parts.names
        if part is None:
            part = self.parts.main
        elif isinstance(part, str):
            if part not in names:
                raise ValueError(
                    f"part {part!r} is not in this {type(self.model).__name__}; it has "
                    f"{listed(names, 5)}."
                )
            part = names.index(part)
        elif not 0 <= part < len(names):
            raise ValueError(
                f"part must be a number from 0 to {len(names) - 1}, or a name such as "
                f"{names[0]!r}; got {part!r}."
            )
        return self.parts.part(int(part))

    def source(self, X: Any) -> Source:
        """Return a table, read as the model reads it."""
        source: Source = self.model._open(self.prepare(X))
        return source

    def block(self, X: Any) -> Block:
        """Return the rows of a table, read as the model reads them."""
        block: Block = self.source(X).map(lambda block: block)
        return block


def read_model(model: Any) -> ModelParts:
    """Return a fitted model, also inside scikit-learn's wrappers, with its components."""
    if isinstance(model, ModelParts):
        return model
    check_is_fitted(model)
    inside = unwrap(model)
    model, answer = inside.model, getattr(inside.model, "answer_", None)
    if not isinstance(answer, Answer) or isinstance(answer.core, ExternalEstimator):
        core = getattr(getattr(answer, "core", None), "estimator", model)
        raise TypeError(
            f"{type(core).__name__} is not made of naive Bayes parts, so there is no evidence to "
            "show; classifiers of this library are, also inside a ClassDecompositionClassifier, an "
            "AutoClassifier, a Pipeline, a search or a classifier with a threshold."
        )
    return ModelParts(model, answer, parts_of(answer.core, answer.labels), inside.read)


@singledispatch
def parts_of(node: Any, labels: NDArray[Any]) -> Parts:  # noqa: ARG001
    """Return the naive Bayes components of a node that predicts some labels."""
    raise TypeError(f"a {type(node).__name__} is not made of naive Bayes parts.")


@parts_of.register
def _(node: EvidenceTable, labels: NDArray[Any]) -> Parts:
    counts = node.counts
    direct = not node.boosted and not node.is_calibrated and not node.edits
    weight = np.nan if counts is None else float(counts.totals.sum())
    factors = _factors(node) * (1.0 if node.rounds is None else node.rounds)
    part = Part(
        "naive Bayes", "model", labels, node.scorer, counts, weight, direct, factors, node.errors
    )
    return Parts((part.name,), lambda _: part)


def _factors(node: EvidenceTable | NaiveBayesTree) -> NDArray[np.float64] | float:
    return node.slope if node.columns is None else node.columns


@parts_of.register
def _(node: Ensemble, labels: NDArray[Any]) -> Parts:
    return _pool_parts(node, labels) if node.stack is None else _stack_parts(node, labels)


def _stack_parts(node: Ensemble, labels: NDArray[Any]) -> Parts:
    """Return the members, then their mean evidence as a summary."""
    stack, n, n_classes = node.stack, len(node.names), node.n_outputs
    assert stack is not None
    names, counts, every = (*node.names, "all together"), stack.counts, stack.scorer
    weight = np.nan if counts is None else float(counts.totals.sum())
    role: Role = "bag" if names[0].startswith("bag") else "round"

    def scorer(k: int) -> Scorer:
        return every.select(np.arange(k * n_classes, (k + 1) * n_classes))

    def part(k: int) -> Part:
        if k < n:
            return Part(names[k], role, labels, scorer(k), counts, weight, False)
        shares = node.weights / node.weights.sum()
        mean = add_scorers([scorer(i) for i in range(n)], shares.tolist())
        return Part(names[k], "summary", labels, mean, counts, weight, False)

    return Parts(names, cache(part), n)


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

    main = gates + int(np.argmax([totals[expert].sum() for expert in units[gates:]]))
    return Parts(names, cache(part), main)


@parts_of.register
def _(node: NaiveBayesTree, labels: NDArray[Any]) -> Parts:
    names, weight = tuple(f"node {n}" for n in range(node.n_nodes)), node.weight

    def part(n: int) -> Part:
        given = (node.scorer(n), node.node_counts(n), float(weight[n]), not node.is_calibrated)
        return Part(names[n], "node", labels, *given, _factors(node))

    return Parts(names, cache(part))


@parts_of.register
def _(node: ClassTree, labels: NDArray[Any]) -> Parts:
    """Return class shares of the nodes, without evidence by value."""
    names, weight = tuple(f"node {n}" for n in range(node.n_nodes)), node.weight

    def part(n: int) -> Part:
        answer = node.answer[n]
        logs = np.log(answer, out=np.full(len(answer), IMPOSSIBLE), where=answer > 0)
        return _by_row(names[n], "node", labels, logs, len(node.coders), float(weight[n]))

    return Parts(names, cache(part))


@parts_of.register
def _(node: Forest, labels: NDArray[Any]) -> Parts:
    part = _by_row("forest", "forest", labels, node.log_baseline, len(node.coders))
    return Parts((part.name,), lambda _: part)


def _pool_parts(node: Ensemble, labels: NDArray[Any]) -> Parts:
    """Return the pool as a whole, then members with evidence by value, the heaviest first."""
    order = np.argsort(-node.weights, kind="stable").tolist()
    tables = [m for m in order if isinstance(node.members[m], EvidenceTable)]
    names = ("pool", *(node.names[m] for m in tables))

    def part(k: int) -> Part:
        if k > 0:
            member = parts_of(node.members[tables[k - 1]], labels).part(0)
            return replace(member, name=names[k], role="pool")
        core: Any = node.members[0]
        while hasattr(core, "members") or hasattr(core, "inner"):
            core = core.members[0] if hasattr(core, "members") else core.inner
        n = len(core.coders if hasattr(core, "coders") else core.scorer.terms)
        return _by_row("pool", "pool", labels, node.intercept, n)

    return Parts(names, cache(part), min(1, len(tables)))


def _by_row(
    name: str,
    role: Role,
    labels: NDArray[Any],
    logs: NDArray[np.float64],
    n_columns: int,
    weight: float = np.nan,
) -> Part:
    """Return a component whose evidence depends on the whole row, so no column has terms."""
    return Part(name, role, labels, Scorer(logs, (None,) * n_columns), None, weight, False)


def label_names(labels: NDArray[Any]) -> tuple[str, ...]:
    """Return labels as text; a (class, cluster) pair by its class and number."""
    return tuple(_name(label) for label in labels.tolist())


def _name(label: Any) -> str:
    return f"{_name(label[0])}, cluster {label[1]}" if isinstance(label, tuple) else str(label)


def find_label(labels: NDArray[Any], label: Any, parameter: str) -> int:
    """Return the number of a label, given as it is or as text."""
    names = label_names(labels)
    for candidates in (labels.tolist(), names):
        if label in candidates:
            return candidates.index(label)
    raise ValueError(f"{parameter}={label!r} is not one of the classes: {', '.join(names[:10])}.")


# Evidence by value -------------------------------------------------------------------------------


def _evidence_columns(
    name: str,
    values: Sequence[str],
    labels: Sequence[str],
    weights: NDArray[np.float64],
    known: Sequence[NDArray[np.float64]],
) -> Columns:
    """Return a line for each value and label: evidence, its limits, rows and shares."""
    names = ("evidence", "low", "high", "rows", "share")
    return {
        "column": [name] * weights.size,
        "value": [value for value in values for _ in labels],
        "class": list(labels) * len(values),
        **{n: array.ravel() for n, array in zip(names, (weights, *known), strict=True)},
    }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttributeEvidence(Facts):
    """Evidence of the values of one column.

    Every array has a row for each value: first "missing", then the values (categories, intervals,
    or points at which a density is taken), last, for categories, "unseen".

    Attributes
    ----------
    name : str
    position : int
        Of the column in the table.
    kind : {"categorical", "numeric", "empty"}
    family : str
        What the column holds: "number", "text", "time" and so on.
    log_prior : array of shape (labels,)
        Of the labels, before any column.
    labels : tuple of str
        The labels as text.
    form : {"values", "intervals", "density", "nothing"}
        What the rows stand for; "nothing" where the column carries no evidence.
    values : tuple of str
        Names of the rows.
    states : tuple of {"missing", "value", "unseen"}
    raw : tuple
        A value of the column that falls into each row: a category, a number inside the interval,
        the point; None for missing and unseen.
    logs : array of shape (rows, labels)
        Log P(value | label), a log density for points: the bars that add up.
    weights, low, high : arrays of shape (rows, labels)
        Weight of evidence log P(value | label) - log P(value | others), and its credible interval.
        The interval is NaN for densities, and where the model keeps no counts.
    counts : array of shape (rows, labels)
        Weight of the training rows; NaN at points, and where the model keeps none.
    shares : array of shape (rows, labels)
        The distribution of the label's rows over the values, missing ones included where known:
        of counts, or else of probabilities. At points: the density.
    cuts : array
        Between the intervals; empty for other forms.
    reason : str
        Why there is no evidence; empty where there is some.
    """

    name: str
    position: int
    kind: str
    family: str
    log_prior: NDArray[np.float64]
    labels: tuple[str, ...]
    form: str
    values: tuple[str, ...]
    states: tuple[State, ...]
    raw: tuple[Any, ...]
    logs: NDArray[np.float64]
    weights: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]
    cuts: NDArray[np.float64]
    reason: str = ""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def importance(self) -> float:
        """Mean absolute evidence for the true label, over rows as frequent as the model expects."""
        return mean_strength(self.weights, self.distribution(), self.log_prior)

    def distribution(self) -> NDArray[np.float64]:
        """Return ``shares`` that sum to one for every label, also where values are points of a
        density: each then stands for its neighbourhood.
        """
        if self.form != "density":
            return self.shares
        return density_shares(self.shares[0], self.shares[1:])

    def _columns(self) -> Columns:
        known = (self.low, self.high, self.counts, self.shares)
        return _evidence_columns(self.name, self.values, self.labels, self.weights, known)

    def _title(self) -> str:
        if self.reason:
            return f"No evidence of {self.name!r}: {self.reason}"
        return f"Evidence of {self.name!r}: {counted(len(self), 'value')}, {self.form}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairEvidence(Facts):
    """Evidence of two columns together, beside that of each alone.

    Attributes
    ----------
    columns : tuple of str
        The two columns.
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
        How frequent the values of either column are in each label; NaN where that is not known.
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
        """Both columns."""
        return pair_name(*self.columns)

    @property
    def shares(self) -> NDArray[np.float64]:
        """How frequent two values are together in each label (values x values x labels), as if the
        columns were independent in it: models keep no counts of pairs.
        """
        first, second = self.margins
        shares: NDArray[np.float64] = first[:, None, :] * second[None, :, :]
        return shares

    @property
    def importance(self) -> float:
        """Mean absolute evidence for the true label, over rows as frequent as ``shares``."""
        return mean_strength(self.weights, np.nan_to_num(self.shares), self.log_prior)

    def count(self, block: Block) -> NDArray[np.float64]:
        """Return how many rows of a block have each pair of values."""
        first, second = (
            column_slots(block, j, coder).astype(np.intp) for j, coder in self.term.columns
        )
        n, m = (len(names) for names in self.values)
        counts = np.bincount(first * m + second, minlength=n * m).reshape(n, m)
        return counts.astype(np.float64)

    def shown_slots(
        self, counts: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the values of either column to show: missing and unseen only if rows had them."""
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
        unknown = np.full(self.weights.shape, np.nan)
        both = [f"{a}, {b}" for a in self.values[0] for b in self.values[1]]
        return _evidence_columns(self.name, both, self.labels, self.weights, (unknown,) * 4)

    def _title(self) -> str:
        first, second = self.values
        return f"Evidence of {self.name}: {len(first)} x {len(second)} values"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartEvidence(Facts):
    """The evidence of every column in one naive Bayes of a model.

    Attributes
    ----------
    part, role : str
        Name and role of the naive Bayes in the model: "model", "node", "bag", "round", "gate",
        "expert", "pool", or "summary" for the mean of members that vote.
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
        Of the pairs of columns that have evidence beside theirs.
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
        """Return the names of the columns without evidence, by why they have none."""
        names: dict[str, list[str]] = {}
        for attribute in self.attributes:
            if attribute.reason:
                names.setdefault(attribute.reason, []).append(attribute.name)
        return names

    def ranked(self) -> list[AttributeEvidence]:
        """Return the columns, the most important first."""
        return sorted(self.attributes, key=lambda attribute: -attribute.importance)


def evidence_of(model: Any, part: int | str | None = None, *, level: float = 0.95) -> PartEvidence:
    """Return the evidence of each value of each column, with counts and credible intervals.

    Parameters
    ----------
    model : fitted classifier
    part : int, str or None, default=None
        Which naive Bayes of the model: a node of a tree (its root by default), "bag 3", "round 0",
        "gate 0", "expert 1", a member of a pool. By default, the mean evidence of bags or rounds
        that vote, the expert with most rows, and the pool's member with most weight.
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
    found = read_model(model)
    check_level(level)
    one, schema = found.find(part), found.schema
    totals = np.full(len(one.labels), np.nan) if one.counts is None else one.counts.totals
    attributes = tuple(_attribute(one, schema, j, level) for j in range(len(schema)))
    return PartEvidence(
        one.name,
        one.role,
        one.labels,
        label_names(one.labels),
        one.scorer.log_prior,
        one.weight,
        totals,
        level,
        attributes,
        tuple(_pair(one, schema, pair, attributes) for pair in one.scorer.pairs),
    )


def _attribute(part: Part, schema: Schema, j: int, level: float) -> AttributeEvidence:
    """Return the evidence of one column of a component."""
    column, term = schema[j], part.scorer.terms[j]
    make = partial(
        AttributeEvidence,
        schema.label(j),
        j,
        column.kind,
        column.family,
        part.scorer.log_prior,
        label_names(part.labels),
    )
    if isinstance(term, (GaussianTerm, KernelTerm)):
        return make(*_density(part, column, j, term))
    if term is not None and term.logs.any():
        return make(*_table(part, column, j, term, level))
    counts = slot_counts(part.counts, j, 3, len(part.labels))[:2]
    zeros, values = np.zeros((2, len(part.labels))), ("missing", "any value")
    shares, reason = slot_shares(counts, zeros), _reason(part, column, term)
    arrays = (zeros, zeros, zeros, zeros, counts, shares, np.empty(0))
    return make("nothing", values, ("missing", "value"), (None, None), *arrays, reason)


def _reason(part: Part, column: Column, term: TableTerm | None) -> str:
    """Return why a column has no evidence."""
    if column.kind == "empty":
        return "the training rows have no value there"
    if part.counts is None and not any(term is not None for term in part.scorer.terms):
        return BY_ROW
    uncut = term is not None and isinstance(term.coder, Bins) and term.coder.size == 1
    return UNCUT if uncut else "all values are treated alike"


def _table(part: Part, column: Column, j: int, term: TableTerm, level: float) -> tuple[Any, ...]:
    """Return the fields of a column whose evidence is by slot, from ``form`` on."""
    coder, logs = term.coder, term.logs
    counts = slot_counts(part.counts, j, len(logs), logs.shape[1])
    value: State = "value"
    states: list[State] = ["missing", *([value] * coder.size), "unseen"]
    if isinstance(coder, Bins):  # a number always lies in some interval
        form, cuts, raw = "intervals", coder.cuts, (None, *_inside(coder.cuts, column))
        logs, counts, states = logs[:-1], counts[:-1], states[:-1]
    else:
        form, cuts, raw = "values", np.empty(0), (None, *coder.values, *coder.rare[:1], None)
    weights = weigh(logs, part.scorer.log_prior)
    if part.errors and part.errors[j].size:
        down = up = ndtri((1.0 + level) / 2.0) * part.errors[j][: len(logs)].astype(np.float64)
    else:
        down, up = _reach(part, j, counts, logs, weights, level)
    values = slot_words(coder, column)[: len(logs)]
    limits = (weights - down, weights + up)
    shares = slot_shares(counts, logs)
    return (form, values, tuple(states), raw, logs, weights, *limits, counts, shares, cuts)


def _density(
    part: Part, column: Column, j: int, term: GaussianTerm | KernelTerm
) -> tuple[Any, ...]:
    """Return the fields of a column whose evidence is by densities, taken at points."""
    points = points_of(term, column)
    logs = np.vstack((term.missing, logs_at(term, column, points)))
    counts = slot_counts(part.counts, j, 3, logs.shape[1])[:2]
    weights, unknown = weigh(logs, part.scorer.log_prior), np.full(logs.shape, np.nan)
    shares = np.exp(logs - term.log_weight)
    shares[0] = 0.0 if part.counts is None else normalized(counts)[0]
    point_counts = np.vstack((counts[:1], np.full((len(points), logs.shape[1]), np.nan)))
    values = ("missing", *cut_names(points, column, 4))
    states = ("missing",) + ("value",) * len(points)
    raw = (None, *_natural(points, column))
    fields = (logs, weights, unknown, unknown, point_counts, shares, np.empty(0))
    return ("density", values, states, raw, *fields)


def _reach(
    part: Part,
    j: int,
    counts: NDArray[np.float64],
    logs: NDArray[np.float64],
    weights: NDArray[np.float64],
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distances to the limits: NaN without counts, 0 where there is no evidence."""
    if part.counts is None:
        return np.full(logs.shape, np.nan), np.full(logs.shape, np.nan)
    informative = (logs != 0.0).any(axis=1)
    informative[1:] |= (counts[1:] != 0.0).any(axis=1)
    down, up = np.zeros(logs.shape), np.zeros(logs.shape)
    if logs.shape[1] > 1:
        estimates = (logs[informative], (logs - weights)[informative]) if part.direct else None
        down[informative], up[informative] = table_reach(counts[informative], level, estimates)
    factor = np.broadcast_to(part.factors, len(part.scorer.terms))[j]
    return down * factor, up * factor


def table_reach(
    counts: NDArray[np.float64],
    level: float,
    estimates: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance from the evidence of each value to its limits below and above.

    The share of a value among the rows of a label, and among the rows of the others, has a beta
    posterior that ignores other values: pseudo-counts of many values would make few rows look like
    many. The limits of the two logarithms are joined as those of independent quantities
    (Zou and Donner's recovered variances), which keeps their skew.

    Parameters
    ----------
    counts : array of shape (values, labels)
    level : float
        Probability of the interval.
    estimates : tuple of arrays of shape (values, labels), or None
        Log P(value | label) and log P(value | others) by the model; None for the shares
        themselves.
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    label, rest = (None, None) if estimates is None else estimates
    down, up = _log_reach(counts, level, label)
    rest_down, rest_up = _log_reach(others, level, rest)
    return np.hypot(down, rest_up), np.hypot(up, rest_down)


def _log_reach(
    counts: NDArray[np.float64], level: float, given: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance from a log probability to the limits of its posterior."""
    counts = np.maximum(counts, 0.0)  # differences of real weights may round below zero
    have = counts + 0.5  # Jeffreys' prior
    lack = np.maximum(counts.sum(axis=0) - counts, 0.0) + 0.5
    estimate = np.log(have / (have + lack)) if given is None else given
    low = np.log(betaincinv(have, lack, (1.0 - level) / 2.0))
    high = np.log(betaincinv(have, lack, (1.0 + level) / 2.0))
    return np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)


def _inside(cuts: NDArray[np.float64], column: Column) -> tuple[Any, ...]:
    """Return a value inside each interval between cuts."""
    if len(cuts) == 0:
        return _natural(np.zeros(1), column)
    if column.family == "level":  # the one before the first cut, then those after the cuts
        return _natural(np.append(cuts[:1], cuts + 1.0), column)
    step = max(float(np.diff(cuts).mean()) if len(cuts) > 1 else abs(float(cuts[0])), 1.0)
    middle = 0.5 * cuts[:-1] + 0.5 * cuts[1:]
    return _natural(np.concatenate((cuts[:1], middle, cuts[-1:] + 0.5 * step)), column)


def _natural(numbers: NDArray[np.float64], column: Column) -> tuple[Any, ...]:
    """Return the numbers as values of the column: dates, durations and levels as such."""
    family = column.family
    if family == "level":
        return tuple(levels_at(numbers, column))
    if family in ("time", "duration"):
        # Points beyond a density's ends still fit into 64 bits of microseconds.
        numbers = np.clip(numbers, -9.2e18, 9.2e18)
    if family == "time":
        return tuple(np.datetime64(int(n), "us") for n in numbers)
    if family == "duration":
        return tuple(np.timedelta64(int(n), "us") for n in numbers)
    return tuple(float(n) for n in numbers)


# Pairs -------------------------------------------------------------------------------------------


def pair_name(first: str, second: str) -> str:
    """Return what to call a pair of columns."""
    return f"{first} x {second}"


def _pair(
    part: Part, schema: Schema, term: PairTerm, attributes: Sequence[AttributeEvidence]
) -> PairEvidence:
    """Return the evidence of one pair of a component, beside that of its columns."""
    first, second = (slot_words(coder, schema[position]) for position, coder in term.columns)
    one, two = (_margin(attributes[j], part.scorer.terms[j], coder) for j, coder in term.columns)
    prior = part.scorer.log_prior
    return PairEvidence(
        (schema.label(term.first), schema.label(term.second)),
        term,
        (first, second),
        term.logs,
        weigh(term.logs, prior),
        label_names(part.labels),
        prior,
        (one, two),
    )


def _margin(
    attribute: AttributeEvidence, term: Term, coder: Bins | Categories
) -> NDArray[np.float64]:
    """Return how frequent the values of a column are in each label, in a pair's numbering."""
    shares = attribute.distribution()
    margin = np.zeros((coder.size + 2, shares.shape[1]))
    if not isinstance(term, TableTerm):
        return np.full(margin.shape, np.nan)
    np.add.at(margin, slots_in(coder, term.coder)[: len(shares)], shares)  # numbers: no unseen
    return margin
