"""Kernels that look at the rows of one node while a tree grows."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unnaive.discretize.kernels import class_cells, threshold_cell

_BLOCK = 1024  # rows that are written column by column while they lie in cache
_DENSE = 4  # so many times more codes than rows, and the codes of the rows are sorted instead


@njit(cache=True, nogil=True)
def gather_columns(codes: NDArray[Any], chosen: NDArray[np.intp], out: NDArray[Any]) -> None:
    """Codes (IN, columns x rows) of the chosen rows (OUT)."""
    for j in range(codes.shape[0]):
        column, own = codes[j], out[j]
        for i in range(len(chosen)):
            own[i] = column[chosen[i]]


@njit(cache=True, nogil=True)
def transpose(columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Columns x rows (IN) as rows x columns (OUT)."""
    n_columns, n = columns.shape
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for j in range(n_columns):
            for i in range(start, stop):
                out[i, j] = columns[j, i]


@njit(cache=True, nogil=True)
def renumber(
    groups: NDArray[Any], chosen: NDArray[np.intp], n_groups: int
) -> tuple[NDArray[np.int32], int]:
    """Groups of the chosen rows, numbered among those that occur, and how many these are."""
    place = np.zeros(n_groups, dtype=np.int32)
    for i in chosen:
        place[groups[i]] = 1
    n = 0
    for g in range(n_groups):
        if place[g]:
            place[g] = n
            n += 1
    out = np.empty(len(chosen), dtype=np.int32)
    for i in range(len(chosen)):
        out[i] = place[groups[chosen[i]]]
    return out, n


@njit(cache=True, nogil=True)
def rank_columns(
    codes: NDArray[Any],
    sizes: NDArray[np.intp],
    numeric: NDArray[np.intp],
    ranks: NDArray[Any],
    n_ranks: NDArray[np.intp],
) -> None:
    """Rank of each row's code among the codes that occur, from 1 (OUT); 0 is missing in both."""
    n = codes.shape[1]
    for j in numeric:
        column = codes[j]
        if sizes[j] > _DENSE * n:
            present = np.unique(column)
            first = 0 if len(present) and present[0] == 0 else 1
            n_ranks[j] = len(present) - 1 + first
            ranks[j] = np.searchsorted(present, column) + first
            continue
        place = np.zeros(sizes[j] + 1, dtype=ranks.dtype)
        for i in range(n):
            place[column[i]] = 1
        rank = 0
        for v in range(1, sizes[j] + 1):
            if place[v]:
                rank += 1
                place[v] = rank
        place[0] = 0
        n_ranks[j] = rank
        for i in range(n):
            ranks[j, i] = place[column[i]]


@njit(cache=True, nogil=True)
def threshold(
    codes: NDArray[Any],
    ranks: NDArray[Any],
    n_ranks: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> tuple[int, int]:
    """Codes on both sides of the cut of least class entropy; 0 and 0 where there is none."""
    if n_ranks < 2:
        return 0, 0
    _, cumulative = class_cells(ranks, n_ranks, groups, weight, n_classes)
    cut = threshold_cell(cumulative)
    below = above = 0
    if cut >= 0:
        for i in range(len(codes)):
            if ranks[i] == cut:
                below = np.int64(codes[i])
            elif ranks[i] == cut + 1:
                above = np.int64(codes[i])
    return below, above


@njit(cache=True, nogil=True)
def values_present(codes: NDArray[Any], size: int) -> NDArray[np.intp]:
    """Codes that occur, ascending, without missing."""
    present = np.zeros(size + 2, dtype=np.bool_)
    for i in range(len(codes)):
        present[codes[i]] = True
    return np.flatnonzero(present[1:]) + 1


@njit(cache=True, nogil=True)
def intervals(codes: NDArray[Any], below: NDArray[np.intp]) -> NDArray[np.int32]:
    """Child of each row: how many cuts, whose codes below them ascend (IN), it lies above; -1 for
    missing.
    """
    child = np.empty(len(codes), dtype=np.int32)
    for i in range(len(codes)):
        k = 0
        while k < len(below) and codes[i] > below[k]:
            k += 1
        child[i] = -1 if codes[i] == 0 else k
    return child


@njit(cache=True, nogil=True)
def count_cells(
    codes: NDArray[Any],
    ranks: NDArray[Any],
    n_ranks: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Code of each rank, and the weight of each class there, after a row for missing values."""
    cells = np.empty(n_ranks, dtype=np.intp)
    counts = np.zeros((n_ranks + 1, n_classes))
    for i in range(len(codes)):
        if ranks[i] > 0:
            cells[ranks[i] - 1] = codes[i]
        counts[ranks[i], groups[i]] += weight[i]
    return cells, counts


@njit(cache=True, nogil=True)
def branches(codes: NDArray[Any], values: NDArray[np.intp], size: int) -> NDArray[np.int32]:
    """Child of each row where every value has its own; -1 for others and for missing."""
    place = np.full(size + 2, -1, dtype=np.int32)
    for k in range(len(values)):
        place[values[k]] = k
    child = np.empty(len(codes), dtype=np.int32)
    for i in range(len(codes)):
        child[i] = place[codes[i]]
    return child


@njit(cache=True, nogil=True)
def weight_where(marked: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """Weight of the marked rows."""
    total = 0.0
    for i in range(len(marked)):
        if marked[i]:
            total += weight[i]
    return total
