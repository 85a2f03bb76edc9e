"""Rows in a Spark DataFrame: Python workers read partitions as Arrow, and add up what they find.

Coded rows that stay on the workers, and what a model knows of them, are rows of a DataFrame that
Spark keeps: pickles of a record and its state. A pass that changes states makes a new DataFrame of
the last one. What is lost with an executor Spark makes again, from the rows if it must.
"""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, reduce
from typing import Any, Generic, TypeVar

from unnaive.table.arrow import BlockReader, block_rows, no_rows
from unnaive.table.block import Block
from unnaive.table.output import Lines, answer_table, first_answer, tabular
from unnaive.table.records import (
    ANSWERING,
    CODING,
    COUNTING,
    FETCHING,
    ChangedRowsError,
    Records,
    Releasing,
    Storage,
    log_pass,
)
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import PassSource, join_answers

R = TypeVar("R")
T = TypeVar("T")

FAN = 8  # results that one task, or the driver, adds
TASKS = 4  # for each core: partitions beyond that are summed by the task that reads them
PART_BITS = 33  # rows of a partition that can be told apart where there is no row_id
DEPTH = 16  # passes after which Spark forgets how states were made: its stack is not deep
DATA_ERRORS = (ValueError, TypeError, ChangedRowsError)  # the same the next time: no task retries
# Columns in the words of SQL: a result of some rows of a partition, or a record and its state.
PACKET = "part int, seen bigint, result binary"
KEPT = f"{PACKET}, record binary, state binary"


def open_scan(
    scan: Scan,
    categorical_features: Any,
    fitted: Schema | None,
    n_jobs: int | None,  # noqa: ARG001
) -> SparkSource:
    """Open a scan of a Spark DataFrame."""
    frame = scan.data
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"scan reads DataFrames of pyspark.sql; got a Spark {type(frame).__name__}. "
            "A pandas-on-Spark table has one as .to_spark()."
        )
    reader = BlockReader.of(scan, frame.columns, categorical_features, fitted)
    return SparkSource(frame, reader, Storage(scan.limit))


class SparkSource(PassSource):
    """A Spark DataFrame.

    Rows have no order: ``row_id`` of the scan names a column that numbers them. Without it a row's
    number is its place in its partition, as it happens to be.
    """

    def __init__(self, frame: Any, reader: BlockReader, storage: Storage) -> None:
        self.frame, self.reader, self.storage = frame, reader, storage

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        tasks = TASKS * cores(self.frame)
        rows = _numbered(self.frame, self.reader.columns).coalesce(tasks)
        with self.begin_pass(name) as progress:
            packets = rows.mapInArrow(_block_visitor(self.reader, fn, add), PACKET)
            total, seen = tree_of_sums(packets, tasks, add)
            if not total:
                raise no_rows(seen)
            progress.add(seen)
        return total[0]

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        from pyspark import StorageLevel

        reader, frame = self.reader, _numbered(self.frame, self.reader.columns)
        if reader.row_id is None:
            _warn_of_order()
        else:
            frame = frame.orderBy(frame.columns[reader.columns.index(reader.row_id)])

        # Workers do their share at the same time, and keep it until it is fetched, in order.
        with self.begin_pass(name) as progress:
            kept = frame.mapInArrow(_block_visitor(reader, fn), PACKET)
            kept.persist(StorageLevel.MEMORY_AND_DISK)
            try:
                kept.count()
                some, seen = False, 0
                for row in kept.toLocalIterator(prefetchPartitions=True):
                    seen += row.seen
                    if row.result:
                        some = True
                        yield unpack(row.result)
                if not some:
                    raise no_rows(seen)
                progress.add(seen)
            finally:
                kept.unpersist()

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T]:
        if self.reader.row_id is None:
            _warn_of_order()
        tasks = TASKS * cores(self.frame)
        frame = _numbered(self.frame, self.reader.columns).coalesce(tasks)
        records: SparkRecords[R] = SparkRecords(tasks)
        with self.begin_pass(name) as progress:
            visit = _block_visitor(self.reader, fn, add, keeps=True)
            total, seen = records.keep(frame.mapInArrow(visit, KEPT), add)
            if not total:
                records.release()
                raise no_rows(seen)
            progress.add(seen)
        return records, total[0]

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:
        """The DataFrame with columns for the answers, computed when it is asked for."""
        import pyarrow as pa
        from pyspark.sql.types import StructField, StructType

        reader, frame, fn = self.reader, self.frame, tabular(fn)
        kinds = _numbered(frame, reader.features).limit(0).toArrow().schema.types
        nothing = [pa.nulls(1, kind) for kind in kinds]
        first = first_answer(reader, fn, pa.table(nothing, names=list(reader.features)))
        if first is None:
            return join_answers(self.each(fn, ANSWERING))
        new, old = answer_table(first, names), frame.columns
        replaced = () if isinstance(first, Lines) else reader.features
        taken = [name for name in new.column_names if name in old and name not in replaced]
        if taken:
            raise ValueError(f"the DataFrame has a column {taken[0]!r} already; drop or rename it.")
        out = list(dict.fromkeys([*old, *new.column_names]))

        def answer_all(batches: Iterable[Any]) -> Iterator[Any]:
            for table in _tables(batches, 1, old):
                block = reader.read(table)
                if block is not None:
                    answer = fn(block)
                    if isinstance(answer, Lines) and answer.rows is not None:
                        table = table.take(answer.rows)  # noqa: PLW2901
                    answers = answer_table(answer, names, new.schema)
                    both = [answers[n] if n in answers.column_names else table[n] for n in out]
                    yield from pa.table(both, names=_places(out)).combine_chunks().to_batches()

        types = {field.name: field.dataType for field in frame.schema}
        types |= {f.name: f.dataType for f in frame.sparkSession.createDataFrame(new).schema}
        fields = [StructField(k, types[n]) for k, n in zip(_places(out), out, strict=True)]
        return _numbered(frame, old).mapInArrow(answer_all, StructType(fields)).toDF(*out)


