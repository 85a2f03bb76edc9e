"""Rows of files for commands: all in memory, a sample of them, or piece by piece."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.cli.console import Bar, count_rows
from unnaive.common.wording import counted, listed
from unnaive.encode.draws import draw_uniform
from unnaive.table import Schema
from unnaive.table.arrow import open_reader
from unnaive.table.columns import as_categories
from unnaive.table.scan import Scan, scan
from unnaive.table.schema import refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 1 << 16
# How text in CSV is read where the model knows what a column held; other families are inferred.
TYPES = {"text": "string", "number": "float64", "bool": "bool"}


@dataclass(frozen=True)
class CsvText:
    """How numbers and missing values are written in CSV files."""

    decimal: str | None = None
    na_values: Sequence[str] | None = None

    def scan(self, paths: list[str], target: str | None = None, **options: Any) -> Scan:
        """A scan of files whose text is so."""
        missing = tuple(self.na_values or ())
        return scan(paths, target, decimal=self.decimal, na_values=missing, **options)


PLAIN = CsvText()


@contextmanager
def paths_of(data: Sequence[str]) -> Iterator[list[str]]:
    """The paths named on the command line; standard input becomes a file for as long as needed."""
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


@dataclass
class TrainingRows:
    """Rows to learn from, after one pass over the files.

    Attributes
    ----------
    scan : Scan
        All rows, to be read again.
    table : pyarrow.Table
        All rows, or a random sample of those that memory has no room for.
    n_rows : int
    missing : dict
        Number of missing values of each column.
    """

    scan: Scan
    table: pa.Table
    n_rows: int
    missing: dict[str, int]

    @property
    def complete(self) -> bool:
        """Whether all rows are in memory."""
        return len(self.table) == self.n_rows

    @property
    def from_files(self) -> bool:
        """Return whether to learn from the files: they do not fit into memory."""
        return not self.complete

    @property
    def features(self) -> pa.Table:
        """Columns to learn from."""
        return self.table.drop_columns(self.scan.non_features)

    @property
    def labels(self) -> list[Any]:
        return list(self.table[self.scan.target].to_pylist())

    @property
    def weight(self) -> NDArray[np.float64] | None:
        if self.scan.weight is None:
            return None
        return read_weights(self.table[self.scan.weight], self.scan.weight)


def read_rows(
    paths: list[str],
    target: str,
    weight: str | None = None,
    drop: Sequence[str] | None = None,
    bar: Bar | None = None,
    text: CsvText = PLAIN,
) -> TrainingRows:
    """Read files once; of rows beyond a quarter of the machine's memory, keep a sample."""
    whole = text.scan(paths, target, weight=weight)
    rows = open_reader(whole)
    _check_columns(rows.names, [*filter(None, (target, weight)), *(drop or [])], paths)
    refuse_duplicates(rows.names)
    columns = [name for name in rows.names if name not in set(drop or [])]
    if set(columns) <= {target, weight}:
        raise ValueError("there is no column to learn from besides the target.")
    features = [name for name in columns if name not in {target, weight}]
    sample = Sample(whole.limit)
    missing = dict.fromkeys(columns, 0)
    n_rows, progress = 0, count_rows("reading", rows.n_rows, bar)
    for chunk in rows.chunks(columns, CHUNK_ROWS):
        for name in columns:
            missing[name] += _count_missing(chunk.table[name])
        sample.add(_decode_text(chunk.table, rows.coded), n_rows)
        n_rows += chunk.n_rows
        progress.add(chunk.n_rows)
    if n_rows == 0:
        raise ValueError(f"{_describe(paths)} has no rows.")
    if missing[target]:
        raise ValueError(
            f"column {target!r} has {counted(missing[target], 'row')} without a label; remove "
            "them, or give them a class of their own."
        )
    again = text.scan(paths, target, weight=weight, columns=features)
    return TrainingRows(again, sample.table, n_rows, missing)


