"""Compiled loops of explanations."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.common.compile import kernel


@kernel
def strongest(strength: Any, bars: Any, evidence: Any) -> None:
    """The bars of each row with most evidence above 0, the strongest first.

    Parameters
    ----------
    strength : array of shape (bars, rows)
        IN.
    bars, evidence : arrays of shape (rows, top)
        OUT: which bars, -1 where there are no more, and their evidence. Of equally strong ones the
        first is kept.
    """
    n_bars, n_rows = strength.shape
    row = np.empty(n_bars)
    for i in range(n_rows):
        for j in range(n_bars):
            row[j] = strength[j, i]
        for k in range(bars.shape[1]):  # few: looking for each is quicker than sorting
            most, at = 0.0, -1
            for j in range(n_bars):
                more = row[j] > most
                most = row[j] if more else most
                at = j if more else at
            bars[i, k], evidence[i, k] = at, most
            if at >= 0:
                row[at] = 0.0


@kernel
def pick_table(codes: Any, wrap: int, mask: int, weights: Any, labels: Any, out: Any) -> None:
    """The evidence (OUT) of each row's slot (IN, slots x labels) for its label (IN)."""
    for i in range(len(codes)):
        out[i] = weights[(np.int64(codes[i]) + wrap) & mask, labels[i]]


@kernel
def group_by_bar(bars: Any, n_bars: int) -> tuple[Any, Any, Any]:
    """Places of each bar in a table of rows x ranks, row by row.

    Parameters
    ----------
    bars : array of int32 of shape (rows, top)
        Number of the bar, -1 for none.
    n_bars : int
        How many there are.

    Returns
    -------
    places, rows : arrays
        Places in the flattened table, those of the first bar first, and the row of each.
    ends : array of shape (n_bars + 1,)
        Where the places of each bar begin, and where the last ones end.
    """
    n_rows, top = bars.shape
    ends = np.zeros(n_bars + 1, dtype=np.int64)
    for i in range(n_rows):
        for k in range(top):
            ends[bars[i, k] + 1] += 1
    ends[0] = 0
    for j in range(n_bars):
        ends[j + 1] += ends[j]
    places = np.empty(ends[n_bars], dtype=np.int64)
    rows = np.empty(ends[n_bars], dtype=np.int64)
    free = ends[:-1].copy()
    for i in range(n_rows):
        for k in range(top):
            j = bars[i, k]
            if j >= 0:
                places[free[j]] = i * top + k
                rows[free[j]] = i
                free[j] += 1
    return places, rows, ends
