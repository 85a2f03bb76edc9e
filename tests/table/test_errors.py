"""Bad input gets an error that names the column, what was found and what to do."""

from __future__ import annotations

import warnings
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from helpers import assert_same_model, mixed_table
from registry import CLASSIFIERS, META
from unnaive import NaiveBayesClassifier, load, save
from unnaive.table.arrow import BlockReader, _check_same_columns
from unnaive.table.scan import Scan
from unnaive.table.schema import Column, Schema
from unnaive.table.source import check_names

X, Y = mixed_table(60)


def fit(table, y=Y, **keywords):
    return NaiveBayesClassifier().fit(table, y, **keywords)


@pytest.mark.parametrize("numeric", ["mdl", "gaussian"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_name_their_column_and_a_remedy(numeric, value):
    bad = X.assign(age=X["age"].mask(X.index == 7, value))
    words = "column 'age' holds .*infinity.*NaN"
    model = NaiveBayesClassifier(numeric=numeric)
    with pytest.raises(ValueError, match=words):
        model.fit(bad, Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=words):
        model.predict(bad)
    with pytest.raises(ValueError, match="column 2 holds .*infinity"):
        NaiveBayesClassifier(numeric=numeric).fit([[1, 2, 3], [4, 5, value]], [0, 1])


def test_a_column_of_mixed_numbers_and_text():
    mixed = pd.Series([1, "two"] * 30, dtype=object)
    with pytest.raises(ValueError, match=r"column 'mix' mixes numbers and text; convert it"):
        fit(X.assign(mix=mixed))
    with pytest.raises(ValueError, match=r"column 1 mixes numbers and text"):
        fit([[1, "a"], [2, 3]], [0, 1])


def test_columns_that_cannot_be_read():
    with pytest.raises(ValueError, match="column 'l' holds List.*which is not supported"):
        fit(pl.DataFrame({"l": [[1], [2]]}), [0, 1])
    with pytest.raises(TypeError, match="column 'd' holds values of type dict: argument must be"):
        fit(pd.DataFrame({"d": [{"a": 1}, {"b": 2}]}), [0, 1])
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(np.array([[1j], [2j]]), [0, 1])


def test_zero_rows_and_zero_columns():
    with pytest.raises(ValueError, match="0 sample.*the table has no rows"):
        fit(X.head(0), [])
    with pytest.raises(ValueError, match="0 feature.*the table has no columns"):
        fit(X[[]])
    with pytest.raises(ValueError, match="0 sample"):
        fit(np.empty((0, 3)), [])
    with pytest.raises(ValueError, match="0 feature"):
        fit(np.empty((3, 0)), [0, 1, 0])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(60), "sample_weight is zero for every row"),
        (np.r_[np.ones(59), -2], r"sample_weight holds negative values \(the smallest is -2\)"),
        (np.r_[np.ones(59), np.nan], "sample_weight contains NaN"),
        (np.r_[np.ones(59), np.inf], "sample_weight contains infinity"),
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(60,\)"),
        (np.ones((60, 2)), r"one number per row; got shape \(60, 2\)"),
    ],
)
def test_bad_weights(weight, words):
    with pytest.raises(ValueError, match=words):
        fit(X, sample_weight=weight)


ONE_OF_EACH = list({type(model): model for model in [*CLASSIFIERS, *META[:1]]}.values())


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=lambda model: type(model).__name__)
def test_one_weight_for_all_rows_and_weights_that_are_none(model):
    for one in (2, np.float64(2.0), np.array(2.0)):
        every = clone(model).fit(X, Y, sample_weight=np.full(60, 2.0))
        assert_same_model(every, clone(model).fit(X, Y, sample_weight=one))
    with pytest.raises(ValueError, match=r"sample_weight is 'age', but .* such as X\['age'\]"):
        clone(model).fit(X, Y, sample_weight="age")
    with pytest.raises(ValueError, match="sample_weight must hold one number for each row: "):
        clone(model).fit(X, Y, sample_weight=["heavy"] * 60)
    if "class_weight" in model.get_params():
        for wrong in ([1, 2], 5, (1.0, 2.0), "even", np.ones(2)):
            with pytest.raises(ValueError, match="class_weight must be a dict, 'balanced' or None"):
                clone(model).set_params(class_weight=wrong).fit(X, Y)
        for wrong in ("a", None, 1j, -1, 0, np.nan):
            with pytest.raises(ValueError, match="class_weight of 'no' must be a positive number"):
                clone(model).set_params(class_weight={"no": wrong}).fit(X, Y)


@pytest.mark.parametrize(
    "library", [pd.DataFrame, lambda d: np.array(d["c"], dtype=object)[:, None]]
)
def test_a_signalling_nan_is_a_missing_value(library):
    numbers = [Decimal("1.5"), Decimal("2.5"), None, Decimal(3)] * 15
    signals = [Decimal("sNaN") if v is None else v for v in numbers]
    for kinds in ("from_dtype", [0]):
        model = NaiveBayesClassifier(categorical_features=kinds)
        known, same = (clone(model).fit(library({"c": v}), Y) for v in (numbers, signals))
        assert_same_model(known, same)
        assert (
            known.predict(library({"c": signals})) == known.predict(library({"c": numbers}))
        ).all()
    with pytest.raises(ValueError, match="y has 15 missing labels"):
        fit(X, signals)


