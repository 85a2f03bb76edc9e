"""Rows taken out of models again: fit(A + B) - B = fit(A)."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive import Discretizer, NaiveBayesClassifier, load, merge, save, subtract


def saved(model):
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def table(rows):
    """Numbers with gaps, text with gaps, a flag, a column of dates."""
    columns = zip(*rows, strict=True)
    names = ("number", "text", "flag", "day")
    out = pd.DataFrame(dict(zip(names, columns, strict=True)))
    out["number"] = out["number"].astype(float)
    out["text"] = out["text"].astype(object)
    out["flag"] = out["flag"].astype(bool)
    out["day"] = pd.to_datetime(out["day"], unit="D")
    return out


ROW = st.tuples(
    st.sampled_from([None, -1.5, 0.0, 2.0, 3.25, 1e9]),
    st.sampled_from([None, "a", "b", "other"]),
    st.booleans(),
    st.integers(0, 5),
)
LABELLED = st.tuples(ROW, st.sampled_from(["no", "yes", "perhaps not"]), st.integers(1, 3))
MODELS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(numeric={"number": "gaussian", "day": "frequency"}, missing="value"),
    NaiveBayesClassifier(max_categories=2, class_weight="balanced"),
    Discretizer(),
    Discretizer("frequency", n_bins=3),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=8, deadline=None)
@given(
    st.lists(LABELLED, min_size=1, max_size=12),
    st.lists(LABELLED, min_size=1, max_size=12),
    st.booleans(),
)
def test_forgetting_part_of_the_rows_leaves_the_bytes_of_a_fit_on_the_others(
    model, kept, gone, weighted
):
    def fit(rows):
        X, y, weight = zip(*rows, strict=True)
        given = np.array(weight) / 4 if weighted else None
        return type(model)(**model.get_params()).fit(table(X), list(y), given)

    X, y, weight = zip(*gone, strict=True)
    given = np.array(weight) / 4 if weighted else None
    whole, part, rest = fit(kept + gone), fit(gone), fit(kept)
    assert saved(subtract(whole, part)) == saved(rest)
    assert saved(merge([subtract(whole, part), part])) == saved(whole)
    whole.forget(table(X), list(y), given)
    assert saved(whole) == saved(rest)


def test_whatever_only_the_forgotten_rows_had_is_gone():
    X = pd.DataFrame(
        {"c": ["1", "x", "x"], "n": [None, 5.0, None], "t": ["u", "v", None]}, dtype=object
    )
    X["n"] = X["n"].astype(float)
    y = np.array(["no", "a long label", "yes"])
    model = NaiveBayesClassifier(categorical_features=["c"]).fit(X, y)
    model.forget(X[1:2], y[1:2])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.classes_.dtype == "<U3"
    alone = NaiveBayesClassifier(categorical_features=["c"]).fit(X.iloc[[0, 2]], y[[0, 2]])
    assert saved(model) == saved(alone)
    assert model.schema_[1].kind == "empty"
    model.partial_fit(X[1:2], y[1:2])
    assert saved(model) == saved(NaiveBayesClassifier(categorical_features=["c"]).fit(X, y))


def test_labels_of_several_types_become_those_of_the_rows_left():
    X, y = np.arange(4.0)[:, None], np.array([1, "x", 10, 2], dtype=object)
    model = NaiveBayesClassifier().fit(X, y).forget(X[1:2], y[1:2])
    assert saved(model) == saved(NaiveBayesClassifier().fit(X[[0, 2, 3]], [1, 10, 2]))


def test_announced_classes_stay_when_their_rows_go():
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 1, 1, 0, 1])
    whole = NaiveBayesClassifier().partial_fit(X, y, classes=[0, 1, 2])
    rest = NaiveBayesClassifier().partial_fit(X[:2], y[:2], classes=[0, 1, 2])
    assert saved(whole.forget(X[2:4], y[2:4]).forget(X[4:], y[4:])) == saved(rest)


def test_rows_of_files_are_forgotten_as_rows_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400).round(2), "b": rng.choice(["u", "v"], 400)})
    y = rng.choice(["no", "yes"], 400)
    X[300:].assign(y=y[300:]).to_parquet(tmp_path / "gone.parquet")
    X.assign(y=y).to_parquet(tmp_path / "all.parquet")
    model = NaiveBayesClassifier().fit(tmp_path / "all.parquet", "y")
    model.forget(tmp_path / "gone.parquet", "y")
    assert saved(model) == saved(NaiveBayesClassifier().fit(X[:300], pd.Series(y[:300], name="y")))


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ({"a": [9.0], "c": ["u"]}, ["no"], "column 'a' has the value 9.0, which the model"),
        ({"a": [1.0], "c": ["w"]}, ["no"], "column 'c' has the value 'w', which the model"),
        ({"a": [1.0], "c": ["u"]}, ["maybe"], "the label 'maybe', which the model does not know"),
        ({"a": [1.0] * 2, "c": ["u"] * 2}, ["no"] * 2, "'a' has the value 1.0 with the class"),
        ({"a": [None], "c": ["v"]}, ["yes"], "'a' has no value with the class 'yes' 1 times"),
        ({"a": [1.0, 2.0, 3.0] * 3, "c": ["u"] * 9}, ["no"] * 9, "there are 9 of them, but 4"),
        ({"a": [1.0, 2, 3, 4], "c": ["u", "v", "u", "v"]}, ["no", "yes"] * 2, "0 sample"),
    ],
)  # fmt: skip
def test_rows_that_were_never_learned_are_refused_and_nothing_changes(X, y, words):
    rows = pd.DataFrame({"a": [1.0, 2, 3, 4], "c": ["u", "v", "u", "v"]})
    model = NaiveBayesClassifier().fit(rows, ["no", "yes", "no", "yes"])
    before = saved(model)
    with pytest.raises(ValueError, match=words):
        model.forget(pd.DataFrame(X).astype({"a": float}), y)
    assert saved(model) == before


def test_values_that_the_moments_cannot_have_are_refused():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    model = NaiveBayesClassifier(numeric="gaussian").fit(X, [0, 0, 1, 1])
    before = saved(model)
    with pytest.raises(ValueError, match="column 0 has other values in them"):
        model.forget(np.array([[100.0]]), [0])
    assert saved(model) == before


def test_a_parameter_that_needs_a_forgotten_class_leaves_the_model_as_it_was():
    X = np.arange(6.0)[:, None]
    model = NaiveBayesClassifier(priors=[0.2, 0.8]).fit(X, [0, 0, 0, 0, 1, 1])
    before = saved(model)
    with pytest.raises(ValueError, match="priors"):
        model.forget(X[4:], [1, 1])
    assert saved(model) == before


def test_real_weights_leave_sums_within_rounding():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"n": rng.integers(0, 50, 500) * 1.0, "c": rng.choice(list("abc"), 500)})
    y, weight = rng.choice(["no", "yes"], 500), rng.exponential(size=500)
    X.loc[450:, "c"] = "only here"
    model = NaiveBayesClassifier().fit(X, y, weight).forget(X[400:], y[400:], weight[400:])
    alone = NaiveBayesClassifier().fit(X[:400], y[:400], weight[:400])
    assert model.summary_.coders[1] == alone.summary_.coders[1]
    np.testing.assert_allclose(
        model.summary_.counts.counts, alone.summary_.counts.counts, rtol=1e-9
    )
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), rtol=1e-9)


def test_a_coarsened_grid_keeps_its_cells_and_counts_the_other_rows_in_them():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 1)), rng.integers(0, 2, 300)
    model = NaiveBayesClassifier(grid_limit=20).fit(X, y)
    grid = model.summary_.coders[0]
    model.forget(X[200:], y[200:])
    left = model.summary_.coders[0]
    assert left.shift == grid.shift > 0
    assert set(left.cells) <= set(grid.cells)
    wanted = np.zeros((2, left.size + 2))
    np.add.at(wanted, (y[:200], left.codes(X[:200, 0])), 1)
    assert (model.summary_.counts.counts == wanted).all()
    # Where the same cells are the finest that fit, and no end of a cell was forgotten, bytes agree.
    alone = NaiveBayesClassifier(grid_limit=20).fit(X[:200], y[:200]).summary_.coders[0]
    assert alone.shift <= left.shift


def test_models_that_cannot_forget_say_so():
    X, y = np.arange(4.0)[:, None], [0, 1, 0, 1]
    compact = NaiveBayesClassifier().fit(X, y)
    compact.compact()
    with pytest.raises(ValueError, match="made compact, so it cannot be made to forget rows"):
        compact.forget(X[:1], y[:1])
    whole = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(ValueError, match="differ in alpha"):
        subtract(whole, NaiveBayesClassifier(alpha=1.0).fit(X, y))
    with pytest.raises(TypeError, match="cannot be subtracted"):
        subtract(whole, Discretizer().fit(X, y))
    with pytest.raises(ValueError, match="parameters that say how numbers are counted"):
        whole.set_params(numeric="gaussian").forget(X[:1], y[:1])


def test_a_loaded_model_forgets_as_well():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    again = load(io.BytesIO(saved(NaiveBayesClassifier().fit(X, y))))
    assert saved(again.forget(X[6:], y[6:])) == saved(NaiveBayesClassifier().fit(X[:6], y[:6]))
