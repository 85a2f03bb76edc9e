"""What the columns of a table are: their names, kinds and families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from unnaive.common.checks import check_hashes, expect
from unnaive.common.wording import listed

Kind = Literal["numeric", "categorical", "empty"]
Family = Literal["number", "time", "duration", "level", "bool", "text", "object", "empty"]

FAMILY_WORDS: dict[Family, str] = {
    "number": "numbers",
    "time": "dates or times",
    "duration": "durations",
    "level": "ordered categories",
    "bool": "true/false values",
    "text": "text",
    "object": "objects",
    "empty": "only missing values",
}

# Families whose values can be cut; the others can only be categories.
NUMERIC_FAMILIES: frozenset[Family] = frozenset({"number", "time", "duration", "level"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column as a model sees it.

    ``family`` says what kind of values the data hold, ``kind`` how they are used: a column of
    numbers may be used as categories. A column without a single value is ``"empty"`` and takes
    the kind of the first part of the table that has values.

    ``order`` lists the categories of a type that orders them. A column of the family ``"level"``
    is read as numbers, the places of its values in that list, from 0 on. Where such a column is
    used as categories, the list says how they are sorted; it is empty where no type orders them,
    and None where parts of the data have different orders, which counts as no order.

    ``whole`` says that every number the model was fitted on is a whole one.
    """

    name: Any
    kind: Kind
    family: Family
    order: tuple[Any, ...] | None = ()
    whole: bool = False

    def __str__(self) -> str:
        return f"column {self.name!r}"

    def check(self) -> None:
        """Refuse a column that no table has."""
        hash(self.name)  # names are looked up
        level = self.family == "level"
        allowed = {natural_kind(self.family), "numeric" if level else "categorical"}
        expect(
            self.kind in allowed, f"{self} holds {FAMILY_WORDS[self.family]}, but is {self.kind}."
        )
        expect(self.order or not level, f"{self} has no levels.")
        sorts = level or self.kind == "categorical"
        expect(not self.order or sorts, f"{self} is {self.kind}, but ordered.")
        distinct = len(set(self.order or ())) == len(self.order or ())
        expect(distinct, f"{self} lists a category twice in its order.")

    def __add__(self, other: Column) -> Column:
        if "empty" in (self.family, other.family):
            # A part without a value has no say, unless it was declared categorical.
            typed = other if self.family == "empty" else self
            declared = "categorical" in (self.kind, other.kind) and typed.family == "empty"
            kind: Kind = "categorical" if declared else typed.kind
            return Column(self.name, kind, typed.family, _common_order(self, other))
        if self.family != other.family or self.kind != other.kind:
            raise ValueError(
                f"{self} holds {FAMILY_WORDS[self.family]} in one part of the data and "
                f"{FAMILY_WORDS[other.family]} in another; convert it to one type."
            )
        if self.family == "level" and self.order != other.order:
            raise ValueError(
                f"{self} has the levels {listed(self.order or ())} in one part of the data and "
                f"{listed(other.order or ())} in another; give all parts one list of categories, "
                "or name the column in categorical_features."
            )
        return Column(self.name, self.kind, self.family, _common_order(self, other))


def _common_order(first: Column, second: Column) -> tuple[Any, ...] | None:
    """The order of two parts: a part without one has no say, two different ones are none."""
    if second.order in (first.order, ()):
        return first.order
    return second.order if first.order == () else None


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, in order, and whether they carry labels of their own."""

    columns: tuple[Column, ...]
    named: bool

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, j: int) -> Column:
        return self.columns[j]

    def check(self) -> None:
        """Refuse columns that no table has."""
        expect(self.columns, "there are no columns.")
        check_hashes(self.names)
        expect(len(set(self.names)) == len(self), "two columns have the same name.")
        expect(self.named or self.names == list(range(len(self))), "names without a table.")

    @property
    def names(self) -> list[Any]:
        return [c.name for c in self.columns]

    def label(self, j: int) -> str:
        """A column's name as text; x and its number where the table had no names."""
        return str(self.columns[j].name) if self.named else f"x{j}"

    @property
    def kinds(self) -> list[tuple[Any, Kind, Family]]:
        """How columns are read, which does not depend on the values of rows."""
        return [(c.name, c.kind, c.family) for c in self.columns]

    @property
    def numeric(self) -> frozenset[int]:
        """Positions of the columns that are used as numbers."""
        return frozenset(j for j, c in enumerate(self.columns) if c.kind == "numeric")

    def __add__(self, other: Schema) -> Schema:
        if len(self) != len(other):
            raise ValueError(f"one table has {len(self)} columns, the other {len(other)}.")
        if self.named != other.named:
            raise ValueError("one table has names for its columns, the other has not.")
        for a, b in zip(self.columns, other.columns, strict=True):
            if a.name != b.name:
                raise ValueError(f"{a} of one table stands where the other has {b}.")
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        return Schema(columns, self.named)

    def mark_whole(self, whole: Sequence[bool]) -> Schema:
        """The same columns, marked where their numbers are whole ones."""
        if all(c.whole == own for c, own in zip(self.columns, whole, strict=True)):
            return self
        marked = (replace(c, whole=own) for c, own in zip(self.columns, whole, strict=True))
        return Schema(tuple(marked), self.named)


