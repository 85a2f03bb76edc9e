"""Every node of an answer as columns of probabilities, and decisions by them."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from sqlglot import exp

from unnaive.answer import (
    Answer,
    ClassTree,
    Decision,
    Ensemble,
    EvidenceTable,
    ExternalEstimator,
    Forest,
    GatedMixture,
    GroupedClasses,
    NaiveBayesTree,
    Scorecard,
)
from unnaive.answer.unwrap import unwrap_classifier
from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.kernels import FARTHEST
from unnaive.bayes.scoring import LEAST_LOG
from unnaive.store.sql.builder import (
    Dialect,
    Step,
    SumBuilder,
    add_up,
    case,
    is_null,
    op,
    ref,
    text,
    whole,
)
from unnaive.store.sql.columns import TABLE, Columns, check_text, output_names
from unnaive.store.sql.trees import answer_tree, mean_forest, score_tree

AT_ONCE = 240  # scores of members in one step
NOTHING = -700.0  # exp of less is written as 0: some engines raise an error on underflow


def sql_answer(model: Any) -> Answer:
    """Return the answer of a fitted model, if it can be written as SQL."""
    check_is_fitted(model)
    model = unwrap_classifier(model, "written as SQL")
    answer = getattr(model, "answer_", None)
    core = getattr(answer, "core", model)
    if not isinstance(answer, Answer) or isinstance(core, ExternalEstimator):
        inside = type(getattr(core, "estimator", core)).__name__
        around = "" if inside == type(model).__name__ else f"{type(model).__name__} around "
        raise TypeError(
            f"{around}{inside} cannot be written as SQL; classifiers of this library can, also "
            "inside a ClassDecompositionClassifier, an AutoClassifier, a search or a classifier "
            "with a threshold."
        )
    return answer


@singledispatch
def probabilities(node: Any, columns: Columns) -> list[str]:  # noqa: ARG001
    """Return the probability of each class, as columns."""
    raise TypeError(f"a {type(node).__name__} cannot be written as SQL.")


@probabilities.register
def _(node: EvidenceTable, columns: Columns) -> list[str]:
    return shares(columns, [score(columns, node.scorer)])[0]


@probabilities.register
def _(node: NaiveBayesTree, columns: Columns) -> list[str]:
    return shares(columns, [score_tree(columns, node)])[0]


@probabilities.register
def _(node: ClassTree, columns: Columns) -> list[str]:
    return answer_tree(columns, node)


@probabilities.register
def _(node: Forest, columns: Columns) -> list[str]:
    return mean_forest(columns, node)


@probabilities.register
def _(node: Ensemble, columns: Columns) -> list[str]:
    total = _total(node, columns)
    return total if node.combine == "mean" else shares(columns, [total])[0]


def _total(node: Ensemble, columns: Columns) -> list[str]:
    """Return the intercept and what members give, times their weights, added in their order."""
    double, weights = columns.dialect.double, node.shares.tolist()
    totals: list[exp.Expr] = [double(start) for start in node.intercept]
    at_once = 1 if node.stack is None else max(1, AT_ONCE // node.n_outputs)
    for first in range(0, len(weights), at_once):
        some = slice(first, first + at_once)
        given = list(zip(_outputs(node, some, columns), weights[some], strict=True))
        step = columns.statement.step("members")
        for c, total in enumerate(totals):
            parts = [_times(values[c], weight, double) for values, weight in given]
            totals[c] = ref(step.define("t", add_up([total, *parts])))
    return [str(total.name) for total in totals]


def _outputs(node: Ensemble, some: slice, columns: Columns) -> list[list[exp.Expr]]:
    """Return what some members of an ensemble give, a value for each class."""
    n, kind = node.n_outputs, node.member_output
    if node.stack is None:
        (member,) = node.members[some]
        if kind == "log_probability":
            return [[ref(s) for s in _bounded_scores(member, columns)]]
        models = [probabilities(member, columns)]
    else:
        scores = score(columns, node.stack.scorer, slice(some.start * n, some.stop * n))
        models = [scores[k : k + n] for k in range(0, len(scores), n)]
        if kind == "probability":
            models = shares(columns, models)
    if kind != "vote":
        return [[ref(p) for p in model] for model in models]
    double = columns.dialect.double
    return [
        [case([(op(ref(won), "=", whole(c)), double(1.0))], double(0.0)) for c in range(n)]
        for won in winners(columns, models)
    ]


def _bounded_scores(node: Any, columns: Columns) -> list[str]:
    """Return log probabilities up to a constant of the row, none of them minus infinity."""
    if isinstance(node, EvidenceTable):
        return score(columns, node.scorer)
    if isinstance(node, NaiveBayesTree):
        return score_tree(columns, node)
    if isinstance(node, Ensemble) and node.has_bounded_scores:
        return _total(node, columns)
    return logs(columns, probabilities(node, columns), LEAST_LOG)


def _times(value: exp.Expr, weight: float, double: Any) -> exp.Expr:
    return value if weight == 1.0 else op(value, "*", double(weight))


@probabilities.register
def _(node: GatedMixture, columns: Columns) -> list[str]:
    """Return the log responsibility of each expert along its gates, then a sum over experts."""
    shape = node.shape
    scores = score(columns, node.scorer)
    models = [[scores[unit] for unit in units] for units in shape.models()]
    wholes = log_sums(columns, models)
    step = columns.statement.step("responsibility")

    def longer(way: list[exp.Expr], score: str, whole: str) -> list[exp.Expr]:
        share = exp.Paren(this=op(ref(score), "-", ref(whole)))
        return [*(part.copy() for part in way), share]

    ways: list[list[exp.Expr]] = [[]]  # to every node: those of its gate, and its own share
    for g in range(shape.n_gates):
        ways += [longer(ways[g], s, wholes[g]) for s in models[g]]
    experts = list(zip(ways, models, wholes, strict=True))[shape.n_gates :]
    both = [
        [step.define("b", add_up(longer(way, s, whole))) for s in scores]
        for way, scores, whole in experts
    ]
    best = tops(columns, [[s for expert in both for s in expert]])[0]
    step = columns.statement.step("raised")
    parts = [
        step.define("e", add_up([raised(columns, expert[c], best) for expert in both]))
        for c in range(shape.n_classes)
    ]
    return normalized(columns, [parts])[0]


@probabilities.register
def _(node: GroupedClasses, columns: Columns) -> list[str]:
    pairs = probabilities(node.inner, columns)
    owners = [np.flatnonzero(node.class_index == c) for c in range(node.n_outputs)]
    step = columns.statement.step("classes")
    class_pairs = [[ref(pairs[k]) for k in ks] for ks in owners]
    dialect = columns.dialect
    if node.aggregation == "sum":
        one = dialect.double(1.0)
        return [
            step.define("p", dialect.least([add_up(parts), one.copy()])) for parts in class_pairs
        ]
    best = [step.define("e", dialect.greatest(parts)) for parts in class_pairs]
    return normalized(columns, [best])[0]


# Naive Bayes -------------------------------------------------------------------------------------


def score(columns: Columns, scorer: Scorer, groups: slice = slice(None)) -> list[str]:
    """Return the joint log probabilities of some groups of a scorer, as columns."""
    terms = [_Evidence(columns, j, term, groups) for j, term in enumerate(scorer.terms)]
    slots = [[columns.slot(j, coder) for j, coder in pair.columns] for pair in scorer.pairs]
    if any(isinstance(term, (KernelTerm, GaussianTerm)) for term in scorer.terms):
        step = columns.statement.step("places")
        for term in terms:
            term.prepare(step)
    double = columns.dialect.double
    adder = SumBuilder(columns.statement, [double(p) for p in scorer.log_prior[groups]], "scores")
    for term in terms:
        term.add_to(adder)
    for pair, (first, second) in zip(scorer.pairs, slots, strict=True):
        logs = pair.logs[:, :, groups]
        row = op(ref(first), "*", whole(logs.shape[1]))
        key = op(row, "+", ref(second))
        flat = logs.reshape(-1, logs.shape[2])
        adder.add(adder.step.look_up(key, np.arange(len(flat)), flat))
    return adder.finish()


class _Evidence:
    """One term of a scorer: first the columns it needs, then its evidence."""

    def __init__(self, columns: Columns, j: int, term: Term, groups: slice) -> None:
        self.columns, self.j, self.term, self.groups = columns, j, term, groups
        self.places: list[str] = []
        self.tables: list[NDArray[np.float64]] = []
        if isinstance(term, TableTerm):
            self.logs = term.logs[:, groups]
            if self.logs.any():
                self.slot = columns.slot(j, term.coder)
        elif term is not None:
            self.value = columns.value(j)

    def prepare(self, step: Step) -> None:
        term = self.term
        if isinstance(term, GaussianTerm):
            deviation = np.sqrt(term.variance)
            self.places = [
                step.define("z", self._distance(mean, densities))
                for mean, densities in zip(term.mean, deviation, strict=True)
            ][self.groups]
        elif isinstance(term, KernelTerm):
            densities = term.densities
            for c in range(len(densities.start)):
                logs = densities.logs[densities.first[c] : densities.last[c]]
                scale = 1.0 / densities.scale.half_range * densities.per_step[c]
                shift = densities.start[c] * densities.per_step[c]
                place = self._place(densities.scale.low, scale, shift, len(logs) - 1)
                self.places.append(step.define("z", place))
                self.tables.append(logs)

    def _distance(self, mean: float, deviation: float) -> exp.Expr:
        """Return the standard deviations from the mean, up to the farthest that count."""
        dialect, far = self.columns.dialect, np.sqrt(2.0 * FARTHEST) * deviation
        near = dialect.least(
            [
                dialect.greatest([ref(self.value), dialect.double(mean - far)]),
                dialect.double(mean + far),
            ]
        )
        distance = exp.Paren(this=op(near, "-", dialect.double(mean)))
        return op(distance, "/", dialect.double(deviation))

    def _place(self, low: float, scale: float, shift: float, last: int) -> exp.Expr:
        """Return the position of a value among the nodes of a table, as the kernels compute it.

        It lies between the first and the last node, and is NULL for a missing value.
        """
        dialect, double = self.columns.dialect, self.columns.dialect.double
        half = op(double(0.5), "*", ref(self.value))
        above = exp.Paren(this=op(half, "-", double(0.5 * low)))
        place = op(op(above, "*", double(scale)), "-", double(shift))
        limited = dialect.least([dialect.greatest([place, double(0.0)]), double(float(last))])
        return case([(is_null(ref(self.value)), exp.Null())], limited)

    def _between(self, step: Step, place: str, logs: NDArray[np.float64]) -> exp.Expr:
        """Return the log density on the straight line between two nodes of a table."""
        number, floor = self.columns.dialect.number, self.columns.dialect.floor
        rises = np.append(np.diff(logs), 0.0)
        rows = [
            [whole(k), number(log), number(rise)]
            for k, (log, rise) in enumerate(zip(logs.tolist(), rises.tolist(), strict=True))
        ]
        log, rise = step.join(floor(ref(place)), rows)
        beyond = exp.Paren(this=op(ref(place), "-", floor(ref(place))))
        return exp.Paren(this=op(log, "+", op(beyond, "*", rise)))

    def add_to(self, adder: SumBuilder) -> None:
        term, dialect = self.term, self.columns.dialect
        if isinstance(term, TableTerm):
            if self.logs.any():
                keys = np.arange(len(self.logs))
                adder.add(adder.step.look_up(ref(self.slot), keys, self.logs))
        elif isinstance(term, GaussianTerm):
            peak = term.peak
            squares = [op(op(dialect.double(0.5), "*", ref(z)), "*", ref(z)) for z in self.places]
            there = [
                op(dialect.double(top), "-", square)
                for top, square in zip(peak[self.groups], squares, strict=True)
            ]
            adder.add(self._unless_missing(there, term.missing))
        elif isinstance(term, KernelTerm):
            densities = []
            for z, logs, weight in zip(self.places, self.tables, term.log_weight, strict=True):
                density = self._between(adder.step, z, logs)
                densities.append(op(dialect.double(weight), "+", density))
            adder.add(self._unless_missing(densities, term.missing))

    def _unless_missing(
        self, there: Sequence[exp.Expr], missing: NDArray[np.float64]
    ) -> list[exp.Expr | None]:
        double = self.columns.dialect.double
        return [
            case([(is_null(ref(self.value)), double(absent))], present)
            for present, absent in zip(there, missing[self.groups], strict=True)
        ]


# What is made of scores --------------------------------------------------------------------------


def raised(columns: Columns, score: str, top: str) -> exp.Expr:
    """Return exp(score - top), for score <= top."""
    dialect, less = columns.dialect, op(ref(score), "-", ref(top))
    nothing = op(less, "<", dialect.number(NOTHING))
    return case([(nothing, dialect.double(0.0))], exp.Exp(this=less.copy()))


def pick(conditions: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the value of the first condition that holds; without any, the last."""
    if len(values) == 1:
        return values[0]
    return case(list(zip(conditions[:-1], values[:-1], strict=True)), values[-1])


