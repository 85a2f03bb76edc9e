"""Awkward tables that once went wrong."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.naive_bayes import GaussianNB

from helpers import assert_same_model, mixed_table
from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    Discretizer,
    NaiveBayesClassifier,
    merge,
)

NB = NaiveBayesClassifier


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical([1, 2, 3, 1] * 5),
        pd.Categorical(pd.cut(np.arange(20), 3), ordered=False),
        pd.cut(np.arange(20), 3, labels=[1, 2, 3], ordered=False),
        pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 10)),
        pd.array(["a", "b"] * 10, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([1, 2, 3, 1] * 5).dictionary_encode(),
    ],
    ids=lambda c: f"{type(c).__name__}-{getattr(c, 'dtype', None) or c.type}"[:60],
)
def test_a_categorical_type_is_categorical_whatever_it_holds(column):
    frame = pa.table({"a": column}) if isinstance(column, pa.Array) else pd.DataFrame({"a": column})
    model = NB().fit(frame, [0, 1] * 10)
    assert model.schema_[0].kind == "categorical"
    assert model.predict(frame).shape == (20,)


def test_chunks_without_a_value_have_no_say_about_the_type():
    """What reading a CSV file in chunks gives: text without a value comes as float."""
    y = [0, 1] * 4
    nothing, text = pd.DataFrame({"a": [np.nan] * 8}), pd.DataFrame({"a": list("abab") * 2})
    first = NB().partial_fit(nothing, y).partial_fit(text, y)
    last = NB().partial_fit(text, y).partial_fit(nothing, y)
    assert_same_model(first, last)
    assert_same_model(first, merge([NB().fit(nothing, y), NB().fit(text, y)]))
    named = NB(categorical_features=["a"]).partial_fit(nothing, y)
    assert named.partial_fit(pd.DataFrame({"a": [1, 2] * 4}), y).coders_[0].values == (1, 2)
    assert np.isnan(Discretizer().fit(nothing, y).transform(text).astype(float)).all()


def test_categories_without_a_category_have_no_say_about_the_type():
    y = [0, 1] * 4
    nothing = pd.DataFrame({"a": pd.Categorical([None] * 8)})
    text = pd.DataFrame({"a": pd.Categorical(list("abab") * 2)})
    whole = NB().fit(pd.DataFrame({"a": pd.Categorical([*"abab" * 2, *[None] * 8])}), y * 2)
    assert_same_model(whole, NB().partial_fit(nothing, y).partial_fit(text, y))
    assert_same_model(whole, merge([NB().fit(nothing, y), NB().fit(text, y)]))
    assert (NB().fit(nothing, y).predict_proba(text) == 0.5).all()


def test_masked_values_are_refused_and_no_mask_is_none():
    mask = np.arange(20) % 5 == 0
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=r"masked array.*filled\(numpy.nan\)"):
        NB().fit(np.ma.masked_array(y, mask)[:, None], y)
    assert_same_model(NB().fit(y[:, None], y), NB().fit(np.ma.masked_array(y[:, None]), y))
    with pytest.raises(ValueError, match="y has 4 missing labels"):
        NB().fit(y[:, None], np.ma.masked_array(y, mask))


@pytest.mark.parametrize(
    "labels",
    [
        pd.date_range("2024-01-01", periods=2, tz="UTC"),
        pd.interval_range(0, 2),
        [2**70, 1],
        [1, "a"],
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda v: type(v[0]).__name__,
)
def test_every_label_that_can_be_learned_can_be_scored(labels):
    y = pd.Series([labels[i % 2] for i in range(40)], dtype=object)
    X = pd.DataFrame({"a": np.arange(40) % 2, "b": np.arange(40) % 3})
    wrong = np.arange(40) % 4 == 0
    said = y.where(~wrong, y.shift(-1))
    model = NB(priors=[0.5, 0.5]).fit(X, y.to_numpy())
    assert model.score(X, said.to_numpy()) == 0.75
    assert model.score(X, said.to_numpy(), sample_weight=np.where(wrong, 1, 0)) == 0.0


def test_labels_may_be_a_table_of_one_column():
    y = ["a", "b", "a"]
    for table in (pd.DataFrame({"y": y}), pl.DataFrame({"y": y}), pa.table({"y": y})):
        with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
            assert NB().fit([[1], [2], [3]], table).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_product([list("ab"), range(25)], names=["x", "y"]),
        pd.date_range("2024-01-01", periods=50, tz="UTC", name="day"),
        pd.CategoricalIndex(["same"] * 50),
    ],
    ids=lambda v: type(v).__name__,
)
def test_tables_keep_their_index(index):
    X, y = mixed_table(50)
    X.index = index
    pd.testing.assert_index_equal(Discretizer().fit_transform(X, y).index, index)


def test_gaps_do_not_switch_off_the_check_of_types():
    dates = pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"] * 4)})
    model = NB().fit(dates, [0, 1] * 4)
    with pytest.raises(ValueError, match="held dates or times .* now holds numbers"):
        model.predict(pd.DataFrame({"a": [5.0, np.nan, np.nan]}))


@pytest.mark.parametrize(
    "y",
    [
        ["a", np.nan, "b"],
        pd.to_datetime(pd.Series(["2020", None, "2021"])),
        np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
    ],
    ids=lambda y: type(y).__name__,
)
def test_missing_labels_are_never_a_class(y):
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        NB().fit([[1], [2], [3]], y)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pa.array(["a", "b", "a"]), ["a", "b"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b"]),
        (pa.chunked_array([[True, False], [True]]), [False, True]),
        (pd.Series([1, 2, 1], dtype="Int64"), [1, 2]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        ([1, "a", 1], [1, "a"]),
        (np.array([2**64 - 1, 0, 2**64 - 2], dtype=np.uint64), [0, 2**64 - 2, 2**64 - 1]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_labels_keep_their_type(y, classes):
    found = NB().fit([[1], [2], [3]], y).classes_.tolist()
    assert found == classes
    assert [type(c) for c in found] == [type(c) for c in classes]


@pytest.mark.parametrize("value", [1e155, 1e200, -1e300, 5000.0])
def test_far_away_values_leave_probabilities_finite(value):
    model = NB(numeric="gaussian").fit([[0.0], [1], [2], [3]], [0, 0, 1, 1])
    p = model.predict_proba([[value]])
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1)


def test_degenerate_gaussians_stay_finite():
    for x in ([1, 1, 2, 3], [1e-155, 2e-155, 3e-155, 4e-155], [1e-160, 2e-160, 3e-160, 4e-160]):
        X = np.array(x)[:, None]
        model = NB(numeric="gaussian", var_smoothing=0).fit(X, [0, 0, 1, 1])
        assert np.isfinite(model.predict_proba(X)).all()


def test_an_impossible_value_outweighs_a_far_number():
    X = pd.DataFrame({"c": list("aabb"), "x": [0.0, 1, 10, 12]})
    model = NB(alpha=0, numeric="gaussian").fit(X, [0, 0, 1, 1])
    assert model.predict(pd.DataFrame({"c": ["a"], "x": [5000.0]})).tolist() == [0]


def test_log_probabilities_stay_finite_where_nothing_is_impossible():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.repeat(y[:, None], 8000, axis=1).astype(bool)
    assert np.isfinite(NB().fit(X, y).predict_log_proba(X[:5])).all()


def test_parameters_changed_between_updates_are_noticed():
    X, y = mixed_table(100)
    for change in ({"numeric": "gaussian"}, {"grid_limit": 100}):
        model = NB().fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match="have changed since the model was fitted"):
            model.partial_fit(X, y)
    assert NB().fit(X, y).set_params(alpha=3).partial_fit(X, y).alpha == 3


@pytest.mark.parametrize("weight", [0.0, -1, np.nan, np.inf])
def test_class_weights_must_be_positive(weight):
    with pytest.raises(ValueError, match="class_weight of 0 must be a positive number"):
        NB(class_weight={0: weight}).fit([[1], [2]], [0, 1])


@pytest.mark.parametrize("numeric", ["mdl", "width", "frequency", "sigma", "gaussian"])
@pytest.mark.parametrize("missing", ["skip", "value"])
def test_class_weight_equals_row_weight_for_every_kind_of_number(numeric, missing):
    X, y = mixed_table(300, classes=2)
    weights = {"no": 3.0, "maybe": 1.0}
    model = NB(numeric=numeric, missing=missing)
    by_class = clone(model).set_params(class_weight=weights).fit(X, y)
    by_row = clone(model).fit(X, y, sample_weight=[weights[label] for label in y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-9)


def test_weights_that_sum_to_one_mean_the_same_as_none():
    """What AdaBoost passes: description lengths and pseudo-counts are in units of rows."""
    X, y = mixed_table(400)
    plain = NB().fit(X, y)
    for total in (1.0, 1.0 + 1e-9, 1.1, 2.0):
        scaled = NB().fit(X, y, sample_weight=np.full(400, total / 400))
        np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    boosted = AdaBoostClassifier(NB(), n_estimators=10, random_state=0)
    numbers = X[["age", "income", "ratio"]].fillna(0)
    assert boosted.fit(numbers, y).score(numbers, y) >= NB().fit(numbers, y).score(numbers, y)


def test_tiny_weights_beside_ordinary_ones():
    model = NB().fit(np.arange(8.0)[:, None], [0, 1] * 4, sample_weight=[1e-17, 1] * 4)
    assert np.isfinite(model.predict_proba(np.arange(8.0)[:, None])).all()


def test_weighted_gaussians_keep_small_variances_beside_large_means():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = 1e9 + rng.normal(3 * y, 1)[:, None]
    w = rng.random(2000)
    ours = NB(numeric="gaussian").fit(X, y, w).score(X, y)
    assert ours == pytest.approx(GaussianNB().fit(X - 1e9, y, w).score(X - 1e9, y), abs=0.01)
    assert len(Discretizer("sigma").fit(X, sample_weight=w).cuts_[0]) > 4


@pytest.mark.parametrize(
    ("weight", "words"),
    [(5e-324, "too little .* multiply"), (1e-200, "too little"), (1e200, "too much .* divide")],
)
def test_weights_that_nothing_can_be_made_of_are_refused(weight, words):
    X, y = mixed_table(60)
    every = np.full(60, weight)
    for model in (NB(), NB(numeric="kernel"), C45Classifier(), BoostedNaiveBayesClassifier()):
        with pytest.raises(ValueError, match=f"weights of all 60 rows add up to .*{words}"):
            clone(model).fit(X, y, sample_weight=every)
    with pytest.raises(ValueError, match=words):
        NB(class_weight=dict.fromkeys(y, weight)).fit(X, y)
    every[:] = np.where(np.arange(60) % 2, 1, min(weight, 1e80))
    model = BoostedNaiveBayesClassifier().fit(X, y, sample_weight=every)
    assert np.isfinite(model.predict_proba(X)).all()


def test_weights_too_large_for_squares_are_refused():
    with pytest.raises(ValueError, match="column 0 holds a number beyond"):
        NB(numeric="gaussian").fit([[1e150], [2], [3]], [0, 1, 1], sample_weight=[1e10, 1, 1])
    with pytest.raises(ValueError, match="sample_weight adds up to infinity"):
        NB().fit([[1], [2]], [0, 1], sample_weight=[1e308, 1e308])


def test_missingness_of_a_constant_gaussian_column_is_evidence():
    X = [[1.0], [1.0], [np.nan], [np.nan]] * 5
    y = [0, 0, 1, 1] * 5
    found = NB(numeric="gaussian", missing="value").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, NB(missing="value").fit(X, y).predict_proba(X))
    assert found[0, 0] > 0.9


def test_a_class_without_a_value_is_not_favoured_by_raw_frequencies():
    X = pd.DataFrame({"t": [*"abcdefgh", *[None] * 8]})
    model = NB(alpha=0).fit(X, [0] * 8 + [1] * 8)
    assert model.predict_proba(pd.DataFrame({"t": ["a"]})).tolist() == [[0.5, 0.5]]


def test_chunks_may_lack_classes_that_parameters_name():
    X, y = mixed_table(60, classes=2)
    one = X[y == "no"], y[y == "no"]
    for parameters in (
        {"class_weight": {"no": 1.0, "maybe": 2.0}},
        {"priors": {"no": 0.25, "maybe": 0.75}},
    ):
        whole = NB(**parameters).partial_fit(*one).partial_fit(X[y == "maybe"], y[y == "maybe"])
        expected = NB(**parameters).fit(X, y)
        assert (whole.predict_proba(X) == expected.predict_proba(X)).all()


def test_announced_classes_survive_merging_and_failed_updates():
    parts = [NB().partial_fit([[1], [2]], [0, 1], classes=[0, 1, 2]) for _ in range(2)]
    assert merge(parts).classes_.tolist() == [0, 1, 2]
    model = NB().fit([[1], [2]], [0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit([[1], [2]], [0, 5], classes=[0, 1])
    assert model.partial_fit([[3]], [7]).classes_.tolist() == [0, 1, 7]
    mixed = NB().partial_fit([[1]], np.array(["a"], dtype=object), classes=[1, "a"])
    assert mixed.classes_.tolist() == [1, "a"]


def test_a_failed_fit_leaves_no_trace():
    X, y = mixed_table(60)
    model = NB().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(pd.DataFrame({"other": [1.0, np.inf]}), [0, 1])
    assert model.n_features_in_ == 6
    assert model.predict(X).shape == (60,)
    fresh = NB()
    with pytest.raises(ValueError, match="infinity"):
        fresh.fit([[1.0], [np.inf]], [0, 1])
    with pytest.raises(NotFittedError):
        fresh.predict([[1.0]])


def test_equal_parameters_in_another_order_can_be_merged():
    X, y = mixed_table(60)
    a = NB(numeric={"age": "width", "ratio": "sigma"}).fit(X, y)
    b = NB(numeric={"ratio": "sigma", "age": "width"}).fit(X, y)
    assert merge([a, b]).class_count_.sum() == 120


def test_labels_of_columns_that_are_not_text_are_used():
    X = pd.DataFrame({10: [1.0, 2, 3, 4], 7: [4.0, 1, 1, 4]})
    model = NB(numeric={10: "gaussian"}).fit(X, [0, 0, 1, 1])
    assert (model.predict_proba(X[[7, 10]]) == model.predict_proba(X)).all()
    assert not hasattr(model, "feature_names_in_")
    assert model.evidence(X).terms == [10, 7]


def test_columns_whose_names_are_tuples_can_be_named():
    X = pd.DataFrame({("a", "b"): [1, 2, 1, 2], ("a", "c"): [4.0, 1, 1, 4]})
    for chosen in ([("a", "b")], X.columns[:1], {("a", "b")}):
        model = NB(categorical_features=chosen, numeric={("a", "c"): "gaussian"})
        model.fit(X, [0, 0, 1, 1])
        assert [c.kind for c in model.schema_] == ["categorical", "numeric"]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (pl.DataFrame({"a": [1, 2]}).lazy(), TypeError, "y must be the name of a column"),
        (pl.Series([1, 2]), ValueError, "a single column or row.*table.iloc"),
        (pd.DataFrame({"a": [(1, 2), (3, 4)]}), TypeError, "column 'a' holds values of type tuple"),
        ([[10**400], [1]], ValueError, "column 0 holds a number too large"),
        (
            pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]),
            ValueError,
            "several columns named 'a'",
        ),
    ],
    ids=["lazy", "series", "tuples", "huge", "twins"],
)
def test_tables_that_cannot_be_read_say_why(table, error, words):
    with pytest.raises(error, match=words):
        NB().fit(table, [0, 1])


@pytest.mark.parametrize("name", ["column_names", "columns", "collect", "schema", "dtypes", "T"])
def test_columns_may_be_named_as_what_tables_have(name):
    table = pd.DataFrame({name: ["a", "b"] * 5, "other": range(10)})
    assert NB().fit(table, [0, 1] * 5).score(table, [0, 1] * 5) == 1.0


def test_interval_names_tell_intervals_apart():
    x = 10_000_000 + np.arange(40.0)[:, None]
    out = Discretizer("width", n_bins=4, encode="interval").fit_transform(x)
    assert len(set(out[:, 0])) == 4
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=40)})
    named = Discretizer("width", n_bins=2, encode="interval").fit_transform(days)
    assert named["day"].iloc[0] == "(-inf, 2024-01-20T12:00]"


def test_tables_keep_their_kind_and_types_beside_categories():
    X, y = mixed_table(50)
    X.index = X.index + 100
    out = Discretizer().fit_transform(X, y)
    assert out["age"].dtype == np.float64
    assert out["plan"].dtype == X["plan"].dtype
    assert (out.index == X.index).all()
    polars = Discretizer().fit_transform(pl.from_pandas(X), y)
    assert polars["age"].dtype == pl.Float64


def test_rules_without_classes_need_no_labels():
    X, _ = mixed_table(50)
    numbers = X[["age", "ratio"]]
    assert Discretizer({"age": "width", "ratio": "sigma"}).fit(numbers).cuts_[0].size == 9
    with pytest.raises(ValueError, match="method 'mdl' requires y to be passed"):
        Discretizer({"age": "width"}).fit(numbers)


def test_decimals_are_the_same_numbers_in_every_library():
    from decimal import Decimal

    values = [Decimal(i) / 100 for i in range(1, 2000)]
    y = [i % 2 for i in range(1, 2000)]
    cuts = [
        Discretizer("frequency").fit(frame, y).summary_.coders[0].low.tobytes()
        for frame in (
            pd.DataFrame({"x": values}),
            pl.DataFrame({"x": values}),
            pa.table({"x": pa.array(values, pa.decimal128(10, 2))}),
        )
    ]
    assert cuts[0] == cuts[1] == cuts[2]


def test_counts_that_would_fill_the_memory_are_refused():
    n = 30_000
    with pytest.raises(MemoryError, match="column 0 has 30,000 different values and y has 30,000"):
        NB().fit(np.random.default_rng(0).normal(size=(n, 1)), np.arange(n))


def test_rows_in_several_tasks_are_all_counted(monkeypatch):
    counting = sys.modules["unnaive.counts.counting"]
    discretizer = sys.modules["unnaive.discretize.discretizer"]
    X, y = mixed_table(3000)
    cats = X[["city", "plan", "member"]]
    expected = NB().fit(cats, y)
    numbers = X[["age", "income"]].to_numpy()
    whole = Discretizer("width").fit_transform(numbers)
    monkeypatch.setattr(counting, "JOINT_ROWS", 700)
    monkeypatch.setattr(discretizer, "ROWS", 700)
    assert_same_model(expected, NB(n_jobs=2).fit(cats, y))
    np.testing.assert_array_equal(whole, Discretizer("width", n_jobs=2).fit_transform(numbers))


def test_identifiers_pass_through_the_discretizer():
    n = 65_600
    table = pd.DataFrame({"id": [f"customer {i}" for i in range(n)], "x": np.arange(n) % 7})
    out = Discretizer("width", n_bins=2).fit_transform(table)
    assert (out["id"] == table["id"]).all()
    assert set(out["x"]) == {0.0, 1.0}
