"""Sums of floats that do not depend on order.

A number is a whole count of 2**-1088. Squares of numbers below 2**-480 lose their lowest bits,
the same ones in any order. It is kept in 32-bit limbs, lowest first, in int64. Values
of similar size go a faster way: scaled to integers, squared to 128 bits, summed in three words,
and added to the limbs once per chunk of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.encode.intrinsics import fused_multiply_add, square_128

UNIT_BITS = 1088  # 34 limbs below one: the smallest float is 2**-1074
LIMBS = 69  # up to 2**1024, and room for sums of 2**60 terms
CHUNK = 512  # rows between carries from the fast sums to the limbs
LARGEST = 2.0**500  # squares of larger numbers are not floats
_LARGEST_TERM = 2.0**1000

_LOW = np.int64(0xFFFFFFFF)
_FAST_BITS = 62  # the largest value of a chunk is scaled to below 2**62
_FAST_LIMIT = 2.0**62


def to_ints(limbs: NDArray[np.int64]) -> tuple[list[int], int]:
    """What sums with carries resolved stand for: whole numbers, and how many of them make one.

    The second is a power of two, given by its logarithm. Low limbs that are zero in all sums are
    left out: arithmetic of small whole numbers is faster.
    """
    rows = limbs.reshape(-1, LIMBS)
    first = min(int(rows.any(axis=0).argmax()), UNIT_BITS // 32)
    low = rows[:, first:-1].astype("<u4").tobytes()
    width = 4 * (LIMBS - 1 - first)
    numbers = [
        int.from_bytes(low[k * width : (k + 1) * width], "little") + (top << 8 * width)
        for k, top in enumerate(rows[:, -1].tolist())
    ]
    return numbers, UNIT_BITS - 32 * first


def from_ints(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Whole numbers of units as limbs with carries resolved, one number to a row."""
    size = 4 * (LIMBS - 1)
    out = np.empty((len(numbers), LIMBS), dtype=np.int64)
    for row, number in zip(out, numbers, strict=True):
        top = number >> 8 * size
        row[:-1] = np.frombuffer((number - (top << 8 * size)).to_bytes(size, "little"), "<u4")
        row[-1] = top
    return out


@kernel
def carry(limbs: NDArray[np.int64]) -> None:
    """Bring every limb but the last into 0 to 2**32 - 1: one number, one representation."""
    over = np.int64(0)
    for i in range(LIMBS - 1):
        value = limbs[i] + over
        over = value >> 32
        limbs[i] = value & _LOW
    limbs[LIMBS - 1] += over


def carry_all(limbs: NDArray[np.int64]) -> None:
    """Resolve the carries of an array of sums, in place."""
    _carry_rows(limbs.reshape(-1, LIMBS))


@kernel
def _carry_rows(rows: NDArray[np.int64]) -> None:
    for i in range(rows.shape[0]):
        carry(rows[i])


@kernel
def _add_bits(limbs: NDArray[np.int64], position: int, value: np.int64, negative: bool) -> None:
    """Add (or subtract) ``value`` (0 to 2**63 - 1) times 2**position units."""
    limb = position >> 5
    shift = np.int64(position & 31)
    low = (value & _LOW) << shift
    high = (value >> np.int64(32)) << shift
    first, second, third = low & _LOW, (low >> np.int64(32)) + (high & _LOW), high >> np.int64(32)
    if negative:
        first, second, third = -first, -second, -third
    limbs[limb] += first
    limbs[limb + 1] += second
    limbs[limb + 2] += third


@kernel
def add_float(limbs: NDArray[np.int64], value: float) -> None:
    """Add one float exactly."""
    if value == 0.0:
        return
    mantissa, exponent = math.frexp(value)
    whole = np.int64(abs(mantissa) * 9007199254740992.0)  # 2**53
    position = exponent - 53 + UNIT_BITS
    if position < 0:  # a subnormal: its lowest bits are zeros
        whole >>= np.int64(-position)
        position = 0
    _add_bits(limbs, position, whole, value < 0.0)


@kernel
def _add_product(limbs: NDArray[np.int64], a: float, b: float) -> None:
    """Add a * b exactly: the rounded product and its error."""
    product = a * b
    add_float(limbs, product)
    add_float(limbs, fused_multiply_add(a, b, -product))


@kernel
def _add_slowly(sums: NDArray[np.int64], value: float, weight: float) -> None:
    """Add weight * value and weight * value**2 to the limbs (3, LIMBS)."""
    _add_product(sums[0], weight, value)
    square = value * value
    _add_product(sums[1], weight, square)
    _add_product(sums[1], weight, fused_multiply_add(value, value, -square))


@kernel
def _scale_of(values: NDArray[np.float64]) -> int:
    """Power of two that brings a chunk's values just below 2**62."""
    largest = 0.0
    for i in range(len(values)):
        magnitude = abs(values[i])
        if largest < magnitude <= LARGEST:  # false for NaN
            largest = magnitude
    return min(_FAST_BITS - math.frexp(largest)[1], 500)


