"""Tables of every library and type give the same model."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from helpers import assert_same_model, mixed_table
from unnaive import NaiveBayesClassifier
from unnaive.table import open_table

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=7 * i) for i in range(40)]
TIMES = [datetime.datetime(2020, 1, 1, 12) + datetime.timedelta(hours=i) for i in range(40)]
GAPS = [datetime.timedelta(minutes=i) for i in range(40)]


def plain(n=200):
    """The same table for every library: only types that all of them have."""
    X, y = mixed_table(n)
    X["plan"] = X["plan"].astype(str)
    X["city"] = X["city"].where(X["city"].notna(), None)
    return X, y


class Stream:
    """An object that offers nothing but an Arrow stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


MAKERS = {
    "pandas": lambda X: X,
    "pandas categories": lambda X: X.astype({"city": "category", "plan": "category"}),
    "pandas unused categories": lambda X: X.assign(
        plan=pd.Categorical(X["plan"], categories=["z", "c", "b", "a", "unused"])
    ),
    "pandas ordered": lambda X: X.assign(plan=pd.Categorical(X["plan"], ordered=True)),
    "pandas nullable": lambda X: X.convert_dtypes(),
    "pandas arrow": lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "polars categories": lambda X: pl.from_pandas(X).with_columns(
        pl.col("city", "plan").cast(pl.Categorical)
    ),
    "polars enum": lambda X: pl.from_pandas(X).with_columns(
        pl.col("plan").cast(pl.Enum(["c", "b", "a", "unused"]))
    ),
    "pyarrow": pa.Table.from_pandas,
    "pyarrow chunks": lambda X: pa.concat_tables(
        [pa.Table.from_pandas(X[:30]), pa.Table.from_pandas(X[30:])]
    ),
    "pyarrow dictionary": lambda X: pa.Table.from_pandas(
        X.astype({"city": "category", "plan": "category"})
    ),
    "arrow stream": lambda X: Stream(pa.Table.from_pandas(X)),
}


ORDERED = {"pandas ordered": ("a", "b", "c"), "polars enum": ("c", "b", "a", "unused")}


@pytest.mark.parametrize("library", MAKERS)
def test_every_library_gives_the_same_model(library):
    X, y = plain()
    expected = NaiveBayesClassifier().fit(X, y)
    model = NaiveBayesClassifier(categorical_features=["plan"]).fit(MAKERS[library](X), y)
    if library in ORDERED:  # values are listed in the order of the type
        assert model.schema_[4].order == ORDERED[library]
    else:
        assert_same_model(expected, model)
    for other in ("pandas", "polars", "pyarrow"):
        found = model.predict_proba(MAKERS[other](X))
        assert (found == expected.predict_proba(X)).all()


def kinds(X, categorical_features="from_dtype"):
    schema = open_table(BaseEstimator(), X, categorical_features=categorical_features).schema
    return [c.kind for c in schema]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "numeric"),
        ([1.5, None], "numeric"),
        ([decimal.Decimal("1.10"), None], "numeric"),
        (DAYS[:2], "numeric"),
        (TIMES[:2], "numeric"),
        (GAPS[:2], "numeric"),
        (["a", None], "categorical"),
        ([True, False], "categorical"),
        ([True, None], "categorical"),
        ([None, None], "empty"),
    ],
    ids=lambda v: type(v[0]).__name__ if isinstance(v, list) else v,
)
def test_kind_follows_the_type_in_every_library(values, kind):
    assert kinds(pd.DataFrame({"x": values})) == [kind]
    assert kinds(pl.DataFrame({"x": values})) == [kind]
    assert kinds(pa.table({"x": values})) == [kind]
    assert kinds(np.array(values, dtype=object)[:, None]) == [kind]
    assert kinds([[v] for v in values]) == [kind]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(DAYS),
        pd.Series(TIMES, dtype="datetime64[ns]"),
        pd.Series(TIMES, dtype="datetime64[s]").dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pd.Series(GAPS, dtype="timedelta64[ms]"),
        pd.Series([decimal.Decimal(i) / 3 for i in range(40)]),
        pl.Series(DAYS),
        pl.Series(TIMES, dtype=pl.Datetime("ms")),
        pl.Series(GAPS, dtype=pl.Duration("us")),
        pl.Series([decimal.Decimal(i) for i in range(40)]),
        pa.array(TIMES, pa.timestamp("ns")),
        pa.array(DAYS, pa.date64()),
        pa.array(GAPS),
        pa.array([decimal.Decimal(i) for i in range(40)], pa.decimal128(10, 2)),
        np.array(TIMES, dtype="datetime64[h]"),
    ],
    ids=lambda c: f"{type(c).__module__.split('.')[0]}-{getattr(c, 'dtype', None) or c.type}",
)
def test_dates_durations_and_decimals_are_cut_like_numbers(column):
    y = [0] * 20 + [1] * 20
    if isinstance(column, np.ndarray):
        X = column[:, None]
    elif isinstance(column, pa.Array):
        X = pa.table({"x": column})
    else:
        X = column.to_frame("x") if isinstance(column, pd.Series) else pl.DataFrame({"x": column})
    model = NaiveBayesClassifier().fit(X, y)
    assert model.predict(X).tolist() == y
    assert len(model.coders_[0].cuts) == 1


