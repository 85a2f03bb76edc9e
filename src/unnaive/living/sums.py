"""Sums of windows of periods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from unnaive.counts import Summary
from unnaive.counts.summary import merge_summaries
from unnaive.encode.labels import refuse_mixed
from unnaive.table import Schema


class WindowSums:
    """The sums of windows; the last one is kept, and goes on where the next begins as it does.

    Windows that grow by a period at a time then cost one addition each. All others are the sum of
    their periods, in a time that grows with what these hold.

    Parameters
    ----------
    single : function
        The sum of the period at a place.
    """

    def __init__(self, single: Callable[[int], Summary]) -> None:
        self._single = single
        self._last: tuple[int, int, Summary] | None = None

    def clear(self, places: Iterable[int] | None = None) -> None:
        """Forget the last window, if it holds one of some places, or in any case."""
        if self._last is None:
            return
        start, stop, _ = self._last
        if places is None or any(start <= place < stop for place in places):
            self._last = None

    def window(self, start: int, stop: int) -> Summary:
        """The sum of the periods from one place until before another."""
        parts, first = [], start
        if self._last is not None and self._last[0] == start and self._last[1] <= stop:
            parts, first = [self._last[2]], self._last[1]
        parts += [self._single(k) for k in range(first, stop)]
        total = parts[0] if len(parts) == 1 else merge_summaries(parts)
        if stop - start > 1:
            self._last = start, stop, total
        return total


def join_schemas(schema: Schema | None, parts: Sequence[Summary]) -> Schema:
    """What is known of the columns, by some parts too; those counted together share theirs."""
    different = {id(part.schema): part.schema for part in parts}.values()
    return reduce(Schema.__add__, different if schema is None else [schema, *different])


def refuse_others(schema: Schema, known: Summary, parts: Sequence[Summary]) -> None:
    """Refuse parts that do not add up with what is known: other columns, or labels of other types.

    They would spoil all that they are kept with.
    """
    join_schemas(schema, parts)
    for labels in {id(part.labels): part.labels for part in parts}.values():
        refuse_mixed(known.labels, labels)
