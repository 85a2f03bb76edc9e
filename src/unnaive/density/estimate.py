"""Densities of numbers by class: normal ones, sums of kernels as tables, and the Bayes measure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from unnaive.common.checks import FINITE, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.counts import Spread, Summary, Wanted
from unnaive.counts.counting import summarize
from unnaive.counts.summary import row_factor
from unnaive.density import kernels
from unnaive.density.bandwidth import check_bandwidth, choose_widths, fast_length, places_of
from unnaive.encode import Categories, Grid
from unnaive.encode.labels import read_target
from unnaive.table import open_table

# Added to every class's density everywhere, where rows spread evenly over the range have one: far
# away all classes are alike, so that the prior decides.
FLOOR = 0.01
SMALLEST_RANGE = 1e-280  # below this, a column is constant


@dataclass(frozen=True, slots=True)
class Scale:
    """Values in units of the column's range: 0 is the smallest, 1 the largest.

    ``half_range`` is half the distance, which is finite whatever the values are; no kernel is
    narrower than ``narrowest``.
    """

    low: float
    half_range: float
    narrowest: float

    @classmethod
    def of(cls, grid: Grid) -> Scale | None:
        """Return the scale of a column's grid; None where all values are alike."""
        return cls.of_cells(grid, np.arange(grid.size)) if grid.size else None

    @classmethod
    def of_cells(cls, grid: Grid, cells: NDArray[np.intp]) -> Scale | None:
        """Return the scale of some cells of a grid, ascending; None if their values are alike."""
        smallest_share = 2.0**-30  # of the whole range: below this, these rows are all alike
        # Where values repeat (whole numbers, two values), kernels narrower than a sixth of the mean
        # gap tell nothing, and a larger class would seem denser for having them; below 1/4096 of
        # the range, tables would be too long.
        low, high = float(grid.low[cells[0]]), float(grid.high[cells[-1]])
        half_range = 0.5 * high - 0.5 * low
        whole = float(0.5 * grid.high[-1] - 0.5 * grid.low[0])
        if half_range <= max(SMALLEST_RANGE, smallest_share * whole):
            return None
        return cls(low, half_range, max(1 / (6 * max(len(cells) - 1, 1)), 1 / 4096))

    def check(self) -> None:
        """Refuse what is no range of a column."""
        expect(-FINITE <= self.low <= FINITE, f"a column begins at {self.low}.")
        expect(SMALLEST_RANGE < self.half_range <= FINITE, f"half a range is {self.half_range}.")
        expect(0 < self.narrowest <= 1, f"kernels are {self.narrowest} wide.")

    def positions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return (0.5 * values - 0.5 * self.low) / self.half_range

    @property
    def log_range(self) -> float:
        return float(np.log(2.0) + np.log(self.half_range))


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Log density of one numeric column in each class, at nodes of its own for each class.

    Attributes
    ----------
    scale : Scale
        Positions and widths are in units of the column's range.
    widths : array of shape (classes,)
        Widths of the kernels.
    factor : float
        The c of width = c / sqrt(n) in units of the range of the rows, NaN where another rule made
        the widths.
    start, per_step : arrays of shape (classes,)
        Position of each class's first node, and nodes per unit.
    first, last : arrays of shape (classes,)
        Where each class's nodes begin and end in ``logs``.
    logs : array
    """

    scale: Scale
    widths: NDArray[np.float64]
    factor: float
    start: NDArray[np.float64]
    per_step: NDArray[np.float64]
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    logs: NDArray[np.float64]

    def check(self) -> None:
        """Refuse tables that cannot be looked up."""
        shape = self.widths.shape
        expect(len(shape) == 1, "widths are not one for each class.")
        check_values("widths", self.widths, shape, 0.0)
        for name in ("start", "per_step", "first", "last"):
            expect(getattr(self, name).shape == shape, f"{name} is not one for each class.")
        expect((self.first < self.last).all(), "a density has no table.")
        check_tables(self.scale, self.start, self.per_step, self.first, self.last, self.logs)

    def at(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density of each value in each class: values x classes."""
        out = np.empty((len(values), len(self.widths)))
        kernels.fill_log_densities(
            self.scale.positions(values),
            self.start,
            self.per_step,
            self.first,
            self.last,
            self.logs,
            out,
        )
        return out

    def on(self, scale: Scale) -> Densities:
        """Return the same densities with positions and widths in units of another scale."""
        if scale == self.scale:
            return self
        ratio = self.scale.half_range / scale.half_range
        offset = (0.5 * self.scale.low - 0.5 * scale.low) / scale.half_range
        return replace(
            self,
            scale=scale,
            widths=self.widths * ratio,
            start=self.start * ratio + offset,
            per_step=self.per_step / ratio,
        )

    @property
    def floors(self) -> NDArray[np.float64]:
        """Return each class's least density, in units of the scale: its tables' ends."""
        return np.exp(self.logs[self.first] + self.scale.log_range)

    def without_one(self, rows: NDArray[np.float64]) -> Densities:
        """Return the densities at each class's own values, if one row with the value were not
        there.

        ``rows`` is the weight of each class's values.
        """
        logs = self.logs.copy()
        for c, (n, width) in enumerate(zip(rows.tolist(), self.widths.tolist(), strict=True)):
            table = slice(self.first[c], self.last[c])
            if n > 0.0:
                logs[table] = logs_without_one(self.logs[table], n, width, self.scale.log_range)
        return replace(self, logs=logs)


