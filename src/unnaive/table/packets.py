"""Arrow batches to blocks, and results of tasks as rows of a table: how engines send them."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, reduce
from pathlib import Path
from typing import Any, TypeVar

from unnaive.table.passes import ChangedRowsError

T = TypeVar("T")

PACKET = "part int, seen bigint, result binary"  # columns of a packet, in the words of SQL
KEPT = f"{PACKET}, name string, kept binary"  # the same with a record that stays, and its name


def tables(batches: Iterable[Any], n_rows: int, names: Sequence[str]) -> Iterator[Any]:
    """Batches put together until there are rows enough for a block, with their columns' names."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= n_rows:
            yield pa.Table.from_batches(waiting).rename_columns(names)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).rename_columns(names)


def pack(part: int, seen: int, *results: Any, kept: bool = False) -> Any:
    """A batch of one row: the partition, how many rows it has, and a result or an error or none.

    ``kept`` says whether it goes among packets of what is kept.
    """
    pickled: list[Any] = [pickle.dumps(result, protocol=5) for result in results] or [None]
    return _batch([part], [seen], pickled, *([[None], [None]] if kept else []))


def pack_kept(part: int, content: bytes, name: str | None = None) -> Any:
    """A batch of one row: a record, which is no result, or rows on their way to one."""
    return _batch([part], [0], [None], [name], [content])


def _batch(*columns: Any) -> Any:
    import pyarrow as pa

    names = ("part", "seen", "result", "name", "kept")
    kinds = (pa.int32(), pa.int64(), pa.binary(), pa.string(), pa.binary())
    fields = list(zip(names, kinds, strict=True))[: len(columns)]
    return pa.record_batch(list(columns), schema=pa.schema(fields))


def unpack(packet: bytes) -> Any:
    """A result; an error of the data is raised here, as itself."""
    result = pickle.loads(packet)
    if isinstance(result, Exception):
        raise result
    return result


def sum_of(results: list[T], add: Callable[[T, T], T]) -> list[T]:
    """One result, or none of none."""
    return [reduce(add, results)] if results else []


def adder(add: Callable[[T, T], T]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with the packets of other tasks: one packet of all."""

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        acknowledge()
        rows = [row for batch in batches for row in batch.to_pylist()]
        part, seen = max((row["part"] for row in rows), default=0), sum(row["seen"] for row in rows)
        try:
            results: list[T] = [unpack(row["result"]) for row in rows if row["result"]]
            yield pack(part, seen, *sum_of(results, add))
        except (ValueError, TypeError, ChangedRowsError) as error:
            yield pack(part, seen, error)
        spare_imports()

    return visit


def acknowledge() -> None:
    """Acknowledge at once what has been sent to this process, a Python worker of Spark (on Linux).

    Java sends the function of a task, and its system holds the first rows back until that is
    acknowledged; which this one does after 40 ms, unless it has something to send (Nagle's
    algorithm and delayed acknowledgements). A pass over few rows takes no longer than that.
    """
    option, open_files = getattr(socket, "TCP_QUICKACK", None), Path("/proc/self/fd")
    if option is None or not open_files.exists():
        return
    for file in open_files.iterdir():
        with suppress(OSError):  # closed meanwhile, or no connection of this kind
            number = int(file.name)
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, option, 1)


def spare_imports() -> None:
    """Leave what has been imported out of garbage collection, where something new has been.

    A Python worker of Spark collects after every task, which takes a tenth of a second where models
    and their libraries are imported: none of that is garbage.
    """
    _freeze(len(sys.modules))


@cache
def _freeze(n_modules: int) -> None:  # noqa: ARG001
    gc.collect()
    gc.freeze()


class Union:
    """How Spark adds up what tasks tell it beside their results: as dictionaries."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:  # noqa: ARG002
        return {}

    def addInPlace(self, a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802
        return {**a, **b}
