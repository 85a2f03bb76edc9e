"""Counting kernels. No kernel knows a model: a row has codes, a group and a weight.

Codes are unsigned; ``wrap`` is added before use and the result kept in the code's own range, so
that raw codes, whose largest value means missing, land on slots (0 missing) with ``wrap=1`` and
ready slots stay what they are with ``wrap=0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

_CHUNK = 2048
TURNS = 4  # tables that take increments by turns


@kernel
def count_one(
    codes: NDArray[Any], wrap: int, mask: int, groups: NDArray[Any], out: NDArray[Any]
) -> None:
    """Rows per (slot, group) of one column (OUT)."""
    for i in range(len(codes)):
        out[(np.int64(codes[i]) + wrap) & mask, groups[i]] += 1


@kernel
def count_joint(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    c: NDArray[np.uint8],
    d: NDArray[np.uint8],
    widths: NDArray[np.uint16],
    used: NDArray[np.uint16],
    groups: NDArray[np.uint8],
    n_groups: int,
    out: NDArray[np.uint32],
) -> None:
    """Rows per (slots of a, b, c and d, group): one increment counts four columns (OUT).

    A column that is not ``used`` has width 1 and is passed over. First the cell of each row of a
    chunk, which the compiler turns into vector instructions, then the increments, in four tables
    by turns, so that a row need not wait for its neighbour's. Cells must fit in 16 bits.
    """
    n = len(a)
    w = np.uint8(1)  # raw codes, whose largest is missing, to slots
    n_b, n_c, n_d, n_g = widths[1], widths[2], widths[3], np.uint16(n_groups)
    u_b, u_c, u_d = used[1], used[2], used[3]
    one = np.uint32(1)
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    cells = np.empty(_CHUNK, dtype=np.uint16)
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        a_, b_, c_, d_ = (
            a[start : start + m],
            b[start : start + m],
            c[start : start + m],
            d[start : start + m],
        )
        g_ = groups[start : start + m]
        for i in range(m):
            cell = np.uint16(np.uint8(a_[i] + w))
            cell = np.uint16(cell * n_b + np.uint16(np.uint8(b_[i] + w)) * u_b)
            cell = np.uint16(cell * n_c + np.uint16(np.uint8(c_[i] + w)) * u_c)
            cell = np.uint16(cell * n_d + np.uint16(np.uint8(d_[i] + w)) * u_d)
            cells[i] = np.uint16(cell * n_g + np.uint16(g_[i]))
        for i in range(0, m - 3, 4):
            first[cells[i]] += one
            second[cells[i + 1]] += one
            third[cells[i + 2]] += one
            fourth[cells[i + 3]] += one
        for i in range(m - (m & 3), m):
            first[cells[i]] += one


@kernel
def marginals(joint: NDArray[Any], widths: NDArray[np.intp], out: NDArray[np.float64]) -> None:
    """The tables of single columns (OUT, columns x slots x groups) in a joint one (IN, cells x
    groups), in which the last column's slots vary fastest.
    """
    n_cells, n_groups = joint.shape
    for cell in range(n_cells):
        rest = cell
        for k in range(len(widths) - 1, -1, -1):
            slot = rest % widths[k]
            rest //= widths[k]
            for g in range(n_groups):
                out[k, slot, g] += joint[cell, g]


@kernel
def add_lanes(
    words: NDArray[np.uint64], lanes: int, lane_bits: int, out: NDArray[np.float64]
) -> None:
    """Numbers that lie side by side in words (IN, words x cells) added one by one (OUT)."""
    mask = np.uint64((1 << lane_bits) - 1)
    for b in range(len(out)):
        shift = np.uint64(b % lanes * lane_bits)
        word = words[b // lanes]
        table = out[b]
        for cell in range(len(table)):
            table[cell] += np.float64((word[cell] >> shift) & mask)


@kernel
def count_weighted(
    codes: NDArray[Any],
    wrap: int,
    mask: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Weight per (slot, group) of one column (OUT), added in the order of the rows."""
    for i in range(len(codes)):
        out[(np.int64(codes[i]) + wrap) & mask, groups[i]] += weight[i]


@kernel
def scatter_slots(
    counts: NDArray[np.float64], place: NDArray[np.intp], out: NDArray[np.float64]
) -> None:
    """Add every slot of a table (IN) to the slot it belongs to in another (OUT)."""
    for g in range(counts.shape[0]):
        for s in range(counts.shape[1]):
            out[g, place[s]] += counts[g, s]


