"""Evidence of the values of one attribute: of a table, or of a density."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, KernelTerm, TableTerm, Term
from unnaive.bayes.evidence import mean_strength, weigh
from unnaive.bayes.values import (
    density_shares,
    logs_at,
    normalized,
    points_of,
    slot_counts,
    slot_shares,
)
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.discretize.discretizer import cut_names, levels_at
from unnaive.discretize.words import slot_words
from unnaive.encode import Bins
from unnaive.explain.intervals import density_reach, normal_reach, table_reach
from unnaive.explain.parts import Part, label_names
from unnaive.table import Column, Schema

State = Literal["missing", "value", "unseen"]
VALUE: State = "value"
# Why an attribute has no evidence.
NO_VALUE = "the training rows have no value there"
UNCUT = (
    "numbers that are not cut, because no cut tells classes apart by enough to pay for itself in "
    "description length (MDL); numeric='frequency' keeps intervals anyway, and "
    "UnnaiveBayesClassifier finds weak effects and those of two columns together"
)
ALIKE = "all values are treated alike"
BY_ROW = (
    "what a value says depends on the other values of its row; explain_rows shows it row by row, "
    "importance_of how much the column counts"
)
LAST_TIME = 9.2e18  # microseconds, within 64 bits


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttributeEvidence(Facts):
    """Evidence of the values of one attribute.

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
    form : {"values", "intervals", "density", "nothing"}
        What the rows stand for; "nothing" where the attribute carries no evidence.
    values : tuple of str
        Names of the rows.
    states : tuple of {"missing", "value", "unseen"}
    raw : tuple
        A value of the column that falls into each row: a category, a number inside the interval,
        the point; None for missing and unseen.
    cuts : array
        Between the intervals; empty for other forms.
    logs : array of shape (rows, labels)
        Log P(value | label), a log density for points: the bars that add up.
    weights, low, high : arrays of shape (rows, labels)
        Weight of evidence log P(value | label) - log P(value | others), and its credible interval.
        The interval is NaN where the model keeps no counts.
    counts : array of shape (rows, labels)
        Weight of the training rows; NaN at points, and where the model keeps none.
    shares : array of shape (rows, labels)
        The distribution of the label's rows over the values, missing ones included where known:
        of counts, or else of probabilities. At points: the density.
    log_prior : array of shape (labels,)
        Of the labels, before any attribute.
    labels : tuple of str
        The labels as text.
    reason : str
        Why there is no evidence; empty where there is some.
    """

    name: str
    position: int
    kind: str
    family: str
    form: str
    values: tuple[str, ...]
    states: tuple[State, ...]
    raw: tuple[Any, ...]
    cuts: NDArray[np.float64]
    logs: NDArray[np.float64]
    weights: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    labels: tuple[str, ...]
    reason: str = ""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def importance(self) -> float:
        """Mean absolute evidence for the true label, over rows as frequent as the model expects."""
        return mean_strength(self.weights, self.distribution(), self.log_prior)

    def distribution(self) -> NDArray[np.float64]:
        """``shares`` that sum to one for every label, also where values are points of a density:
        each then stands for its neighbourhood.
        """
        if self.form != "density":
            return self.shares
        return density_shares(self.shares[0], self.shares[1:])

    def _columns(self) -> Columns:
        n_labels = len(self.labels)
        return {
            "column": [self.name] * (len(self) * n_labels),
            "value": [value for value in self.values for _ in self.labels],
            "class": list(self.labels) * len(self),
            "evidence": self.weights.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "rows": self.counts.ravel(),
            "share": self.shares.ravel(),
        }

    def _title(self) -> str:
        if self.reason:
            return f"No evidence of {self.name!r}: {self.reason}"
        return f"Evidence of {self.name!r}: {counted(len(self), 'value')}, {self.form}"


def attribute_evidence(
    part: Part, schema: Schema, j: int, term: Term, level: float
) -> AttributeEvidence:
    """The facts of one attribute of a part."""
    column, n_labels = schema[j], len(part.labels)
    make = partial(
        AttributeEvidence,
        name=schema.label(j),
        position=j,
        kind=column.kind,
        family=column.family,
        log_prior=part.scorer.log_prior,
        labels=label_names(part.labels),
    )
    if isinstance(term, (GaussianTerm, KernelTerm)):
        return make(**_density(part, column, j, term, level))
    if term is None or not term.logs.any():
        counts = slot_counts(part.counts, j, 3, n_labels)[:2]
        zeros = np.zeros((2, n_labels))
        return make(
            form="nothing",
            values=("missing", "any value"),
            states=("missing", "value"),
            raw=(None, None),
            cuts=np.empty(0),
            logs=zeros,
            weights=zeros,
            low=zeros,
            high=zeros,
            counts=counts,
            shares=slot_shares(counts, zeros),
            reason=_reason(part, column, term),
        )
    return make(**_table(part, column, j, term, level))


def _reason(part: Part, column: Column, term: TableTerm | None) -> str:
    """Why a column has no evidence."""
    if column.kind == "empty":
        return NO_VALUE
    if not part.by_value:
        return BY_ROW
    uncut = term is not None and isinstance(term.coder, Bins) and term.coder.size == 1
    return UNCUT if uncut else ALIKE


def _table(part: Part, column: Column, j: int, term: TableTerm, level: float) -> dict[str, Any]:
    """Fields of an attribute whose evidence is by slot."""
    coder, logs = term.coder, term.logs
    counts = slot_counts(part.counts, j, len(logs), logs.shape[1])
    raw: tuple[Any, ...]
    if isinstance(coder, Bins):  # a number always lies in some interval
        raw, kept = (None, *_inside(coder.cuts, column)), coder.size + 1
        states: list[State] = ["missing", *([VALUE] * coder.size)]
    else:
        kept = coder.size + 2
        raw = (None, *coder.values, *coder.rare[:1], None)
        states = ["missing", *([VALUE] * coder.size), "unseen"]
    values = slot_words(coder, column)[:kept]
    logs, counts = logs[:kept], counts[:kept]
    weights = weigh(logs, part.scorer.log_prior)
    down = up = np.full(weights.shape, np.nan)
    if part.errors and part.errors[j].size:
        down = up = normal_reach(part.errors[j][:kept], level)
    elif part.counts is not None:
        down, up = _reach(counts, logs, weights, part, j, level)
    return {
        "form": "intervals" if isinstance(coder, Bins) else "values",
        "values": values,
        "states": tuple(states),
        "raw": raw,
        "cuts": coder.cuts if isinstance(coder, Bins) else np.empty(0),
        "logs": logs,
        "weights": weights,
        "low": weights - down,
        "high": weights + up,
        "counts": counts,
        "shares": slot_shares(counts, logs),
    }


def _reach(
    counts: NDArray[np.float64],
    logs: NDArray[np.float64],
    weights: NDArray[np.float64],
    part: Part,
    j: int,
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distances to the limits; 0 where a value has no evidence by definition."""
    informative = (logs != 0.0).any(axis=1)
    informative[1:] |= (counts[1:] != 0.0).any(axis=1)
    down, up = np.zeros(logs.shape), np.zeros(logs.shape)
    if logs.shape[1] > 1:
        estimates = (logs[informative], (logs - weights)[informative]) if part.direct else None
        down[informative], up[informative] = table_reach(counts[informative], level, estimates)
    return down * part.factor(j), up * part.factor(j)


