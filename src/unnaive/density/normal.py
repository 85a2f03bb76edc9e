"""Normal densities of one column, one for each class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Spread

SMALLEST_VARIANCE = 1e-280  # below this, a column is constant: squares are no longer floats


class Normal(NamedTuple):
    """Mean and variance of each class."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def fit_normal(classes: Spread, whole: Spread, var_smoothing: float) -> Normal | None:
    """Normal densities that are never degenerate; None if the column is constant.

    The variance grows by a share of the whole column's variance, at least 1e-18 of it; a class
    without a value looks like the whole column.
    """
    if not whole.variance > SMALLEST_VARIANCE:
        return None
    known = ~np.isnan(classes.mean)
    variance = np.where(known, classes.variance, whole.variance)
    variance += max(var_smoothing, 1e-18) * whole.variance
    return Normal(np.where(known, classes.mean, whole.mean), variance)
