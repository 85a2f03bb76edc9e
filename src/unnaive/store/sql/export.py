"""A model and options to a statement."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from unnaive.answer import Scorecard
from unnaive.store.sql.answers import probabilities, sql_answer
from unnaive.store.sql.columns import TABLE, Columns, check_text, column_names
from unnaive.store.sql.decisions import decide
from unnaive.store.sql.dialects import Dialect, find_dialect, ref, text, whole
from unnaive.store.sql.scores import Thinning, equal_to, pick, score, tops
from unnaive.store.sql.statement import Statement


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """Options of `to_sql`."""

    keep: str | Sequence[str]
    columns: Any
    names: Sequence[str] | None
    prediction: str | None
    decision: str | None
    tolerance: float
    pretty: bool


def export(model: Any, table: Any, dialect: Any, options: SqlOptions) -> str:
    """The statement as text."""
    engine = find_dialect(dialect)
    if isinstance(model, Scorecard):
        return _export_scorecard(model, table, engine, options)
    answer = sql_answer(model)
    if answer.decision is None:
        options = replace(options, decision=None)
    tolerance: Any = options.tolerance
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf):
        raise ValueError(f"tolerance must be a number, 0 or more; got {tolerance!r}.")
    statement = Statement(engine, _parts(table))
    columns = Columns(statement, answer.schema, column_names(answer.schema, options.columns))
    kept = [check_text(name, "keep") for name in _listed("keep", options.keep)]
    names = _output_names(answer.classes, kept, options, engine)
    outputs: list[tuple[exp.Expr, str]] = [(ref(columns.keep(name)), name) for name in kept]
    # A class's log-odds shift by at most twice the error of a score, its probability by a quarter.
    probability_columns = probabilities(answer.root, columns, Thinning(2.0 * float(tolerance)))
    outputs += [(ref(p), name) for p, name in zip(probability_columns, names, strict=True)]
    if options.prediction is not None:
        best = equal_to(probability_columns, tops(columns, [probability_columns])[0])
        outputs.append((pick(best, _labels(answer.classes, engine)), options.prediction))
    if options.decision is not None and answer.decision is not None:
        chosen = decide(columns, answer.decision, probability_columns)
        outputs.append((pick(chosen, _labels(answer.classes, engine)), options.decision))
    select = statement.select(outputs, TABLE)
    corrected = "".join(f"-- {edit}\n" for edit in answer.edits)  # each on one line
    return corrected + select.sql(dialect=engine.name, pretty=options.pretty, copy=False)


def _export_scorecard(card: Scorecard, table: Any, engine: Dialect, options: SqlOptions) -> str:
    """A statement with one column: the sum of the points, a whole number."""
    schema, statement = card.model.answer_.schema, Statement(engine, _parts(table))
    columns = Columns(statement, schema, column_names(schema, options.columns))
    kept = [check_text(name, "keep") for name in _listed("keep", options.keep)]
    named = replace(options, names=options.names or ["score"], prediction=None)
    (name,) = _output_names(["score"], kept, named, engine)
    outputs: list[tuple[exp.Expr, str]] = [(ref(columns.keep(k)), k) for k in kept]
    (total,) = score(columns, card.scorer)
    outputs.append((exp.cast(ref(total), exp.DataType.Type.BIGINT), name))
    select = statement.select(outputs, TABLE)
    return select.sql(dialect=engine.name, pretty=options.pretty, copy=False)


def _parts(table: Any) -> list[str]:
    parts = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, str) and p for p in parts):
        raise ValueError(
            "table must be a name, or up to three names such as ('schema', 'table'); "
            f"got {table!r}."
        )
    return [check_text(part, "table") for part in parts]


def _listed(parameter: str, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must hold names of columns; got {given!r}.")
    return names


def _output_names(classes: Any, kept: list[str], options: SqlOptions, engine: Dialect) -> list[str]:
    if options.names is None:
        names = [f"probability_{label}" for label in classes]
    else:
        names = _listed("names", options.names)
        if len(names) != len(classes):
            raise ValueError(f"names has {len(names)} names, but there are {len(classes)} classes.")
    of_classes = (options.prediction, options.decision)
    every = [*kept, *names, *(name for name in of_classes if name is not None)]
    seen: set[str] = set()
    for name in every:
        check_text(name, f"the output column {name!r}")
        size = len(name.encode())
        if engine.longest_name is not None and size > engine.longest_name:
            raise ValueError(
                f"the output column {name!r} has {size} bytes, and names in {engine.word} have at "
                f"most {engine.longest_name}; choose shorter ones with names=[...]."
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


def _labels(classes: Any, engine: Dialect) -> list[exp.Expr]:
    """Classes as literals of one type for all, text if need be."""
    values = classes.tolist()
    if all(isinstance(v, bool) for v in values):
        return [exp.Boolean(this=v) for v in values]
    if not any(isinstance(v, bool) for v in values):
        if all(isinstance(v, int) for v in values):
            return [whole(v) for v in values]
        if all(isinstance(v, numbers.Real) for v in values):
            return [engine.double(float(v)) for v in values]
    return [text(check_text(_written(v), f"the class {v!r}")) for v in values]


def _written(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
