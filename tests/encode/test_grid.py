"""The fine grid equals its definition and does not depend on how rows are split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import grid_cells, grid_shift
from unnaive.encode import Bins, Grid
from unnaive.encode.grid import merge_grids, number_values
from unnaive.table import Column

FLOATS = st.floats(allow_infinity=False, allow_nan=True)
COLUMN = Column("x", "numeric", "number")


def check_against_definition(values: np.ndarray, limit: int) -> Grid:
    grid, codes = number_values(values, limit)
    cells = grid_cells(values.tolist(), limit)
    assert grid.shift == grid_shift(values.tolist(), limit)
    assert list(zip(grid.low.tolist(), grid.high.tolist(), strict=True)) == cells
    for value, code in zip(values[:500], codes[:500], strict=True):
        if np.isnan(value):
            assert code == 0
        else:
            low, high = cells[code - 1]
            assert low <= value <= high
    assert (codes == grid.codes(values)).all()
    return grid


@settings(max_examples=200, deadline=None)
@given(values=st.lists(FLOATS, max_size=60), limit=st.sampled_from([2, 8, 20, 65_534]))
def test_cells_equal_the_definition(values, limit):
    check_against_definition(np.array(values, dtype=np.float64), limit)


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.lists(FLOATS, max_size=30), min_size=1, max_size=4))
def test_merged_grids_equal_the_grid_of_all_values(parts):
    arrays = [np.array(p, dtype=np.float64) for p in parts]
    numbered = [number_values(a, 8) for a in arrays]
    merged, maps = merge_grids([grid for grid, _ in numbered], 8)
    whole, codes = number_values(np.concatenate(arrays), 8)
    assert merged.shift == whole.shift
    assert merged.low.tobytes() == whole.low.tobytes()
    assert merged.high.tobytes() == whole.high.tobytes()
    moved = [place[c] for (_, c), place in zip(numbered, maps, strict=True)]
    assert (np.concatenate(moved) == codes).all()


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=20_000),
        np.random.default_rng(1).random(20_000) + 5,  # one octave: leading bits say little
        np.random.default_rng(2).integers(-50, 50, 20_000).astype(float),
        np.exp(20 * np.random.default_rng(3).normal(size=20_000)),
        np.concatenate([np.zeros(9000), [1e300, -1e-300, np.nan], np.full(9000, np.pi)]),
        np.concatenate([np.linspace(1, 1 + 1e-12, 5000), [1e9]]),
    ],
    ids=["normal", "one octave", "whole", "heavy tail", "lumps", "dense lump and outlier"],
)
@pytest.mark.parametrize("limit", [8, 300, 65_534])
def test_large_columns_take_the_bitmap_or_the_sort_with_one_result(values, limit):
    check_against_definition(values, limit)


def test_both_zeros_are_one_value():
    grid, codes = number_values(np.array([0.0, -0.0, 1.0]))
    assert grid.size == 2
    assert codes.tolist() == [1, 1, 2]


def test_infinite_numbers_are_found():
    assert number_values(np.array([1.0, np.inf])) is None
    with pytest.raises(ValueError, match="column 'x' holds the number -inf.*Replace infinite"):
        Bins(np.array([0.0])).codes(np.array([1.0, -np.inf]), COLUMN)


@settings(max_examples=100, deadline=None)
@given(
    cuts=st.lists(st.integers(-50, 50), unique=True, max_size=300),
    values=st.lists(FLOATS, max_size=50),
)
def test_bins_equal_searchsorted(cuts, values):
    cuts, values = np.sort(np.array(cuts, dtype=float)), np.array(values, dtype=float)
    expected = np.where(np.isnan(values), 0, np.searchsorted(cuts, values, side="left") + 1)
    assert (Bins(cuts).codes(values, COLUMN) == expected).all()


@pytest.mark.parametrize(
    "cuts",
    [
        np.random.default_rng(0).normal(size=25),
        np.random.default_rng(1).normal(size=300),  # some share a cell
        np.exp(np.linspace(-300, 300, 40)),
        1.7e308 * np.linspace(-1, 1, 30),
        5e-324 * np.arange(-20, 20),
        1e15 + np.arange(30.0),
        np.repeat([1.0, 2.0], 15),
    ],
)
def test_bins_of_many_rows_equal_searchsorted_at_every_cut_and_beside_it(cuts):
    cuts = np.sort(cuts)
    beside = [np.nextafter(cuts, way) for way in (-np.inf, np.inf)]
    ends = [np.nan, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308]
    values = np.resize(np.concatenate([cuts, *beside, ends]), 1 << 15)
    expected = np.where(np.isnan(values), 0, np.searchsorted(cuts, values, side="left") + 1)
    assert (Bins(cuts).codes(values, COLUMN) == expected).all()
