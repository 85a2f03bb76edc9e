"""Made tables are what their definitions say."""

from __future__ import annotations

import pandas as pd
import pytest

from unnaive import NaiveBayesClassifier, NBTreeClassifier
from unnaive.datasets import (
    make_electricity,
    make_flights,
    make_loans,
)

EVERY = {
    "electricity": lambda seed: make_electricity(200, random_state=seed),
    "flights": lambda seed: make_flights(200, random_state=seed),
    "loans": lambda seed: make_loans(200, random_state=seed),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_seed_decides_and_labels_are_named(name):
    X, y = EVERY[name](0)
    again, labels = EVERY[name](0)
    pd.testing.assert_frame_equal(X, again)
    pd.testing.assert_series_equal(y, labels)
    other, _ = EVERY[name](1)
    assert not X.equals(other)
    assert len(X) == len(y) == 200
    assert y.name not in X
    assert len(y.unique()) > 1


def test_loans_are_mixed_with_gaps_and_something_to_learn():
    X, y = make_loans(6000, random_state=0)
    kinds = {X[name].dtype.kind for name in ("age", "amount", "guarantor", "opened")}
    assert kinds == {"i", "f", "b", "M"}
    assert set(X.columns[X.isna().any()]) == {"income", "home", "debts"}
    absent = X["income"].isna()
    assert absent[X["work"] == "self-employed"].mean() > 2 * absent[X["work"] == "employed"].mean()
    assert 0.1 < (y == "defaulted").mean() < 0.5
    train, test = slice(0, 4000), slice(4000, None)
    chance = (y[test] == "repaid").mean()
    scores = [
        model.fit(X[train], y[train]).score(X[test], y[test])
        for model in (NaiveBayesClassifier(), NBTreeClassifier(random_state=0))
    ]
    assert min(scores) > chance + 0.02
    assert not make_loans(50, missing=0.0)[0].isna().any().any()


@pytest.mark.parametrize(
    ("make", "changed"), [(make_electricity, "transfer"), (make_flights, "distance")]
)
def test_streams_are_the_same_before_the_planted_row_and_differ_where_they_say(make, changed):
    (X, y), (concept, other), (values, same) = (
        make(1000, drift_at=at, kind=kind, random_state=0)
        for at, kind in ((None, "concept"), (400, "concept"), (400, "values"))
    )
    pd.testing.assert_frame_equal(X, concept)
    assert (y[:400] == other[:400]).all()
    assert (y[400:] != other[400:]).mean() > 0.1
    pd.testing.assert_frame_equal(X[:400], values[:400])
    differ = (X[400:] != values[400:]).mean()
    assert differ[changed] > 0.9
    assert differ.drop(changed).max() == 0
    assert (y == same).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_flights(kind="odd"), "kind must be one of 'concept', 'values'; got 'odd'"),
        (lambda: make_electricity(drift_at=-1), "drift_at must be a whole number, 0 or more"),
        (lambda: make_loans(missing="x"), "missing must be a number, from 0 to 1; got 'x'"),
    ],
)
def test_errors_name_the_parameter(make, words):
    with pytest.raises(ValueError, match=words):
        make()
