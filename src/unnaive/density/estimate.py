"""Kernel densities of one column, as tables that are looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.density import kernels
from unnaive.density.widths import Places, choose_widths, fast_length
from unnaive.encode import Grid

NODES = 24  # per width: straight lines between them are off by less than 0.006 in log density
REACH = 8.0  # widths beyond a class's rows that its table covers
NOISE = 1e-13  # of a class's peak: less than this is rounding
# Added to every class's density everywhere, where rows spread evenly over the range have one: far
# away all classes are alike, so that the prior decides.
FLOOR = 0.1
SMALLEST_RANGE = 1e-280  # below this, a column is constant


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Log density of one numeric column in each class, at nodes of its own for each class.

    Attributes
    ----------
    low, half_range : float
        Smallest value, and half the distance to the largest: positions are in units of the range.
    widths : array of shape (classes,)
        Widths of the kernels, in units of the range.
    factor : float
        The c of width = c / sqrt(n), NaN where another rule made the widths.
    start, per_step : arrays of shape (classes,)
        Position of each class's first node, and nodes per unit.
    offsets : array of shape (classes + 1,)
        Where each class's nodes begin in ``logs``.
    logs : array
    """

    low: float
    half_range: float
    widths: NDArray[np.float64]
    factor: float
    start: NDArray[np.float64]
    per_step: NDArray[np.float64]
    offsets: NDArray[np.intp]
    logs: NDArray[np.float64]

    def at(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density of each value in each class: values x classes."""
        out = np.empty((len(values), len(self.widths)))
        positions = (0.5 * values - 0.5 * self.low) / self.half_range
        kernels.fill_log_densities(
            positions, self.start, self.per_step, self.offsets, self.logs, out
        )
        return out


def fit_densities(
    grid: Grid, counts: NDArray[np.float64], bandwidth: Any, floor: float = FLOOR
) -> Densities | None:
    """Densities from counts of classes in fine cells (classes x cells); None if constant.

    A class without rows looks like all classes together.
    """
    half_range = _half_range(grid)
    if not half_range > SMALLEST_RANGE:
        return None
    positions = scaled(grid)
    classes = [_places(positions, own if own.any() else counts.sum(axis=0)) for own in counts]
    widths, factor = choose_widths(classes, bandwidth, floor)
    log_unit = np.log(2.0) + np.log(half_range)
    tables = [_nodes(*own, width) for own, width in zip(classes, widths, strict=True)]
    logs = [np.log(density + floor) - log_unit for _, density in tables]
    offsets = np.concatenate(([0], np.cumsum([len(own) for own in logs]))).astype(np.intp)
    return Densities(
        float(grid.low[0]),
        half_range,
        widths,
        factor,
        np.array([start for start, _ in tables]),
        NODES / widths,
        offsets,
        np.concatenate(logs),
    )


def _places(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> Places:
    present = weight > 0
    return positions[present], weight[present]


def scaled(grid: Grid) -> NDArray[np.float64]:
    """Middle of each cell, from 0 at the smallest value to 1 at the largest."""
    middle = 0.5 * grid.low + 0.5 * grid.high
    return (0.5 * middle - 0.5 * grid.low[0]) / _half_range(grid)


def _half_range(grid: Grid) -> float:
    return float(0.5 * grid.high[-1] - 0.5 * grid.low[0]) if grid.size else 0.0


def _nodes(
    positions: NDArray[np.float64], weight: NDArray[np.float64], width: float
) -> tuple[float, NDArray[np.float64]]:
    """First node and densities at the nodes: rows spread over nodes, one convolution."""
    margin = REACH * NODES
    start = positions[0] - REACH * width
    places = (positions - positions[0]) * (NODES / width) + margin
    size = int(places[-1] + margin) + 2
    length = fast_length(size)
    binned = np.zeros(length)
    kernels.spread_rows(places, weight, binned)
    spectrum = np.fft.rfft(binned)
    wave = (2 * np.pi * NODES / length) * np.arange(len(spectrum))
    density = np.fft.irfft(spectrum * np.exp(-0.5 * wave**2), length)[:size]
    density *= NODES / (width * weight.sum())
    density[density < NOISE * density.max()] = 0.0
    density[[0, -1]] = 0.0
    return start, density
