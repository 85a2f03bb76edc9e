"""How sure evidence is: its spread over bags that each leave out other rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.scoring import probabilities

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Tables by slot: of columns (slots x scores) and of pairs (slots x slots x scores)."""

    intercept: NDArray[np.float64]
    columns: dict[int, NDArray[np.float64]]
    pairs: dict[Pair, NDArray[np.float64]]


def jackknife(
    mean: Evidence, bags: Iterable[Evidence], n_folds: int
) -> dict[int, NDArray[np.float64]]:
    """Standard errors of the weight of evidence of every slot of columns: slots x scores.

    Each bag leaves out one of ``n_folds`` groups of rows, so that the spread of the bags is a
    jackknife by groups: the variance is n_folds - 1 times their mean squared distance from the
    mean.
    """
    squares = {j: np.zeros(table.shape) for j, table in mean.columns.items()}
    n_bags = 0
    for bag in bags:
        n_bags += 1
        for j, table in mean.columns.items():
            change = bag.columns[j] - table
            squares[j] += _weight_change(change, table, mean.intercept) ** 2
    return {j: np.sqrt((n_folds - 1) / n_bags * total) for j, total in squares.items()}


def _weight_change(
    change: NDArray[np.float64], scores: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What small changes of scores do to the weight of evidence of each class."""
    if change.shape[-1] == 1:
        return change
    share = probabilities(scores + prior)
    others = (share * change).sum(axis=-1, keepdims=True) - share * change
    rest = np.maximum(1.0 - share, np.finfo(float).tiny)
    return change - others / rest
