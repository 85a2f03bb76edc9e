"""Rows of many parts: their classes, and the categories that are counted in any order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import read_only
from unnaive.common.threads import in_threads
from unnaive.counts import part_kernels as kernels
from unnaive.counts.gather import block_groups, own_order
from unnaive.counts.part_codes import FEW, PartTables, count_codes
from unnaive.counts.summary import Wanted
from unnaive.encode import Labels
from unnaive.encode.labels import keep_labels
from unnaive.table import Block
from unnaive.table.codes import RawCodes
from unnaive.table.kept import KeptBlock
from unnaive.table.source import cut_target

TOGETHER = 1 << 16  # rows counted together: sorted, they stay in cache


@dataclass(frozen=True, slots=True)
class PartGroups:
    """The classes of each part, and the weight of their rows."""

    labels: list[Labels]
    classes: NDArray[np.intp]  # parts x classes: number of each among those of its part
    first: NDArray[np.intp]  # number of each part's first class, all parts together
    totals: NDArray[np.float64]  # of the classes that parts have, one part after the other

    @property
    def numbers(self) -> NDArray[np.intp]:
        """How many classes each part has."""
        return np.diff(self.first)


class PartRows:
    """Rows of many parts, their classes, and the categories that are counted already.

    Attributes
    ----------
    starts : array of shape (parts + 1,)
        Where each part begins, with the rows in the order of the parts.
    tables : dict
        Counts of the categorical columns that need no rows in that order.
    totals : array of shape (parts, classes) or None
        Weight of the rows; None where parts and classes are so many that few have any.
    is_sorted : bool
        Whether some columns have to be counted in the order of the parts.
    """

    def __init__(
        self, block: Block, parts: NDArray[Any], n_parts: int, wanted: Wanted, n_jobs: int | None
    ) -> None:
        self.block, self.wanted, self.schema = block, wanted, own_order(block)
        self.labels, self.groups = block_groups(block)
        columns = self.schema.columns
        named = [j for j, column in enumerate(columns) if column.kind == "categorical"]
        self.raw = {j: block.categorical(j) for j in named}
        self.tables: dict[int, PartTables] = {}
        self.totals: NDArray[np.float64] | None = None
        shape = n_parts, len(self.labels)
        is_small = np.prod(shape) <= FEW * block.n_rows
        if is_small:
            cells = _cells(parts, self.groups, len(self.labels))
            self.totals = _class_weights(cells, block.weight, shape)
        if self.totals is not None and block.weight is None:
            n_rows = self.totals.sum(axis=1).astype(np.intp)
        else:
            n_rows = np.bincount(parts, minlength=n_parts)
        self.starts = np.concatenate(([0], np.cumsum(n_rows)))
        if is_small and np.diff(self.starts).min() <= TOGETHER:
            orders = {j: columns[j].order for j in self.raw}
            self.tables = count_codes(self.raw, orders, cells, shape, block.weight, n_jobs)
        numbers = wanted.counts | wanted.moments
        self.is_sorted = bool(numbers) or len(self.tables) < len(self.raw)
        self._order: NDArray[np.int32] | None = None
        if self.is_sorted and not (parts[1:] >= parts[:-1]).all():
            self._order, self._in_order = self._arrange(parts, sorted(numbers), n_jobs)

    def _arrange(
        self, parts: NDArray[Any], numbers: list[int], n_jobs: int | None
    ) -> tuple[NDArray[np.int32], KeptBlock]:
        """The rows in the order of the parts, and their columns, read once for all parts."""
        places, order = np.empty((2, len(parts)), dtype=np.int32)
        kernels.order_rows(parts, self.starts[:-1].copy(), places, order)

        def arranged(values: NDArray[Any]) -> NDArray[Any]:
            out = np.empty(len(values), dtype=values.dtype)
            kernels.put_rows(read_only(values), places, out)
            return out

        kept: dict[tuple[str, int], NDArray[np.float64] | RawCodes] = {}
        columns = in_threads(lambda j: arranged(self.block.numeric(j)), numbers, n_jobs)
        kept |= {("numeric", j): values for j, values in zip(numbers, columns, strict=True)}
        large = np.diff(self.starts).max() > TOGETHER  # such a part is counted by itself
        for j, raw in self.raw.items():
            if large or j not in self.tables:
                kept["categorical", j] = RawCodes(arranged(raw.codes), raw.values)
        return order, KeptBlock(self.block, kept=kept)

    def _rows(self, run: range) -> slice | NDArray[np.int32]:
        rows = slice(int(self.starts[run.start]), int(self.starts[run.stop]))
        return rows if self._order is None else self._order[rows]

    def take(self, run: range) -> Block:
        """The rows of some parts."""
        rows = self._rows(run)
        if isinstance(rows, slice):
            return self.block.slice(rows.start, rows.stop)
        part = self._in_order.slice(int(self.starts[run.start]), int(self.starts[run.stop]))
        part.target = cut_target(self.block.target, rows)
        part.weight = None if self.block.weight is None else self.block.weight[rows]
        return part

    def codes(self, j: int, run: range) -> RawCodes:
        """Categories of the rows of some parts."""
        if self._order is not None:
            return self.take(run).categorical(j)
        return RawCodes(self.raw[j].codes[self._rows(run)], self.raw[j].values)

    def part_groups(self, run: range) -> PartGroups:
        """The classes of some parts."""
        if self.totals is not None:
            totals = self.totals[run.start : run.stop]
        else:
            rows = self._rows(run)
            part = np.repeat(np.arange(len(run)), np.diff(self.starts[run.start : run.stop + 1]))
            cells = _cells(part, self.groups[rows], len(self.labels))
            weight = None if self.block.weight is None else self.block.weight[rows]
            totals = _class_weights(cells, weight, (len(run), len(self.labels)))
        return _part_groups(self.labels, totals)

    def run_groups(self, run: range) -> NDArray[Any]:
        """The class of each row of some parts."""
        return self.groups[self._rows(run)]


def _cells(parts: NDArray[Any], groups: NDArray[Any], n_classes: int) -> NDArray[np.int32]:
    cells = np.empty(len(groups), dtype=np.int32)
    kernels.number_classes(parts, groups, n_classes, cells)
    return cells


def _class_weights(
    cells: NDArray[np.int32], weight: NDArray[np.float64] | None, shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Weight of the rows of each part and class."""
    totals = np.zeros(shape)
    kernels.add_weights(cells, np.empty(0) if weight is None else weight, totals.reshape(-1))
    return totals


def _part_groups(labels: Labels, totals: NDArray[np.float64]) -> PartGroups:
    present = totals > 0
    first = np.concatenate(([0], np.cumsum(present.sum(axis=1))))
    if present.all():
        classes = np.broadcast_to(np.arange(len(labels)), present.shape).copy()
        return PartGroups([labels] * len(present), classes, first, totals.reshape(-1))
    known: dict[bytes, tuple[Labels, NDArray[np.intp]]] = {}
    each, place = [], np.zeros(present.shape, dtype=np.intp)
    ordered = np.empty(int(first[-1]))
    for p, here in enumerate(present):
        key = here.tobytes()
        if key not in known:
            known[key] = keep_labels(labels, np.flatnonzero(here))
        present_labels, kept = known[key]
        each.append(present_labels)
        place[p, kept] = np.arange(len(kept))
        ordered[first[p] : first[p + 1]] = totals[p, kept]
    return PartGroups(each, place, first, ordered)
