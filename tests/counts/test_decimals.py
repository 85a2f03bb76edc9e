"""Numbers of few decimals are counted as all others are."""

from __future__ import annotations

import importlib
from itertools import pairwise

import numpy as np
import pytest

from helpers import assert_same_model
from unnaive import NaiveBayesClassifier

COUNTING = importlib.import_module("unnaive.counts.counting")
COLUMNS = {
    "rounded": lambda rng: rng.normal(size=3000).round(1),
    "gaps": lambda rng: np.where(rng.random(3000) < 0.3, np.nan, rng.integers(0, 5, 3000)),
    "signs of zero": lambda rng: rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan], 3000),
    "nothing": lambda rng: np.full(3000, np.nan),
    "prices": lambda rng: np.exp(rng.normal(3, 1, 3000)).round(2),
    "far from zero": lambda rng: 1e9 + rng.integers(-400, 400, 3000) / 100,
    "beyond exact units": lambda rng: 2.0**53 + 2.0 * rng.integers(0, 50, 3000),
    "a few others": lambda rng: np.where(
        rng.random(3000) < 0.03, rng.normal(size=3000) * 1e6, rng.integers(0, 99, 3000) / 10
    ),
    "huge ones among them": lambda rng: np.where(
        rng.random(3000) < 0.01, -1e308, rng.integers(0, 9, 3000)
    ),
    "many": lambda rng: rng.normal(size=3000),
    "sorted": lambda rng: np.sort(rng.integers(0, 100_000, 3000) / 100),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("limit", [8, 65_534])
def test_decimals_are_counted_as_their_rows_are(name, limit, monkeypatch):
    rng = np.random.default_rng(0)
    values, y = COLUMNS[name](rng), rng.integers(0, 3, 3000)
    X = np.stack([values, np.ones(len(values))], axis=1)
    model = NaiveBayesClassifier(grid_limit=limit, numeric="width", calibration="none")
    monkeypatch.setattr(COUNTING, "DECIMAL_ROWS", 1 << 40)
    expected = model.fit(X, y)
    monkeypatch.setattr(COUNTING, "DECIMAL_ROWS", 1)
    parts = NaiveBayesClassifier(**model.get_params())
    for a, b in pairwise([0, 1024, 1100, 3000]):
        parts.partial_fit(X[a:b], y[a:b])
    assert_same_model(expected, NaiveBayesClassifier(**model.get_params()).fit(X, y))
    assert_same_model(expected, parts)


def test_an_infinite_number_among_decimals_is_refused():
    X = np.ones((20_000, 1))
    X[77] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        NaiveBayesClassifier().fit(X, np.arange(20_000) % 2)
