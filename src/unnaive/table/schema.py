"""What the columns of a table are: their names, kinds and families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["numeric", "categorical", "empty"]
Family = Literal["number", "time", "duration", "bool", "text", "object", "empty"]

FAMILY_WORDS: dict[Family, str] = {
    "number": "numbers",
    "time": "dates or times",
    "duration": "durations",
    "bool": "true/false values",
    "text": "text",
    "object": "objects",
    "empty": "only missing values",
}

# Families whose values have a distance; the others can only be categories.
NUMERIC_FAMILIES: frozenset[Family] = frozenset({"number", "time", "duration"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column as a model sees it.

    ``family`` says what kind of values the data hold, ``kind`` how they are used: a column of
    numbers may be used as categories. A column without a single value is ``"empty"`` and takes
    the kind of the first part of the table that has values.
    """

    name: str | int
    kind: Kind
    family: Family

    def __str__(self) -> str:
        return f"column {self.name!r}" if isinstance(self.name, str) else f"column {self.name}"

    def __add__(self, other: Column) -> Column:
        if other.kind == "empty":
            return self
        if self.kind == "empty":
            return other
        if self.family != other.family or self.kind != other.kind:
            raise ValueError(
                f"{self} holds {FAMILY_WORDS[self.family]} in one part of the data and "
                f"{FAMILY_WORDS[other.family]} in another; convert it to one type."
            )
        return self


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, in order, and whether they carry names."""

    columns: tuple[Column, ...]
    named: bool

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, j: int) -> Column:
        return self.columns[j]

    @property
    def names(self) -> list[str] | None:
        return [str(c.name) for c in self.columns] if self.named else None

    def __add__(self, other: Schema) -> Schema:
        if len(self) != len(other):
            raise ValueError(f"one table has {len(self)} columns, the other {len(other)}.")
        for a, b in zip(self.columns, other.columns, strict=True):
            if self.named and other.named and a.name != b.name:
                raise ValueError(f"{a} of one table stands where the other has {b}.")
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        return Schema(columns, self.named)


def resolve_kinds(
    names: Sequence[str | int], families: Sequence[Family], categorical_features: Any
) -> tuple[Column, ...]:
    """Decide each column's kind from its family and the ``categorical_features`` parameter."""
    chosen = _chosen_as_categorical(names, categorical_features)
    columns = []
    for name, family, forced in zip(names, families, chosen, strict=True):
        if family == "empty" and not forced:
            kind: Kind = "empty"
        else:
            kind = "numeric" if family in NUMERIC_FAMILIES and not forced else "categorical"
        columns.append(Column(name, kind, family))
    return tuple(columns)


def _chosen_as_categorical(names: Sequence[str | int], parameter: Any) -> list[bool]:
    n = len(names)
    if parameter is None or (isinstance(parameter, str) and parameter == "from_dtype"):
        return [False] * n
    if isinstance(parameter, str):
        raise ValueError(
            "categorical_features must be 'from_dtype', or a list of column names, "
            f"positions or a mask; got {parameter!r}."
        )
    items = list(np.asarray(parameter, dtype=object).ravel())
    if items and all(isinstance(v, (bool, np.bool_)) for v in items):
        if len(items) != n:
            raise ValueError(
                f"categorical_features is a mask of {len(items)} entries, "
                f"but the table has {n} columns."
            )
        return [bool(v) for v in items]
    chosen = [False] * n
    for item in items:
        chosen[_position("categorical_features", names, item)] = True
    return chosen


def _position(parameter: str, names: Sequence[str | int], item: Any) -> int:
    if isinstance(item, str):
        if item in names:
            return list(names).index(item)
        raise ValueError(
            f"{parameter} names {item!r}, which is not a column of the table; "
            f"its columns are {_shorten(names)}."
        )
    if isinstance(item, (int, np.integer)) and -len(names) <= item < len(names):
        return int(item) % len(names)
    raise ValueError(
        f"{parameter} holds {item!r}; expected a column name or a position below {len(names)}."
    )


def _shorten(names: Sequence[str | int], most: int = 8) -> str:
    shown = ", ".join(repr(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def column_methods(
    parameter: str, value: Any, schema: Schema, allowed: Sequence[str]
) -> dict[int, str]:
    """What a parameter says about each numeric column: one word for all, or a dict by column.

    Columns that the dict leaves out get the first of the ``allowed`` words.
    """
    numeric = [j for j, column in enumerate(schema) if column.kind == "numeric"]
    if not isinstance(value, Mapping):
        _check_word(parameter, value, allowed)
        return dict.fromkeys(numeric, value)
    methods = dict.fromkeys(numeric, allowed[0])
    names = [column.name for column in schema]
    for key, word in value.items():
        _check_word(parameter, word, allowed)
        j = _position(parameter, names, key)
        if schema[j].kind == "categorical":
            raise ValueError(
                f"{parameter} says {word!r} for {schema[j]}, which holds categories, not numbers."
            )
        if j in methods:
            methods[j] = word
    return methods


def _check_word(parameter: str, word: Any, allowed: Sequence[str]) -> None:
    if word not in allowed:
        choices = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"{parameter} must be one of {choices}, or a dict of these; got {word!r}.")
