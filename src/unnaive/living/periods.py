"""Periods of a calendar, or values of a column, and windows of them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import expect
from unnaive.common.wording import counted
from unnaive.encode.labels import label_groups
from unnaive.estimator.base import utc_moment
from unnaive.table import Block, Column
from unnaive.table.columns import family_of, is_missing, read_categorical, read_numeric

Moment: TypeAlias = np.datetime64
Period: TypeAlias = Any  # text of a calendar, or a plain value of a column
# Units of a calendar: their NumPy code, how periods are written, and the units that these lie in.
_UNITS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "hour": ("h", r"\d{4}-\d\d-\d\dT\d\d", ("day", "week", "month", "quarter", "year")),
    "day": ("D", r"\d{4}-\d\d-\d\d", ("week", "month", "quarter", "year")),
    "week": ("D", r"\d{4}-W\d\d", ()),
    "month": ("M", r"\d{4}-\d\d", ("quarter", "year")),
    "quarter": ("M", r"\d{4}-Q[1-4]", ("year",)),
    "year": ("Y", r"\d{4}", ()),
}
UNITS = tuple(_UNITS)


class Span(NamedTuple):
    """From a moment until before another."""

    start: Moment
    end: Moment


def _number(unit: str, moments: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Return the number of the period of each moment, counted from 1970."""
    count = moments.astype(f"datetime64[{_UNITS[unit][0]}]").astype(np.int64)
    if unit == "week":  # 1970 began on a Thursday; weeks begin on Mondays
        return (count + 3) // 7
    return count // 3 if unit == "quarter" else count


def _start(unit: str, number: int) -> Moment:
    count = {"week": 7 * number - 3, "quarter": 3 * number}.get(unit, number)
    start = np.array([count]).astype(f"datetime64[{_UNITS[unit][0]}]")
    first: Moment = start.astype("datetime64[us]")[0]
    return first


def _name(unit: str, number: int) -> str:
    start = _start(unit, number)
    if unit == "week":
        year, week, _ = start.astype(datetime.datetime).isocalendar()
        return f"{year:04d}-W{week:02d}"
    if unit == "quarter":
        return f"{start.astype('datetime64[Y]')}-Q{number % 4 + 1}"
    return str(start.astype(f"datetime64[{_UNITS[unit][0]}]"))


def unit_of(period: str) -> str | None:
    """Return the unit of a period, by how it is written."""
    forms = ((unit, form) for unit, (_, form, _) in _UNITS.items())
    return next((unit for unit, form in forms if re.fullmatch(form, period)), None)


@lru_cache(maxsize=1 << 14)
def span_of(period: str) -> Span:
    """Return beginning and end of a period of a calendar."""
    unit = unit_of(period)
    try:
        if unit == "week":
            day = datetime.date.fromisocalendar(int(period[:4]), int(period[6:]), 1)
            first = np.datetime64(day, "us")
        elif unit == "quarter":
            first = np.datetime64(f"{period[:4]}-{3 * int(period[-1]) - 2:02d}", "us")
        elif unit is not None:
            first = np.datetime64(period, "us")
        else:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{period!r} is no period; write a year as '2024', a quarter as '2024-Q1', a month as "
            "'2024-03', a week as '2024-W10', a day as '2024-03-05', an hour as '2024-03-05T14'."
        ) from None
    number = int(_number(unit, np.array([first]))[0])
    return Span(_start(unit, number), _start(unit, number + 1))


def moment_of(value: Any, *, end: bool) -> Moment:
    """Return where a window begins or ends: text and dates mean whole periods, times a moment."""
    if isinstance(value, str):
        return span_of(value).end if end else span_of(value).start
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return moment_of(value.isoformat(), end=end)
    try:
        return utc_moment(value)
    except (TypeError, ValueError):
        word = "until" if end else "since"
        raise ValueError(
            f"{word} must be a period such as '2024-03', a date or a time; got {value!r}."
        ) from None


def coarser(period: str, unit: str) -> str:
    """Return the period of a larger unit that a period lies in."""
    period_unit = unit_of(period)
    if period_unit == unit:
        return period
    if period_unit is None or not nested(period_unit, unit):
        raise ValueError(f"the period {period!r} does not lie in one {unit}.")
    return _name(unit, int(_number(unit, np.array([span_of(period).start]))[0]))


