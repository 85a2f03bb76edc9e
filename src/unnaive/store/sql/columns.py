"""Columns of the user's table as the model reads them: values and slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from unnaive.discretize import CoarseCoder
from unnaive.encode import Bins, Categories
from unnaive.store.sql.builder import (
    MOST_BRANCHES,
    Dialect,
    Statement,
    Step,
    case,
    is_null,
    op,
    ref,
    text,
    whole,
)
from unnaive.table import Column, Schema
from unnaive.table.columns import as_categories, as_objects, read_numeric

TABLE = "t"  # what the user's table is called inside the first step
FEW_CUTS = 8  # compared one after the other; more are halved


def column_names(schema: Schema, given: Any) -> list[str]:
    """Return the names of the model's columns in the table."""
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in schema.names]
        if unknown:
            raise ValueError(
                f"columns has the key {unknown[0]!r}, which is no column of the model."
            )
        names = [given.get(name, name) for name in schema.names]
    elif given is not None:
        names = [given] if isinstance(given, str) else list(given)
        if len(names) != len(schema):
            raise ValueError(
                f"columns has {len(names)} names, but the model has {len(schema)} columns."
            )
    elif not schema.named:
        raise ValueError(
            "the model was fitted on a table without column names; pass the names in the database "
            "with columns=[...], in the order of fitting."
        )
    else:
        names = schema.names
    return [check_text(str(name), f"the name of column {name!r}") for name in names]


def table_parts(table: Any) -> list[str]:
    """Return the parts of the name of a table."""
    parts = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, str) and p for p in parts):
        raise ValueError(
            "table must be a name, or up to three names such as ('schema', 'table'); "
            f"got {table!r}."
        )
    return [check_text(part, "table") for part in parts]


def text_list(parameter: str, given: Any) -> list[str]:
    """Return one name or several as a list."""
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must hold names of columns; got {given!r}.")
    return [check_text(name, parameter) for name in names]


def output_names(
    classes: Any, names: Any, others: Sequence[str | None], dialect: Dialect
) -> list[str]:
    """Return the names of the columns of classes, none of which is that of another column."""
    if names is None:
        names = [f"probability_{label}" for label in classes]
    else:
        names = text_list("names", names)
        if len(names) != len(classes):
            raise ValueError(f"names has {len(names)} names, but there are {len(classes)} classes.")
    seen: set[str] = set()
    for name in [*names, *(other for other in others if other is not None)]:
        check_text(name, f"the output column {name!r}")
        size = len(name.encode())
        if dialect.longest_name is not None and size > dialect.longest_name:
            raise ValueError(
                f"the output column {name!r} has {size} bytes, and names in {dialect.word} have at "
                f"most {dialect.longest_name}; choose shorter ones with names=[...]."
            )
        if not name or name.lower() in seen:  # most engines do not tell upper from lower case
            raise ValueError(
                f"two output columns would be called {name!r}; choose others with names=[...], "
                "keep=, prediction= or decision=."
                if name
                else "an output column needs a name; got ''."
            )
        seen.add(name.lower())
    return names


def check_text(value: str, what: str) -> str:
    """Check that SQL text can hold a value."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds half a character (a lone surrogate); rename it.") from None
    if "\0" in value:
        raise ValueError(f"{what} holds a NUL character, which SQL text cannot hold; rename it.")
    return value


class Columns:
    """The model's columns in the first steps: read once, then numbered."""

    def __init__(self, statement: Statement, schema: Schema, names: Sequence[str]) -> None:
        self.statement, self.schema, self.names = statement, schema, names
        self.dialect: Dialect = statement.dialect
        self._read = statement.step("values")
        ordered = any(column.family == "level" for column in schema)
        self._levels = statement.step("levels") if ordered else self._read
        self._number = statement.step("slots")
        self._values: dict[int, str] = {}
        self._slots: dict[tuple[int, Any], str] = {}

    def keep(self, given: str) -> str:
        """Return a column that is passed on as it is."""
        return self._read.define("k", ref(given, TABLE))

    def value(self, j: int) -> str:
        """Return column j as the model reads it: a float, or a category."""
        if j not in self._values:
            column = self.schema[j]
            read = self.dialect.read(as_categories(column), self.names[j], TABLE)
            self._values[j] = self._read.define("x", read)
            if column.family == "level":
                places = {v: self.dialect.double(k) for k, v in enumerate(column.order or ())}
                place = self._look_up(self._levels, self._values[j], column, places)
                self._values[j] = self._levels.define("x", place)
        return self._values[j]

    def slot(self, j: int, coder: CoarseCoder) -> str:
        """Return the slot of column j: 0 missing, then the values, then unseen."""
        assert coder is not None
        # Pairs of columns may have intervals of their own.
        key = (j, coder.cuts.tobytes() if isinstance(coder, Bins) else id(coder))
        if key not in self._slots:
            if self._number.is_full:
                self._number = self.statement.step("slots")
            value = self.value(j)
            numbered = (
                self._interval(value, coder)
                if isinstance(coder, Bins)
                else self._category(self._number, value, self.schema[j], coder)
            )
            self._slots[key] = self._number.define("c", numbered)
        return self._slots[key]

    def _interval(self, value: str, bins: Bins) -> exp.Expr:
        self.statement.count(len(bins.cuts))
        inside = self._halve(value, bins.cuts.tolist(), 1)
        return case([(is_null(ref(value)), whole(0))], inside)

    def _halve(self, value: str, cuts: list[float], first: int) -> exp.Expr:
        """Return the slot of a value by binary search, counted from ``first`` below all cuts."""

        def below(cut: float) -> exp.Expr:
            return op(ref(value), "<=", self.dialect.cut(cut))

        if not cuts:
            return whole(first)
        if len(cuts) <= FEW_CUTS:
            return case(
                [(below(cut), whole(first + k)) for k, cut in enumerate(cuts)],
                whole(first + len(cuts)),
            )
        half = len(cuts) // 2
        return case(
            [(below(cuts[half]), self._halve(value, cuts[:half], first))],
            self._halve(value, cuts[half + 1 :], first + half + 1),
        )

    def _category(
        self, step: Step, column_value: str, column: Column, coder: Categories
    ) -> exp.Expr:
        slots = {value: whole(slot) for value, slot in coder.index.items()}
        slot_of = self._look_up(step, column_value, column, slots, whole(coder.size + 1))
        return case([(is_null(ref(column_value)), whole(0))], slot_of)

    def _look_up(
        self,
        step: Step,
        column_value: str,
        column: Column,
        table: Mapping[Any, exp.Expr],
        otherwise: exp.Expr | None = None,
    ) -> exp.Expr:
        """Return the value of a category in a table; ``otherwise``, or NULL, where it has none."""
        column = as_categories(column)
        rows = [(self._literal(column, value), entry) for value, entry in table.items()]
        self.statement.count(len(rows))
        if len(rows) <= MOST_BRANCHES:
            return case(rows, otherwise, ref(column_value))
        joined = step.join(ref(column_value), [list(row) for row in rows])[0]
        return joined if otherwise is None else exp.Coalesce(this=joined, expressions=[otherwise])

    def _literal(self, column: Column, value: Any) -> exp.Expr:
        """Return a category as the database would hold it."""
        if column.family in ("time", "duration"):
            return self.dialect.number(float(read_numeric(as_objects([value]), column)[0]))
        if column.family == "bool":
            return exp.Boolean(this=bool(value))
        if column.family != "number":
            return text(check_text(str(value), f"the category {value!r} of {column}"))
        if isinstance(value, int):
            return whole(value)
        return self.dialect.cut(float(value))
