"""Names of cuts, intervals and slots for people."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Bins, Categories
from unnaive.table import Column


def interval_words(cuts: NDArray[np.float64], column: Column) -> list[str]:
    """Return the intervals between cuts in words.

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
    """Return the intervals between cuts by the levels in them."""
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
    """Return the last whole number, or level, below each cut and the first above it.

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
    """Return what to call every slot of a coder: missing, its values, unseen."""
    if isinstance(coder, Bins):
        return ("missing", *interval_words(coder.cuts, column), "unseen")
    return tuple(coder.name(slot) for slot in range(coder.size + 2))


def interval_names(cuts: NDArray[np.float64], column: Column) -> list[str]:
    """Return the intervals between cuts, as text in which different cuts look different."""
    edges = ["-inf", *cut_names(cuts, column), "inf"]
    names = [f"({a}, {b}]" for a, b in pairwise(edges)]
    names[-1] = names[-1][:-1] + ")"
    return names


def levels_at(numbers: NDArray[np.float64], column: Column) -> list[Any]:
    """Return the levels of a column at these places in their order, or the last before them."""
    assert column.order
    places = np.clip(np.floor(numbers), 0, len(column.order) - 1).astype(np.intp)
    return [column.order[k] for k in places.tolist()]


def cut_names(cuts: NDArray[np.float64], column: Column, digits: int = 6) -> list[str]:
    """Return the cuts as text in which different ones look different; dates and times as such.

    A cut between two levels is called by the first: "at most small" is all up to it.
    """
    family = column.family
    if family == "level":
        return list(map(str, levels_at(cuts, column)))
    if family == "time":
        moments = np.asarray(cuts, dtype=np.int64).astype("datetime64[us]")
        for unit in ("D", "m", "s", "us"):  # no digits that are zero in all of them
            rounded = moments.astype(f"datetime64[{unit}]")
            if (rounded == moments).all():
                break
        return [str(moment) for moment in rounded]
    if family == "duration":
        return [str(datetime.timedelta(microseconds=cut)) for cut in cuts]
    names: list[str] = []
    for more in range(digits, 18):  # 17 digits tell any two floats apart
        names = [f"{cut:.{more}g}" for cut in cuts]
        if len(set(names)) == len(names):
            break
    return names
