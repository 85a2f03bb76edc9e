"""Coded rows that stay on the workers of Dask.

Records and states are persisted tasks. Dask knows what each was made of: what is lost with a worker
is made again from its partition and the functions of all passes so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from unnaive.table.dask import Results, compute, tree_of_sums
from unnaive.table.records import AwayRecords, Make, Place, Select, part_rows, whole_record
from unnaive.table.storage import Storage, join_records, size_of

R = TypeVar("R")
T = TypeVar("T")
MOST_GROUPS = 128  # of rows that change places: every partition has a part for each


class Kept(list[R]):
    """What stays on a worker, with its size: Dask would take arrays in records for nothing, have
    other workers fetch copies of them, and spill too late.
    """

    def __sizeof__(self) -> int:
        return super().__sizeof__() + size_of(list(self))


def _first(pairs: Results[tuple[R, Any]]) -> Kept[R]:
    return Kept(pair[0] for pair in pairs[0])


def _not_empty(pairs: Results[tuple[R | None, Any]]) -> Kept[R]:
    """Records of blocks that had rows for them."""
    return Kept(record for record, _ in pairs[0] if record is not None)


class DaskRecords(AwayRecords, Generic[R]):
    """Records of partitions, each a list of one or none."""

    def __init__(self) -> None:
        self._records: list[Any] = []
        self._states: list[Any] = []

    def keep(self, tasks: list[Any], add: Callable[[T, T], T]) -> Results[T]:
        """Keep the records that tasks make, and sum the results that come with them."""
        self._records, total = self._run(tasks, add, _not_empty)
        self._states = [None] * len(self._records)
        return total

    def reduce(
        self, fn: Callable[[R, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        with self._log_pass(name, fn) as came:
            (((total,), _),) = compute([tree_of_sums(self._tasks(fn), add)])
            came.append(total)
        return total

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        with self._log_pass(name, fn) as came:
            tasks, self._states = self._tasks(fn), []
            self._states, ((total,), _) = self._run(tasks, add)
            came.append(total)
        return total

    def each(self, fn: Callable[[R, Any], T]) -> Iterator[T]:
        for task in self._tasks(fn):
            ((results, _),) = compute([task])
            yield from results

    def regroup(self, place: Place, make: Make, select: Select = whole_record) -> DaskRecords[Any]:
        from dask.delayed import delayed

        n = min(len(self._records), MOST_GROUPS)

        def part(records: list[R], states: list[Any] | None) -> list[list[Any]]:
            parts: list[list[Any]] = [[] for _ in range(n)]
            for record, state in zip(records, states or [None] * len(records), strict=True):
                for k, rows in part_rows(select(record, state), place, n):
                    parts[k].append(rows)
            return parts

        def gather(parts: list[list[R]]) -> Results[tuple[Any, int]]:
            every = [rows for part in parts for rows in part]
            return [(make(join_records(every), Storage()), 0)] if every else [], []

        run, divide = delayed(_call_one, pure=False), delayed(_call, pure=False)
        shared = [delayed(fn, pure=False) for fn in (part, gather)]
        both = zip(self._records, self._states, strict=True)
        parted = [divide(shared[0], records, states) for records, states in both]
        new: DaskRecords[Any] = DaskRecords()
        with self._log_pass("moving rows", (place, make, select)):
            groups = ([parts[k] for parts in parted] for k in range(n))
            new.keep([run(shared[1], group) for group in groups], int.__add__)
        new._succeed(self)
        return new

    def release(self) -> None:
        self._records, self._states = [], []  # Dask forgets what nobody knows of any more

    def _tasks(self, fn: Callable[[R, Any], Any]) -> list[Any]:
        """``fn`` of the records and states of every partition, as tasks that are not started."""
        from dask.delayed import delayed

        def visit(records: list[R], states: list[Any] | None) -> Results[Any]:
            states = [None] * len(records) if states is None else states
            return [fn(*both) for both in zip(records, states, strict=True)], []

        shared, run = delayed(visit, pure=False), delayed(_call, pure=False)
        both = zip(self._records, self._states, strict=True)
        return [run(shared, records, states) for records, states in both]

    def _run(
        self, tasks: list[Any], add: Callable[[T, T], T], first_half: Callable[[Any], Any] = _first
    ) -> tuple[list[Any], Results[T]]:
        """Tasks that return pairs: their first halves, which stay where they are, and the sum of
        the second.

        Tasks are forgotten as soon as they are on their way (the list is empty then), and with them
        the states that they replace: a worker has room for the next state of a partition when that
        of another is there.
        """
        from dask.delayed import delayed

        first, second = delayed(first_half, pure=False), delayed(_second, pure=False)
        halves = [first(task) for task in tasks]
        whole = tree_of_sums([second(task) for task in tasks], add)
        *kept, total = compute([*halves, whole], keep=True)
        tasks.clear()
        del halves, whole
        try:
            ((results, lengths),) = compute([total])
        except BaseException:
            kept.clear()  # an error remembers this place, and what is known here stays on workers
            del total
            raise
        return kept, (results, lengths)


def _call(visit: Callable[..., T], records: list[Any], states: Any) -> T:
    return visit(records, states)


def _call_one(fn: Callable[[Any], T], given: Any) -> T:
    return fn(given)


def _second(pairs: Results[tuple[Any, T]]) -> Results[T]:
    return [pair[1] for pair in pairs[0]], pairs[1]
