"""Coded rows that stay on the workers of Dask.

Records and states are persisted tasks. Dask knows what each was made of: what is lost with a worker
is made again from its partition and the functions of all passes so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from unnaive.table.dask import Results, add_results, compute, n_threads, tree_of_sums
from unnaive.table.records import FETCHING, AwayRecords, pickled_size
from unnaive.table.storage import size_of

R = TypeVar("R")
T = TypeVar("T")
IN_TASKS = 1 << 20  # bytes of functions that travel with the tasks themselves


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


class DaskRecords(AwayRecords, Generic[R]):
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
        with self._log_pass(name, fn) as came:
            sums = compute(tree_of_sums(self._tasks(_visitor(fn)), add))
            (total,), _ = add_results(add, sums)
            came(total)
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

        with self._log_pass(name, fn) as came:
            tasks, self._states = self._tasks(visit), []
            self._states, ((total,), _) = self._run(tasks, add)
            came(total)
        return total

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:
        tasks, step = self._tasks(_visitor(fn)), 2 * n_threads()
        with self._log_pass(name, fn) as came:
            for k in range(0, len(tasks), step):  # results of so many records are here at a time
                for results, _ in compute(tasks[k : k + step]):
                    came(results)
                    yield from results

    def release(self) -> None:
        self._records, self._states = [], []  # Dask forgets what nobody knows of any more

    def _tasks(self, visit: Callable[[list[R], list[Any]], Any]) -> list[Any]:
        """``visit`` of the records and states of every partition, as tasks not yet started."""
        from dask.delayed import delayed

        both = zip(self._records, self._states, strict=True)
        if len(self._records) * pickled_size(visit) <= IN_TASKS:
            run = delayed(partial(_call, visit), pure=False)
            return [run(records, states) for records, states in both]
        # As a value of the graph it is sent to a worker once, which then has to ask for it.
        shared, run = delayed(visit, pure=False), delayed(_call, pure=False)
        return [run(shared, records, states) for records, states in both]

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


def _call(visit: Callable[..., T], records: Kept[Any], states: Kept[Any] | None) -> T:
    return visit(records.each, [None] * len(records.each) if states is None else states.each)