def nested(unit: str, larger: str) -> bool:
    """Return whether periods of a unit lie in those of a larger one."""
    return unit in _UNITS and larger in _UNITS[unit][2]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Hours, days, weeks, months, quarters or years of a column of times."""

    unit: str
    column: Any

    def split(self, block: Block) -> tuple[list[Period], NDArray[Any]]:
        """Return the periods of the rows, and the position of each row's period."""
        moments = _moments(block.period, self.column)
        if not len(moments):
            return [], np.empty(0, dtype=np.uint8)
        labels, places = label_groups(_number(self.unit, moments))
        return [_name(self.unit, n) for n in labels.classes.tolist()], places

    def check(self, periods: Sequence[Period]) -> None:
        """Raise if a period is not one of this unit."""
        for period in periods:
            expect(
                type(period) is str and unit_of(period) == self.unit, f"{period!r} is no period."
            )
            span_of(period)

    def window(self, periods: Sequence[Period], since: Any, until: Any) -> tuple[int, int]:
        """Return the positions of the first period of a window, and of the one after its last."""
        start = None if since is None else moment_of(since, end=False)
        end = None if until is None else moment_of(until, end=True)
        inside = []
        for k, period in enumerate(periods):
            span = span_of(period)
            before = start is not None and span.end <= start
            if before or (end is not None and span.start >= end):
                continue
            if (start is not None and span.start < start) or (end is not None and span.end > end):
                raise ValueError(
                    f"the window from {since!r} to {until!r} holds only a part of the period "
                    f"{period!r}; begin or end it where periods do."
                )
            inside.append(k)
        if not inside:
            raise ValueError(
                f"no row is of the periods from {since!r} to {until!r}; there are those from "
                f"{periods[0]!r} to {periods[-1]!r}."
            )
        return inside[0], inside[-1] + 1

    def ages(self, periods: Sequence[Period], half_life: Any) -> NDArray[np.float64]:
        """Return by how many half-lives each period ends before the last one."""
        if isinstance(half_life, datetime.timedelta):
            half_life = half_life / datetime.timedelta(days=1)
        check_half_life(half_life, "days, or a timedelta,")
        ends = np.array([span_of(period).end for period in periods])
        return (ends[-1] - ends) / np.timedelta64(1, "D") / float(half_life)


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column, in their order."""

    column: Any

    def split(self, block: Block) -> tuple[list[Period], NDArray[Any]]:
        """Return the periods of the rows, and the position of each row's period."""
        column = block.period
        assert column is not None
        values = column.to_numpy() if isinstance(column, nw.Series) else np.asarray(column)
        if values.dtype.kind == "M":
            values = values.astype("datetime64[us]")
        gaps = [is_missing(v) for v in values] if values.dtype == object else values != values
        _refuse_gaps(int(np.sum(gaps)), self.column)
        if not len(values):
            return [], np.empty(0, dtype=np.uint8)
        labels, places = label_groups(values)
        # Whole numbers are stored as such.
        whole = [isinstance(v, float) and v.is_integer() for v in labels.classes.tolist()]
        pairs = zip(labels.classes.tolist(), whole, strict=True)
        return [int(v) if is_whole else v for v, is_whole in pairs], places

    def check(self, periods: Sequence[Period]) -> None:
        """Raise if a period has no value."""
        expect(not any(map(is_missing, periods)), "a period has no value.")

    def window(self, periods: Sequence[Period], since: Any, until: Any) -> tuple[int, int]:
        """Return the positions of the first period of a window, and of the one after its last."""
        for period in (since, until):
            if period is not None and period not in periods:
                shown = ", ".join(map(repr, periods[:8])) + (", ..." if len(periods) > 8 else "")
                raise ValueError(f"{period!r} is no period of the timeline; they are {shown}.")
        first = 0 if since is None else periods.index(since)
        stop = len(periods) if until is None else periods.index(until) + 1
        if first >= stop:
            raise ValueError(f"no period lies from {since!r} to {until!r}.")
        return first, stop

    def ages(self, periods: Sequence[Period], half_life: Any) -> NDArray[np.float64]:
        """Return by how many half-lives each period comes before the last one."""
        check_half_life(half_life, "periods")
        return np.arange(len(periods))[::-1] / float(half_life)


AnyPeriods: TypeAlias = Calendar | Values


def _moments(column: Any, name: Any) -> NDArray[np.datetime64]:
    family = family_of(column, name)
    if family == "time":
        values = read_numeric(column, Column(name, "numeric", "time"))
        _refuse_gaps(int(np.isnan(values).sum()), name)
        return values.astype(np.int64).view("datetime64[us]")
    if family != "text":
        raise ValueError(
            f"column {name!r} says when rows were, so it must hold dates or times; it holds "
            f"{'no value' if family == 'empty' else family}."
        )
    codes, values = read_categorical(column, f"column {name!r}")
    _refuse_gaps(int((codes == np.iinfo(codes.dtype).max).sum()), name)
    moments = np.array([_parse(value, name) for value in values], dtype="datetime64[us]")
    return moments[codes]


def _parse(value: str, name: Any) -> Moment:
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(
            f"column {name!r} says when rows were, but {value!r} is no date; write dates as "
            "2024-03-05 or 2024-03-05T14:30."
        ) from None
    return utc_moment(moment)


def _refuse_gaps(n: int, name: Any) -> None:
    if n:
        raise ValueError(
            f"column {name!r} says when rows were, and {counted(n, 'row')} "
            f"{'has' if n == 1 else 'have'} no value in it; drop them, or fill the gaps."
        )


def check_half_life(half_life: Any, unit: str) -> None:
    """Raise if a half-life is not a number above 0."""
    number = isinstance(half_life, (int, float, np.number)) and not isinstance(half_life, bool)
    if not number or not 0 < half_life < np.inf:
        raise ValueError(f"half_life must be a number of {unit} above 0; got {half_life!r}.")


def read_periods(by: Any, time: Any) -> AnyPeriods:
    """Return the periods that the parameters ``by`` and ``time`` of a timeline mean."""
    if not isinstance(by, str):
        raise ValueError(
            f"by must be one of {', '.join(map(repr, UNITS))}, or the name of a column, such as "
            f"that of the numbers of batches; got {by!r}."
        )
    if by in UNITS:
        if time is None:
            raise ValueError(
                f"by={by!r} needs to know when rows were: name the column of dates or times with "
                "time=."
            )
        return Calendar(by, time)
    if time is not None:
        raise ValueError(f"time is for periods of a calendar; by={by!r} names a column itself.")
    return Values(by)
