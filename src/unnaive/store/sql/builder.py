"""SQL statements as a chain of steps, and the dialects that they are written in.

A dialect says what an engine calls things, and how it reads a column as the model does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.table import Column

WHOLE = 2.0**53  # up to here every whole number is a float
MOST_BRANCHES = 24  # entries that a CASE looks through; more are a table that is joined
MOST_CASES = 64  # entries of all classes together, which a table gives at once
MOST_JOINS = 48  # in one step: SQLite joins 64 tables at most
MOST_TERMS = 64  # added up in one expression: engines limit how deep they nest
MOST_NUMBERS = 4_000_000  # in one statement
_OPERATORS: dict[str, Callable[..., exp.Expr]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": partial(exp.Div, typed=True),
    "=": exp.EQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def name(text: str) -> exp.Identifier:
    """Return a name of the user's or ours, quoted whatever it holds."""
    return exp.to_identifier(text, quoted=True)


def ref(column: str, table: str | None = None) -> exp.Column:
    """Return a column, by its quoted name."""
    return exp.Column(this=name(column), table=None if table is None else name(table))


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def whole(value: int) -> exp.Literal:
    return exp.Literal(this=str(int(value)), is_string=False)


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a function by its own name, which sqlglot leaves alone."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def case(
    branches: Sequence[tuple[exp.Expr, exp.Expr]],
    default: exp.Expr | None = None,
    of: exp.Expr | None = None,
) -> exp.Expr:
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(this=of, ifs=ifs, default=default)


def op(first: exp.Expr, sign: str, second: exp.Expr) -> exp.Expr:
    """Return an operation, without the parentheses and copies of sqlglot's own operators."""
    return _OPERATORS[sign](this=first, expression=second)


def is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value, expression=exp.Null())


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kind))


class SmallTable(NamedTuple):
    """A table inside a statement: its name and its rows."""

    alias: exp.TableAlias
    rows: exp.Select


def _values(rows: Sequence[Sequence[exp.Expr]], columns: Sequence[str] = ()) -> exp.Expr:
    tuples = [exp.Tuple(expressions=list(row)) for row in rows]
    alias = exp.TableAlias(this=name("r"), columns=[name(column) for column in columns])
    return exp.Values(expressions=tuples, alias=alias)


