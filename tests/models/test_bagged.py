"""Bagged naive Bayes against its twin, its laws and its edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import reference_boosting as reference
from blocks import split_memory
from helpers import assert_same_model, mixed_table, nominal_table
from unnaive import BaggedNaiveBayesClassifier
from unnaive.encode.hashing import branch_seeds, draw_poisson, lane

BAGGED = BaggedNaiveBayesClassifier


def draws_of(model, n):
    start = int(np.random.RandomState(model.random_state).randint(2**31 - 1))
    words = draw_poisson(branch_seeds(start, model.n_estimators), np.arange(n), model.max_samples)
    return [lane(words, b).astype(int).tolist() for b in range(model.n_estimators)]


@pytest.mark.parametrize("mean", [0.05, 0.9, 1.0])
def test_draws_are_poisson_and_independent(mean):
    n, bags = 200_000, 5
    words = draw_poisson(branch_seeds(7, bags), np.arange(n), mean)
    drawn = np.stack([lane(words, b) for b in range(bags)]).astype(int)
    for b in range(bags):
        found = np.bincount(drawn[b], minlength=12)[:6]
        expected = n * stats.poisson.pmf(np.arange(6), mean)
        assert (np.abs(found - expected) < 6 * np.sqrt(expected) + 6).all()
    correlation = np.corrcoef(drawn) - np.eye(bags)
    assert np.abs(correlation).max() < 0.02


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_the_twin(seed, voting, weighted):
    X, y, weights = nominal_table(seed, classes=3)
    weights = weights if weighted else np.ones(len(y), dtype=int)
    model = BAGGED(n_estimators=4, voting=voting, calibration="none", random_state=seed)
    model.fit(X, y, weights)
    rows = X.to_numpy().tolist()
    expected = [
        reference.bagging(
            rows, y.tolist(), weights.tolist(), draws_of(model, len(y)), row, model.alpha,
            model.classes_.tolist(), voting,
        )
        for row in rows
    ]  # fmt: skip
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_blocks_of_rows_give_the_same_model(monkeypatch):
    X, y = mixed_table(500)
    model = BAGGED(n_estimators=30, oob_score=True, random_state=0)
    whole = clone(model).fit(X, y)
    split_memory(monkeypatch, [0, 1, 130, 411, 500])
    assert_same_model(whole, clone(model).fit(X, y))


def test_more_rows_than_a_lane_holds():
    """Every stretch of rows is read out before the sums of draws could run over."""
    X = pd.DataFrame({"a": ["x"] * 150_000})
    y = np.zeros(150_000, dtype=int)
    model = BAGGED(n_estimators=4, max_samples=1.0, random_state=0).fit(X, y)
    assert model.bag_weights_.tolist() == [sum(d) for d in draws_of(model, len(y))]


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_out_of_bag_rows_are_judged_by_the_other_bags(voting):
    X, y = mixed_table(120)
    params = {"voting": voting, "oob_score": True, "calibration": "none", "random_state": 0}
    model = BAGGED(n_estimators=30, **params).fit(X, y)
    drawn = np.array(draws_of(model, len(y)))
    votes = model.evidence(X).contributions * 30
    expected = np.stack([votes[i][drawn[:, i] == 0].mean(axis=0) for i in range(len(y))])
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)
    right = model.classes_[expected.argmax(axis=1)] == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_rows_in_every_bag_are_reported():
    X, y = mixed_table(60)
    with pytest.warns(UserWarning, match="rows are in every bag"):
        model = BAGGED(n_estimators=1, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(model.oob_decision_function_).any()
    assert 0 <= model.oob_score_ <= 1


def test_a_bag_without_rows_holds_all():
    X, y = pd.DataFrame({"a": ["p", "q"]}), [0, 1]
    model = BAGGED(n_estimators=20, max_samples=0.05, random_state=0).fit(X, y)
    assert (model.bag_weights_ > 0).all()
    assert model.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_samples": 1.5}, "max_samples must be a number, from 0 to 1; got 1.5"),
        ({"max_samples": 0}, "max_samples must be more than 0"),
        ({"voting": "loud"}, "voting must be 'soft' or 'hard'; got 'loud'"),
        ({"oob_score": True, "bootstrap": False}, "oob_score=True needs bootstrap=True"),
        ({"n_estimators": 1.5}, "n_estimators must be a whole number, 1 or more; got 1.5"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        BAGGED(**parameters).fit(X, y)
