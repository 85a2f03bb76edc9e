"""Where to cut a numeric column, given the counts of classes in its fine cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unnaive.density.estimate import fit_densities
from unnaive.density.measure import most_probable
from unnaive.discretize import kernels
from unnaive.encode import Grid

Method = Literal["mdl", "width", "frequency", "sigma", "bayes"]
METHODS: tuple[str, ...] = get_args(Method)
SUPERVISED = ("mdl", "bayes")  # these look at the classes


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCounts:
    """What the rules look at: cells, counts by class (classes x cells), mean and deviation."""

    grid: Grid
    counts: NDArray[np.float64]
    mean: float = np.nan
    deviation: float = np.nan


def find_cuts(
    method: str, column: ColumnCounts, n_bins: int, bandwidth: Any = "cv"
) -> NDArray[np.float64]:
    """Ascending cuts; values up to and including a cut lie below it."""
    if column.grid.size < 2:
        return np.empty(0)
    if method == "mdl":
        return mdl(column)
    if method == "bayes":
        return bayes(column, bandwidth)
    if method == "width":
        return _snap(column.grid, _width(column.grid, n_bins))
    if method == "sigma":
        return _snap(column.grid, _sigma(column))
    return _frequency(column, n_bins)


def mdl(column: ColumnCounts) -> NDArray[np.float64]:
    """Fayyad and Irani: least class entropy, again and again while it pays for its description."""
    cumulative = _cumulative(column)
    cuts = kernels.mdl_cuts(cumulative, kernels.boundaries(cumulative))
    return between(column.grid, cuts)


def bayes(column: ColumnCounts, bandwidth: Any) -> NDArray[np.float64]:
    """Wang and Yuan: the same recursion among the points where the most probable class changes.

    How probable a class is at a value is its kernel density there times its weight.
    """
    counts = column.counts
    densities = fit_densities(column.grid, counts, bandwidth)
    best = most_probable(column.grid, densities, counts.sum(axis=1))
    return between(column.grid, kernels.cuts_between(np.ascontiguousarray(counts.T), best))


def _cumulative(column: ColumnCounts) -> NDArray[np.float64]:
    """Counts of classes up to each cell, after a row of zeros."""
    cumulative = np.zeros((column.grid.size + 1, len(column.counts)))
    np.cumsum(column.counts.T, axis=0, out=cumulative[1:])
    return cumulative


def between(grid: Grid, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Midpoints of the gaps below the given cells; never at or above the cell itself."""
    return midpoints(grid.high[cuts - 1], grid.low[cuts])


def midpoints(below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cuts between neighbouring values: never at or above the upper one, also where no float lies
    between them or their sum would overflow.
    """
    middle = 0.5 * below + 0.5 * above
    return np.where((below <= middle) & (middle < above), middle, below)


def _width(grid: Grid, n_bins: int) -> NDArray[np.float64]:
    low, high = grid.low[0], grid.high[-1]
    share = np.arange(1, n_bins) / n_bins
    return low * (1 - share) + high * share


def _sigma(column: ColumnCounts) -> NDArray[np.float64]:
    low, high = column.grid.low[0], column.grid.high[-1]
    if not column.deviation > 0:
        return np.empty(0)
    # Half the fine cells are enough for any column; a huge outlier must not make millions.
    first = max(np.ceil((low - column.mean) / column.deviation), -32_000)
    last = min(np.floor((high - column.mean) / column.deviation), 32_000)
    cuts = column.mean + column.deviation * np.arange(first, last + 1)
    return cuts[(cuts >= low) & (cuts < high)]


def _frequency(column: ColumnCounts, n_bins: int) -> NDArray[np.float64]:
    """Cuts whose ranks are nearest to the quantiles; equal values are never torn apart."""
    ranks = np.cumsum(column.counts.sum(axis=0))
    goals = ranks[-1] * np.arange(1, n_bins) / n_bins
    after = np.searchsorted(ranks[:-1], goals)
    after = np.minimum(after, len(ranks) - 2)
    before = np.maximum(after - 1, 0)
    # The lower of two that are as near, also where real weights are off by rounding.
    tie = 1e-9 * ranks[-1]
    nearest = np.where(goals - ranks[before] <= ranks[after] - goals + tie, before, after)
    return between(column.grid, np.unique(nearest) + 1)


def _snap(grid: Grid, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move cuts that fall inside a cell of several values to its nearer edge."""
    cell = np.minimum(np.searchsorted(grid.high, cuts, side="right"), grid.size - 1)
    low, high = grid.low[cell], grid.high[cell]
    torn = (low <= cuts) & (cuts < high)
    edge = np.where(cuts - low < high - cuts, cell, cell + 1)
    moved = cuts.copy()
    for i in np.flatnonzero(torn):
        inside = 0 < edge[i] < grid.size
        moved[i] = between(grid, np.array([edge[i]]))[0] if inside else np.nan
    return np.unique(moved[~np.isnan(moved)])