@kernel
def add_table(
    counts: NDArray[np.float64],
    groups: NDArray[np.intp],
    slots: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None:
    """Add a table (IN) to another (OUT) that has its groups and slots in other places."""
    for g in range(counts.shape[0]):
        row = out[groups[g]]
        for s in range(counts.shape[1]):
            row[slots[s]] += counts[g, s]


@kernel
def count_cells(
    codes: NDArray[np.uint16],
    starts: NDArray[np.intp],
    groups: NDArray[Any],
    n_groups: int,
    weight: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Weight per (cell, group) of joint codes (IN, runs x rows), added in the rows' order (OUT).

    Weights are floats, or words in which several small numbers lie side by side. The cells of run r
    begin at ``starts[r]``.
    """
    n_runs, n_rows = codes.shape
    cells = np.empty(_CHUNK, dtype=np.int32)
    for first in range(0, n_rows, _CHUNK):
        m = min(_CHUNK, n_rows - first)
        of, w = groups[first : first + m], weight[first : first + m]
        for r in range(n_runs):
            column = codes[r, first : first + m]
            table = out[starts[r] * n_groups : starts[r + 1] * n_groups]
            for i in range(m):
                cells[i] = np.int32(column[i]) * np.int32(n_groups) + np.int32(of[i])
            for i in range(m):
                table[cells[i]] += w[i]


@kernel
def mutual_information(table: NDArray[np.float64]) -> float:
    """See `information_of`."""
    n_rows, n_columns = table.shape
    rows, columns = np.zeros(n_rows), np.zeros(n_columns)
    for i in range(n_rows):
        for j in range(n_columns):
            rows[i] += table[i, j]
            columns[j] += table[i, j]
    n = rows.sum()
    if n <= 0.0:
        return 0.0
    return _entropy(rows, n) + _entropy(columns, n) - _entropy(table.ravel(), n)


@kernel
def _entropy(weights: NDArray[np.float64], n: float) -> float:
    """Entropy of weights that sum to n, with half a cell beyond the first for each that occurs."""
    total, present = 0.0, 0
    for weight in weights:
        if weight > 0.0:
            total += weight * np.log(weight)
            present += 1
    return float(np.log(n) - total / n + (present - 1) / (2.0 * n))


@kernel
def row_information(
    parts: NDArray[np.int32],
    n_parts: int,
    groups: NDArray[Any],
    n_groups: int,
    weight: NDArray[np.float64],
) -> float:
    """Mutual information of the part of each row, -1 for none, and its group."""
    table = np.zeros((n_parts + 1, n_groups))
    for i in range(len(parts)):
        table[parts[i] + 1, groups[i]] += weight[i]
    return mutual_information(table)


@kernel
def count_decimals(
    values: NDArray[np.float64],
    groups: NDArray[Any],
    scale: float,
    first: float,
    n_cells: int,
    out: NDArray[np.uint32],
    others: NDArray[np.intp],
) -> int:
    """Rows per (cell, group), in one line (OUT); cell k has the value (first + k) / scale.

    Two cells more count rows whose values (IN) have no cell, and missing ones. The places of the
    former are listed (OUT). Returns their number, or -1 when they are more than the list is long.
    """
    n_groups = np.uint32(len(out) // (n_cells + 2))
    end = np.float64(n_cells)
    cell = np.empty(_CHUNK, dtype=np.uint32)
    n = 0
    for start in range(0, len(values), _CHUNK):
        part, group = values[start : start + _CHUNK], groups[start : start + _CHUNK]
        gone = np.int64(0)
        for i in range(len(part)):  # no branch: many values at a time
            unit = np.rint(part[i] * scale)
            at = unit - first
            known = (unit / scale == part[i]) & (at >= 0.0) & (at < end)
            missing = part[i] != part[i]
            cell[i] = np.uint32(at if known else (end + 1.0 if missing else end))
            gone += np.int64(not (known or missing))
        for i in range(len(part)):
            out[cell[i] * n_groups + np.uint32(group[i])] += np.uint32(1)
        if gone:
            if n + gone > len(others):
                return -1
            for i in range(len(part)):
                if cell[i] == np.uint32(n_cells):
                    others[n] = start + i
                    n += 1
    return n
