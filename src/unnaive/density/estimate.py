"""Kernel densities of one column, as tables that are looked up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import FINITE, check_values, expect
from unnaive.density import kernels
from unnaive.density.conditional import fast_length
from unnaive.density.widths import choose_widths, places_of
from unnaive.encode import Grid

NODES = 4.0  # per width and unit of reach: straight lines between them are off by less than 0.01
DEEPEST = 5.3  # widths from the nearest row: there the density is 1e-6 of a kernel's peak
NOISE = 1e-13  # of a class's peak: less than this is rounding
FEW = 1 << 15  # kernels times nodes that are quicker added one by one
# Added to every class's density everywhere, where rows spread evenly over the range have one: far
# away all classes are alike, so that the prior decides.
FLOOR = 0.01
NARROWEST = 1 / 4096  # of the range: narrower kernels would need too long tables
# Narrowest width, of the mean gap between neighbouring values. Where values repeat (whole numbers,
# two values), narrower kernels tell nothing, and a larger class would seem denser for having them.
GAP = 1 / 6
SMALLEST_RANGE = 1e-280  # below this, a column is constant
SMALLEST_SHARE = 2.0**-30  # of the column's range: below this, some of its rows are all alike


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
        """The scale of a column's grid; None where all values are alike."""
        return cls.of_cells(grid, np.arange(grid.size)) if grid.size else None

    @classmethod
    def of_cells(cls, grid: Grid, cells: NDArray[np.intp]) -> Scale | None:
        """The scale of some cells of a grid, ascending; None where their values are alike."""
        low, high = float(grid.low[cells[0]]), float(grid.high[cells[-1]])
        half_range = 0.5 * high - 0.5 * low
        whole = float(0.5 * grid.high[-1] - 0.5 * grid.low[0])
        if half_range <= max(SMALLEST_RANGE, SMALLEST_SHARE * whole):
            return None
        return cls(low, half_range, max(GAP / max(len(cells) - 1, 1), NARROWEST))

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
        """Log density of each value in each class: values x classes."""
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
        """The same densities with positions and widths in units of another scale."""
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
        """What each class's density has everywhere, in units of the scale: its tables' ends."""
        return np.exp(self.logs[self.first] + self.scale.log_range)

    def without_one(self, rows: NDArray[np.float64]) -> Densities:
        """The densities at each class's own values, if one row with the value were not there.

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
    """A table of log densities without the kernel of one row, which stands at each node in turn.

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
    """Densities from counts of classes in fine cells (classes x cells); None if constant."""
    scale = Scale.of(grid)
    if scale is None:
        return None
    return densities_at(scale, scale.positions(middles(grid)), counts, bandwidth, floor)


def middles(grid: Grid) -> NDArray[np.float64]:
    """What stands for the values of each cell."""
    return 0.5 * grid.low + 0.5 * grid.high


def densities_at(
    scale: Scale,
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    bandwidth: Any,
    floor: float = FLOOR,
) -> Densities | None:
    """The same from positions, ascending, of cells; None if there is no row.

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
    """First node, nodes per unit, and densities at the nodes; the first and last have none.

    Kernels added one by one, or rows spread over nodes and one convolution.
    """
    depth = np.sqrt(2 * np.log(max(1 / (kernels.ROOT_2_PI * width * floor), math.e)))
    nodes = float(np.ceil(NODES * min(depth, DEEPEST)))
    reach = kernels.reach_of(width, floor) * nodes
    margin = np.ceil(reach) + 2
    places = (positions - positions[0]) * (nodes / width) + margin
    size = int(places[-1] + margin) + 2
    if len(places) * 2 * reach <= FEW:
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
        density[density < NOISE * density.max()] = 0.0
    density[[0, -1]] = 0.0
    return float(positions[0] - margin * width / nodes), nodes / width, density
