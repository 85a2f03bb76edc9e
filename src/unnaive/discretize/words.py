"""What to call the slots of a column where people read: values, and intervals in plain words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unnaive.discretize.discretizer import cut_names
from unnaive.encode import Bins, Categories
from unnaive.table import Column


def interval_words(cuts: NDArray[np.float64], column: Column) -> list[str]:
    """Intervals between cuts in words.

    Of whole numbers by the first and last in each: "at most 29", "30 to 45", "46 or more"; of
    ordered categories likewise: "at most small", "medium to large", "huge". Of others, where a
    number that is a cut belongs to the interval that ends with it: "at most 29.5", "above 29.5, at
    most 45.2", "above 45.2".
    """
    if not len(cuts):
        return ["any value"]
    if column.family == "level":
        return _level_words(cuts, list(map(str, column.order or ())))
    whole = whole_edges(cuts, column)
    if whole is not None:
        last, first = whole
        inner = [a if a == b else f"{a} to {b}" for a, b in zip(first, last[1:], strict=False)]
        return [f"at most {last[0]}", *inner, f"{first[-1]} or more"]
    edges = cut_names(cuts, column)
    low, high = ("until", "after") if column.family == "time" else ("at most", "above")
    between = [f"{high} {a}, {low} {b}" for a, b in pairwise(edges)]
    return [f"{low} {edges[0]}", *between, f"{high} {edges[-1]}"]


def _level_words(cuts: NDArray[np.float64], levels: list[str]) -> list[str]:
    """Intervals between cuts by the levels in them."""
    top = len(levels) - 1
    ends = np.clip(np.floor(cuts), 0, top).astype(int).tolist()
    words = []
    for first, last in zip([0, *(end + 1 for end in ends)], [*ends, top], strict=True):
        if first == last:
            words.append(levels[first])
        elif first > last:  # cut twice between two levels
            words.append(f"between {levels[last]} and {levels[min(first, top)]}")
        elif first == 0:
            words.append(f"at most {levels[last]}")
        else:
            words.append(f"{levels[first]} {'or more' if last == top else f'to {levels[last]}'}")
    return words


def whole_edges(cuts: NDArray[np.float64], column: Column) -> tuple[list[str], list[str]] | None:
    """The last whole number, or level, below each cut and the first above it.

    None where a column has other numbers, or an interval has no whole number in it.
    """
    level = column.family == "level"
    if not column.whole and not level:
        return None
    last = np.floor(cuts)
    if (np.diff(last) < 1).any():
        return None
    if level:
        return cut_names(last, column), cut_names(last + 1, column)
    return [str(int(n)) for n in last], [str(int(n) + 1) for n in last]


def slot_words(coder: Bins | Categories, column: Column) -> tuple[str, ...]:
    """What to call every slot of a coder: missing, its values, unseen."""
    if isinstance(coder, Bins):
        return ("missing", *interval_words(coder.cuts, column), "unseen")
    return tuple(coder.name(slot) for slot in range(coder.size + 2))
