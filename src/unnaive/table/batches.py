"""Everything that `table/files.py` can read: Parquet, CSV, and lazy tables of other libraries."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from unnaive.table.files import Batches, Piece
from unnaive.table.fingerprint import changed_rows
from unnaive.table.scan import Scan


class FileFormat(NamedTuple):
    """A kind of files: the endings of their names, and where the class is that reads them.

    The class is called with paths, a `Scan` and the number of threads (-1 for all cores).
    """

    endings: tuple[str, ...]
    reader: str


FORMATS = {
    "Parquet": FileFormat((".parquet", ".pq"), "unnaive.table.batches:ParquetBatches"),
    "CSV": FileFormat((".csv", ".tsv", ".txt"), "unnaive.table.csv:CsvBatches"),
    "JSON": FileFormat((".json", ".jsonl", ".ndjson"), "unnaive.table.json:JsonBatches"),
    "Arrow IPC": FileFormat((".arrow", ".feather", ".ipc"), "unnaive.table.ipc:IpcBatches"),
}
FIRST_BYTES = {b"PAR1": "Parquet", b"ARRO": "Arrow IPC"}  # of files whose names do not tell
BUFFER = 1 << 20  # bytes of a column's chunk that are read at a time
PACKED = (".gz", ".bz2", ".zst", ".lz4")  # CSV only: Parquet packs its own columns


def open_batches(scan: Scan, n_jobs: int | None = None) -> Batches:
    """The rows that a scan names; text is taken apart in so many threads, all cores for None."""
    _require_pyarrow()
    kind, data = scan.kind, scan.data
    if kind == "files":
        return _open_paths(scan, n_jobs)
    if kind == "polars":
        return LazyBatches(data)
    if kind == "duckdb":
        return StreamBatches(lambda: data.to_arrow_reader(1 << 17), data.columns, ordered=False)
    if kind == "arrow":
        return DatasetBatches(data)
    return StreamBatches(data)


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError("reading files needs pyarrow: pip install 'unnaive[files]'.") from None


def _open_paths(scan: Scan, n_jobs: int | None) -> Batches:
    paths = find_files(scan.data)
    kinds = sorted({_format(path) for path in paths}, reverse=True)
    if len(kinds) > 1:
        both = " and ".join(kinds)
        raise ValueError(f"{scan.data!r} holds both {both} files; read one kind.")
    module, _, name = FORMATS[kinds[0]].reader.partition(":")
    batches: Batches = getattr(import_module(module), name)(
        paths, scan, -1 if n_jobs is None else n_jobs
    )
    return batches


def find_files(data: Any) -> list[str]:
    """The files that a path, a glob, a folder or a list of these stands for."""
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
            raise FileNotFoundError(f"the folder {text!r} has no {' or '.join(FORMATS)} files.")
        # JSON beside files of another kind describes them.
        return [path for path in paths if _ending(path) != "JSON"] or paths
    if os.path.exists(text):
        return [text]
    paths = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise FileNotFoundError(f"there is no file {text!r}, nor files of that pattern.")
    return paths


def _hidden(path: Path) -> bool:
    """Files and folders that engines write beside the data."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _ending(name: str) -> str | None:
    """The kind of file that a name ends like."""
    name = name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    ending = os.path.splitext(name)[1]
    return next((kind for kind, reader in FORMATS.items() if ending in reader.endings), None)


def _format(path: str) -> str:
    """What kind of file it is, by its ending; without a known one, by its first bytes."""
    kind = _ending(path)
    if kind is not None:
        return kind
    with open(path, "rb") as file:
        return FIRST_BYTES.get(file.read(4), "CSV")


