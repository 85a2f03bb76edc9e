"""Kernels that look at the rows of one node while a tree grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.discretize.kernels import boundaries, class_cells, mdl_cuts, threshold_cell

_BLOCK = 1024  # rows that are written column by column while they lie in cache
_MANY = 1 << 16  # rows that are not copied to be cut
_DENSE = 4  # so many times more codes than rows, and the codes of the rows are sorted instead


@kernel
def gather_columns(codes: NDArray[Any], chosen: NDArray[np.intp], out: NDArray[Any]) -> None:
    """Codes (IN, columns x rows) of the chosen rows (OUT)."""
    for j in range(codes.shape[0]):
        column, gathered = codes[j], out[j]
        for i in range(len(chosen)):
            gathered[i] = column[chosen[i]]


@kernel
def transpose(columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Columns x rows (IN) as rows x columns (OUT)."""
    n_columns, n = columns.shape
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for j in range(n_columns):
            for i in range(start, stop):
                out[i, j] = columns[j, i]


@kernel
def renumber(
    groups: NDArray[Any], chosen: NDArray[np.intp], n_groups: int, out: NDArray[np.int32]
) -> int:
    """Groups of the chosen rows, numbered among those that occur (OUT), and how many these are."""
    place = np.zeros(n_groups, dtype=np.int32)
    for i in chosen:
        place[groups[i]] = 1
    n = 0
    for g in range(n_groups):
        if place[g]:
            place[g] = n
            n += 1
    for i in range(len(chosen)):
        out[i] = place[groups[chosen[i]]]
    return n


@kernel
def order_by(codes: NDArray[Any], n_codes: int, order: NDArray[np.intp]) -> None:
    """Rows of one code after those of another, otherwise as they stand (OUT)."""
    at = np.zeros(n_codes + 1, dtype=np.intp)
    for code in codes:
        at[code + 1] += 1
    for c in range(n_codes):
        at[c + 1] += at[c]
    for i in range(len(codes)):
        order[at[codes[i]]] = i
        at[codes[i]] += 1


@kernel
def child_sizes(child: NDArray[np.int32], n_children: int) -> NDArray[np.intp]:
    """How many rows each child has."""
    sizes = np.zeros(n_children, dtype=np.intp)
    for k in child:
        if k >= 0:
            sizes[k] += 1
    return sizes


@kernel
def child_weights(
    child: NDArray[np.int32], weight: NDArray[np.float64], n_children: int
) -> NDArray[np.float64]:
    """Weight of the rows of each child."""
    total = np.zeros(n_children)
    for i in range(len(child)):
        if child[i] >= 0:
            total[child[i]] += weight[i]
    return total


@kernel
def rows_of_child(
    child: NDArray[np.int32],
    k: int,
    chosen: NDArray[np.intp],
    marks: NDArray[np.bool_],
    rows: NDArray[np.intp],
    child_marks: NDArray[np.bool_],
) -> None:
    """Of a node's rows and their marks (IN), those of child k (OUT), in their order."""
    n = 0
    for i in range(len(child)):
        if child[i] == k:
            rows[n] = chosen[i]
            child_marks[n] = marks[i]
            n += 1


@kernel
def return_marks(
    child: NDArray[np.int32], k: int, child_marks: NDArray[np.bool_], marks: NDArray[np.bool_]
) -> None:
    """Marks of child k's rows (IN) to their places among those of all rows (OUT)."""
    n = 0
    for i in range(len(child)):
        if child[i] == k:
            marks[i] = child_marks[n]
            n += 1


@kernel
def look_up(table: NDArray[Any], codes: NDArray[Any], out: NDArray[Any]) -> None:
    """What a table says of each code (OUT)."""
    for i in range(len(codes)):
        out[i] = table[codes[i]]


