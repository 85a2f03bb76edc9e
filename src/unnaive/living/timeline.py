"""Counts of rows by period, and models of any window of periods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from unnaive.common.checks import check_level, expect
from unnaive.common.wording import counted
from unnaive.counts import Summary
from unnaive.counts.periods import PeriodCounts, count_periods
from unnaive.estimator.base import About
from unnaive.living.drift import DriftOverTime, drift
from unnaive.living.periods import (
    UNITS,
    AnyPeriods,
    Calendar,
    Period,
    coarser,
    nested,
    read_periods,
)
from unnaive.models import NaiveBayesClassifier
from unnaive.models.merge import learns_from_sums
from unnaive.table import Block, Schema, Source, scan_of
from unnaive.table.records import COUNTING
from unnaive.table.source import MemorySource, as_frame

__all__ = ["Timeline"]


class Timeline(BaseEstimator):  # type: ignore[misc]
    """Counts of rows by period and class, and the model of any window of periods.

    Rows are read once. The model of a window is made of the counts of its periods, without reading
    rows again; it is the one that a fit on the rows of the window gives. All periods share one
    grid: a numeric column with more than ``grid_limit`` distinct values over all periods is counted
    in cells of that grid, also where a window has fewer.

    Parameters
    ----------
    by : {"hour", "day", "week", "month", "quarter", "year"} or str, default="month"
        Periods of a calendar, or the name of a column whose values are the periods, such as the
        numbers of batches of rows.
    time : str or int or None, default=None
        The column of dates or times, for periods of a calendar: dates, times, or text such as
        2024-03-05. It is no feature. Times with a zone are taken in UTC.
    estimator : estimator or None, default=None
        The model of a window: a `NaiveBayesClassifier` (also if None) or `Discretizer` with its
        parameters.

    Attributes
    ----------
    counts_ : PeriodCounts
        Counts by period and class.
    periods_ : list
        The periods that have rows, in order. Periods of calendars are text: ``"2024"``,
        ``"2024-Q1"``, ``"2024-03"``, ``"2024-W10"``, ``"2024-03-05"``, ``"2024-03-05T14"``.
    schema_ : Schema
        The columns that are counted.

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

    counts_: PeriodCounts
    _about = About()
    _optional_attributes: frozenset[str] = frozenset()

    def __init__(self, by: str = "month", *, time: Any = None, estimator: Any = None) -> None:
        self.by = by
        self.time = time
        self.estimator = estimator

    # Learning -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count rows by period and class.

        Parameters
        ----------
        X : {array-like, dataframe}, path or `scan`
            Rows with the column of periods among their columns; as in the estimator's fit.
        y, sample_weight :
            As in the estimator's fit.

        Returns
        -------
        self : object
            Fitted timeline.
        """
        self.counts_ = self._count(X, y, sample_weight, None)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, each to its own period, however late they come.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self : object
            Fitted timeline.
        """
        if not hasattr(self, "counts_"):
            return self.fit(X, y, sample_weight)
        self.counts_ = self.counts_ + self._count(X, y, sample_weight, self.schema_)
        return self

    def _count(self, X: Any, y: Any, sample_weight: Any, fitted: Schema | None) -> PeriodCounts:
        self._check_parameters()
        estimator, periods = self._estimator, self._periods
        source = _open(estimator, periods.column, (X, y, sample_weight), fitted)
        self._about = About(estimator._about.target or self._about.target)
        n_jobs = estimator.n_jobs if isinstance(source, MemorySource) else 1
        count = partial(_count_block, clone(estimator), periods, n_jobs)
        return source.reduce(count, PeriodCounts.__add__, COUNTING)

    def _check_parameters(self) -> None:
        read_periods(self.by, self.time)
        estimator = self._estimator
        if not learns_from_sums(estimator):
            raise TypeError(
                f"a timeline keeps counts, and {type(estimator).__name__} needs more than counts; "
                "NaiveBayesClassifier and Discretizer do not."
            )
        if getattr(estimator, "calibration", "none") != "none":
            raise ValueError(
                "calibration='slope' reads rows again, which a timeline does not keep; leave it "
                "out, and call calibrate of a window's model."
            )
        estimator._check_parameters()
        estimator._check_reading()

    def _check_learned(self) -> None:
        """Raise if what a file holds cannot have been learned."""
        counts = self.counts_
        self._periods.check(counts.periods)
        needed = self._estimator._wanted(counts.schema)
        there = replace(counts.wanted, moments=frozenset(counts.moments.columns))
        expect(needed | there == there, "the counts are not those that the estimator needs.")

    @property
    def _estimator(self) -> Any:
        return NaiveBayesClassifier() if self.estimator is None else clone(self.estimator)

    @property
    def _periods(self) -> AnyPeriods:
        return read_periods(self.by, self.time)

    # Asking -------------------------------------------------------------------------------------

    @property
    def schema_(self) -> Schema:
        """The columns that are counted."""
        return self.counts_.schema

    @property
    def periods_(self) -> list[Period]:
        """The periods that have rows, in order."""
        return list(self.counts_.periods)

    def __len__(self) -> int:
        return len(self.counts_.periods)

    def __iter__(self) -> Iterator[Period]:
        return iter(self.counts_.periods)

    def __getitem__(self, period: Period) -> Summary:
        """Return the summary of one period."""
        if period not in self.counts_.periods:
            raise KeyError(f"no row is of the period {period!r}.")
        return self._sum(*2 * (self.counts_.periods.index(period),))

    def model(self, since: Any = None, until: Any = None, half_life: Any = None) -> Any:
        """Return the model of a window, or of all periods, without reading rows again.

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
            Fitted, as by a fit on the rows of the window.
        """
        model = self._estimator._learn(self.summary(since, until, half_life))
        model._about = About(self._about.target)
        return model

    def summary(self, since: Any = None, until: Any = None, half_life: Any = None) -> Summary:
        """Return the summary of a window, of which `model` makes models.

        Parameters
        ----------
        since, until, half_life :
            As in :meth:`model`.

        Returns
        -------
        Summary
        """
        start, stop = self._window(since, until)
        if half_life is None:
            return self._sum(start, stop - 1)
        weight = np.zeros(len(self))
        weight[start:stop] = 0.5 ** self._periods.ages(self.periods_[start:stop], half_life)
        return self.counts_.summary(weight)

    def _window(self, since: Any, until: Any) -> tuple[int, int]:
        check_is_fitted(self)
        return self._periods.window(self.periods_, since, until)

    def _sum(self, first: int, last: int) -> Summary:
        weight = np.zeros(len(self))
        weight[first : last + 1] = 1.0
        return self.counts_.summary(weight)

    def coarsen(self, by: str) -> Self:
        """Merge periods of a calendar into larger ones.

        Parameters
        ----------
        by : {"day", "week", "month", "quarter", "year"}
            The unit; rows that come later go to periods of it as well.

        Returns
        -------
        self : object
            The timeline, with the parameter ``by`` changed.
        """
        periods = self._periods
        if not isinstance(periods, Calendar):
            raise ValueError(f"periods by {self.by!r} are not those of a calendar, to be merged.")
        allowed = [unit for unit in UNITS if nested(periods.unit, unit)]
        if by not in allowed:
            choices = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(
                f"by must be a unit in which a {periods.unit} lies ({choices}); got {by!r}."
            )
        self.counts_ = self.counts_.rename([coarser(period, by) for period in self.periods_])
        self.by = by
        return self

    def drift(
        self,
        since: Any = None,
        until: Any = None,
        against: str = "earlier",
        *,
        level: float = 0.01,
        **options: Any,
    ) -> DriftOverTime:
        """Compare every period of a window with what came before it.

        Parameters
        ----------
        since, until :
            As in :meth:`model`; the window needs two periods.
        against : {"earlier", "previous", "first"}, default="earlier"
            Whether a period is compared with all earlier ones of the window together, with the one
            before it, or with the first one.
        level : float, default=0.01
            Probability that any of the comparisons raises a false alarm when nothing has changed.
            The k-th one is tested at ``level / (k * (k + 1))``: these add up to the level however
            many periods there are, and later periods do not change the results of earlier ones.
        **options :
            ``min_index``, ``min_loss`` and ``n_bins``, as in `drift`.

        Returns
        -------
        DriftOverTime

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from unnaive import Timeline
        >>> rng = np.random.default_rng(0)
        >>> rows = pd.DataFrame({"a": rng.normal(size=5000), "b": rng.normal(size=5000)})
        >>> rows.loc[3000:, "b"] += 1
        >>> batches = rows.assign(batch=rows.index // 1000)
        >>> Timeline("batch").fit(batches, rows["a"] > 0).drift().alarms
        [3, 4]
        """
        if against not in ("earlier", "previous", "first"):
            raise ValueError(f"against must be 'earlier', 'previous' or 'first'; got {against!r}.")
        start, stop = self._window(since, until)
        if stop - start < 2:
            few = counted(stop - start, "one")
            raise ValueError(f"drift needs two periods; the window has {few}.")
        check_level(level)
        drifts = []
        for k in range(start + 1, stop):
            first = k - 1 if against == "previous" else start
            last = k - 1 if against == "earlier" else first
            n, parts = k - start, (self._sum(first, last), self._sum(k, k))
            drifts.append(drift(*parts, level=level / (n * (n + 1)), **options))
        return DriftOverTime(tuple(self.periods_[start + 1 : stop]), tuple(drifts))


