"""Where rows are: the protocol that models read through.

A model never asks what kind of source it has. It hands over a function of one `Block` of rows and
says how two results add up (`reduce`), takes the results in the order of the rows (`each`), or asks
for one answer per row (`map`). Models that visit rows again and again have them coded once, by
`keep_records` of `table/records.py`, or by `keep` or `join` of `table/storage.py`, which bring them
together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import read_only
from unnaive.table.codes import Native, RawCodes, order_of, read_categorical
from unnaive.table.columns import read_numeric
from unnaive.table.passes import CODING, COUNTING, Hook, WorkerHook
from unnaive.table.schema import Schema
from unnaive.table.storage import Storage, join_records

if TYPE_CHECKING:
    from unnaive.table.records import Records

R = TypeVar("R")
T = TypeVar("T")


class Block:
    """Consecutive rows of a table, with their labels and weights.

    Parameters
    ----------
    schema : Schema
    columns : sequence of arrays or narwhals Series, or a 2-D array
    target : array, RawCodes or None
        Labels; as codes where they are not whole numbers or come from text.
    weight : array or None
    first_row, row_ids : int or array
        Numbers of the rows in the whole table: from the first on, or each.
    period : array, narwhals Series or None
        A column beside the others that says when each row was, as it came.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[Native] | NDArray[Any],
        *,
        n_rows: int,
        target: NDArray[Any] | RawCodes | None = None,
        weight: NDArray[np.float64] | None = None,
        first_row: int = 0,
        row_ids: NDArray[np.int64] | None = None,
        period: Native | None = None,
    ) -> None:
        self.schema = schema
        self.matrix = columns if isinstance(columns, np.ndarray) else None
        self._columns = columns
        self.n_rows = n_rows
        self.target = target
        self.weight = weight
        self.first_row = first_row
        self._row_ids = row_ids
        self.period = period

    @property
    def columns(self) -> Sequence[Native] | NDArray[Any]:
        """The columns as they came."""
        return self._columns

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Number of each row in the whole table, for choices that must not depend on splitting."""
        if self._row_ids is not None:
            return self._row_ids
        return np.arange(self.first_row, self.first_row + self.n_rows)

    @property
    def last_row(self) -> int:
        """The largest number of a row."""
        if self._row_ids is not None:
            return int(self._row_ids.max())
        return self.first_row + self.n_rows - 1

    @property
    def is_consecutive(self) -> bool:
        """Whether rows are numbered one after the other."""
        return self._row_ids is None

    def numeric(self, j: int) -> NDArray[np.float64]:
        """Values of one numeric column: contiguous float64, NaN where missing."""
        return read_numeric(column_of(self._columns, j), self.schema[j])

    def numeric_matrix(self, js: Sequence[int]) -> NDArray[np.float64]:
        """Several numeric columns as rows x columns, without a copy where rows are stored so."""
        m = self.matrix
        if m is not None and m.dtype == np.float64 and len(js) == js[-1] - js[0] + 1:
            return read_only(m[:, js[0] : js[-1] + 1])
        return read_only(np.stack([self.numeric(j) for j in js]).T)

    def categorical(self, j: int) -> RawCodes:
        """Codes and values of one categorical column."""
        codes, values = read_categorical(column_of(self._columns, j), self.schema[j])
        return RawCodes(read_only(codes), values)

    def order(self, j: int) -> tuple[Any, ...]:
        """The values of one categorical column in the order that its type declares; else none."""
        return order_of(column_of(self._columns, j))

    def native(self) -> Any:
        """The rows as a table of the kind they came as, or an array."""
        return self.with_columns({}) if self.matrix is None else self.matrix

    def with_columns(self, new: Mapping[int, NDArray[Any]]) -> Any:
        """The block with some columns replaced: a table of its own kind, or an array of objects."""
        columns = [column_of(self._columns, j) for j in range(len(self.schema))]
        first = columns[0]
        if not isinstance(first, nw.Series):
            out = np.empty((self.n_rows, len(columns)), dtype=object)
            for j, column in enumerate(columns):
                out[:, j] = new.get(j, column)
            return out
        made = {
            j: nw.new_series(columns[j].name, values.tolist(), backend=first.implementation)
            for j, values in new.items()
        }
        if first.implementation.is_pandas_like():
            for series in made.values():  # the index itself, with its name and levels
                series.to_native().index = first.to_native().index
        each = [made.get(j, column) for j, column in enumerate(columns)]
        return each[0].to_frame().with_columns(*each[1:]).to_native()

    def slice(self, start: int, stop: int) -> Block:
        """A stretch of the rows, without copying them."""
        rows = slice(start, min(stop, self.n_rows))
        return Block(
            self.schema,
            self._columns[rows] if self.matrix is not None else [c[rows] for c in self._columns],
            n_rows=rows.stop - start,
            target=cut_target(self.target, rows),
            weight=None if self.weight is None else self.weight[rows],
            first_row=self.first_row + start,
            row_ids=None if self._row_ids is None else self._row_ids[rows],
        )

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Some of the rows, in any order, as often as asked."""
        return Block(
            self.schema,
            [c[rows] for c in self._columns] if self.matrix is None else self.matrix[rows],
            n_rows=len(rows),
            target=cut_target(self.target, rows),
            weight=None if self.weight is None else self.weight[rows],
            row_ids=self.row_ids[rows],
        )


