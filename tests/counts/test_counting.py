"""Kernels and tables against slow twins."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import reference
from unnaive.counts import CountTable, Moments, Wanted, kernels
from unnaive.counts.counting import summarize
from unnaive.counts.moments import add_moments
from unnaive.encode.labels import read_target
from unnaive.table import open_table

RNG = np.random.default_rng(0)


def summary_of(X, y, weight=None, *, moments=(), n_jobs=None, numeric=()):
    source = open_table(BaseEstimator(), X, read_target(y), weight)
    wanted = Wanted(frozenset(numeric), frozenset(moments))
    return summarize(source, lambda _: wanted, n_jobs=n_jobs)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("wrap", [0, 1])
def test_counting_one_column_equals_the_twin(dtype, wrap):
    codes = RNG.integers(0, 9, 1000).astype(dtype)
    if wrap:
        codes[::7] = np.iinfo(dtype).max
    groups = RNG.integers(0, 4, 1000).astype(np.uint8)
    weights = RNG.integers(1, 5, 1000).astype(float)
    slots = codes + dtype(wrap)
    mask = np.iinfo(dtype).max
    rows, weighted = np.zeros((11, 4), np.int64), np.zeros((11, 4))
    kernels.count_one(codes, wrap, mask, groups, rows)
    kernels.count_weighted(codes, wrap, mask, groups, weights, weighted)
    assert (rows == reference.count_table(slots, groups, np.ones(1000), 11, 4)).all()
    assert (weighted == reference.count_table(slots, groups, weights, 11, 4)).all()


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n_values", [2, 9, 130])
@pytest.mark.parametrize("n_rows", [1, 5, 4099])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_columns_counted_together_equal_the_twin(n_columns, n_values, n_rows, n_jobs):
    y = RNG.integers(0, 3, n_rows)
    raw = RNG.integers(-1, n_values, (n_rows, n_columns))
    names = [f"v{i:03}" for i in range(n_values)]
    X = pd.DataFrame({j: pd.Categorical.from_codes(raw[:, j], names) for j in range(n_columns)})
    summary = summary_of(X, y, n_jobs=n_jobs)
    _, groups = np.unique(y, return_inverse=True)
    for j in range(n_columns):
        kept = np.unique(raw[raw[:, j] >= 0, j])
        assert summary.coders[j].values == tuple(names[k] for k in kept)
        slots = np.where(raw[:, j] < 0, 0, np.searchsorted(kept, raw[:, j]) + 1)
        shape = (len(kept) + 2, groups.max() + 1)
        expected = reference.count_table(slots, groups, np.ones(n_rows), *shape)
        assert (summary.counts.attribute(j) == expected.T).all()
    assert (summary.counts.totals == np.bincount(groups)).all()


def small_table() -> CountTable:
    table = CountTable.empty(3, [2, 4])
    table.counts[:] = RNG.integers(0, 50, table.counts.shape)
    table.totals[:] = RNG.integers(50, 90, 3)
    return table


def test_table_operations():
    a, b = small_table(), small_table()
    assert ((a + b).counts == a.counts + b.counts).all()
    assert ((a + b).totals == a.totals + b.totals).all()
    merged = a.coarsen([None, np.array([0, 1, 1, 2, 2, 3])], [2, 2])
    assert (merged.attribute(0) == a.attribute(0)).all()
    assert (merged.values(1)[:, 0] == a.values(1)[:, :2].sum(axis=1)).all()
    assert (merged.values(1)[:, 1] == a.values(1)[:, 2:].sum(axis=1)).all()
    folded = a.sum_groups(np.array([0, 1, 0]), 2)
    assert (folded.counts[0] == a.counts[0] + a.counts[2]).all()
    assert (a.scale_groups(np.array([1.0, 2.0, 0.5])).counts[1] == 2 * a.counts[1]).all()


# Beyond these bounds squares leave the range of floats.
FINITE = st.floats(-1e140, 1e140).filter(lambda v: v == 0 or abs(v) > 1e-120) | st.just(np.nan)


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(FINITE, min_size=1, max_size=30),
    weights=st.lists(st.integers(1, 1000).map(lambda k: k / 8), min_size=30, max_size=30),
    weighted=st.booleans(),
)
def test_moments_agree_with_exact_arithmetic(values, weights, weighted):
    x = np.array(values)[:, None]
    w = np.array(weights[: len(values)]) if weighted else np.ones(len(values))
    out = Moments.empty(1, [0])
    groups = np.zeros(len(values), np.uint8)
    given_weights = w if weighted else np.empty(0)
    missing = np.zeros((1, 1))
    assert add_moments(x, groups, given_weights, missing, out.sums) == -1
    spread = out.finish()
    assert missing[0, 0] == w[np.isnan(values)].sum()
    assert spread.weight[0, 0] == w[~np.isnan(values)].sum()
    if np.isnan(values).all():
        assert np.isnan(spread.mean[0, 0])
        return
    mean, variance = reference.moments(values, w)
    size = np.nanmax(np.abs(values))
    assert spread.mean[0, 0] == pytest.approx(mean, rel=1e-15, abs=1e-28 * size)
    assert spread.variance[0, 0] == pytest.approx(variance, rel=1e-12, abs=1e-26 * size**2)


def test_moments_keep_a_tiny_variance_beside_a_huge_mean():
    """Textbook formulas lose all digits here."""
    x = 1e9 + np.array([0.0, 1e-3, 2e-3]) * 1.0
    summary = summary_of(x[:, None], [0, 0, 0], moments=[0])
    variance = summary.moments.finish().variance
    assert variance[0, 0] == pytest.approx(np.var(x - 1e9), rel=1e-9)


def test_moments_do_not_depend_on_chunks_or_threads():
    x = RNG.normal(size=(20_011, 13)) * 10.0 ** RNG.integers(-9, 9, (20_011, 13))
    y = RNG.integers(0, 3, 20_011)
    whole = summary_of(x, y, moments=range(13))
    parts = [
        summary_of(x[p], y[p], moments=range(13)) for p in np.array_split(np.arange(20_011), 5)
    ]
    total = sum(parts[1:], parts[0])
    threaded = summary_of(np.asfortranarray(x), y, moments=range(13), n_jobs=2)
    for other in (total, threaded):
        for a, b in zip(
            astuple(whole.moments.finish()), astuple(other.moments.finish()), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_numbers_too_large_to_square_are_refused():
    with pytest.raises(ValueError, match="column 1 holds a number beyond 3e\\+150"):
        summary_of(np.array([[1.0, 1e200], [2.0, 1.0]]), [0, 1], moments=[0, 1])
