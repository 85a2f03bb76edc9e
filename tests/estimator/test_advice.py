"""Warnings at fit: seldom, rightly, once each, with the remedy."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from unnaive import C45Classifier, ClassDecompositionClassifier, NaiveBayesClassifier, compare
from unnaive import UnnaiveWarning as Advice

N = 200
Y = np.where(np.arange(N) % 3, "a", "b")
PLAIN = pd.DataFrame(
    {"x": np.arange(N) * 7 % 50 / 2.0, "kind": np.array(list("pqrs"))[np.arange(N) * 5 % 4]}
)


def advice(table, y=Y, model=None):
    """What fit says about a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Advice)
        (NaiveBayesClassifier() if model is None else model).fit(table, y)
    return [str(one.message) for one in caught if issubclass(one.category, Advice)]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([f"id-{k:05d}" for k in range(N)], "'new' has another value .* like an identifier"),
        ([f"a note of {k} long words" for k in range(N)], "'new' .* like free text"),
        (["same"] * N, "one value in all rows says nothing: column 'new'; leave it out"),
        ([None] * N, "no row has a value in column 'new'; leave it out"),
        (np.full(N, np.nan), "no row has a value in column 'new'; leave it out"),
        (np.arange(N) + 1000, "'new' counts rows: .* Leave it out"),
        ([f"{k % 40},5" for k in range(N)], r"'new' holds numbers .* commas .* --decimal ,"),
        (["unknown", *(str(k % 60) for k in range(1, N))], r"'new' .* 'unknown'.*--na-values"),
        (np.where(Y == "a", "paid", "late"), "'new' alone tells the class of nearly every row"),
        (np.where(Y == "a", 1.0, -1.0) * (1 + np.arange(N) % 60), "'new' alone tells the class"),
    ],
)
def test_what_looks_wrong_in_a_column_is_said_with_the_remedy(column, words):
    said = advice(PLAIN.assign(new=column))
    assert len(said) == 1
    assert re.search(words, said[0])


@pytest.mark.parametrize(
    "column",
    [
        [f"{k % 90:05d}" for k in range(N)],  # codes of places
        [f"town {k % 100}" for k in range(N)],
        np.sin(np.arange(N)),  # numbers differ in every row
        [None] * (N - 1) + ["one"],
    ],
)
def test_ordinary_columns_are_passed_over(column):
    assert advice(PLAIN.assign(new=column)) == []


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_ordinary_tables_are_passed_over(load):
    assert advice(*load(return_X_y=True, as_frame=True)) == []


def test_rare_classes_are_named_and_folds_stay_silent():
    y = np.where(np.arange(N) < 3, "rare", Y)
    (said,) = advice(PLAIN, y)
    assert said.startswith("fewer than 5 rows have the class rare")
    six = np.where(np.arange(N) < 6, "rare", Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Advice)
        compare(PLAIN, six, models=["nb", "c45"], cv=3)
        ClassDecompositionClassifier(random_state=0).fit(PLAIN, six)
        NaiveBayesClassifier().partial_fit(PLAIN.assign(new="same"), y)


def test_a_warning_points_to_the_line_that_called_fit():
    with pytest.warns(Advice) as caught:
        C45Classifier().fit(PLAIN.assign(new="same"), Y)
    assert [one.filename for one in caught] == [__file__]