class Dialect:
    """One engine; the methods here suit most of them."""

    name = ""
    word = ""  # in messages
    materialized = False  # whether steps must be told not to be copied into each other
    most_columns: int | None = None
    longest_name: int | None = None  # bytes
    deepest = 24  # levels of a tree in one expression; what is below them has columns of its own

    # Numbers ---------------------------------------------------------------------------------

    def number(self, value: float) -> exp.Expr:
        """Return a float that is read back to the bit; its type is the engine's own choice."""
        written = repr(float(value))
        # Without an exponent most engines read a decimal number, and count in decimals.
        if "e" not in written:
            written = f"{written.removesuffix('.0')}e0"
        return exp.Literal(this=written, is_string=False)

    def double(self, value: float) -> exp.Expr:
        """Return the number as an expression whose type is certainly a float."""
        return self.number(value)

    def cut(self, value: float) -> exp.Expr:
        """Return the number to compare a column with."""
        return self.number(value)

    def greatest(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """Return the largest of many; none of them is NULL."""
        return self._of_many("GREATEST", values)

    def least(self, values: Sequence[exp.Expr]) -> exp.Expr:
        return self._of_many("LEAST", values)

    def _of_many(self, function: str, values: Sequence[exp.Expr]) -> exp.Expr:
        values_left = list(values)
        while len(values_left) > 1:  # SQLite takes 100 arguments
            parts = [values_left[k : k + 50] for k in range(0, len(values_left), 50)]
            values_left = [part[0] if len(part) == 1 else call(function, *part) for part in parts]
        return values_left[0]

    def floor(self, value: exp.Expr) -> exp.Expr:
        """Return the whole part of a number that is not negative, as an integer."""
        return cast(exp.Floor(this=value), "bigint")

    # Columns as the model reads them -------------------------------------------------------------

    def read(self, column: Column, given: str, table: str) -> exp.Expr:
        """Return a column of the user's table, NULL where it is missing.

        Numbers that are used as numbers become floats, dates and durations microseconds.
        """

        def value() -> exp.Expr:
            return ref(given, table)

        if column.family in ("time", "duration"):
            return self._double(self.microseconds(value, column))
        if column.family == "number":
            return self.as_number(value, column.kind == "numeric")
        return self.as_bool(value) if column.family == "bool" else self.as_text(value)

    def _double(self, value: exp.Expr) -> exp.Expr:
        return cast(value, "double")

    def _no_nan(self, value: exp.Expr) -> exp.Expr:
        """Return NULL for NaN, which equals itself in SQL."""
        return exp.Nullif(this=value, expression=cast(text("NaN"), "double"))

    def as_number(self, value: Any, as_float: bool) -> exp.Expr:
        added = op(value(), "+", whole(0))  # most engines refuse to add to text
        return self._no_nan(self._double(added) if as_float else added)

    def as_text(self, value: Any) -> exp.Expr:
        return cast(value(), "text")

    def as_bool(self, value: Any) -> exp.Expr:
        return value()

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        raise NotImplementedError

    def _no_durations(self, column: Column) -> None:
        if column.family == "duration":
            raise ValueError(
                f"{column} holds durations, for which {self.word} has no column type that this "
                "statement can read; fit the model on numbers instead."
            )

    # Tables of the statement itself ------------------------------------------------------------

    def rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[exp.Expr]]
    ) -> SmallTable:
        """Return a small table inside the statement."""
        values = _values(rows, columns)
        return SmallTable(exp.TableAlias(this=name(table)), exp.select("*").from_(values))


class DuckDB(Dialect):
    name, word = "duckdb", "DuckDB"

    def microseconds(self, value: Any, column: Column) -> exp.Expr:  # noqa: ARG002
        return call("EPOCH_US", value())


class PostgreSQL(Dialect):
    name, word = "postgres", "PostgreSQL"
    materialized = True
    most_columns, longest_name = 1600, 63

    def double(self, value: float) -> exp.Expr:
        return cast(self.number(value), "double")

    def microseconds(self, value: Any, column: Column) -> exp.Expr:  # noqa: ARG002
        seconds = exp.Extract(this=exp.Var(this="EPOCH"), expression=value())
        return op(seconds, "*", whole(1_000_000))

    def rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[exp.Expr]]
    ) -> SmallTable:
        # The first row says that numbers are floats, not decimals.
        first = [
            cast(value, "double") if "e" in value.name and not value.is_string else value
            for value in rows[0]
        ]
        return super().rows(table, columns, [first, *rows[1:]])


