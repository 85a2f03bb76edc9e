"""Evidence of the values of one attribute: of a table, or of a density."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, KernelTerm, TableTerm, Term
from unnaive.bayes.evidence import weigh
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.counts import CountTable
from unnaive.discretize.discretizer import cut_names
from unnaive.discretize.words import slot_words
from unnaive.encode import Bins
from unnaive.explain.intervals import density_reach, table_reach
from unnaive.explain.parts import Part, label_names
from unnaive.table import Block, Column, Schema

State = Literal["missing", "value", "unseen"]
VALUE: State = "value"
POINTS = 60  # at most, at which densities are shown
CERTAIN = 30.0  # log odds that decide alone: more, as of impossible values, adds nothing
# Seconds that dates and durations are rounded to: a minute, an hour, a day, a year and so on.
CLOCK = (1, 10, 60, 600, 3600, 21600, *(86400 * d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500)))
SPREAD = 3.0  # standard deviations around the means where normal densities are shown


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

    def __len__(self) -> int:
        return len(self.values)

    @property
    def importance(self) -> float:
        """Mean absolute evidence for the true label, over rows as frequent as the model expects."""
        prior = np.exp(self.log_prior - self.log_prior.max())
        strength = np.minimum(np.abs(self.weights), CERTAIN)
        return float((self.distribution() * strength).sum(axis=0) @ prior / prior.sum())

    def distribution(self) -> NDArray[np.float64]:
        """``shares`` that sum to one for every label, also where values are points of a density:
        each then stands for its neighbourhood.
        """
        if self.form != "density":
            return self.shares
        gone, density = self.shares[:1], self.shares[1:]
        return np.vstack((gone, (1.0 - gone) * _normalized(density)))

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
        return f"Evidence of {self.name!r}: {counted(len(self), 'value')}, {self.form}"


def logs_at(term: Term, column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence of a term for numbers: values x labels."""
    assert isinstance(term, (GaussianTerm, KernelTerm))
    block = Block(Schema((column,), False), [values], n_rows=len(values))
    out = np.zeros((len(values), len(term.log_weight)))
    term.adder(block, 0)(slice(0, len(values)), out)
    return out


def slot_counts(counts: CountTable | None, j: int, n_slots: int, n_labels: int) -> NDArray[Any]:
    """Rows behind missing, the values and unseen, slots x labels; NaN where none are kept.

    A column that was not counted by value has at least how many rows have one.
    """
    if counts is None:
        return np.full((n_slots, n_labels), np.nan)
    slots = counts.attribute(j)
    if slots.shape[1] != n_slots:
        slots = np.column_stack((slots[:, 0], counts.totals - slots[:, 0], np.zeros(n_labels)))
    return slots.T


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
            shares=_shares(counts, zeros),
        )
    return make(**_table(part, column, j, term, level))


def _table(part: Part, column: Column, j: int, term: TableTerm, level: float) -> dict[str, Any]:
    """Fields of an attribute whose evidence is by slot."""
    coder, logs = term.coder, term.logs
    counts = slot_counts(part.counts, j, len(logs), logs.shape[1])
    raw: tuple[Any, ...]
    if isinstance(coder, Bins):  # a number always lies in some interval
        raw, kept = (None, *_inside(coder.cuts, column.family)), coder.size + 1
        states: list[State] = ["missing", *([VALUE] * coder.size)]
    else:
        kept = coder.size + 2
        raw = (None, *coder.values, *coder.rare[:1], None)
        states = ["missing", *([VALUE] * coder.size), "unseen"]
    values = slot_words(coder, column.family)[:kept]
    logs, counts = logs[:kept], counts[:kept]
    weights = weigh(logs, part.scorer.log_prior)
    down = up = np.full(weights.shape, np.nan)
    if part.counts is not None:
        down, up = _reach(counts, logs, weights, part, level)
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
        "shares": _shares(counts, logs),
    }