def cut_target(target: NDArray[Any] | RawCodes | None, rows: Any) -> NDArray[Any] | RawCodes | None:
    """Labels of some rows."""
    if isinstance(target, RawCodes):
        return RawCodes(target.codes[rows], target.values)
    return None if target is None else target[rows]


def keep_rows(
    columns: Sequence[Native] | NDArray[Any], rows: NDArray[np.bool_]
) -> Sequence[Native] | NDArray[Any]:
    """Columns without the rows that are not marked."""
    if isinstance(columns, np.ndarray):
        return columns[rows]
    return [c.filter(rows.tolist()) if isinstance(c, nw.Series) else c[rows] for c in columns]


def column_of(columns: Sequence[Native] | NDArray[Any], j: int) -> Native:
    """Column j of a list of columns or of a matrix."""
    return columns[:, j] if isinstance(columns, np.ndarray) else columns[j]


def join_answers(answers: Iterable[Any]) -> Any:
    """Answers for blocks as one, in memory: arrays, lists, records, tables, or what can be joined
    by itself.
    """
    parts = list(answers)
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], list):
        return [answer for part in parts for answer in part]
    if hasattr(parts[0], "joined"):
        return parts[0].joined(parts[1:])
    if dataclasses.is_dataclass(parts[0]):
        return join_records(parts)
    return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native()


class Source(Protocol):
    """Rows that can be visited, as often as needed."""

    storage: Storage
    """Where arrays with an entry for each row go."""

    may_change: bool
    """Whether rows are read anew in every pass, so that they may be others."""

    def report_passes(self, hook: Hook | None, workers: WorkerHook | None = None) -> None:
        """What passes that read rows from elsewhere call on their way; see `Progress`."""
        ...

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        """Apply ``fn`` to every block and sum the results with ``add``, in any order.

        ``name`` says what the pass does, in logs and reports of progress.
        """
        ...

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        """``fn`` of every block that has rows, in the order of the rows."""
        ...

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T] | None:
        """Records of blocks that stay with the rows, and a sum; None where rows come here.

        A block may have no record: None.
        See `keep_records` of `table/records.py`.
        """
        ...

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:
        """One answer per row, in the form that suits the source.

        ``names`` are those of the answer's columns, where the answer is a table.
        """
        ...


class MemorySource:
    """A table in memory: one block."""

    may_change = False

    def __init__(self, block: Block) -> None:
        self.block, self.schema = block, block.schema
        self.storage = Storage()

    def report_passes(self, hook: Hook | None, workers: WorkerHook | None = None) -> None:
        """Rows in memory need no reading: there is nothing to report."""

    def reduce(
        self,
        fn: Callable[[Block], T],
        add: Callable[[T, T], T],  # noqa: ARG002
        name: str = COUNTING,  # noqa: ARG002
    ) -> T:
        return fn(self.block)  # one block: nothing to add

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:  # noqa: ARG002
        yield fn(self.block)

    def keep_away(self, fn: Any, add: Any, name: str = CODING) -> None:
        """Rows in memory are here."""

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return fn(self.block)
