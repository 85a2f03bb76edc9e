"""What growing asks about the rows of a node."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from unnaive.models.tree import node_kernels as kernels


@pytest.mark.parametrize("size", [30, 60_000])  # few codes, and many more than rows
@pytest.mark.parametrize("low", [0, 1])  # with missing rows, and without
def test_ranks_number_the_codes_that_occur(size, low):
    codes = np.random.default_rng(0).integers(low, size + 1, 50).astype(np.uint16)
    ranks = np.empty_like(codes)
    cells = kernels.rank(codes, size, ranks)
    np.testing.assert_array_equal(cells, np.unique(codes[codes > 0]))
    np.testing.assert_array_equal(ranks[codes == 0], 0)
    np.testing.assert_array_equal(cells[ranks[codes > 0] - 1], codes[codes > 0])


@pytest.mark.parametrize("seed", range(4))
def test_a_part_is_cut_as_by_the_twin_and_counted(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, 500)
    codes = (rng.integers(0, 9, 500) * (groups + 1)).astype(np.uint16)
    weight = rng.integers(1, 3, 500).astype(float)
    rows = np.sort(rng.choice(500, 300, replace=False))
    below, above, counts = kernels.cut_part(codes, rows, 40, groups, weight, 3)
    own = rows[codes[rows] > 0]
    cuts = reference.mdl_cuts(codes[own].astype(float), groups[own], weight[own])
    np.testing.assert_array_equal((below + above) / 2, cuts)
    assert len(cuts) > 0
    slots = np.concatenate(([0], np.searchsorted(cuts, np.arange(1, 42)) + 1))
    expected = np.zeros((3, len(cuts) + 3))
    np.add.at(expected, (groups[rows], slots[codes[rows]]), weight[rows])
    np.testing.assert_array_equal(counts, expected)
    slots[-1] = len(cuts) + 2  # unseen
    again = kernels.count_part(codes, rows, slots, groups, weight, 3)
    np.testing.assert_array_equal(again, expected)


def test_children_of_rows():
    codes = np.array([0, 3, 5, 7, 3], dtype=np.uint16)
    child = np.empty(5, dtype=np.int32)
    kernels.intervals(codes, np.array([3]), child)
    assert child.tolist() == [-1, 0, 1, 1, 0]
    kernels.intervals(codes, np.array([3, 5]), child)
    assert child.tolist() == [-1, 0, 1, 2, 0]
    assert kernels.values_present(codes, 8).tolist() == [3, 5, 7]
    kernels.branches(codes, np.array([3, 7]), 8, child)
    assert child.tolist() == [-1, 0, -1, 1, 0]
    assert kernels.child_sizes(child, 2).tolist() == [2, 1]
    rows, right = np.empty(2, dtype=np.intp), np.empty(2, dtype=np.bool_)
    marks = np.array([True, False, True, True, True])
    kernels.rows_of_child(child, 0, 10 * np.arange(5), marks, rows, right)
    assert (rows.tolist(), right.tolist()) == ([10, 40], [False, True])


def test_rows_in_order_of_their_folds():
    order = np.empty(6, dtype=np.intp)
    kernels.order_by(np.array([2, 0, 1, 0, 2, 2], dtype=np.uint8), 4, order)
    assert order.tolist() == [1, 3, 2, 0, 4, 5]


def test_many_rows_are_cut_as_few_are():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, 5000)
    codes = np.where(rng.random(5000) < 0.1, 0, 1 + rng.binomial(30, 0.2 + 0.2 * groups))
    rows, weight = np.flatnonzero(rng.random(5000) < 0.7), rng.integers(1, 4, 5000).astype(float)
    few = kernels.cut_part(codes.astype(np.uint16), rows, 40, groups, weight, 3)
    many = kernels._cut_many(codes.astype(np.uint16), rows, 40, groups, weight, 3)
    assert len(few[0]) > 0
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a, b)


def test_groups_of_chosen_rows_are_numbered_anew():
    groups = np.empty(3, dtype=np.int32)
    n = kernels.renumber(np.array([4, 1, 4, 0, 2]), np.array([0, 1, 4]), 5, groups)
    assert (groups.tolist(), n) == ([2, 0, 1], 3)
