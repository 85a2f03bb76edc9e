"""Kernels of NBTree agree with naive Bayes fitted anew, and with cuts made alone."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import reference
from reference_validation import right_rows
from unnaive.encode.intrinsics import add_rows
from unnaive.models import _nbtree_kernels as kernels


def coded_rows(seed, n_classes, n_parts, n=260, n_values=(3, 2, 5, 0, 4)):
    """Return rows in order of folds, some missing, some in part 0; values tell classes apart."""
    rng = np.random.default_rng(seed)
    y, folds = rng.integers(0, n_classes, n), np.sort(rng.integers(0, 4, n)).astype(np.uint8)
    codes = np.zeros((len(n_values), n), dtype=np.uint16)
    for j, size in enumerate(n_values):
        if size:
            drawn = (y + rng.integers(0, 3, n)) % size + 1
            codes[j] = np.where(rng.random(n) < 0.1, 0, drawn)
    part, weight = rng.integers(0, n_parts + 1, n), rng.integers(1, 4, n).astype(float)
    return codes, np.array(n_values), part, y, weight, folds


def mark(codes, sizes, cut, part, y, weight, folds, smoothing, correct):
    order, starts = kernels.order_by(part, int(part.max()) + 1)
    slots = np.empty((len(y), len(sizes)), dtype=np.uint16)
    rows = kernels.FoldedRows(slots, y, int(y.max()) + 1, weight, folds, int(folds.max()) + 1)
    cut = np.full(len(sizes), cut)
    kernels.mark_correct(codes, sizes, cut, rows, order, starts, smoothing, correct)
    return correct


@pytest.mark.parametrize("missing_is_value", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    ("n_classes", "n_parts"), [(1, 2), (2, 3), (3, 1), (5, 4), (26, 2), (2, 60)]
)
def test_rows_are_correct_where_the_twin_is(n_classes, n_parts, alpha, missing_is_value):
    codes, sizes, part, y, weight, folds = coded_rows(n_classes, n_classes, n_parts)
    before = np.arange(len(y)) % 2 == 0
    smoothing = kernels.Smoothing(alpha, missing_is_value)
    found = mark(codes, sizes, False, part, y, weight, folds, smoothing, before.copy())
    n_values = np.tile(sizes, (n_parts, 1))
    given = (codes.T, part - 1, n_values, y, weight, folds, alpha, missing_is_value, before)
    np.testing.assert_array_equal(found, right_rows(*given))
    assert n_classes == 1 or 0 < found[part > 0].mean() < 1


def test_classes_without_rows_elsewhere_never_win():
    codes, sizes, part = np.ones((1, 3), np.uint16), np.array([1]), np.ones(3, np.intp)
    y, folds, smoothing = np.array([0, 1, 1]), np.array([0, 0, 1], np.uint8), (0.5, False)
    given = (codes, sizes, False, part, y, np.ones(3))
    found = mark(*given, folds, kernels.Smoothing(*smoothing), np.ones(3, dtype=np.bool_))
    assert found.tolist() == [False, True, False]  # fold 1 sees a tie: the first class
    alone = mark(*given, 0 * folds, kernels.Smoothing(*smoothing), np.ones(3, dtype=np.bool_))
    assert not alone.any()  # nothing to learn from


@pytest.mark.parametrize("size", [60, 60_000])  # few codes, and many more than rows
@pytest.mark.parametrize("seed", range(4))
def test_parts_are_cut_as_by_the_twin(seed, size):
    rng = np.random.default_rng(seed)
    y, part = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
    step = size // 60
    codes = (rng.integers(0, 9, 500) * (y + 1) * step).astype(np.uint16)
    weight, folds = rng.integers(1, 3, 500).astype(float), np.sort(rng.integers(0, 3, 500))
    binned = np.zeros_like(codes)
    for p in (1, 2):
        own = np.flatnonzero((part == p) & (codes > 0))
        cuts = reference.mdl_cuts(codes[own].astype(float), y[own], weight[own])
        binned[own] = np.searchsorted(cuts, codes[own]) + 1
        rows = part == p
        cells, counts = kernels.count_cells(codes[rows], y[rows], weight[rows], size, 3)
        np.testing.assert_array_equal(cells, np.unique(codes[own]))
        positions = kernels.mdl_positions(counts)
        assert len(positions) > 0
        halves = (cells[positions - 1].astype(float) + cells[positions]) / 2
        np.testing.assert_array_equal(halves, cuts)
        assert counts.sum() == weight[rows].sum()
        assert counts[0].sum() == weight[rows & (codes == 0)].sum()
    smoothing, nobody = kernels.Smoothing(0.5, False), np.zeros(500, dtype=np.bool_)
    found = mark(codes[None], np.array([size]), True, part, y, weight, folds, smoothing, nobody)
    sizes = np.array([[binned[part == p].max()] for p in (1, 2)])
    given = (binned[:, None], part - 1, sizes, y, weight, folds, 0.5, False, ~np.ones(500, bool))
    np.testing.assert_array_equal(found, right_rows(*given))


def test_rows_of_a_table_are_added_in_order():
    @njit
    def add(table, starts, lane, total):
        add_rows(table, starts, lane, total)

    table = np.random.default_rng(0).normal(size=80)
    total = np.linspace(0, 1, 8)
    expected = total.copy()
    for start in (8, 40, 0):
        expected[4:] += table[start + 4 : start + 8]
    add(table, np.array([8, 40, 0]), 4, total)
    np.testing.assert_array_equal(total, expected)
