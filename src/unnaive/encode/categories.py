"""Categories of a column: plain Python values in a canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import expect
from unnaive.table.codes import is_missing


@dataclass(frozen=True, slots=True)
class Categories:
    """The values of a categorical column that occur, sorted. Slot 0 is missing, slot ``size + 1``
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
        """Without the index, which is made again; skops does not keep true and false as keys."""
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
        """What to call a slot."""
        if slot == 0:
            return "missing"
        if slot <= len(self.values):
            return str(self.values[slot - 1])
        if slot > self.size:
            return "unseen"
        return "other" if "other" not in self.index else "other (rare values)"

    def slots(self, values: Iterable[Any]) -> NDArray[np.intp]:
        """Where each raw slot (0 missing, then ``values`` in their order) belongs."""
        unseen, find = self.size + 1, self.index.get
        places = [0, *(find(v, 0 if is_missing(v) else unseen) for v in values)]
        return np.asarray(places, dtype=np.intp)


def categories_of(values: Sequence[Any], present: NDArray[np.bool_]) -> Categories:
    """Canonical categories: those of ``values`` that are present, each once, sorted."""
    kept = (v for v, here in zip(values, present, strict=True) if here and not is_missing(v))
    return Categories(sort_values(kept))


def merge_categories(
    parts: Sequence[Categories],
) -> tuple[Categories, list[NDArray[np.intp]]]:
    """Categories of all parts together, and for each part where its slots went."""
    merged = Categories(sort_values(v for part in parts for v in part.values))
    unseen = [merged.size + 1]
    return merged, [np.concatenate((merged.slots(p.values), unseen)) for p in parts]


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct values in one order for every engine: by value, or by type and value if mixed."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda v: (type(v).__name__, str(v))))