def _block_visitor(
    reader: BlockReader,
    fn: Callable[[Block], Any],
    add: Callable[[Any, Any], Any] | None = None,
    keeps: bool = False,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what a task does with its rows: make packets of the results of blocks, or their sum.

    With ``keeps``, results come with records, which have packets of their own.
    """

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        first = at = part << PART_BITS
        total: list[Any] = []
        try:
            for table in _tables(batches, block_rows(len(reader.columns)), reader.columns):
                block = reader.read(table, at)
                at += len(table)
                results: list[Any] = [] if block is None else [fn(block)]
                if keeps:
                    yield from (_kept(part, record) for record, _ in results if record is not None)
                    results = [result for _, result in results]
                if add is None:
                    yield from (_packet(part, 0, result) for result in results)
                elif results:
                    total = [reduce(add, [*total, *results])]
            yield _packet(part, at - first, *total, keeps=keeps)
        except DATA_ERRORS as error:
            yield _packet(part, 0, type(error)(f"{error} [partition {part}]"), keeps=keeps)

    return visit


def _tables(batches: Iterable[Any], n_rows: int, names: Sequence[str]) -> Iterator[Any]:
    """Yield batches put together until there are rows enough for a block, with their names."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= n_rows:
            yield pa.Table.from_batches(waiting).rename_columns(names)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).rename_columns(names)


def _packet(part: int, seen: int, *results: Any, keeps: bool = False) -> Any:
    """Return a batch of one row: a partition, its number of rows, and a result, error or none."""
    pickled = pickle.dumps(results[0], protocol=5) if results else None
    return _batch(part, seen, pickled, *([None, None] if keeps else []))


def _kept(part: int, record: Any, state: Any = None) -> Any:
    """Return a batch of one row: a record and its state."""
    given = (record, state)
    return _batch(part, 0, None, *(pickle.dumps(thing, protocol=5) for thing in given))


def _batch(*values: Any) -> Any:
    import pyarrow as pa

    kinds = {
        "part": pa.int32(), "seen": pa.int64(), "result": pa.binary(), "record": pa.binary(),
        "state": pa.binary(),
    }  # fmt: skip
    schema = pa.schema(list(kinds.items())[: len(values)])
    return pa.record_batch([[value] for value in values], schema=schema)


def unpack(packet: bytes) -> Any:
    """Return a result; an error of the data is raised here, as itself."""
    result = pickle.loads(packet)
    if isinstance(result, Exception):
        raise result
    return result


