"""Coded rows that stay on the workers of Spark.

Records and states lie in files of the workers' machines (`spark_files.py`). Spark keeps a table of
the records' names, so that tasks come to where the files are, and the records themselves as packets
on its disks. What a machine has lost is made again: records from the packets, which Spark makes
again from the rows if it must, and states by the functions of all passes so far.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from unnaive.table.packets import (
    PACKET,
    acknowledge,
    adder,
    sum_of,
    unpack,
)
from unnaive.table.records import FETCHING, AwayRecords
from unnaive.table.spark import tree_of_sums
from unnaive.table.spark_files import Found, RecordFiles, States, add_found, visitor

R = TypeVar("R")
T = TypeVar("T")
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
            tasks.mapInArrow(_remover(self.files), "id long").collect()

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


def _remover(files: RecordFiles) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does when records are done with."""

    def remove(batches: Iterable[Any]) -> Iterator[Any]:
        acknowledge()
        files.remove()
        yield from batches

    return remove
