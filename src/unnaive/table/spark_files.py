"""Records and states in files of the machines where Spark's Python workers are.

In a pass only names of records go through Java. A file appears whole, and what it holds follows
from the rows and the functions of all passes so far: a task that is tried again, or runs twice,
writes the same. A task that does not find a file says so, and the driver has that part of the pass
done from the packets that Spark keeps (`spark_records.py`).
"""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from unnaive.table.mapped import dump, read_mapped, write_mapped
from unnaive.table.packets import acknowledge, pack, pack_kept, spare_imports, sum_of

Both: TypeAlias = tuple[Any, Any]  # a record and its state
# Results of the records of partitions, or their sum, and the partitions whose files are not there.
Found: TypeAlias = tuple[list[Any], list[int]]


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """The files of some records, on whatever machine this is.

    A record's name has its partition, its place there and a random part: should rows come in
    another order when Spark makes a partition again, no state meets a record that it was not made
    of.

    Parameters
    ----------
    folder : str
        Name of their folder, below those that an executor has for what it spills.
    """

    folder: str

    @classmethod
    def new(cls) -> RecordFiles:
        return cls(f"unnaive-{secrets.token_hex(8)}")

    def place(self, part: int) -> Path:
        """The folder of a partition's files."""
        roots = _roots()
        return roots[part % len(roots)] / self.folder

    def writer(self, part: int) -> Callable[[Any], Any]:
        """What writes the records of a partition, one after the other, and returns the packet of
        each, which has the same bytes.
        """
        own, numbers = secrets.token_hex(8), itertools.count()

        def write_record(record: Any) -> Any:
            name, content = f"{part}-{next(numbers)}-{own}", dump(record)
            self.write_record(part, name, content)
            return pack_kept(part, content, name)

        return write_record

    def write_record(self, part: int, name: str, content: Any) -> None:
        """Write a record's file."""
        self.place(part).mkdir(exist_ok=True)
        self.write(part, name, content)

    def write(self, part: int, name: str, content: Any) -> None:
        """Write a file beside those of records."""
        place = self.place(part)
        try:
            write_mapped(place / name, content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                error.errno,
                f"no room for {len(content) / 1e6:.0f} MB of coded rows in {str(place)!r} "
                f"({error.strerror}); set spark.local.dir to folders on a larger disk",
            ) from error

    def remove(self) -> None:
        """Remove all files of these records."""
        for root in _roots():
            shutil.rmtree(root / self.folder, ignore_errors=True)


def _roots() -> list[Path]:
    """The folders in which this executor keeps what it spills: they are removed with it."""
    roots = os.environ.get("SPARK_LOCAL_DIRS")
    if roots:
        return [Path(root) for root in roots.split(",")]
    from pyspark import SparkFiles

    return [Path(SparkFiles.getRootDirectory())]


@dataclass(frozen=True, slots=True)
class States:
    """The states of records after some passes.

    Parameters
    ----------
    files : RecordFiles
    numbers : tuple of int
        The passes that have changed states; the last two are enough to find these.
    functions : tuple of bytes, default=()
        Their functions, as they are pickled for `visitor`, to make states again.
    """

    files: RecordFiles
    numbers: tuple[int, ...]
    functions: tuple[bytes, ...] = ()

    def find(self, part: int, name: str) -> Both | None:
        """A record and its state; None where they are not here.

        The state before is removed: the pass that has made this one of it is over.
        """
        place = self.files.place(part)
        names = [_state_name(name, number) for number in self.numbers[-2:]]
        try:
            record = read_mapped(place / name)
            state = read_mapped(place / names[-1]) if names else None
        except FileNotFoundError:
            return None
        for old in names[:-1]:
            (place / old).unlink(missing_ok=True)
        return record, state

    def restore(self, part: int, name: str, content: Any) -> Both:
        """The same of a record whose packet is here; what is missing is made again."""
        place = self.files.place(part)
        if not (place / name).exists():
            self.files.write_record(part, name, content)
        record, state, n_done = read_mapped(place / name), None, 0
        for k, number in reversed(list(enumerate(self.numbers, 1))):
            path = place / _state_name(name, number)
            if path.exists():
                state, n_done = read_mapped(path), k
                break
        for function in self.functions[n_done:]:
            fn, _ = pickle.loads(function)
            state, _ = fn(record, state)
        if n_done < len(self.numbers):
            self.advance(part, name, self.numbers[-1], state)
        return record, state

    def advance(self, part: int, name: str, number: int, state: Any) -> None:
        """Write a record's state after one more pass.

        Where records have been removed meanwhile, by the end of the fit or by something else,
        nothing is: should they be asked for, this is made again with them.
        """
        with suppress(FileNotFoundError):
            self.files.write(part, _state_name(name, number), dump(state))

    def open_all(
        self, batches: Iterable[Any]
    ) -> Iterator[tuple[int, Iterator[tuple[str, Both | None]]]]:
        """Partitions with their records, each by its name: found, or where batches have the
        packets, restored.
        """

        def rows() -> Iterator[tuple[int, str, Any]]:
            for batch in batches:
                packets = batch["kept"] if "kept" in batch.schema.names else len(batch) * [None]
                for part, name, packet in zip(batch["part"], batch["name"], packets, strict=True):
                    if name.is_valid:
                        yield part.as_py(), name.as_py(), packet

        for part, some in itertools.groupby(rows(), key=lambda row: row[0]):
            yield part, ((name, self._open(part, name, packet)) for _, name, packet in some)

    def _open(self, part: int, name: str, packet: Any) -> Both | None:
        if packet is None:
            return self.find(part, name)
        return self.restore(part, name, packet.as_buffer())


def _state_name(name: str, number: int) -> str:
    return f"{name}.{number}"


def visitor(
    states: States, call: bytes, number: int | None = None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a task does with records: packets of what is `Found`.

    ``call`` is a function of a record and its state, pickled with one that adds its results; where
    that is None, each partition has a packet of its own. With the ``number`` of a pass that changes
    states, the function returns the next one as well.
    """

    def visit(batches: Iterable[Any]) -> Iterator[Any]:
        acknowledge()
        fn, add = pickle.loads(call)
        total: list[Any] = []
        lost: list[int] = []
        part = 0
        for part, records in states.open_all(batches):
            results: list[Any] = []
            for name, both in records:
                if both is None:  # then nothing counts of the partition: it is done again whole
                    lost.append(part)
                    results = []
                    break
                result = fn(*both)
                if number is not None:
                    state, result = result
                    states.advance(part, name, number, state)
                results.append(result)
            if add is None:
                yield pack(part, 0, (results, lost))
                lost = []
            else:
                total = sum_of([*total, *results], add)
        if total or lost:
            yield pack(part, 0, (total, lost))
        spare_imports()

    return visit


def add_found(add: Callable[[Any, Any], Any]) -> Callable[[Found, Found], Found]:
    """How what two tasks have found is put together."""
    return lambda a, b: (sum_of([*a[0], *b[0]], add), [*a[1], *b[1]])
