"""What columns say about classes, and which of very many columns models look at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

import unnaive
from helpers import assert_same_model
from unnaive.counts.table import information_of, most_informative
from unnaive.models import _additive as pairs
from unnaive.models import nbtree

CODES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40)


def table_of(rows):
    table = np.zeros((4, 3))
    for a, b in rows:
        table[a, b] += 1
    return table


@settings(deadline=None)
@given(CODES)
def test_information_is_that_of_two_codes_less_what_chance_gives(rows):
    table = table_of(rows)
    cells = [
        np.count_nonzero(table.sum(1)),
        np.count_nonzero(table.sum(0)),
        np.count_nonzero(table),
    ]
    chance = (cells[2] - 1 - (cells[0] - 1) - (cells[1] - 1)) / (2 * len(rows))
    expected = mutual_info_score(*zip(*rows, strict=True)) - chance
    assert information_of(table) == pytest.approx(expected, abs=1e-12)
    assert information_of(table) == information_of(table_of(rows[::-1]))


def test_the_most_informative_are_the_first_of_equals_in_their_order():
    nothing, little, much = np.ones((2, 2)), np.array([[3, 2], [2, 3]]), np.array([[5, 0], [0, 5]])
    assert most_informative([nothing, much, None, little, much], 2) == [1, 4]
    assert most_informative([much, None, much], 1) == [0]
    assert most_informative([None, nothing], 3) == [1]
    assert information_of(np.zeros((2, 2))) == 0.0


def wide(n_columns, seed=0):
    """Few columns that matter, the last and the middle one together, among many that do not."""
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 3, (400, n_columns)).astype(float)
    y = (X[:, -1] > 0) ^ (X[:, n_columns // 2] > 0) ^ (draw.random(400) < 0.05)
    return X, y.astype(int)


@pytest.mark.parametrize(
    "model",
    [
        unnaive.NBTreeClassifier(max_depth=2, random_state=0),
        unnaive.UnnaiveBayesClassifier(n_bags=2, max_rounds=20, random_state=0),
    ],
    ids=["nbtree", "pairs"],
)
def test_of_very_many_columns_those_that_matter_are_looked_at(model, monkeypatch):
    X, y = wide(24)
    whole = clone(model).fit(X, y)
    monkeypatch.setattr(nbtree, "MAX_FEATURES", 24)
    monkeypatch.setattr(pairs, "MOST_COLUMNS", 24)
    assert_same_model(whole, clone(model).fit(X, y))  # so many are all looked at
    monkeypatch.setattr(nbtree, "MAX_FEATURES", 4)
    monkeypatch.setattr(pairs, "MOST_COLUMNS", 4)
    few = clone(model).fit(X, y)
    if hasattr(few, "pairs_"):
        assert (12, 23) in few.pairs_
        assert len({column for pair in few.pairs_ for column in pair}) <= 4
    else:
        assert few.tree_.attribute[0] == whole.tree_.attribute[0] in (12, 23)
        assert np.isfinite(few.tree_.candidates[0]).sum() == 4
        for as_many in (4, 1 / 6):
            assert_same_model(few, clone(model).set_params(max_features=as_many).fit(X, y))
    assert_same_model(few, clone(model).set_params(n_jobs=2).fit(X, y))