def _count_block(
    estimator: Any, periods: AnyPeriods, n_jobs: int | None, block: Block
) -> PeriodCounts:
    """Return the counts of a block; plain function, which may be sent to workers."""
    names, places = periods.split(block)
    wanted = estimator._wanted(block.schema)
    return count_periods(block, names, places, wanted, estimator.grid_limit, n_jobs)


def _open(estimator: Any, column: Any, rows: tuple[Any, Any, Any], fitted: Schema | None) -> Source:
    X, y, sample_weight = rows
    scan = scan_of(X, y, sample_weight)
    source: Source
    if scan is not None:
        if not isinstance(column, str):
            raise ValueError(f"the column of periods must be given by its name; got {column!r}.")
        source = estimator._open_to_learn(replace(scan, period=column), None, None, fitted)
        return source
    features, beside = _split_column(X, column)
    source = estimator._open_to_learn(features, y, sample_weight, fitted)
    assert isinstance(source, MemorySource)
    block = source.block
    block.period = beside if len(block.row_ids) == len(beside) else beside[block.row_ids]
    return source


def _split_column(X: Any, column: Any) -> tuple[Any, Any]:
    """Return a table without one column, and that column."""
    frame = as_frame(X)
    if frame is not None:
        if column not in frame.columns:
            raise ValueError(
                f"there is no column {column!r} that says when rows were; the columns are "
                f"{', '.join(map(repr, frame.columns[:8]))}."
            )
        if frame.implementation.is_pandas():  # whose drop copies all other columns
            features = frame.to_native().copy(deep=False)
            del features[column]
            return features, frame[column]
        return frame.drop(column).to_native(), frame[column]
    array: NDArray[Any] = np.asarray(X)
    if array.ndim != 2 or isinstance(column, str) or not -array.shape[1] <= column < array.shape[1]:
        raise ValueError(f"X has no column {column!r} that says when rows were.")
    return np.delete(array, column, axis=1), np.ascontiguousarray(array[:, column])
