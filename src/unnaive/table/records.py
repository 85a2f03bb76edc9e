"""Records of rows that are visited again and again, where they are.

A model that visits rows more than once has every block coded into a *record*: a dataclass
that says in ``PER_ROW`` which of its fields have an entry for each row, and which axis these are:
arrays, lists of arrays, or None. `keep_records` holds the records of all blocks, where they are;
`join` makes one record of them, in the source's `Storage`.

Beside each record lies its *state*: what the model knows of these rows by now, such as their
weights; None at first. A pass is a function of a record and its state, whose results add up, as
results of blocks do. Records of rows on a cluster stay on its workers, so that tables travel and
rows do not; all others are held here. A model never asks which.

Functions of a pass are pure: they return a new state and leave what they are given as it is. What
is lost with a worker is then made again, from the rows and the functions so far, bit for bit. Where
no worker has records, nothing is made again: a new state may then take over arrays of the old one.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import mmap
import os
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from unnaive.table.block import Block
    from unnaive.table.source import Source

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
_log = logging.getLogger("unnaive")
COUNTING, CODING, ANSWERING = "counting", "coding rows", "answering"  # what most passes do
_SMALL = 1 << 16  # bytes that are not worth a file
STRETCH = 1 << 16  # rows that are worked on at a time, where a step makes copies of them


class ChangedRowsError(RuntimeError):
    """Rows that are not what they were in an earlier pass."""


def changed_rows(why: str) -> ChangedRowsError:
    """Return the error, with what to do."""
    return ChangedRowsError(
        f"{why}: a source must give the same rows in every pass. Write them to a Parquet file that "
        "nothing changes, and fit from that."
    )


def check_same_number(before: int, now: int) -> None:
    """Raise if there are more or fewer rows than in an earlier pass."""
    if before != now:
        raise changed_rows(f"there were {before:,} rows in the first pass, and there are {now:,}")


class Storage:
    """Room for arrays: memory up to a limit, then temporary files.

    A file has no name from the moment it is made, so that nothing is left behind however the
    process ends; its space is free again when its array is gone.

    Parameters
    ----------
    limit : int or None, default=None
        Bytes that arrays may take in memory; None for all there is.

    Attributes
    ----------
    held : int
        Bytes in memory now.
    spilled, most_spilled : int
        Bytes in files now, and the most there were.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.held = self.spilled = self.most_spilled = 0
        self._lock = Lock()

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose values are not set."""
        if self.limit is None:
            return np.empty(shape, dtype)
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size <= _SMALL:
            return np.empty(shape, kind)
        with self._lock:
            fits = self.held + size <= self.limit
            if fits:
                self.held += size
            else:
                self.spilled += size
                self.most_spilled = max(self.most_spilled, self.spilled)
                _log.info("%.0f MB of rows in temporary files", self.spilled / 1e6)
        if fits:
            array = np.empty(shape, kind)
            weakref.finalize(array, self._free, size, True)
            return array
        mapped = _new_file(size)
        weakref.finalize(mapped, self._free, size, False)
        return np.frombuffer(mapped, kind).reshape(shape)

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """An array of zeros."""
        array = self.empty(shape, dtype)
        array[...] = 0
        return array

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """The same values, here."""
        copied = self.empty(array.shape, array.dtype)
        copied[...] = array
        return copied

    def take(self, array: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
        """The values of some rows."""
        taken = self.empty((len(rows), *array.shape[1:]), array.dtype)
        np.take(array, rows, axis=0, out=taken, mode="clip")  # other modes take a second copy
        return taken

    def argsort(self, keys: NDArray[Any]) -> NDArray[np.intp]:
        """Return the places of the keys in ascending order, equal ones as they stand."""
        return np.argsort(keys, kind="stable")

    def __reduce__(self) -> Any:
        return Storage, (self.limit,)  # a worker has room of its own

    def _free(self, size: int, fits: bool) -> None:
        with self._lock:
            if fits:
                self.held -= size
            else:
                self.spilled -= size


def stretches(n_rows: int, size: int | None = None) -> Iterator[slice]:
    """Rows, so many at a time; ``STRETCH`` if nothing is said."""
    size = size or STRETCH
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def _new_file(size: int) -> mmap.mmap:
    """Room in a file without a name."""
    with tempfile.TemporaryFile(prefix="unnaive-") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk is told now, not by a signal
        except AttributeError:  # not on every system
            file.truncate(size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"no room for {size / 1e9:.1f} GB of coded rows in {tempfile.gettempdir()!r} "
                f"({error.strerror}); set TMPDIR to a folder on a larger disk, or raise "
                "memory_limit=",
            ) from error
        return mmap.mmap(file.fileno(), size)


def keep(source: Source, fn: Callable[[Block], T]) -> list[T]:
    """The records of all blocks, in the order of the rows."""
    return [stored(record, source.storage) for record in source.each(fn)]


def stored(record: T, storage: Storage) -> T:
    """A record whose arrays of rows are where there is room for them."""

    def place(array: NDArray[Any], axis: int) -> NDArray[Any]:  # noqa: ARG001
        return array if storage.limit is None else storage.copy(array)

    return _each_array(record, place)


def join(source: Source, fn: Callable[[Block], T], n_rows: int, name: str = CODING) -> T:
    """One record of all rows, in their order; of one block, ``fn`` of it without a copy.

    ``n_rows`` is how many there are. What is not ``PER_ROW`` must be the same in all blocks.
    """
    whole: T | None = None
    at = 0
    for record in source.each(fn, name):
        n = _length(record)
        if at + n > n_rows:  # the source itself says so, if it can, when all rows are read
            at += n
            continue
        if whole is None and n == n_rows:
            whole, at = record, n  # what comes after it, if anything, has no rows of any weight
            continue
        if whole is None:

            def room(array: NDArray[Any], axis: int) -> NDArray[Any]:
                shape = (*array.shape[:axis], n_rows, *array.shape[axis + 1 :])
                return source.storage.empty(shape, array.dtype)

            whole = _each_array(record, room)
        for (out, axis), (piece, _) in zip(_arrays(whole), _arrays(record), strict=True):
            out[(slice(None),) * axis + (slice(at, at + n),)] = piece
        at += n
    check_same_number(n_rows, at)
    assert whole is not None
    return whole


def join_records(records: Sequence[T], storage: Storage | None = None) -> T:
    """One record of several, in memory if no storage is given."""
    room = storage or Storage()

    def concatenate(parts: Sequence[tuple[NDArray[Any], int]]) -> NDArray[Any]:
        arrays, axis = [array for array, _ in parts], parts[0][1]
        shape = list(arrays[0].shape)
        shape[axis] = sum(array.shape[axis] for array in arrays)
        out = room.empty(tuple(shape), np.result_type(*arrays))
        return np.concatenate(arrays, axis=axis, out=out)

    columns = zip(*(_arrays(record) for record in records), strict=True)
    joined = iter([concatenate(each) for each in columns])
    return _each_array(records[0], lambda _array, _axis: next(joined))


def taken(record: T, rows: NDArray[np.intp]) -> T:
    """Some rows of a record."""
    return _each_array(record, lambda array, axis: np.take(array, rows, axis=axis))


def size_of(thing: Any) -> int:
    """Bytes of all arrays of a record, of a state, or of several."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if dataclasses.is_dataclass(thing):
        return sum(size_of(getattr(thing, field.name)) for field in dataclasses.fields(thing))
    return sum(map(size_of, thing)) if isinstance(thing, (list, tuple)) else 0


