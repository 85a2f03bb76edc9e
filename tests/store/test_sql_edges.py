"""Statements for awkward models, tables and wishes."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from helpers import mixed_table
from sql_engines import quoted
from unnaive import (
    BaggedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    to_sql,
)

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def on_duckdb(statement, **tables):
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    return connection.execute(statement).fetchall()


def load_sqlite(table, columns):
    connection = sqlite3.connect(":memory:")
    made = ", ".join(quoted(name) for name in columns)
    connection.execute(f"create table {quoted(table)} ({made})")
    marks = ", ".join("?" * len(columns))
    rows = list(zip(*columns.values(), strict=True))
    connection.executemany(f"insert into {quoted(table)} values ({marks})", rows)
    return connection


def sqlite_rows(connection, statement):
    return np.array(connection.execute(statement).fetchall(), dtype=float)


@settings(max_examples=40, deadline=None)
@given(
    columns=st.lists(names, min_size=2, max_size=2, unique_by=str.casefold),
    table=names,
    values=st.lists(names, min_size=2, max_size=4, unique=True),
    classes=st.lists(names, min_size=2, max_size=2, unique_by=str.casefold),
)
def test_any_text_can_be_a_name_a_category_or_a_class(columns, table, values, classes):
    X = pd.DataFrame(
        {columns[0]: (values * 8)[:8], columns[1]: np.arange(8.0)}, dtype=object
    ).astype({columns[1]: float})
    y = np.array([classes[k % 2] for k in range(8)], dtype=object)
    model = NaiveBayesClassifier(numeric="gaussian").fit(X, y)
    expected, predicted = model.predict_proba(X), model.predict(X)
    order = np.argsort(X[columns[1]].to_numpy())
    if table.casefold() not in ("main", "temp"):
        connection = duckdb.connect()
        connection.register("given", pa.Table.from_pandas(X))
        connection.execute(f"create table {quoted(table)} as select * from given")
        rows = connection.execute(
            to_sql(model, table, names=["p1", "p2"], keep=columns[1], prediction="best")
        ).fetchall()
        assert np.abs(np.array([r[1:3] for r in sorted(rows)]) - expected[order]).max() < 1e-9
        assert [r[3] for r in sorted(rows)] == predicted[order].tolist()
    if not table.casefold().startswith("sqlite_"):
        statement = to_sql(model, table, "sqlite", prediction=None)
        connection = load_sqlite(table, {name: X[name].tolist() for name in columns})
        assert np.abs(sqlite_rows(connection, statement) - expected).max() < 1e-9


@settings(max_examples=60, deadline=None)
@given(name=names, value=names)
@pytest.mark.parametrize("dialect", ["postgresql", "spark", "bigquery", "snowflake"])
def test_text_stays_text_in_every_dialect(dialect, name, value):
    assume(dialect != "bigquery" or "." not in name)  # no column of BigQuery can have such a name
    X = pd.DataFrame({name: [value, value + "x"] * 4})
    model = NaiveBayesClassifier().fit(X, [0, 1] * 4)
    statement = to_sql(model, name, dialect)
    again = sqlglot.parse(statement, dialect="postgres" if dialect == "postgresql" else dialect)
    assert len(again) == 1
    read = {literal.this for literal in again[0].find_all(sqlglot.exp.Literal) if literal.is_string}
    assert {value, value + "x"} <= read
    assert name in {column.name for column in again[0].find_all(sqlglot.exp.Column)}


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(numeric={"income": "kernel", "ratio": "gaussian"}),
        NBTreeClassifier(random_state=0),
        C45Classifier(),
        BaggedNaiveBayesClassifier(voting="hard", random_state=0),
        HierarchicalMixtureClassifier(random_state=0),
        ClassDecompositionClassifier(fold="max", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_statements_for_the_cloud_can_be_parsed(model, dialect):
    X, y = mixed_table(300)
    X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300), unit="D")
    statement = to_sql(model.fit(X, y), ("a", "b", "c"), dialect, keep=["key"])
    parsed = sqlglot.parse_one(statement, dialect=dialect)
    assert parsed.named_selects == [
        "key",
        *(f"probability_{c}" for c in model.classes_),
        "prediction",
    ]


def test_sqlite_never_takes_text_and_numbers_for_each_other():
    words = pd.DataFrame({"c": ["1", "2", None] * 4})
    model = NaiveBayesClassifier().fit(words, [0, 1, 0] * 4)
    prior = model.predict_proba(pd.DataFrame({"c": ["unseen"]}))[0]
    connection = load_sqlite("given", {"c": [1, 2]})
    rows = sqlite_rows(connection, to_sql(model, "given", "sqlite", prediction=None))
    assert np.abs(rows - prior).max() < 1e-9
    numbers = pd.DataFrame({"c": [1.0, 2.0, 3.0, 4.0] * 8})
    for model in (
        NaiveBayesClassifier().fit(numbers, [0, 0, 1, 1] * 8),
        NaiveBayesClassifier(categorical_features=["c"]).fit(numbers, [0, 0, 1, 1] * 8),
    ):
        with pytest.raises(duckdb.Error):  # its own
            on_duckdb(to_sql(model, "given"), given=pa.table({"c": ["1", "2"]}))
        neutral = model.predict_proba(pd.DataFrame({"c": [np.nan]}))
        statement = to_sql(model, "given", "sqlite", prediction=None)
        rows = sqlite_rows(load_sqlite("given", {"c": ["1", "4"]}), statement)
        assert np.abs(rows - neutral).max() < 1e-9


def test_columns_that_are_all_missing_are_missing_whatever_their_type():
    model = NaiveBayesClassifier().fit(pd.DataFrame({"c": ["a", "b"] * 4}), [0, 1] * 4)
    table = pa.table({"c": pa.array([None, None], type=pa.int32())})
    rows = on_duckdb(to_sql(model, "given", prediction=None), given=table)
    assert np.allclose(rows, 0.5)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("ns"), pa.timestamp("s", tz="UTC")])
def test_dates_and_times_count_microseconds(kind):
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=d) for d in range(40)]
    table = pa.table({"d": pa.array(days).cast(pa.timestamp("s")).cast(kind), "id": range(40)})
    model = NaiveBayesClassifier().fit(table.select(["d"]), np.repeat([0, 1], 20))
    expected = model.predict_proba(table.select(["d"]))
    rows = sorted(on_duckdb(to_sql(model, "given", keep="id", prediction=None), given=table))
    assert np.abs(np.array(rows)[:, 1:] - expected).max() < 1e-9
    as_text = [str(day) for day in table["d"].to_pylist()]
    connection = load_sqlite("given", {"d": as_text})
    rows = sqlite_rows(connection, to_sql(model, "given", "sqlite", prediction=None))
    assert np.abs(rows - expected).max() < 1e-9


def test_times_of_day_and_durations_count_microseconds():
    times = [datetime.time(k // 2, 30 * (k % 2), 1, 250_000) for k in range(40)]
    spans = [datetime.timedelta(seconds=k, microseconds=5) for k in range(40)]
    y = np.repeat([0, 1], 20)
    for values in (times, spans):
        table = pa.table({"d": values, "id": range(40)})
        model = NaiveBayesClassifier(numeric="gaussian").fit(table.select(["d"]), y)
        expected = model.predict_proba(table.select(["d"]))
        rows = sorted(on_duckdb(to_sql(model, "given", keep="id", prediction=None), given=table))
        assert np.abs(np.array(rows)[:, 1:] - expected).max() < 1e-9
        if values is times:
            connection = load_sqlite("given", {"d": [time.isoformat() for time in times]})
            rows = sqlite_rows(connection, to_sql(model, "given", "sqlite", prediction=None))
            assert np.abs(rows - expected).max() < 1e-9
        else:
            with pytest.raises(ValueError, match="column 'd' holds durations"):
                to_sql(model, "given", "sqlite")


def test_cuts_are_read_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(3000) * 10.0 ** rng.integers(-6, 9, 3000)})
    model = NaiveBayesClassifier(numeric="frequency", n_bins=1000).fit(X, rng.integers(0, 2, 3000))
    cuts = model.coders_[0].cuts
    values = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
    expected = model.predict_proba(pd.DataFrame({"x": values}))
    statement = to_sql(model, "given", "sqlite", prediction=None)
    found = sqlite_rows(load_sqlite("given", {"x": values.tolist()}), statement)
    assert (found == expected).all()
    statement = to_sql(model, "given", keep="x", prediction=None)
    rows = {x: (a, b) for x, a, b in on_duckdb(statement, given=pa.table({"x": values}))}
    assert (np.array([rows[x] for x in values]) == expected).all()


def test_deep_trees_wide_tables_and_many_classes_do_not_nest_too_deep():
    rng = np.random.default_rng(0)
    steps = pd.DataFrame({"x": np.arange(300.0)})
    y = np.where(np.arange(300) % 2, 2 + np.arange(300) // 2 % 4, 0)
    deep = C45Classifier(prune=False, min_rows=1, threshold_penalty=False).fit(steps, y)
    wide = pd.DataFrame(rng.integers(0, 30, (300, 75)).astype(str)).add_prefix("c")
    narrow = pd.DataFrame({"c": rng.integers(0, 9, 300).astype(str)})
    for model, X in (
        (deep, steps),
        (NaiveBayesClassifier().fit(wide, rng.integers(0, 2, 300)), wide),
        (NaiveBayesClassifier().fit(narrow, rng.integers(0, 120, 300)), narrow),
    ):
        expected = model.predict_proba(X)
        statement = to_sql(model, "given", "sqlite", prediction=None)
        connection = load_sqlite("given", {name: X[name].tolist() for name in X})
        assert np.abs(sqlite_rows(connection, statement) - expected).max() < 1e-9


def test_a_chain_of_many_levels_is_folded_in_parts():
    # Every test parts one row from the others: a tree as deep as it has rows.
    n = 40
    X = pd.DataFrame({f"c{k}": np.where(np.arange(n) == k, "stop", "go") for k in range(n)})
    model = C45Classifier(prune=False, min_rows=1, criterion="gain").fit(X, np.arange(n))
    assert model.tree_.depth.max() > 30
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05, None)
    expected = model.predict_proba(X)
    connection = load_sqlite("given", {name: X[name].tolist() for name in X})
    rows = sqlite_rows(connection, to_sql(model, "given", "sqlite", prediction=None))
    assert np.abs(rows - expected).max() < 1e-9


def test_one_class_one_row_and_empty_columns():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [None, None], "c": [np.nan, np.nan]})
    model = NaiveBayesClassifier().fit(X, ["x", "x"])
    assert on_duckdb(to_sql(model, "given"), given=pa.table({"a": [5.0]})) == [(1.0, "x")]
    tree = C45Classifier().fit(X, ["x", "x"])
    assert on_duckdb(to_sql(tree, "given"), given=pa.table({"a": [5.0]})) == [(1.0, "x")]


@pytest.mark.parametrize("table", ["values_1", "list_1", "slots_2_", "SCORES_3", "t"])
def test_no_name_of_the_table_is_taken_for_a_step(table):
    X = pd.DataFrame({"k1": [f"v{k}" for k in range(40)] * 2, "x1": np.arange(80.0)})
    model = NaiveBayesClassifier().fit(X, np.arange(80) % 3)
    connection = load_sqlite(table, {name: X[name].tolist() for name in X})
    statement = to_sql(model, table, "sqlite", keep=["x1", "k1"], prediction=None)
    rows = connection.execute(statement).fetchall()
    assert [row[0] for row in rows] == X["x1"].tolist()
    assert np.abs(np.array([row[2:] for row in rows]) - model.predict_proba(X)).max() < 1e-9


@pytest.mark.parametrize(
    "labels",
    [
        [True, False],
        [3, 5],
        [0.5, 1.5],
        ["a", 1],
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
    ],
)
def test_predicted_classes_have_their_own_type(labels):
    X = pd.DataFrame({"c": ["u", "v"] * 4})
    y = np.array(labels * 4, dtype=object if isinstance(labels[0], str) else None)
    if y.dtype.kind == "f":
        y = y * 2  # whole numbers that are floats
    model = NaiveBayesClassifier().fit(X, y)
    rows = on_duckdb(to_sql(model, "given", names=["p", "q"]), given=pa.Table.from_pandas(X))
    expected = model.predict(X)
    plain = y.dtype.kind in "bif"
    assert [r[-1] for r in rows] == [
        v.item() if plain else str(v) if y.dtype.kind == "O" else v.astype(object).isoformat()
        for v in expected
    ]


def test_columns_may_be_called_otherwise_in_the_database():
    model = NaiveBayesClassifier().fit([[1.0, 2.0], [5.0, 2.5]] * 4, [0, 1] * 4)
    with pytest.raises(ValueError, match=r"without column names; pass the names .* with columns="):
        to_sql(model, "given")
    table = pa.table({"A": [1.0, 5.0], "B": [2.0, 2.5]})
    rows = on_duckdb(to_sql(model, "given", columns=["A", "B"], prediction=None), given=table)
    assert np.allclose(rows, model.predict_proba([[1.0, 2.0], [5.0, 2.5]]))
    named = NaiveBayesClassifier().fit(table.to_pandas(), [0, 1])
    other = pa.table({"A": [1.0], "bee": [2.0]})
    on_duckdb(to_sql(named, "given", columns={"B": "bee"}), given=other)
    with pytest.raises(ValueError, match="columns has the key 'C'"):
        to_sql(named, "given", columns={"C": "bee"})
    with pytest.raises(ValueError, match="columns has 1 names"):
        to_sql(named, "given", columns=["A"])


def test_wishes_that_cannot_be_met_name_themselves():
    X, y = mixed_table(60)
    model = NaiveBayesClassifier().fit(X, y)
    for wish, words in (
        ({"dialect": "oracle"}, "dialect must be one of"),
        ({"dialect": None}, "dialect must be one of"),
        ({"table": ()}, "table must be a name"),
        ({"table": ("a", "b", "c", "d")}, "table must be a name"),
        ({"table": "a\0b"}, "table holds a NUL"),
        ({"names": ["a"]}, "names has 1 names, but there are 3"),
        ({"names": ["a", "A", "b"]}, "two output columns would be called 'A'"),
        ({"keep": "prediction"}, "two output columns would be called 'prediction'"),
        ({"keep": [1]}, "keep must hold names"),
        ({"prediction": ""}, "needs a name"),
        ({"dialect": "postgresql", "prediction": "x" * 64}, "has 64 bytes"),
    ):
        with pytest.raises(ValueError, match=words):
            to_sql(model, **{"table": "t", **wish})
    bad = NaiveBayesClassifier().fit(pd.DataFrame({"c": ["a\0", "b"] * 4}), [0, 1] * 4)
    with pytest.raises(ValueError, match="NUL character"):
        to_sql(bad, "t")
    half = NaiveBayesClassifier().fit(
        pd.DataFrame({"c": ["\ud800", "b"] * 4}, dtype=object), [0, 1] * 4
    )
    with pytest.raises(ValueError, match="lone surrogate"):
        to_sql(half, "t")


def test_models_without_a_statement_are_refused_by_name():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    with pytest.raises(TypeError, match="GaussianNB cannot be written as SQL"):
        to_sql(GaussianNB().fit(X, y), "t")
    model = ClassDecompositionClassifier(GaussianNB(), random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="ClassDecompositionClassifier around GaussianNB"):
        to_sql(model, "t")
    with pytest.raises(TypeError, match="fit an NBTreeClassifier"):
        to_sql(FlexibleNBTreeClassifier(random_state=0).fit(X, y), "t", columns=["a", "b"])
    for unfitted in (NaiveBayesClassifier(), ClassDecompositionClassifier()):
        with pytest.raises(NotFittedError):
            to_sql(unfitted, "t")
    large = HierarchicalMixtureClassifier(layers=(900,), n_sweeps=1, random_state=0)
    large.fit(pd.DataFrame(X).add_prefix("x"), y)
    with pytest.raises(ValueError, match="PostgreSQL has at most 1,600 columns"):
        to_sql(large, "t", "postgresql")


def test_sqlglot_is_needed_only_when_asked_for():
    script = (
        "import sys, unnaive; assert 'sqlglot' not in sys.modules\n"
        "sys.modules['sqlglot'] = None\n"
        "try: unnaive.to_sql(None, 't')\n"
        "except ImportError as error: assert 'unnaive[sql]' in str(error)\n"
        "else: raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
