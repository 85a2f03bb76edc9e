"""What rounds do with the weights of the rows of a record, wherever it is.

Logarithms of weights are kept, and weights are made of them where they are needed, a piece of the
rows at a time. Where there is room, which is not on workers, weights are kept as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.counts.coded import CodedRows, table_of
from unnaive.counts.exact import exact_parts
from unnaive.encode.coding import AnyCoder
from unnaive.encode.draws import draw_uniform
from unnaive.models.ensemble import kernels
from unnaive.table.storage import Storage, stretches

T = TypeVar("T")
FRESH_LOW, FRESH_HIGH = 0.9, 1.1  # Wiering's fresh weights
SQUARE_GRAIN = 2.0**-12
LARGEST = 64.0  # logarithm of a weight: sums of such are never taken for exact ones
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

    ``logs`` are logarithms of weights, up to a constant of all rows; None before the first round.
    ``weights`` are the weights themselves, if they are kept. ``said`` is what the last round says
    of the rows where its vote is not known yet: hits or gains (see `Verdict`). ``outlook`` is what
    all rounds say of the rows held out. ``watched`` are the places of rows whose weights are kept,
    if any are: ``units`` has those of each round so far, relative to the rows' own.
    """

    logs: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    said: NDArray[Any] | None = None
    outlook: NDArray[np.float64] | None = None
    watched: NDArray[np.intp] | None = None
    units: tuple[NDArray[np.float64], ...] = ()


# What a round says of a stretch of rows: by how much their weights fall, and whether their classes
# are found; None where what they lose is 1 less the first.
Verdict: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_] | None]
Say: TypeAlias = Callable[[Any], Callable[[slice], Verdict]]  # of a record, a stretch at a time
Margins: TypeAlias = Callable[[Any], NDArray[np.float64]]
Numbers: TypeAlias = list[float]  # whose sum, rounded once, is meant


class Sums(NamedTuple):
    """What rows weigh: numbers that sum to their weights, and to the squares of their relative
    weights; the largest logarithm; and their counts, where these are asked for.
    """

    totals: Numbers
    squares: Numbers
    top: float
    table: CountTable | None


class Judged(NamedTuple):
    """Numbers that sum to the weights of all rows and of those that are missed; and what rows weigh
    afterwards, where that is known.
    """

    totals: Numbers
    missed: Numbers
    after: Sums | None


# What passes do with a record, on whatever machine it is --------------------------------------


