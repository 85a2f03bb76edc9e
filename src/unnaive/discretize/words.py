"""What to call the slots of a column where people read: values, and intervals in plain words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unnaive.discretize.discretizer import cut_names
from unnaive.encode import Bins, Categories


def interval_words(cuts: NDArray[np.float64], family: str = "number") -> list[str]:
    """Intervals between cuts in words: at most the first, from one to the next, above the last.

    A number that is a cut belongs to the interval that ends with it.
    """
    edges = cut_names(cuts, family)
    if not edges:
        return ["any value"]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    low, high = ("until", "after") if family == "time" else ("at most", "above")
    return [f"{low} {edges[0]}", *between, f"{high} {edges[-1]}"]


def slot_words(coder: Bins | Categories, family: str) -> tuple[str, ...]:
    """What to call every slot of a coder: missing, its values, unseen."""
    if isinstance(coder, Bins):
        return ("missing", *interval_words(coder.cuts, family), "unseen")
    return tuple(coder.name(slot) for slot in range(coder.size + 2))
