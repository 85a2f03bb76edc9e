"""What a column says about the classes, from counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import kernels


def information_of(table: NDArray[Any]) -> float:
    """Mutual information of the rows and the columns of a table of weights, in nats.

    Corrected for the cells that the weight is spread over, as Miller and Madow do: half the number
    of cells beyond one, over the weight. What says nothing has about 0, however many values it has.
    """
    return float(kernels.mutual_information(np.ascontiguousarray(table, dtype=np.float64)))


def most_informative(tables: Sequence[NDArray[Any] | None], most: int) -> list[int]:
    """Numbers of the tables of most information, the first of equals, in ascending order."""
    information = [-np.inf if table is None else information_of(table) for table in tables]
    return [j for j in highest(information, most) if information[j] > -np.inf]


def highest(values: Sequence[float], most: int) -> list[int]:
    """Places of the highest values, the first of equals, in ascending order."""
    return sorted(np.argsort(-np.array(values), kind="stable")[:most].tolist())
