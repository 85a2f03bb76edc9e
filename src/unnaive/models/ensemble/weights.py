"""Weights of rows that a model makes: kept as logarithms, used as exact multiples."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.coded import GRAIN, CodedRows, count_coded
from unnaive.counts.exact import exact_parts
from unnaive.encode.coding import AnyCoder
from unnaive.encode.draws import draw_uniform
from unnaive.models.ensemble import kernels
from unnaive.table.records import Records
from unnaive.table.storage import Storage, stretches

T = TypeVar("T")
FRESH_LOW, FRESH_HIGH = 0.9, 1.1  # Wiering's fresh weights
SQUARE_GRAIN = 2.0**-12
STEEPEST = 36.0  # a probability below 2**-52 moves a weight no further


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows of which nothing is known but what they weigh."""

    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    def stretches(self) -> list[slice]:
        """The rows, a task's worth at a time."""
        return list(stretches(self.n_rows))


Rows: TypeAlias = CodedRows | GivenRows


@dataclass(frozen=True, slots=True, eq=False)
class RowState:
    """What rounds know of the rows of a record.

    ``logs`` are logarithms of weights, up to a constant of all rows; ``current`` is the weights
    themselves, or before they are rounded what they are proportional to. ``gains`` and ``hits`` are
    what the last round says of the rows (see `Verdict`), ``outlook`` what all rounds say of the
    rows held out. ``watched`` are the places of rows whose weights are kept, if any are: ``units``
    has those of each round so far, relative to the rows' own.
    """

    logs: NDArray[np.float64]
    current: NDArray[np.float64]
    gains: NDArray[np.float64] | None = None
    hits: NDArray[np.bool_] | None = None
    outlook: NDArray[np.float64] | None = None
    watched: NDArray[np.intp] | None = None
    units: tuple[NDArray[np.float64], ...] = ()


# What a round says of rows: by how much their weights fall, and whether their classes are found;
# None where what they lose is 1 less the first.
Verdict: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_] | None]
Numbers: TypeAlias = list[float]  # whose sum, rounded once, is meant


class _Sums(NamedTuple):
    """Numbers that sum to the weights of rows, and to the squares of their relative weights."""

    totals: Numbers
    squares: Numbers


def itself(record: Any) -> Any:
    """The rows of a record that is rows."""
    return record


class RowWeights:
    """One weight for each row, relative to the row's own, with mean one.

    Weights are rounded to multiples of 2**-20, and so is what they are divided by: all sums are
    then exact, and no split of the rows over blocks or threads changes them. Every pass returns
    numbers; weights stay beside the rows, in a `RowState`.

    Parameters
    ----------
    records : Records
    rows_of : callable
        The rows of a record.
    watch : callable or None, default=None
        Places of the rows of a record whose weights in every round are kept.
    squares : bool, default=False
        Whether `effective_share` will be asked for.
    """

    def __init__(
        self,
        records: Records[Any],
        n_jobs: int | None = None,
        rows_of: Callable[[Any], Rows] = itself,
        watch: Callable[[Any], NDArray[np.intp]] | None = None,
        squares: bool = False,
    ) -> None:
        self.records, self.n_jobs, self.rows_of, self.squares = records, n_jobs, rows_of, squares
        begin = partial(_begin, rows_of, records.storage, watch)
        self.given = self.total = records.advance(begin, operator.add, "weighing rows")
        self._squares = self.given / SQUARE_GRAIN
        self._scale: float | None = None  # by which weights are still to be multiplied
        self._top: float | None = None  # the largest logarithm, where rows were lowered already

    def judge(self, fn: Callable[[Any], Verdict], vote: float | None = None) -> float:
        """Weighted error of a round, or its mean loss; ``fn`` is what it says of a record.

        Where its vote is known before, logarithms are lowered in the same pass.
        """
        step = partial(_judge, self._settled(), fn, vote)
        sums, missed, top = self.records.advance(step, _add_judged, "judging")
        self._settle(sums)
        self._top = None if vote is None else top
        return math.fsum(missed) / self.total

    def lower(self, vote: float) -> None:
        """Divide the weight of each row that is hit by e to the vote; or where rounds do not vote
        for one class, that of each row by e to the vote times its gain.
        """
        if self._top is None:
            step = partial(_lower, self._settled(), vote)
            self._top = self.records.advance(step, max, "weighing rows")
        self._spread(self._top)

    def refresh(self, seed: int) -> None:
        """Forget everything: weights between 0.9 and 1.1, by seed and row."""
        step = partial(_refresh, self._settled(), seed)
        self._spread(self.records.advance(step, max, "weighing rows"))

    def set_margins(self, fn: Callable[[Any], NDArray[np.float64]]) -> None:
        """Divide the weight of each row by e to its number."""
        step = partial(_set_margins, self._settled(), fn)
        self._spread(self.records.advance(step, max, "weighing rows"))

    def count(self, coders: Sequence[AnyCoder], n_groups: int) -> CountTable:
        """Count all rows as they weigh."""
        if self._scale is None:
            step = partial(_count, self._settled(), coders, n_groups)
            return self.records.reduce(step, operator.add, "counting")
        both = partial(_settle_and_count, self._settled(), coders, n_groups)
        table, sums = self.records.advance(both, _add_counted, "counting")
        self._settle(sums)
        return table

    def effective_share(self) -> float:
        """How many equal rows would say as much as the rows as they weigh (Kish, 1965), as a share
        of all. Terms of the sums are whole multiples, so that no order of the rows changes it.
        """
        self.settle()
        return self.total**2 / (self._squares * SQUARE_GRAIN * self.given)

    def settle(self) -> None:
        """Have the weights as they are, where they are."""
        if self._scale is not None:
            step = partial(_settle_only, self._settled())
            self._settle(self.records.advance(step, _add_sums, "weighing rows"))

    def _settled(self) -> _Settled:
        records = self.records
        given = (self.rows_of, self._scale, self.squares, records.in_place)
        return _Settled(*given, records.storage, self.n_jobs)

    def _settle(self, sums: _Sums) -> None:
        if self._scale is not None:
            self.total, self._squares = math.fsum(sums.totals), math.fsum(sums.squares)
            self._scale = None

    def _spread(self, top: float) -> None:
        """Current weights from logarithms: relative to the largest; the next pass that looks at
        them makes their mean one.
        """
        # Whole multiples of 1 / fine add exactly as long as their sum stays below 2**53; weights
        # too large for that are at least told apart.
        fine = max(1.0 / GRAIN, 2.0 ** (52 - math.ceil(math.log2(self.given + 1.0))))
        step = partial(_spread, self._settled(), top, fine)
        totals = self.records.advance(step, operator.add, "weighing rows")
        self._top = None
        self._scale = self.given * fine / math.fsum(totals)