def join_schemas(schemas: Sequence[Schema]) -> Schema:
    """What several models know of the same rows: not all of them look at every number."""
    columns = zip(*schemas, strict=True)
    joined = (next((c for c in each if c.whole), each[0]) for each in columns)
    return Schema(tuple(joined), schemas[0].named)


def natural_kind(family: Family) -> Kind:
    """How a column is used unless something else is said."""
    if family == "empty":
        return "empty"
    return "numeric" if family in NUMERIC_FAMILIES else "categorical"


def chosen_as_categorical(names: Sequence[Any], parameter: Any) -> list[bool]:
    """Which columns the ``categorical_features`` parameter names."""
    n = len(names)
    if parameter is None or (isinstance(parameter, str) and parameter == "from_dtype"):
        return [False] * n
    if isinstance(parameter, str):
        raise ValueError(
            "categorical_features must be 'from_dtype', or a list of column names, "
            f"positions or a mask; got {parameter!r}."
        )
    # A list is taken as it is: NumPy would take names that are tuples apart.
    listed = isinstance(parameter, (list, tuple, set, frozenset))
    items = list(parameter if listed else np.asarray(parameter, dtype=object).ravel())
    if items and all(isinstance(v, (bool, np.bool_)) for v in items):
        if len(items) != n:
            raise ValueError(
                f"categorical_features is a mask of {len(items)} entries, "
                f"but the table has {n} columns."
            )
        return [bool(v) for v in items]
    chosen, places = [False] * n, _places(names)
    for item in items:
        chosen[_position("categorical_features", names, places, item)] = True
    return chosen


def column_position(parameter: str, schema: Schema, item: Any) -> int:
    """Where the column is that a parameter names or numbers."""
    return _position(parameter, schema.names, _places(schema.names), item)


def _places(names: Sequence[Any]) -> dict[Any, int]:
    """Where each name stands, the first time."""
    places: dict[Any, int] = {}
    for j, name in enumerate(names):
        places.setdefault(name, j)
    return places


def _position(parameter: str, names: Sequence[Any], places: dict[Any, int], item: Any) -> int:
    with suppress(TypeError):  # what has no hash is no name
        if item in places:
            return places[item]
    n = len(names)
    if isinstance(item, str):
        raise ValueError(
            f"{parameter} names {item!r}, which is not a column of the table; "
            f"its columns are {listed(names)}."
        )
    if isinstance(item, (int, np.integer)) and -n <= item < n:
        return int(item) % n
    raise ValueError(f"{parameter} holds {item!r}; expected a column name or a position below {n}.")


def by_column(parameter: str, value: Any, schema: Schema, default: Any) -> dict[int, Any]:
    """What a parameter says about each numeric column: one word for all, or a dict by column, with
    a default for columns that the dict leaves out.
    """
    numeric = sorted(schema.numeric)
    if not isinstance(value, Mapping):
        return dict.fromkeys(numeric, value)
    words = dict.fromkeys(numeric, default)
    names = schema.names
    places = _places(names)
    for key, word in value.items():
        j = _position(parameter, names, places, key)
        if schema[j].kind == "categorical":
            raise ValueError(
                f"{parameter} says {word!r} for {schema[j]}, which holds categories, not numbers."
            )
        if j in words:
            words[j] = word
    return words


def refuse_duplicates(names: Sequence[Any]) -> None:
    """Refuse a table in which several columns have one name."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"the table has several columns named {name!r}; rename or drop them.")
        seen.add(name)
