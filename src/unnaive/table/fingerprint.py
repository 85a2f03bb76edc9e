"""Whether rows are the same in every pass: checksums of the columns that are read.

A model that reads rows again looks their values up among those of the first pass, so a source must
give the same rows each time. Rows that stay elsewhere need not: a file is rewritten, a query draws
random numbers. Every column that a pass reads is therefore hashed on its way, and the sums are
compared with those of the first pass.

A checksum is a sum over rows of a hash of the row's number and its value, modulo 2**64. It adds up
over blocks in any order, so that it does not depend on chunks, partitions and threads. Where rows
have no numbers (Spark and DuckDB without ``row_id``) the row's label takes their place: rows may
come in another order, but every label must come with the same values, each as often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.table.codes import RawCodes, is_missing
from unnaive.table.passes import ANSWERING, CODING, COUNTING, Hook, WorkerHook
from unnaive.table.scan import Scan
from unnaive.table.schema import FAMILY_WORDS
from unnaive.table.source import Block, join_answers

if TYPE_CHECKING:
    from unnaive.table.records import Records

R = TypeVar("R")
T = TypeVar("T")

ROW_ID = "row_id"
PARTITIONS = "partitions"  # number rows within one process only: they may be cut otherwise
FIRST_PASS = "in the first pass"
_SIGN = np.uint64(1 << 63)
_INFINITE = np.uint64(0x7FF0000000000000)
# Odd numbers without pattern: the golden ratio's digits, and two that mix bits well.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class ChangedRowsError(RuntimeError):
    """Rows are not what they were when they were read before."""


def changed_rows(why: str) -> ChangedRowsError:
    """The error, with what to do."""
    return ChangedRowsError(
        f"{why}: a source must give the same rows in every pass. Write them to a Parquet file that "
        "nothing changes, and fit from that."
    )


@dataclass(frozen=True, slots=True)
class Checksums:
    """How many rows there are, and the checksum of each column that was read, by name."""

    n_rows: int
    columns: dict[str, int]

    def __add__(self, other: Checksums) -> Checksums:
        names = self.columns | other.columns  # a block without a value of a column adds nothing
        sums = [self.columns.get(n, 0) + other.columns.get(n, 0) for n in names]
        whole = self.n_rows + other.n_rows
        return Checksums(whole, dict(zip(names, (s % 2**64 for s in sums), strict=True)))


class RowCheck:
    """What the first pass of a fit has read, for all later ones to be compared with.

    Attributes
    ----------
    source : str
        What to call the rows' source.
    first : dict of str to Checksums
        Of the first pass, and of columns that it did not read, of the first pass that did; by what
        the rows were told apart by.
    """

    def __init__(self, scan: Scan) -> None:
        self.source = _words(scan)
        self.first: dict[str, Checksums] = {}

    def compare(self, numbering: str, sums: Checksums) -> None:
        """Refuse rows that differ from those of the first pass."""
        # Where rows are told apart in another way than before, only their number is known.
        rows = Checksums(next(iter(self.first.values()), sums).n_rows, {})
        before = self.first.setdefault(numbering, sums)  # of several threads, one comes first
        why = self.difference(rows, sums) or self.difference(before, sums)
        if why is not None:
            raise changed_rows(why)
        self.first[numbering] = Checksums(before.n_rows, sums.columns | before.columns)

    def difference(self, before: Checksums, now: Checksums) -> str | None:
        """In which way rows differ, in words; None where they are the same."""
        if before.n_rows != now.n_rows:
            return f"{self.source} had {before.n_rows:,} rows {FIRST_PASS}, and has {now.n_rows:,}"
        for name in before.columns:
            if before.columns[name] != now.columns.get(name, before.columns[name]):
                return (
                    f"column {name!r} of {self.source} has other values, or the same values in "
                    f"other rows, than {FIRST_PASS}"
                )
        return None


class CheckedSource:
    """A source whose passes are compared with the first one.

    Parameters
    ----------
    source : source of rows that are not in memory
    check : RowCheck
    """

    def __init__(self, source: Any, check: RowCheck) -> None:
        self.source, self.check, self.storage = source, check, source.storage
        reader = source.reader
        self.numbering = ROW_ID if reader.row_id is not None else source.numbering
        self._kind = self.numbering or f"labels {reader.target}"

    def _summed(self, fn: Callable[[Block], T]) -> Callable[[Block], tuple[T, Checksums]]:
        reader, numbering, source = self.source.reader, self.numbering, self.check.source

        def visit(block: Block) -> tuple[T, Checksums]:
            summed = SummedBlock(block, reader, numbering, source)
            return fn(summed), summed.checksums()

        return visit

    def report_passes(self, hook: Hook | None, workers: WorkerHook | None = None) -> None:
        self.source.report_passes(hook, workers)

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        def both(a: tuple[T, Checksums], b: tuple[T, Checksums]) -> tuple[T, Checksums]:
            return add(a[0], b[0]), a[1] + b[1]

        total: T
        total, sums = self.source.reduce(self._summed(fn), both, name)
        self.check.compare(self._kind, sums)
        return total

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        whole = Checksums(0, {})
        for result, sums in self.source.each(self._summed(fn), name):
            whole = whole + sums
            yield result
        self.check.compare(self._kind, whole)

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T] | None:
        visit = self._summed(fn)

        def share(block: Block) -> tuple[R, tuple[T, Checksums]]:
            (record, result), sums = visit(block)
            return record, (result, sums)

        def both(a: tuple[T, Checksums], b: tuple[T, Checksums]) -> tuple[T, Checksums]:
            return add(a[0], b[0]), a[1] + b[1]

        away = self.source.keep_away(share, both, name)
        if away is None:
            return None
        records, (total, sums) = away
        try:
            self.check.compare(self._kind, sums)
        except BaseException:
            records.release()
            raise
        return records, total

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return join_answers(self.each(fn, ANSWERING))


class SummedBlock(Block):
    """A block that sums the hashes of each column when it is first read.

    Parameters
    ----------
    whole : Block
    reader : BlockReader
        Knows the names of the columns.
    numbering : str or None
        What numbers the rows, the same in every pass: None where nothing does.
    source : str
        What to call the rows' source.
    """

    def __init__(self, whole: Block, reader: Any, numbering: str | None, source: str) -> None:
        super().__init__(
            whole.schema,
            (),
            n_rows=whole.n_rows,
            target=whole.target,
            weight=whole.weight,
            first_row=whole.first_row,
            row_ids=whole._row_ids,
        )
        self._whole, self._reader, self._source = whole, reader, source
        # Keys of consecutive rows are made where they are used, from the first one.
        self._first = np.uint64(whole.first_key)
        self._keys = np.empty(0, dtype=np.uint64)
        self._n_counted = whole.n_rows
        if numbering is None:
            self._keys = np.zeros(whole.n_rows, dtype=np.uint64)
            if whole.target is not None:
                self._keys = _label_bits(whole.target)
        elif whole._row_ids is not None:
            shift = 0 if numbering == ROW_ID else whole.first_key - whole.first_row
            self._keys = (whole.row_ids + shift).view(np.uint64)
        elif whole.weight is not None and not whole.weight.all():
            self._keys = self._first + np.arange(whole.n_rows, dtype=np.uint64)
        self._keys = (self._keys + np.uint64(1)) * _STEP  # as `_key`
        if whole.weight is not None and len(self._keys):  # rows of weight zero are no rows
            self._keys[whole.weight == 0] = 0
            self._n_counted = int(np.count_nonzero(whole.weight))
        self._sums: dict[int, int] = {}
        self._passed_on = False

    def numeric(self, j: int) -> NDArray[np.float64]:
        self._expect(j, "numeric")
        values = self._whole.numeric(j)
        if j not in self._sums:
            self._sums[j] = self._sum_bits(values.view(np.uint64))
        return values

    def categorical(self, j: int) -> RawCodes:
        self._expect(j, "categorical")
        raw = self._whole.categorical(j)
        if j not in self._sums:
            self._sums[j] = self._sum_codes(raw)
        return raw

    def order(self, j: int) -> tuple[Any, ...]:
        return self._whole.order(j)

    def _sum_codes(self, raw: RawCodes) -> int:
        hashes = np.append(hash_values(raw.values), np.uint64(0))
        return int(_sum_codes(raw.codes, hashes, self._first, self._keys))

    def _sum_bits(self, bits: NDArray[np.uint64], floats: bool = True) -> int:
        return int(_sum_values(bits, self._first, self._keys, floats))

    def _expect(self, j: int, kind: str) -> None:
        column = self.schema[j]
        if column.kind != kind and column.family != "empty":
            raise changed_rows(
                f"{column} of {self._source} holds {FAMILY_WORDS[column.family]} now, and was "
                f"{kind} {FIRST_PASS}"
            )

    # What is read of parts of the rows is not seen here: all columns are then read once more.

    @property
    def columns(self) -> Any:
        self._passed_on = True
        return self._whole.columns

    def slice(self, start: int, stop: int) -> Block:
        self._passed_on = True
        return self._whole.slice(start, stop)

    def take(self, rows: NDArray[np.intp]) -> Block:
        self._passed_on = True
        return self._whole.take(rows)

    def checksums(self) -> Checksums:
        """Of the columns that were read, the labels and the weights."""
        for j, column in enumerate(self.schema if self._passed_on else ()):
            if column.kind == "empty":
                self._sums.setdefault(j, 0)
            elif j not in self._sums:
                self.numeric(j) if column.kind == "numeric" else self.categorical(j)
        sums = {self._reader.features[j]: checksum for j, checksum in sorted(self._sums.items())}
        if isinstance(self.target, RawCodes):
            sums[self._reader.target] = self._sum_codes(self.target)
        elif self.target is not None:
            sums[self._reader.target] = self._sum_bits(_label_bits(self.target), floats=False)
        if self.weight is not None:
            sums[self._reader.weight] = self._sum_bits(self.weight.view(np.uint64))
        return Checksums(self._n_counted, sums)


def _words(scan: Scan) -> str:
    """What to call the source of a scan."""
    data, kind = scan.data, scan.kind
    if kind == "files":
        first = data[0] if isinstance(data, (list, tuple)) else data
        return f"{str(first)!r}" + ("" if first is data else " and other files")
    if kind == "factory":
        return f"the function {getattr(data, '__name__', type(data).__name__)!r}"
    library = {"arrow": "Arrow", "duckdb": "DuckDB", "polars": "polars", "dask": "Dask"}
    return f"the {library.get(kind, 'Spark')} table"


# ---------------------------------------------------------------------------------------------
# Hashes
# ---------------------------------------------------------------------------------------------


def hash_values(values: Any) -> NDArray[np.uint64]:
    """A number for each category or label, the same in every process; 0 for missing ones."""
    items = values.tolist() if isinstance(values, np.ndarray) else values
    # Text that looks like a number is not that number.
    texts = [
        (v if isinstance(v, str) else f"\0{v}").encode("utf-8", "surrogatepass") for v in items
    ]
    ends = np.cumsum([len(text) for text in texts], dtype=np.intp)
    hashes = np.empty(len(texts), dtype=np.uint64)
    _hash_texts(np.frombuffer(b"".join(texts), dtype=np.uint8), ends, hashes)
    hashes[[k for k, v in enumerate(items) if not isinstance(v, str) and is_missing(v)]] = 0
    return hashes


def _label_bits(target: NDArray[Any] | RawCodes) -> NDArray[np.uint64]:
    if isinstance(target, RawCodes):
        hashes = np.concatenate((np.zeros(1, np.uint64), hash_values(target.values)))
        return hashes[target.slots]
    return target.astype(np.int64).view(np.uint64)


@kernel
def _mix(bits: np.uint64) -> np.uint64:
    """Bits that all depend on all others."""
    bits = (bits ^ (bits >> np.uint64(32))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(29))) * _SECOND
    return bits ^ (bits >> np.uint64(32))


@kernel
def _key(number: np.uint64) -> np.uint64:
    """A row's number, far from those of its neighbours."""
    return (number + np.uint64(1)) * _STEP


