"""Rows in a Spark DataFrame: Python workers read partitions as Arrow, and add up what they find."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

from unnaive.table.answers import Lines, answer_table, first_answer, tabular
from unnaive.table.arrow import BlockReader, block_rows, no_rows
from unnaive.table.packets import (
    KEPT,
    PACKET,
    Union,
    acknowledge,
    adder,
    pack,
    spare_imports,
    sum_of,
    tables,
    unpack,
)
from unnaive.table.passes import (
    ANSWERING,
    CODING,
    COUNTING,
    ChangedRowsError,
    PassSource,
    Progress,
)
from unnaive.table.records import Records
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import Block, join_answers
from unnaive.table.spark_files import RecordFiles
from unnaive.table.storage import Storage

R = TypeVar("R")
T = TypeVar("T")

FAN = 8  # results that one task, or the driver, adds
TASKS = 4  # for each core: partitions beyond that are summed by the task that reads them
LOOK = 0.2  # seconds between looks at what tasks have done
PART_BITS = 33  # rows of a partition that can be told apart where there is no row_id


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
    by_number = scan.picked is not None and not scan.picked.reads_labels
    if by_number and scan.row_id is None:
        raise ValueError(
            "this model takes rows by their numbers, and Spark's rows have none: name a column of "
            "row numbers, scan(..., row_id=)."
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
            with _partition_counts(progress, self.frame) as counts:
                packets = rows.mapInArrow(_visitor(self.reader, fn, counts, add), PACKET)
                total, seen = tree_of_sums(packets, tasks, add)
            if not total:
                raise no_rows(seen)
            progress.reach(seen)
        return total[0]

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        from pyspark import StorageLevel

        reader, frame = self.reader, _numbered(self.frame, self.reader.columns)
        if reader.row_id is None:
            _warn_of_order()
        else:
            frame = frame.orderBy(frame.columns[reader.columns.index(reader.row_id)])

        # Workers do their share at the same time, and keep it until it is fetched, in order.
        with self.begin_pass(name) as progress, _partition_counts(progress, frame) as counts:
            kept = frame.mapInArrow(_visitor(reader, fn, counts), PACKET)
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
                progress.reach(seen)
            finally:
                kept.unpersist()

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T]:
        from unnaive.table.spark_records import SparkRecords

        if self.reader.row_id is None:
            _warn_of_order()
        tasks = TASKS * cores(self.frame)
        frame = _numbered(self.frame, self.reader.columns).coalesce(tasks)
        with self.begin_pass(name) as progress, _partition_counts(progress, frame) as counts:
            records: SparkRecords[R] = SparkRecords(tasks)
            records.hook = self._worker_hook
            visit = _visitor(self.reader, fn, counts, add, records.files)
            packets = frame.mapInArrow(visit, KEPT)
            total, seen = records.keep(packets, add)
            if not total:
                records.release()
                raise no_rows(seen)
            progress.reach(seen)
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
            for table in tables(batches, 1, old):
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


def _visitor(
    reader: BlockReader,
    fn: Callable[[Block], Any],
    counts: Any,
    add: Callable[[Any, Any], Any] | None = None,
    files: RecordFiles | None = None,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with its batches: the results of blocks, or their sum, and the rows seen.

    With ``files``, results come with records, which are kept there.
    """

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        acknowledge()
        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        first = at = part << PART_BITS
        total: list[Any] = []
        write = None if files is None else files.writer(part)
        try:
            for table in tables(batches, block_rows(len(reader.columns)), reader.columns):
                block = reader.read(table, at)
                at += len(table)
                results: list[Any] = [] if block is None else [fn(block)]
                if write is not None:
                    yield from (write(record) for record, _ in results if record is not None)
                    results = [result for _, result in results]
                if add is None:
                    yield from (pack(part, 0, result) for result in results)
                else:
                    total = sum_of([*total, *results], add)
            if counts is not None:
                counts.add({part: (at - first, context.stageId())})
            yield pack(part, at - first, *total, kept=write is not None)
        except (
            ValueError,
            TypeError,
            ChangedRowsError,
        ) as error:  # the data are wrong, and will be the next time
            yield pack(part, 0, type(error)(f"{error} [partition {part}]"), kept=write is not None)
        spare_imports()

    return visit


def tree_of_sums(packets: Any, tasks: int, add: Callable[[T, T], T]) -> tuple[list[T], int]:
    """The sum of the results in packets of so many tasks, if there are any, and the rows seen."""
    while tasks > FAN:
        tasks = -(-tasks // FAN)
        packets = packets.repartition(tasks, "part").mapInArrow(adder(add), PACKET)
    parts = packets.collect()
    results = [unpack(part.result) for part in parts if part.result]
    return sum_of(results, add), sum(part.seen for part in parts)


def _warn_of_order() -> None:
    warnings.warn(
        "Spark's rows have no order, so that random choices about them (folds, draws) may "
        "be others each time; name a column of row numbers with scan(..., row_id=).",
        UserWarning,
        stacklevel=3,
    )


@contextmanager
def _partition_counts(progress: Progress, frame: Any) -> Iterator[Any]:
    """What tasks add their rows to when they are done, if the pass has a hook."""
    context = getattr(frame.sparkSession, "sparkContext", None)  # Spark Connect has none
    if progress.hook is None or context is None:
        yield None
        return
    counts, over = context.accumulator({}, Union()), Event()

    def look() -> None:
        while not over.wait(LOOK):
            parts = counts.value
            stages = {context.statusTracker().getStageInfo(stage) for _, stage in parts.values()}
            for stage in stages - {None}:
                progress.reach_parts({part: n for part, (n, _) in parts.items()}, stage.numTasks)

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield counts
    finally:
        over.set()
        thread.join()


def _numbered(frame: Any, names: Sequence[str]) -> Any:
    """Some columns, numbered: ``mapInArrow`` takes dots and backticks in names for syntax."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*quoted).toDF(*_places(names))


def _places(names: Sequence[str]) -> list[str]:
    return [f"c{k}" for k in range(len(names))]


def cores(frame: Any) -> int:
    context = getattr(frame.sparkSession, "sparkContext", None)  # Spark Connect has none
    return FAN if context is None else int(context.defaultParallelism)
