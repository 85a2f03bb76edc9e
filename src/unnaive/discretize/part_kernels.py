"""Numeric columns cut by MDL within each of several parts of the rows: kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.discretize.kernels import boundaries, mdl_cuts


@kernel
def discretize_parts(
    order: NDArray[np.intp],
    codes: NDArray[Any],
    part: NDArray[np.intp],
    n_parts: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
    slots: NDArray[np.uint16],
    n_values: NDArray[np.intp],
) -> None:
    """Cut one numeric column by MDL within each part of the rows.

    order (IN) rows by ascending code; codes (IN) fine cells, 0 is missing; part (IN) of each row,
    -1 for none; slots (OUT) the interval of each row, 0 where missing; n_values (OUT) intervals
    per part. One pass per step over the rows, however many parts and cells there are.
    """
    cells = np.zeros(n_parts, dtype=np.intp)
    last = np.zeros(n_parts, dtype=np.int64)  # no value has code 0
    for i in order:
        p = part[i]
        if p >= 0 and codes[i] != 0 and codes[i] != last[p]:
            last[p] = codes[i]
            cells[p] += 1
    start = np.zeros(n_parts + 1, dtype=np.intp)
    for p in range(n_parts):
        start[p + 1] = start[p] + cells[p] + 1
    cumulative = np.zeros((start[-1], n_classes))
    cell = np.zeros(n_parts, dtype=np.intp)
    last[:] = 0
    for i in order:
        p = part[i]
        if p >= 0 and codes[i] != 0:
            if codes[i] != last[p]:
                last[p] = codes[i]
                cell[p] += 1
            cumulative[start[p] + cell[p], groups[i]] += weight[i]
    interval = np.ones(start[-1], dtype=np.uint16)
    for p in range(n_parts):
        sums = cumulative[start[p] : start[p + 1]]
        for k in range(1, len(sums)):
            sums[k] += sums[k - 1]
        n_values[p] = 1 if cells[p] else 0
        if cells[p] < 2:
            continue
        for cut in mdl_cuts(sums, boundaries(sums)):
            interval[start[p] + cut + 1 : start[p + 1]] += np.uint16(1)
            n_values[p] += 1
    cell[:] = 0
    last[:] = 0
    for i in order:
        p = part[i]
        if p >= 0:
            if codes[i] != 0 and codes[i] != last[p]:
                last[p] = codes[i]
                cell[p] += 1
            slots[i] = interval[start[p] + cell[p]] if codes[i] != 0 else 0


@kernel
def discretize_parts_by_table(
    codes: NDArray[Any],
    n_codes: int,
    part: NDArray[np.intp],
    n_parts: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
    slots: NDArray[np.uint16],
    n_values: NDArray[np.intp],
) -> None:
    """The same by a table of parts x codes x classes: quicker where that has fewer cells than rows.

    Rows are read as they lie, not in the order of their values.
    """
    counts = np.zeros((n_parts, n_codes + 1, n_classes))
    for i in range(len(codes)):
        if part[i] >= 0:
            counts[part[i], codes[i], groups[i]] += weight[i]
    interval = np.zeros((n_parts, n_codes + 1), dtype=np.uint16)
    cumulative = np.zeros((n_codes + 1, n_classes))
    cell = np.empty(n_codes + 1, dtype=np.intp)
    for p in range(n_parts):
        n = 0
        for v in range(1, n_codes + 1):
            here = False
            for c in range(n_classes):
                here |= counts[p, v, c] > 0.0
            if here:
                n += 1
                cell[n] = v
                for c in range(n_classes):
                    cumulative[n, c] = cumulative[n - 1, c] + counts[p, v, c]
        n_values[p] = 1 if n else 0
        sums = cumulative[: n + 1]
        cuts = mdl_cuts(sums, boundaries(sums)) if n > 1 else np.empty(0, dtype=np.intp)
        k = 0
        for at in range(1, n + 1):
            if k < len(cuts) and cuts[k] == at - 1:
                k += 1
            interval[p, cell[at]] = k + 1
        n_values[p] += len(cuts)
    for i in range(len(codes)):
        if part[i] >= 0:
            slots[i] = interval[part[i], codes[i]]


@kernel
def discretize_columns(
    ranks: NDArray[np.uint16],
    n_ranks: NDArray[np.intp],
    chosen: NDArray[np.intp],
    part: NDArray[np.intp],
    n_parts: int,
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_classes: int,
    slots: NDArray[np.uint16],
    n_values: NDArray[np.intp],
) -> None:
    """`discretize_parts_by_table` for several columns (IN, columns x rows) of a table of slots."""
    for j in chosen:
        discretize_parts_by_table(
            ranks[j],
            n_ranks[j],
            part,
            n_parts,
            groups,
            weight,
            n_classes,
            slots[:, j],
            n_values[:, j],
        )
