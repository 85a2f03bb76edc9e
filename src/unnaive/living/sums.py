"""Sums of neighbouring periods, kept so that any window is the sum of a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unnaive.counts import Summary


def sum_of(parts: Sequence[Summary]) -> Summary:
    """All parts together, neighbours first: small sums are added to small ones."""
    parts = list(parts)
    while len(parts) > 1:
        pairs = [parts[k] + parts[k + 1] for k in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


class RunningSums:
    """Sums over runs of 2, 4, 8, ... neighbours, made when they are first needed.

    A window of n periods is then the sum of about 2 log2(n) runs. All runs together hold at most
    as much as log2(n) times the periods; less, as cells that periods share are kept once.

    Parameters
    ----------
    single : function
        The sum of the period at a place.
    """

    def __init__(self, single: Callable[[int], Summary]) -> None:
        self._single = single
        self._runs: dict[tuple[int, int], Summary] = {}

    def clear(self, place: int | None = None) -> None:
        """Forget the runs that hold a place, or all of them."""
        if place is None:
            self._runs.clear()
            return
        for level, k in list(self._runs):
            if place >> level == k:
                del self._runs[level, k]

    def window(self, start: int, stop: int) -> Summary:
        """The sum of the periods from one place until before another."""
        parts = []
        while start < stop:
            level = (start & -start).bit_length() - 1 if start else 63
            level = min(level, (stop - start).bit_length() - 1)
            parts.append(self._run(level, start >> level))
            start += 1 << level
        return sum_of(parts)

    def _run(self, level: int, k: int) -> Summary:
        if level == 0:
            return self._single(k)
        if (level, k) not in self._runs:
            halves = self._run(level - 1, 2 * k), self._run(level - 1, 2 * k + 1)
            self._runs[level, k] = halves[0] + halves[1]
        return self._runs[level, k]
