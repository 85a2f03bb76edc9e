"""How numeric columns are treated: every rule is an object, and its name is all that users write.

To add a rule, derive from `CuttingRule` or `DensityRule`, with a name. Its options are fields with
defaults; an estimator that has a parameter of the same name sets it. What a pass collects, what
estimators accept and check, their errors and the choices in their docstrings follow; the first line
of a rule's docstring is what users read about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_number
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable, Spread, Summary
from unnaive.counts.summary import row_factor
from unnaive.density import Densities, Normal
from unnaive.density.bandwidth import check_bandwidth
from unnaive.density.estimate import fit_densities, fit_normal, most_probable
from unnaive.discretize import kernels
from unnaive.encode import Bins, Categories, Grid
from unnaive.encode.coders import coder_sizes


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """What a rule sees of one column; classes weigh what ``class_weight`` makes of them.

    Attributes
    ----------
    grid : Grid
        The fine cells; none unless the rule needs counts.
    counts : array of shape (classes, cells)
    classes, whole : Spread
        Moments of each class, and of all together; none unless the rule needs moments.
    """

    grid: Grid
    counts: NDArray[np.float64]
    classes: Spread
    whole: Spread


PRIOR_ROWS = 2.0  # weight, in rows, of the classes' own shares in an interval that is judged
RULES: dict[str, type[Rule]] = {}


@dataclass(frozen=True)
class Rule:
    """How a numeric column is treated: the sums it needs, and what is made of them."""

    name: ClassVar[str]
    needs_counts: ClassVar[bool] = True
    needs_moments: ClassVar[bool] = False
    supervised: ClassVar[bool] = False  # whether it looks at the classes

    def __init_subclass__(cls, name: str | None = None) -> None:
        """Register a rule that has a name for every estimator."""
        super().__init_subclass__()
        if name is not None:
            cls.name = name
            RULES[name] = cls

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Return the rule with those of its options that the estimator has as parameters."""
        names = (option.name for option in fields(cls) if hasattr(estimator, option.name))
        return cls(**{name: getattr(estimator, name) for name in names})

    @classmethod
    def does(cls) -> str:
        """Return the first line of its docstring, for other docstrings and errors."""
        words = (cls.__doc__ or "").split("\n")[0].rstrip(".")
        return words[:1].lower() + words[1:]

    def check(self) -> None:
        """Refuse options that make no sense, whatever the column."""


class CuttingRule(Rule, ABC):
    """Cuts a column into intervals, in which rows are counted."""

    @abstractmethod
    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        """Return where to cut, given two or more cells; values up to and including a cut lie below
        it.

        A cut inside a cell of several values is moved to its nearer edge afterwards.
        """


class DensityRule(Rule, ABC):
    """Fits a density for each class, without intervals."""

    supervised = True

    @abstractmethod
    def density(self, column: ColumnSums) -> Normal | Densities | None:
        """Return the densities; None if the column is constant."""


@dataclass(frozen=True)
class _HasBins(Rule):
    n_bins: int = 10

    def check(self) -> None:
        check_number(self, "n_bins", 2, whole=True)


@dataclass(frozen=True)
class _HasBandwidth(Rule):
    bandwidth: str | float = "conditional"

    def check(self) -> None:
        check_bandwidth(self.bandwidth)


class Mdl(CuttingRule, name="mdl"):
    """Cuts where the classes change, as often as the data pay for it (Fayyad and Irani).

    That is where the class entropy is least, again and again while it pays for its description.
    """

    supervised = True

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        cumulative = np.zeros((column.grid.size + 1, len(column.counts)))
        np.cumsum(column.counts.T, axis=0, out=cumulative[1:])
        return between(column.grid, kernels.mdl_cuts(cumulative, kernels.boundaries(cumulative)))


class Width(_HasBins, CuttingRule, name="width"):
    """Makes ``n_bins`` intervals of equal width (Elkan)."""

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        share = np.arange(1, self.n_bins) / self.n_bins
        cuts: NDArray[np.float64] = column.grid.low[0] * (1 - share) + column.grid.high[-1] * share
        return cuts


class Frequency(_HasBins, CuttingRule, name="frequency"):
    """Makes ``n_bins`` intervals of about equal frequency.

    Cuts are those whose ranks are nearest to the quantiles: equal values are never torn apart.
    """

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        ranks = np.cumsum(column.counts.sum(axis=0))
        goals = ranks[-1] * np.arange(1, self.n_bins) / self.n_bins
        after = np.searchsorted(ranks[:-1], goals)
        after = np.minimum(after, len(ranks) - 2)
        before = np.maximum(after - 1, 0)
        # The lower of two that are as near, also where real weights are off by rounding.
        tie = 1e-9 * ranks[-1]
        nearest = np.where(goals - ranks[before] <= ranks[after] - goals + tie, before, after)
        return between(column.grid, np.unique(nearest) + 1)


