"""Random choices about rows that depend on the seed and the row alone.

A generator with a state would give a row another number when rows are split differently; here the
row's number is the state. A row's number is its place, or comes from its values: then equal rows
have equal numbers, wherever they stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import MOST
from unnaive.common.kernels import kernel
from unnaive.table.records import Storage, stretches

_STEP = np.uint64(0x9E3779B97F4A7C15)
_SEED = np.uint64(0xD1342543DE82EF95)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_ALL = 2**64 - 1
_ROWS = 1024
LANES = 3  # small numbers that share a word
LANE_BITS = 21
LANE_ROWS = 1 << 17  # rows whose words may be added: draws are at most 15


def row_bits(
    seed: int, row_ids: NDArray[np.int64], storage: Storage | None = None
) -> NDArray[np.uint64]:
    """64 random bits for each row: the splitmix64 sequence of the seed, at the row's place."""
    out = (storage or Storage()).empty(len(row_ids), np.uint64)
    _fill_bits(np.uint64(seed & _ALL), row_ids, out)
    return out


def draw_folds(seed: int, row_ids: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each row, each equally likely."""
    high = row_bits(seed, row_ids) >> _32
    return ((high * np.uint64(n_folds)) >> _32).astype(np.int64)


def deal_folds(
    seed: int,
    row_ids: NDArray[np.int64],
    groups: NDArray[Any],
    n_folds: int,
    storage: Storage | None = None,
) -> NDArray[np.int64]:
    """A fold for each row, so that every fold has its share of every group, as nearly as can be.

    The rows, shuffled and then sorted by group, are dealt in turn. Groups may be smaller than the
    number of folds: some folds are then without them.
    """
    room = storage or Storage()
    order = draw_order(seed, row_ids, room)
    order = room.take(order, room.argsort(room.take(groups, order)))
    folds = room.empty(len(order), np.int64)
    for part in stretches(len(order)):
        folds[order[part]] = np.arange(part.start, part.stop) % n_folds
    return folds


def assign_folds(
    cv: Any,
    seed: int,
    row_ids: NDArray[np.int64],
    target: NDArray[Any] | None,
    storage: Storage | None = None,
) -> tuple[NDArray[np.int64], int]:
    """A fold for every row, and how many folds there are.

    ``cv`` is a number of folds to draw, a scikit-learn splitter, or ready (train, test) positions
    in the table as it was given. Splitters make arrays of all rows in memory.
    """
    ready = hasattr(cv, "__iter__") and not isinstance(cv, str)
    splitter = hasattr(cv, "split") and not isinstance(cv, str)
    if not (isinstance(cv, (int, np.integer)) or splitter or ready):
        raise ValueError(
            "cv must be a number of folds, a scikit-learn splitter, or (train, test) positions; "
            f"got {cv!r}."
        )
    if isinstance(cv, (int, np.integer)):
        check_folds(cv)
        folds = (storage or Storage()).empty(len(row_ids), np.int64)
        for part in stretches(len(row_ids)):
            folds[part] = draw_folds(seed, row_ids[part], int(cv))
        return folds, int(cv)
    n_rows = len(row_ids)
    if not ready:
        splits, ids = list(cv.split(np.zeros(n_rows), target)), np.arange(n_rows)
    else:
        splits, ids = list(cv), row_ids
    fold_of = np.full(max(n_rows, int(ids.max()) + 1), -1, dtype=np.int64)
    for k, (_, positions) in enumerate(splits):
        test = np.asarray(positions)
        test = test[test < len(fold_of)]  # others are of rows without weight
        if (fold_of[test] >= 0).any():
            raise ValueError("cv puts a row into two test sets; use a splitter that does not.")
        fold_of[test] = k
    if (fold_of[ids] < 0).any():
        raise ValueError("cv leaves rows out of every test set; each must be in one.")
    return fold_of[ids], len(splits)


def check_folds(cv: Any) -> None:
    """Refuse a number of folds that cannot be made."""
    if cv < 2:
        raise ValueError(f"cv must be 2 folds or more; got {cv!r}.")
    if cv > MOST["cv"]:
        raise ValueError(f"cv must be {MOST['cv']:,} folds or fewer; got {cv!r:.60}.")


def draw_uniform(seed: int, row_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """A number between 0 and 1 for each row."""
    return (row_bits(seed, row_ids) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_order(
    seed: int, row_ids: NDArray[np.int64], storage: Storage | None = None
) -> NDArray[np.intp]:
    """The rows' positions in a random order."""
    room = storage or Storage()
    return room.argsort(row_bits(seed, row_ids, room))


def branch_seeds(seed: int, n: int) -> NDArray[np.uint64]:
    """Seeds for n independent streams of draws, all from one seed."""
    return row_bits(seed, np.arange(n))


def branch_seed(seed: int, k: int) -> int:
    """Seed number k of them alone."""
    return int(row_bits(seed, np.array([k]))[0])


def draw_poisson(
    seeds: NDArray[np.uint64], row_ids: NDArray[np.int64], mean: float
) -> NDArray[np.uint64]:
    """How often each row is drawn by each seed: Poisson with the given mean, at most 1.

    This is what drawing rows with replacement tends to when there are many of them, without one
    row having to know of another. The answer is words x rows: each word holds the draws of LANES
    seeds side by side, so that adding words adds draws; `lane` reads one of them.
    """
    out = np.zeros((-(-len(seeds) // LANES), len(row_ids)), dtype=np.uint64)
    _fill_poisson(seeds, row_ids, _poisson_limits(mean), out)
    return out


def lane(words: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
    """The numbers of seed k in words, or in sums of at most LANE_ROWS of them."""
    return (words[k // LANES] >> np.uint64(k % LANES * LANE_BITS)) & np.uint64(2**LANE_BITS - 1)


def _poisson_limits(mean: float) -> NDArray[np.uint32]:
    """Limits of 32-bit numbers: a number is drawn as often as it reaches limits."""
    most_draws = 15
    limits: list[int] = []
    chance = below = math.exp(-mean)
    while below * 2.0**32 < 2.0**32 - 0.5 and len(limits) < most_draws:
        limits.append(round(below * 2.0**32))
        chance *= mean / len(limits)
        below += chance
    return np.array(limits, dtype=np.uint32)


def value_keys(
    columns: Sequence[NDArray[Any]], n_rows: int, storage: Storage | None = None
) -> NDArray[np.uint64]:
    """A number for each row from its values alone; columns are float64 or unsigned codes."""
    keys = (storage or Storage()).zeros(n_rows, np.uint64)
    for part in stretches(n_rows):
        key = keys[part]
        for j, column in enumerate(columns):
            values = column[part]
            bits = values.astype(np.uint64) if values.dtype.kind == "u" else _float_key(values)
            _fill_bits(np.uint64(j), (key ^ bits).view(np.int64), key)
    return keys


def _float_key(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The bits of floats; one pattern for all NaN, and one for both zeros."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


@kernel(inline="always")
def _bits(start: np.uint64, row: np.uint64) -> np.uint64:
    z = (row + _ONE) * _STEP + start
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def bits_at(seed: np.uint64, place: np.uint64) -> np.uint64:
    """64 random bits: what `row_bits` has for one row."""
    return _bits(seed * _SEED, place)


@kernel
def _fill_bits(seed: np.uint64, row_ids: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    start = seed * _SEED
    for i in range(len(row_ids)):
        out[i] = _bits(start, np.uint64(row_ids[i]))


@kernel
def _fill_poisson(
    seeds: NDArray[np.uint64],
    row_ids: NDArray[np.int64],
    limits: NDArray[np.uint32],
    words: NDArray[np.uint64],
) -> None:
    """Words x rows (OUT). Many rows at a time, without branches, one seed after the other."""
    high = np.empty(_ROWS, dtype=np.uint32)
    drawn = np.empty(_ROWS, dtype=np.uint32)
    for first in range(0, len(row_ids), _ROWS):
        rows = row_ids[first : first + _ROWS]
        m = len(rows)
        for b in range(len(seeds)):
            start = seeds[b] * _SEED
            shift = np.uint64(b % LANES * LANE_BITS)
            word = words[b // LANES, first : first + m]
            for i in range(m):
                high[i] = np.uint32(_bits(start, np.uint64(rows[i])) >> _32)
                drawn[i] = 0
            for limit in limits:
                for i in range(m):
                    drawn[i] += np.uint32(high[i] >= limit)
            for i in range(m):
                word[i] |= np.uint64(drawn[i]) << shift
