"""Some of the rows of a source, by their numbers, with labels of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.sklearn_private import safe_indexing
from unnaive.table.codes import RawCodes
from unnaive.table.passes import (
    ANSWERING,
    CODING,
    COUNTING,
    Hook,
    WorkerHook,
    changed_rows,
)
from unnaive.table.scan import Scan
from unnaive.table.schema import Schema
from unnaive.table.source import Block, Source, cut_target, join_answers, keep_rows
from unnaive.table.storage import Storage, stretches

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """Rows to take, as if they were a table of their own.

    Attributes
    ----------
    ids : array of int
        Their numbers, each once. A row's number is from now on its place in this list.
    storage : Storage
        Where more arrays of rows go, also those of models that are fitted on these rows.
    labels : array or None
        Their labels, instead of those that the source has.
    weight : array or None
        Their weights, instead of those that the source has; rows of weight zero are left out.
    keep_labels : bool
        Whether they have the labels of the source where there are no others; else they have none.
    order : array or None
        Places of the numbers in ascending order; None where they stand so.
    """

    ids: NDArray[np.int64]
    storage: Storage
    labels: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    keep_labels: bool = False
    reads_labels: ClassVar = False  # of the source, to know which rows to take
    order: NDArray[np.intp] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Whether each number is above the one before, a stretch and the next row at a time.
        parts = [slice(part.start, part.stop + 1) for part in stretches(len(self.ids))]
        ascending = all((np.diff(self.ids[part]) > 0).all() for part in parts)
        order = None if ascending else self.storage.argsort(self.ids)
        if order is not None and not all(np.diff(self.ids[order[part]]).all() for part in parts):
            raise ValueError(
                "rows must have different numbers to be told apart; name a column of them with "
                "row_id=."
            )
        object.__setattr__(self, "order", order)

    def take(self, rows: NDArray[np.intp]) -> Picked:
        """Some of them, by their places."""
        labels = None if self.labels is None else self.storage.take(self.labels, rows)
        weight = None if self.weight is None else self.storage.take(self.weight, rows)
        ids = self.storage.take(self.ids, rows)
        return Picked(ids, self.storage, labels, weight, self.keep_labels)

    def block(
        self, block: Block, schema_of: Callable[[list[Any]], Schema] | None = None
    ) -> Block | None:
        """Those that a block has; None where it has none.

        ``schema_of`` says what their columns hold, which may be less than those of the block.
        """
        row_ids = block.row_ids
        if not len(self.ids):
            return None
        ranks = np.searchsorted(self.ids, row_ids, sorter=self.order)
        places = np.minimum(ranks, len(self.ids) - 1)
        if self.order is not None:
            places = self.order[places]
        here = self.ids[places] == row_ids
        if self.weight is not None:
            here &= self.weight[places] > 0.0
        if not here.any():
            return None
        places = places[here]
        target = cut_target(block.target, here) if self.keep_labels else None
        if self.labels is not None:
            target = self.labels[places]
        rows = _cut_block(block, here, target, places.astype(np.int64), schema_of)
        if self.weight is not None:
            rows.weight = self.weight[places]
        return rows


def _cut_block(
    block: Block,
    here: NDArray[np.bool_],
    target: NDArray[Any] | RawCodes | None,
    row_ids: NDArray[np.int64],
    schema_of: Callable[[list[Any]], Schema] | None,
) -> Block:
    """The marked rows of a block, with other labels and numbers."""
    whole, columns = len(row_ids) == block.n_rows, block.columns
    columns = columns if whole else keep_rows(columns, here)
    return Block(
        block.schema if whole or schema_of is None else schema_of(list(columns)),
        columns,
        n_rows=len(row_ids),
        target=target,
        weight=block.weight if block.weight is None or whole else block.weight[here],
        row_ids=row_ids,
    )


class PickedSource:
    """Some of the rows of another source; see `Picked.block`."""

    def __init__(
        self,
        source: Source,
        picked: Picked,
        schema_of: Callable[[list[Any]], Schema] | None = None,
    ) -> None:
        self.source, self.picked, self.schema_of = source, picked, schema_of
        self.storage, self.may_change = picked.storage, source.may_change

    def _some(self, fn: Callable[[Block], T]) -> Callable[[Block], list[T]]:
        picked, schema_of = self.picked, self.schema_of  # a source cannot be sent to workers

        def visit(block: Block) -> list[T]:
            rows = picked.block(block, schema_of)
            return [] if rows is None else [fn(rows)]

        return visit

    def report_passes(self, hook: Hook | None, workers: WorkerHook | None = None) -> None:
        self.source.report_passes(hook, workers)

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        total = self.source.reduce(self._some(fn), _either(add), name)
        if not total:
            raise self._none_left()
        return total[0]

    def _none_left(self) -> Exception:
        return changed_rows("none of the rows that were picked is there any more")

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        for results in self.source.each(self._some(fn), name):
            yield from results

    def keep_away(self, fn: Any, add: Any, name: str = CODING) -> None:
        """Rows that were picked here have their labels here: they are brought together."""

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return join_answers(self.each(fn, ANSWERING))


def _either(add: Callable[[T, T], T]) -> Callable[[list[T], list[T]], list[T]]:
    """How lists of one or none add up."""

    def both(a: list[T], b: list[T]) -> list[T]:
        return [add(a[0], b[0])] if a and b else a or b

    return both


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Rows of a table by their places; of a `Scan` that has picked its rows, by those."""
    if isinstance(X, Scan):
        return replace(X, picked=X.picked.take(rows))
    return safe_indexing(X, rows)
