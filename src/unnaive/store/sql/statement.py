"""One statement as a chain of steps: each selects from the one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.store.sql.dialects import Dialect, SmallTable, case, name, op, ref, whole

MOST_BRANCHES = 24  # entries that a CASE looks through; more are a table that is joined
MOST_CASES = 64  # entries of all classes together, which a table gives at once
MOST_JOINS = 48  # in one step: SQLite joins 64 tables at most
MOST_TERMS = 64  # added up in one expression: engines limit how deep they nest
MOST_NUMBERS = 4_000_000  # in one statement


class Step:
    """Columns computed from those of earlier steps, and the small tables joined for them."""

    def __init__(self, statement: Statement, label: str) -> None:
        self.statement = statement
        self.label = label
        self.columns: dict[str, exp.Expr] = {}
        self.joins: list[tuple[str, exp.Expr]] = []

    def define(self, prefix: str, value: exp.Expr) -> str:
        """A new column; returns its name."""
        column = self.statement.fresh(prefix)
        self.columns[column] = value
        return column

    @property
    def is_full(self) -> bool:
        return len(self.joins) >= MOST_JOINS

    def join(self, key: exp.Expr, rows: Sequence[Sequence[exp.Expr]]) -> list[exp.Expr]:
        """The row of a small table with the key (its first column); NULL without one."""
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
        """Values of integer keys (keys x columns), 0 without a key; None where all are 0."""
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
        """A new step after all others."""
        self.steps.append(Step(self, label))
        return self.steps[-1]

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self._names[prefix] += 1
        return f"{prefix}{self._names[prefix]}"

    def count(self, numbers: int) -> None:
        """Count numbers of the statement, and raise if they are too many."""
        self._numbers += numbers
        if self._numbers > MOST_NUMBERS:
            raise ValueError(
                f"the statement would hold more than {MOST_NUMBERS:,} numbers, which is more than "
                "engines read; use a smaller model, or a larger tolerance for kernel densities."
            )

    def select(self, outputs: Sequence[tuple[exp.Expr, str]], alias: str) -> exp.Select:
        """The whole statement. The first step reads the user's table under its alias.

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
    """Columns of earlier steps that expressions need; those of joined tables are qualified."""
    return {
        column.name for value in values for column in value.find_all(exp.Column) if not column.table
    }


def add_up(values: Sequence[exp.Expr]) -> exp.Expr:
    """A sum in the order of the values, or in parts where they are many."""
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