@kernel
def class_weights(
    groups: NDArray[Any], weight: NDArray[np.float64], rows: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Weight of each class among some rows."""
    total = np.zeros(n_classes)
    for i in rows:
        total[groups[i]] += weight[i]
    return total


@kernel
def rank(column: NDArray[Any], size: int, ranks: NDArray[Any]) -> NDArray[np.intp]:
    """Codes that occur, ascending, and each row's rank among them from 1 (OUT).

    0 is missing in both.
    """
    n = len(column)
    if size > _DENSE * n:
        ordered = np.sort(column)
        cells = np.empty(n, dtype=np.intp)
        n_cells = 0
        for i in range(n):
            if ordered[i] > (ordered[i - 1] if i else 0):
                cells[n_cells] = ordered[i]
                n_cells += 1
        for i in range(n):
            ranks[i] = np.searchsorted(cells[:n_cells], column[i]) + 1 if column[i] else 0
        return cells[:n_cells]
    place = np.zeros(size + 1, dtype=ranks.dtype)
    for i in range(n):
        place[column[i]] = 1
    cells = np.empty(min(n, size), dtype=np.intp)
    n_cells = 0
    for v in range(1, size + 1):
        if place[v]:
            cells[n_cells] = v
            n_cells += 1
            place[v] = n_cells
    place[0] = 0
    for i in range(n):
        ranks[i] = place[column[i]]
    return cells[:n_cells]


@kernel
def rank_columns(
    codes: NDArray[Any],
    sizes: NDArray[np.intp],
    numeric: NDArray[np.intp],
    ranks: NDArray[Any],
    n_ranks: NDArray[np.intp],
) -> None:
    """`rank` of several columns (OUT, columns x rows) and how many codes each has (OUT)."""
    for j in numeric:
        n_ranks[j] = len(rank(codes[j], sizes[j], ranks[j]))


@kernel
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
                below = int(codes[i])
            elif ranks[i] == cut + 1:
                above = int(codes[i])
    return below, above


@kernel
def values_present(codes: NDArray[Any], size: int) -> NDArray[np.intp]:
    """Codes that occur, ascending, without missing."""
    present = np.zeros(size + 2, dtype=np.bool_)
    for i in range(len(codes)):
        present[codes[i]] = True
    return np.flatnonzero(present[1:]) + 1


@kernel
def intervals(codes: NDArray[Any], below: NDArray[np.intp], child: NDArray[np.int32]) -> None:
    """Child of each row (OUT): how many cuts, whose codes below them ascend (IN), it lies above;
    -1 for missing.
    """
    for i in range(len(codes)):
        k = 0
        while k < len(below) and codes[i] > below[k]:
            k += 1
        child[i] = -1 if codes[i] == 0 else k


@kernel
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


@kernel
def count_cells_of(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    size: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The codes that the chosen rows have, ascending, and the weight of each class there, after a
    row for missing values.
    """
    if len(rows) <= _MANY:
        node_codes = codes[rows]
        ranks = np.empty_like(node_codes)
        n = len(rank(node_codes, size, ranks))
        return count_cells(node_codes, ranks, n, groups[rows], weight[rows], n_classes)
    table = np.zeros((size + 1, n_classes))
    seen = np.zeros(size + 1, dtype=np.bool_)
    for i in rows:
        seen[codes[i]] = True
        table[codes[i], groups[i]] += weight[i]
    cells = np.flatnonzero(seen[1:]) + 1
    for k in range(len(cells)):
        table[k + 1] = table[cells[k]]
    return cells, table[: len(cells) + 1]


@kernel
def branches(
    codes: NDArray[Any], values: NDArray[np.intp], size: int, child: NDArray[np.int32]
) -> None:
    """Child of each row (OUT) where every value has its own; -1 for others and for missing."""
    place = np.full(size + 2, -1, dtype=np.int32)
    for k in range(len(values)):
        place[values[k]] = k
    for i in range(len(codes)):
        child[i] = place[codes[i]]


@kernel
def weight_where(marked: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """Weight of the marked rows."""
    total = 0.0
    for i in range(len(marked)):
        if marked[i]:
            total += weight[i]
    return total


@kernel
def count_part(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    slots: NDArray[Any],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> NDArray[np.float64]:
    """Weight per class and slot of the chosen rows; slots (IN) of all codes, ascending."""
    counts = np.zeros((n_classes, np.int64(slots[-1]) + 1))
    for i in rows:
        counts[groups[i], slots[codes[i]]] += weight[i]
    return counts


@kernel
def _cut_many(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    size: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """`cut_part` from the weights of codes, without lists as long as the rows."""
    table = np.zeros((size + 1, n_classes))
    for i in rows:
        table[codes[i], groups[i]] += weight[i]
    cells = np.empty(size, dtype=np.intp)
    cumulative = np.zeros((size + 1, n_classes))
    n = 0
    for v in range(1, size + 1):
        if table[v].max() > 0.0:
            cells[n] = v
            n += 1
            cumulative[n] = cumulative[n - 1] + table[v]
    cells, cumulative = cells[:n], cumulative[: n + 1]
    cuts = mdl_cuts(cumulative, boundaries(cumulative))
    counts = np.zeros((n_classes, len(cuts) + 3))
    counts[:, 0] = table[0]
    for k in range(n):
        counts[:, np.searchsorted(cuts, k + 1) + 1] += table[cells[k]]
    return cells[cuts - 1], cells[cuts], counts


@kernel
def cut_part(
    codes: NDArray[Any],
    rows: NDArray[np.intp],
    size: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """A number cut by MDL among the chosen rows: the codes below and above each cut, and the weight
    per class and slot, the last slot for unseen values.
    """
    if len(rows) > _MANY:
        return _cut_many(codes, rows, size, groups, weight, n_classes)
    node_codes = codes[rows]
    ranks = np.empty_like(node_codes)
    cells = rank(node_codes, size, ranks)
    _, cumulative = class_cells(ranks, len(cells), groups[rows], weight[rows], n_classes)
    cuts = mdl_cuts(cumulative, boundaries(cumulative))
    counts = np.zeros((n_classes, len(cuts) + 3))
    for k in range(len(rows)):
        slot = np.searchsorted(cuts, ranks[k]) + 1 if ranks[k] else 0
        counts[groups[rows[k]], slot] += weight[rows[k]]
    return cells[cuts - 1], cells[cuts], counts
