"""How numeric columns are treated: every rule is an object, and its name is all that users write.

To add a rule, derive from `CuttingRule` or `DensityRule`, with a name. Its options are fields with
defaults; an estimator that has a parameter of the same name sets it. What a pass collects, what
estimators accept and check, their errors and the choices in their docstrings follow; the first line
of a rule's docstring is what users read about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_number
from unnaive.counts import Spread
from unnaive.density import Densities, Normal
from unnaive.density.estimate import fit_densities
from unnaive.density.measure import most_probable
from unnaive.density.normal import fit_normal
from unnaive.density.widths import check_bandwidth
from unnaive.discretize import kernels
from unnaive.discretize.cuts import between
from unnaive.encode import Grid


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
        """With a name, a rule is known by it to every estimator."""
        super().__init_subclass__()
        if name is not None:
            cls.name = name
            RULES[name] = cls

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The rule with those of its options that the estimator has as parameters."""
        names = (option.name for option in fields(cls) if hasattr(estimator, option.name))
        return cls(**{name: getattr(estimator, name) for name in names})

    @classmethod
    def does(cls) -> str:
        """The first line of its docstring, to stand after its name in docstrings and errors."""
        words = (cls.__doc__ or "").split("\n")[0].rstrip(".")
        return words[:1].lower() + words[1:]

    def check(self) -> None:
        """Refuse options that make no sense, whatever the column."""


class CuttingRule(Rule, ABC):
    """Cuts a column into intervals, in which rows are counted."""

    @abstractmethod
    def cuts(self, column: ColumnSums) -> NDArray[np.float64]:
        """Where to cut, given two or more cells; values up to and including a cut lie below it.

        A cut inside a cell of several values is moved to its nearer edge afterwards.
        """


class DensityRule(Rule, ABC):
    """Fits a density for each class, without intervals."""

    supervised = True

    @abstractmethod
    def density(self, column: ColumnSums) -> Normal | Densities | None:
        """The densities; None if the column is constant."""


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
    """Log-likelihood of the classes of all rows, each given the other rows of its interval."""
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
