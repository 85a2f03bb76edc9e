"""Columns to fine slots, and to the coarser ones that pairs use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import CountTable, Summary
from unnaive.discretize import CoarseCoder
from unnaive.discretize.coarse import NO_MOMENTS, group_rare
from unnaive.discretize.cuts import between
from unnaive.discretize.rules import ColumnSums, Frequency
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.coding import coder_sizes, column_slots
from unnaive.encode.draws import deal_folds, draw_order, value_keys
from unnaive.encode.labels import groups_of
from unnaive.models.boost.state import Rows
from unnaive.table import Block, Source
from unnaive.table.storage import join, stretches

MANY_ROWS = 40_000  # from so many on, a round looks at a sample of them
SAMPLE = 1 << 15  # rows of a sample, about: so many stripes
STRIPE = 1 << 15  # rows of a stripe, at most twice
LEAST_LEARNING = 4  # stripes that no bag holds out
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
    """Numbers in intervals of about equal frequency, categories as they are; no rows are seen.

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


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """Rows of one block."""

    PER_ROW: ClassVar = {"slots": 1, "groups": 0, "weight": 0}

    slots: NDArray[np.uint16]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64] | None


class Stripes(NamedTuple):
    """Coded rows: all of them, or where there are many, stripes that part them at random.

    ``order`` has the position in the table of each row, stripe after stripe; it is empty where one
    stripe has them all as they come.
    """

    rows: list[Rows]
    order: NDArray[np.intp]


def code_rows(
    source: Source,
    numbering: Numbering,
    labels: Labels,
    factor: NDArray[np.float64],
    n_rows: int,
    n_folds: int,
    seed: int,
) -> Stripes:
    """All rows, coded in one pass, and the fold that holds each of them out (none: no folds).

    Folds are dealt by the rows' values, class by class: equal rows take each other's place, so that
    the order of rows does not matter. Many rows come in stripes, each a sample of them, of which
    every fold holds one out.
    """

    def code(block: Block) -> _Coded:
        assert block.target is not None
        groups = groups_of(labels, block.target).astype(np.uint16)
        slots = np.empty((len(numbering.coders), block.n_rows), np.uint16)
        for j, coder in enumerate(numbering.coders):
            slots[j] = column_slots(block, j, coder)
        weight = block.weight
        if (factor != 1).any():
            weight = factor[groups] if weight is None else weight * factor[groups]
        return _Coded(slots, groups, weight)

    coded, room = join(source, code, n_rows), source.storage
    pair_slots = room.empty(coded.slots.shape, np.uint8)
    for part in stretches(n_rows):
        for j, place in enumerate(numbering.places):
            pair_slots[j, part] = place[coded.slots[j, part]]
    weight = np.empty(0) if coded.weight is None else coded.weight
    folds = np.empty(0, np.uint8)
    if n_folds:
        columns: Sequence[NDArray[Any]] = [*coded.slots, *([weight] if len(weight) else [])]
        keys = value_keys(columns, n_rows, room)
        if n_rows >= MANY_ROWS:
            order = draw_order(seed, keys.view(np.int64), room)
            whole = Rows(coded.slots, pair_slots, coded.groups, weight, folds)
            return Stripes(_part(whole, order, n_folds), order)
        folds = deal_folds(seed, keys.view(np.int64), coded.groups, n_folds).astype(np.uint8)
    whole = Rows(coded.slots, pair_slots, coded.groups, weight, folds)
    return Stripes([whole], np.empty(0, np.intp))


def _part(rows: Rows, order: NDArray[np.intp], n_folds: int) -> list[Rows]:
    """The rows in this order, in equal parts; the first parts are the folds."""
    n = len(order)
    edges = np.linspace(0, n, max(n_folds + LEAST_LEARNING, n // STRIPE) + 1).astype(np.intp)
    stripes: list[Rows] = []
    for k, (first, last) in enumerate(pairwise(edges)):
        chosen = order[first:last]
        stripes.append(
            Rows(
                rows.slots.take(chosen, axis=1),  # column by column, which indexing is not
                rows.pair_slots.take(chosen, axis=1),
                rows.groups[chosen],
                rows.weight[chosen] if len(rows.weight) else rows.weight,
                np.full(len(chosen), min(k, n_folds), np.uint8),  # no bag has the number n_folds
            )
        )
    return stripes


def sample_stripes(stripes: Sequence[Rows]) -> int:
    """How many of several stripes make a sample."""
    n_rows = max(len(rows.groups) for rows in stripes)
    return max(min(len(stripes) - 1, round(SAMPLE / n_rows)), 1)


def join_stripes(stripes: Sequence[Rows]) -> Rows:
    """Stripes as one table."""
    if len(stripes) == 1:
        return stripes[0]
    return Rows(*(np.concatenate(parts, axis=-1) for parts in zip(*stripes, strict=True)))
