"""Numbers that come again and again are counted as all others are."""

from __future__ import annotations

import functools
import importlib
import operator
from itertools import pairwise

import numpy as np
import pytest

from helpers import assert_same_model, plain_summary
from unnaive import NaiveBayesClassifier
from unnaive.counts.gather import summarize_block, tally_block
from unnaive.counts.summary import Wanted
from unnaive.table.reading import open_table

TALLYING = importlib.import_module("unnaive.counts.tally")


def block_of(X, y):
    return open_table(NaiveBayesClassifier(), X, y).block


FEW_VALUES = {
    "rounded": lambda rng: rng.normal(size=3000).round(1),
    "whole": lambda rng: rng.integers(-15, 15, 3000).astype(float),
    "gaps": lambda rng: np.where(rng.random(3000) < 0.3, np.nan, rng.integers(0, 5, 3000)),
    "signs of zero": lambda rng: rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan], 3000),
    "nothing": lambda rng: np.full(3000, np.nan),
    "bits of no number": lambda rng: rng.choice(np.array([2**64 - 1, 0, 5], "u8"), 3000).view("f8"),
    "more places": lambda rng: rng.integers(0, 100, 3000) / 32,
    "every place taken": lambda rng: rng.permutation(np.arange(3000) % 32 / 32),
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


@pytest.mark.parametrize("name", FEW_VALUES)
@pytest.mark.parametrize("limit", [8, 65_534])
def test_tallied_values_are_counted_as_their_rows_are(name, limit, monkeypatch):
    rng = np.random.default_rng(0)
    values, y = FEW_VALUES[name](rng), rng.integers(0, 3, 3000)
    monkeypatch.setattr(TALLYING, "FEW_PLACES", (64, 256))
    found = []
    for least in (1, 1 << 40):
        monkeypatch.setattr(TALLYING, "FEW_ROWS", least)
        model = NaiveBayesClassifier(grid_limit=limit, numeric="width")
        found.append(model.fit(np.stack([values, np.ones(len(values))], axis=1), y))
    assert_same_model(*found)
    assert TALLYING.tally(values, y.astype(np.uint8), 3) is None  # rows are not enough
    monkeypatch.setattr(TALLYING, "FEW_ROWS", 1)
    tally = TALLYING.tally(values, y.astype(np.uint8), 3)
    assert (tally is None) == (name in ("many", "sorted"))
    if tally is not None:
        assert tally.totals.tolist() == [(y == c).sum() for c in range(3)]


@pytest.mark.parametrize("name", FEW_VALUES)
@pytest.mark.parametrize("longest", [40, 1 << 17])
def test_tallies_of_chunks_add_up_to_that_of_all_rows(name, longest, monkeypatch):
    """Windows, decimals and classes differ from chunk to chunk, and lists become too long."""
    rng = np.random.default_rng(1)
    values, y = FEW_VALUES[name](rng), np.sort(rng.integers(0, 3, 3000))
    other = np.sort(rng.integers(0, 30_000, 3000)) / 10.0 ** rng.integers(0, 5, 3000)
    monkeypatch.setattr(TALLYING, "FEW_ROWS", 1)
    monkeypatch.setattr(TALLYING, "SAMPLE", 64)
    monkeypatch.setattr(TALLYING, "FEW_PLACES", (64, 256))
    monkeypatch.setattr(TALLYING, "FEW_CELLS", 1 << 12)
    monkeypatch.setattr(TALLYING, "LONGEST_LIST", longest)
    X = np.stack([values, other], axis=1)
    ends = [0, 500, 640, 1500, 2200, 3000]
    blocks = [block_of(X[a:b], y[a:b]) for a, b in pairwise(ends)]
    parts = [tally_block(block, Wanted(frozenset({0, 1}))) for block in blocks]
    monkeypatch.setattr(TALLYING, "FEW_ROWS", 1 << 40)
    whole = summarize_block(block_of(X, y), Wanted(frozenset({0, 1})))
    for order in (parts, parts[::-1]):
        total = functools.reduce(operator.add, order).settle()
        assert plain_summary(total) == plain_summary(whole)


def test_an_infinite_number_among_few_is_refused():
    X = np.ones((20_000, 1))
    X[77] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        NaiveBayesClassifier().fit(X, np.arange(20_000) % 2)
