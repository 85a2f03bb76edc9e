"""Labels of any type become numbers and come back as they were."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unnaive import NaiveBayesClassifier, save
from unnaive.encode import Labels
from unnaive.encode.labels import label_groups, merge_labels, read_target


@pytest.mark.parametrize(
    "y",
    [
        [3, 1, 3, -7],
        np.array([200, 7, 7, 9], dtype=np.uint8),
        np.array([10**12, 5, 5, 6]),
        [True, False, True, True],
        ["b", "a", "b", "é"],
        [2.0, 1.0, 1.0, 4.0],
        np.array(["x", 1, "x", 2], dtype=object),
        np.array([datetime.date(2020, 1, 2), datetime.date(2019, 1, 1)] * 2, dtype=object),
        np.array(["2020-01-01", "2019-05-05"] * 2, dtype="datetime64[D]"),
        np.array([("a", 1), ("b", 2)] * 2 + [None], dtype=object)[:4],
        pd.Series(["lo", "hi", "lo", "hi"], dtype="category"),
        pd.Series([1, 2, 2, 1], dtype="Int64"),
        pl.Series(["lo", "hi", "lo", "hi"]),
        pl.Series(["lo", "hi", "lo", "hi"], dtype=pl.Categorical),
    ],
    ids=lambda y: f"{type(y).__name__}-{np.asarray(y).dtype}",
)
def test_labels_survive_the_round_trip(y):
    X = np.arange(len(y), dtype=float)[:, None] * 10
    model = NaiveBayesClassifier(numeric="frequency", n_bins=4, alpha=0.01).fit(X, y)
    assert model.predict(X).tolist() == list(np.asarray(y).tolist())


def test_classes_are_sorted_like_numpy_unique():
    rng = np.random.default_rng(0)
    for y in (rng.integers(-5, 90_000, 500), rng.integers(0, 5, 500), rng.random(50).round(1)):
        labels, groups = label_groups(y)
        classes, inverse = np.unique(y, return_inverse=True)
        assert labels.classes.dtype == classes.dtype
        assert (labels.classes == classes).all()
        assert (groups == inverse).all()


def test_merged_labels_are_those_of_all():
    merged, (a, b) = merge_labels([Labels(np.array([1, 5])), Labels(np.array([2, 5, 9]))])
    assert merged.classes.tolist() == [1, 2, 5, 9]
    assert a.tolist() == [0, 2]
    assert b.tolist() == [1, 2, 3]
    text, _ = merge_labels([Labels(np.array(["a"])), Labels(np.array(["longer"]))])
    assert text.classes.tolist() == ["a", "longer"]
    day = np.array(["2020-01-01"], dtype="datetime64[D]")
    for other in (np.array([1]), np.array([1, 2]), np.array(["a"]), np.array([True])):
        mixed, (a, b) = merge_labels([Labels(day), Labels(other)])
        assert mixed.classes[a].tolist() == day.tolist()
        assert mixed.classes[b].tolist() == other.tolist()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed"),
        ([1.0, np.nan, 2.0], "y has 1 missing labels.*Drop these rows"),
        (["a", None, "b"], "y has 1 missing labels"),
        (np.array([1.0, np.inf, 2.0]), "y contains infinity"),
        ([0.5, 1.7, 2.2], "Unknown label type: continuous"),
        (np.array([1j, 2, 3]), "Complex data not supported"),
        (np.ones((3, 2)), "1d array"),
    ],
)
def test_bad_targets_are_refused(y, words):
    with pytest.raises(ValueError, match=words):
        read_target(y)


CONTAINERS = [
    list,
    lambda v: np.array(v, dtype=object),
    lambda v: np.array(v, dtype=np.dtypes.StringDType()),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(v, dtype="string"),
    pl.Series,
    pa.array,
]


@pytest.mark.parametrize("text", [["x", "x\0"], ["no", "yes"], ["a\0b", "a\0c"]])
def test_text_is_told_apart_whatever_holds_it(text, tmp_path):
    values = text * 20
    x = np.arange(40.0)[:, None] % 2
    expected = None
    for number, container in enumerate(CONTAINERS):
        y = container(values)
        model = NaiveBayesClassifier(numeric="width", n_bins=2).fit(x, y)
        assert model.classes_.tolist() == text
        assert model.score(x, y) == 1
        assert model.predict(x).tolist() == values
        save(model, tmp_path / f"{number}.unv")
        written = (tmp_path / f"{number}.unv").read_bytes()
        assert written == (expected or written)
        expected = written
        columns = [[v] for v in values] if container is list else {"c": y}
        if isinstance(y, np.ndarray):
            columns = y[:, None]
        elif isinstance(y, pa.Array):
            columns = pa.table(columns)
        elif container is not list:
            columns = pd.DataFrame(columns) if isinstance(y, pd.Series) else pl.DataFrame(columns)
        coder = NaiveBayesClassifier().fit(columns, values).coders_[0]
        assert coder.values == tuple(text)


def test_a_label_of_weight_zero_leaves_no_trace():
    x, y = np.arange(6.0)[:, None], ["a", "b", "a", "b", "a", "a long label"]
    model = NaiveBayesClassifier().fit(x, y, sample_weight=[1, 1, 1, 1, 1, 0])
    assert model.classes_.dtype == np.dtype("U1")
