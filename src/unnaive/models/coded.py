"""Coded rows at the driver: what trees, forests and the flagship learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import CountTable, Summary
from unnaive.counts.encoded_rows import check_same_rows
from unnaive.counts.summary import row_factor
from unnaive.discretize import CoarseCoder
from unnaive.discretize.rules import NO_MOMENTS, ColumnSums, Frequency, between, group_rare
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.coders import AnyCoder, coder_sizes, column_slots
from unnaive.encode.hashing import draw_uniform
from unnaive.encode.labels import groups_of
from unnaive.table import Block, Source
from unnaive.table.columns import code_dtype
from unnaive.table.records import join, join_records, keep, taken


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """Rows as small integers.

    Attributes
    ----------
    codes : array of shape (columns, rows)
        Slot of each row in each column: 0 missing, then the coder's values.
    y : array of shape (rows,)
        Number of the row's class.
    weight : array of shape (rows,)
        Weight of the row, in units of rows; sums of weights are exact, the same in any order.
    row_ids : array of shape (rows,)
        Number of the row in the table.
    """

    PER_ROW: ClassVar = {"codes": 1, "y": 0, "weight": 0, "row_ids": 0}

    codes: NDArray[Any]
    y: NDArray[np.uint16]
    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows."""
        return taken(self, rows)


def read_coded_table(
    source: Source,
    coders: Sequence[AnyCoder],
    summary: Summary,
    class_factor: NDArray[np.float64],
    *,
    unseen: bool = False,
    max_rows: int | None = None,
    seed: int = 0,
) -> CodedTable:
    """Code all rows of a source, or a random sample of about ``max_rows`` of them, in one pass.

    Parameters
    ----------
    class_factor : array of shape (classes,)
        What `class_weight` multiplies the weights of each class by.
    unseen : bool, default=False
        Whether values that have no slot get one of their own, after all others, and are not
        missing.
    max_rows : int or None, default=None
        Rows are drawn by a hash of ``seed`` and their number.
    """
    factor = row_factor(summary, class_factor)
    total = float((factor * summary.counts.totals).sum())
    share = 1.0 if max_rows is None else max_rows / summary.n_rows

    def code(block: Block) -> CodedTable:
        table = code_block(block, coders, summary.labels, factor, unseen=unseen)
        table = replace(table, weight=exact_weights(table.weight, total))
        if share >= 1:
            return table
        return table.take(np.flatnonzero(draw_uniform(seed, block.row_ids) < share))

    if share < 1:
        return join_records(keep(source, code), source.storage)
    table = join(source, code, summary.n_rows)
    if source.may_change:
        check_same_rows(summary, coders, factor, table.codes, table.y, table.weight)
    return table


def code_block(
    block: Block,
    coders: Sequence[AnyCoder],
    labels: Labels,
    factor: NDArray[np.float64],
    *,
    unseen: bool = False,
) -> CodedTable:
    """Code the rows of a block, whose weights are multiplied by the factor of their class."""
    assert block.target is not None
    y = groups_of(labels, block.target).astype(np.uint16)
    codes = np.empty((len(coders), block.n_rows), code_dtype(max(coder_sizes(coders), default=0)))
    for j, coder in enumerate(coders):
        codes[j] = column_slots(block, j, coder, unseen=unseen)
    weight = factor[y] if block.weight is None else block.weight * factor[y]
    return CodedTable(codes, y, weight, block.row_ids)


def group_rare_categories(
    summary: Summary, class_factor: NDArray[np.float64], max_categories: int | None
) -> list[Grid | Categories | None]:
    """Return the fine coders of the columns, rare categories grouped."""
    counts = summary.counts.scale_groups(class_factor)
    return [
        group_rare(coder, counts.values(j), max_categories)[0]
        if isinstance(coder, Categories)
        else coder
        for j, coder in enumerate(summary.coders)
    ]


