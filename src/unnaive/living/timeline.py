"""Models of any stretch of time, from one summary for each period."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from unnaive.common.wording import counted
from unnaive.counts import Summary
from unnaive.counts.summary import merge_summaries
from unnaive.living.contents import PeriodFacts, contents
from unnaive.living.file import Added, TimelineFile, pack_estimator, unpack_estimator
from unnaive.living.periods import (
    MOST_DAYS,
    UNITS,
    Calendar,
    Period,
    Rows,
    coarser,
    nested,
    read_periods,
    span_of,
    unit_of,
)
from unnaive.living.reading import check_estimator, check_sums, count_periods
from unnaive.living.sums import WindowSums, join_schemas, refuse_others
from unnaive.living.windows import fading_weights, window
from unnaive.models import NaiveBayesClassifier
from unnaive.table import Schema


class Timeline:
    """One summary of the rows of each period, and the model of any window of them.

    Rows are read once. What is kept of a period are its sums, from which the model of a window is
    made without touching rows again: byte for byte the one fitted on the window's rows.

    Parameters
    ----------
    by : {"hour", "day", "week", "month", "quarter", "year"}, int or str, default="month"
        Periods of a calendar, of so many rows each in the order in which they come, or the values
        of the column named.
    estimator : estimator or None, default=None
        What to make of a window: a `NaiveBayesClassifier` (also if None) or `Discretizer` with its
        parameters.
    time : str or int or None, default=None
        The column of dates or times, for periods of a calendar: dates, times, or text such as
        2024-03-05. It is no feature. Times with a zone are taken in UTC.
    path : path or None, default=None
        A file that is made with the first rows, and to which every append adds one record: whole,
        or not at all. `Timeline.open` goes on with it.

    Attributes
    ----------
    periods_ : list
        The periods that have rows, in order. Periods of calendars are text: ``"2024"``,
        ``"2024-Q1"``, ``"2024-03"``, ``"2024-W10"``, ``"2024-03-05"``, ``"2024-03-05T14"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import Timeline
    >>> rows = pd.DataFrame({
    ...     "day": pd.to_datetime(["2024-01-05", "2024-01-20", "2024-02-03", "2024-02-14"]),
    ...     "sky": ["grey", "blue", "grey", "blue"],
    ... })
    >>> timeline = Timeline("month", time="day").fit(rows, ["rain", "dry", "dry", "rain"])
    >>> timeline.periods_
    ['2024-01', '2024-02']
    >>> timeline.model(until="2024-01").predict(rows[["sky"]]).tolist()
    ['rain', 'dry', 'rain', 'dry']
    """

    def __init__(
        self,
        by: str | int = "month",
        estimator: Any = None,
        *,
        time: Any = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.by, self.time = by, time
        self.estimator = NaiveBayesClassifier() if estimator is None else clone(estimator)
        self._periods = read_periods(by, time)
        check_estimator(self.estimator)
        self._file = None if path is None else TimelineFile(os.path.expanduser(os.fspath(path)))
        if self._file is not None and os.path.exists(self._file.path):
            raise FileExistsError(
                f"{self._file.path!r} is there already; Timeline.open goes on with it."
            )
        self._clear()

    def _clear(self) -> None:
        self._sums: dict[Period, Summary] = {}
        self.periods_: list[Period] = []
        self._n_read = 0
        self._schema: Schema | None = None
        self._windows = WindowSums(lambda k: self._sums[self.periods_[k]])

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Read a timeline from its file; later appends go to that file.

        Parameters
        ----------
        path : path
            What `Timeline` or `save` has written. A record at the end that a process left
            unfinished is left out.

        Returns
        -------
        Timeline
        """
        file = TimelineFile(os.path.expanduser(os.fspath(path)))
        about, added = file.read()
        try:
            timeline = cls(about["by"], unpack_estimator(about["estimator"]), time=about["time"])
            timeline._file = file
            for _, parts in added:
                timeline._periods.check([period for period, _ in parts])
                check_sums(timeline.estimator, [summary for _, summary in parts])
            timeline._take(added)
        except (ValueError, TypeError) as error:
            raise file.damaged(error) from error
        return timeline

    # Learning -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Begin anew with these rows.

        Parameters
        ----------
        X : table, path or `scan`
            Rows with the column of periods among their columns; as in the estimator's fit.
        y, sample_weight :
            As in the estimator's fit.

        Returns
        -------
        self
        """
        added = self._count(X, y, sample_weight, 0, None)
        if self._file is not None:
            self._file.write(self._about(), [added])
        self._clear()
        self._take([added])
        return self

    def append(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, each to its own period, however late they come.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        if self._schema is None:
            return self.fit(X, y, sample_weight)
        self._catch_up()
        added = self._count(X, y, sample_weight, self._n_read, self._schema)
        known = next(iter(self._sums.values()))
        refuse_others(self._schema, known, [summary for _, summary in added[1]])
        if self._file is not None:
            self._take(self._file.append(added, alone=isinstance(self._periods, Rows)))
        self._take([added])
        return self

    def _catch_up(self) -> None:
        """Take what other processes have appended to the file."""
        if self._file is not None and self._sums:
            self._take(self._file.news())

    def _count(
        self, X: Any, y: Any, sample_weight: Any, first: int, fitted: Schema | None
    ) -> Added:
        check_estimator(self.estimator)
        rows = (X, y, sample_weight)
        found, n_rows = count_periods(self.estimator, self._periods, first, rows, fitted)
        merged: dict[Period, Summary] = {}
        calendar = isinstance(self._periods, Calendar)
        for period, summary in found.items():
            place = self._place(period) if calendar else period
            merged[place] = merged[place] + summary if place in merged else summary
        return n_rows, [(period, merged[period]) for period in self._periods.ordered([*merged])]

    def _place(self, period: Period) -> Period:
        """The period itself, or the larger one into which it was merged."""
        assert isinstance(self._periods, Calendar)
        if period in self._sums:
            return period
        larger = {unit_of(known) for known in self.periods_}
        for unit in UNITS:
            if unit in larger and nested(self._periods.unit, unit):
                name = coarser(period, unit)
                if name in self._sums:
                    return name
        return period

    def _take(self, added: Sequence[Added]) -> None:
        """Add sums to those of their periods."""
        for n_rows, parts in added:
            self._n_read += n_rows
            new = [period for period, _ in parts if period not in self._sums]
            for period, summary in parts:
                known = self._sums.get(period)
                self._sums[period] = summary if known is None else known + summary
            self._schema = join_schemas(self._schema, [s for _, s in parts])
            before = self.periods_
            if new:
                self.periods_ = self._periods.ordered([*before, *new])
            if self.periods_[: len(before)] != before:
                self._windows.clear()
                continue
            changed = {period for period, _ in parts}
            self._windows.clear(k for k, period in enumerate(self.periods_) if period in changed)

    # Asking -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.periods_)

    def __iter__(self) -> Iterator[Period]:
        return iter(self.periods_)

    def __getitem__(self, period: Period) -> Summary:
        """The sums of one period."""
        if period not in self._sums:
            raise KeyError(f"no row is of the period {period!r}.")
        return self._sums[period]

    def model(self, since: Any = None, until: Any = None, half_life: Any = None) -> Any:
        """The model of a window, or of all periods, without reading a row again.

        Parameters
        ----------
        since, until : period, date, time or None, default=None
            The first and the last period, both included; None is the first and last there is. Of
            a calendar also larger periods, dates (whole days) and times; no period may lie partly
            in the window.
        half_life : float, timedelta or None, default=None
            Rows weigh half as much for every ``half_life`` that their period ends before the last
            one of the window: days, in calendars, else a number of periods. The model is the one
            fitted with these weights, to 1e-9.

        Returns
        -------
        estimator
            Fitted; byte for byte the one fitted on the rows of the window.
        """
        return clone(self.estimator)._learn(self.summary(since, until, half_life))

    def summary(self, since: Any = None, until: Any = None, half_life: Any = None) -> Summary:
        """The sums of a window, as `model` makes models of them.

        Parameters
        ----------
        since, until, half_life :
            As in :meth:`model`.

        Returns
        -------
        Summary
        """
        start, stop = self._places(since, until)
        if half_life is None:
            return self._windows.window(start, stop)
        periods = self.periods_[start:stop]
        calendar = isinstance(self._periods, Calendar)
        weights = fading_weights(periods, half_life, calendar=calendar)
        return merge_summaries(
            [self._sums[p].scaled(w) for p, w in zip(periods, weights, strict=True) if w > 0]
        )

    def _places(self, since: Any, until: Any) -> tuple[int, int]:
        """Place of the first period of a window, and of the one after its last."""
        if not self.periods_:
            raise ValueError("the timeline has no rows yet; call fit or append.")
        calendar = isinstance(self._periods, Calendar)
        return window(self.periods_, since, until, calendar=calendar)

    def facts(self) -> PeriodFacts:
        """How much each period holds.

        Returns
        -------
        PeriodFacts
            With `to_frame`; ``bytes`` is memory, files are smaller.
        """
        return contents(self.periods_, [self._sums[period] for period in self.periods_])

    def __repr__(self) -> str:
        words = counted(len(self.periods_), "period")
        if self.periods_:
            words += f" from {self.periods_[0]} to {self.periods_[-1]}"
        return f"Timeline by {self.by!r}: {words}"

    # Keeping ------------------------------------------------------------------------------------

    def coarsen(self, by: str) -> Self:
        """Merge periods of a calendar into larger ones.

        Parameters
        ----------
        by : {"day", "week", "month", "quarter", "year"}
            The unit; rows that come later go to periods of it as well.

        Returns
        -------
        self
        """
        unit = self._larger(by)
        self.by, self._periods = unit, Calendar(unit, self.time)
        return self._merge_periods(unit, lambda _period: True)

    def compact(self, keep_days: float, by: str) -> Self:
        """Merge periods that ended long ago into larger ones, and write the file anew.

        Parameters
        ----------
        keep_days : float
            Periods that ended more than so many days before the end of the last one are merged.
            A larger period is made only where all of it ended so long ago.
        by : {"day", "week", "month", "quarter", "year"}
            The unit they are merged into.

        Returns
        -------
        self
        """
        unit = self._larger(by)
        if not 0 <= keep_days < MOST_DAYS:
            raise ValueError(f"keep_days must be a number of days, 0 or more; got {keep_days!r}.")
        if not self.periods_:
            return self
        newest = max(span_of(period).end for period in self.periods_)
        until = newest - np.timedelta64(round(keep_days * 86_400_000_000), "us")
        return self._merge_periods(unit, lambda period: bool(span_of(period).end <= until))

    def _larger(self, by: str) -> str:
        if not isinstance(self._periods, Calendar):
            raise ValueError(f"periods by {self.by!r} are not those of a calendar, to be merged.")
        if not nested(self._periods.unit, by):
            allowed = [unit for unit in UNITS if nested(self._periods.unit, unit)]
            choices = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(
                f"by must be a unit in which a {self._periods.unit} lies ({choices}); got {by!r}."
            )
        return by

    def _merge_periods(self, unit: str, old: Callable[[str], bool]) -> Self:
        self._catch_up()
        groups: dict[Period, list[Summary]] = {}
        for period in self.periods_:
            finer = unit_of(period)
            fits = finer is not None and nested(finer, unit)
            larger = coarser(period, unit) if fits else period
            name = larger if fits and old(larger) else period
            groups.setdefault(name, []).append(self._sums[period])
        merged = [(name, merge_summaries(parts)) for name, parts in groups.items()]
        if self._file is not None:
            self._file.write(self._about(), [(self._n_read, merged)])
        n_read = self._n_read
        self._clear()
        self._take([(n_read, merged)])
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline to a file, in one step; `Timeline.open` reads it.

        Parameters
        ----------
        path : path
            It is replaced. Later appends go where they went before.
        """
        file = TimelineFile(os.path.expanduser(os.fspath(path)))
        own = self._file
        if own is not None and os.path.exists(file.path) and os.path.samefile(file.path, own.path):
            file = own  # appends would take it for another's
        parts = [(period, self._sums[period]) for period in self.periods_]
        file.write(self._about(), [(self._n_read, parts)])

    def _about(self) -> dict[str, Any]:
        return {"by": self.by, "time": self.time, "estimator": pack_estimator(self.estimator)}
