"""What a column says about the classes, from counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def information_of(table: NDArray[Any]) -> float:
    """Mutual information of the rows and the columns of a table of weights, in nats.

    Corrected for the cells that the weight is spread over, as Miller and Madow do: half the number
    of cells beyond one, over the weight. What says nothing has about 0, however many values it has.
    """
    n = float(table.sum())
    if n <= 0.0:
        return 0.0
    first, second = table.sum(axis=1), table.sum(axis=0)
    return _entropy(first, n) + _entropy(second, n) - _entropy(table.ravel(), n)


def _entropy(weights: NDArray[Any], n: float) -> float:
    present = weights[weights > 0]
    return float(np.log(n) - present @ np.log(present) / n + (len(present) - 1) / (2.0 * n))


def most_informative(tables: Sequence[NDArray[Any] | None], most: int) -> list[int]:
    """Numbers of the tables of most information, the first of equals, in ascending order."""
    information = [-np.inf if table is None else information_of(table) for table in tables]
    best = np.argsort(-np.array(information), kind="stable")[:most]
    return sorted(j for j in best.tolist() if information[j] > -np.inf)
