"""Kernel densities and their widths are those of direct sums over all pairs of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import reference_density as reference
from helpers import mixed_table
from unnaive import NaiveBayesClassifier, merge
from unnaive.density import bandwidth, kernels
from unnaive.density.bandwidth import choose_widths
from unnaive.density.estimate import FLOOR, fit_densities
from unnaive.encode.grid import number_values

SHAPES = reference.SHAPES


def column(shape, n, seed=0, weighted=False):
    """Values, classes, weights, and counts of classes in the cells of the fine grid."""
    rng = np.random.default_rng([n, seed])
    y = (rng.random(n) < 0.3).astype(int)
    x = SHAPES[shape](rng, y)
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    grid, codes = number_values(x)
    counts = np.zeros((2, grid.size))
    np.add.at(counts, (y, codes - 1), w)
    return x, y, w, grid, counts


def classes_of(x, y, w):
    p = reference.scaled(x, x.min(), x.max())
    return p, [(p[y == k], w[y == k]) for k in (0, 1)]


@pytest.mark.parametrize("floor", [FLOOR, 1e-10])
@pytest.mark.parametrize("n", [50, 400, 2000])
@pytest.mark.parametrize("shape", SHAPES)
def test_log_densities_equal_direct_sums(shape, n, floor):
    x, y, w, grid, counts = column(shape, n, weighted=n == 400)
    found = fit_densities(grid, counts, "cv", floor)
    p, classes = classes_of(x, y, w)
    rng = np.random.default_rng(1)
    near = rng.choice(p, 200) + 3 * found.widths.min() * rng.normal(size=200)
    at = np.concatenate([near, rng.uniform(-0.2, 1.2, 200)])
    span = x.max() - x.min()
    ours = found.at(x.min() + at * span) + np.log(span)
    for k in (0, 1):
        direct = reference.density(at, *classes[k], found.widths[k])
        seen = direct > 1e-6 * direct.max()
        assert seen.sum() > 50
        assert np.abs(ours[seen, k] - np.log(direct[seen] + floor)).max() < 0.01


@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_factor_is_that_of_the_papers_formula(shape, n):
    x, y, w, grid, counts = column(shape, n, weighted=n == 300)
    found = fit_densities(grid, counts, "cv")
    _, classes = classes_of(x, y, w)
    assert found.factor == pytest.approx(reference.best_factor(classes), abs=0.0101)
    expected = [
        reference.width(found.factor, weights.sum(), reference.narrowest(x))
        for _, weights in classes
    ]
    np.testing.assert_allclose(found.widths, expected, rtol=1e-12)


@pytest.mark.parametrize("floor", [FLOOR, 1e-10])
def test_the_factor_does_not_depend_on_what_answers_add_to_densities(floor):
    for shape in SHAPES:
        *_, grid, counts = column(shape, 300)
        assert (
            fit_densities(grid, counts, "cv", floor).factor
            == fit_densities(grid, counts, "cv").factor
        )


@pytest.mark.parametrize("shape", ["two hills", "years"])
def test_the_factor_of_rows_that_are_close_to_many_others(shape):
    x, y, w, grid, counts = column(shape, 1000)
    found = fit_densities(grid, counts, "cv")
    _, classes = classes_of(x, y, w)
    assert found.factor == pytest.approx(reference.best_factor(classes), abs=0.0201)


@pytest.mark.parametrize("shape", SHAPES)
def test_both_ways_to_leave_one_out_agree(shape):
    """Pair by pair, and on a lattice: the curves over all candidates, not only their peaks."""
    x, y, w, _, _ = column(shape, 600)
    _, [(positions, weight), _] = classes_of(x, y, w)
    positions, place = np.unique(positions, return_inverse=True)
    weight = np.bincount(place, weight)
    tried = bandwidth.CANDIDATES / np.sqrt(weight.sum())
    pairs = np.zeros(len(tried))
    unit = np.array([1 / np.sqrt(weight.sum())])
    given = (bandwidth.CANDIDATES, unit, 1e9)
    assert not kernels.leave_one_out(positions, weight[None], *given, pairs).any()
    lattice = np.concatenate(
        [bandwidth._on_lattice(positions, weight, tried[part]) for part in bandwidth.OCTAVES]
    )
    np.testing.assert_allclose(lattice, pairs, rtol=5e-3, atol=4e-3 * weight.sum())
    direct = [-reference.cross_entropy(positions, weight, h) for h in tried[::12]]
    np.testing.assert_allclose(pairs[::12], direct, rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_conditional_widths_make_classes_most_probable(shape):
    x, y, w, grid, counts = column(shape, 250, weighted=True)
    found = fit_densities(grid, counts, "conditional")
    _, classes = classes_of(x, y, w)
    tried = reference.conditional_likelihoods(classes, FLOOR, reference.narrowest(x))
    best = max(likelihood for likelihood, _ in tried)
    ours = [likelihood for likelihood, own in tried if np.allclose(own, found.widths, rtol=1e-9)]
    assert max(ours) == pytest.approx(best, abs=1e-3)
    assert np.isnan(found.factor)


@pytest.mark.parametrize("shape", SHAPES)
def test_both_ways_to_conditional_widths_agree(shape, monkeypatch):
    """Kernels added one by one, and on a lattice: as good widths, by the direct sums."""
    x, y, w, grid, counts = column(shape, 200)
    monkeypatch.setattr(bandwidth, "DIRECT", 0)
    found = fit_densities(grid, counts, "conditional")
    _, classes = classes_of(x, y, w)
    tried = reference.conditional_likelihoods(classes, FLOOR, reference.narrowest(x))
    best = max(likelihood for likelihood, _ in tried)
    ours = [likelihood for likelihood, own in tried if np.allclose(own, found.widths, rtol=1e-9)]
    assert max(ours) == pytest.approx(best, abs=0.005 * len(x))


def test_conditional_widths_follow_what_tells_classes_apart():
    """Classes alternate along the line: wide kernels would mix them. Noise: wide kernels."""
    rng = np.random.default_rng(0)
    x = rng.random(2000)
    grid, codes = number_values(x)
    widest = {}
    for name, y in {
        "alternating": np.floor(20 * x).astype(int) % 2,
        "noise": rng.integers(0, 2, len(x)),
    }.items():
        counts = np.zeros((2, grid.size))
        np.add.at(counts, (y, codes - 1), 1)
        widest[name] = fit_densities(grid, counts, "conditional").widths.max()
    assert widest["alternating"] < 0.02 < 0.1 < widest["noise"]


def test_floors_are_what_tables_end_with():
    *_, grid, counts = column("skewed", 300)
    for floor in (FLOOR, 1e-3):
        found = fit_densities(grid, counts, "conditional", floor)
        np.testing.assert_allclose(found.floors, floor)


def test_silverman_follows_the_spread_of_each_class():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 4000), rng.normal(20, 3, 1000)])
    grid, codes = number_values(x)
    counts = np.zeros((2, grid.size))
    np.add.at(counts, ((np.arange(5000) >= 4000).astype(int), codes - 1), 1)
    found = fit_densities(grid, counts, "silverman")
    expected = 0.9 * np.array([1, 3]) * np.array([4000, 1000]) ** -0.2 / (x.max() - x.min())
    np.testing.assert_allclose(found.widths, expected, rtol=0.06)
    assert np.isnan(found.factor)
    alike = np.array([[0, 9.0, 0], [5, 0, 5]])
    found, _ = choose_widths(np.array([0, 0.5, 1]), alike, "silverman", FLOOR, 1e-3)
    assert (found > 0.1).all()


def test_a_number_is_the_factor():
    _, y, w, grid, counts = column("normal", 900)
    found = fit_densities(grid, counts, 0.5)
    expected = [0.5 / np.sqrt(w[y == k].sum()) for k in (0, 1)]
    np.testing.assert_allclose(found.widths, expected)
    assert found.factor == 0.5


def test_densities_integrate_to_one():
    x, _, _, grid, counts = column("skewed", 500)
    found = fit_densities(grid, counts, "cv", 1e-10)
    at = np.linspace(x.min() - np.ptp(x), x.max() + np.ptp(x), 600_001)
    np.testing.assert_allclose(np.trapezoid(np.exp(found.at(at)), at, axis=0), 1, atol=2e-3)


@pytest.mark.parametrize("value", [-1e300, -50.0, 1e6, 1.7e308])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_far_away_values_let_the_prior_decide(value, alpha):
    X, y = np.r_[0.0:9.0, 3.0:5.0][:, None], np.array([0] * 9 + [1] * 2)
    model = NaiveBayesClassifier(numeric="kernel", alpha=alpha).fit(X, y)
    prior = np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba([[value]])[0], prior, rtol=1e-12)
    assert np.isfinite(model.predict_joint_log_proba([[value]])).all()


def test_a_class_without_a_value_in_the_column_looks_like_all_together():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4, np.nan, np.nan], "b": [0.0, 1, 0, 1, 0, 1]})
    y = [0, 0, 1, 1, 2, 2]
    model = NaiveBayesClassifier(numeric="kernel", bandwidth=0.5).fit(X, y)
    everyone = NaiveBayesClassifier(numeric="kernel", bandwidth=0.5).fit(X[:4], [0] * 4)
    bars = model.evidence(X).contributions[:4, 0, 2]
    np.testing.assert_allclose(bars, everyone.evidence(X[:4]).contributions[:, 0, 0], atol=1e-9)


def test_huge_tiny_and_constant_columns():
    y = [0, 0, 0, 1, 1, 1]
    for scale in (1.0, 1e-300, 1.7e308, 1e-5):
        X = np.array([[-1.0], [-0.9], [-0.8], [0.8], [0.9], [1.0]]) * scale
        model = NaiveBayesClassifier(numeric="kernel").fit(X, y)
        p = model.predict_proba(X)
        assert np.isfinite(p).all()
        assert scale == 1e-300 or (model.predict(X) == y).all()
    constant = NaiveBayesClassifier(numeric="kernel").fit(np.full((6, 1), 3.0), y)
    assert constant.predict_proba([[3.0], [9.0]]).tolist() == [[0.5, 0.5]] * 2


def test_infinite_numbers_are_refused():
    model = NaiveBayesClassifier(numeric="kernel").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="holds the number -inf"):
        model.predict([[1.0], [-np.inf]])


@pytest.mark.parametrize("bandwidth", ["wide", 0, -1.0, np.nan, np.inf, True, None])
def test_bad_bandwidths_are_named(bandwidth):
    X, y = mixed_table(30)
    words = "bandwidth must be 'conditional', 'cv', 'silverman' or a positive number; got"
    with pytest.raises(ValueError, match=words):
        NaiveBayesClassifier(bandwidth=bandwidth).fit(X, y)


def test_kernel_columns_stand_beside_others_and_survive_compact_and_merge():
    X, y = mixed_table(400)
    model = NaiveBayesClassifier(numeric={"age": "kernel", "income": "gaussian"})
    whole = model.fit(X, y).predict_proba(X)
    halves = [NaiveBayesClassifier(**model.get_params()).fit(X[k::2], y[k::2]) for k in (0, 1)]
    joined = merge(halves)
    assert (joined.predict_proba(X) == whole).all()
    joined.compact()
    assert (joined.predict_proba(X) == whole).all()


def test_kernel_densities_see_what_a_normal_density_cannot():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 3000)
    y = (np.floor(x) % 2).astype(int)
    scores = {
        numeric: NaiveBayesClassifier(numeric=numeric)
        .fit(x[:2000, None], y[:2000])
        .score(x[2000:, None], y[2000:])
        for numeric in ("gaussian", "kernel")
    }
    assert scores["gaussian"] < 0.75
    assert scores["kernel"] > 0.95