def logs_without_one(
    logs: NDArray[np.float64], rows: float, width: float, log_range: float
) -> NDArray[np.float64]:
    """Return a table of log densities without the kernel of one row, which stands at each node in
    turn.

    The ends of the table have no kernel, only what is added everywhere.
    """
    peak = 1.0 / (kernels.ROOT_2_PI * width)
    floor = math.exp(logs[0] + log_range)
    whole = np.exp(logs + log_range) - floor
    left = np.maximum(rows * whole - peak, 0.0) / max(rows - 1.0, 1.0)
    return np.log(left + floor) - log_range


def check_tables(
    scale: Scale,
    start: NDArray[np.float64],
    per_step: NDArray[np.float64],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    logs: NDArray[np.float64],
) -> None:
    """Refuse tables of densities in which a value has no place: kernels look without asking."""
    check_values("densities", logs, (logs.size,))
    check_values("first", first, first.shape, 0, len(logs))
    check_values("last", last, last.shape, 0, len(logs))
    with np.errstate(over="ignore", under="ignore"):
        # As the kernels compute them: a value's place is a multiple of one, less the other.
        check_values("steps", (1.0 / scale.half_range) * per_step, per_step.shape, 5e-324, FINITE)
        check_values("starts", start * per_step, per_step.shape)


def fit_densities(
    grid: Grid, counts: NDArray[np.float64], bandwidth: Any, floor: float = FLOOR
) -> Densities | None:
    """Return the densities from counts of classes in fine cells (classes x cells); None if
    constant.
    """
    scale = Scale.of(grid)
    if scale is None:
        return None
    return densities_at(scale, scale.positions(middles(grid)), counts, bandwidth, floor)


def middles(grid: Grid) -> NDArray[np.float64]:
    """Return what stands for the values of each cell."""
    return 0.5 * grid.low + 0.5 * grid.high


def densities_at(
    scale: Scale,
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    bandwidth: Any,
    floor: float = FLOOR,
) -> Densities | None:
    """Return densities from positions of cells, ascending; None if there is no row.

    A class without rows looks like all classes together.
    """
    totals = counts.sum(axis=1)
    if not totals.any():
        return None
    widths, factor = choose_widths(positions, counts, bandwidth, floor, scale.narrowest)
    n = len(totals)
    start, per_step = np.empty(n), np.empty(n)
    first, last = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    tables: list[NDArray[np.float64]] = []
    filled = 0
    absent = np.flatnonzero(totals <= 0)
    groups = [np.array([c]) for c in np.flatnonzero(totals > 0)]
    for classes in [*groups, absent] if len(absent) else groups:
        weights = counts.sum(axis=0) if classes is absent else counts[classes[0]]
        begin, step, density = _nodes(*places_of(positions, weights), widths[classes[0]], floor)
        tables.append(np.log(density + floor) - scale.log_range)
        start[classes], per_step[classes] = begin, step
        first[classes], last[classes] = filled, filled + len(density)
        filled += len(density)
    logs = np.concatenate(tables)
    return Densities(scale, widths[:-1], factor, start, per_step, first, last, logs)


def _nodes(
    positions: NDArray[np.float64], weight: NDArray[np.float64], width: float, floor: float
) -> tuple[float, float, NDArray[np.float64]]:
    """Return the first node, nodes per unit, and densities at the nodes; the first and last have
    none.

    Kernels added one by one, or rows spread over nodes and one convolution.
    """
    few = 1 << 15  # kernels times nodes that are quicker added one by one
    noise = 1e-13  # of a class's peak: less than this is rounding
    deepest = 5.3  # widths from the nearest row: there the density is 1e-6 of a kernel's peak
    # Straight lines between four nodes per width are off by less than 0.01.
    depth = np.sqrt(2 * np.log(max(1 / (kernels.ROOT_2_PI * width * floor), math.e)))
    nodes = float(np.ceil(4.0 * min(depth, deepest)))
    reach = kernels.reach_of(width, floor) * nodes
    margin = np.ceil(reach) + 2
    places = (positions - positions[0]) * (nodes / width) + margin
    size = int(places[-1] + margin) + 2
    if len(places) * 2 * reach <= few:
        density = np.zeros(size)
        kernels.add_kernels(places, weight, nodes, reach, density)
        density /= kernels.ROOT_2_PI * width * weight.sum()
    else:
        length = fast_length(size)
        binned = np.zeros(length)
        kernels.spread_rows(places, weight, binned)
        spectrum = np.fft.rfft(binned)
        wave = (2 * np.pi * nodes / length) * np.arange(len(spectrum))
        density = np.fft.irfft(spectrum * np.exp(-0.5 * wave**2), length)[:size]
        density *= nodes / (width * weight.sum())
        density[density < noise * density.max()] = 0.0
    density[[0, -1]] = 0.0
    return float(positions[0] - margin * width / nodes), nodes / width, density


