"""The values of a term as rows of a small table: what they say, and how frequent they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.scoring import GaussianTerm, KernelTerm, Term
from unnaive.counts import CountTable
from unnaive.table import Block, Column, Schema

POINTS = 60  # at most, at which densities are shown
# Seconds that dates and durations are rounded to: a minute, an hour, a day, a year and so on.
CLOCK = (1, 10, 60, 600, 3600, 21600, *(86400 * d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500)))


def logs_at(term: Term, column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence of a term for numbers: values x labels."""
    assert isinstance(term, (GaussianTerm, KernelTerm))
    numbers = Column(column.name, "numeric", "number")  # not the values they stand for
    block = Block(Schema((numbers,), False), [values], n_rows=len(values))
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


def points_of(term: GaussianTerm | KernelTerm, column: Column) -> NDArray[np.float64]:
    """Points at which to take a density: over the range of the rows, or around the means."""
    spread = 3.0  # standard deviations around the means where normal densities are shown
    if isinstance(term, KernelTerm):
        scale = term.densities.scale
        # Half the range is finite whatever the values are.
        low, high = scale.low, scale.low + scale.half_range + scale.half_range
    else:
        reach = spread * np.sqrt(term.variance)
        low, high = float((term.mean - reach).min()), float((term.mean + reach).max())
    if column.family == "level":
        last = len(column.order or ()) - 1
        low, high = max(np.ceil(low), 0.0), min(np.floor(high), last)
        return np.arange(low, high + 1, max(1.0, np.ceil((high - low) / POINTS)))
    return _round_points(low, high, column.family)


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


def slot_shares(counts: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distribution of each label over the values."""
    if np.isnan(counts).any():
        # What has no evidence has no share.
        counts = np.exp(logs) * (logs != 0.0).any(axis=1)[:, None]
    return normalized(counts)


def normalized(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns divided by their sums; 0 where a sum is."""
    total = counts.sum(axis=0)
    return np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)


def density_shares(
    missing: NDArray[np.float64], density: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shares of missing, and of points at which a density was taken, each for its neighbourhood."""
    return np.vstack((missing[None], (1.0 - missing) * normalized(density)))