def tops(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """Return the best score of each model."""
    step = columns.statement.step("best")
    return [
        step.define("m", columns.dialect.greatest([ref(s) for s in scores])) for scores in models
    ]


def shares(columns: Columns, models: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the probabilities of several models, given their scores."""
    best = tops(columns, models)
    step = columns.statement.step("raised")
    parts = [
        [step.define("e", raised(columns, s, top)) for s in scores]
        for scores, top in zip(models, best, strict=True)
    ]
    return normalized(columns, parts)


def normalized(columns: Columns, models: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return parts as shares of their sum."""
    step = columns.statement.step("sums")
    sums = [step.define("n", add_up([ref(part) for part in parts])) for parts in models]
    step = columns.statement.step("shares")
    return [
        [step.define("p", op(ref(part), "/", ref(total))) for part in parts]
        for parts, total in zip(models, sums, strict=True)
    ]


def logs(columns: Columns, parts: Sequence[str], least: float) -> list[str]:
    """Return the logarithms of shares; none is less than ``least``."""
    step, double = columns.statement.step("logs"), columns.dialect.double

    def log(part: str) -> exp.Expr:
        tiny = op(ref(part), "<=", double(math.exp(least)))
        return case([(tiny, double(least))], exp.Ln(this=ref(part)))

    return [step.define("s", log(part)) for part in parts]


def winners(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """Return the number of each model's best class, the first of several."""
    best = tops(columns, models)
    step = columns.statement.step("winners")
    return [
        step.define("w", pick(equal_to(scores, top), [whole(c) for c in range(len(scores))]))
        for scores, top in zip(models, best, strict=True)
    ]


def equal_to(columns: Sequence[str], other: str) -> list[exp.Expr]:
    """Return whether each of some columns equals another."""
    return [op(ref(column), "=", ref(other)) for column in columns]


def log_sums(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """Return the logarithm of the sum of each model's probabilities, given by their logs."""
    best = tops(columns, models)
    step = columns.statement.step("log_sums")
    sums = []
    for scores, top in zip(models, best, strict=True):
        total = add_up([raised(columns, s, top) for s in scores])
        sums.append(step.define("l", op(ref(top), "+", exp.Ln(this=total))))
    return sums


# Decisions ---------------------------------------------------------------------------------------


def decide(columns: Columns, decision: Decision, probabilities: Sequence[str]) -> list[exp.Expr]:
    """Return, for each class, the condition under which a row is given it, the first that holds."""
    double = columns.dialect.double
    if decision.threshold is not None:
        p, least = ref(probabilities[decision.positive]), double(decision.threshold)
        above, below = op(p, ">=", least), op(p.copy(), "<", least)
        return [above, below] if decision.positive == 0 else [below, above.copy()]
    step = columns.statement.step("costs")
    costs = []
    for of_class in decision.costs.T.tolist():
        terms = zip(probabilities, of_class, strict=True)
        costs.append(step.define("c", add_up([op(ref(p), "*", double(cost)) for p, cost in terms])))
    step = columns.statement.step("cheapest")
    lowest = step.define("m", columns.dialect.least([ref(cost) for cost in costs]))
    return equal_to(costs, lowest)


# Statements --------------------------------------------------------------------------------------


def write_answer(
    answer: Answer,
    columns: Columns,
    keep: Sequence[str],
    names: Sequence[str] | None,
    prediction: str | None,
    decision: str | None,
) -> exp.Select:
    """Return the statement of an answer; see `to_sql`."""
    dialect, classes = columns.dialect, answer.classes
    if answer.decision is None:
        decision = None
    names = output_names(classes, names, [*keep, prediction, decision], dialect)
    outputs: list[tuple[exp.Expr, str]] = [(ref(columns.keep(name)), name) for name in keep]
    p = probabilities(answer.root, columns)
    outputs += [(ref(column), name) for column, name in zip(p, names, strict=True)]
    if prediction is not None:
        best = equal_to(p, tops(columns, [p])[0])
        outputs.append((pick(best, _labels(classes, dialect)), prediction))
    if decision is not None and answer.decision is not None:
        chosen = decide(columns, answer.decision, p)
        outputs.append((pick(chosen, _labels(classes, dialect)), decision))
    return columns.statement.select(outputs, TABLE)


def write_scorecard(
    card: Scorecard, columns: Columns, keep: Sequence[str], names: Sequence[str] | None
) -> exp.Select:
    """Return a statement with one column: the sum of the points, a whole number."""
    (name,) = output_names(["score"], names or ["score"], keep, columns.dialect)
    outputs: list[tuple[exp.Expr, str]] = [(ref(columns.keep(k)), k) for k in keep]
    (total,) = score(columns, card.scorer)
    outputs.append((exp.cast(ref(total), exp.DataType.Type.BIGINT), name))
    return columns.statement.select(outputs, TABLE)


def _labels(classes: Any, dialect: Dialect) -> list[exp.Expr]:
    """Return the classes as literals of one type for all, text if need be."""
    values = classes.tolist()
    if all(isinstance(v, bool) for v in values):
        return [exp.Boolean(this=v) for v in values]
    if not any(isinstance(v, bool) for v in values):
        if all(isinstance(v, int) for v in values):
            return [whole(v) for v in values]
        if all(isinstance(v, numbers.Real) for v in values):
            return [dialect.double(float(v)) for v in values]
    return [text(check_text(_written(v), f"the class {v!r}")) for v in values]


def _written(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
