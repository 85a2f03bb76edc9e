"""Random choices about rows that depend on the seed and the row alone.

A generator with a state would give a row another number when rows are split differently; here the
row's number is the state. A row's number is its place, or comes from its values: then equal rows
have equal numbers, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_bits(seed: int, row_ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """64 random bits for each row: the splitmix64 sequence of the seed, at the row's place."""
    with np.errstate(over="ignore"):
        step = np.uint64(0x9E3779B97F4A7C15)
        z = (row_ids.astype(np.uint64) + np.uint64(1)) * step
        z += np.uint64(seed & (2**64 - 1)) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def draw_folds(seed: int, row_ids: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each row, each equally likely."""
    high = row_bits(seed, row_ids) >> np.uint64(32)
    return ((high * np.uint64(n_folds)) >> np.uint64(32)).astype(np.int64)


def value_keys(columns: Sequence[NDArray[Any]], n_rows: int) -> NDArray[np.uint64]:
    """A number for each row from its values alone; columns are float64 or unsigned codes."""
    key = np.zeros(n_rows, np.uint64)
    for j, column in enumerate(columns):
        bits = column.astype(np.uint64) if column.dtype.kind == "u" else _float_key(column)
        key = row_bits(j, (key ^ bits).view(np.int64))
    return key


def _float_key(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The bits of floats; one pattern for all NaN, and one for both zeros."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


def hold_out(
    seed: int, keys: NDArray[np.uint64], weight: NDArray[np.float64], n_folds: int
) -> NDArray[np.float64]:
    """The weight of each distinct row that each fold holds out: folds x rows.

    A row of weight w is w equal rows, dealt one by one to the folds in turn, after shuffling by the
    rows' keys; what is left of a broken weight goes to the next fold. The folds are equally large
    and do not depend on the order in which rows came.
    """
    order = np.argsort(row_bits(seed, keys.view(np.int64)), kind="stable")
    copies = np.ceil(weight[order])
    first = np.concatenate(([0.0], np.cumsum(copies)[:-1])).astype(np.int64)
    each = np.floor(weight / n_folds)
    rest = weight - n_folds * each
    held = np.tile(each, (n_folds, 1))
    start = np.empty(len(keys), np.int64)
    start[order] = first
    for t in range(int(np.ceil(rest.max(initial=0.0)))):
        some = np.flatnonzero(rest > t)
        held[(start[some] + t) % n_folds, some] += np.minimum(rest[some] - t, 1.0)
    return held
