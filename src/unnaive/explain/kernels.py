"""Compiled loops of explanations."""

from __future__ import annotations

from typing import Any

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