@kernel
def _flush(words: NDArray[np.uint64], n: int, scale: int, sums: NDArray[np.int64]) -> None:
    """Add a chunk's number of rows and fast sums (IN, set back to zero) to the limbs."""
    _add_bits(sums[2], UNIT_BITS, n, False)
    position = UNIT_BITS - scale
    _add_bits(sums[0], position, np.int64(words[3]), False)
    high = np.int64(words[4])
    _add_bits(sums[0], position + 32, abs(high), high < 0)
    position = UNIT_BITS - 2 * scale
    for k in range(3):
        _add_bits(sums[1], position + 64 * k, np.int64(words[k] & np.uint64(_LOW)), False)
        _add_bits(sums[1], position + 64 * k + 32, np.int64(words[k] >> np.uint64(32)), False)
    words[:] = 0


@kernel
def _add_fast(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    factor: float,
    words: NDArray[np.uint64],
    present: NDArray[np.int64],
    missing: NDArray[np.float64],
    sums: NDArray[np.int64],
) -> int:
    """Add a chunk of one column, each row weighing one, to words per group (OUT) where a value
    is whole after scaling, to the limbs (OUT) where not. Returns how many went the slow way, or
    -1 when one is too large.
    """
    slow = 0
    for i in range(len(values)):
        value = values[i]
        g = groups[i]
        if value != value:
            missing[g] += 1.0
            continue
        present[g] += 1
        scaled = value * factor
        whole = np.int64(scaled) if abs(scaled) < _FAST_LIMIT else np.int64(0)
        # Too fine or too large for this scale, or so small that scaling lost it.
        if np.float64(whole) != scaled or (whole == 0 and value != 0.0):
            if abs(value) > LARGEST:
                return -1
            _add_slowly(sums[g], value, 1.0)
            slow += 1
            continue
        low, high = square_128(whole)
        row = words[g]
        first = row[0] + low
        high += np.uint64(first < low)
        second = row[1] + high
        row[2] += np.uint64(second < high)
        row[0] = first
        row[1] = second
        row[3] += np.uint64(whole & _LOW)
        row[4] += np.uint64(whole >> np.int64(32))
    return slow


@kernel
def _add_weighted(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    missing: NDArray[np.float64],
    sums: NDArray[np.int64],
) -> int:
    """Add a chunk of one column of weighted rows to the limbs (OUT); -1 when one is too large."""
    for i in range(len(values)):
        value = values[i]
        if value != value:
            missing[groups[i]] += weight[i]
        else:
            if abs(value) > LARGEST or weight[i] * value * value > _LARGEST_TERM:
                return -1
            add_float(sums[groups[i], 2], weight[i])
            _add_slowly(sums[groups[i]], value, weight[i])
    return 0


@kernel
def add_moments(
    matrix: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    missing: NDArray[np.float64],
    sums: NDArray[np.int64],
) -> int:
    """Add weight * x, weight * x**2 and weight per group and column.

    matrix (IN) rows x columns; weight (IN) empty when every row weighs one; missing (OUT) groups x
    columns, the weight of rows without a value; sums (OUT) groups x columns x 3 x limbs. Returns
    -1, or the column in which an infinite or too large number stands.
    """
    n_rows, n_columns = matrix.shape
    n_groups = sums.shape[0]
    # Per group: low, middle and high word of the squares; low and high half of the values.
    words = np.zeros((n_groups, 5), dtype=np.uint64)
    present = np.zeros(n_groups, dtype=np.int64)
    scales = np.zeros(n_columns, dtype=np.int64)
    stale = np.ones(n_columns, dtype=np.bool_)
    for start in range(0, n_rows, CHUNK):
        rows = slice(start, min(n_rows, start + CHUNK))
        for j in range(n_columns):
            values = matrix[rows, j]
            if len(weight):
                weights = weight[rows]
                if _add_weighted(values, groups[rows], weights, missing[:, j], sums[:, j]):
                    return j
                continue
            if stale[j]:
                scales[j] = _scale_of(values)
            factor = math.ldexp(1.0, scales[j])
            slow = _add_fast(
                values, groups[rows], factor, words, present, missing[:, j], sums[:, j]
            )
            if slow < 0:
                return j
            stale[j] = slow > CHUNK // 32  # any scale is right, but a poor one is slow
            for g in range(n_groups):
                if present[g]:
                    _flush(words[g], present[g], scales[j], sums[g, j])
                    present[g] = 0
        if (start // CHUNK) % 1024 == 1023:
            _carry_table(sums)
    _carry_table(sums)
    return -1


@kernel
def _carry_table(sums: NDArray[np.int64]) -> None:
    for g in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            for k in range(3):
                carry(sums[g, j, k])
