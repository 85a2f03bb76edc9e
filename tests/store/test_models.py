"""Model files: every model comes back as it was, and nothing else comes out of a file."""

from __future__ import annotations

import datetime
import decimal
import io
import os
import pickle
import sys
from functools import cache

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unnaive
from fuzz.mutate import Broken
from helpers import assert_same_model, mixed_table
from registry import ADDITIVE, CHOOSERS, ESTIMATORS
from unnaive import (
    BaggedNaiveBayesClassifier,
    ClassDecompositionClassifier,
    Discretizer,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    merge,
)
from unnaive.answer import ExternalEstimator
from unnaive.common.registry import estimators
from unnaive.store import ModelFileError
from unnaive.store.estimators import STORED, is_learned, learned_hints

KEPT = [*ESTIMATORS, *CHOOSERS]
KNOWN = [cls for cls in estimators().values() if cls.__module__.startswith("unnaive.")]
every = pytest.mark.parametrize("estimator", KEPT, ids=repr)


def saved(model):
    file = io.BytesIO()
    unnaive.save(model, file)
    return file.getvalue()


def loaded(data):
    return unnaive.load(io.BytesIO(data))


def again(model):
    return loaded(saved(model))


def awkward(X):
    """Gaps and values that were never seen."""
    X = X.copy()
    X.loc[X.index[:3], "age"] = [np.nan, 1e300, -5.0]
    X["city"] = ["Paris", None, *X["city"][2:]]
    return X


def answers(model, X):
    names = ("predict_proba", "predict", "predict_log_proba", "transform")
    return [np.asarray(getattr(model, n)(X)) for n in names if hasattr(model, n)]


def assert_same_answers(a, b, X):
    for first, second in zip(answers(a, X), answers(b, X), strict=True):
        assert first.dtype == second.dtype
        if first.dtype == object:
            pd.testing.assert_frame_equal(pd.DataFrame(first), pd.DataFrame(second))
        else:
            assert first.tobytes() == second.tobytes()


def assert_same(a, b, X):
    assert repr(a) == repr(b)
    assert_same_model(a, b)
    assert_same_answers(a, b, X)


def parts_of(model):
    """The model, and fitted estimators inside of it, which helpers do not look into."""
    found = [model]
    for name in ("estimator_", "clusterers_"):
        inner = getattr(model, name, [])
        found += inner if isinstance(inner, list) else [inner]
    return found


# Every estimator -------------------------------------------------------------------------------


@every
def test_a_model_comes_back_bit_for_bit_with_and_without_its_sums(estimator, tmp_path):
    X, y = mixed_table(120)
    model = clone(estimator).fit(X[:90], y[:90])
    path = tmp_path / "model.unv"
    unnaive.save(model, path)
    found = unnaive.load(path)
    assert os.listdir(tmp_path) == ["model.unv"]
    assert_same(model, found, awkward(X))
    for own, same in zip(parts_of(model), parts_of(found), strict=True):
        if own is not None:
            assert_same_model(own, same)
    assert saved(found) == path.read_bytes()
    if hasattr(model, "partial_fit"):
        for each in (model, found):
            each.partial_fit(X[90:], y[90:])
        assert_same(model, found, awkward(X))
    if hasattr(model, "compact"):
        before = len(saved(model))
        model.compact()
        assert len(saved(model)) < before
        assert_same(model, again(model), awkward(X))


@pytest.mark.parametrize("estimator", KEPT[::4], ids=repr)
def test_a_model_of_an_unnamed_table_comes_back_bit_for_bit(estimator):
    X, y = mixed_table(90)
    numbers = X[["age", "income", "ratio"]].to_numpy()
    model = clone(estimator).fit(numbers, y)
    found = again(model)
    assert not hasattr(found, "feature_names_in_")
    assert_same(model, found, numbers)


@pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)
def test_loaded_models_can_be_merged(estimator):
    X, y = mixed_table(120)
    first, second = (clone(estimator).fit(X[p], y[p]) for p in (slice(70), slice(70, None)))
    assert_same_model(merge([first, second]), merge([again(first), again(second)]))


@pytest.mark.parametrize("estimator", KEPT[::5], ids=repr)
def test_joblib_and_skops_keep_every_learned_byte(estimator, tmp_path):
    """As pickle and deepcopy do: tests/contract."""
    X, y = mixed_table(80)
    model = clone(estimator).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib", compress=1)
    assert_same(model, joblib.load(tmp_path / "model.joblib"), awkward(X))
    data = skops.io.dumps(model)
    found = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert_same(model, found, awkward(X))


