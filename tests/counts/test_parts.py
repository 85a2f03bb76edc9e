"""Many parts counted at once are what each leaves alone, and their sum is that of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import plain_summary as plain
from unnaive import NaiveBayesClassifier
from unnaive.counts.gather import summarize_block
from unnaive.counts.parts import summarize_parts
from unnaive.counts.summary import Wanted, merge_summaries
from unnaive.encode.grid import merge_grids, number_values
from unnaive.table.reading import open_table


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "continuous": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "near": 1e9 + rng.integers(0, 2**40, n) * 2.0**-20,  # many keys share their highest bytes
        "whole": rng.integers(-3, 4, n) * 1.0,
        "gone": np.where(np.arange(n) < n // 2, np.nan, 1.0),
        "text": rng.choice(["a", "b", "c", None], n),
        "many": pd.Categorical(rng.integers(0, n, n).astype(str)),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="h"),
    })  # fmt: skip


def numbers(starts):
    """The part of each row, of parts that begin there."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def block_of(n, y, weight=None, seed=0):
    return open_table(NaiveBayesClassifier(), table(n, seed), y, weight).block


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limit", [5, 40, 65_534])
def test_parts_counted_together_are_those_counted_alone(limit, weighted):
    n = 700
    rng = np.random.default_rng(1)
    y = np.sort(rng.choice(["bad", "good", "extremely rare"], n, p=[0.5, 0.49, 0.01]))[::-1]
    block = block_of(n, y, rng.integers(1, 5, n) * 0.25 if weighted else None)
    wanted = Wanted(frozenset({0, 1, 2, 3}), frozenset({0, 2, 6}))
    starts = np.array([0, 1, 3, 10, 40, 250, 251, 700])
    together = summarize_parts(block, numbers(starts), len(starts) - 1, wanted, limit)
    for part, a, b in zip(together, starts.tolist(), starts[1:].tolist(), strict=False):
        assert plain(part) == plain(summarize_block(block.slice(a, b), wanted, limit))
    assert plain(merge_summaries(together)) == plain(summarize_block(block, wanted, limit))
    order = rng.permutation(n)  # of rows that come in any order
    shuffled = summarize_parts(block.take(order), numbers(starts)[order], 7, wanted, limit, 2)
    for part, a, b in zip(shuffled, starts.tolist(), starts[1:].tolist(), strict=False):
        own_rows = order[(order >= a) & (order < b)]
        assert plain(part) == plain(summarize_block(block.take(own_rows), wanted, limit))


def test_parts_without_labels_have_one_group():
    block = block_of(60, None)
    parts = summarize_parts(block, numbers([0, 20, 60]), 2, Wanted(frozenset({0})))
    assert plain(parts[1]) == plain(summarize_block(block.slice(20, 60), Wanted(frozenset({0}))))


def test_an_infinite_number_is_refused_by_its_column():
    rows = table(50)
    rows.loc[30, "near"] = np.inf
    block = open_table(NaiveBayesClassifier(), rows, np.arange(50) % 2).block
    with pytest.raises(ValueError, match="near"):
        summarize_parts(block, numbers([0, 20, 50]), 2, Wanted(frozenset({1})))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(-60, 60), max_size=30), min_size=1, max_size=7),
    st.integers(2, 40),
)
def test_the_grid_of_many_parts_is_that_of_all_values(lists, limit):
    parts = [np.array(each, dtype=np.float64) / 3 for each in lists]
    numbered = [number_values(part, limit) for part in parts]
    grid, codes = number_values(np.concatenate(parts), limit)
    merged, places = merge_grids([own for own, _ in numbered], limit)
    assert merged.shift == grid.shift
    assert (merged.low == grid.low).all()
    assert (merged.high == grid.high).all()
    moved = [place[own] for place, (_, own) in zip(places, numbered, strict=True)]
    assert np.concatenate(moved).tolist() == codes.tolist()
