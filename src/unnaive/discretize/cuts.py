"""Where cuts of a fine grid may lie: between its cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Grid


def between(grid: Grid, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Midpoints of the gaps below the given cells; never at or above the cell itself."""
    return midpoints(grid.high[cuts - 1], grid.low[cuts])


def midpoints(below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cuts between neighbouring values: never at or above the upper one, also where no float lies
    between them or their sum would overflow.
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