# What is declared -------------------------------------------------------------------------------


def test_every_public_estimator_can_be_saved():
    tested = {type(e).__name__ for e in KEPT} | {"Timeline", "AnswerClassifier"}  # elsewhere
    assert tested == {cls.__name__ for cls in KNOWN}


@every
def test_what_is_learned_is_declared_and_what_is_declared_is_learned(estimator):
    X, y = mixed_table(80)
    model = clone(estimator).fit(X, y)
    found = {name for name in vars(model) if is_learned(name)}
    declared = set(learned_hints(type(model)))
    assert found <= declared, f"declare in the class, with its type: {found - declared}"
    assert declared - found <= model._optional_attributes
    kept = {*model.get_params(), "_about"}  # how it was trained stands in files as well
    others = [n for n in vars(model) if not is_learned(n) and n not in kept]
    # A choice among models keeps what it compared, but not in its file.
    assert others in ([], ["_comparison"]), "kept by the model, but not in its file"


def test_every_class_that_is_declared_is_known():
    """A field of a new type fails here: list it in store/estimators.py."""
    for name in STORED.classes:
        assert STORED.fields(name)
        for _, hint, _ in STORED.fields(name):
            check_hint(hint)
    for cls in KNOWN:
        for hint in learned_hints(cls).values():
            check_hint(hint)


def check_hint(hint):
    from typing import Any, Literal, get_args, get_origin

    from sklearn.base import BaseEstimator

    origin = get_origin(hint)
    if origin is np.ndarray or origin is Literal or hint is ...:
        return
    if origin is not None:
        for inner in get_args(hint):
            check_hint(inner)
    # What another library's model says cannot be kept: saving it is refused.
    elif hint not in (Any, bool, int, float, str, type(None), BaseEstimator, ExternalEstimator):
        known = list(STORED.classes.values())
        assert any(issubclass(cls, hint) for cls in known), f"{hint} is not known to model files"


def test_an_undeclared_attribute_and_an_unknown_type_are_refused_by_name():
    model = NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1])
    model.extra_ = 1
    with pytest.raises(ModelFileError, match="learned extra_, which NaiveBayesClassifier does not"):
        saved(model)
    del model.extra_
    model.class_count_ = [1.0, 1.0]
    with pytest.raises(ModelFileError, match="model.class_count_ is a list, not an array"):
        saved(model)


def test_long_texts_and_a_column_named_nan_come_back():
    for X in (
        pd.DataFrame({"c": ["a" * 2_000_000, "b"] * 15}),
        pd.DataFrame(np.arange(60.0).reshape(30, 2), columns=[np.nan, "b"]),
    ):
        model = NaiveBayesClassifier().fit(X, [0, 1, 1] * 10)
        assert_same_answers(again(model), model, X)


def test_what_is_written_is_read_again_before_the_file_gets_its_name(tmp_path, monkeypatch):
    """Whatever makes a file unreadable is noticed while there is still a model."""
    path = tmp_path / "model.unv"
    path.write_bytes(b"what was there before")
    model = NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1])
    monkeypatch.setattr("unnaive.store.plain.ArrayWriter._add", lambda self, array: 10**6)
    with pytest.raises(ModelFileError, match="cannot be saved: .* an array that is not there"):
        unnaive.save(model, path)
    assert os.listdir(tmp_path) == ["model.unv"]
    assert path.read_bytes() == b"what was there before"


# Labels, categories, names, parameters ----------------------------------------------------------

LABELS = {
    "text": ["no", "yes", "ümlaut 'quoted'"],
    "whole": [3, -1, 2**40],
    "floats": [0.0, 1.0, 2.0],
    "small": np.array([1, 2, 3], dtype=np.int8),
    "unsigned": np.array([2**63, 2**64 - 1, 1], dtype=np.uint64),
    "truth": [True, False, True],
    "bytes": np.array([b"a", b"bc", b"d"]),
    "mixed": np.array([1, "a", 2.5], dtype=object),
    "moments": np.array(["2020-01-01", "2020-01-02", "1999-12-31"], dtype="M8[ns]"),
    "dates": np.array([datetime.date(2020, 1, d) for d in (1, 2, 3)], dtype=object),
    "decimals": np.array([decimal.Decimal(d) for d in ("1", "1.5", "2")], dtype=object),
    "tuples": np.array([("a", 1), ("b", 2), ("c", 3)], dtype="O,O").astype(object),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), ClassDecompositionClassifier()])
