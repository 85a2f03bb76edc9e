"""Files of the command: rows to learn from or to predict, models, and what is written."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unnaive.choose.rows import MAX_ROWS
from unnaive.cli.console import Bar, SafeTerminal, count_rows
from unnaive.common.atomic import replacing, takes_bytes
from unnaive.common.wording import counted, listed
from unnaive.encode.hashing import draw_uniform
from unnaive.estimator.base import About
from unnaive.store import load, save
from unnaive.table import Schema
from unnaive.table.arrow import open_reader
from unnaive.table.columns import as_categories
from unnaive.table.scan import Scan, scan
from unnaive.table.schema import refuse_duplicates

CHUNK_ROWS = 1 << 16
ROW = "\0row"  # a column with the number of each row
# How text in CSV is read where the model knows what a column held; other families are inferred.
TYPES = {"text": "string", "number": "float64", "bool": "bool"}
ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class CsvOptions:
    """How numbers and missing values are written in CSV files."""

    decimal: str | None = None
    na_values: Sequence[str] | None = None

    def scan(self, paths: list[str], target: str | None = None, **options: Any) -> Scan:
        """Return a scan of files."""
        missing = tuple(self.na_values or ())
        return scan(paths, target, decimal=self.decimal, na_values=missing, **options)


@contextmanager
def input_paths(data: Sequence[str]) -> Iterator[list[str]]:
    """Give the paths on the command line; standard input becomes a temporary file."""
    if "-" not in data:
        yield list(data)
        return
    if len(data) > 1:
        raise ValueError("- (standard input) cannot be read together with files.")
    with tempfile.TemporaryDirectory(prefix="unnaive-") as folder:
        place = os.path.join(folder, "standard input.csv")
        with open(place, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [place]


# Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingRows:
    """Rows to learn from, and what one pass over them has counted."""

    scan: Scan
    n_rows: int
    missing: dict[str, int]
    classes: Counter[Any]

    @property
    def max_rows(self) -> int:
        """The most rows that are compared: those that fit into the scan's limit of memory."""
        return max(2, min(MAX_ROWS, self.scan.limit // (16 * len(self.missing))))


def read_rows(
    paths: list[str],
    target: str,
    weight: str | None,
    drop: Sequence[str] | None,
    bar: Bar,
    csv: CsvOptions,
) -> TrainingRows:
    """Read files once, to check and to describe their rows."""
    every = csv.scan(paths, target, weight=weight)
    reader = open_reader(every)
    _check_columns(reader.names, [*filter(None, (target, weight)), *(drop or [])], paths)
    refuse_duplicates(reader.names)
    columns = [name for name in reader.names if name not in set(drop or [])]
    features = [name for name in columns if name not in {target, weight}]
    if not features:
        raise ValueError("there is no column to learn from besides the target.")
    missing = dict.fromkeys(columns, 0)
    classes: Counter[Any] = Counter()
    n_rows, progress = 0, count_rows("reading", reader.n_rows, bar)
    for chunk in reader.chunks(columns, CHUNK_ROWS):
        for name in columns:
            missing[name] += _count_missing(chunk.table[name])
        classes.update(chunk.table[target].to_pylist())
        if weight is not None:
            read_weights(chunk.table[weight], weight)
        n_rows += chunk.n_rows
        progress.add(chunk.n_rows)
    if n_rows == 0:
        raise ValueError(f"{_describe(paths)} has no rows.")
    if missing[target]:
        raise ValueError(
            f"column {target!r} has {counted(missing[target], 'row')} without a label; remove "
            "them, or give them a class of their own."
        )
    scan = csv.scan(paths, target, weight=weight, columns=features)
    return TrainingRows(scan, n_rows, missing, classes)


def _sample(chunks: Iterable[pa.Table], limit: int) -> pa.Table:
    """Return a random sample of rows that fills at most ``limit`` bytes."""
    tables: list[pa.Table] = []
    n_rows, share = 0, 1.0

    def draw(table: pa.Table) -> pa.Table:
        return table.filter(draw_uniform(0, table[ROW].to_numpy()) < share)

    for table in chunks:
        numbered = table.append_column(ROW, pa.array(np.arange(n_rows, n_rows + len(table))))
        tables.append(numbered if share == 1.0 else draw(numbered))
        n_rows += len(table)
        while sum(t.nbytes for t in tables) > limit and share > 1e-9:
            share /= 2
            tables = [draw(t) for t in tables]
    return pa.concat_tables(tables, promote_options="permissive").drop_columns([ROW])


def read_pieces(
    schema: Schema,
    paths: list[str],
    others: Sequence[str] = (),
    bar: Bar | None = None,
    csv: CsvOptions = CsvOptions(),
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Iterate over a model's columns, and other ones, piece by piece."""
    if not schema.named:
        raise ValueError(
            "the model was fitted on a table without column names; use it from Python."
        )
    names = [str(name) for name in schema.names]
    types = {c.name: TYPES.get(as_categories(c).family) for c in schema} | {
        name: None for name in others if name not in set(names)
    }
    rows = open_reader(csv.scan(paths, columns=types))
    _check_columns(rows.names, others, paths)
    _check_columns(rows.names, names, paths, ", which the model needs,")
    progress = count_rows("predicting", rows.n_rows, bar)
    for chunk in rows.chunks(list(dict.fromkeys([*names, *others])), CHUNK_ROWS):
        table = _decode_text(chunk.table, rows.coded)
        if len(table):
            yield table.select(names), table.select(list(others)) if others else pa.table({})
            progress.add(len(table))
    if not progress.done:
        raise ValueError(f"{_describe(paths)} has no rows.")


def read_sample(
    schema: Schema, paths: list[str], target: str | None, limit: int, csv: CsvOptions
) -> tuple[pa.Table, list[Any] | None]:
    """Return a model's columns in memory, a sample of too many rows, and their labels."""
    others = [] if target is None else [target]
    # The classes stay beside the features while rows are drawn.
    pieces = read_pieces(schema, paths, others, csv=csv)
    both = (X if target is None else X.append_column("classes", y[target]) for X, y in pieces)
    table = _sample(both, limit)
    if target is None:
        return table, None
    last = len(table.column_names) - 1
    labelled = table.filter(table.column(last).is_valid())
    if not len(labelled):
        raise ValueError(f"no row has a label in column {target!r}.")
    return labelled.remove_column(last), list(labelled.column(last).to_pylist())


def empty_row(schema: Schema) -> pa.Table:
    """Return one row in which every value is missing."""
    return pa.table({str(name): pa.nulls(1) for name in schema.names})


def read_weights(column: Any, name: str) -> NDArray[np.float64]:
    """Return the weights of rows, none of them missing or below 0."""
    try:
        weights = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} holds no numbers, so it cannot be weights.") from None
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"column {name!r} holds weights that are missing or below 0.")
    return weights


def model_scan(
    schema: Schema, paths: list[str], target: str | None, weight: str | None, csv: CsvOptions
) -> Scan:
    """Return a scan of rows with the columns of a fitted model."""
    types = {str(c.name): TYPES.get(as_categories(c).family) for c in schema}
    others = list(filter(None, (target, weight)))
    names = column_names(paths)
    _check_columns(names, others, paths)
    _check_columns(names, list(types), paths, ", which the model needs,")
    return csv.scan(paths, target, weight=weight, columns=types)


def column_names(paths: list[str]) -> list[str]:
    """Return the columns of files."""
    return open_reader(scan(paths)).names


def find_target(
    schema: Schema, paths: list[str], target: str | None, required: bool = True
) -> str | None:
    """Return the column with the classes: the one named, or the only one new to the model."""
    names = column_names(paths)
    if target is not None:
        _check_columns(names, [target], paths)
        return target
    features = {str(name) for name in schema.names}
    others = [name for name in names if name not in features]
    if len(others) == 1:
        return others[0]
    if not required:
        return None
    new = listed(others)
    raise ValueError(f"name the column with the classes by --target; new to the model: {new}.")


def _check_columns(
    names: Sequence[str], required: Sequence[str], paths: list[str], why: str = ""
) -> None:
    for name in required:
        if name not in names:
            raise ValueError(
                f"column {name!r}{why} is not in {_describe(paths)}; its columns are "
                f"{listed(names, 12)}."
            )


def _describe(paths: list[str]) -> str:
    return os.path.basename(paths[0]) if len(paths) == 1 else f"the {len(paths)} paths"


def _decode_text(table: pa.Table, coded: frozenset[str]) -> pa.Table:
    """Undo the dictionary encoding that only makes reading text faster."""
    for j, name in enumerate(table.column_names):
        if name in coded and pa.types.is_dictionary(table.schema.field(j).type):
            table = table.set_column(j, name, table[name].cast(pa.string()))
    return table


def _count_missing(column: Any) -> int:
    import pyarrow.compute as pc

    missing = int(column.null_count)
    if pa.types.is_floating(column.type):
        missing += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return missing


# Models and outputs ------------------------------------------------------------------------------


def load_model(path: Path) -> Any:
    """Return the model in a file."""
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {str(path)!r}.")
    return load(path)


def save_model(model: Any, path: Path, target: str | None = None) -> int:
    """Write a model that was trained now to a file, and return its size in bytes.

    With SOURCE_DATE_EPOCH in the environment that is the time, so that files can be made again.
    """
    check_writable(path)
    if target is not None:
        model._about = About(target)
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    save(model, path, trained=now)
    return path.stat().st_size


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written, before any work is done."""
    if takes_bytes(path):
        return
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no permission to write to the folder {str(path.parent)!r}.")


def check_out(out: str, option: str = "--out") -> None:
    """Raise if an output cannot be written, before any work is done."""
    if out == "-":
        return
    if not out.lower().endswith(ENDINGS) and not takes_bytes(out):
        raise ValueError(f"{option} {out!r} must end with {', '.join(ENDINGS)}, or be -.")
    check_writable(Path(out))


@contextmanager
def open_output(out: str) -> Iterator[Any]:
    """Give a function that writes tables, one after the other, as CSV or Parquet.

    A file appears when it is complete, and not at all after an error.
    """
    import pyarrow.csv
    import pyarrow.parquet

    with ExitStack() as stack:
        if out == "-":
            file: Any = SafeTerminal()
        else:
            file = stack.enter_context(replacing(out))
        parquet = out.lower().endswith((".parquet", ".pq"))
        options = pyarrow.csv.WriteOptions(delimiter="\t" if out.lower().endswith(".tsv") else ",")
        writers: list[Any] = []

        def write(table: pa.Table) -> None:
            if not writers:
                if parquet:
                    writer = pyarrow.parquet.ParquetWriter(
                        file, table.schema, write_page_checksum=True
                    )
                else:
                    writer = pyarrow.csv.CSVWriter(file, table.schema, write_options=options)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table.cast(writers[0].schema) if parquet else table)
            if out == "-":
                file.flush()

        yield write
