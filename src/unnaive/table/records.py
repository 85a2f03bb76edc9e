"""Records of rows that are visited again and again, where they are.

A model that visits rows more than once has every block coded into a *record* (see `storage.py`).
Beside each record lies its *state*: what the model knows of these rows by now, such as their
weights; None at first. A pass is a function of a record and its state, whose results add up, as
results of blocks do. Records of rows on a cluster stay on its workers, so that tables travel and
rows do not; all others are held here. A model never asks which.

Functions of a pass are pure: they return a new state and leave what they are given as it is. What
is lost with a worker is then made again, from the rows and the functions so far, bit for bit. Where
no worker has records, nothing is made again: a new state may then take over arrays of the old one.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from unnaive.table.passes import CODING
from unnaive.table.storage import Storage, stored

if TYPE_CHECKING:
    from unnaive.table.source import Block, Source

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
_log = logging.getLogger("unnaive")

FETCHING = "fetching rows"


def whole_record(record: R, _state: Any) -> R:
    """Every row of a record, without its state."""
    return record


class Records(Protocol[R_co]):
    """The records of all blocks, to be visited as often as needed."""

    storage: Storage
    """Room for what has an entry for each row, where the records are."""

    def reduce(
        self, fn: Callable[[R_co, Any], T], add: Callable[[T, T], T], name: str = "visiting rows"
    ) -> T:
        """Apply ``fn`` to every record and its state, and sum the results in any order."""
        ...

    def advance(
        self,
        fn: Callable[[R_co, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",
    ) -> T:
        """The same with a function that also returns the record's next state, which comes first."""
        ...

    def each(self, fn: Callable[[R_co, Any], T], name: str = FETCHING) -> Iterator[T]:
        """``fn`` of every record and its state, brought here in the order of the rows."""
        ...

    def release(self) -> None:
        """Forget records and states, here and on workers."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Releasing:
    """Base of records: what they hold is released when their context is left."""

    storage = Storage()  # workers of a cluster have room of their own

    def release(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class MemoryRecords(Releasing, Generic[R]):
    """Records that are held here."""

    def __init__(self, records: Sequence[R], storage: Storage | None = None) -> None:
        self.records, self.storage = list(records), storage or Storage()
        self.states: list[Any] = [None] * len(self.records)

    def reduce(
        self,
        fn: Callable[[R, Any], T],
        add: Callable[[T, T], T],
        name: str = "visiting rows",  # noqa: ARG002
    ) -> T:
        return functools.reduce(add, self.each(fn))

    def advance(
        self,
        fn: Callable[[R, Any], tuple[Any, T]],
        add: Callable[[T, T], T],
        name: str = "visiting rows",  # noqa: ARG002
    ) -> T:
        def results() -> Iterator[T]:
            for k, record in enumerate(self.records):
                self.states[k], result = fn(record, self.states[k])  # the old one is free at once
                yield result

        return functools.reduce(add, results())

    def each(self, fn: Callable[[R, Any], T], name: str = FETCHING) -> Iterator[T]:  # noqa: ARG002
        return (fn(record, state) for record, state in zip(self.records, self.states, strict=True))

    def release(self) -> None:
        self.records.clear()
        self.states.clear()


@contextmanager
def log_pass(name: str) -> Iterator[None]:
    """Log how long a pass on the workers of a cluster takes."""
    start = time.perf_counter()
    yield
    _log.info("%s on workers: %.2f s", name, time.perf_counter() - start)


def keep_records(
    source: Source,
    fn: Callable[[Block], tuple[R, T]],
    add: Callable[[T, T], T],
    name: str = CODING,
) -> tuple[Records[R], T]:
    """The records of all blocks, and a sum: ``fn`` of a block returns its record and its share.

    Records of a cluster stay on its workers; all others are held here.
    """
    away = source.keep_away(fn, add, name)
    if away is not None:
        return away
    records: list[R] = []
    shares: list[T] = []
    for record, share in source.each(fn, name):
        records.append(stored(record, source.storage))
        shares.append(share)
    return MemoryRecords(records, source.storage), functools.reduce(add, shares)