SMALLEST_VARIANCE = 1e-280  # below this, a column is constant: squares are no longer floats


class Normal(NamedTuple):
    """Mean and variance of each class."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def fit_normal(classes: Spread, whole: Spread, var_smoothing: float) -> Normal | None:
    """Return the normal densities that are never degenerate; None if the column is constant.

    The variance grows by a share of the whole column's variance, at least 1e-18 of it; a class
    without a value looks like the whole column.
    """
    if not whole.variance > SMALLEST_VARIANCE:
        return None
    known = ~np.isnan(classes.mean)
    variance = np.where(known, classes.variance, whole.variance)
    variance += max(var_smoothing, 1e-18) * whole.variance
    return Normal(np.where(known, classes.mean, whole.mean), variance)


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """What one attribute alone says about the class.

    Attributes
    ----------
    feature : str or int
        Name (or position) of the attribute.
    delta : float
        Share of the rows whose class is the most probable one given this attribute.
    values : array
        The values that occur, ascending: categories, or numbers (the middle of a cell where
        numbers share one).
    classes : array
        The most probable class for each of the values.
    """

    feature: Any
    delta: float
    values: NDArray[Any]
    classes: NDArray[Any]

    def __repr__(self) -> str:
        return f"Measure({self.feature!r}, delta={self.delta:.4f}, {len(self.values)} values)"


def bayes_measure(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    bandwidth: str | float = "cv",
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
) -> list[Measure]:
    """How well each attribute alone tells the classes: Wang and Yuan's test selection measure.

    A row counts as right if its class is the most probable one given its value: by frequency for
    categories, by kernel density times frequency of the class for numbers. Rows whose value is
    missing are given the most frequent class.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,) or None, default=None
    bandwidth : {"conditional", "cv", "silverman"} or float, default="cv"
        Widths of the kernels, as in `NaiveBayesClassifier`.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
    n_jobs : int or None, default=None

    Returns
    -------
    list of Measure
        One for each column: ``delta``, and the most probable class for each value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import bayes_measure
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(m.delta, 2) for m in bayes_measure(X, y)]
    [0.75, 0.55, 0.95, 0.96]
    """
    check_bandwidth(bandwidth)
    target = read_target(y)
    source = open_table(
        BaseEstimator(), X, target, sample_weight, categorical_features=categorical_features
    )
    summary = summarize(source, lambda schema: Wanted(schema.numeric), n_jobs=n_jobs)
    columns = range(len(summary.coders))
    return list(in_threads(lambda j: _measure(summary, j, bandwidth), columns, n_jobs))


def _measure(summary: Summary, j: int, bandwidth: Any) -> Measure:
    factor = row_factor(summary)
    coder, classes = summary.coders[j], summary.labels.classes
    counts, totals = summary.counts.values(j) * factor[:, None], summary.counts.totals * factor
    values: NDArray[Any] = np.empty(0)
    if isinstance(coder, Grid):
        values = middles(coder)
        best = most_probable(coder, fit_densities(coder, counts, bandwidth), totals)
    elif isinstance(coder, Categories):
        values = np.array(coder.values, dtype=object)
        best = counts.argmax(axis=0)
    else:
        best = np.empty(0, dtype=np.intp)
    absent = summary.counts.attribute(j)[:, 0] * factor
    return Measure(
        summary.schema[j].name, delta(counts, absent, totals, best), values, classes[best]
    )


def most_probable(
    grid: Grid, densities: Densities | None, totals: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the class of highest density times weight in each cell; the first of equals."""
    if densities is None:  # all values alike
        return np.full(grid.size, totals.argmax(), dtype=np.intp)
    joint = densities.at(middles(grid))
    with np.errstate(divide="ignore"):
        joint += np.log(totals)
    best: NDArray[np.intp] = joint.argmax(axis=1)
    return best


def delta(
    counts: NDArray[np.float64],
    absent: NDArray[np.float64],
    totals: NDArray[np.float64],
    best: NDArray[np.intp],
) -> float:
    """Return the share of the weight in ``counts`` (classes x values) that lies in each value's
    best class.

    Rows without a value (``absent``, by class) go with the most frequent class.
    """
    right = counts[best, np.arange(len(best))].sum() + absent[totals.argmax()]
    return float(right / totals.sum())
