"""What kernels of boosting work on: plain arrays, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """Coded rows.

    Attributes
    ----------
    slots : array of shape (columns, rows)
        Slot of each value among its column's fine intervals or categories.
    pair_slots : array of shape (columns, rows)
        Slot among the coarser intervals that pairs use.
    groups : array of shape (rows,)
        Class numbers.
    weight : array of shape (rows,), or empty where all weights are 1
    folds : array of shape (rows,), or empty
        Which bag holds a row out.
    """

    slots: NDArray[np.uint16]
    pair_slots: NDArray[np.uint8]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64]
    folds: NDArray[np.uint8]


class Terms(NamedTuple):
    """Tables of evidence that are learned: one for each column or pair of columns.

    Attributes
    ----------
    first, second : arrays of shape (terms,)
        The columns; ``second`` is -1 for a single column.
    width, height : arrays of shape (terms,)
        Slots of the first column, and of the second (1 for a single column).
    start : array of shape (terms + 1,)
        Where each term's cells begin among all cells.
    sorted_first, sorted_second : arrays of shape (terms,)
        Whether slots have an order, as numbers have and categories have not.
    direction : array of shape (terms,)
        1 where evidence may only rise with the column, -1 where it may only fall, else 0.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    width: NDArray[np.intp]
    height: NDArray[np.intp]
    start: NDArray[np.intp]
    sorted_first: NDArray[np.bool_]
    sorted_second: NDArray[np.bool_]
    direction: NDArray[np.int8]


class Rule(NamedTuple):
    """How one step is taken.

    Attributes
    ----------
    rate : float
        Share of a Newton step that is taken.
    ridge : float
        Added to curvatures: it pulls each step towards zero.
    least : float
        Least weight of the rows of a leaf.
    block : int
        Terms that step from the same gradients.
    lowest : int
        First slot that steps: 0 where missing is a value, else 1.
    unit : float
        Gradients are whole multiples of this.
    leaves : int
        Leaves of a step of a single column: 2 or 4.
    """

    rate: float
    ridge: float
    least: float
    block: int
    lowest: int
    unit: float
    leaves: int