class ParquetBatches:
    """Parquet files, one after the other."""

    ordered = True
    measured = True

    def __init__(self, paths: list[str], scan: Scan, n_jobs: int) -> None:  # noqa: ARG002
        self.paths = paths
        self.n_rows: int | None = None
        schemas = [self._schema(path) for path in paths]
        columns = [own_columns(schema, scan) for schema in schemas]
        self.names = columns[0]
        texts = [{field.name for field in schema if _is_text(field.type)} for schema in schemas]
        self.coded = frozenset(set.intersection(*texts))
        for path, names in zip(paths, columns, strict=True):
            refuse_other_columns(scan, paths[0], self.names, path, names)

    def _schema(self, path: str) -> Any:
        file = self._open(path)
        self.n_rows = (self.n_rows or 0) + file.metadata.num_rows
        return file.schema_arrow

    def _open(self, path: str) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        coded = sorted(getattr(self, "coded", ()))
        try:
            return pq.ParquetFile(
                path,
                read_dictionary=coded,
                pre_buffer=False,  # it keeps what has been read until the file is closed
                buffer_size=BUFFER,
                page_checksum_verification=True,  # of pages that have one
            )
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from error

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        import pyarrow as pa

        for path in self.paths:
            first = 0
            with self._open(path) as file:
                batches = file.iter_batches(n_rows, columns=columns)
                while True:
                    try:
                        batch = next(batches, None)
                    except (pa.ArrowException, OSError) as error:
                        until = min(first + n_rows, file.metadata.num_rows)
                        raise unreadable(path, error, first, until) from error
                    if batch is None:
                        break
                    yield _piece(batch, columns, first, path)
                    first += len(batch)


class DatasetBatches:
    """A dataset of pyarrow."""

    ordered = True
    coded: frozenset[str] = frozenset()
    n_rows: int | None = None  # counting may mean reading, as in the other lazy tables
    measured = False

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.names = list(dataset.schema.names)

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        first = 0
        for batch in self.dataset.to_batches(
            columns=columns, batch_size=n_rows, batch_readahead=2, fragment_readahead=1
        ):
            yield _piece(batch, columns, first)
            first += len(batch)


class StreamBatches:
    """Streams that a function starts anew each time."""

    coded: frozenset[str] = frozenset()
    n_rows: int | None = None
    measured = False

    def __init__(
        self, start: Callable[[], Any], names: list[str] | None = None, *, ordered: bool = True
    ) -> None:
        self.start, self.ordered = start, ordered
        self.names = list(self._reader().schema.names) if names is None else list(names)

    def _reader(self) -> Any:
        import pyarrow as pa

        stream = self.start()
        if isinstance(stream, pa.RecordBatchReader):
            return stream
        if not hasattr(stream, "__arrow_c_stream__"):
            raise TypeError(
                "the function given to scan must return a new pyarrow.RecordBatchReader each "
                f"time; it returned {type(stream).__name__}."
            )
        return pa.RecordBatchReader.from_stream(stream)

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:  # noqa: ARG002
        first = 0
        with self._reader() as reader:
            for batch in reader:
                yield _piece(batch, columns, first)
                first += len(batch)


class LazyBatches:
    """A lazy table of polars."""

    ordered = True
    coded: frozenset[str] = frozenset()
    n_rows: int | None = None
    measured = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = list(frame.collect_schema().names())

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        first = 0
        batches = self.frame.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True)
        for part in batches:
            yield Piece(part, len(part), None, first)
            first += len(part)


def _piece(batch: Any, columns: list[str], first: int, path: str | None = None) -> Piece:
    import pyarrow as pa

    there = set(batch.schema.names)
    gone = [name for name in columns if name not in there]
    if gone:
        where = "" if path is None else f" of {path!r}"
        raise changed_rows(f"column {gone[0]!r}{where} is not there any more")
    return Piece(pa.Table.from_batches([batch]).select(columns), len(batch), path, first)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def own_columns(schema: Any, scan: Scan) -> list[str]:
    """The columns of a file without the index of the pandas table that it was written from.

    Row numbers of a shuffled or filtered table are no features. A scan may name them.
    """
    written = schema.pandas_metadata or {}
    index = {name for name in written.get("index_columns", ()) if isinstance(name, str)}
    named = {*(scan.columns or ()), *scan.non_features}
    return [name for name in schema.names if name not in index or name in named]


def refuse_other_columns(
    scan: Scan, first: str, expected: list[str], path: str, names: list[str]
) -> None:
    """All files must have the same columns, in any order; at least those that are read."""
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


def unreadable(path: str, error: Exception, first: int = 0, until: int | None = 0) -> Exception:
    """The error with its file, and the rows where reading stopped; None is an unknown end."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"the file {path!r} has vanished since it was found.")
    rows = ""
    if until is None:
        rows = f"from row {first + 1:,} on, "
    elif until:
        rows = f"rows {first + 1:,} to {until:,} of "
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