def _each_array(record: T, fn: Callable[[NDArray[Any], int], NDArray[Any]]) -> T:
    """A record whose arrays of rows are replaced."""
    new: dict[str, Any] = {}
    for name, value, axis in _fields(record):
        if axis is None:
            parts = isinstance(value, tuple)
            new[name] = (
                tuple(_each_array(v, fn) for v in value) if parts else _each_array(value, fn)
            )
        elif isinstance(value, list):
            new[name] = [fn(v, axis) for v in value]
        else:
            new[name] = fn(value, axis)
    return dataclasses.replace(record, **new)  # type: ignore[type-var]


def _arrays(record: Any) -> Iterator[tuple[NDArray[Any], int]]:
    """The arrays of rows of a record, and which axis the rows are."""
    for _, value, axis in _fields(record):
        if axis is None:
            for part in value if isinstance(value, tuple) else (value,):
                yield from _arrays(part)
        else:
            yield from ((v, axis) for v in (value if isinstance(value, list) else [value]))


def _fields(record: Any) -> Iterator[tuple[str, Any, int | None]]:
    """Fields with an entry for each row and their axes; records inside, one or a tuple of them,
    which have none.
    """
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        axis = getattr(record, "PER_ROW", {}).get(field.name)
        inside = value[0] if isinstance(value, tuple) and value else value
        if dataclasses.is_dataclass(inside) or (axis is not None and value is not None):
            yield field.name, value, axis


def _length(record: Any) -> int:
    """How many rows a record has."""
    array, axis = next(_arrays(record))
    return int(array.shape[axis])


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