# What passes do with a record, on whatever machine it is --------------------------------------


@dataclass(frozen=True, slots=True)
class _Settled:
    """Weights are multiplied by the scale and rounded before anything else is done, unless they are
    already.
    """

    rows_of: Callable[[Any], Rows]
    scale: float | None
    squares: bool
    in_place: bool
    storage: Storage
    n_jobs: int | None

    def __call__(self, record: Any, state: RowState) -> tuple[Rows, RowState, _Sums]:
        """The rows, their state with weights, and numbers that sum to these."""
        rows, scale = self.rows_of(record), self.scale
        if scale is None:
            return rows, state, _Sums([], [])
        current = self.changeable(state.current)

        def fix(part: slice) -> tuple[float, float]:
            weight, given = current[part], _given(rows, part)
            total = kernels.round_weights(weight, scale, GRAIN, given)
            if not self.squares:
                return total, 0.0
            return total, kernels.exact_squares(weight, given, 1.0 / SQUARE_GRAIN)

        fixed = self.each(rows, fix)
        sums, units = _Sums([total for total, _ in fixed], [s for _, s in fixed]), state.units
        if state.watched is not None:
            units = (*units, self._relative(rows, current, state.watched))
        return rows, replace(state, current=current, units=units), sums

    def _relative(
        self, rows: Rows, current: NDArray[np.float64], watched: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Weights of some rows, relative to their own; 0 where these are."""
        relative = self.storage.take(current, watched)
        if rows.weight is not None:
            given = rows.weight[watched]
            np.divide(relative, given, out=relative, where=given > 0.0)
        return relative

    def changeable(self, array: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a state has for each row and no record has, to become part of the next state."""
        return array if self.in_place else self.storage.copy(array)

    def each(self, rows: Rows, fn: Callable[[slice], T]) -> list[T]:
        """What a function says of each stretch of rows."""
        return list(in_threads(fn, rows.stretches(), self.n_jobs))


def _given(rows: Rows, part: slice) -> NDArray[np.float64]:
    """The rows' own weights; empty where all are 1."""
    return np.empty(0) if rows.weight is None else rows.weight[part]


def _begin(
    rows_of: Callable[[Any], Rows],
    storage: Storage,
    watch: Callable[[Any], NDArray[np.intp]] | None,
    record: Any,
    _state: None,
) -> tuple[RowState, float]:
    rows = rows_of(record)
    current = rows.weight
    if current is None:
        current = storage.empty(rows.n_rows, np.float64)
        current[:] = 1.0
    watched = None if watch is None else storage.copy(watch(record))
    state = RowState(storage.zeros(rows.n_rows), current, watched=watched)
    return state, float(current.sum())


def _judge(
    settled: _Settled,
    fn: Callable[[Any], Verdict],
    vote: float | None,
    record: Any,
    state: RowState,
) -> tuple[RowState, tuple[_Sums, Numbers, float]]:
    rows, state, sums = settled(record, state)
    gains, hits = fn(record)
    current = state.current
    if hits is None:

        def losses() -> Iterator[float]:
            for part in rows.stretches():
                yield from (current[part] * (1.0 - gains[part])).tolist()

        missed = exact_parts(list(losses()))
    else:
        missed = settled.each(rows, lambda part: kernels.missed_weight(current[part], hits[part]))
    if vote is None:
        return replace(state, gains=gains, hits=hits), (sums, missed, 0.0)
    logs, top = _lowered(settled, rows, state.logs, gains, vote)
    return replace(state, logs=logs), (sums, missed, top)


def _lower(settled: _Settled, vote: float, record: Any, state: RowState) -> tuple[RowState, float]:
    rows, hits = settled.rows_of(record), state.hits
    if hits is None:
        assert state.gains is not None
        logs, top = _lowered(settled, rows, state.logs, state.gains, vote)
    else:
        logs = settled.changeable(state.logs)

        def lower(part: slice) -> float:
            kernels.lower_by_hit(logs[part], hits[part], vote)
            return float(logs[part].max())

        top = max(settled.each(rows, lower), default=-math.inf)
    return replace(state, logs=logs, gains=None, hits=None), top


def _lowered(
    settled: _Settled,
    rows: Rows,
    logs: NDArray[np.float64],
    gains: NDArray[np.float64],
    vote: float,
) -> tuple[NDArray[np.float64], float]:
    """Logarithms less the vote times the gain, and the largest of them."""
    lowered = settled.changeable(logs)

    def lower(part: slice) -> float:
        kernels.lower_by_margin(lowered[part], gains[part], vote, STEEPEST)
        return float(lowered[part].max())

    return lowered, max(settled.each(rows, lower), default=-math.inf)


def _set_margins(
    settled: _Settled,
    fn: Callable[[Any], NDArray[np.float64]],
    record: Any,
    state: RowState,
) -> tuple[RowState, float]:
    rows = settled.rows_of(record)
    logs, top = _lowered(settled, rows, state.logs, fn(record), 1.0)
    return replace(state, logs=logs), top


def _refresh(settled: _Settled, seed: int, record: Any, state: RowState) -> tuple[RowState, float]:
    rows, span = settled.rows_of(record), FRESH_HIGH - FRESH_LOW
    logs = settled.storage.empty(rows.n_rows, np.float64)
    logs[:] = np.log(FRESH_LOW + span * draw_uniform(seed, rows.row_ids))
    new = replace(state, logs=logs, gains=None, hits=None)
    return new, float(logs.max(initial=-math.inf))


def _spread(
    settled: _Settled, top: float, fine: float, record: Any, state: RowState
) -> tuple[RowState, Numbers]:
    rows = settled.rows_of(record)
    current = settled.storage.empty(rows.n_rows, np.float64)

    def spread(part: slice) -> float:
        relative = np.subtract(state.logs[part], top, out=current[part])
        np.exp(relative, out=relative)
        return kernels.exact_total(relative, fine, _given(rows, part))

    totals = settled.each(rows, spread)
    return replace(state, current=current), totals


def _count(
    settled: _Settled, coders: Sequence[AnyCoder], n_groups: int, record: Any, state: RowState
) -> CountTable:
    rows = settled.rows_of(record)
    assert isinstance(rows, CodedRows)
    return count_coded(rows, coders, n_groups, state.current, settled.n_jobs)


def _settle_and_count(
    settled: _Settled, coders: Sequence[AnyCoder], n_groups: int, record: Any, state: RowState
) -> tuple[RowState, tuple[CountTable, _Sums]]:
    _, state, sums = settled(record, state)
    return state, (_count(settled, coders, n_groups, record, state), sums)


def _settle_only(settled: _Settled, record: Any, state: RowState) -> tuple[RowState, _Sums]:
    _, state, sums = settled(record, state)
    return state, sums


def _add_sums(a: _Sums, b: _Sums) -> _Sums:
    return _Sums(a.totals + b.totals, a.squares + b.squares)


def _add_judged(
    a: tuple[_Sums, Numbers, float], b: tuple[_Sums, Numbers, float]
) -> tuple[_Sums, Numbers, float]:
    return _add_sums(a[0], b[0]), a[1] + b[1], max(a[2], b[2])


def _add_counted(
    a: tuple[CountTable, _Sums], b: tuple[CountTable, _Sums]
) -> tuple[CountTable, _Sums]:
    return a[0] + b[0], _add_sums(a[1], b[1])
