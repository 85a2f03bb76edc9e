"""Categories of a column: plain Python values in a canonical order.

That is the order that the column's type declares, where it does; intervals by where they begin;
all other values sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import expect
from unnaive.table.columns import is_missing

INTERVAL = re.compile(r"([\[(])([^,]+), ([^,]+)[\])]")  # as pandas writes them


@dataclass(frozen=True, slots=True)
class Categories:
    """The values of a categorical column that occur, in order. Slot 0 is missing, slot ``size + 1``
    every value not in the list. Values named ``rare`` share one slot, the last before unseen.
    """

    values: tuple[Any, ...]
    rare: tuple[Any, ...] = ()
    index: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {v: i + 1 for i, v in enumerate(self.values)}
        index |= dict.fromkeys(self.rare, self.size)
        object.__setattr__(self, "index", index)

    def __getstate__(self) -> list[tuple[Any, ...]]:
        """Return the state without the index, which is made again; skops does not keep true and
        false as keys.
        """
        return [self.values, self.rare]

    def __setstate__(self, state: list[tuple[Any, ...]]) -> None:
        for name, values in zip(("values", "rare"), state, strict=True):
            object.__setattr__(self, name, values)
        self.__post_init__()

    def check(self) -> None:
        """Refuse values that no column has."""
        n_values = len(self.values) + len(self.rare)
        expect(len(self.index) == n_values, "a category is listed twice.")
        expect(not any(map(is_missing, self.index)), "a missing value is listed as a category.")

    @property
    def size(self) -> int:
        return len(self.values) + bool(self.rare)

    def name(self, slot: int) -> str:
        """Return what to call a slot."""
        if slot == 0:
            return "missing"
        if slot <= len(self.values):
            return str(self.values[slot - 1])
        if slot > self.size:
            return "unseen"
        return "other" if "other" not in self.index else "other (rare values)"

    def slots(self, values: Iterable[Any]) -> NDArray[np.intp]:
        """Return where each raw slot (0 missing, then ``values`` in their order) belongs."""
        listed = list(values)
        places = [0, *map(self.index.get, listed)]
        if None in places:
            others = [0 if is_missing(v) else self.size + 1 for v in listed]
            places[1:] = [k if p is None else p for p, k in zip(places[1:], others, strict=True)]
        return np.asarray(places, dtype=np.intp)


Order: TypeAlias = tuple[Any, ...] | None  # as in `Column`


def categories_of(
    values: Sequence[Any], present: NDArray[np.bool_], order: Order = ()
) -> Categories:
    """Return those of ``values`` that are present, each once, in canonical order."""
    kept = (v for v, here in zip(values, present, strict=True) if here and not is_missing(v))
    return Categories(order_values(kept, order))


def merge_categories(
    parts: Sequence[Categories], order: Order = ()
) -> tuple[Categories, list[NDArray[np.intp]]]:
    """Return the categories of all parts together, and for each part where its slots went."""
    lists = list(dict.fromkeys(part.values for part in parts))  # many parts have the same ones
    merged = Categories(order_values((v for values in lists for v in values), order))
    unseen = [merged.size + 1]
    places = {values: np.concatenate((merged.slots(values), unseen)) for values in lists}
    return merged, [places[part.values] for part in parts]


def order_values(values: Iterable[Any], order: Order) -> tuple[Any, ...]:
    """Return the distinct values by their declared order; those that it does not list come after,
    sorted.
    """
    distinct = sort_values(values)
    if order:
        place = {v: i for i, v in enumerate(order)}
        return tuple(sorted(distinct, key=lambda v: place.get(v, len(place))))
    edges = [_edges(v) for v in distinct]
    if None in edges:
        return distinct
    return tuple(v for _, v in sorted(zip(edges, distinct, strict=True)))


def _edges(value: Any) -> tuple[float, float, bool] | None:
    """Return where an interval of numbers, such as "(9.5, 20.0]", begins and ends; None: it is
    none.
    """
    match = INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return float(match[2]), float(match[3]), match[1] == "("
    except ValueError:
        return None


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct values in one order for every engine: by value, or by type and value if
    mixed.
    """
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda v: (type(v).__name__, str(v))))
