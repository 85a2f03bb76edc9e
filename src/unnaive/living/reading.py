"""Rows to sums by period, in one pass over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from unnaive.common.checks import expect
from unnaive.counts import Summary, Wanted
from unnaive.counts.gather import summarize_block
from unnaive.counts.parts import summarize_parts
from unnaive.encode.labels import refuse_mixed
from unnaive.living.periods import AnyPeriods, Period, Rows
from unnaive.models.merge import learns_from_sums
from unnaive.table import Block, Schema, Source, scan_of
from unnaive.table.passes import COUNTING
from unnaive.table.reading import as_frame
from unnaive.table.source import MemorySource

ByPeriod: TypeAlias = tuple[dict[Period, Summary], int]  # and one more than the last row's number


@dataclass(frozen=True)
class PeriodCounter:
    """What is done with each block of rows; plain data, which may be sent to workers."""

    estimator: Any
    periods: AnyPeriods
    first: int  # number of the first row
    n_jobs: int | None

    def __call__(self, block: Block) -> ByPeriod:
        periods, places = self.periods.split(block, self.first)
        n_read = block.last_row + 1
        wanted, limit = self.estimator._wanted(block.schema), self.estimator.grid_limit
        if len(periods) == 1:
            return {periods[0]: summarize_block(block, wanted, limit, self.n_jobs)}, n_read
        each = summarize_parts(block, places, len(periods), wanted, limit, self.n_jobs)
        return dict(zip(periods, each, strict=True)), n_read


def _add(first: ByPeriod, second: ByPeriod) -> ByPeriod:
    total, last = first
    one, other = next(iter(total.values())), next(iter(second[0].values()))
    refuse_mixed(one.labels, other.labels)
    for period, summary in second[0].items():
        total[period] = total[period] + summary if period in total else summary
    return total, max(last, second[1])


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator of which windows of sums cannot be made."""
    if not learns_from_sums(estimator):
        raise TypeError(
            f"a timeline keeps sums, and {type(estimator).__name__} needs more than sums; "
            "NaiveBayesClassifier and Discretizer do."
        )
    if getattr(estimator, "calibration", "none") != "none":
        raise ValueError(
            "calibration='slope' reads rows again, which a timeline does not keep; leave it out, "
            "and call calibrate of a window's model."
        )
    estimator._check_parameters()
    estimator._check_reading()


def check_sums(estimator: Any, sums: Iterable[Summary]) -> None:
    """Refuse sums of which an estimator cannot be made."""
    forms = {(id(s.schema), s.wanted, s.moments.columns): s for s in sums}
    for summary in forms.values():
        needed = estimator._wanted(summary.schema)
        there = Wanted(summary.wanted.counts, frozenset(summary.moments.columns))
        expect(needed | there == there, "the sums are not those that the estimator needs.")


def count_periods(
    estimator: Any,
    periods: AnyPeriods,
    first: int,
    rows: tuple[Any, Any, Any],
    fitted: Schema | None,
) -> ByPeriod:
    """The sums of each period's rows, and how many rows were read.

    Parameters
    ----------
    estimator : AdditiveEstimator
    periods : Calendar, Rows or Values
    first : int
        How many rows came before.
    rows : X, y, sample_weight
    fitted : Schema or None
        What is known of the columns.
    """
    source = _open(estimator, periods, rows, fitted)
    counting = clone(estimator).set_callbacks()
    in_memory = isinstance(source, MemorySource)
    counter = PeriodCounter(counting, periods, first, estimator.n_jobs if in_memory else 1)
    return source.reduce(counter, _add, COUNTING)


def _open(
    estimator: Any, periods: AnyPeriods, rows: tuple[Any, Any, Any], fitted: Schema | None
) -> Source:
    X, y, sample_weight = rows
    scan = scan_of(X, y, sample_weight)
    column = periods.column
    if scan is not None:
        if column is not None and not isinstance(column, str):
            raise ValueError(f"the column of periods must be given by its name; got {column!r}.")
        source: Source = estimator._open_to_learn(replace(scan, period=column), None, None, fitted)
        if isinstance(periods, Rows) and getattr(source, "numbering", None) != "rows":
            raise ValueError(
                f"by={periods.n} counts rows, and these have no order; use a column or a calendar."
            )
        return source
    if column is None:
        return estimator._open_to_learn(X, y, sample_weight, fitted)
    features, beside = _part(X, column)
    source = estimator._open_to_learn(features, y, sample_weight, fitted)
    assert isinstance(source, MemorySource)
    block = source.block
    whole = len(block.row_ids) == len(beside)
    source.block.period = beside if whole else beside[block.row_ids]
    return source


def _part(X: Any, column: Any) -> tuple[Any, Any]:
    """A table without one column, and that column."""
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
    array = np.asarray(X) if not isinstance(X, np.ndarray) else X
    if array.ndim != 2 or isinstance(column, str) or not -array.shape[1] <= column < array.shape[1]:
        raise ValueError(f"X has no column {column!r} that says when rows were.")
    return np.delete(array, column, axis=1), np.ascontiguousarray(array[:, column])
