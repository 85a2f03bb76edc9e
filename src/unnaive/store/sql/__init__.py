"""Models as SQL: one statement that predicts inside the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def to_sql(
    model: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    keep: str | Sequence[str] = (),
    columns: Sequence[str] | Mapping[Any, str] | None = None,
    names: Sequence[str] | None = None,
    prediction: str | None = "prediction",
    decision: str | None = "decision",
    pretty: bool = True,
) -> str:
    """Return a fitted model as one SQL statement that computes the probability of every class.

    The statement selects from a table of the database and needs nothing else: no function to
    install, no table to create. Its probabilities are those of ``predict_proba`` up to rounding,
    with missing and unseen values.

    Parameters
    ----------
    model : classifier, or Scorecard
        Any fitted classifier of the library. Of a `scorecard`, the statement has the column
        ``score``, the sum of the points.
    table : str or sequence of str
        Name of the table or view; ``("schema", "table")`` where it needs more than one.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery", "snowflake"}, \
default="duckdb"
        The engine that the statement is for.
    keep : str or sequence of str, default=()
        Columns of the table to pass on, such as its key: rows come in no certain order.
    columns : sequence of str, mapping or None, default=None
        Names of the model's columns in the table, where they differ from those in fitting: all
        names in order, or some by their name in fitting.
    names : sequence of str or None, default=None
        Names of the columns of probabilities, in the order of ``classes_``; None is
        ``probability_`` and the class.
    prediction : str or None, default="prediction"
        Name of the column with the most probable class; None leaves it out.
    decision : str or None, default="decision"
        Name of the column with the class that ``with_decision`` asks for, as ``predict`` answers;
        None leaves it out. A model without a decision has no such column.
    pretty : bool, default=True
        Whether to break the statement into lines.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If the model has no statement: a scikit-learn classifier inside
        `ClassDecompositionClassifier`, or a tree with kernel densities, as
        `FlexibleNBTreeClassifier` makes.

    Notes
    -----
    Names and values are quoted, whatever they hold. A class's score is added up in the order of
    ``predict_proba``; engines differ in the last bits of ``exp``. Infinite numbers, which
    ``predict_proba`` refuses, count as larger or smaller than all others. SQLite must have its
    mathematical functions, as the one that comes with Python has in most builds.

    Examples
    --------
    >>> import duckdb
    >>> import pandas as pd
    >>> from unnaive import NaiveBayesClassifier, to_sql
    >>> loans = pd.DataFrame({
    ...     "age": [25, 47, 61, 33, None, 58],
    ...     "city": ["Rome", "Oslo", "Oslo", None, "Rome", "Oslo"],
    ... })
    >>> model = NaiveBayesClassifier().fit(loans, ["no", "yes", "yes", "no", "no", "yes"])
    >>> statement = to_sql(model, "loans", keep="city")
    >>> duckdb.sql(statement).fetchall()[0][0]
    'Rome'
    """
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        raise ImportError("to_sql needs the package sqlglot: pip install 'unnaive[sql]'.") from None
    from unnaive.answer import Scorecard
    from unnaive.store.sql import nodes
    from unnaive.store.sql.builder import Statement, find_dialect
    from unnaive.store.sql.columns import Columns, column_names, table_parts, text_list

    card = isinstance(model, Scorecard)
    answer = model.model.answer_ if card else nodes.sql_answer(model)
    statement = Statement(find_dialect(dialect), table_parts(table))
    source = Columns(statement, answer.schema, column_names(answer.schema, columns))
    kept = text_list("keep", keep)
    if card:
        select = nodes.write_scorecard(model, source, kept, names)
    else:
        select = nodes.write_answer(answer, source, kept, names, prediction, decision)
    edits = () if card else answer.edits
    corrected = "".join(f"-- {edit}\n" for edit in edits)  # each on one line
    return corrected + select.sql(dialect=statement.dialect.name, pretty=pretty, copy=False)


__all__ = ["to_sql"]
