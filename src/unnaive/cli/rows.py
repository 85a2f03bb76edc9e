"""Rows of files for commands: all in memory, a sample of them, or piece by piece."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.cli.console import Bar, count_rows
from unnaive.common.wording import counted
from unnaive.encode.draws import draw_uniform
from unnaive.table import Schema
from unnaive.table.batches import open_batches
from unnaive.table.scan import Scan, scan
from unnaive.table.schema import refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

PIECE_ROWS = 1 << 16
# How text in CSV is read where the model knows what a column held; other families are inferred.
TYPES = {"text": "string", "number": "float64", "bool": "bool"}


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
class Rows:
    """What one pass over files leaves: how much there is, and rows to learn from.

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
        """Whether to learn from the files: memory has no room for them, or a checkpoint is kept."""
        return not self.complete or self.scan.checkpoint is not None

    @property
    def features(self) -> pa.Table:
        """Columns to learn from."""
        return self.table.drop_columns(self.scan.aside)

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
    checkpoint: Path | None = None,
) -> Rows:
    """Read files once. Rows beyond a quarter of the machine's memory are drawn from."""
    whole = scan(paths, target, weight=weight)
    batches = open_batches(whole)
    _refuse_unknown(batches.names, [target, *([weight] if weight else []), *(drop or [])], paths)
    refuse_duplicates(batches.names)
    columns = [name for name in batches.names if name not in set(drop or [])]
    if set(columns) <= {target, weight}:
        raise ValueError("there is no column to learn from beside the target.")
    features = [name for name in columns if name not in {target, weight}]
    sample = Sample(whole.limit)
    missing = dict.fromkeys(columns, 0)
    n_rows, progress = 0, count_rows("reading", batches.n_rows, bar)
    for piece in batches.pieces(columns, PIECE_ROWS):
        for name in columns:
            missing[name] += _missing(piece.table[name])
        sample.add(_plain(piece.table, batches.coded), n_rows)
        n_rows += piece.n_rows
        progress.add(piece.n_rows, piece.share)
    if n_rows == 0:
        raise ValueError(f"{_named(paths)} has no rows.")
    if missing[target]:
        raise ValueError(
            f"column {target!r} has {counted(missing[target], 'row')} without a class; remove such "
            "rows, or give them a class of their own."
        )
    again = scan(paths, target, weight=weight, columns=features, checkpoint=checkpoint)
    return Rows(again, sample.table, n_rows, missing)


@dataclass
class Sample:
    """Rows drawn by their number, each with the same chance, as many as memory allows."""

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


def pieces_for(
    schema: Schema, paths: list[str], others: Sequence[str] = (), bar: Bar | None = None
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """A model's columns, and the other ones that are asked for, piece by piece."""
    import pyarrow as pa

    if not schema.named:
        raise ValueError(
            "the model was fitted on a table without column names; it can be used from Python only."
        )
    names = [str(name) for name in schema.names]
    types = {c.name: TYPES.get(c.family) for c in schema} | {
        name: None for name in others if name not in set(names)
    }
    batches = open_batches(scan(paths, columns=types))
    _refuse_unknown(batches.names, [*names, *others], paths, "the model needs it; ")
    progress = count_rows("answering", batches.n_rows, bar)
    for piece in batches.pieces(list(dict.fromkeys([*names, *others])), PIECE_ROWS):
        table = _plain(piece.table, batches.coded)
        if len(table):
            yield table.select(names), table.select(list(others)) if others else pa.table({})
            progress.add(len(table), piece.share)
    if not progress.done:
        raise ValueError(f"{_named(paths)} has no rows.")


def rows_for(
    schema: Schema, paths: list[str], target: str | None, limit: int
) -> tuple[pa.Table, list[Any] | None]:
    """A model's columns in memory, a random part of very many rows, and classes where known."""
    sample = Sample(limit)
    first = 0
    others = [] if target is None else [target]
    for X, aside in pieces_for(schema, paths, others):
        # The classes stay beside the features while rows are drawn.
        both = X if target is None else X.append_column("classes", aside[target])
        sample.add(both, first)
        first += len(X)
    table = sample.table
    if target is None:
        return table, None
    place = len(table.column_names) - 1
    known = table.column(place).is_valid()
    labelled = table.filter(known)
    if not len(labelled):
        raise ValueError(f"no row has a class in column {target!r}.")
    return labelled.remove_column(place), list(labelled.column(place).to_pylist())


def nothing_known(schema: Schema) -> pa.Table:
    """One row in which everything is missing."""
    import pyarrow as pa

    return pa.table({str(name): pa.nulls(1) for name in schema.names})


def read_weights(column: Any, name: str) -> NDArray[np.float64]:
    """Weights of rows, none of them missing or below 0."""
    try:
        found = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} holds no numbers, so it cannot be weights.") from None
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"column {name!r} holds weights that are missing or below 0.")
    return found


def learning_scan(schema: Schema, paths: list[str], target: str, weight: str | None) -> Scan:
    """Rows for a model that knows its columns already."""
    types = {str(c.name): TYPES.get(c.family) for c in schema}
    others = [target, *([weight] if weight else [])]
    names = open_batches(scan(paths)).names
    _refuse_unknown(names, [*types, *others], paths, "the model needs it; ")
    return scan(paths, target, weight=weight, columns=types)


def target_among(
    schema: Schema, paths: list[str], target: str | None, needed: bool = True
) -> str | None:
    """The column with the classes: as named, or the only one that the model does not know."""
    names = open_batches(scan(paths)).names
    if target is not None:
        _refuse_unknown(names, [target], paths)
        return target
    known = {str(name) for name in schema.names}
    unknown = [name for name in names if name not in known]
    if len(unknown) == 1:
        return unknown[0]
    if not needed:
        return None
    found = ", ".join(repr(name) for name in unknown[:8]) or "none"
    raise ValueError(f"name the column with the classes: --target; those new to the model: {found}")


def _refuse_unknown(
    names: Sequence[str], wanted: Sequence[str], paths: list[str], why: str = ""
) -> None:
    for name in wanted:
        if name not in names:
            shown = ", ".join(repr(n) for n in names[:12]) + (", ..." if len(names) > 12 else "")
            raise ValueError(
                f"column {name!r} is not in {_named(paths)}; {why}its columns are {shown}."
            )


def _named(paths: list[str]) -> str:
    return os.path.basename(paths[0]) if len(paths) == 1 else f"the {len(paths)} paths"


def _plain(table: pa.Table, coded: frozenset[str]) -> pa.Table:
    """Text as text, where it was coded only to be read faster."""
    import pyarrow as pa

    for j, name in enumerate(table.column_names):
        if name in coded and pa.types.is_dictionary(table.schema.field(j).type):
            table = table.set_column(j, name, table[name].cast(pa.string()))
    return table


def _missing(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    gone = int(column.null_count)
    if pa.types.is_floating(column.type):
        gone += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return gone