class SQLite(Dialect):
    """Values have types, columns have none: what is of another type is unseen, or missing."""

    name, word = "sqlite", "SQLite"
    materialized = True
    most_columns = 2000
    deepest = 5  # its parser holds a hundred things open

    def cut(self, value: float) -> exp.Expr:
        # SQLite reads one number in some thousands off by its last bit. Whole numbers are read
        # exactly, and a division by a power of two is exact.
        numerator, denominator = float(value).as_integer_ratio()
        if denominator == 1 or abs(numerator) > WHOLE or denominator > 2**60:
            return self.number(value)
        top = exp.Literal(this=f"{numerator}.0", is_string=False)
        return exp.Paren(this=op(top, "/", whole(denominator)))

    def greatest(self, values: Sequence[exp.Expr]) -> exp.Expr:
        return self._of_many("MAX", values)

    def least(self, values: Sequence[exp.Expr]) -> exp.Expr:
        return self._of_many("MIN", values)

    def floor(self, value: exp.Expr) -> exp.Expr:
        # Added to, it has no affinity any more, for which joins would make no index.
        return exp.Paren(this=op(cast(value, "bigint"), "+", whole(0)))

    def as_number(self, value: Any, as_float: bool) -> exp.Expr:
        if not as_float:
            return self.as_text(value)
        kinds = [text("integer"), text("real")]
        is_number = exp.In(this=call("TYPEOF", value()), expressions=kinds)
        return case([(is_number, self._double(value()))])

    def as_text(self, value: Any) -> exp.Expr:
        """Return the value without the column's affinity, by which '1' would equal 1, and without
        its collation.
        """
        return case([(is_null(value()), exp.Null())], value())

    as_bool = as_text

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        """Return microseconds of text, as Python's adapters and pandas write dates and times."""
        self._no_durations(column)

        def part(first: int, *length: int) -> exp.Expr:
            return call("SUBSTR", value(), whole(first), *map(whole, length))

        def fraction(first: int) -> exp.Expr:
            """Return microseconds after the point, if there is one at this place."""
            digits = exp.DPipe(this=part(first + 1, 6), expression=text("000000"))
            point = op(part(first, 1), "=", text("."))
            six = cast(call("SUBSTR", digits, whole(1), whole(6)), "int")
            return case([(point, six)], whole(0))

        def seconds() -> exp.Expr:
            return cast(call("STRFTIME", text("%s"), value()), "int")

        def micros(whole_seconds: exp.Expr, point: int) -> exp.Expr:
            scaled = op(whole_seconds, "*", whole(1_000_000))
            return op(scaled, "+", fraction(point))

        # A time of day alone is taken for one of the year 2000.
        of_day = exp.Paren(this=op(seconds(), "-", whole(946_684_800)))
        is_day = op(part(3, 1), "=", text(":"))
        return case([(is_day, micros(of_day, 9))], micros(seconds(), 20))

    def rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[exp.Expr]]
    ) -> SmallTable:
        named = exp.TableAlias(this=name(table), columns=[name(column) for column in columns])
        return SmallTable(named, exp.select("*").from_(_values(rows)))


class Spark(Dialect):
    name, word = "spark", "Spark SQL"

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        # What the session's clock shows, as pandas gets it; the cast takes dates along.
        self._no_durations(column)
        shown = call("TO_UTC_TIMESTAMP", cast(value(), "timestamp"), call("CURRENT_TIMEZONE"))
        return call("UNIX_MICROS", shown)


class BigQuery(Dialect):
    name, word = "bigquery", "BigQuery"
    longest_name = 300

    def rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[exp.Expr]]
    ) -> SmallTable:
        # The first row names the columns.
        first = [
            exp.PropertyEQ(this=name(column), expression=value)
            for column, value in zip(columns, rows[0], strict=True)
        ]
        tuples = [exp.Tuple(expressions=list(row)) for row in rows[1:]]
        listed = exp.Array(expressions=[exp.Struct(expressions=first), *tuples])
        values = exp.Unnest(expressions=[listed], alias=exp.TableAlias(this=name("r")))
        return SmallTable(exp.TableAlias(this=name(table)), exp.select("*").from_(values))

    def _no_nan(self, value: exp.Expr) -> exp.Expr:
        return case([(exp.IsNan(this=value.copy()), exp.Null())], value)  # here it does not

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        self._no_durations(column)
        return call("UNIX_MICROS", cast(value(), "timestamptz"))


class Snowflake(Dialect):
    name, word = "snowflake", "Snowflake"
    longest_name = 255

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        self._no_durations(column)
        return call("DATE_PART", exp.Var(this="EPOCH_MICROSECOND"), cast(value(), "timestamp"))


DIALECTS: dict[str, Dialect] = {
    "duckdb": DuckDB(),
    "postgresql": PostgreSQL(),
    "sqlite": SQLite(),
    "spark": Spark(),
    "bigquery": BigQuery(),
    "snowflake": Snowflake(),
}
ALIASES = {"postgres": "postgresql"}


def find_dialect(word: Any) -> Dialect:
    """Return a dialect by its name."""
    key = word.lower() if isinstance(word, str) else word
    key = ALIASES.get(key, key)
    if key not in DIALECTS:
        choices = ", ".join(repr(name) for name in DIALECTS)
        raise ValueError(f"dialect must be one of {choices}; got {word!r}.")
    return DIALECTS[key]


