"""Which periods a window holds, and how their rows fade."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.living.periods import Period, moment_of, span_of

DAY = np.timedelta64(1, "D")


def window(periods: Sequence[Period], since: Any, until: Any, *, calendar: bool) -> tuple[int, int]:
    """Places of the first period of a window, and of the one after its last."""
    if calendar:
        inside = _inside(periods, since, until)
    else:
        first = 0 if since is None else _position(periods, since)
        last = len(periods) - 1 if until is None else _position(periods, until)
        inside = list(range(first, last + 1))
    if not inside:
        raise ValueError(
            f"no row is of the periods from {since!r} to {until!r}; there are those from "
            f"{periods[0]!r} to {periods[-1]!r}."
        )
    return inside[0], inside[-1] + 1


def _position(periods: Sequence[Period], period: Period) -> int:
    if period not in periods:
        shown = ", ".join(map(repr, periods[:8]))
        more = ", ..." if len(periods) > 8 else ""
        raise ValueError(f"{period!r} is no period of the timeline; they are {shown}{more}.")
    return periods.index(period)


def _inside(periods: Sequence[str], since: Any, until: Any) -> list[int]:
    start = None if since is None else moment_of(since, end=False)
    end = None if until is None else moment_of(until, end=True)
    inside = []
    for k, period in enumerate(periods):
        span = span_of(period)
        if (start is not None and span.end <= start) or (end is not None and span.start >= end):
            continue
        if (start is not None and span.start < start) or (end is not None and span.end > end):
            raise ValueError(
                f"the window from {since!r} to {until!r} holds only a part of the period "
                f"{period!r}; begin or end it where periods do."
            )
        inside.append(k)
    return inside


def fading_weights(periods: Sequence[Period], half_life: Any, *, calendar: bool) -> list[float]:
    """Weights of the rows of periods: half as much for every half-life before the last one."""
    if isinstance(half_life, datetime.timedelta) and calendar:
        half_life = half_life / datetime.timedelta(days=1)
    number = isinstance(half_life, (int, float, np.number)) and not isinstance(half_life, bool)
    if not number or not 0 < half_life < math.inf:
        what = "days, or a timedelta," if calendar else "periods"
        raise ValueError(f"half_life must be a number of {what} above 0; got {half_life!r}.")
    if calendar:
        ends = [span_of(period).end for period in periods]
        ages = [float((ends[-1] - end) / DAY) for end in ends]
    else:
        ages = [float(len(periods) - 1 - k) for k in range(len(periods))]
    return [0.5 ** (age / float(half_life)) for age in ages]
