"""Rows in a Dask DataFrame: every partition is a block, and sums are made where the rows are.

Records and states are persisted tasks. Dask knows what each was made of: what is lost with a worker
is made again from its partition and the functions of all passes so far.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from unnaive.table.arrow import BlockReader, no_rows
from unnaive.table.block import Block
from unnaive.table.output import Lines, answer_columns, first_answer, tabular
from unnaive.table.records import (
    ANSWERING,
    CODING,
    COUNTING,
    FETCHING,
    Records,
    Releasing,
    Storage,
    log_pass,
    size_of,
)
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import PassSource, join_answers

R = TypeVar("R")
T = TypeVar("T")
# A result, if there are rows, and the rows of partitions.
Results: TypeAlias = tuple[list[T], list[int]]

FAN = 4  # results that one task, or the driver, adds


def open_scan(
    scan: Scan,
    categorical_features: Any,
    fitted: Schema | None,
    n_jobs: int | None,  # noqa: ARG001
) -> DaskSource:
    """Open a scan of a Dask DataFrame."""
    frame = scan.data
    if not (hasattr(frame, "map_partitions") and hasattr(frame, "columns")):
        raise TypeError(f"scan reads Dask DataFrames; got a Dask {type(frame).__name__}.")
    reader = BlockReader.of(scan, list(frame.columns), categorical_features, fitted)
    return DaskSource(frame, reader, Storage(scan.limit))


class DaskSource(PassSource):
    """A Dask DataFrame on whatever scheduler Dask uses: a cluster, or threads of this process.

    A row's number is its place in the order of the partitions. How long the partitions are is
    found by the first sum, and blocks are numbered from then on, or after `number`.
    """

    def __init__(self, frame: Any, reader: BlockReader, storage: Storage) -> None:
        self.frame, self.reader, self.storage = frame, reader, storage
        self._parts = frame[reader.columns].to_delayed()
        self._lengths: list[int] | None = None

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        with self.begin_pass(name) as progress:
            total, self._lengths = add_results(add, compute(tree_of_sums(self._tasks(fn), add)))
            if not total:
                raise no_rows(sum(self._lengths))
            progress.add(sum(self._lengths))
        return total[0]

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        self.n_rows = sum(self.number())
        tasks = self._tasks(fn)
        step = n_threads()  # results of so many partitions are held here at a time
        some = False
        with self.begin_pass(name) as progress:
            for k in range(0, len(tasks), step):
                for results, lengths in compute(tasks[k : k + step]):
                    some |= bool(results)
                    yield from results
                    progress.add(sum(lengths))
            if not some:
                raise no_rows(self.n_rows)

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T]:
        self.n_rows = sum(self.number())
        records: DaskRecords[R] = DaskRecords()
        with self.begin_pass(name) as progress:
            total, lengths = records.keep(self._tasks(fn, kept_records), add)
            if not total:
                records.release()
                raise no_rows(sum(lengths))
            progress.add(sum(lengths))
        return records, total[0]

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:
        """A Dask Series or DataFrame with the index of the rows, computed when it is asked for."""
        features, reader, fn = self.frame[list(self.reader.features)], self.reader, tabular(fn)
        first = first_answer(reader, fn, features._meta.reindex([0]))
        if first is None:
            return join_answers(self.each(fn, ANSWERING))

        def answer(table: Any) -> Any:
            block = reader.read(table)
            return _frame(first[:0] if block is None else fn(block), names, table.index)

        if not isinstance(
            first, (np.ndarray, Lines)
        ):  # some columns are passed on: Dask knows their types
            return features.map_partitions(answer)
        meta = _frame(first[:0], names, features._meta.index[:0])
        return features.map_partitions(answer, meta=meta)

    def number(self) -> list[int]:
        """Find how long the partitions are, if no pass has found it yet."""
        if self._lengths is None:
            lengths = self.frame[self.reader.columns[:1]].map_partitions(len)
            self._lengths = [int(n) for n in lengths.compute()]
        return self._lengths

    def _tasks(
        self, fn: Callable[[Block], T], form: Callable[[Results[Any]], Any] = tuple
    ) -> list[Any]:
        """Return ``fn`` of every partition as tasks, whose results take a ``form``."""
        reader = self.reader

        def visit(table: Any, k: int, first_row: int) -> Any:
            try:
                block = reader.read(table, first_row)
                results = [] if block is None else [fn(block)]
            except ValueError as error:
                raise type(error)(f"{error} [partition {k}]") from error
            return form((results, [len(table)]))

        lengths = [0] * len(self._parts) if self._lengths is None else self._lengths
        first_rows = accumulate(lengths, initial=0)
        return _tasks_of(visit, self._parts, range(len(self._parts)), first_rows)


def _tasks_of(fn: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
    """Return the calls of a function as tasks that are not started."""
    from dask.delayed import delayed

    # What fn holds may be large: as a value of the graph it is sent to a worker once.
    shared, run = delayed(fn, pure=False), delayed(_call, pure=False)
    return [run(shared, *each) for each in zip(*arguments, strict=False)]


def _call(fn: Callable[..., T], *arguments: Any) -> T:
    return fn(*arguments)


def tree_of_sums(level: list[Any], add: Callable[[T, T], T]) -> list[Any]:
    """Tasks that sum the results of others, a few at a time; what they return is added here."""
    from dask.delayed import delayed

    adding = delayed(partial(add_results, add), pure=False)
    while len(level) > FAN:
        level = [adding(level[k : k + FAN]) for k in range(0, len(level), FAN)]
    return level


def add_results(add: Callable[[T, T], T], parts: Sequence[Results[T]]) -> Results[T]:
    """The sum of some results, and the rows of all partitions."""
    every = [result for results, _ in parts for result in results]
    return [reduce(add, every)] if every else [], [n for _, lengths in parts for n in lengths]


def compute(tasks: Sequence[Any], keep: bool = False) -> Any:
    """What tasks return; or, where that is to be kept, tasks that know it."""
    import dask.base

    with warnings.catch_warnings():
        # Dask would have rows read on workers; what is sent here are coders and models.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return dask.base.persist(*tasks) if keep else dask.base.compute(*tasks)


def _frame(values: Any, names: Sequence[str] | None, index: Any) -> Any:
    import pandas as pd

    if not isinstance(values, (np.ndarray, Lines)):
        return values
    if isinstance(values, Lines) and values.rows is not None:
        index = index[values.rows]
    frame = pd.DataFrame(answer_columns(values, names), index=index)
    return frame.iloc[:, 0] if isinstance(values, np.ndarray) and values.ndim == 1 else frame


def n_threads() -> int:
    """How many tasks run at a time."""
    try:
        from distributed import get_client

        return max(1, sum(get_client().nthreads().values()))
    except (ImportError, ValueError):  # no cluster: threads of this machine
        return os.cpu_count() or 1


# Records --------------------------------------------------------------------------------------


class Kept(Generic[R]):
    """What stays on a worker: records or states of a partition, and results that came with them.

    It has a size: Dask would take arrays in records for nothing, have other workers fetch copies of
    them, and spill too late. It is no list, which Dask would look into.
    """

    def __init__(self, each: list[R], results: Results[Any]) -> None:
        self.each, self.results = each, results

    def __sizeof__(self) -> int:
        return super().__sizeof__() + size_of([self.each, self.results])


def kept_records(visited: Results[tuple[R | None, Any]]) -> Kept[R]:
    """Records of blocks, of which some have no rows, with the results that came with them."""
    pairs, lengths = visited
    each = [record for record, _ in pairs if record is not None]
    return Kept(each, ([result for _, result in pairs], lengths))


def _results(kept: Kept[Any]) -> Results[Any]:
    return kept.results


class DaskRecords(Releasing, Generic[R]):
    """Records of partitions, each a list of one or none."""

    def __init__(self) -> None:
        self._records: list[Any] = []
        self._states: list[Any] = []

    def keep(self, tasks: list[Any], add: Callable[[T, T], T]) -> Results[T]:
        """Keep what tasks make (`Kept` records), and sum the results that come with it."""
        self._records, total = self._run(tasks, add)
        self._states = [None] * len(self._records)
        return total

    def reduce(
        self, fn: Callable[[R, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        with log_pass(name):
            (total,), _ = add_results(add, compute(tree_of_sums(self._tasks(_visitor(fn)), add)))
        return total

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        def visit(records: list[R], states: list[Any]) -> Kept[Any]:
            pairs = [fn(*both) for both in zip(records, states, strict=True)]
            return Kept([state for state, _ in pairs], ([result for _, result in pairs], []))

        with log_pass(name):
            tasks, self._states = self._tasks(visit), []
            self._states, ((total,), _) = self._run(tasks, add)
        return total

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:
        tasks, step = self._tasks(_visitor(fn)), 2 * n_threads()
        with log_pass(name):
            for k in range(0, len(tasks), step):  # results of so many records are here at a time
                for results, _ in compute(tasks[k : k + step]):
                    yield from results

    def release(self) -> None:
        self._records, self._states = [], []  # Dask forgets what nobody knows of any more

    def _tasks(self, visit: Callable[[list[R], list[Any]], Any]) -> list[Any]:
        """Return ``visit`` of the records and states of every partition as tasks."""
        return _tasks_of(partial(_visit, visit), self._records, self._states)

    def _run(self, tasks: list[Any], add: Callable[[T, T], T]) -> tuple[list[Any], Results[T]]:
        """Tasks that return what is kept: it stays where it is, and the results of all are summed.

        Tasks are forgotten as soon as they are on their way (the list is empty then), and with them
        the states that they replace: a worker has room for the next state of a partition when that
        of another is there.
        """
        from dask.delayed import delayed

        results = delayed(_results, pure=False)
        sums = tree_of_sums([results(task) for task in tasks], add)
        started = list(compute([*tasks, *sums], keep=True))
        kept, sums = started[: len(tasks)], started[len(tasks) :]
        tasks.clear()
        try:
            total = add_results(add, compute(sums))
        except BaseException:
            for known in (started, kept, sums):
                known.clear()  # an error remembers this place, and what is known here stays there
            raise
        return kept, total


def _visitor(fn: Callable[[R, Any], T]) -> Callable[[list[R], list[Any]], Results[T]]:
    """``fn`` of every record and its state."""
    return lambda records, states: ([fn(*b) for b in zip(records, states, strict=True)], [])


def _visit(visit: Callable[..., T], records: Kept[Any], states: Kept[Any] | None) -> T:
    return visit(records.each, [None] * len(records.each) if states is None else states.each)