def exact_weights(weight: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the weights of some rows as multiples of a unit that makes their sums exact.

    ``total`` is the weight of all rows. Whole numbers stay as they are.
    """
    unit = 2.0 ** (round(math.log2(total)) - 51)
    rounded: NDArray[np.float64] = np.maximum(np.rint(weight / unit), 1.0) * unit
    return rounded


MOST_PAIR_SLOTS = 254  # with missing and unseen, as many as 8-bit codes can name


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """How columns are numbered.

    Attributes
    ----------
    coders, pair_coders : tuples
        For single columns and for pairs; None where a column has no value at all.
    places : list of arrays
        The pair slot of every slot of each column.
    counts : CountTable
        Weight of the rows by class in the slots of ``coders``.
    """

    coders: tuple[CoarseCoder, ...]
    pair_coders: tuple[CoarseCoder, ...]
    places: list[NDArray[np.uint8]]
    counts: CountTable

    def pair_of(self, a: int, b: int) -> tuple[Bins | Categories, Bins | Categories]:
        """The coders of two columns that have values, for pairs."""
        first, second = self.pair_coders[a], self.pair_coders[b]
        assert first is not None
        assert second is not None
        return first, second

    @property
    def varying(self) -> list[int]:
        """Columns of at least two values, or one that is sometimes missing; one class has none."""
        if self.counts.n_groups < 2:
            return []
        filled = (self.counts.attribute(j).any(axis=0) for j in range(len(self.coders)))
        return [j for j, slots in enumerate(filled) if np.count_nonzero(slots) > 1]


def number_columns(
    summary: Summary,
    factor: NDArray[np.float64],
    max_bins: int,
    max_pair_bins: int,
    max_categories: int | None,
) -> Numbering:
    """Return coders with bins of about equal frequency for numbers, and one slot per category.

    Intervals of pairs are unions of those of single columns. A column has an interval for each of
    its numbers where these are few enough. ``factor`` multiplies the weights of each class's rows.
    """
    table = summary.counts if (factor == 1).all() else summary.counts.scale_groups(factor)
    coders: list[CoarseCoder] = []
    pair_coders: list[CoarseCoder] = []
    merged: list[NDArray[np.intp] | None] = []
    places: list[NDArray[np.uint8]] = []
    for j, fine in enumerate(summary.coders):
        counts = table.values(j)
        coder: CoarseCoder = None
        pair: CoarseCoder = None
        place: NDArray[np.intp] | None = None
        if isinstance(fine, Grid) and fine.size:
            coder = Bins(_quantiles(fine, counts, max_bins))
            place = coder.place(fine.low).astype(np.intp)
            coarse = _intervals(fine, place[1:-1])
            weight = _regroup(counts, place[1:-1], coder.size)
            pair = Bins(_quantiles(coarse, weight, max_pair_bins))
            places.append(pair.place(coarse.low).astype(np.uint8))
        elif isinstance(fine, Categories):
            coder, place = group_rare(fine, counts, max_categories)
            weight = counts if place is None else _regroup(counts, place[1:-1], coder.size)
            pair = _pair_categories(coder, weight, max_pair_bins)
            known = [*coder.values, *coder.rare[:1]]
            places.append(np.append(pair.slots(known), pair.size + 1).astype(np.uint8))
        else:
            places.append(np.zeros(2, np.uint8))
        coders.append(coder)
        pair_coders.append(pair)
        merged.append(place)
    counts_of_slots = table.coarsen(merged, coder_sizes(coders))
    return Numbering(tuple(coders), tuple(pair_coders), places, counts_of_slots)


def _quantiles(grid: Grid, counts: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Cuts into at most so many intervals: between all cells where there are no more."""
    if grid.size <= most:
        return between(grid, np.arange(1, grid.size))
    return Frequency(n_bins=most).cuts(ColumnSums(grid, counts, NO_MOMENTS, NO_MOMENTS))


def _intervals(grid: Grid, place: NDArray[np.intp]) -> Grid:
    """Intervals as cells of a grid: their cuts are then those of the intervals."""
    first = np.flatnonzero(np.diff(place, prepend=0))
    last = np.append(first[1:], len(place)) - 1
    return Grid(grid.shift, grid.low[first], grid.high[last])


def _regroup(
    counts: NDArray[np.float64], place: NDArray[np.intp], size: int
) -> NDArray[np.float64]:
    weight = np.zeros((len(counts), size))
    np.add.at(weight.T, place - 1, counts.T)
    return weight


def _pair_categories(coder: Categories, counts: NDArray[np.float64], most: int) -> Categories:
    """The most frequent categories, and one for the rest."""
    if coder.size <= most:
        return coder
    by_weight = np.argsort(-counts[:, : len(coder.values)].sum(axis=0), kind="stable")
    kept, rest = np.sort(by_weight[: most - 1]), np.sort(by_weight[most - 1 :])
    rare = (*(coder.values[i] for i in rest), *coder.rare)
    return Categories(tuple(coder.values[i] for i in kept), rare)
