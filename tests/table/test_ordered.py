"""Categories whose type orders them are cut like numbers, and shown by their names."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import registry
import unnaive
from helpers import assert_same_model
from unnaive import (
    C45Classifier,
    Discretizer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
    explain,
)
from unnaive.discretize.intervals import interval_words
from unnaive.encode.categories import order_values
from unnaive.explain.model import UNCUT
from unnaive.table.schema import Column

SIZES = ["tiny", "small", "large", "huge", "never"]  # neither by name nor by length
LISTED = ("missing", "tiny", "small", "large", "huge", "unseen")
INTERVALS = ("missing", "at most small", "large", "huge or more")


def rows(n=300, sizes=SIZES):
    draw = np.random.default_rng(0)
    size = draw.integers(0, 4, n)
    y = np.where(size + draw.normal(size=n) > 1.5, "yes", "no")
    frame = pd.DataFrame({"size": pd.Categorical.from_codes(size, SIZES, ordered=True)})
    return frame.assign(size=frame["size"].cat.set_categories(sizes)), y


def mixed(n=160):
    """Ordered categories with gaps beside other columns; the same rows with their places."""
    draw = np.random.default_rng(1)
    size = draw.integers(-1, 4, n)
    other = draw.normal(size=n).round(2)
    city = draw.choice(["a", "b", "c"], n)
    y = np.where(size + other + draw.normal(size=n) > 1.0, "yes", "no")
    ordered = pd.Categorical.from_codes(size, SIZES, ordered=True)
    X = pd.DataFrame({"other": other, "size": ordered, "city": city})
    return X, X.assign(size=np.where(size < 0, np.nan, size)), y


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


def kind(estimator):
    return type(estimator).__name__


def first_of_each_class(estimators):
    return list({type(estimator): estimator for estimator in reversed(estimators)}.values())


@pytest.mark.parametrize("estimator", first_of_each_class(registry.ESTIMATORS), ids=kind)
@pytest.mark.filterwarnings("ignore::unnaive.UnnaiveWarning")
def test_the_model_of_ordered_categories_is_that_of_their_places(estimator):
    X, numbers, y = mixed()
    ordered, places = (clone(estimator).fit(table, y) for table in (X, numbers))
    method = "transform" if hasattr(ordered, "cuts_") else "predict_proba"
    expected = pd.DataFrame(getattr(places, method)(numbers))
    assert pd.DataFrame(getattr(ordered, method)(X)).equals(expected)


@pytest.mark.parametrize("numeric", ["gaussian", "kernel", "width", "bayes"])
def test_every_rule_takes_ordered_categories_as_their_places(numeric):
    X, numbers, y = mixed()
    ordered, places = (NaiveBayesClassifier(numeric=numeric).fit(t, y) for t in (X, numbers))
    assert np.array_equal(ordered.predict_proba(X), places.predict_proba(numbers))
    shown, plain = explain.evidence_of(ordered)["size"], explain.evidence_of(places)["size"]
    assert (shown.form, shown.reason) == (plain.form, plain.reason)
    if shown.form == "density":
        assert shown.values == ("missing", *SIZES)[: len(shown.values)]
        table = pd.DataFrame({"other": np.nan, "size": shown.raw[1:], "city": None})
        assert np.allclose(ordered.evidence(table).contributions[:, 1], shown.logs[1:])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "pandas with arrow"])
def test_every_library_has_the_order_of_its_type(library):
    X, y = rows()
    model = NaiveBayesClassifier().fit(as_library(X, library), y)
    assert_same_model(model, NaiveBayesClassifier().fit(X, y))
    assert explain.evidence_of(model)["size"].values == INTERVALS
    expected = model.predict_proba(X)
    # A model finds levels by name, whatever their order in the rows to answer for, and as text.
    turned = X["size"].cat.set_categories(SIZES[::-1]).to_frame()
    for same in (turned, X.astype(str), as_library(X, library)):
        assert np.array_equal(model.predict_proba(same), expected)
    unknown = model.predict_proba(pd.DataFrame({"size": ["enormous", None]}))
    assert (unknown[0] == unknown[1]).all()
    with pytest.raises(ValueError, match="'size' held ordered categories when the model was fi"):
        model.predict(pd.DataFrame({"size": [1.0]}))


def test_files_and_sql_answer_as_the_model_in_memory(tmp_path):
    X, y = rows()
    X.loc[::7, "size"] = None
    table = pa.Table.from_pandas(X.assign(y=y))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    whole = NaiveBayesClassifier().fit(X, y)
    model = NaiveBayesClassifier().fit(tmp_path / "rows.parquet", "y")
    assert_same_model(model, whole)
    sizes = X["size"].astype(object).where(X["size"].notna(), None).tolist()
    lazy = pl.LazyFrame({"size": pl.Series(sizes, dtype=pl.Enum(SIZES)), "y": y})
    assert_same_model(NaiveBayesClassifier().fit(lazy, "y"), whole)
    parts = [NaiveBayesClassifier().fit(X[k::3], y[k::3]) for k in range(3)]
    assert_same_model(unnaive.merge(parts), whole)
    assert_same_model(parts[0].partial_fit(X[1::3], y[1::3]).partial_fit(X[2::3], y[2::3]), whole)
    assert_same_model(clone(whole).fit(X, y).partial_fit(X[:9], y[:9]).forget(X[:9], y[:9]), whole)
    given = pd.DataFrame({"size": sizes, "id": range(len(X))})
    for own in (whole, NaiveBayesClassifier(numeric="kernel"), C45Classifier(), NBTreeClassifier()):
        fitted = own if own is whole else own.fit(X, y)
        file = io.BytesIO()
        unnaive.save(fitted, file)
        file.seek(0)
        loaded = unnaive.load(file)
        statement = unnaive.to_sql(loaded, "given", keep="id")
        found = duckdb.sql(statement).order("id").fetchnumpy()
        expected = fitted.predict_proba(X)
        assert np.array_equal(loaded.predict_proba(X), expected)
        assert np.allclose(found["probability_yes"], expected[:, 1], rtol=0, atol=1e-9)
        with closing(sqlite3.connect(":memory:")) as base:
            given.to_sql("given", base)
            lite = base.execute(unnaive.to_sql(loaded, "given", "sqlite", keep="id")).fetchall()
        assert np.allclose([row[2] for row in sorted(lite)], expected[:, 1], rtol=0, atol=1e-9)


def test_trees_rows_reasons_and_discretizers_name_levels():
    X, y = rows()
    tree = unnaive.export_text(C45Classifier().fit(X, y))
    assert "size <= small" in tree
    assert "size >= large" in tree
    model = NaiveBayesClassifier().fit(X, y)
    row = pd.DataFrame({"size": ["large"]})
    assert explain.explain_rows(model, row)[0].values == ("large",)
    reasons = explain.explain_rows(model, row, top=1).to_frame("pandas")
    assert reasons["value"][0] == "large"
    assert reasons["words"][0].startswith("size large: for ")
    page = unnaive.report(model, X, y).html
    assert '"levels":["tiny","small","large","huge","never"]' in page
    cut = Discretizer(encode="interval").fit(X, y).transform(row)
    assert cut["size"].tolist() == ["(small, large]"]
    assert explain.evidence_of(model)["size"].raw == (None, "small", "large", "huge")
    better = unnaive.edit(model, "size", "huge", evidence=0.0, by="Ann")
    bars = better.evidence(pd.DataFrame({"size": ["huge", "large"]})).contributions[:, 0]
    assert bars[0, 0] == bars[0, 1]
    assert bars[1, 0] != bars[1, 1]
    with pytest.raises(ValueError, match="no category 'giant' that the model knows.*'tiny', 'sm"):
        unnaive.edit(model, "size", "giant", evidence=0.0, by="Ann")
    rising = UnnaiveBayesClassifier(monotonic_cst={"size": 1}, max_rounds=5, random_state=0).fit(
        X, y
    )
    steps = rising.predict_proba(pd.DataFrame({"size": SIZES[:4]}))[:, 1]
    assert (np.diff(steps) >= 0).all()


def test_words_of_intervals_of_levels():
    column = Column("x", "numeric", "level", ("a", "b", "c", "d", "e"))

    def words(*cuts):
        return interval_words(np.array(cuts), column)

    assert words(0.5, 1.5, 3.5) == ["a", "b", "c to d", "e"]
    assert words(1.5, 2.5) == ["at most b", "c", "d or more"]
    assert words(1.25, 1.75) == ["at most b", "between b and c", "c or more"]
    assert words(0.2, 3.7, 3.9) == ["a", "b to d", "between d and e", "e"]
    assert words() == ["any value"]


def test_a_listed_column_stays_a_plain_category():
    X, y = rows()
    own = {"categorical_features": ["size"]}
    model = NaiveBayesClassifier(**own).fit(X, y)
    expected = NaiveBayesClassifier().fit(X.astype(str), y)
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X.astype(str)))
    assert explain.evidence_of(model)["size"].values == LISTED
    statement = unnaive.to_sql(model, "rows")
    places = [statement.index(f"'{value}'") for value in SIZES[:4]]
    assert places == sorted(places)
    tree = unnaive.export_text(C45Classifier(**own).fit(X, y)).splitlines()
    assert [line.split(":")[0] for line in tree] == [f"size = {value}" for value in SIZES[:4]]
    # A category that the order does not list comes last.
    new = pd.DataFrame({"size": ["giant", "another"]})
    values = explain.evidence_of(model.partial_fit(new, ["yes", "no"]))["size"].values
    assert values == (*LISTED[:-1], "another", "giant", "unseen")


def test_plain_categories_of_different_orders_are_sorted_by_name_whatever_comes_first():
    X, y = rows()
    turned, _ = rows(sizes=SIZES[::-1])
    own = {"categorical_features": ["size"]}
    first, second, text = (
        NaiveBayesClassifier(**own).fit(table, y) for table in (X, turned, X.astype(str))
    )
    assert unnaive.merge([text, first]).schema_[0].order == tuple(SIZES)
    for parts in ([first, second, first], [second, first, text], [text, second, first]):
        values = explain.evidence_of(unnaive.merge(parts))["size"].values
        assert values == ("missing", "huge", "large", "small", "tiny", "unseen")
    again = unnaive.merge([first, second]).partial_fit(X, y)
    assert again.schema_[0].order is None


def test_parts_with_different_levels_are_refused_and_a_part_without_a_value_has_no_say():
    X, y = rows()
    turned, _ = rows(sizes=SIZES[::-1])
    first, second = (NaiveBayesClassifier().fit(table, y) for table in (X, turned))
    with pytest.raises(
        ValueError, match=r"column 'size' has the levels 'tiny', .* in another; giv"
    ):
        unnaive.merge([first, second])
    with pytest.raises(ValueError, match="ordered categories in one part of the data and text in"):
        unnaive.merge([first, NaiveBayesClassifier().fit(X.astype(str), y)])
    nothing = X.assign(size=pd.Categorical([None] * len(X), SIZES, ordered=True))
    empty = NaiveBayesClassifier().fit(nothing, y)
    assert empty.schema_[0].kind == "empty"
    assert unnaive.merge([empty, first]).schema_ == first.schema_


ORDERS = st.sampled_from([(), ("b", "a"), ("a", "b"), ("b", "a", "c"), None])


@given(st.lists(ORDERS, min_size=3, max_size=3))
def test_orders_of_parts_add_up_in_any_order(orders):
    a, b, c = (Column("x", "categorical", "text", order) for order in orders)
    assert (a + b) + c == a + (b + c) == (c + b) + a


@pytest.mark.parametrize("as_table", [lambda X: X, pa.Table.from_pandas])
def test_periods_and_intervals_are_categories_or_refused(as_table):
    start = pd.date_range("2019-11-01", periods=120, freq="D")
    ends = [(5 * (k % 12), 5 * (k % 12) + 4) for k in range(120)]
    spans = pd.arrays.IntervalArray.from_tuples(ends)
    X = pd.DataFrame({"month": start.to_period("M"), "span": spans})
    y = np.where((np.arange(120) % 12 < 6) ^ (np.arange(120) > 60), "yes", "no")
    for name in X:
        with pytest.raises(ValueError, match=rf"'{name}' holds .*s of pandas.*astype\(str\)"):
            NaiveBayesClassifier().fit(as_table(X[[name]]), y)
    names = NaiveBayesClassifier(categorical_features=["month", "span"]).fit(X, y)
    for name in X:
        ordered = [str(v) for v in sorted(X[name].unique())]
        assert list(explain.evidence_of(names)[name].values[1:-1]) == ordered


def test_cut_numbers_are_ordered_by_their_intervals():
    ages = pd.cut(np.arange(90) % 45, [-1, 9, 10, 40, 50])
    y = np.where(np.arange(90) % 45 > 10, "old", "young")
    model = NaiveBayesClassifier().fit(pd.DataFrame({"age": ages}), y)
    values = explain.evidence_of(model)["age"].values
    assert values == ("missing", "at most (9, 10]", "(10, 40] or more")
    assert model.predict(pd.DataFrame({"age": ["(40, 50]", "(-1, 9]"]})).tolist() == [
        "old",
        "young",
    ]


def test_levels_that_say_nothing_are_not_cut():
    X, _ = rows()
    model = NaiveBayesClassifier().fit(X, np.arange(300) % 2)
    assert explain.evidence_of(model)["size"].reason == UNCUT


def test_text_of_intervals_is_ordered_by_their_ends_and_other_text_by_name():
    intervals = ["(10, 20]", "(5, 10]", "(-inf, 5]", "[5, 10]"]
    assert order_values(intervals, ()) == ("(-inf, 5]", "[5, 10]", "(5, 10]", "(10, 20]")
    assert order_values([*intervals, "none"], ()) == tuple(sorted([*intervals, "none"]))
    assert order_values(["(b, a]", "(c, 1]"], ()) == ("(b, a]", "(c, 1]")
    assert order_values([2, "x", 1], ()) == (1, 2, "x")