# Statements --------------------------------------------------------------------------------------


class Step:
    """Columns computed from those of earlier steps, and the small tables joined for them."""

    def __init__(self, statement: Statement, label: str) -> None:
        self.statement = statement
        self.label = label
        self.columns: dict[str, exp.Expr] = {}
        self.joins: list[tuple[str, exp.Expr]] = []

    def define(self, prefix: str, value: exp.Expr) -> str:
        """Add a column and return its name."""
        column = self.statement.fresh(prefix)
        self.columns[column] = value
        return column

    @property
    def is_full(self) -> bool:
        return len(self.joins) >= MOST_JOINS

    def join(self, key: exp.Expr, rows: Sequence[Sequence[exp.Expr]]) -> list[exp.Expr]:
        """Return the row of a small table with the key (its first column); NULL without one."""
        statement = self.statement
        statement.count((len(rows[0]) - 1) * len(rows))
        table = statement.fresh("list_") + statement.ending
        columns = [f"v{k}" for k in range(1, len(rows[0]))]
        statement.tables.append(statement.dialect.rows(table, ["key", *columns], rows))
        self.joins.append((table, op(ref("key", table), "=", key)))
        return [ref(column, table) for column in columns]

    def look_up(
        self, key: exp.Expr, keys: NDArray[Any], values: NDArray[np.float64]
    ) -> list[exp.Expr | None]:
        """Return values of integer keys (keys x columns), 0 without a key; None where all are 0."""
        dialect = self.statement.dialect
        nonzero = values.any(axis=1)
        keys, values = keys[nonzero], values[nonzero]
        if len(keys) > MOST_BRANCHES or values.size > MOST_CASES:
            rows = [
                [whole(k), *(dialect.number(v) for v in row)]
                for k, row in zip(keys, values.tolist(), strict=True)
            ]
            joined = self.join(key, rows)
            return [exp.Coalesce(this=value, expressions=[dialect.double(0.0)]) for value in joined]
        self.statement.count(values.size)
        return [
            case(
                [(whole(k), dialect.number(v)) for k, v in zip(keys, column, strict=True) if v],
                dialect.double(0.0),
                key.copy(),
            )
            if column.any()
            else None
            for column in values.T
        ]