def tree_of_sums(packets: Any, tasks: int, add: Callable[[T, T], T]) -> tuple[list[T], int]:
    """Return the sum of the results in packets of so many tasks, if any, and the rows seen."""

    def sum_packets(batches: Iterable[Any]) -> Iterator[Any]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        part, seen = max((row["part"] for row in rows), default=0), sum(row["seen"] for row in rows)
        try:
            results = [unpack(row["result"]) for row in rows if row["result"]]
            yield _packet(part, seen, *([reduce(add, results)] if results else []))
        except DATA_ERRORS as error:
            yield _packet(part, seen, error)

    while tasks > FAN:
        tasks = -(-tasks // FAN)
        packets = packets.repartition(tasks, "part").mapInArrow(sum_packets, PACKET)
    parts = packets.collect()
    results = [unpack(part.result) for part in parts if part.result]
    return [reduce(add, results)] if results else [], sum(part.seen for part in parts)


def _warn_of_order() -> None:
    warnings.warn(
        "Spark's rows have no order, so that random choices about them (folds, draws) may "
        "be others each time; name a column of row numbers with scan(..., row_id=).",
        UserWarning,
        stacklevel=3,
    )


def _numbered(frame: Any, names: Sequence[str]) -> Any:
    """Return some columns, numbered: ``mapInArrow`` takes dots and backticks for syntax."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*quoted).toDF(*_places(names))


def _places(names: Sequence[str]) -> list[str]:
    return [f"c{k}" for k in range(len(names))]


def cores(frame: Any) -> int:
    context = getattr(frame.sparkSession, "sparkContext", None)  # Spark Connect has none
    return FAN if context is None else int(context.defaultParallelism)


# Records --------------------------------------------------------------------------------------


class SparkRecords(Releasing, Generic[R]):
    """Records of partitions, of which there are at most ``tasks``."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._kept: Any = None  # rows that Spark keeps
        self._frame: Any = None  # the same rows, to ask for
        self._n_passes = 0

    def keep(self, packets: Any, add: Callable[[T, T], T]) -> tuple[list[T], int]:
        """Keep the records and states in packets; return the sum of the results there, and rows."""
        from pyspark import StorageLevel

        new = packets.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            sums = tree_of_sums(new.select("part", "seen", "result"), self._tasks, add)
            self._n_passes += 1
            if self._n_passes % DEPTH == 0:
                kept, new = new, new.localCheckpoint()
                _forget(kept)
            old, self._kept, self._frame = self._kept, new, _without_plan(new)
        except BaseException:
            _forget(new)
            raise
        _forget(old)
        return sums

    def reduce(
        self, fn: Callable[[R, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        def visit(batches: Iterable[Any]) -> Iterator[Any]:
            results = [(part, fn(record, state)) for part, record, state in _records(batches)]
            if results:
                yield _packet(results[0][0], 0, reduce(add, [result for _, result in results]))

        with log_pass(name):
            packets = self._frame.select("part", "record", "state").mapInArrow(visit, PACKET)
            (total,), _ = tree_of_sums(packets, self._tasks, add)
        return total

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        def visit(batches: Iterable[Any]) -> Iterator[Any]:
            total: list[T] = []
            for part, record, state in _records(batches):
                new, result = fn(record, state)
                yield _kept(part, record, new)
                total = [reduce(add, [*total, result])]
            if total:
                yield _packet(part, 0, *total, keeps=True)

        with log_pass(name):
            packets = self._frame.select("part", "record", "state").mapInArrow(visit, KEPT)
            (total,), _ = self.keep(packets, add)
        return total

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:
        def visit(batches: Iterable[Any]) -> Iterator[Any]:
            for part, record, state in _records(batches):
                yield _packet(part, 0, fn(record, state))

        with log_pass(name):
            packets = self._frame.select("part", "record", "state").mapInArrow(visit, PACKET)
            for row in packets.toLocalIterator(prefetchPartitions=True):
                yield unpack(row.result)

    def release(self) -> None:
        kept, self._kept, self._frame = self._kept, None, None
        _forget(kept)


def _without_plan(frame: Any) -> Any:
    """Return the rows of a frame as one that does not say how they were made.

    Spark would plan all earlier passes anew for each. It still knows how to make lost rows again.
    """
    from pyspark.sql import DataFrame

    if not hasattr(frame, "_jdf"):  # Spark Connect
        return frame.localCheckpoint()
    rows, session = frame._jdf.queryExecution().toRdd(), frame.sparkSession
    java = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)
    return DataFrame(java, session)


@cache
def _freeze(n_modules: int) -> None:  # noqa: ARG001
    """Leave all that is imported out of garbage collection.

    A Python worker of Spark collects after every task, which takes longer than a pass over few
    rows where models and their libraries are imported.
    """
    gc.collect()
    gc.freeze()


def _forget(frame: Any) -> None:
    if frame is not None:
        with suppress(Exception):  # a session that has ended has forgotten it
            frame.unpersist()
            frame._jdf.queryExecution().logical().rdd().unpersist(False)  # of a checkpoint


def _records(batches: Iterable[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield the partition, record and state of each row that has a record."""
    _freeze(len(sys.modules))
    for batch in batches:
        columns = (batch["part"], batch["record"], batch["state"])
        for part, record, state in zip(*columns, strict=True):
            if record.is_valid:
                yield part.as_py(), *(pickle.loads(x.as_buffer()) for x in (record, state))
