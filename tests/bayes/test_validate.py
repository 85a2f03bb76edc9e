"""Cross-validation marks the rows that naive Bayes fitted anew gets right."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from reference_validation import right_rows
from unnaive.bayes.validate import (
    NO_KERNELS,
    FoldedRows,
    Smoothed,
    cross_validate,
)
from unnaive.encode.intrinsics import add_rows


def made_rows(seed, n_classes, n_parts, n=260, n_values=(3, 2, 5, 0, 4)):
    """Rows in order of folds, some missing, some without a part; values tell classes apart.

    Of the types that trees have, for which the kernel is there.
    """
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_classes, n).astype(np.int32)
    folds = np.sort(rng.integers(0, 4, n)).astype(np.uint8)
    part = rng.integers(-1, n_parts, n).astype(np.int32)
    sizes = np.tile(np.array(n_values, dtype=np.intp), (n_parts, 1))
    slots = np.zeros((n, len(n_values)), dtype=np.uint16)
    for j, size in enumerate(n_values):
        if size:
            drawn = (groups + rng.integers(0, 3, n)) % size + 1
            slots[:, j] = np.where(rng.random(n) < 0.1, 0, drawn)
    return slots, part, sizes, groups, rng.integers(1, 4, n).astype(float), folds


@pytest.mark.parametrize("missing_is_value", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    ("n_classes", "n_parts"), [(1, 2), (2, 3), (3, 1), (5, 4), (26, 2), (2, 60)]
)
def test_rows_are_right_where_the_twin_is(n_classes, n_parts, alpha, missing_is_value):
    slots, part, sizes, groups, weight, folds = made_rows(n_classes, n_classes, n_parts)
    before = np.arange(len(groups)) % 2 == 0
    found = before.copy()
    rows = FoldedRows(slots, part, groups, n_classes, weight, folds, 4)
    order = np.empty(len(groups), dtype=np.int32)
    cross_validate(rows, sizes, Smoothed(alpha, missing_is_value), NO_KERNELS, order, found)
    expected = right_rows(
        slots, part, sizes, groups, weight, folds, alpha, missing_is_value, before
    )
    np.testing.assert_array_equal(found, expected)
    assert n_classes == 1 or 0 < found[part >= 0].mean() < 1


def test_parts_with_large_tables_are_looked_at_one_by_one():
    slots, part, sizes, groups, weight, folds = made_rows(0, 3, 4)
    wide = sizes.copy()
    wide[:, 3] = 20_000  # an attribute that is always missing, but has many values
    found = []
    for n_values in (sizes, wide):
        right = np.zeros(len(groups), dtype=np.bool_)
        order = np.empty(len(groups), dtype=np.int32)
        rows = FoldedRows(slots, part, groups, 3, weight, folds, 4)
        cross_validate(rows, n_values, Smoothed(0.5, False), NO_KERNELS, order, right)
        found.append(right)
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].any()


def test_classes_without_rows_elsewhere_never_win():
    slots = np.array([[1], [1], [1]], dtype=np.uint16)
    groups, folds = np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.uint8)
    right = np.ones(3, dtype=np.bool_)
    part, sizes = np.zeros(3, dtype=np.int32), np.array([[1]])
    rows, order = FoldedRows(slots, part, groups, 2, np.ones(3), folds, 2), np.empty(3, np.int32)
    cross_validate(rows, sizes, Smoothed(0.5, False), NO_KERNELS, order, right)
    assert right.tolist() == [False, True, False]  # fold 1 sees a tie: the first class
    alone = np.ones(3, dtype=np.bool_)
    same = rows._replace(folds=0 * folds)
    cross_validate(same, sizes, Smoothed(0.5, False), NO_KERNELS, order, alone)
    assert not alone.any()  # nothing to learn from


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