def test_labels_of_every_type_come_back(estimator, name):
    labels = LABELS[name]
    y = np.asarray(labels)[np.arange(60) % 3]
    X = np.arange(60.0).reshape(-1, 1) + 5 * (np.arange(60) % 3)[:, None]
    model = clone(estimator).fit(X, y)
    found = again(model)
    assert found.classes_.dtype == model.classes_.dtype
    assert list(map(type, found.classes_)) == list(map(type, model.classes_))
    assert found.predict(X).tolist() == model.predict(X).tolist()
    assert_same_model(model, found)


CATEGORIES = {
    "text": ["a", "ü", ""],
    "numbers": [1, 2, -7],
    "truth": [True, False, True],
    "dates": [datetime.date(2020, 1, d) for d in (1, 2, 3)],
    "zones": [pd.Timestamp(2020, 6, d, tz="Europe/Rome") for d in (1, 2, 3)],
    "durations": [pd.Timedelta(d, "D") for d in (1, 2, 3)],
    "many texts": [f"ümlaut {i}" for i in range(1500)],
    "decimals": [decimal.Decimal(d) for d in ("1", "1.5", "2")],
    "fractions": [0.5, 1.5, 2.25],
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_of_every_type_come_back(name):
    values = 10 * CATEGORIES[name] + [None]
    table = pd.DataFrame({"c": pd.Series(values, dtype=object).astype("category")})
    y = np.arange(len(values)) % 3 > 0
    model = NaiveBayesClassifier(missing="value").fit(table, y)
    found = again(model)
    assert found.coders_[0].values == model.coders_[0].values
    if name not in ("zones", "durations"):  # those of pandas become those of Python
        assert_same_model(model, found)
    assert_same_answers(model, found, table)


def test_names_of_any_kind_and_other_libraries_frames_work_after_loading():
    X, y = mixed_table(60)
    numbers = X[["ratio", "income"]].copy()
    numbers.columns = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    model = NaiveBayesClassifier().fit(numbers, y)
    assert again(model).schema_ == model.schema_
    assert_same_answers(model, again(model), numbers)
    hostile = pl.DataFrame({'"; drop': X["ratio"], "": X["income"], "ü\n": X["city"].astype(str)})
    model = NBTreeClassifier(random_state=0).fit(hostile, y)
    assert_same(model, again(model), hostile)
    shuffled = hostile.select(["ü\n", '"; drop', ""])
    assert (again(model).predict(shuffled) == model.predict(hostile)).all()


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(
            numeric={"age": "gaussian", 2: "kernel"},
            priors={"no": 0.2, "maybe": 0.3, "yes": 0.5},
            class_weight={"no": 2.0},
            max_categories=2,
            categorical_features=["age"][:0],
            alpha=np.float32(0.5),
            n_bins=np.int64(4),
        ),
        NaiveBayesClassifier(
            priors=np.array([0.2, 0.3, 0.5]), categorical_features=[True] + 5 * [False]
        ),
        NaiveBayesClassifier(priors=(0.2, 0.3, 0.5), class_weight="balanced"),
        HierarchicalMixtureClassifier(
            layers=[2, 2], class_weight={"no": 1}, random_state=np.int64(3)
        ),
        BaggedNaiveBayesClassifier(n_estimators=30, oob_score=True, random_state=1),
        NBTreeClassifier(cv=KFold(3), random_state=0),
        NBTreeClassifier(cv=StratifiedKFold(3, shuffle=True, random_state=0), random_state=0),
        LatentClassClusterer(cv=KFold(4, shuffle=True, random_state=1), random_state=0),
        NBTreeClassifier(
            cv=[(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
        ),
        ClassDecompositionClassifier(
            ClassDecompositionClassifier(NaiveBayesClassifier(alpha=2.0), LatentClassClusterer(2)),
            LatentClassClusterer(2, n_init=1),
            random_state=0,
        ),
    ],
    ids=lambda m: repr(m)[:70],
)  # fmt: skip
def test_parameters_of_every_type_come_back(model):
    X, y = mixed_table(120)
    model = clone(model).fit(X, y)
    found = again(model)
    assert_same(model, found, X)
    for name, value in model.get_params(deep=False).items():
        assert type(getattr(found, name)) is type(value), name


def test_the_kind_of_output_is_kept():
    X, y = mixed_table(60)
    model = Discretizer().set_output(transform="polars").fit(X, y)
    assert isinstance(again(model).transform(X), pl.DataFrame)
    assert_same(
        Discretizer(encode="interval").fit(X, y), again(Discretizer(encode="interval").fit(X, y)), X
    )


def test_numbers_from_end_to_end_come_back():
    X = np.array([[-1.7e308], [-5e-324], [0.0], [-0.0], [5e-324], [1.7e308], [np.nan]] * 5)
    y = np.arange(35) % 2
    for numeric in ("mdl", "width", "frequency", "kernel"):
        model = NaiveBayesClassifier(numeric=numeric).fit(X, y)
        assert_same(model, again(model), X)
    model = NaiveBayesClassifier(numeric="gaussian").fit(X[1:5].repeat(3, 0) * 1e150, y[:12])
    assert_same(model, again(model), X)


def test_tables_with_little_in_them_come_back():
    table = pd.DataFrame(
        {"nothing": [None] * 6, "same": [1.0] * 6, "one": ["a"] * 6, "x": [1, 2, 3, 4, 5, None]}
    )
    for estimator in ESTIMATORS:
        for y in (["only"] * 6, ["a", "b"] * 3):
            model = clone(estimator).fit(table, y)
            assert_same(model, again(model), table)


# Refused when saving ----------------------------------------------------------------------------


class Colour:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name

    def __lt__(self, other):
        return self.name < other.name


class Mine(NaiveBayesClassifier):
    pass


NUMBERS, TARGET = np.arange(40.0).reshape(-1, 1), np.arange(40) % 2


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (GaussianNB(), "model is a sklearn.naive_bayes.GaussianNB; .* Use skops or joblib"),
        (Mine(), "Mine; model files hold only estimators of unnaive"),
        (
            make_pipeline(StandardScaler(), NaiveBayesClassifier()),
            "a Pipeline with StandardScaler cannot be saved",
        ),
        (ClassDecompositionClassifier(GaussianNB()), r"model.estimator is a sklearn\.naive"),
        (ClassDecompositionClassifier(clusterer=KMeans(2)), r"model.clusterer is a sklearn\.clus"),
        (
            NBTreeClassifier(random_state=np.random.RandomState(0)),
            r"model.random_state is a RandomState.*set_params\(random_state=None\)",
        ),
        (
            NBTreeClassifier(cv=KFold(3, shuffle=True, random_state=np.random.RandomState(0))),
            "model.cv.random_state is RandomState.*only numbers there",
        ),
        (NBTreeClassifier(cv=iter(list(KFold(3).split(NUMBERS)))), "cv: builtins.list_it"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_a_file_cannot_hold_is_named(model, words):
    model.fit(NUMBERS, TARGET)
    with pytest.raises(ModelFileError, match=words):
        saved(model)


def test_other_splitters_and_labels_of_ones_own_are_named():
    model = NBTreeClassifier(random_state=0).fit(NUMBERS, TARGET).set_params(cv=GroupKFold(2))
    with pytest.raises(ModelFileError, match=r"model.cv is a GroupKFold; model files hold KFold"):
        saved(model)
    y = np.array([Colour("red"), Colour("blue")], dtype=object)[TARGET]
    with pytest.raises(ModelFileError, match=r"Colour cannot be stored; use text"):
        saved(NaiveBayesClassifier().fit(NUMBERS, y))


def test_unfitted_models_and_other_things_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        unnaive.save(NaiveBayesClassifier(), tmp_path / "a.unv")
    with pytest.raises(ModelFileError, match="save takes a fitted model, then a path; got a"):
        unnaive.save("a.unv", NaiveBayesClassifier())


# Refused when loading ---------------------------------------------------------------------------

X0, Y0 = mixed_table(60)
SAMPLE, TREE = NaiveBayesClassifier(numeric="width"), unnaive.C45Classifier()
DENSE = unnaive.FlexibleNBTreeClassifier(random_state=0)  # columns 0 to 2 are numbers


@cache
def file_of(estimator):
    return saved(clone(estimator).fit(X0, Y0))


def changed(data, change):
    broken = Broken(data)
    change(broken, broken.document["model"])
    return broken.file()


def array_of(broken, node):
    """The numbers of an array in the content, to be changed in place."""
    i = node["$array"]
    entry = broken.types[i]
    block = bytearray(broken.blocks[i])
    broken.blocks[i] = block
    return np.frombuffer(block, dtype=entry[0]).reshape(entry[1])


def put(path, index, value):
    """Put a number into a learned array."""

    def change(broken, model):
        node = model["learned"]
        for step in path:
            node = node[step]
        array_of(broken, node)[index] = value

    return change


def assign(path, value):
    def change(broken, model):
        node = model
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value

    return change


ROOT = ("answer_", "root")
SCORER = (*ROOT, "scorer")
TERM = (*SCORER, "terms", "$tuple", 0)


@pytest.mark.parametrize(
    ("estimator", "change", "words"),
    [
        (SAMPLE, put((*SCORER, "log_prior"), 0, np.nan), "log_prior has numbers"),
        (SAMPLE, put((*TERM, "logs"), 0, np.inf), "logs has numbers outside"),
        (SAMPLE, put((*TERM, "logs"), 0, 1e200), "logs has numbers outside"),
        (SAMPLE, put((*TERM, "coder", "cuts"), 0, np.nan), "cuts has numbers outside"),
        (SAMPLE, put(("class_count_",), 0, -1.0), "(class_count_|totals) has numbers outside"),
        (SAMPLE, put(("summary_", "counts", "offsets"), 1, 10**9), "no slot|counts"),
        (SAMPLE, put(("summary_", "counts", "counts"), (0, 0), -1), "counts has numbers"),
        (SAMPLE, assign(("is",), "GaussianNB"), "'GaussianNB', not an estimator that is known"),
        (SAMPLE, assign(("is",), "Discretizer"), "parameters that Discretizer does not have"),
        (SAMPLE, assign(("parameters", "alpha"), -1), "alpha must be a number, 0 or more"),
        (SAMPLE, assign(("parameters", "missing"), "perhaps"), "missing must be 'skip' or 'value'"),
        (SAMPLE, assign(("parameters", "numeric"), "better"), "numeric must be one of"),
        (SAMPLE, assign(("parameters", "colour"), 1), "parameters that NaiveBayesClassifier does"),
        (SAMPLE, assign(("parameters", "n_jobs"), 0), "n_jobs is 0"),
        (SAMPLE, assign(("splitters", "cv"), ["KFold", {}]), "splitters that NaiveBayes"),
        (SAMPLE, assign(("learned", "n_features_in_"), 5), "n_features_in_ is 5, but schema_ has"),
        (SAMPLE, assign(("learned", "n_features_in_"), True), "is a bool, not a int"),
        (SAMPLE, assign(("learned", "other_"), 1), "lacks what a fitted NaiveBayes"),
        (SAMPLE, assign(("learned", *SCORER), {"is": "Summary"}), "'Summary', not a Scorer"),
        (SAMPLE, assign(("learned", *SCORER, "more"), 1), "'more', which is unknown"),
        (SAMPLE, assign(("learned", "schema_", "named"), False), "names without a table"),
        (SAMPLE, assign(("learned", *TERM, "coder", "is"), "Grid"), "'Grid', not one of"),
        (SAMPLE, put(("answer_", "classes"), 1, "maybe"), "a class is listed twice"),
        (
            SAMPLE,
            assign(("learned", "schema_", "columns", "$tuple", 0, "kind"), "categorical"),
            "columns|numbered|summed",
        ),
        (
            SAMPLE,
            assign(("learned", "schema_", "columns", "$tuple", 3, "kind"), "numeric"),
            "holds text, but is numeric",
        ),
        (TREE, put((*ROOT, "parent"), 2, 2), "a child comes before its parent"),
        (TREE, put((*ROOT, "parent"), 1, -1), "parent has numbers outside"),
        (TREE, put((*ROOT, "attribute"), 0, 99), "attribute has numbers outside"),
        (TREE, put((*ROOT, "attribute"), 0, -1), "a leaf has children"),
        (TREE, put((*ROOT, "child"), 1, 10**6), "child and child_start do not match parent"),
        (TREE, put((*ROOT, "child_start"), 1, 10**6), "child and child_start do not match parent"),
        (TREE, put((*ROOT, "route"), 0, 10**6), "a test leads to no child"),
        (TREE, put((*ROOT, "route_start"), 1, 10**6), "route_start does not match"),
        (TREE, put((*ROOT, "offsets"), 1, 10**6), "offsets do not match the coders"),
        (TREE, put((*ROOT, "answer"), (0, 0), 0.99), "answer does not sum to 1"),
        (TREE, put((*ROOT, "class_weight"), slice(1, None), 0.0), "children of a node have no"),
        (DENSE, put((*ROOT, "densities", "width"), (0, 0, 0), -1.0), "width has numbers outside"),
        (DENSE, put((*ROOT, "densities", "width"), (0, 0, 0), np.nan), "width has numbers outside"),
        (DENSE, put((*ROOT, "densities", "width"), (3, 0, 0), 0.5), "density has a width"),
        (DENSE, put((*ROOT, "densities", "last"), (0, 0, 0), -1), "ends before it begins"),
        (DENSE, put((*ROOT, "densities", "last"), (0, 0, 0), 0), "a class has no density"),
        (DENSE, put((*ROOT, "densities", "first"), (3, 0, 0), 1), "density has .* a place"),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_inside_is_refused_for_its_reason(estimator, change, words):
    with pytest.raises(ModelFileError, match=f"cannot be loaded: .*({words})"):
        loaded(changed(file_of(estimator), change))


def test_a_refused_file_is_named(tmp_path):
    path = tmp_path / "mine.unv"
    path.write_bytes(file_of(SAMPLE)[:-1])
    with pytest.raises(ModelFileError, match="mine.unv cannot be loaded: this is not a"):
        unnaive.load(path)
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError, match="this is not a file of unnaive"):
        unnaive.load(path)
    with pytest.raises(FileNotFoundError):
        unnaive.load(tmp_path / "none.unv")


def test_a_file_of_a_later_release_says_so():
    broken = Broken(file_of(SAMPLE))
    broken.document["format"] = 99
    with pytest.raises(ModelFileError, match="format 99, .*install a later release"):
        loaded(broken.file())


def test_a_model_within_a_model_is_checked_too():
    model = ClassDecompositionClassifier(random_state=0).fit(X0, Y0)
    broken = Broken(saved(model))
    inner = broken.document["model"]["learned"]["estimator_"]
    array_of(broken, inner["learned"]["class_count_"])[0] = np.nan
    with pytest.raises(ModelFileError, match="model.estimator_.*has numbers outside"):
        loaded(broken.file())
    inner["learned"] = None
    with pytest.raises(ModelFileError, match="the estimator has other pairs"):
        loaded(broken.file())


def test_loading_runs_nothing_of_the_file(monkeypatch):
    """Not even an import: everything needed is imported before."""
    expected = loaded(file_of(SAMPLE)).predict_proba(X0).tolist()
    before = set(sys.modules)
    monkeypatch.setattr(pickle, "loads", None)
    monkeypatch.setattr("builtins.eval", None)
    monkeypatch.setattr("builtins.exec", None)
    assert loaded(file_of(SAMPLE)).predict_proba(X0).tolist() == expected
    assert set(sys.modules) == before


def test_files_say_the_target_and_the_day_of_training_beside_what_was_learned():
    X, y = mixed_table(60)
    plain = NaiveBayesClassifier().fit(X, y)
    named = NaiveBayesClassifier().fit(X, pd.Series(y, name="outcome"))
    assert (plain.target_name, named.target_name) == (None, "outcome")
    assert_same_model(plain, named)
    assert saved(NaiveBayesClassifier().fit(X, pl.Series("outcome", y))) == saved(named)
    file = io.BytesIO()
    moment = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    unnaive.save(named, file, trained=moment)
    again = unnaive.load(io.BytesIO(file.getvalue()))
    assert again.target_name == "outcome"
    assert again._about.day == "2026-03-01 12:00 UTC"
    assert saved(again.with_decision(None)) == file.getvalue()  # it was not trained again
    again.partial_fit(X, y)
    assert (again.target_name, again._about.trained) == ("outcome", None)
    assert again.fit(X, y).target_name is None
    both = unnaive.merge([named, plain])
    assert both.target_name == "outcome"


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"is": "About", "trained": "yesterday"}, "yesterday"),
        ({"is": "About", "target": "x" * 2000}, "name is too long"),
        ({"is": "About", "target": 3}, "about.target is a int"),
        ({"is": "Labels"}, "not a About"),
    ],
)
def test_what_files_say_about_training_is_checked(about, words):
    model = NaiveBayesClassifier().fit([["a"], ["b"]], [0, 1])
    broken = Broken(saved(model))
    broken.document["about"] = about
    with pytest.raises(ModelFileError, match=words):
        loaded(broken.file())
