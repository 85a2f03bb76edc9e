"""Categories whose type orders them keep that order wherever values are listed."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unnaive
from unnaive import C45Classifier, NaiveBayesClassifier, NBTreeClassifier, UnnaiveBayesClassifier
from unnaive.encode.categories import order_values
from unnaive.table.schema import Column

SIZES = ["tiny", "small", "large", "huge", "never"]  # neither by name nor by length
LISTED = ("missing", "tiny", "small", "large", "huge", "unseen")


def rows(n=300, sizes=SIZES):
    draw = np.random.default_rng(0)
    size = draw.integers(0, 4, n)
    y = np.where(size + draw.normal(size=n) > 1.5, "yes", "no")
    frame = pd.DataFrame({"size": pd.Categorical.from_codes(size, SIZES, ordered=True)})
    return frame.assign(size=frame["size"].cat.set_categories(sizes)), y


def as_library(frame, library):
    if library == "pandas":
        return frame
    if library == "polars":
        return pl.DataFrame({"size": pl.Series(frame["size"].tolist(), dtype=pl.Enum(SIZES))})
    codes = pa.array(frame["size"].cat.codes, pa.int8())
    table = pa.table({"size": pa.DictionaryArray.from_arrays(codes, SIZES, ordered=True)})
    if library == "pyarrow":
        return table
    return pd.DataFrame({"size": pd.arrays.ArrowExtensionArray(table["size"])})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "pandas with arrow"])
def test_every_library_keeps_the_order_of_its_type(library):
    X, y = rows()
    model = NaiveBayesClassifier().fit(as_library(X, library), y)
    assert unnaive.explain.evidence_of(model)["size"].values == LISTED
    expected = NaiveBayesClassifier().fit(X.astype(str), y)
    found = model.predict_proba(as_library(X, library))
    assert np.array_equal(found, expected.predict_proba(X.astype(str)))
    # A model finds values by name, whatever their order in the rows to answer for.
    turned = X["size"].cat.set_categories(SIZES[::-1]).to_frame()
    assert np.array_equal(model.predict_proba(turned), found)


def test_files_trees_sql_and_pages_list_values_in_their_order(tmp_path):
    X, y = rows()
    table = pa.Table.from_pandas(X.assign(y=y))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    model = NaiveBayesClassifier().fit(tmp_path / "rows.parquet", "y")
    file = io.BytesIO()
    unnaive.save(model, file)
    file.seek(0)
    assert unnaive.explain.evidence_of(unnaive.load(file))["size"].values == LISTED
    statement = unnaive.to_sql(model, "rows")
    places = [statement.index(f"'{value}'") for value in SIZES[:4]]
    assert places == sorted(places)
    tree = unnaive.export_text(C45Classifier().fit(X, y)).splitlines()
    assert [line.split(":")[0] for line in tree] == [f"size = {value}" for value in SIZES[:4]]
    own = UnnaiveBayesClassifier(random_state=0, max_rounds=5).fit(X, y)
    assert unnaive.explain.evidence_of(own)["size"].values == LISTED
    assert NBTreeClassifier(random_state=0).fit(X, y).schema_[0].order == tuple(SIZES)


def test_parts_of_one_order_keep_it_and_an_unordered_part_has_no_say():
    X, y = rows()
    whole = NaiveBayesClassifier().fit(X, y)
    parts = [NaiveBayesClassifier().fit(X[k::3], y[k::3]) for k in range(3)]
    assert unnaive.merge(parts).schema_ == whole.schema_
    plain = NaiveBayesClassifier().fit(X[:100].astype(str), y[:100]).partial_fit(X[100:], y[100:])
    assert plain.schema_ == whole.schema_
    assert unnaive.explain.evidence_of(plain)["size"].values == LISTED


def test_parts_of_different_orders_are_sorted_by_name_whatever_comes_first():
    X, y = rows()
    turned, _ = rows(sizes=SIZES[::-1])
    first, second = NaiveBayesClassifier().fit(X, y), NaiveBayesClassifier().fit(turned, y)
    text = NaiveBayesClassifier().fit(X.astype(str), y)
    for parts in ([first, second, first], [second, first, text], [text, second, first]):
        values = unnaive.explain.evidence_of(unnaive.merge(parts))["size"].values
        assert values == ("missing", "huge", "large", "small", "tiny", "unseen")
    again = unnaive.merge([first, second]).partial_fit(X, y)
    assert again.schema_[0].order is None


def test_a_category_that_the_order_does_not_list_comes_last():
    X, y = rows()
    new = pd.DataFrame({"size": ["giant", "another"]})
    model = NaiveBayesClassifier().fit(X, y).partial_fit(new, ["yes", "no"])
    values = unnaive.explain.evidence_of(model)["size"].values
    assert values == (*LISTED[:-1], "another", "giant", "unseen")


ORDERS = st.sampled_from([(), ("b", "a"), ("a", "b"), ("b", "a", "c"), None])


@given(st.lists(ORDERS, min_size=3, max_size=3))
def test_orders_of_parts_add_up_in_any_order(orders):
    a, b, c = (Column("x", "categorical", "text", order) for order in orders)
    assert (a + b) + c == a + (b + c) == (c + b) + a


def test_periods_and_intervals_are_listed_in_their_order():
    start = pd.date_range("2019-11-01", periods=40, freq="D")
    y = np.arange(40) % 2
    ends = [(5 * (k % 4), 5 * (k % 4) + 100) for k in range(40)]
    X = pd.DataFrame(
        {
            "month": start.to_period("M"),
            "week": start.to_period("W"),
            "span": pd.arrays.IntervalArray.from_tuples(ends),
            "cut": pd.cut(np.arange(40), [-1, 2, 10, 40]),
        }
    )
    evidence = unnaive.explain.evidence_of(NaiveBayesClassifier().fit(X, y))
    for name in X:
        ordered = [str(v) for v in sorted(X[name].unique())]
        assert list(evidence[name].values[1:-1]) == ordered


def test_text_of_intervals_is_ordered_by_their_ends_and_other_text_by_name():
    intervals = ["(10, 20]", "(5, 10]", "(-inf, 5]", "[5, 10]"]
    assert order_values(intervals, ()) == ("(-inf, 5]", "[5, 10]", "(5, 10]", "(10, 20]")
    assert order_values([*intervals, "none"], ()) == tuple(sorted([*intervals, "none"]))
    assert order_values(["(b, a]", "(c, 1]"], ()) == ("(b, a]", "(c, 1]")
    assert order_values([2, "x", 1], ()) == (1, 2, "x")
