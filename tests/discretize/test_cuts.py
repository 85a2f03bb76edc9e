"""Cuts equal their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optbinning import MDLP

import reference
import unnaive
from unnaive import Discretizer, NaiveBayesClassifier
from unnaive.discretize.intervals import interval_words
from unnaive.table import Column

RNG = np.random.default_rng(0)


def mdl(x, y, w=None):
    return Discretizer().fit(np.asarray(x, dtype=float)[:, None], y, sample_weight=w).cuts_[0]


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=120),
    weights=st.none() | st.lists(st.integers(1, 9), min_size=120, max_size=120),
)
def test_mdl_equals_the_definition_on_tied_values(rows, weights):
    x, y = (np.array(v) for v in zip(*rows, strict=True))
    w = None if weights is None else np.array(weights[: len(x)])
    assert mdl(x, y, w).tolist() == reference.mdl_cuts(x.astype(float), y, w)


@pytest.mark.parametrize("classes", [2, 3, 5, 9])
@pytest.mark.parametrize("n", [30, 200, 500])
@pytest.mark.parametrize("shape", ["normal", "skewed", "rounded", "noise", "steps"])
def test_mdl_equals_the_definition(shape, n, classes):
    rng = np.random.default_rng([n, classes])
    y = rng.integers(0, classes, n)
    x = {
        "normal": lambda: rng.normal(y, 0.7),
        "skewed": lambda: np.exp(2 * rng.normal(y / 2, 1)),
        "rounded": lambda: rng.normal(2 * y, 1).round(1),
        "noise": lambda: rng.normal(size=n),
        "steps": lambda: (y * 10 + rng.integers(0, 9, n)).astype(float),
    }[shape]()
    np.testing.assert_array_equal(mdl(x, y), reference.mdl_cuts(x, y))
    if shape == "steps" and n > 30:
        assert len(mdl(x, y)) >= classes - 1


@pytest.mark.parametrize("seed", range(6))
def test_mdl_agrees_with_optbinning_where_the_definitions_do(seed):
    """Two classes, no ties, no pure stretch. optbinning also lists the cuts that fail the test at
    the leaves of its recursion: at most one in each of our intervals.
    """
    rng = np.random.default_rng(seed)
    x = rng.random(1500)
    y = (rng.random(1500) < 0.25 + 0.5 * (np.sin(8 * x) > 0)).astype(int)
    theirs = MDLP(min_samples_leaf=1, max_candidates=10_000).fit(x, y).splits
    ours = mdl(x, y)
    assert len(ours) >= 2
    assert np.isin(ours, theirs).all()
    extra = np.setdiff1d(theirs, ours)
    assert (np.bincount(np.searchsorted(ours, extra)) <= 1).all()


def test_many_cells_give_the_same_cuts_as_few():
    """The bound that skips runs of cells never skips the best cut."""
    from unnaive.discretize import kernels

    x = np.repeat(np.arange(3000.0), 3)
    y = (RNG.random(9000) < 0.5 + 0.3 * np.sin(x / 200)).astype(int)
    fast = mdl(x, y)
    counts = np.zeros((3001, 2))
    for v, c in zip(x.astype(int), y, strict=True):
        counts[v + 1, c] += 1
    cumulative = counts.cumsum(axis=0)
    bits = np.full(3001, np.inf)
    edges = [0, *(int(c + 1) for c in fast), 3000]
    for start, stop in zip(edges[:-1], edges[2:], strict=False):
        everywhere = kernels.boundaries(cumulative)
        cut = kernels.best_cut(cumulative, start, stop, everywhere, bits)
        slow = min(
            (kernels._split_bits(*(cumulative[k] for k in (start, i, i, stop)), 0), i)
            for i in range(start + 1, stop)
        )
        assert slow[1] == cut
    assert len(fast) > 5


def test_width_cuts_the_range_evenly():
    x = np.array([[0.0], [3.0], [10.0], [np.nan]])
    assert Discretizer("width", n_bins=5).fit(x).cuts_[0].tolist() == [2, 4, 6, 8]


def test_frequency_never_tears_equal_values_apart():
    x = np.array([1, 1, 1, 1, 2, 3, 4, 5.0])[:, None]
    cuts = Discretizer("frequency", n_bins=4).fit(x).cuts_[0]
    assert cuts.tolist() == [1.5, 3.5]
    many = RNG.normal(size=(10_000, 1))
    discretizer = Discretizer("frequency", n_bins=8)
    counts = np.unique(discretizer.fit_transform(many), return_counts=True)[1]
    assert (abs(counts - 1250) <= 1).all()


def left_out(x, y, cuts):
    """Log-likelihood of the classes, each given the other rows of its interval."""
    at, total = np.searchsorted(cuts, x), 0.0
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        here = others & (at == at[i])
        same = (y[here] == y[i]).sum() + 2.0 * (y == y[i]).mean()
        total += np.log(same / (here.sum() + 2.0))
    return total


@pytest.mark.parametrize("seed", range(8))
def test_best_is_mdl_or_frequency_by_rows_left_out(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=150).round(seed % 3)
    strength = [0.0, 0.7, 3.0][seed // 3]
    y = (rng.random(150) < 1 / (1 + np.exp(-strength * x))).astype(int)
    cuts = [
        Discretizer(rule, n_bins=5).fit(x[:, None], y).cuts_[0] for rule in ("mdl", "frequency")
    ]
    gains = [left_out(x, y, each) for each in cuts]
    gains[0] -= len(cuts[0]) * np.log(len(np.unique(x)))
    best = Discretizer("best", n_bins=5).fit(x[:, None], y).cuts_[0]
    np.testing.assert_array_equal(best, cuts[0 if gains[0] >= gains[1] else 1])


def test_best_follows_weak_effects_finds_single_values_and_leaves_noise_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    weak, noise = rng.normal(0.5 * y), rng.normal(size=200)
    single = np.where(rng.random(200) < 0.3 * y, 99.0, rng.normal(size=200))
    X = np.column_stack([weak, noise, single])
    weak_cuts, no_cuts, single_cuts = Discretizer("best", n_bins=4).fit(X, y).cuts_
    assert len(weak_cuts) == 3
    assert len(Discretizer().fit(X, y).cuts_[0]) <= 1
    assert len(no_cuts) == 0
    assert single_cuts[-1] > single[single < 99].max()


def test_sigma_cuts_at_mean_plus_whole_deviations():
    x = RNG.normal(5, 2, size=(1000, 1))
    cuts = Discretizer("sigma").fit(x).cuts_[0]
    steps = (cuts - x.mean()) / x.std()
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)
    assert 0 in steps.round()
    assert x.min() <= cuts[0] < x.min() + x.std()
    assert x.max() - x.std() <= cuts[-1] < x.max()


@pytest.mark.parametrize("method", ["width", "sigma"])
def test_cuts_inside_a_shared_cell_move_to_its_edge(method):
    """With a coarse grid the counts in the intervals still are those of the rows."""
    x = RNG.normal(size=(3000, 1))
    discretizer = Discretizer(method, grid_limit=16).fit(x)
    grid = discretizer.summary_.coders[0]
    for cut in discretizer.cuts_[0]:
        assert not ((grid.low <= cut) & (cut < grid.high)).any()


@pytest.mark.parametrize("method", ["mdl", "width", "frequency", "sigma"])
def test_constant_and_missing_columns_are_not_cut(method):
    x = np.column_stack([np.full(50, 3.0), np.full(50, np.nan), np.arange(50)])
    discretizer = Discretizer(method).fit(x, np.arange(50) > 20)
    assert [len(c) for c in discretizer.cuts_[:2]] == [0, 0]
    out = discretizer.transform(x)
    assert (out[:, 0] == 0).all()
    assert np.isnan(out[:, 1]).all()


def test_neighbouring_floats_are_cut_between_them():
    a = 1.0
    b = np.nextafter(a, 2)
    x = np.array([a] * 20 + [b] * 20)[:, None]
    y = np.array([0] * 20 + [1] * 20)
    out = Discretizer().fit_transform(x, y)
    assert out[:20].max() == 0
    assert out[20:].min() == 1
    huge = np.array([-1.7e308] * 20 + [1.7e308] * 20)[:, None]
    assert Discretizer().fit(huge, y).cuts_[0].tolist() == [0.0]


def test_intervals_of_whole_numbers_are_named_by_the_first_and_last_in_them():
    column = Column("age", "numeric", "number", whole=True)
    cuts = np.array([29.5, 30.5, 45.0])
    assert interval_words(cuts, column) == ["at most 29", "30", "31 to 45", "46 or more"]
    assert interval_words(np.array([-2.5]), column) == ["at most -3", "-2 or more"]
    assert interval_words(cuts[:0], column) == ["any value"]
    empty = np.array([29.2, 29.6])  # no whole number between them
    assert interval_words(empty, column)[1] == "above 29.2, at most 29.6"


def test_intervals_of_other_numbers_say_where_their_cuts_belong():
    column = Column("x", "numeric", "number")
    words = interval_words(np.array([29.5, 45.2]), column)
    assert words == ["at most 29.5", "above 29.5, at most 45.2", "above 45.2"]
    days = np.array(["2024-01-20", "2024-02-01"], "datetime64[us]").astype(np.int64).astype(float)
    words = interval_words(days, Column("day", "numeric", "time"))
    assert words[1] == "after 2024-01-20, until 2024-02-01"


@given(st.lists(st.integers(-60, 60), min_size=2), st.lists(st.integers(-60, 60), min_size=2))
def test_columns_are_whole_by_all_their_values_however_rows_are_divided(first, second):
    parts = [
        NaiveBayesClassifier().fit(np.array(half)[:, None] / scale, np.arange(len(half)) % 2)
        for half, scale in ((first, 1), (second, 2))
    ]
    whole = all(value % 2 == 0 for value in second)
    assert [p.schema_[0].whole for p in parts] == [True, whole]
    assert unnaive.merge(parts).schema_[0].whole == whole
    assert unnaive.merge(parts[::-1]).schema_[0].whole == whole
