"""Promises 1 and 2: the same rows in the same order give the same model, wherever they are read.

Tables of counts are the same bits from every source, everything else agrees to 1e-9.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from blocks import split_memory
from helpers import assert_same_model, mixed_table
from registry import CHOOSERS, CLUSTERERS, ESTIMATORS, TREES, UNNAIVE
from unnaive import Discretizer, NaiveBayesClassifier, scan
from unnaive.table import arrow, records

ONE_OF_EACH = [*{type(e): e for e in reversed(ESTIMATORS)}.values()]  # the first of every class
FEW_FOLDS = clone(CHOOSERS[1]).set_params(estimators=["nb"], cv=2)
FAMILIES = [
    NaiveBayesClassifier(numeric="gaussian"),
    Discretizer("sigma"),
    TREES[0],
    UNNAIVE[0],
    FEW_FOLDS,
    CLUSTERERS[0],
]


@cache
def rows():
    """A table that every source can hold: numbers, text, gaps, and the number of each row."""
    X, y = mixed_table(400)
    X["plan"] = X["plan"].astype(str)
    return X, y, X.assign(label=y, id=np.arange(len(y)))


@cache
def in_memory(position):
    """The model of the rows in memory."""
    X, y, _ = rows()
    return clone([*ONE_OF_EACH, FEW_FOLDS][position]).fit(X, y)


def parquet(folder):
    _, _, table = rows()
    for k, (a, b) in enumerate([(0, 37), (37, 300), (300, 400)]):
        part = pa.Table.from_pandas(table.iloc[a:b], preserve_index=False)
        pq.write_table(part, folder / f"{k}.parquet")
    return folder


def csv(folder):
    rows()[2].to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def duckdb(folder):
    import duckdb

    return duckdb.sql(f"select * from read_parquet('{parquet(folder)}/*.parquet')")


def polars(folder):
    import polars as pl

    return pl.scan_parquet(parquet(folder))


def dask(folder):
    frame = pytest.importorskip("dask.dataframe")
    edges = [0, 0, 60, 60, 61, 250, 400]  # uneven, some empty
    table = rows()[2]

    def take(k):
        return table.iloc[edges[k] : edges[k + 1]]

    return frame.from_map(take, range(len(edges) - 1), meta=table.iloc[:0])


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 100 rows; arrays of rows are in files."""
    monkeypatch.setattr(arrow, "MOST_ROWS", 100)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 100)
    monkeypatch.setattr(records, "_SMALL", 64)


@pytest.mark.parametrize("source", [parquet, csv, duckdb, polars, dask], ids=lambda f: f.__name__)
@pytest.mark.parametrize("position", range(len(ONE_OF_EACH) + 1))
def test_every_source_gives_the_model_of_memory(position, source, tmp_path, small_blocks):
    X, _, _ = rows()
    memory = in_memory(position)
    data = scan(source(tmp_path), "label", columns=list(X), row_id="id", memory_limit=0)
    model = clone(memory).fit(data)
    assert_same_model(memory, model)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("position", range(len(ONE_OF_EACH) + 1))
def test_blocks_in_memory_give_the_model_of_the_whole(position, monkeypatch):
    X, y, _ = rows()
    memory = in_memory(position)
    split_memory(monkeypatch, [0, 1, 60, 250, 400])
    assert_same_model(memory, clone(memory).fit(X, y))


@pytest.mark.parametrize("estimator", FAMILIES, ids=repr)
def test_spark_gives_the_model_of_memory(estimator, spark):
    X, y, table = rows()
    frame = spark.createDataFrame(table).repartition(7, "city", "label")
    data = scan(frame, "label", columns=list(X), row_id="id")
    assert_same_model(clone(estimator).fit(X, y), clone(estimator).fit(data))