class Statement:
    """Steps, the tables they join, and what comes out at the end."""

    def __init__(self, dialect: Dialect, table: Sequence[str]) -> None:
        self.dialect = dialect
        self.source = table
        self.steps: list[Step] = []
        self.tables: list[SmallTable] = []
        self._names: Counter[str] = Counter()
        self._numbers = 0
        # Our own names end in a digit; the user's table must not be taken for one of them.
        bare = table[-1].rstrip("_")
        self.ending = "_" * (len(table[-1]) - len(bare) + 1) if bare[-1:].isdigit() else ""

    def step(self, label: str) -> Step:
        """Return a new step after all others."""
        self.steps.append(Step(self, label))
        return self.steps[-1]

    def fresh(self, prefix: str) -> str:
        """Return a new name."""
        self._names[prefix] += 1
        return f"{prefix}{self._names[prefix]}"

    def count(self, numbers: int) -> None:
        """Count numbers of the statement, and raise if they are too many."""
        self._numbers += numbers
        if self._numbers > MOST_NUMBERS:
            raise ValueError(
                f"the statement would hold more than {MOST_NUMBERS:,} numbers, which is more than "
                "engines read; use a smaller model."
            )

    def select(self, outputs: Sequence[tuple[exp.Expr, str]], alias: str) -> exp.Select:
        """Return the whole statement. The first step reads the user's table under its alias.

        A step passes on the columns that a later one needs, and nothing else.
        """
        needed = _names_in([value for value, _ in outputs])
        selects: list[exp.Select] = []
        for k in range(len(self.steps) - 1, -1, -1):
            step = self.steps[k]
            defined = {n: value for n, value in step.columns.items() if n in needed}
            passed = sorted(needed - defined.keys())
            needed = set(passed) | _names_in([*defined.values(), *(on for _, on in step.joins)])
            values: list[exp.Expr] = [ref(n) for n in passed]
            values += [
                exp.alias_(value, n, quoted=True, copy=False) for n, value in defined.items()
            ]
            self._check_width(len(values))
            if not values:  # answers that need no column
                values = [exp.alias_(whole(1), "one", quoted=True)]
            source = self._table(alias) if k == 0 else exp.Table(this=name(self._label(k - 1)))
            selects.append(_select(values, source, step.joins))
        final = _select(
            [exp.alias_(value, n, quoted=True, copy=False) for value, n in outputs],
            exp.Table(this=name(self._label(len(self.steps) - 1))),
        )
        for table in self.tables:
            final.with_(table.alias, as_=table.rows, copy=False)
        for k, select in enumerate(reversed(selects)):
            # Copying a step into the next would compute it again for every class.
            keep = True if self.dialect.materialized else None
            named = exp.TableAlias(this=name(self._label(k)))
            final.with_(named, as_=select, materialized=keep, copy=False)
        return final

    def _table(self, alias: str) -> exp.Expr:
        parts = dict(zip(("this", "db", "catalog"), map(name, reversed(self.source)), strict=False))
        return exp.Table(**parts, alias=exp.TableAlias(this=name(alias)))

    def _label(self, k: int) -> str:
        return f"{self.steps[k].label}_{k + 1}{self.ending}"

    def _check_width(self, columns: int) -> None:
        most = self.dialect.most_columns
        if most is not None and columns > most:
            raise ValueError(
                f"this model has {columns:,} scores at once, and {self.dialect.word} has at most "
                f"{most:,} columns; use a smaller model or another dialect."
            )


def _select(
    values: Sequence[exp.Expr], source: exp.Expr, joins: Sequence[tuple[str, exp.Expr]] = ()
) -> exp.Select:
    select = exp.select(*values, copy=False).from_(source, copy=False)
    for table, on in joins:
        select.join(exp.Table(this=name(table)), on=on, join_type="left", copy=False)
    return select


def _names_in(values: Sequence[exp.Expr]) -> set[str]:
    """Return the columns of earlier steps that expressions need; joined tables are qualified."""
    return {
        column.name for value in values for column in value.find_all(exp.Column) if not column.table
    }


def add_up(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return a sum in the order of the values, or in parts where they are many."""
    sums = list(values)
    while len(sums) > 1:
        parts = [sums[k : k + MOST_TERMS] for k in range(0, len(sums), MOST_TERMS)]
        sums = [_chain(part) for part in parts]
        if len(sums) > 1:
            sums = [exp.Paren(this=part) for part in sums]
    return sums[0]


def _chain(values: Sequence[exp.Expr]) -> exp.Expr:
    total = values[0]
    for value in values[1:]:
        total = op(total, "+", value)
    return total


class SumBuilder:
    """Adds terms to scores in the order of the model, some in every step, so that none is deep.

    The order is that of `predict_proba`: where every class has an impossible value, scores are so
    large that another order would change the answer.
    """

    def __init__(self, statement: Statement, start: Sequence[exp.Expr], label: str) -> None:
        self.statement, self.label = statement, label
        self.step = statement.step(label)
        self.totals = list(start)
        self.terms = 0

    def add(self, terms: Sequence[exp.Expr | None]) -> None:
        """Add the evidence of one column, whose tables have been joined to `step`."""
        self.totals = [
            total if term is None else op(total, "+", term)
            for total, term in zip(self.totals, terms, strict=True)
        ]
        self.terms += 1
        if self.terms % (MOST_TERMS // 2) == 0 or self.step.is_full:
            self.totals = [ref(column) for column in self.finish()]
            self.step = self.statement.step(self.label)

    def finish(self) -> list[str]:
        return [self.step.define("s", total) for total in self.totals]
