"""Halves of rows that judge each other."""

from __future__ import annotations

import numpy as np

from unnaive.models._halves import (
    draw_halves,
    in_second_half,
    judge_by_other_half,
    n_half_models,
)
from unnaive.table.storage import Storage


def test_halves_are_drawn_by_numbers_alone_and_every_row_is_judged_by_the_other():
    ids = np.random.default_rng(0).permutation(1000)
    halves = draw_halves(ids, Storage())
    rows = [halves.rows(k) for k in range(2)]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(1000))
    assert 400 < len(rows[0]) < 600
    np.testing.assert_array_equal(halves.second, in_second_half(np.arange(1000))[ids])
    by = np.empty((1000, 1))
    judge_by_other_half(halves.second, lambda k, rows: np.full((len(rows), 1), k), by)
    np.testing.assert_array_equal(by[:, 0] == 0, halves.second)


def test_there_are_no_halves_where_one_would_be_empty():
    assert draw_halves(np.zeros(1, dtype=np.int64), Storage()) is None
    assert draw_halves(np.full(9, 4), Storage(), seed=3) is None


def test_of_many_rows_one_half_is_learned_from():
    assert [n_half_models(n) for n in (1, 4096, 4097)] == [2, 2, 1]
    by = np.full((6, 1), -1.0)
    judge_by_other_half(np.ones(6, dtype=bool), lambda k, rows: np.full((len(rows), 1), k), by)
    assert (by == 0.0).all()  # and the model of the other half is not asked