class Best(_HasBins, CuttingRule, name="best"):
    """Takes the cuts of ``mdl`` or ``n_bins`` intervals of equal frequency, whichever tell more.

    That is under which the classes of rows are more probable, each judged by the other rows of its
    interval; MDL, which looked for its cuts among all cells, pays for each as one choice of these.
    Few rows seldom pay for cuts by MDL; equal frequency misses a value that stands out.
    """

    supervised = True

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        mdl, even = Mdl().cuts(column), Frequency(self.n_bins).cuts(column)
        paid = len(mdl) * np.log(column.grid.size)
        return mdl if _left_out(column, mdl) - paid >= _left_out(column, even) else even


def _left_out(column: ColumnSums, cuts: NDArray[np.float64]) -> float:
    """Return the log-likelihood of the classes of all rows, each given the other rows of its
    interval.
    """
    starts = np.searchsorted(column.grid.low, cuts, side="right")
    counts = np.add.reduceat(column.counts, np.concatenate(([0], starts)), axis=1)
    whole = counts.sum(axis=0)
    share = counts.sum(axis=1, keepdims=True) / whole.sum()
    others = np.maximum(counts - 1.0, 0.0) + PRIOR_ROWS * share
    given = others / (np.maximum(whole - 1.0, 0.0) + PRIOR_ROWS)
    return float((counts * np.log(given, out=np.zeros_like(given), where=counts > 0.0)).sum())


class Sigma(CuttingRule, name="sigma"):
    """Cuts at the mean plus whole standard deviations (Wiering), of the middles of cells."""

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        low, high = column.grid.low[0], column.grid.high[-1]
        weight = column.counts.sum(axis=0)
        middle = (column.grid.low + column.grid.high) / 2
        mean = (weight * middle).sum() / weight.sum()
        deviation = np.sqrt((weight * (middle - mean) ** 2).sum() / weight.sum())
        if not deviation > 0:
            return np.empty(0)
        # Half the fine cells are enough for any column; a huge outlier must not make millions.
        first = max(np.ceil((low - mean) / deviation), -32_000)
        last = min(np.floor((high - mean) / deviation), 32_000)
        cuts: NDArray[np.float64] = mean + deviation * np.arange(first, last + 1)
        return cuts[(cuts >= low) & (cuts < high)]


class Bayes(_HasBandwidth, CuttingRule, name="bayes"):
    """Cuts where the most probable class changes, if MDL agrees (Wang and Yuan).

    How probable a class is at a value is its kernel density there times its weight. MDL's recursion
    then has only these points to choose from.
    """

    supervised = True

    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        grid, counts = column.grid, column.counts
        densities = fit_densities(grid, counts, self.bandwidth)
        best = most_probable(grid, densities, counts.sum(axis=1))
        return between(grid, kernels.cuts_between(np.ascontiguousarray(counts.T), best))


@dataclass(frozen=True)
class Gaussian(DensityRule, name="gaussian"):
    """Fits a normal density for each class."""

    needs_counts = False
    needs_moments = True
    var_smoothing: float = 0.1

    def check(self) -> None:
        check_number(self, "var_smoothing", 0)

    def density(self, column: ColumnSums) -> Normal | None:
        return fit_normal(column.classes, column.whole, self.var_smoothing)


class Kernel(_HasBandwidth, DensityRule, name="kernel"):
    """Fits a sum of normal densities around the values of each class."""

    def density(self, column: ColumnSums) -> Densities | None:
        return fit_densities(column.grid, column.counts, self.bandwidth)


