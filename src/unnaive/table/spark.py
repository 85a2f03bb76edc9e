"""Rows in a Spark DataFrame: Python workers read partitions as Arrow, and add up what they find."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeVar

from unnaive.table.answers import answer_columns, first_answer
from unnaive.table.blocks import BlockReader, block_rows, no_rows
from unnaive.table.files import join_answers
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import Block
from unnaive.table.storage import Storage

T = TypeVar("T")

FAN = 8  # results that one task, or the driver, adds
TASKS = 4  # for each core: partitions beyond that are summed by the task that reads them
PART_BITS = 33  # rows of a partition that can be told apart where there is no row_id
FOUND = "part int, seen bigint, found binary"  # what a task sends: pickled results


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


class SparkSource:
    """A Spark DataFrame.

    Rows have no order: ``row_id`` of the scan names a column that numbers them. Without it a row's
    number is its place in its partition, as it happens to be.
    """

    def __init__(self, frame: Any, reader: BlockReader, storage: Storage) -> None:
        self.frame, self.reader, self.storage = frame, reader, storage

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        tasks = TASKS * _cores(self.frame)
        level = self._columns().coalesce(tasks).mapInArrow(_visitor(self.reader, fn, add), FOUND)
        while tasks > FAN:
            tasks = -(-tasks // FAN)
            level = level.repartition(tasks, "part").mapInArrow(_adder(add), FOUND)
        rows = level.collect()
        total = _sum([_unpack(row.found) for row in rows if row.found], add)
        if not total:
            raise no_rows(sum(row.seen for row in rows))
        return total[0]

    def each(self, fn: Callable[[Block], T]) -> Iterator[T]:
        from pyspark import StorageLevel

        reader, frame = self.reader, self._columns()
        if reader.row_id is None:
            warnings.warn(
                "Spark's rows have no order, so that random choices about them, and the model, may "
                "differ the next time: name a column that numbers the rows, scan(..., row_id=).",
                stacklevel=2,
            )
        else:
            frame = frame.orderBy(_quoted(reader.row_id))

        # Workers do their share at the same time, and keep it until it is fetched, in order.
        kept = frame.mapInArrow(_visitor(reader, fn), FOUND).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            kept.count()
            some, seen = False, 0
            for row in kept.toLocalIterator(prefetchPartitions=True):
                seen += row.seen
                if row.found:
                    some = True
                    yield _unpack(row.found)
            if not some:
                raise no_rows(seen)
        finally:
            kept.unpersist()

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:
        """The DataFrame with columns for the answers, computed when it is asked for."""
        import pyarrow as pa
        from pyspark.sql.types import StructType

        reader, frame = self.reader, self.frame
        kinds = frame.select(*map(_quoted, reader.features)).limit(0).toArrow().schema
        empty = pa.table({kind.name: pa.nulls(1, kind.type) for kind in kinds})
        first = first_answer(reader, fn, empty)
        if first is None:
            return join_answers(self.each(fn))
        new = pa.table(dict(answer_columns(first, names)))
        texts = [pa.string() if pa.types.is_null(kind.type) else kind.type for kind in new.schema]
        new = new.cast(pa.schema(list(zip(new.column_names, texts, strict=True))))
        taken = [n for n in new.column_names if n in frame.columns and n not in reader.features]
        if taken:
            raise ValueError(f"the DataFrame has a column {taken[0]!r} already; drop or rename it.")

        def answer(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                table = pa.Table.from_batches([batch])
                block = reader.read(table)
                if block is not None:
                    own = pa.table(dict(answer_columns(fn(block), names))).cast(new.schema)
                    columns = dict(zip(table.column_names, table.columns, strict=True))
                    columns |= dict(zip(own.column_names, own.columns, strict=True))
                    yield from pa.table(columns).combine_chunks().to_batches()

        types = {field.name: field for field in frame.schema}
        types |= {f.name: f for f in frame.sparkSession.createDataFrame(new).schema}
        return frame.mapInArrow(answer, StructType(list(types.values())))

    def _columns(self) -> Any:
        return self.frame.select(*(_quoted(name) for name in self.reader.columns))


def _visitor(
    reader: BlockReader, fn: Callable[[Block], T], add: Callable[[T, T], T] | None = None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with its batches: the results of blocks, or their sum, and the rows seen."""

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        first = at = part << PART_BITS
        total: list[T] = []
        try:
            for table in _tables(batches, block_rows(len(reader.columns))):
                block = reader.read(table, at)
                at += len(table)
                found = [] if block is None else [fn(block)]
                if add is None:
                    yield from (_pack(part, 0, result) for result in found)
                else:
                    total = _sum([*total, *found], add)
            yield _pack(part, at - first, *total)
        except (ValueError, TypeError) as error:  # the data are wrong, and will be the next time
            yield _pack(part, 0, type(error)(f"{error} [partition {part}]"))

    return visit


def _adder(add: Callable[[T, T], T]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with the sums of other tasks."""

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        try:
            total = _sum([_unpack(row["found"]) for row in rows if row["found"]], add)
            yield _pack(0, sum(row["seen"] for row in rows), *total)
        except (ValueError, TypeError) as error:
            yield _pack(0, 0, error)

    return visit


def _sum(results: list[T], add: Callable[[T, T], T]) -> list[T]:
    """One result, or none."""
    return [reduce(add, results)] if results else []


def _tables(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Batches put together until there are rows enough for a block."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= n_rows:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _pack(part: int, seen: int, *found: Any) -> Any:
    import pyarrow as pa

    pickled: list[Any] = [pickle.dumps(result, protocol=5) for result in found] or [None]
    fields = [("part", pa.int32()), ("seen", pa.int64()), ("found", pa.binary())]
    return pa.record_batch([[part], [seen], pickled], schema=pa.schema(fields))


def _unpack(found: bytes) -> Any:
    result = pickle.loads(found)
    if isinstance(result, Exception):
        raise result
    return result


def _quoted(name: str) -> str:
    """A column's name as Spark wants it where names may hold dots."""
    return "`" + name.replace("`", "``") + "`"


def _cores(frame: Any) -> int:
    context = getattr(frame.sparkSession, "sparkContext", None)  # Spark Connect has none
    return FAN if context is None else int(context.defaultParallelism)
