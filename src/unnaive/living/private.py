"""Counts with noise, so that no one can tell whether a person's rows are among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.wording import counted
from unnaive.counts import CountTable, Summary
from unnaive.counts.moments import Moments
from unnaive.counts.summary import mark_whole
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.categories import order_values
from unnaive.encode.coding import coder_sizes, column_slots
from unnaive.encode.labels import known_groups, label_groups, read_target
from unnaive.living.noise import discrete_gaussian, discrete_laplace
from unnaive.living.plan import Plan, Range
from unnaive.models import NaiveBayesClassifier
from unnaive.table import Block
from unnaive.table.passes import COUNTING

LEAST_EPSILON, LARGEST_EPSILON = 1e-6, 1e3
DENOMINATOR = 10**9  # of the parameters of noise, as fractions


@dataclass(frozen=True, slots=True)
class Privacy:
    """What a release of counts gives away, by differential privacy; two add up.

    Attributes
    ----------
    epsilon, delta : float
        Whether a person's rows are among those counted changes the probability of any result by
        at most a factor exp(epsilon), but for a probability of delta.
    noise : {"laplace", "gaussian"}
        Discrete Laplace noise, with delta = 0, or discrete Gaussian noise.
    tables : int
        Tables that a row is counted in: one for each column, and that of the classes.
    rows_each : int
        Most rows of one person.
    scale : float
        Of Laplace noise its scale, of Gaussian noise its standard deviation, in rows.
    min_count : int
        Counts below it, noise included, were set to 0.
    """

    epsilon: float
    delta: float
    noise: str
    tables: int
    rows_each: int
    scale: float
    min_count: int

    @property
    def sensitivity(self) -> float:
        """How far one person moves all counts together: by their sum, or as a Euclidean length."""
        if self.noise == "laplace":
            return float(self.tables * self.rows_each)
        return math.sqrt(self.tables) * self.rows_each

    def __str__(self) -> str:
        of = f"discrete {'Laplace' if self.noise == 'laplace' else 'Gaussian'} noise"
        norm = "L1" if self.noise == "laplace" else "L2"
        delta = f", delta {self.delta:g}" if self.delta else ""
        return (
            f"epsilon {self.epsilon:g}{delta}: {of} of scale {self.scale:.4g} in every count "
            f"({norm} sensitivity {self.sensitivity:.4g}: {counted(self.tables, 'table')}, "
            f"{counted(self.rows_each, 'row')} of each person), counts below {self.min_count} are 0"
        )


def total_privacy(releases: list[Privacy]) -> tuple[float, float]:
    """Epsilon and delta of several releases about the same people together: their sums.

    Releases about different people, as of sites that share none, are as private as the least
    private of them.
    """
    return sum(r.epsilon for r in releases), sum(r.delta for r in releases)


def private(
    plan: Plan,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    rows_each: int = 1,
    min_count: int | None = None,
) -> tuple[NaiveBayesClassifier, Privacy]:
    """The naive Bayes model of rows counted with noise: differentially private.

    Every count of every table, zeros too, has noise of its own, and nothing else is told about the
    rows: columns, categories, ranges of numbers and classes are those of the plan, which must be
    public. Numbers are put into the cells of their range. Values that the plan does not list are
    counted as missing, and rows of other classes are left out.

    Parameters
    ----------
    plan : Plan
        With values: `unnaive plan --values`, or `Plan.of(model, target, values=True)`.
    X, y :
        As in the fit of the model. Weights are refused: noise is for whole rows.
    epsilon : float
        The privacy that is spent, for the whole model: 1 is usual, 0.1 is strict.
    delta : float, default=0.0
        0: discrete Laplace noise. Above 0, and below one over the number of people: discrete
        Gaussian noise, which is smaller where there are many columns.
    rows_each : int, default=1
        Most rows that one person may have among these.
    min_count : int or None, default=None
        Counts below it, after noise, are set to 0; None is two standard deviations of the noise.

    Returns
    -------
    model : NaiveBayesClassifier
        Those of sites can be merged.
    privacy : Privacy
        What was spent, and on what terms.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.datasets import make_loans
    >>> from unnaive.living.plan import Plan
    >>> from unnaive.living.private import private
    >>> public, outcome = make_loans(200, random_state=0)  # examples that are no secret
    >>> plan = Plan.of(NaiveBayesClassifier().fit(public, outcome), "outcome", values=True)
    >>> X, y = make_loans(5000, random_state=1)
    >>> model, privacy = private(plan, X, y, epsilon=1.0)
    >>> privacy.tables, privacy.sensitivity
    (11, 11.0)
    """
    tables = len(plan.schema) + 1
    noise = _noise(epsilon, delta, tables, rows_each, min_count)
    model = plan.estimator()
    model._check_parameters()
    wanted = model._wanted(plan.schema)
    if wanted.moments:
        raise ValueError(
            f"{plan.schema[min(wanted.moments)]} needs sums of numbers (numeric='gaussian'), and "
            "only counts are made private; choose another rule in the plan."
        )
    if plan.weight is not None:
        raise ValueError("the plan has weights, and noise is for whole rows; make one without.")
    labels, coders = _public(plan)
    source = model._open_to_learn(X, y, None, plan.schema)
    counts = source.reduce(partial(_count, labels=labels, coders=coders), _add, COUNTING)
    noisy = [_with_noise(table, noise) for table in counts]
    totals = noisy.pop()[:, 0].astype(np.float64)
    if not totals.any():
        raise ValueError(
            f"noise of scale {noise.scale:.4g} hides all rows; take a larger epsilon, fewer "
            "columns or more rows."
        )
    parts = [_occurring(c, table) for c, table in zip(coders, noisy, strict=True)]
    out = CountTable.empty(len(labels), coder_sizes([c for c, _ in parts]))
    for j, (_, column_counts) in enumerate(parts):
        out.attribute(j)[:] = column_counts
    kept = tuple(c for c, _ in parts)
    schema, n_rows = mark_whole(plan.schema, kept), int(totals.sum())
    table = CountTable(out.counts, out.offsets, totals)
    moments = Moments.empty(len(labels), ())
    summary = Summary(schema, labels, kept, table, moments, n_rows, wanted, model.grid_limit)
    return model._learn(summary), noise


def _noise(
    epsilon: float, delta: float, tables: int, rows_each: int, min_count: int | None
) -> Privacy:
    if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ValueError(
            f"epsilon must be from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}; got {epsilon!r}."
        )
    if not 0 <= delta < 0.5:
        raise ValueError(f"delta must be 0, or small and below 0.5; got {delta!r}.")
    if isinstance(rows_each, bool) or not isinstance(rows_each, int) or rows_each < 1:
        raise ValueError(f"rows_each must be a whole number of rows, 1 or more; got {rows_each!r}.")
    if delta == 0:
        scale = tables * rows_each / epsilon
        deviation = math.sqrt(2.0) * scale
    else:
        # Zero-concentrated privacy rho = sensitivity**2 / (2 variance) gives
        # epsilon = rho + 2 sqrt(rho log(1 / delta)) (Bun and Steinke 2016).
        log = math.log(1 / delta)
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        scale = deviation = rows_each * math.sqrt(tables / (2 * rho))
    if min_count is None:
        min_count = math.ceil(2 * deviation)
    elif isinstance(min_count, bool) or not isinstance(min_count, int) or min_count < 0:
        raise ValueError(f"min_count must be a whole number, 0 or more; got {min_count!r}.")
    word = "laplace" if delta == 0 else "gaussian"
    return Privacy(float(epsilon), float(delta), word, tables, rows_each, scale, min_count)


def _upward(number: float) -> Fraction:
    """A fraction that is not below a number: more noise, never less."""
    return Fraction(math.ceil(Fraction(number) * DENOMINATOR) + 1, DENOMINATOR)


def _with_noise(table: NDArray[np.int64], noise: Privacy) -> NDArray[np.int64]:
    """Every count with noise, then small ones and those below zero set to 0."""
    laplace = noise.noise == "laplace"
    width = _upward(noise.scale if laplace else noise.scale**2)
    draw = discrete_laplace if laplace else discrete_gaussian
    drawn = np.array([draw(width) for _ in range(table.size)], dtype=np.int64)
    noisy = table + drawn.reshape(table.shape)
    return np.where(noisy < max(1, noise.min_count), 0, noisy)


def _public(plan: Plan) -> tuple[Labels, list[Bins | Categories | None]]:
    """Classes and values of the plan as what rows are counted by."""
    if plan.classes is None or plan.values is None:
        raise ValueError(
            "the plan does not list classes and values, and those of the rows are not public; "
            "write it with unnaive plan --values, or Plan.of(..., values=True)."
        )
    # Each twice: numbers of which none comes twice would look like measurements.
    labels, _ = label_groups(read_target([*plan.classes, *plan.classes]))
    coders: list[Bins | Categories | None] = [
        Bins(v.cuts)
        if isinstance(v, Range)
        else Categories(order_values(v, column.order))
        if column.kind != "empty"
        else None
        for column, v in zip(plan.schema, plan.values, strict=True)
    ]
    return labels, coders


def _count(
    block: Block, labels: Labels, coders: list[Bins | Categories | None]
) -> list[NDArray[np.int64]]:
    """Rows by class and slot of each column, in the plan's own values; then those of the classes.

    What is done with a row depends on that row alone.
    """
    assert block.target is not None
    groups = known_groups(labels, block.target)
    known, n = groups < len(labels), len(labels)
    tables = []
    for j, (coder, size) in enumerate(zip(coders, coder_sizes(coders), strict=True)):
        slots = column_slots(block, j, coder, unseen=False)[known].astype(np.int64)
        width = size + 2
        table = np.bincount(groups[known] * width + slots, minlength=n * width)
        tables.append(table.reshape(n, width)[:, :-1])
    return [*tables, np.bincount(groups[known], minlength=n)[:, None]]


def _add(first: list[Any], second: list[Any]) -> list[Any]:
    return [a + b for a, b in zip(first, second, strict=True)]


def _occurring(
    coder: Bins | Categories | None, table: NDArray[np.int64]
) -> tuple[Grid | Categories | None, NDArray[np.int64]]:
    """The values that still have rows, as a pass over such rows would have numbered them."""
    kept = table[:, 1:].sum(axis=0) > 0
    counts = np.concatenate(
        (table[:, :1], table[:, 1:][:, kept], np.zeros((len(table), 1), np.int64)), axis=1
    )
    if isinstance(coder, Categories):
        values = tuple(v for v, here in zip(coder.values, kept, strict=True) if here)
        return Categories(values), counts
    if coder is None:
        return None, counts
    middles = Range.middles(coder.cuts)[kept]
    return Grid(0, middles, middles), counts
