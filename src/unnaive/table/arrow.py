"""Rows that come as Arrow batches: files, datasets, streams and lazy tables.

An `ArrowReader` yields the rows in chunks, in order, as often as asked. `ArrowSource` puts chunks
together to blocks and reads ahead while threads work on earlier blocks.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_order
from unnaive.common.wording import listed
from unnaive.table.block import Block, cut_target, keep_rows
from unnaive.table.columns import read_labels, read_numeric
from unnaive.table.records import ANSWERING, CODING, COUNTING, Storage, changed_rows
from unnaive.table.scan import Scan
from unnaive.table.schema import Column, Schema, refuse_duplicates
from unnaive.table.source import (
    PassSource,
    all_weights_zero,
    check_against,
    check_names,
    check_weight,
    join_answers,
    new_schema,
)

T = TypeVar("T")

BLOCK_BYTES = 1 << 26  # of a block, counting eight for every cell
MOST_ROWS = 1 << 19
LEAST_ROWS = 1 << 14
BUFFER_BYTES = 1 << 20  # of a column chunk of Parquet, read at a time
ENDINGS = {
    "Parquet": (".parquet", ".pq"),
    "CSV": (".csv", ".tsv", ".txt"),
    "JSON lines": (".json", ".jsonl", ".ndjson"),
    "Arrow IPC": (".arrow", ".feather", ".ipc"),
}
FIRST_BYTES = {b"PAR1": "Parquet", b"ARRO": "Arrow IPC"}  # of files with other endings
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")  # of CSV and JSON lines


@dataclass(frozen=True, slots=True)
class BlockReader:
    """Turns chunks of a table of any library into blocks; plain data that can be sent to workers.

    Attributes
    ----------
    features : tuple of str
        Columns to learn from, in order.
    target, weight, row_id : str or None
        The other columns.
    categorical_features : object
        As in the estimators.
    fitted : Schema or None
        Columns that a fitted model expects.
    all_rows : bool
        Whether rows of weight zero are read as well.
    coded : frozenset of str
        Columns of text that come as dictionaries only because that is faster to read.
    period : str or None
        A column that is read beside the features, unchanged.
    """

    features: tuple[str, ...]
    target: str | None
    weight: str | None
    row_id: str | None
    categorical_features: Any
    fitted: Schema | None
    all_rows: bool = False
    coded: frozenset[str] = frozenset()
    period: str | None = None

    @classmethod
    def of(
        cls,
        scan: Scan,
        names: Sequence[str],
        categorical_features: Any,
        fitted: Schema | None,
        coded: frozenset[str] = frozenset(),
    ) -> BlockReader:
        """Return the reader of a table with columns of these names."""
        refuse_duplicates(names)
        there = set(names)
        for parameter, name in (
            ("target", scan.target),
            ("weight", scan.weight),
            ("row_id", scan.row_id),
            ("the period", scan.period),
            *(("columns", name) for name in scan.columns or ()),
        ):
            if name is not None and name not in there:
                raise ValueError(
                    f"{parameter} names {name!r}, which is not a column of the data; its columns "
                    f"are {listed(names)}."
                )
        features = [name for name in scan.columns or names if name not in scan.non_features]
        if fitted is not None and fitted.named:
            learned = set(fitted.names)
            shared = [name for name in features if name in learned]
            check_names(fitted.names, shared)  # other columns, such as the labels, may be there
            features = fitted.names
        elif fitted is not None and len(fitted) != len(features):
            raise ValueError(
                f"X has {len(features)} features, but the model was fitted on {len(fitted)}."
            )
        if not features:
            raise ValueError("0 feature(s) while a minimum of 1 is required: no columns are left.")
        return cls(
            tuple(features),
            scan.target,
            scan.weight,
            scan.row_id,
            categorical_features,
            fitted,
            scan.all_rows,
            coded,
            scan.period,
        )

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        others = (self.target, self.weight, self.row_id, self.period)
        return [*self.features, *(name for name in others if name is not None)]

    def read(self, table: Any, first_row: int = 0) -> Block | None:
        """Return a pyarrow, pandas or polars table as a block; None without rows of any weight.

        ``first_row`` is the number of the first row in the whole data, where there is an order.
        """
        frame = nw.from_native(table, eager_only=True)
        n_rows = len(frame)
        if n_rows == 0:
            return None
        columns: Any = [frame[name] for name in self.features]
        target = None if self.target is None else read_labels(frame[self.target])
        row_ids = None if self.row_id is None else _read_row_ids(frame[self.row_id])
        period = None if self.period is None else frame[self.period]
        weight = None
        if self.weight is not None:
            weight_column = Column(self.weight, "numeric", "number")
            weight = check_weight(read_numeric(frame[self.weight], weight_column), n_rows)
            if not (weight.all() or self.all_rows):
                kept = weight > 0
                if row_ids is None:
                    row_ids = np.arange(first_row, first_row + n_rows)
                columns, weight, row_ids = keep_rows(columns, kept), weight[kept], row_ids[kept]
                target, n_rows = cut_target(target, kept), len(row_ids)
                period = None if period is None else period.filter(kept.tolist())
                if n_rows == 0:
                    return None
        return Block(
            self.schema_of(columns),
            columns,
            n_rows=n_rows,
            target=target,
            weight=weight,
            first_row=first_row,
            row_ids=row_ids,
            period=period,
        )

    def schema_of(self, columns: list[Any]) -> Schema:
        """Return what the columns of some rows hold; those without a value have no type yet."""
        if self.fitted is not None:
            return check_against(self.fitted, columns)
        names = list(self.features)
        return new_schema(columns, names, self.categorical_features, True, self.coded)


def _read_row_ids(column: nw.Series[Any]) -> NDArray[np.int64]:
    if not column.dtype.is_integer() or column.null_count():
        raise ValueError(
            f"row_id {column.name!r} must hold whole numbers, none missing; it is {column.dtype} "
            f"with {column.null_count()} missing."
        )
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64)


def no_rows(seen: int) -> ValueError:
    """Return the error for data of which no block has rows; ``seen`` is how many were read."""
    if seen:
        return all_weights_zero()
    return ValueError("0 sample(s) while a minimum of 1 is required: the data have no rows.")


# ---------------------------------------------------------------------------------------------
# The source
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """A table of consecutive rows, the file that they are from, and their place in it."""

    table: Any
    n_rows: int
    file: str | None = None
    first: int = 0

    def __str__(self) -> str:
        rows = f"rows {self.first + 1:,} to {self.first + self.n_rows:,}"
        return rows if self.file is None else f"{rows} of {self.file!r}"


@dataclass(frozen=True, slots=True)
class ArrowReader:
    """Rows that can be read from the beginning as often as needed.

    Attributes
    ----------
    names : list of str
        The columns.
    chunks : callable
        Called with names of columns and a number of rows; yields all rows in order, in chunks of
        about that size.
    ordered : bool
        Whether rows come in the same order each time.
    n_rows : int or None
        How many rows there are; None where only reading them tells.
    coded : frozenset of str
        Columns of text that come as dictionaries only because that is faster to read.
    """

    names: list[str]
    chunks: Callable[[list[str], int], Iterator[Chunk]]
    ordered: bool = True
    n_rows: int | None = None
    coded: frozenset[str] = frozenset()


def open_scan(
    scan: Scan, categorical_features: Any, fitted: Schema | None, n_jobs: int | None
) -> ArrowSource:
    """Open a scan of anything but a cluster."""
    rows = open_reader(scan)
    reader = BlockReader.of(scan, rows.names, categorical_features, fitted, rows.coded)
    return ArrowSource(rows, reader, Storage(scan.limit), n_jobs)


class ArrowSource(PassSource):
    """Rows of an `ArrowReader`, block by block.

    Blocks are read ahead while threads work on others. Their size depends on the number of columns
    alone.
    """

    def __init__(
        self, rows: ArrowReader, reader: BlockReader, storage: Storage, n_jobs: int | None
    ) -> None:
        self.rows, self.reader = rows, reader
        self.storage, self.n_jobs = storage, n_jobs
        self.n_rows = rows.n_rows

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        parts = self._visit(fn, name)
        total, _ = next(parts)
        for part, place in parts:
            try:
                total = add(total, part)
            except ValueError as error:
                raise _with_place(error, place) from error
        return total

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        if not self.rows.ordered and self.reader.row_id is None:
            warnings.warn(
                "these rows have no order of their own, so that random choices about them (folds, "
                "draws) may be others each time; name a column of row numbers with row_id=.",
                UserWarning,
                stacklevel=2,
            )
        return (result for result, _ in self._visit(fn, name))

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return join_answers(result for result, _ in self._visit(fn, ANSWERING))

    def _visit(self, fn: Callable[[Block], T], name: str) -> Iterator[tuple[T, str]]:
        """Yield the result of each block and where its rows are."""

        def visit(task: tuple[list[Chunk], int]) -> tuple[list[T], str, int]:
            chunks, first_row = task
            place = _place(chunks)
            try:
                tables = [nw.from_native(chunk.table) for chunk in chunks]
                table = nw.concat(tables).to_native() if len(tables) > 1 else chunks[0].table
                block = self.reader.read(table, first_row)
                results = [] if block is None else [fn(block)]
            except ValueError as error:
                raise _with_place(error, place) from error
            return results, place, sum(chunk.n_rows for chunk in chunks)

        empty = True
        with self.begin_pass(name) as progress:
            for results, place, n_rows in in_order(visit, self._blocks(), self.n_jobs):
                empty &= not results
                yield from ((result, place) for result in results)
                progress.add(n_rows)
            if empty:
                raise no_rows(round(progress.done))

    def _blocks(self) -> Iterator[tuple[list[Chunk], int]]:
        """Yield the chunks of each block, and the number of its first row."""
        columns = self.reader.columns
        n_rows = block_rows(len(columns))
        waiting: list[Chunk] = []
        first_row = held = 0
        for chunk in self.rows.chunks(columns, n_rows):
            other = bool(waiting) and waiting[-1].table.schema != chunk.table.schema
            enough = 2 * held >= n_rows  # a block of a single chunk needs no copy
            if waiting and (other or enough or held + chunk.n_rows > n_rows):
                yield waiting, first_row
                first_row, held, waiting = first_row + held, 0, []
            waiting.append(chunk)
            held += chunk.n_rows
        if waiting:
            yield waiting, first_row


def block_rows(n_columns: int) -> int:
    """Return the number of rows of a block with so many columns."""
    return min(max(BLOCK_BYTES // (8 * n_columns), LEAST_ROWS), MOST_ROWS)


def _with_place(error: ValueError, place: str) -> ValueError:
    return type(error)(f"{error} [{place}]")


def _place(chunks: list[Chunk]) -> str:
    first, last = chunks[0], chunks[-1]
    if first.file != last.file:
        return f"{first} to {last}"
    return str(replace(first, n_rows=last.first + last.n_rows - first.first))


# ---------------------------------------------------------------------------------------------
# Readers
# ---------------------------------------------------------------------------------------------


def open_reader(scan: Scan) -> ArrowReader:
    """Return a reader of the rows that a scan names."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("reading files needs pyarrow: pip install 'unnaive[files]'.") from None
    kind, data = scan.kind, scan.data
    if kind == "files":
        return _open_files(scan)
    if kind == "polars":
        return ArrowReader(list(data.collect_schema().names()), _polars_chunks(data))
    if kind == "arrow":

        def scanned(columns: list[str], n_rows: int) -> Iterator[Chunk]:
            return _chunks(_scan_dataset(data, columns, n_rows), columns)

        return ArrowReader(list(data.schema.names), scanned)

    def start() -> Any:
        stream = data.to_arrow_reader(1 << 17) if kind == "duckdb" else data()
        if not hasattr(stream, "__arrow_c_stream__"):
            raise TypeError(
                "the function given to scan must return a new pyarrow.RecordBatchReader each "
                f"time; it returned {type(stream).__name__}."
            )
        return pa.RecordBatchReader.from_stream(stream)

    def streamed(columns: list[str], n_rows: int) -> Iterator[Chunk]:  # noqa: ARG001
        with start() as batches:
            yield from _chunks(batches, columns)

    names = data.columns if kind == "duckdb" else start().schema.names
    return ArrowReader(list(names), streamed, ordered=kind != "duckdb")