def _density(
    part: Part, column: Column, j: int, term: GaussianTerm | KernelTerm, level: float
) -> dict[str, Any]:
    """Fields of an attribute whose evidence is by densities: taken at points."""
    points = points_of(term, column)
    logs = np.vstack((term.missing, logs_at(term, column, points)))
    counts = slot_counts(part.counts, j, 3, logs.shape[1])
    prior = part.scorer.log_prior
    weights = weigh(logs, prior)
    reach = np.full(logs.shape, np.nan)
    if part.counts is not None:
        # Whether a number is there is evidence by counts; the number itself, by densities.
        there = np.vstack((term.missing, term.log_weight))
        down, up = _reach(counts[:2], there, weigh(there, prior), part, j, level)
        at_points = density_reach(term, points, counts[1], logs[1:], prior, level)
        reach[0], reach[1:] = np.maximum(down[0], up[0]), at_points * (logs.shape[1] > 1)
    density = np.exp(logs - term.log_weight)
    density[0] = 0.0
    point_counts = np.vstack((counts[:1], np.full((len(points), logs.shape[1]), np.nan)))
    if part.counts is not None:
        density[0] = normalized(counts[:2])[0]
    return {
        "form": "density",
        "values": ("missing", *cut_names(points, column, 4)),
        "states": ("missing",) + ("value",) * len(points),
        "raw": (None, *_natural(points, column)),
        "cuts": np.empty(0),
        "logs": logs,
        "weights": weights,
        "low": weights - reach,
        "high": weights + reach,
        "counts": point_counts,
        "shares": density,
    }


def _inside(cuts: NDArray[np.float64], column: Column) -> tuple[Any, ...]:
    """A value inside each interval between cuts."""
    if len(cuts) == 0:
        return _natural(np.zeros(1), column)
    if column.family == "level":  # the one before the first cut, then those after the cuts
        return _natural(np.append(cuts[:1], cuts + 1.0), column)
    step = max(float(np.diff(cuts).mean()) if len(cuts) > 1 else abs(float(cuts[0])), 1.0)
    middle = 0.5 * cuts[:-1] + 0.5 * cuts[1:]
    return _natural(np.concatenate((cuts[:1], middle, cuts[-1:] + 0.5 * step)), column)


def _natural(numbers: NDArray[np.float64], column: Column) -> tuple[Any, ...]:
    """Numbers as values of the column: dates and durations as such, up to the last there is."""
    family = column.family
    if family == "level":
        return tuple(levels_at(numbers, column))
    if family in ("time", "duration"):
        numbers = np.clip(numbers, -LAST_TIME, LAST_TIME)  # points beyond a density's ends
    if family == "time":
        return tuple(np.datetime64(int(n), "us") for n in numbers)
    if family == "duration":
        return tuple(np.timedelta64(int(n), "us") for n in numbers)
    return tuple(float(n) for n in numbers)