@pytest.mark.parametrize("unit", ["D", "s", "ms"])
@pytest.mark.parametrize("kind", ["m8", "M8"])
@pytest.mark.parametrize("kinds", ["from_dtype", [0]])
def test_times_beyond_microseconds_of_64_bits_are_refused(unit, kind, kinds):
    far = np.array([2**62, 1, 2, 3] * 15).astype(f"{kind}[{unit}]")
    model, words = NaiveBayesClassifier(categorical_features=kinds), "dates or durations too far"
    tables = [far[:, None]]
    if unit != "D":
        arrow = pa.duration(unit) if kind == "m8" else pa.timestamp(unit)
        tables.append(pa.table({"c": pa.array(far.astype(np.int64), arrow)}))
    for table in tables:
        with pytest.raises(ValueError, match=f"column .* holds {words}"):
            model.fit(table, Y)
    if unit != "D" and kind == "m8":
        with pytest.raises(ValueError, match=f"y holds {words}"):
            fit(X, tables[1]["c"])
    with pytest.raises(ValueError, match=f"column 0 holds {words}"):
        fit([[timedelta.max], [timedelta(1)]], [0, 1])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(X, Y[:50])


def test_columns_in_another_order_are_found_by_name():
    model = fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (model.predict_proba(X[X.columns[::-1]]) == model.predict_proba(X)).all()
    again = NaiveBayesClassifier().fit(X, Y).partial_fit(X[X.columns[::-1]], Y)
    assert (again.class_count_ == 2 * model.class_count_).all()


def test_missing_and_extra_columns_are_named():
    model = fit(X)
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- city"):
        model.predict(X.drop(columns="city"))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- note"):
        model.predict(X.assign(note=1))
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
        NaiveBayesClassifier().fit(np.eye(3), [0, 1, 2]).predict(np.eye(2))
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="column 'city' held text when the model was fitted"),
    ):
        model.predict(np.ones((2, 6)))


class CountedName(str):
    """A name that counts how often it is looked up."""

    looked_up = 0

    def __hash__(self):
        CountedName.looked_up += 1
        return super().__hash__()


def test_looking_up_names_grows_no_faster_than_their_number():
    def effort(n: int) -> int:
        names = [CountedName(f"c{j}") for j in range(n)]
        CountedName.looked_up = 0
        check_names(names, list(reversed(names)))
        _check_same_columns(Scan("x"), "a", names, "b", names)
        known = Schema(tuple(Column(name, "numeric", "number") for name in names), True)
        BlockReader.of(Scan("x", columns=names), names, "from_dtype", known)
        return CountedName.looked_up

    assert effort(400) <= 4 * effort(100)


@pytest.mark.parametrize("names", [[1.0, np.nan], [np.float64("nan"), 7], [float("nan"), "x"]])
def test_a_column_named_nan_is_found_again(names, tmp_path):
    table = pd.DataFrame(X[["age", "city"]].to_numpy(), columns=names).infer_objects()
    model = fit(table)
    expected = model.predict_proba(table)
    save(model, tmp_path / "m.unv")
    again = load(tmp_path / "m.unv")
    assert (again.predict_proba(table[table.columns[::-1]]) == expected).all()


def test_two_columns_of_one_name():
    twins = pd.concat([X, X[["age"]]], axis=1)
    with pytest.raises(ValueError, match="several columns named 'age'; rename or drop"):
        fit(twins)


@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas])
def test_a_numeric_column_that_is_now_text_and_the_reverse(library):
    model = fit(X)
    with pytest.raises(ValueError, match="column 'age' held numbers .* now holds text; convert"):
        model.predict(library(X.assign(age="old")))
    with pytest.raises(ValueError, match="column 'city' held text .* now holds numbers; convert"):
        model.predict(library(X.assign(city=3.5)))
    # Nothing but gaps has no type: text without a single value is read as float by pandas.
    assert model.predict(library(X.assign(city=np.nan, age=None))).shape == (60,)


def test_identifiers_are_recognised_and_can_be_grouped():
    n = 65_600
    table = pd.DataFrame({"id": [f"customer {i}" for i in range(n)], "x": np.arange(n) % 7})
    y = (np.arange(n) % 7 > 2).astype(int)
    words = "column 'id' has 65,600 different categories, more than 65,534: it looks like an ident"
    with pytest.raises(ValueError, match=words):
        fit(table, y)
    with pytest.raises(ValueError, match="pass max_categories="):
        NaiveBayesClassifier().partial_fit(table[: n // 2], y[: n // 2]).partial_fit(
            table[n // 2 :], y[n // 2 :]
        )
    model = NaiveBayesClassifier(max_categories=50).fit(table, y)
    assert model.coders_[0].size == 50
    assert model.score(table, y) == 1


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fit(X)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="mixes"):
        model.partial_fit(X.assign(age=pd.Series([1, "x"] * 30, dtype=object)), Y)
    with pytest.raises(ValueError, match="missing labels"):
        model.fit(X, [None] * 60)
    assert (model.predict_proba(X) == before).all()


def test_predicting_before_fitting():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        NaiveBayesClassifier().predict(X)
