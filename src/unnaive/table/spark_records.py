"""Coded rows that stay on the workers of Spark.

Records and states lie in files of the workers' machines (`spark_files.py`). Spark keeps a table of
the records' names, so that tasks come to where the files are, and the records themselves as packets
on its disks. What a machine has lost is made again: records from the packets, which Spark makes
again from the rows if it must, and states by the functions of all passes so far.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from unnaive.table.packets import (
    KEPT,
    PACKET,
    acknowledge,
    adder,
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
from unnaive.table.spark_files import Found, RecordFiles, States, add_found, visitor
from unnaive.table.storage import Storage, join_records

R = TypeVar("R")
T = TypeVar("T")
MOST_GROUPS = 1024  # of rows that change places: every record has a part for each
_log = logging.getLogger("unnaive")


class SparkRecords(AwayRecords, Generic[R]):
    """Records of partitions, of which there are at most ``tasks``.

    A pass has one task for each of them, which Spark sends to the executor that has its files.
    Were several put together in one, Spark would look for their machine only; and should a part of
    a table be made again in such a task, it would not know which partition that was.
    """

    def __init__(self, tasks: int) -> None:
        self.files = RecordFiles.new()
        self._tasks = tasks
        self._packets: Any = None
        self._names: Any = None
        self._visited: Any = None
        self._steps: dict[int, bytes] = {}  # functions of passes that changed states, by number
        self._n_begun = 0
        self._earlier: SparkRecords[Any] | None = None  # whose rows these are

    def keep(self, packets: Any, add: Callable[[T, T], T]) -> tuple[list[T], int]:
        """Keep the records in these packets; the sum of the results there, and rows seen."""
        from pyspark import StorageLevel

        # Blocks on disk are read whole: what passes need has blocks of its own.
        self._packets = packets.persist(StorageLevel.DISK_ONLY)
        self._names = packets.select("part", "seen", "result", "name")
        self._names.persist(StorageLevel.MEMORY_AND_DISK)
        self._visited = self._names.select("part", "name")
        try:
            results = self._names.select("part", "seen", "result")
            return tree_of_sums(results.mapInArrow(adder(add), PACKET), self._tasks, add)
        except BaseException:
            self.release()
            raise

    def reduce(
        self, fn: Callable[[R, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        with self._log_pass(name, fn) as came:
            total = self._visit(fn, add)
            came(total)
        return total

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        with self._log_pass(name, fn) as came:
            self._n_begun += 1  # no pass that failed lends its number, and with it files, to others
            total = self._visit(fn, add, self._n_begun)
            came(total)
        return total

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:
        call = _dumps((fn, None))
        visit = visitor(self._states(2), call)
        packets = self._visited.mapInArrow(visit, PACKET)
        with self._log_pass(name, fn) as came:
            for row in packets.toLocalIterator(prefetchPartitions=True):
                results, lost = unpack(row.result)
                for found in self._restored(call, lost) if lost else [(results, lost)]:
                    came(found[0])
                    yield from found[0]

    def regroup(self, place: Place, make: Make, select: Select = whole_record) -> SparkRecords[Any]:
        new = SparkRecords[Any](self._tasks)
        packets = self._packets.select("part", "name", "kept")
        with self._log_pass("moving rows", (place, make, select)):
            n_records = self._names.where("name is not null").count()
            n = min(max(self._tasks, n_records), MOST_GROUPS)
            parts = packets.mapInArrow(_parter(self._states(), place, select, n), KEPT)
            parts = parts.select("part", "kept").repartition(min(n, self._tasks), "part")
            new.keep(parts.mapInArrow(_gatherer(new.files, make), KEPT), int.__add__)
        new._succeed(self)
        new._earlier = self
        return new

    def release(self) -> None:
        """Forget the records; files of executors that have gone are removed with these."""
        packets, names = self._packets, self._names
        self._packets = self._names = self._visited = None
        if packets is None:
            return
        self._steps.clear()
        with suppress(Exception):  # a session that has ended has forgotten them
            names.unpersist()
            packets.unpersist()
            tasks = packets.sparkSession.range(0, self._tasks, 1, self._tasks)
            tasks.mapInArrow(_remover(self._old_files()), "id long").collect()

    def _old_files(self) -> list[RecordFiles]:
        """Files that nobody needs, also of the released records that these were made of: Spark may
        have made some of them again, to make these again.
        """
        if self._packets is not None:
            return []
        return [self.files, *([] if self._earlier is None else self._earlier._old_files())]

    def _states(self, n_last: int = 0) -> States:
        """The states as they are; given a number, to be found by the last so many passes."""
        if n_last:
            return States(self.files, tuple(self._steps)[-n_last:])
        return States(self.files, tuple(self._steps), tuple(self._steps.values()))

    def _visit(
        self, fn: Callable[..., Any], add: Callable[[T, T], T], number: int | None = None
    ) -> T:
        """The sum of a function's results for all records."""
        call = _dumps((fn, add))
        packets = self._visited.mapInArrow(visitor(self._states(2), call, number), PACKET)
        ((results, lost),), _ = tree_of_sums(packets, self._tasks, add_found(add))
        if lost:
            restored = self._restored(call, lost, number)
            results = [*results, *(result for some, _ in restored for result in some)]
        (total,) = sum_of(results, add)
        if number is not None:
            self._steps[number] = call
        return total

    def _restored(self, call: bytes, lost: list[int], number: int | None = None) -> list[Found]:
        """What is found in partitions whose files were not there."""
        _log.info("records of %d partitions are made again", len(lost))
        packets = self._packets.select("part", "name", "kept")
        packets = packets.where(packets["part"].isin(lost))
        packets = packets.mapInArrow(visitor(self._states(), call, number), PACKET)
        return [unpack(row.result) for row in packets.collect() if row.result]


def _dumps(things: Any) -> bytes:
    from pyspark.cloudpickle import dumps

    return bytes(dumps(things, protocol=5))  # type: ignore[no-untyped-call]


def _parter(
    states: States, place: Place, select: Select, n: int
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets whose rows change places: a packet for each new place."""

    def part(batches: Iterable[Any]) -> Iterator[Any]:
        for _, records in states.open_all(batches):
            for _, both in records:
                assert both is not None  # what is not here is restored
                for k, rows in part_rows(select(*both), place, n):
                    yield pack_kept(k, pickle.dumps(rows, protocol=5))
        spare_imports()

    return part


def _gatherer(files: RecordFiles, make: Make) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with packets that have come to their place: one of all that belong there."""

    def gather(batches: Iterable[Any]) -> Iterator[Any]:
        rows: dict[int, list[Any]] = {}
        for batch in batches:
            for k, kept in zip(batch["part"], batch["kept"], strict=True):
                rows.setdefault(k.as_py(), []).append(pickle.loads(kept.as_buffer()))
        for k in sorted(rows):
            yield files.writer(k)(make(join_records(rows.pop(k)), Storage()))
        spare_imports()

    return gather


def _remover(files: list[RecordFiles]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does when records are done with."""

    def remove(batches: Iterable[Any]) -> Iterator[Any]:
        acknowledge()
        for some in files:
            some.remove()
        yield from batches

    return remove
