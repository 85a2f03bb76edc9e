"""Rows that come as Arrow batches, in order, and can be read again: files and lazy tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from unnaive.common.threads import in_order
from unnaive.table.blocks import BlockReader, no_rows
from unnaive.table.passes import ANSWERING, CODING, COUNTING, PassSource
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import Block, join_answers
from unnaive.table.storage import Storage

T = TypeVar("T")

BLOCK_BYTES = 1 << 26  # of a block, counting eight for every cell
MOST_ROWS = 1 << 19
LEAST_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one file, or of something that has no files: a table and where it is from."""

    table: Any
    n_rows: int
    name: str | None = None
    first: int = 0
    share: float | None = None
    """How much of everything is read with this piece, where the number of rows is not known."""

    def __str__(self) -> str:
        rows = f"rows {self.first + 1:,} to {self.first + self.n_rows:,}"
        return rows if self.name is None else f"{rows} of {self.name!r}"


class Batches(Protocol):
    """Something that can be read from its beginning, again and again."""

    names: list[str]
    """Names of the columns."""
    ordered: bool
    """Whether rows come in the same order each time."""
    coded: frozenset[str]
    """Columns of text that come as dictionaries only because that is quicker to read."""
    n_rows: int | None
    """How many rows there are, where that is known before reading them."""
    measured: bool
    """Whether pieces say how much of everything is read, where it is not known."""

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        """All rows, in order, about so many at a time."""
        ...


def open_scan(
    scan: Scan, categorical_features: Any, fitted: Schema | None, n_jobs: int | None
) -> FileSource:
    """Open a scan of anything but a cluster."""
    from unnaive.table import batches

    files = batches.open_batches(scan, n_jobs)
    reader = BlockReader.of(scan, files.names, categorical_features, fitted)
    return FileSource(files, replace(reader, coded=files.coded), Storage(scan.limit), n_jobs)


class FileSource(PassSource):
    """Rows in files or in a lazy table, read block by block.

    Blocks are read ahead while others are worked on in threads. Their size depends on the number of
    columns alone.
    """

    check = None

    def __init__(
        self, batches: Batches, reader: BlockReader, storage: Storage, n_jobs: int | None
    ) -> None:
        self.batches, self.reader = batches, reader
        self.storage, self.n_jobs = storage, n_jobs
        self.numbering = "rows" if batches.ordered else None
        self.n_rows, self.measured = batches.n_rows, batches.measured

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        parts = self._visit(fn, name)
        total, _ = next(parts)
        for part, pieces in parts:
            try:
                total = add(total, part)
            except ValueError as error:
                raise _placed(error, pieces) from error
        return total

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        if not self.batches.ordered and self.reader.row_id is None:
            warnings.warn(
                "these rows have no order of their own, so that random choices about them (folds, "
                "draws) may be others each time; name a column of row numbers with row_id=.",
                UserWarning,
                stacklevel=2,
            )
        return self._each(fn, name)

    def _each(self, fn: Callable[[Block], T], name: str) -> Iterator[T]:
        return (result for result, _ in self._visit(fn, name))

    def _visit(self, fn: Callable[[Block], T], name: str) -> Iterator[tuple[T, list[Piece]]]:
        """Results of a function of blocks, each with the pieces that the block was made of."""

        def visit(task: tuple[list[Piece], int]) -> tuple[list[T], list[Piece]]:
            pieces, first_row = task
            try:
                block = self.reader.read(_table(pieces), first_row)
                results = [] if block is None else [fn(block)]
            except ValueError as error:
                raise _placed(error, pieces) from error
            return results, [replace(piece, table=None) for piece in pieces]

        some = False
        with self.begin_pass(name) as progress:
            for results, pieces in in_order(visit, self._blocks(), self.n_jobs):
                some |= bool(results)
                yield from ((result, pieces) for result in results)
                progress.add(sum(piece.n_rows for piece in pieces), pieces[-1].share)
            if not some:
                raise self._no_rows()

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return join_answers(self._each(fn, ANSWERING))

    def _blocks(self) -> Iterator[tuple[list[Piece], int]]:
        """Pieces whose tables go together, enough for a block, and their first row's number."""
        columns = self.reader.columns
        n_rows = block_rows(len(columns))
        waiting: list[Piece] = []
        first_row = held = 0
        for piece in self.batches.pieces(columns, n_rows):
            other = bool(waiting) and waiting[-1].table.schema != piece.table.schema
            enough = 2 * held >= n_rows  # columns of one piece are read where they lie
            if waiting and (other or enough or held + piece.n_rows > n_rows):
                yield waiting, first_row
                first_row, held, waiting = first_row + held, 0, []
            waiting.append(piece)
            held += piece.n_rows
        if waiting:
            yield waiting, first_row

    def _no_rows(self) -> ValueError:
        pieces = self.batches.pieces(self.reader.columns[:1], 1 << 16)
        return no_rows(any(piece.n_rows for piece in pieces))


def block_rows(n_columns: int) -> int:
    """Rows of a block of so many columns."""
    return min(max(BLOCK_BYTES // (8 * n_columns), LEAST_ROWS), MOST_ROWS)


def _table(pieces: list[Piece]) -> Any:
    if len(pieces) == 1:
        return pieces[0].table
    tables = [piece.table for piece in pieces]
    if hasattr(tables[0], "vstack"):  # polars
        import polars as pl

        return pl.concat(tables)
    import pyarrow as pa

    return pa.concat_tables(tables)


def _placed(error: ValueError, pieces: list[Piece]) -> ValueError:
    """The error with the rows that it is about."""
    return type(error)(f"{error} [{_where(pieces)}]")


def _where(pieces: list[Piece]) -> str:
    first, last = pieces[0], pieces[-1]
    if first.name != last.name:
        return f"{first} to {last}"
    return str(Piece(None, last.first + last.n_rows - first.first, first.name, first.first))