@kernel
def _sum_values(
    bits: NDArray[np.uint64], first: np.uint64, keys: NDArray[np.uint64], floats: bool
) -> np.uint64:
    """Sum of hashes of values (IN, as bits) and their rows' keys.

    keys (IN) are 0 for rows that do not count; where there are none, rows are numbered from
    ``first`` on. Missing floats add nothing.
    """
    total = np.uint64(0)
    given = len(keys) > 0
    for i in range(len(bits)):
        key = keys[i] if given else _key(first + np.uint64(i))
        mixed = _mix(bits[i] ^ key)
        gap = (floats and (bits[i] & ~_SIGN) > _INFINITE) or key == 0
        total += np.uint64(0) if gap else mixed
    return total


@kernel
def _sum_codes(
    codes: NDArray[Any],
    hashes: NDArray[np.uint64],
    first: np.uint64,
    keys: NDArray[np.uint64],
) -> np.uint64:
    """The same of categories, by their codes (IN), of which the last hash, 0, means missing."""
    total = np.uint64(0)
    last = len(hashes) - 1
    given = len(keys) > 0
    for i in range(len(codes)):
        key = keys[i] if given else _key(first + np.uint64(i))
        code = np.int64(codes[i])
        bits = hashes[code if code < last else last]
        mixed = _mix(bits ^ key)
        total += np.uint64(0) if bits == 0 or key == 0 else mixed
    return total


@kernel
def _hash_texts(
    letters: NDArray[np.uint8], ends: NDArray[np.intp], hashes: NDArray[np.uint64]
) -> None:
    """A hash of each text (OUT), from all their bytes (IN, end to end)."""
    start = 0
    for k in range(len(ends)):
        hashed = np.uint64(ends[k] - start) * _STEP
        for i in range(start, ends[k]):
            hashed = (hashed ^ np.uint64(letters[i])) * _FIRST
            hashed ^= hashed >> np.uint64(32)
        hashes[k] = max(_mix(hashed), np.uint64(1))
        start = ends[k]