def between(grid: Grid, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the midpoints of the gaps below the given cells; never at or above the cell itself."""
    return midpoints(grid.high[cuts - 1], grid.low[cuts])


def midpoints(below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cuts between neighbouring values: never at or above the upper one, also where no
    float lies between them or their sum would overflow.
    """
    middle = 0.5 * below + 0.5 * above
    return np.where((below <= middle) & (middle < above), middle, below)


def snap(grid: Grid, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move cuts that fall inside a cell of several values to its nearer edge; each cut once."""
    if grid.shift == 0 and (cuts == cuts).all() and (cuts[1:] > cuts[:-1]).all():
        return cuts  # every cell is one value
    cell = np.minimum(np.searchsorted(grid.high, cuts, side="right"), grid.size - 1)
    low, high = grid.low[cell], grid.high[cell]
    torn = (low <= cuts) & (cuts < high)
    edge = np.where(cuts - low < high - cuts, cell, cell + 1)
    moved = cuts.copy()
    for i in np.flatnonzero(torn):
        inside = 0 < edge[i] < grid.size
        moved[i] = between(grid, np.array([edge[i]]))[0] if inside else np.nan
    return np.unique(moved[~np.isnan(moved)])


# Numbering of one column in a fitted model; None where the column carries no evidence.
CoarseCoder: TypeAlias = Bins | Categories | None
NO_CELLS = Grid(0, np.empty(0), np.empty(0))
NO_MOMENTS = Spread(np.empty(0), np.empty(0), np.empty(0))


class ColumnDensity(NamedTuple):
    """Densities of a column by class, None if it is constant, and the weight of the rows of each
    class that have a value.
    """

    density: Normal | Densities | None
    weight: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Coarse:
    """Coders that new rows go through, the counts in their slots, the factor of each class that is
    in these counts, and the densities of columns whose rule fits them.
    """

    coders: tuple[CoarseCoder, ...]
    counts: CountTable
    factor: NDArray[np.float64]
    densities: Mapping[int, ColumnDensity]


def coarsen(
    summary: Summary,
    rules: Mapping[int, Rule],
    *,
    max_categories: int | None = None,
    factor: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Coarse:
    """Apply the rules of the numeric columns and group rare categories: no pass over rows.

    Numeric columns that are counted but not cut stay in one piece.
    ``factor`` weighs the classes, as if every row of a class had that weight.
    """
    factor = row_factor(summary, factor)
    counts = summary.counts if (factor == 1).all() else summary.counts.scale_groups(factor)
    sums = _column_sums(summary, counts, factor)

    def column(j: int) -> tuple[CoarseCoder, NDArray[np.intp] | None]:
        coder, rule = summary.coders[j], rules.get(j)
        if isinstance(coder, Categories):
            return group_rare(coder, counts.values(j), max_categories)
        if coder is None or not coder.size:
            return None, None
        cuts = np.empty(0)
        if isinstance(rule, CuttingRule) and coder.size > 1:
            cuts = snap(coder, rule.cuts(sums(j)))
        return _cut(coder, cuts)

    def density(task: tuple[int, DensityRule]) -> ColumnDensity:
        whole, rule = sums(task[0]), task[1]
        weight = whole.counts.sum(axis=1) if rule.needs_counts else whole.classes.weight * factor
        return ColumnDensity(rule.density(whole), weight)

    threads = n_jobs if rules else None  # only numbers are work
    columns = list(in_threads(column, range(len(summary.coders)), threads))
    coders = tuple(coder for coder, _ in columns)
    merged = counts.coarsen([place for _, place in columns], coder_sizes(coders))
    dense = {j: rule for j, rule in rules.items() if isinstance(rule, DensityRule)}
    densities = in_threads(density, list(dense.items()), n_jobs)
    return Coarse(coders, merged, factor, dict(zip(dense, densities, strict=True)))


def _column_sums(
    summary: Summary, counts: CountTable, factor: NDArray[np.float64]
) -> Callable[[int], ColumnSums]:
    """Return what a rule sees of each numeric column."""
    place = {j: k for k, j in enumerate(summary.moments.columns)}
    classes = summary.moments.finish() if place else NO_MOMENTS
    whole = classes.whole(factor) if place else NO_MOMENTS

    def sums(j: int) -> ColumnSums:
        grid, k = summary.coders[j], place.get(j)
        spread = (NO_MOMENTS, NO_MOMENTS) if k is None else (classes.column(k), whole.column(k))
        return ColumnSums(grid if isinstance(grid, Grid) else NO_CELLS, counts.values(j), *spread)

    return sums


def _cut(grid: Grid, cuts: NDArray[np.float64]) -> tuple[Bins, NDArray[np.intp]]:
    bins = Bins(cuts)
    return bins, bins.place(grid.low).astype(np.intp)


def group_rare(
    coder: Categories, counts: NDArray[np.float64], most: int | None
) -> tuple[Categories, NDArray[np.intp] | None]:
    """Keep the most frequent values, the first where equally frequent, and one for the rest.

    The second answer says where the old slots went, None where nothing was grouped.
    """
    if most is None or coder.size <= most:
        return coder, None
    kept = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[: most - 1])
    rest = np.setdiff1d(np.arange(coder.size), kept)
    grouped = Categories(
        tuple(coder.values[i] for i in kept), rare=tuple(coder.values[i] for i in rest)
    )
    return grouped, np.concatenate((grouped.slots(coder.values), [grouped.size + 1]))
