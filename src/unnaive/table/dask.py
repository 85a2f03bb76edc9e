"""Rows in a Dask DataFrame: every partition is a block, and sums are made where the rows are."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from unnaive.table.answers import Lines, answer_columns, first_answer, tabular
from unnaive.table.arrow import BlockReader, no_rows
from unnaive.table.packets import sum_of
from unnaive.table.passes import ANSWERING, CODING, COUNTING, PassSource, Progress
from unnaive.table.records import Records
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import Block, join_answers
from unnaive.table.storage import Storage

R = TypeVar("R")
T = TypeVar("T")
# A result, if there are rows, and the rows of partitions.
Results: TypeAlias = tuple[list[T], list[int]]
Report: TypeAlias = Callable[[int, int], None]  # of a partition that is read: its number and rows

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
    source = DaskSource(frame, reader, Storage(scan.limit))
    if scan.picked is not None and not scan.picked.reads_labels:
        source.number()
    return source


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
            with _partition_hook(progress, len(self._parts)) as report:
                sums = tree_of_sums(self._tasks(fn, report), add)
                total, self._lengths = add_results(add, compute(sums))
            if not total:
                raise no_rows(sum(self._lengths))
            progress.reach(sum(self._lengths))
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
        from unnaive.table.dask_records import DaskRecords, kept_records

        self.n_rows = sum(self.number())
        with self.begin_pass(name) as progress:
            with _partition_hook(progress, len(self._parts)) as report:
                records: DaskRecords[R] = DaskRecords()
                records.hook = self._worker_hook
                total, lengths = records.keep(self._tasks(fn, report, kept_records), add)
            if not total:
                records.release()
                raise no_rows(sum(lengths))
            progress.reach(sum(lengths))
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
        self,
        fn: Callable[[Block], T],
        report: Report | None = None,
        form: Callable[[Results[Any]], Any] = tuple,
    ) -> list[Any]:
        """``fn`` of every partition, as tasks that are not started; ``form`` is what they return of
        its results.
        """
        from dask.delayed import delayed

        reader = self.reader

        def visit(table: Any, k: int, first_row: int) -> Any:
            try:
                block = reader.read(table, first_row)
                results = [] if block is None else [fn(block)]
            except ValueError as error:
                raise type(error)(f"{error} [partition {k}]") from error
            if report is not None:
                report(k, len(table))
            return form((results, [len(table)]))

        # What fn holds may be large: as a value of the graph it is sent to a worker once.
        shared = delayed(visit, pure=False)
        run = delayed(_call, pure=False)
        lengths = [0] * len(self._parts) if self._lengths is None else self._lengths
        each = zip(self._parts, accumulate(lengths, initial=0), strict=False)
        return [run(shared, part, k, first) for k, (part, first) in enumerate(each)]


def _call(visit: Callable[..., T], table: Any, k: int, first_row: int) -> T:
    return visit(table, k, first_row)


@contextmanager
def _partition_hook(progress: Progress, n_parts: int) -> Iterator[Report | None]:
    """What tasks call when they have read a partition, if the pass has a hook."""
    from dask.base import get_scheduler

    rows: dict[int, int] = {}  # of each partition: one may be read again when a worker is lost

    def add(k: int, n_rows: int) -> None:
        rows[k] = n_rows
        progress.reach_parts(dict(rows), n_parts)  # a copy: other threads go on adding

    scheduler = get_scheduler()
    client = getattr(scheduler, "__self__", None)
    if progress.hook is None or getattr(scheduler, "__module__", "") == "dask.multiprocessing":
        yield None  # processes without a cluster say nothing on their way
    elif client is None:  # threads of this process
        yield add
    else:
        topic = f"unnaive-{uuid4()}"
        client.subscribe_topic(topic, lambda event: add(*event[1]))
        try:
            yield partial(_log_event, topic)
        finally:
            client.unsubscribe_topic(topic)


def _log_event(topic: str, k: int, n_rows: int) -> None:
    from distributed import get_worker

    get_worker().log_event(topic, (k, n_rows))


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
    return sum_of(every, add), [n for _, lengths in parts for n in lengths]


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
