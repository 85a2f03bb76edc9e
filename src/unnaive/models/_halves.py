"""Rows in two halves, each judged by a model of the other.

For models that cannot leave one row out by a subtraction. Halves are drawn by the rows' numbers, so
that neither the order of the rows nor how they are split into blocks matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.encode.hashing import draw_folds
from unnaive.table.storage import Storage, stretches

# Rows up to which both halves are judged, each by a model of the other. Of more, the second is
# judged by a model of the first: half as many rows say as well how sure to be.
BOTH = 1 << 12


def n_half_models(n_rows: int, both: int | None = None) -> int:
    """How many models of half of the rows are learned: two, up to ``both`` rows or `BOTH`."""
    return 2 if n_rows <= (BOTH if both is None else both) else 1


def in_second_half(row_ids: NDArray[np.int64], seed: int = 0) -> NDArray[np.bool_]:
    """Which rows are in the second half."""
    return draw_folds(seed, row_ids, 2) == 1


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Which half each row is in; see `draw_halves`."""

    second: NDArray[np.bool_]
    storage: Storage

    def rows(self, k: int) -> NDArray[np.intp]:
        """Places of the rows of half 0 or 1."""
        return self.storage.where(lambda part: self.second[part] == (k == 1), len(self.second))


def draw_halves(row_ids: NDArray[np.int64], storage: Storage, seed: int = 0) -> Halves | None:
    """The halves of rows with these numbers; None where one would be empty."""
    second = storage.empty(len(row_ids), np.bool_)
    for part in stretches(len(row_ids)):
        second[part] = in_second_half(row_ids[part], seed)
    return None if second.all() or not second.any() else Halves(second, storage)


def judge_by_other_half(
    second: NDArray[np.bool_],
    judge: Callable[[int, NDArray[np.intp]], NDArray[np.float64]],
    scores: NDArray[np.float64],
) -> None:
    """Scores (OUT, rows x classes) of rows, each by the model of the half that it is not in.

    ``judge(k, rows)`` is what the model of half k says of rows at these places.
    """
    for k, others in enumerate((second, ~second)):
        rows = np.flatnonzero(others)
        if len(rows):
            scores[rows] = judge(k, rows)
