"""Coded rows that stay on the workers of Spark.

Records and states are packets of a persisted DataFrame. A pass that changes states makes the next
one of it; Spark knows what each was made of, and makes what is lost again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from unnaive.table.packets import (
    KEPT,
    PACKET,
    adder,
    pack,
    pack_kept,
    spare_imports,
    sum_of,
    unpack,
)
from unnaive.table.records import (
    FETCHING,
    AwayRecords,
    Make,
    Place,
    Select,
    part_rows,
    whole_record,
)
from unnaive.table.spark import tree_of_sums
from unnaive.table.storage import Storage, join_records

R = TypeVar("R")
T = TypeVar("T")
ADAPTIVE = "spark.sql.adaptive.enabled"
MOST_GROUPS = 1024  # of rows that change places: every record has a part for each


class SparkRecords(AwayRecords, Generic[R]):
    """Records of partitions; ``tasks`` is how many add them up at a time."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._kept: Any = None

    def keep(self, packets: Any, add: Callable[[T, T], T]) -> tuple[list[T], int]:
        """Keep these packets instead of those so far; the sum of their results, and rows seen."""
        from pyspark import StorageLevel

        with _plain_plans(packets.sparkSession):
            packets.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            results = packets.select("part", "seen", "result").coalesce(self._tasks)
            sums = results.mapInArrow(adder(add), PACKET)
            total = tree_of_sums(sums, self._tasks, add)
        except BaseException:
            packets.unpersist()
            raise
        self.release()  # only now: the new packets are made of them
        self._kept = packets
        return total

    def reduce(
        self, fn: Callable[[R, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        with self._log_pass(name, fn) as came:
            packets = self._kept.select("part", "kept").coalesce(self._tasks)
            found = packets.mapInArrow(_visitor(fn, add), PACKET)
            ((total,), _) = tree_of_sums(found, self._tasks, add)
            came(total)
        return total

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        with self._log_pass(name, fn) as came:
            packets = self._kept.select("part", "kept").mapInArrow(_stepper(fn, add), KEPT)
            ((total,), _) = self.keep(packets, add)
            came(total)
        return total

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:
        packets = self._kept.select("part", "kept").mapInArrow(_visitor(fn), PACKET)
        with self._log_pass(name, fn) as came:
            for row in packets.toLocalIterator(prefetchPartitions=True):
                if row.result:
                    came(row.result)
                    yield unpack(row.result)

    def regroup(self, place: Place, make: Make, select: Select = whole_record) -> SparkRecords[Any]:
        kept, new = self._kept.select("part", "kept"), SparkRecords[Any](self._tasks)
        with self._log_pass("moving rows", (place, make, select)):
            n = min(max(self._tasks, kept.where("kept is not null").count()), MOST_GROUPS)
            parts = kept.mapInArrow(_parter(place, select, n), KEPT).repartition(n, "part")
            new.keep(parts.select("part", "kept").mapInArrow(_gatherer(make), KEPT), int.__add__)
        new._succeed(self)
        return new

    def release(self) -> None:
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None


@contextmanager
def _plain_plans(session: Any) -> Iterator[None]:
    """Have what is persisted in here computed by a plan that does not adapt itself.

    Spark describes every query with all that its cached tables were made of. A plan that adapts
    itself is described twice, as it was and as it is, and so is each plan inside it: descriptions
    would double with every pass, and fill the driver's memory after some thirty.
    """
    before = session.conf.get(ADAPTIVE, None)
    session.conf.set(ADAPTIVE, "false")
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(ADAPTIVE)
        else:
            session.conf.set(ADAPTIVE, before)


def _visitor(
    fn: Callable[[R, Any], T], add: Callable[[T, T], T] | None = None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets: the results of records, or their sum."""

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        total: list[T] = []
        for part, record, state in _records(batches):
            if add is None:
                yield pack(part, 0, fn(record, state))
            else:
                total = sum_of([*total, fn(record, state)], add)
        if total:
            yield pack(0, 0, *total)

    return visit


def _stepper(
    fn: Callable[[R, Any], tuple[Any, T]], add: Callable[[T, T], T]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets: records with their next states, and a sum."""

    def step(batches: Iterable[Any]) -> Iterator[Any]:
        total: list[T] = []
        last = 0
        for part, record, state in _records(batches):
            new, result = fn(record, state)
            yield pack_kept(part, (record, new))
            total, last = sum_of([*total, result], add), part
        if total:
            yield pack(last, 0, *total, kept=True)

    return step


def _parter(place: Place, select: Select, n: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets whose rows change places: a packet for each new place."""

    def part(batches: Iterable[Any]) -> Iterator[Any]:
        for _, record, state in _records(batches):
            for k, rows in part_rows(select(record, state), place, n):
                yield pack_kept(k, (rows, None))

    return part


def _gatherer(make: Make) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets that have come to their place: one of all that belong there."""

    def gather(batches: Iterable[Any]) -> Iterator[Any]:
        rows: dict[int, list[Any]] = {}
        for k, record, _ in _records(batches):
            rows.setdefault(k, []).append(record)
        for k in sorted(rows):
            yield pack_kept(k, (make(join_records(rows.pop(k)), Storage()), None))

    return gather


def _records(batches: Iterable[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Partition, record and state of each packet that has one."""
    for batch in batches:
        for part, kept in zip(batch["part"], batch["kept"], strict=True):
            if kept.is_valid:
                yield part.as_py(), *unpack(kept.as_buffer())
    spare_imports()