@dataclass
class Sample:
    """A uniform random sample of rows, as large as memory allows."""

    limit: int
    share: float = 1.0
    tables: list[Any] = field(default_factory=list)
    numbers: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, table: pa.Table, first: int) -> None:
        self._keep(table, np.arange(first, first + len(table)))
        while sum(table.nbytes for table in self.tables) > self.limit and self.share > 1e-9:
            self.share /= 2
            held = list(zip(self.tables, self.numbers, strict=True))
            self.tables, self.numbers = [], []
            for old, numbers in held:
                self._keep(old, numbers)

    def _keep(self, table: pa.Table, numbers: NDArray[np.int64]) -> None:
        if self.share < 1:
            chosen = draw_uniform(0, numbers) < self.share
            table, numbers = table.filter(chosen), numbers[chosen]
        self.tables.append(table)
        self.numbers.append(numbers)

    @property
    def table(self) -> pa.Table:
        import pyarrow as pa

        return pa.concat_tables(self.tables, promote_options="permissive")


def read_pieces(
    schema: Schema,
    paths: list[str],
    others: Sequence[str] = (),
    bar: Bar | None = None,
    text: CsvText = PLAIN,
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """A model's columns, and other ones, piece by piece."""
    import pyarrow as pa

    if not schema.named:
        raise ValueError(
            "the model was fitted on a table without column names; use it from Python."
        )
    names = [str(name) for name in schema.names]
    types = {c.name: TYPES.get(as_categories(c).family) for c in schema} | {
        name: None for name in others if name not in set(names)
    }
    rows = open_reader(text.scan(paths, columns=types))
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
    schema: Schema, paths: list[str], target: str | None, limit: int, text: CsvText = PLAIN
) -> tuple[pa.Table, list[Any] | None]:
    """A model's columns in memory, a sample where there are too many rows, and their labels."""
    sample = Sample(limit)
    first = 0
    others = [] if target is None else [target]
    for X, extra in read_pieces(schema, paths, others, text=text):
        # The classes stay beside the features while rows are drawn.
        both = X if target is None else X.append_column("classes", extra[target])
        sample.add(both, first)
        first += len(X)
    table = sample.table
    if target is None:
        return table, None
    last = len(table.column_names) - 1
    labelled = table.filter(table.column(last).is_valid())
    if not len(labelled):
        raise ValueError(f"no row has a label in column {target!r}.")
    return labelled.remove_column(last), list(labelled.column(last).to_pylist())


def empty_row(schema: Schema) -> pa.Table:
    """One row in which every value is missing."""
    import pyarrow as pa

    return pa.table({str(name): pa.nulls(1) for name in schema.names})


def read_weights(column: Any, name: str) -> NDArray[np.float64]:
    """Weights of rows, none of them missing or below 0."""
    try:
        weights = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} holds no numbers, so it cannot be weights.") from None
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"column {name!r} holds weights that are missing or below 0.")
    return weights


def update_scan(
    schema: Schema, paths: list[str], target: str | None, weight: str | None, text: CsvText = PLAIN
) -> Scan:
    """Rows as a fitted model knows them, to update it with or to compare."""
    types = {str(c.name): TYPES.get(as_categories(c).family) for c in schema}
    others = list(filter(None, (target, weight)))
    names = open_reader(scan(paths)).names
    _check_columns(names, others, paths)
    _check_columns(names, list(types), paths, ", which the model needs,")
    return text.scan(paths, target, weight=weight, columns=types)


def find_target(
    schema: Schema, paths: list[str], target: str | None, required: bool = True
) -> str | None:
    """The column with the classes: the one named, or the only one new to the model."""
    names = open_reader(scan(paths)).names
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


def known_target(target: str | None, paths: list[str]) -> str | None:
    """The column with the classes that a model was trained on, if these rows have it."""
    return target if target in open_reader(scan(paths)).names else None


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
    """Text columns without the dictionary encoding that only made reading faster."""
    import pyarrow as pa

    for j, name in enumerate(table.column_names):
        if name in coded and pa.types.is_dictionary(table.schema.field(j).type):
            table = table.set_column(j, name, table[name].cast(pa.string()))
    return table


def _count_missing(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = int(column.null_count)
    if pa.types.is_floating(column.type):
        missing += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return missing