@dataclass(frozen=True, slots=True)
class Weigher:
    """Makes weights of logarithms; see `RowWeights`."""

    rows_of: Callable[[Any], Rows]
    margins: Margins | None
    watch: Callable[[Any], NDArray[np.intp]] | None
    counting: tuple[Sequence[AnyCoder], int] | None
    grain: float
    in_place: bool
    piece: int
    storage: Storage
    n_jobs: int | None

    def begin(self, record: Any, state: RowState | None, unit: float) -> RowState:
        """The state of a record in which rows have weights."""
        state = state or RowState()
        if state.logs is not None:
            return state
        rows = self.rows_of(record)
        logs = self.storage.zeros(rows.n_rows)
        if self.margins is not None:
            margins = self.margins(record)
            for part in rows.stretches():
                kernels.lower_by_margin(logs[part], margins[part], 1.0, STEEPEST, logs[part])
        watched = None if self.watch is None else self.storage.copy(self.watch(record))
        new = self.with_room(replace(state, logs=logs, watched=watched))
        if new.weights is not None:
            for part in rows.stretches():
                self.weights(logs[part], unit, _given(rows, part), new.weights[part])
        return self.watch_units(new, unit)

    def with_room(self, state: RowState) -> RowState:
        """The state with room for weights, where they are kept."""
        assert state.logs is not None
        if not self.in_place or state.weights is not None:
            return state
        return replace(state, weights=self.storage.empty(len(state.logs), np.float64))

    def weights(
        self,
        logs: NDArray[np.float64],
        unit: float,
        given: NDArray[np.float64],
        out: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], float, float]:
        """Weights of rows, their sum, and that of the squares of relative ones."""
        weight = np.subtract(logs, unit, out=out)
        np.minimum(weight, LARGEST, out=weight)
        np.exp(weight, out=weight)
        return weight, *kernels.round_weights(weight, self.grain, given, 1.0 / SQUARE_GRAIN)

    def weigh(
        self, rows: Rows, state: RowState, unit: float, part: slice, table: Any
    ) -> tuple[float, float, float]:
        """What some rows weigh (see `Sums`); they are added to joint counts (IN, OUT)."""
        logs, kept = state.logs, state.weights
        assert logs is not None
        out = None if kept is None else kept[part]
        weight, total, squares = self.weights(logs[part], unit, _given(rows, part), out)
        if self.counting is not None:
            assert isinstance(rows, CodedRows)
            rows.add_counts(part, self.counting[1], weight, table)
        return total, squares, float(logs[part].max())

    def sums(self, rows: Rows, pieces: Sequence[Any], tables: Sequence[Any]) -> Sums:
        """What rows weigh, given what pieces of them do, and their joint counts."""
        totals, squares, tops = zip(*pieces, strict=True) if pieces else [()] * 3
        table = None
        if self.counting is not None:
            assert isinstance(rows, CodedRows)
            table = table_of(rows, *self.counting, tables)
        top = max(tops, default=-math.inf)
        return Sums(exact_parts(totals), exact_parts(squares), top, table)

    def watch_units(self, state: RowState, unit: float, again: bool = False) -> RowState:
        """The state with the relative weights of watched rows; ``again`` instead of the last."""
        if state.watched is None:
            return state
        assert state.logs is not None
        relative, *_ = self.weights(state.logs[state.watched], unit, np.empty(0))
        before = state.units[:-1] if again else state.units
        return replace(state, units=(*before, self.storage.copy(relative)))

    def room_for(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the logarithms of the next state go."""
        return logs if self.in_place else self.storage.empty(len(logs), np.float64)

    def each(
        self, rows: Rows, fn: Callable[[slice, Any], T]
    ) -> tuple[list[T], list[NDArray[np.float64]]]:
        """What a function says of some rows at a time; and joint counts, to which it adds them."""

        def task(whole: slice) -> tuple[list[T], Any]:
            table = None
            if self.counting is not None:
                assert isinstance(rows, CodedRows)
                table = rows.no_counts(self.counting[1])
            starts = range(whole.start, whole.stop, self.piece)
            pieces = [slice(start, min(start + self.piece, whole.stop)) for start in starts]
            return [fn(piece, table) for piece in pieces], table

        done = list(in_threads(task, rows.stretches(), self.n_jobs))
        return [piece for pieces, _ in done for piece in pieces], [table for _, table in done]


def _given(rows: Rows, part: slice) -> NDArray[np.float64]:
    """The rows' own weights; empty where all are 1."""
    return np.empty(0) if rows.weight is None else rows.weight[part]


def judge_record(
    weigher: Weigher,
    unit: float,
    say: Say,
    lower: tuple[float, float] | None,
    last: bool,
    record: Any,
    state: RowState | None,
) -> tuple[RowState, Judged]:
    """``lower`` is the vote, and the unit of weights after it."""
    rows, judged = weigher.rows_of(record), say(record)
    new = weigher.begin(record, state, unit)
    logs, kept = new.logs, new.weights
    assert logs is not None
    lowered = logs if lower is None else weigher.room_for(logs)
    new = replace(new, logs=lowered)

    def visit(part: slice, table: Any) -> tuple[float, Numbers, Any]:
        if kept is None:
            weight, *_ = weigher.weights(logs[part], unit, _given(rows, part))
        else:
            weight = kept[part]
        gains, hits = judged(part)
        if hits is None:
            total, missed = float(weight.sum()), exact_parts((weight * (1.0 - gains)).tolist())
        else:
            total, *missed = kernels.total_and_missed(weight, hits)
        if lower is None:
            return total, missed, None if last else (gains if hits is None else hits)
        kernels.lower_by_margin(logs[part], gains, lower[0], STEEPEST, lowered[part])
        return total, missed, weigher.weigh(rows, new, lower[1], part, table)

    pieces, tables = weigher.each(rows, visit)
    totals = exact_parts([total for total, _, _ in pieces])
    missed = exact_parts([number for _, numbers, _ in pieces for number in numbers])
    found = [one for _, _, one in pieces]
    if lower is not None:
        new = weigher.watch_units(new, lower[1])
        return new, Judged(totals, missed, weigher.sums(rows, found, tables))
    if not last:
        new = replace(new, said=weigher.storage.copy(np.concatenate(found or [np.empty(0)])))
    return new, Judged(totals, missed, None)


def without_state(step: Callable[[Any, Any], tuple[Any, T]], record: Any, state: Any) -> T:
    return step(record, state)[1]


def lower_record(
    weigher: Weigher, unit: float, vote: float, record: Any, state: RowState
) -> tuple[RowState, Sums]:
    logs, said = state.logs, state.said
    assert logs is not None
    assert said is not None
    rows, lowered = weigher.rows_of(record), weigher.room_for(logs)
    new = replace(state, logs=lowered, said=None)

    def visit(part: slice, table: Any) -> Any:
        if said.dtype == np.bool_:
            kernels.lower_by_hit(logs[part], said[part], vote, lowered[part])
        else:
            kernels.lower_by_margin(logs[part], said[part], vote, STEEPEST, lowered[part])
        return weigher.weigh(rows, new, unit, part, table)

    sums = weigher.sums(rows, *weigher.each(rows, visit))
    return weigher.watch_units(new, unit), sums


def refresh_record(
    weigher: Weigher, seed: int, record: Any, state: RowState | None
) -> tuple[RowState, Sums]:
    rows, span = weigher.rows_of(record), FRESH_HIGH - FRESH_LOW
    logs = weigher.storage.empty(rows.n_rows, np.float64)
    logs[:] = np.log(FRESH_LOW + span * draw_uniform(seed, rows.row_ids))
    new = weigher.with_room(replace(state or RowState(), logs=logs, said=None))
    return new, weigh_record(weigher, 0.0, record, new)


def weigh_record(weigher: Weigher, unit: float, record: Any, state: RowState | None) -> Sums:
    """What rows weigh in another unit."""
    rows, begun = weigher.rows_of(record), weigher.begin(record, state, unit)
    visit = partial(weigher.weigh, rows, begun, unit)
    return weigher.sums(rows, *weigher.each(rows, visit))


def weigh_again(
    weigher: Weigher, unit: float, record: Any, state: RowState
) -> tuple[RowState, Sums]:
    sums = weigh_record(weigher, unit, record, state)
    return weigher.watch_units(state, unit, again=True), sums


def weights_of(
    weigher: Weigher, unit: float, record: Any, state: RowState | None
) -> NDArray[np.float64]:
    rows, logs = weigher.rows_of(record), weigher.begin(record, state, unit).logs
    assert logs is not None
    whole = slice(0, rows.n_rows)
    weight, *_ = weigher.weights(logs, unit, _given(rows, whole))
    return weight


def add_sums(a: Sums, b: Sums) -> Sums:
    table = None if a.table is None or b.table is None else a.table + b.table
    return Sums(a.totals + b.totals, a.squares + b.squares, max(a.top, b.top), table)


def add_judged(a: Judged, b: Judged) -> Judged:
    after = None if a.after is None or b.after is None else add_sums(a.after, b.after)
    return Judged(a.totals + b.totals, a.missed + b.missed, after)