def test_time_units_and_zones_give_the_same_numbers():
    y = [0] * 20 + [1] * 20
    cuts = {
        float(NaiveBayesClassifier().fit(frame, y).coders_[0].cuts[0])
        for frame in (
            pd.DataFrame({"x": pd.Series(TIMES, dtype="datetime64[ns]")}),
            pd.DataFrame({"x": pd.Series(TIMES, dtype="datetime64[s]")}),
            pd.DataFrame({"x": pd.Series(TIMES).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")}),
            pl.DataFrame({"x": TIMES}),
            pa.table({"x": TIMES}),
            pd.DataFrame({"x": pd.Series(TIMES, dtype=object)}),
        )
    }
    assert len(cuts) == 1


@pytest.mark.parametrize("unit", ["datetime64[ns]", "timedelta64[ns]"])
def test_nanoseconds_are_the_same_numbers_and_categories_in_every_library(unit):
    moments = (np.arange(40) * 1500).astype(unit)
    frame = pd.DataFrame({"x": moments})
    y = [0, 1] * 20
    tables = (
        frame,
        frame.astype(object),
        pl.DataFrame({"x": moments}),
        pa.table({"x": moments}),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame({"x": pd.Categorical(frame["x"])}),
    )
    numbers = [NaiveBayesClassifier().fit(X, y).summary_ for X in tables[:-1]]
    assert len({s.coders[0].low.tobytes() for s in numbers}) == 1
    models = [NaiveBayesClassifier(categorical_features=["x"]).fit(X, y) for X in tables]
    first = models[0].predict_proba(frame)
    assert first.std() > 0.1
    for model in models:
        for X in tables:
            np.testing.assert_array_equal(model.predict_proba(X), first)


@pytest.mark.parametrize("kind", [pa.float16(), pa.decimal32(3, 1), pa.decimal64(3, 1)], ids=str)
def test_numbers_of_few_bits_are_categories_as_others_are(kind):
    numbers = [None, 1.5, 2.0, 2.0, 3.0, 1.5]
    values = [None if v is None else decimal.Decimal(v) for v in numbers]
    column = pa.array(np.array(numbers, np.float16) if kind == pa.float16() else values, kind)
    chunks = pa.table({"x": pa.chunked_array([column[:2], column[2:]])})
    y = [0, 1, 0, 1, 1, 0]
    model = NaiveBayesClassifier(categorical_features=["x"]).fit(chunks, y)
    assert model.coders_[0].values == (1.5, 2, 3)
    assert model.counts_.attribute(0)[:, :4].tolist() == [[1, 1, 1, 0], [0, 1, 1, 1]]


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_every_way_to_say_missing_is_missing(nothing):
    X = pd.DataFrame({"t": pd.Series(["a", "b", nothing, "a"], dtype=object)})
    model = NaiveBayesClassifier().fit(X, [0, 1, 1, 0])
    assert model.coders_[0].values == ("a", "b")
    assert model.summary_.counts.attribute(0)[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("chosen", [["a"], [0], [True, False], np.array([0]), [-2]])
def test_numbers_can_be_named_as_categories(chosen):
    X = pd.DataFrame({"a": [1, 2, 3, 1], "b": [1.0, 2.0, 3.0, 4.0]})
    assert kinds(X, chosen) == ["categorical", "numeric"]
    model = NaiveBayesClassifier(categorical_features=chosen).fit(X, [0, 1, 1, 0])
    gaps = X.astype({"a": float}).mask(X == 3)  # pandas turns whole numbers with gaps into floats
    assert model.predict(gaps).shape == (4,)
    assert model.coders_[0].values == (1, 2, 3)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["c"], "categorical_features names 'c', which is not a column.*its columns are 'a', 'b'"),
        ([5], "categorical_features holds 5; expected a column name or a position below 2"),
        ([True], "a mask of 1 entries, but the table has 2 columns"),
        ("all", "categorical_features must be 'from_dtype', or a list"),
    ],
)
def test_wrong_categorical_features_are_explained(chosen, words):
    with pytest.raises(ValueError, match=words):
        kinds(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), chosen)


def test_lists_of_mixed_rows_keep_their_types():
    rows = [[25, "Rome", None], [47, "Oslo", True], [61, "Oslo", False], [33, None, True]]
    assert kinds(rows) == ["numeric", "categorical", "categorical"]


def test_a_column_without_values_takes_its_kind_from_later_rows():
    y = [0, 0, 1, 1]
    nothing = pd.DataFrame({"x": [None] * 4, "t": [None] * 4}, dtype=object)
    values = pd.DataFrame({"x": [1.0, 2, 3, 4], "t": list("aabb")})
    early = NaiveBayesClassifier().partial_fit(nothing, y).partial_fit(values, y)
    late = NaiveBayesClassifier().partial_fit(values, y).partial_fit(nothing, y)
    assert_same_model(early, late)
    assert [c.kind for c in early.schema_] == ["numeric", "categorical"]