def _polars_chunks(frame: Any) -> Callable[[list[str], int], Iterator[Chunk]]:
    def chunks(columns: list[str], n_rows: int) -> Iterator[Chunk]:
        first = 0
        parts = frame.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True)
        for part in parts:
            yield Chunk(part, len(part), None, first)
            first += len(part)

    return chunks


def _chunks(batches: Any, columns: list[str], path: str | None = None) -> Iterator[Chunk]:
    import pyarrow as pa

    first = 0
    for batch in batches:
        there = set(batch.schema.names)
        gone = [name for name in columns if name not in there]
        if gone:
            where = "" if path is None else f" of {path!r}"
            raise changed_rows(f"column {gone[0]!r}{where} is not there any more")
        yield Chunk(pa.Table.from_batches([batch]).select(columns), len(batch), path, first)
        first += len(batch)


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


class FileFormat(Protocol):
    """Files of one format, after `columns` of each; errors of pyarrow are explained elsewhere."""

    @property
    def coded(self) -> frozenset[str]:
        """Columns of text that come as dictionaries only because that is faster to read."""
        ...

    @property
    def n_rows(self) -> int | None:
        """How many rows all files have; None where only reading them tells."""
        ...

    def columns(self, path: str) -> list[str]:
        """Return the names of the columns of a file."""
        ...

    def batches(self, path: str, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows of a file as Arrow batches."""
        ...


def _open_files(scan: Scan) -> ArrowReader:
    import pyarrow as pa

    from unnaive.table.csv import CsvFiles

    paths = find_files(scan.data)
    kinds = sorted({_format_of(path) for path in paths}, reverse=True)
    if len(kinds) > 1:
        both = " and ".join(kinds)
        raise ValueError(f"{scan.data!r} holds both {both} files; read one kind.")
    formats: dict[str, Callable[[], FileFormat]] = {
        "Parquet": lambda: _ParquetFiles(scan),
        "CSV": lambda: CsvFiles(scan),
        "JSON lines": _JsonFiles,
        "Arrow IPC": lambda: _IpcFiles(scan),
    }
    files = formats[kinds[0]]()
    path = paths[0]
    try:
        names = files.columns(path)
        for path in paths[1:]:
            _check_same_columns(scan, paths[0], names, path, files.columns(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error

    def chunks(columns: list[str], n_rows: int) -> Iterator[Chunk]:
        for path in paths:
            first = 0
            try:
                for chunk in _chunks(files.batches(path, columns, n_rows), columns, path):
                    yield chunk
                    first += chunk.n_rows
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(path, error, first) from error

    return ArrowReader(names, chunks, n_rows=files.n_rows, coded=files.coded)


class _ParquetFiles:
    """Parquet files; text is read as dictionaries."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.n_rows = 0
        self._texts: list[set[str]] = []

    @property
    def coded(self) -> frozenset[str]:
        return frozenset(set.intersection(*self._texts))

    def columns(self, path: str) -> list[str]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        is_text = (pa.types.is_string, pa.types.is_large_string)
        self._texts.append({f.name for f in schema if any(test(f.type) for test in is_text)})
        self.n_rows += metadata.num_rows
        return _without_index(schema, self.scan)

    def batches(self, path: str, columns: list[str], n_rows: int) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(
            path,
            read_dictionary=sorted(self.coded),
            pre_buffer=False,  # it keeps what has been read until the file is closed
            buffer_size=BUFFER_BYTES,
            page_checksum_verification=True,  # of pages that have one
        ) as file:
            yield from file.iter_batches(n_rows, columns=columns)


class _JsonFiles:
    """Files with a JSON record on every line; each is held in memory while it is read."""

    n_rows = None
    coded: frozenset[str] = frozenset()

    def columns(self, path: str) -> list[str]:
        return list(self._read(path).column_names)

    def batches(self, path: str, columns: list[str], n_rows: int) -> Iterator[Any]:
        batches: list[Any] = self._read(path).select(columns).to_batches(n_rows)
        return iter(batches)

    def _read(self, path: str) -> Any:
        import pyarrow as pa
        from pyarrow import json

        with pa.input_stream(path, compression="detect") as stream:
            if bytes(stream.read(1 << 10)).decode("utf-8-sig", "replace").lstrip()[:1] != "{":
                raise OSError(
                    "JSON must have one record, such as {...}, on every line; pandas makes it of a "
                    "list by read_json(path).to_json(lines=True, orient='records')"
                )
        return json.read_json(path)


class _IpcFiles:
    """Arrow IPC files, also known as Feather."""

    n_rows = None
    coded: frozenset[str] = frozenset()

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    def _open(self, path: str) -> Any:
        import pyarrow.dataset as ds

        return ds.dataset(path, format="ipc")

    def columns(self, path: str) -> list[str]:
        return _without_index(self._open(path).schema, self.scan)

    def batches(self, path: str, columns: list[str], n_rows: int) -> Iterator[Any]:
        return _scan_dataset(self._open(path), columns, n_rows)


def _scan_dataset(dataset: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
    batches: Iterator[Any] = dataset.to_batches(
        columns=columns, batch_size=n_rows, batch_readahead=2, fragment_readahead=1
    )
    return batches


def find_files(data: Any) -> list[str]:
    """Return the files that a path, a glob, a folder or a list of these stands for."""
    if isinstance(data, (list, tuple)):
        return [path for item in data for path in find_files(item)]
    text = os.path.expanduser(os.fspath(data))
    if os.path.isdir(text):
        paths = sorted(
            str(path)
            for path in Path(text).rglob("*")
            if path.is_file() and not _hidden(path.relative_to(text)) and _ending(path.name)
        )
        if not paths:
            raise FileNotFoundError(f"the folder {text!r} has no {' or '.join(ENDINGS)} files.")
        # JSON beside files of another format describes them.
        return [path for path in paths if _ending(path) != "JSON lines"] or paths
    if os.path.exists(text):
        return [text]
    paths = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise FileNotFoundError(f"there is no file {text!r}, nor files of that pattern.")
    return paths


def _hidden(path: Path) -> bool:
    """Return whether engines write such files and folders beside the data."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _ending(name: str) -> str | None:
    """Return the format that the ending of a name stands for."""
    name = name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    ending = os.path.splitext(name)[1]
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), None)


def _format_of(path: str) -> str:
    """Return the format of a file by its ending; without a known one, by its first bytes."""
    kind = _ending(path)
    if kind is not None:
        return kind
    with open(path, "rb") as file:
        return FIRST_BYTES.get(file.read(4), "CSV")


def _without_index(schema: Any, scan: Scan) -> list[str]:
    """Return the columns of a file without the index of the pandas table that it was written from.

    Row numbers of a shuffled or filtered table are no features. A scan may name them.
    """
    written = schema.pandas_metadata or {}
    index = {name for name in written.get("index_columns", ()) if isinstance(name, str)}
    named = {*(scan.columns or ()), *scan.non_features}
    return [name for name in schema.names if name not in index or name in named]


def _check_same_columns(
    scan: Scan, first: str, expected: list[str], path: str, names: list[str]
) -> None:
    """Check that files have the same columns, in any order; at least those that are read."""
    read = None if scan.columns is None else {*scan.columns, *scan.non_features}
    missing, extra = (
        [name for name in a if name not in b and (read is None or name in read)]
        for a, b in ((expected, set(names)), (names, set(expected)))
    )
    if not missing and not extra:
        return
    lacking, other, name = (path, first, missing[0]) if missing else (first, path, extra[0])
    raise ValueError(
        f"column {name!r} is missing from the file {lacking!r}, but {other!r} has it; add it, or "
        "name the columns to read with columns=."
    )


def _unreadable(path: str, error: Exception, first: int = 0) -> Exception:
    """Return the error with its file, and how many rows were read before."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"the file {path!r} has vanished since it was found.")
    rows = f"from row {first + 1:,} on, " if first else ""
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error):
        return OSError(
            f"{rows}the file {path!r} is not written in UTF-8; save it again as UTF-8 "
            "(spreadsheets call it CSV UTF-8), or convert it, as in iconv -f latin1 -t utf-8."
        )
    if "straddl" in str(error):
        return OSError(
            f"{rows}the file {path!r} has a row of several megabytes, too long to read; perhaps a "
            "quotation mark has no second one. Correct the row, or leave the file out."
        )
    return OSError(
        f"{rows}the file {path!r} cannot be read: {str(error).rstrip('.')}. It may be damaged or "
        "still being written; replace it, or leave it out."
    )