def _reach(
    counts: NDArray[np.float64],
    logs: NDArray[np.float64],
    weights: NDArray[np.float64],
    part: Part,
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distances to the limits; 0 where a value has no evidence by definition."""
    informative = (logs != 0.0).any(axis=1)
    informative[1:] |= (counts[1:] != 0.0).any(axis=1)
    down, up = np.zeros(logs.shape), np.zeros(logs.shape)
    if logs.shape[1] > 1:
        estimates = (logs[informative], (logs - weights)[informative]) if part.direct else None
        down[informative], up[informative] = table_reach(counts[informative], level, estimates)
    return down * part.votes, up * part.votes


def _density(
    part: Part, column: Column, j: int, term: GaussianTerm | KernelTerm, level: float
) -> dict[str, Any]:
    """Fields of an attribute whose evidence is by densities: taken at points."""
    points = _points(term, column.family)
    logs = np.vstack((term.missing, logs_at(term, column, points)))
    counts = slot_counts(part.counts, j, 3, logs.shape[1])
    prior = part.scorer.log_prior
    weights = weigh(logs, prior)
    reach = np.full(logs.shape, np.nan)
    if part.counts is not None:
        # Whether a number is there is evidence by counts; the number itself, by densities.
        there = np.vstack((term.missing, term.log_weight))
        down, up = _reach(counts[:2], there, weigh(there, prior), part, level)
        at_points = density_reach(term, points, counts[1], logs[1:], prior, level)
        reach[0], reach[1:] = np.maximum(down[0], up[0]), at_points * (logs.shape[1] > 1)
    density = np.exp(logs - term.log_weight)
    density[0] = 0.0
    point_counts = np.vstack((counts[:1], np.full((len(points), logs.shape[1]), np.nan)))
    if part.counts is not None:
        density[0] = _normalized(counts[:2])[0]
    return {
        "form": "density",
        "values": ("missing", *cut_names(points, column.family, 4)),
        "states": ("missing",) + ("value",) * len(points),
        "raw": (None, *_natural(points, column.family)),
        "cuts": np.empty(0),
        "logs": logs,
        "weights": weights,
        "low": weights - reach,
        "high": weights + reach,
        "counts": point_counts,
        "shares": density,
    }


def _points(term: GaussianTerm | KernelTerm, family: str) -> NDArray[np.float64]:
    """Points at which to take a density: over the range of the rows, or around the means."""
    if isinstance(term, KernelTerm):
        scale = term.densities.scale
        # Half the range is finite whatever the values are.
        low, high = scale.low, scale.low + scale.half_range + scale.half_range
    else:
        reach = SPREAD * np.sqrt(term.variance)
        low, high = float((term.mean - reach).min()), float((term.mean + reach).max())
    return _round_points(low, high, family)


def _round_points(low: float, high: float, family: str) -> NDArray[np.float64]:
    """About POINTS numbers between two, round ones where there are some."""
    step = (high - low) / POINTS
    power = 10.0 ** np.floor(np.log10(step)) if 0.0 < step < np.inf else np.nan
    rounds = [m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0)]
    if family in ("time", "duration") and 1e6 * CLOCK[0] <= step <= 1e6 * CLOCK[-1]:
        rounds = [1e6 * seconds for seconds in CLOCK]
    nice = min((size for size in rounds if size >= step), default=np.nan)
    if np.isfinite(nice) and abs(low) < 1e12 * nice:
        points = np.arange(np.ceil(low / nice), np.floor(high / nice) + 1.0) * nice
        if len(points) > POINTS // 10:
            return np.unique(points)
    return np.unique(np.linspace(low, high, POINTS))


def _shares(counts: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distribution of each label over the values."""
    if np.isnan(counts).any():
        # What has no evidence has no share.
        counts = np.exp(logs) * (logs != 0.0).any(axis=1)[:, None]
    return _normalized(counts)


def _normalized(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns divided by their sums; 0 where a sum is."""
    total = counts.sum(axis=0)
    return np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)


def _inside(cuts: NDArray[np.float64], family: str) -> tuple[Any, ...]:
    """A value inside each interval between cuts."""
    if len(cuts) == 0:
        return _natural(np.zeros(1), family)
    step = max(float(np.diff(cuts).mean()) if len(cuts) > 1 else abs(float(cuts[0])), 1.0)
    middle = 0.5 * cuts[:-1] + 0.5 * cuts[1:]
    return _natural(np.concatenate((cuts[:1], middle, cuts[-1:] + 0.5 * step)), family)


def _natural(numbers: NDArray[np.float64], family: str) -> tuple[Any, ...]:
    """Numbers as values of the column: dates and durations as such."""
    if family == "time":
        return tuple(np.datetime64(int(n), "us") for n in numbers)
    if family == "duration":
        return tuple(np.timedelta64(int(n), "us") for n in numbers)
    return tuple(float(n) for n in numbers)
