"""Rows with hostile names and values, and engines that answer statements about them."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

TABLE = 'rows"; drop table rows; --'
NUMBER, AMOUNT, TEXT, FLAG, DAY, MANY, CODE, COUNT = NAMES = [
    "select",
    "sp ace \"double\" 'single'",
    '"; drop table rows; --',
    "😀",
    "From",
    "many\\values",
    "co`de",
    "%s {} ? :x $1",
]
VALUES = [
    "it's",
    'say "hi"',
    "'); drop table rows; --",
    "naïve ☃",
    "back\\slash\\n",
    "a\nb",
    "",
    "1",
]
CLASSES = np.array(["it's", 'no; "yes"', "😀\\"])


def hostile_rows(n: int, seed: int, unseen: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with interactions between its columns, gaps everywhere, and values never seen."""
    rng = np.random.default_rng(seed)
    number, amount = rng.random(n).round(3), np.exp(rng.normal(3, 1, n))
    kind = rng.integers(0, len(VALUES), n)
    flag = rng.random(n) < 0.4
    y = ((number > 0.5) ^ (kind < 3)).astype(int)
    y = np.where(flag & (amount > 25), 2, y)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), y)
    many = rng.integers(0, 45 if unseen else 40, n) // (1 + (y == 1))
    words = [*VALUES, "never", "2"]
    kind = np.where(unseen & (rng.random(n) < 0.1), len(VALUES) + (kind % 2), kind)
    days = rng.integers(0, 10**6, n) + 300_000 * y
    micros = np.datetime64("2020-02-28T12:00:00.000001") + days.astype("timedelta64[m]")
    frame = pd.DataFrame(
        {
            NUMBER: number,
            AMOUNT: amount,
            TEXT: pd.Series([words[k] for k in kind], dtype=object),
            FLAG: pd.Series(flag).astype("boolean"),
            DAY: pd.Series(micros.astype("datetime64[us]")),
            MANY: pd.Series([f"v'{k}" for k in many], dtype=object),
            CODE: pd.Series(10 * rng.integers(0, 6 if unseen else 5, n) + y).astype("Int64"),
            COUNT: rng.integers(-5, 20, n) + y,
        }
    )
    for name in NAMES:
        gaps = rng.random(n) < 0.08
        frame[name] = frame[name].where(~gaps, None if frame[name].dtype == object else pd.NA)
    frame[CODE] = frame[CODE].astype("category")
    frame[COUNT] = frame[COUNT].astype(float)
    return frame, CLASSES[y]


def records(frame: pd.DataFrame, nan: bool) -> list[list[Any]]:
    """Plain Python rows with an id; every other gap of a number is NaN where there is one."""
    columns: list[list[Any]] = [list(range(len(frame)))]
    for name in frame:
        values = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        if name in (NUMBER, AMOUNT, COUNT) and nan:
            values = [float("nan") if v is None and k % 2 else v for k, v in enumerate(values)]
        if name == CODE:
            values = [None if v is None else int(v) for v in values]
        if name == DAY:
            values = [None if v is None else v.to_pydatetime() for v in values]
        columns.append(values)
    return [list(row) for row in zip(*columns, strict=True)]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def answers(rows: list[Any], classes: int) -> tuple[np.ndarray, list[Any]]:
    """Probabilities and predicted classes in the order of the ids."""
    ordered = sorted(rows, key=lambda row: row[0])
    return np.array([row[1 : 1 + classes] for row in ordered], dtype=float), [
        row[-1] for row in ordered
    ]


class DuckEngine:
    dialect = "duckdb"

    def __init__(self, frame: pd.DataFrame) -> None:
        import duckdb

        self.connection = duckdb.connect()
        arrays = [pa.array(list(c)) for c in zip(*records(frame, nan=True), strict=True)]
        self.connection.register("given", pa.table(arrays, names=["id", *frame.columns]))
        self.connection.execute(f"create table {quoted(TABLE)} as select * from given")

    def run(self, statement: str) -> list[Any]:
        return self.connection.execute(statement).fetchall()


class SQLiteEngine:
    dialect = "sqlite"

    def __init__(self, frame: pd.DataFrame) -> None:
        self.connection = sqlite3.connect(":memory:")
        names = ["id", *frame.columns]
        # Affinities by which '1' would equal 1, and a collation by which 'A' would equal 'a'.
        kinds = {CODE: "integer", TEXT: "text collate nocase", FLAG: "boolean"}
        made = ", ".join(f"{quoted(name)} {kinds.get(name, '')}" for name in names)
        self.connection.execute(f"create table {quoted(TABLE)} ({made})")
        rows = [
            [v.isoformat(" ") if hasattr(v, "isoformat") else v for v in row]
            for row in records(frame, nan=False)
        ]
        marks = ", ".join("?" * len(names))
        self.connection.executemany(f"insert into {quoted(TABLE)} values ({marks})", rows)

    def run(self, statement: str) -> list[Any]:
        return self.connection.execute(statement).fetchall()


class PostgresEngine:
    dialect = "postgresql"

    def __init__(self, frame: pd.DataFrame, address: str) -> None:
        import psycopg

        self.connection = psycopg.connect(address, autocommit=True)
        kinds = ["int", "float8", "float8", "text", "boolean", "timestamp", "varchar", "int"]
        names = ["id", *frame.columns]
        made = ", ".join(
            f"{quoted(name)} {kind}" for name, kind in zip(names, [*kinds, "float8"], strict=True)
        )
        with self.connection.cursor() as cursor:
            cursor.execute(f"drop table if exists {quoted(TABLE)}")
            cursor.execute(f"create table {quoted(TABLE)} ({made})")
            with cursor.copy(f"copy {quoted(TABLE)} from stdin") as copy:
                for row in records(frame, nan=True):
                    copy.write_row(row)

    def run(self, statement: str) -> list[Any]:
        with self.connection.cursor() as cursor:
            return cursor.execute(statement).fetchall()


class SparkEngine:
    dialect = "spark"

    def __init__(self, frame: pd.DataFrame, session: Any) -> None:
        arrays = [pa.array(list(c)) for c in zip(*records(frame, nan=True), strict=True)]
        table = pa.table(arrays, names=["id", *frame.columns])
        self.session = session
        session.createDataFrame(table).cache().createOrReplaceTempView("`" + TABLE + "`")

    def run(self, statement: str) -> list[Any]:
        return [tuple(row) for row in self.session.sql(statement).collect()]
