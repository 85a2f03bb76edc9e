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
    top = bars.shape[1]
    for i in range(n_rows):
        kept, least = 0, 0.0
        for j in range(n_bars):
            value = strength[j, i]
            if value <= least:
                continue
            at = kept if kept < top else top - 1
            while at > 0 and evidence[i, at - 1] < value:
                bars[i, at] = bars[i, at - 1]
                evidence[i, at] = evidence[i, at - 1]
                at -= 1
            bars[i, at] = j
            evidence[i, at] = value
            if kept < top:
                kept += 1
            if kept == top:
                least = evidence[i, top - 1]
        for k in range(kept, top):
            bars[i, k] = -1
            evidence[i, k] = 0.0


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
