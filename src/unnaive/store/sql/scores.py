"""Scores of a naive Bayes as columns, and what is made of them: probabilities, winners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.kernels import FARTHEST
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import case, is_null, op, ref, whole
from unnaive.store.sql.statement import MOST_TERMS, Statement, Step, add_up

NOTHING = -700.0  # exp of less is written as 0: some engines raise an error on underflow


@dataclass(frozen=True, slots=True)
class Thinning:
    """Allowed error of tables of kernel densities: of the log score of a row, over all columns."""

    allowed: float

    def __call__(self, logs: NDArray[np.float64], columns: int) -> tuple[int, NDArray[np.float64]]:
        """Step between the nodes that are kept, and the logs there.

        Lines between nodes that are kept bend at nodes only, so the error is greatest at one.
        """
        best, most = 1, self.allowed / columns
        places = np.arange(len(logs))
        for step in (2, 3, 4, 6, 8, 12, 16, 24, 32):
            kept = _every(logs, step)
            error = np.interp(places, step * np.arange(len(kept)), kept) - logs
            if most <= 0.0 or np.abs(error).max() > most:
                break
            best = step
        return best, _every(logs, best)


def _every(logs: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Every step-th node, and one at or beyond the last."""
    n = -(-(len(logs) - 1) // step) * step + 1
    return np.pad(logs, (0, n - len(logs)), mode="edge")[::step]


class Adder:
    """Adds terms to scores in the order of the model, some in every step, so that none is deep.

    The order is that of `predict_proba`: where every class has an impossible value, scores are so
    large that another order would change the answer.
    """

    def __init__(self, statement: Statement, start: Sequence[exp.Expr], label: str) -> None:
        self.statement, self.label = statement, label
        self.step = statement.step(label)
        self.totals = list(start)
        self.terms = 0

    def add(self, terms: Sequence[exp.Expr | None]) -> None:
        """One attribute's evidence; its tables have been joined to `step`."""
        self.totals = [
            total if term is None else op(total, "+", term)
            for total, term in zip(self.totals, terms, strict=True)
        ]
        self.terms += 1
        if self.terms % (MOST_TERMS // 2) == 0 or self.step.is_full:
            self.totals = [ref(column) for column in self.finish()]
            self.step = self.statement.step(self.label)

    def finish(self) -> list[str]:
        return [self.step.define("s", total) for total in self.totals]


def score(
    columns: Columns, scorer: Scorer, groups: slice = slice(None), thinning: Thinning | None = None
) -> list[str]:
    """Joint log probabilities of some groups of a scorer, as columns."""
    terms = [_Evidence(columns, j, term, groups) for j, term in enumerate(scorer.terms)]
    slots = [[columns.slot(j, coder) for j, coder in pair.columns] for pair in scorer.pairs]
    kernels = sum(isinstance(term, KernelTerm) for term in scorer.terms)
    if any(isinstance(term, (KernelTerm, GaussianTerm)) for term in scorer.terms):
        step = columns.statement.step("places")
        for term in terms:
            term.prepare(step, thinning or Thinning(0.0), kernels)
    double = columns.dialect.double
    adder = Adder(columns.statement, [double(p) for p in scorer.log_prior[groups]], "scores")
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

    def prepare(self, step: Step, thinning: Thinning, kernels: int) -> None:
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
                every, logs = thinning(
                    densities.logs[densities.first[c] : densities.last[c]], kernels
                )
                scale = 1.0 / densities.scale.half_range * densities.per_step[c] / every
                shift = densities.start[c] * densities.per_step[c] / every
                place = self._place(densities.scale.low, scale, shift, len(logs) - 1)
                self.places.append(step.define("z", place))
                self.tables.append(logs)

    def _distance(self, mean: float, deviation: float) -> exp.Expr:
        """Standard deviations from the mean, up to the farthest that count."""
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
        double = self.columns.dialect.double
        place = place_of(self.columns, self.value, low, double(scale), double(shift))
        return inside(self.columns, self.value, place, double(float(last)))

    def add_to(self, adder: Adder) -> None:
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
                density = between(self.columns, adder.step, z, dialect.floor(ref(z)), logs)
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


# Tables of densities -----------------------------------------------------------------------------


def place_of(
    columns: Columns, value: str, low: float, scale: exp.Expr, shift: exp.Expr
) -> exp.Expr:
    """Where a value lies among the nodes of a table, as the kernels compute it."""
    double = columns.dialect.double
    half = op(double(0.5), "*", ref(value))
    above = exp.Paren(this=op(half, "-", double(0.5 * low)))
    return op(op(above, "*", scale), "-", shift)


def inside(columns: Columns, value: str, place: exp.Expr, last: exp.Expr) -> exp.Expr:
    """The place, no farther than the first or the last node; NULL for a missing value."""
    dialect = columns.dialect
    limited = dialect.least([dialect.greatest([place, dialect.double(0.0)]), last])
    return case([(is_null(ref(value)), exp.Null())], limited)


def between(
    columns: Columns, step: Step, place: str, key: exp.Expr, logs: NDArray[np.float64]
) -> exp.Expr:
    """The log density on the straight line between two nodes."""
    number, floor = columns.dialect.number, columns.dialect.floor
    rises = np.append(np.diff(logs), 0.0)
    rows = [
        [whole(k), number(log), number(rise)]
        for k, (log, rise) in enumerate(zip(logs.tolist(), rises.tolist(), strict=True))
    ]
    log, rise = step.join(key, rows)
    beyond = exp.Paren(this=op(ref(place), "-", floor(ref(place))))
    step_up = op(beyond, "*", rise)
    return exp.Paren(this=op(log, "+", step_up))


# What is made of scores --------------------------------------------------------------------------


def raised(columns: Columns, score: str, top: str) -> exp.Expr:
    """exp(score - top), for score <= top."""
    dialect, less = columns.dialect, op(ref(score), "-", ref(top))
    nothing = op(less, "<", dialect.number(NOTHING))
    return case([(nothing, dialect.double(0.0))], exp.Exp(this=less.copy()))


def pick(conditions: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    """The value of the first condition that holds; without any, the last."""
    if len(values) == 1:
        return values[0]
    return case(list(zip(conditions[:-1], values[:-1], strict=True)), values[-1])


def tops(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """The best score of each model."""
    step = columns.statement.step("best")
    return [
        step.define("m", columns.dialect.greatest([ref(s) for s in scores])) for scores in models
    ]


def shares(columns: Columns, models: Sequence[Sequence[str]]) -> list[list[str]]:
    """Scores of several models to probabilities of their classes."""
    best = tops(columns, models)
    step = columns.statement.step("raised")
    parts = [
        [step.define("e", raised(columns, s, top)) for s in scores]
        for scores, top in zip(models, best, strict=True)
    ]
    return normalized(columns, parts)


def normalized(columns: Columns, models: Sequence[Sequence[str]]) -> list[list[str]]:
    """Parts to shares of their sum."""
    step = columns.statement.step("sums")
    sums = [step.define("n", add_up([ref(part) for part in parts])) for parts in models]
    step = columns.statement.step("shares")
    return [
        [step.define("p", op(ref(part), "/", ref(total))) for part in parts]
        for parts, total in zip(models, sums, strict=True)
    ]


def logs(columns: Columns, parts: Sequence[str], least: float) -> list[str]:
    """Logarithms of shares; none is less than ``least``."""
    step, double = columns.statement.step("logs"), columns.dialect.double

    def log(part: str) -> exp.Expr:
        tiny = op(ref(part), "<=", double(math.exp(least)))
        return case([(tiny, double(least))], exp.Ln(this=ref(part)))

    return [step.define("s", log(part)) for part in parts]


def winners(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """The number of each model's best class, the first of several."""
    best = tops(columns, models)
    step = columns.statement.step("winners")
    return [
        step.define("w", pick(equal_to(scores, top), [whole(c) for c in range(len(scores))]))
        for scores, top in zip(models, best, strict=True)
    ]


def equal_to(columns: Sequence[str], other: str) -> list[exp.Expr]:
    """Whether each of some columns equals another."""
    return [op(ref(column), "=", ref(other)) for column in columns]


def log_sums(columns: Columns, models: Sequence[Sequence[str]]) -> list[str]:
    """The logarithm of the sum of each model's probabilities, given by their logs."""
    best = tops(columns, models)
    step = columns.statement.step("log_sums")
    sums = []
    for scores, top in zip(models, best, strict=True):
        total = add_up([raised(columns, s, top) for s in scores])
        sums.append(step.define("l", op(ref(top), "+", exp.Ln(this=total))))
    return sums
