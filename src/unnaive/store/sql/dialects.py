"""SQL dialects: what engines call things, and how each reads a column as the model does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

from unnaive.table import Column

WHOLE = 2.0**53  # up to here every whole number is a float
_OPERATORS: dict[str, Callable[..., exp.Expr]] = {
    "+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": partial(exp.Div, typed=True),
    "=": exp.EQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip


def name(text: str) -> exp.Identifier:
    """A name of the user's or ours, quoted whatever it holds."""
    return exp.to_identifier(text, quoted=True)


def ref(column: str, table: str | None = None) -> exp.Column:
    """A column, by its quoted name."""
    return exp.Column(this=name(column), table=None if table is None else name(table))


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def whole(value: int) -> exp.Literal:
    return exp.Literal(this=str(int(value)), is_string=False)


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function by its own name, which sqlglot leaves alone."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def case(
    branches: Sequence[tuple[exp.Expr, exp.Expr]],
    default: exp.Expr | None = None,
    of: exp.Expr | None = None,
) -> exp.Expr:
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(this=of, ifs=ifs, default=default)


def op(first: exp.Expr, sign: str, second: exp.Expr) -> exp.Expr:
    """An operation, without the parentheses and copies of sqlglot's own operators."""
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
    """One engine. The methods here suit engines that refuse to compare text with numbers."""

    name = ""
    word = ""  # in messages
    materialized = False  # whether steps must be told not to be copied into each other
    most_columns: int | None = None
    longest_name: int | None = None  # bytes
    deepest = 24  # levels of a tree in one expression; what is below them has columns of its own

    # Numbers ---------------------------------------------------------------------------------

    def number(self, value: float) -> exp.Expr:
        """A float that is read back to the bit; its type is the engine's own choice."""
        written = repr(float(value))
        # Without an exponent most engines read a decimal number, and count in decimals.
        if "e" not in written:
            written = f"{written.removesuffix('.0')}e0"
        return exp.Literal(this=written, is_string=False)

    def double(self, value: float) -> exp.Expr:
        """The same, whose type is certainly a float."""
        return self.number(value)

    def cut(self, value: float) -> exp.Expr:
        """The same, to compare a column with."""
        return self.number(value)

    def greatest(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """The largest of many; none of them is NULL."""
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
        """The whole part of a number that is not negative, as an integer."""
        return cast(exp.Floor(this=value), "bigint")

    # Columns as the model reads them -------------------------------------------------------------

    def read(self, column: Column, given: str, table: str) -> exp.Expr:
        """A column of the user's table, NULL where it is missing.

        Numbers that are used as numbers become floats, dates and durations microseconds.
        """

        def value() -> exp.Expr:
            return ref(given, table)

        if column.family in ("time", "duration"):
            return self._double(self.microseconds(value, column))
        if column.family == "number":
            return self.as_number(value, column, column.kind == "numeric")
        return (
            self.as_bool(value, column) if column.family == "bool" else self.as_text(value, column)
        )

    def _double(self, value: exp.Expr) -> exp.Expr:
        return cast(value, "double")

    def _no_nan(self, value: exp.Expr) -> exp.Expr:
        """NULL for NaN, which equals itself in SQL."""
        return exp.Nullif(this=value, expression=cast(text("NaN"), "double"))

    def as_number(self, value: Any, column: Column, as_float: bool) -> exp.Expr:  # noqa: ARG002
        added = op(value(), "+", whole(0))  # text cannot be added to
        return self._no_nan(self._double(added) if as_float else added)

    def as_text(self, value: Any, column: Column) -> exp.Expr:  # noqa: ARG002
        like = exp.Like(this=value(), expression=text("%"))  # numbers are not like anything
        return case([(like, value())])

    def as_bool(self, value: Any, column: Column) -> exp.Expr:  # noqa: ARG002
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
        """A small table inside the statement."""
        values = _values(rows, columns)
        return SmallTable(exp.TableAlias(this=name(table)), exp.select("*").from_(values))


class _TypeChecked(Dialect):
    """An engine that converts between text and numbers, but has a function for a value's type."""

    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    bools: tuple[str, ...] = ()
    type_function = "TYPEOF"
    error_function = ""

    def _guard(
        self, value: Any, column: Column, allowed: Sequence[str], then: exp.Expr
    ) -> exp.Expr:
        kinds = [
            exp.Like(this=call(self.type_function, value()), expression=text(kind))
            for kind in allowed
        ]
        return case(
            [(is_null(value()), exp.Null()), (exp.or_(*kinds), then)], self._otherwise(column)
        )

    def _otherwise(self, column: Column) -> exp.Expr | None:
        words = {"text": "text", "number": "numbers", "bool": "true/false values"}
        message = (
            f"{column} held {words[column.family]} when the model was fitted, but is of another "
            "type in this table"
        )
        return call(self.error_function, text(message))

    def as_number(self, value: Any, column: Column, as_float: bool) -> exp.Expr:
        then = self._double(value()) if as_float else value()
        return self._guard(value, column, self.numbers, self._no_nan(then))

    def as_text(self, value: Any, column: Column) -> exp.Expr:
        return self._guard(value, column, self.texts, cast(value(), "text"))

    def as_bool(self, value: Any, column: Column) -> exp.Expr:
        return self._guard(value, column, self.bools, cast(value(), "boolean"))


class DuckDB(_TypeChecked):
    name, word = "duckdb", "DuckDB"
    texts, bools = ("VARCHAR", "ENUM%"), ("BOOLEAN",)
    numbers = ("%INT", "%INTEGER", "DECIMAL%", "DOUBLE", "FLOAT")
    error_function = "ERROR"

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

    def as_number(self, value: Any, column: Column, as_float: bool) -> exp.Expr:
        if not as_float:
            return self.as_text(value, column)
        kinds = [text("integer"), text("real")]
        is_number = exp.In(this=call("TYPEOF", value()), expressions=kinds)
        return case([(is_number, self._double(value()))])

    def as_text(self, value: Any, column: Column) -> exp.Expr:  # noqa: ARG002
        """Without the column's affinity, by which '1' would equal 1, and without its collation."""
        return case([(is_null(value()), exp.Null())], value())

    as_bool = as_text

    def microseconds(self, value: Any, column: Column) -> exp.Expr:
        """Dates and times are text in SQLite, as Python's adapters and pandas write them."""
        self._no_durations(column)

        def part(first: int, *length: int) -> exp.Expr:
            return call("SUBSTR", value(), whole(first), *map(whole, length))

        def fraction(first: int) -> exp.Expr:
            """Microseconds after the point, if there is one at this place."""
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


class Spark(_TypeChecked):
    name, word = "spark", "Spark SQL"
    texts, bools = ("string%", "varchar%", "char%"), ("boolean",)
    numbers = ("%int", "float", "double", "decimal%")
    error_function = "RAISE_ERROR"

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


class Snowflake(_TypeChecked):
    name, word = "snowflake", "Snowflake"
    longest_name = 255
    texts, bools = ("VARCHAR%",), ("BOOLEAN%",)
    numbers = ("NUMBER%", "FLOAT%")
    type_function = "SYSTEM$TYPEOF"

    def _otherwise(self, column: Column) -> exp.Expr | None:  # noqa: ARG002
        return None  # no function raises an error here: what is of another type is missing

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
    """A dialect by its name."""
    key = word.lower() if isinstance(word, str) else word
    key = ALIASES.get(key, key)
    if key not in DIALECTS:
        choices = ", ".join(repr(name) for name in DIALECTS)
        raise ValueError(f"dialect must be one of {choices}; got {word!r}.")
    return DIALECTS[key]
