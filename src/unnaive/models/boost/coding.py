"""Columns to fine slots, and to the coarser ones that pairs use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibration import HeldOut
from unnaive.counts import CountTable, Summary
from unnaive.counts.encoded_rows import check_same_rows, weigh_classes
from unnaive.discretize import CoarseCoder
from unnaive.discretize.rules import NO_MOMENTS, ColumnSums, Frequency, between, group_rare
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.coders import coder_sizes, column_slots
from unnaive.encode.hashing import deal_folds, draw_order, draw_uniform
from unnaive.encode.labels import groups_of
from unnaive.models.boost import kernels
from unnaive.models.boost.state import Rows, Terms
from unnaive.table import Block, Source
from unnaive.table.storage import Storage, join, join_records, keep, stretches, taken

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
class Coded:
    """Rows of one block."""

    PER_ROW: ClassVar = {"slots": 1, "groups": 0, "weight": 0, "row_ids": 0}

    slots: NDArray[np.uint16]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Stripes:
    """Coded rows: all of them in one stripe, or where there are many, random parts of them.

    ``order`` has the position in the table of each row, stripe after stripe; it is empty where one
    stripe has them all as they come.
    """

    rows: list[Rows]
    order: NDArray[np.intp]
    storage: Storage

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> Rows:
        return self.rows[k]

    @property
    def longest(self) -> int:
        """Rows of the longest stripe."""
        return max(len(rows.groups) for rows in self.rows)

    @property
    def heaviest(self) -> float:
        """The largest weight of a row, at least 1."""
        return max(float(rows.weight.max(initial=1.0)) for rows in self.rows)

    def weigh(self, terms: Terms, bag: int = kernels.NOBODY) -> NDArray[np.float64]:
        """Return the weight in every cell of the rows that a bag does not hold out."""
        total, part = np.zeros(terms.start[-1]), np.empty(terms.start[-1])
        for rows in self.rows:
            kernels.weigh_terms(rows, terms, bag, part)
            total += part
        return total

    def scored(
        self, terms: Terms, tables: NDArray[np.float64], prior: NDArray[np.float64], n_classes: int
    ) -> HeldOut:
        """Return the rows with their scores by tables of evidence."""
        n_rows, room = sum(len(rows.groups) for rows in self.rows), self.storage
        scores = room.zeros((n_rows, n_classes), np.float64)
        groups, weight = room.empty(n_rows, np.uint16), room.empty(n_rows, np.float64)
        joint = room.empty((self.longest, len(prior)), np.float64)
        first = 0
        for rows in self.rows:
            here, some = slice(first, first + len(rows.groups)), joint[: len(rows.groups)]
            scores[here, n_classes - len(prior) :] = score_rows(rows, terms, tables, prior, some)
            groups[here], weight[here] = rows.groups, rows.weight if len(rows.weight) else 1.0
            first = here.stop
        return HeldOut(scores, groups, weight)


def score_rows(
    rows: Rows,
    terms: Terms,
    tables: NDArray[np.float64],
    prior: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scores of rows (OUT) by tables of evidence; of two classes, the log odds of the second."""
    scores[:] = prior
    kernels.add_tables(rows, terms, tables, scores)
    return scores


def code_block(
    numbering: Numbering, labels: Labels, factor: NDArray[np.float64], block: Block
) -> Coded:
    """The rows of a block by slots; ``factor`` multiplies the weights of each class's rows."""
    assert block.target is not None
    groups = groups_of(labels, block.target).astype(np.uint16)
    slots = np.empty((len(numbering.coders), block.n_rows), np.uint16)
    for j, coder in enumerate(numbering.coders):
        slots[j] = column_slots(block, j, coder)
    return Coded(slots, groups, weigh_classes(block.weight, groups, factor), block.row_ids)


def slots_of_pairs(slots: NDArray[Any], places: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The coarser slots that pairs use."""
    out = np.empty(slots.shape, np.uint8)
    for j, place in enumerate(places):
        out[j] = place[slots[j]]
    return out


def code_rows(
    source: Source,
    numbering: Numbering,
    summary: Summary,
    factor: NDArray[np.float64],
    n_folds: int,
    seed: int,
    max_rows: int,
) -> Stripes:
    """Code the rows in one pass, and assign each to the fold that holds it out (none: no folds).

    Of more than ``max_rows`` rows, a random sample of about that size is coded. Sampling and folds
    depend on the seed and the row number. Few rows are dealt to the folds class by class; many rows
    are shuffled and cut into stripes, of which every fold holds one out.
    """
    labels, n_rows = summary.labels, summary.n_rows
    share = max_rows / n_rows

    def code(block: Block) -> Coded:
        coded = code_block(numbering, labels, factor, block)
        if share >= 1:
            return coded
        return taken(coded, np.flatnonzero(draw_uniform(seed, block.row_ids) < share))

    room = source.storage
    coded = join(source, code, n_rows) if share >= 1 else join_records(keep(source, code), room)
    if source.may_change and share >= 1:
        check_same_rows(summary, numbering.coders, factor, coded.slots, coded.groups, coded.weight)
    n_rows = len(coded.groups)
    pair_slots = room.empty(coded.slots.shape, np.uint8)
    for part in stretches(n_rows):
        pair_slots[:, part] = slots_of_pairs(coded.slots[:, part], numbering.places)
    weight = np.empty(0) if coded.weight is None else coded.weight
    folds = np.empty(0, np.uint8)
    if n_folds and n_rows < MANY_ROWS:
        folds = deal_folds(seed, coded.row_ids, coded.groups, n_folds).astype(np.uint8)
    whole = Rows(coded.slots, pair_slots, coded.groups, weight, folds)
    if n_folds and n_rows >= MANY_ROWS:
        order = draw_order(seed, coded.row_ids, room)
        return Stripes(_part(whole, order, n_folds), order, room)
    return Stripes([whole], np.empty(0, np.intp), room)


def _part(rows: Rows, order: NDArray[np.intp], n_folds: int) -> list[Rows]:
    """Return the rows in this order, cut into stripes; the first ``n_folds`` of them are folds."""
    n_stripes = max(n_folds + LEAST_LEARNING, len(order) // STRIPE)
    edges = np.linspace(0, len(order), n_stripes + 1).astype(np.intp)
    stripes: list[Rows] = []
    for k, (first, last) in enumerate(pairwise(edges)):
        chosen = order[first:last]
        stripes.append(
            Rows(
                np.take(rows.slots, chosen, axis=1),  # without gaps between the rows of a column
                np.take(rows.pair_slots, chosen, axis=1),
                rows.groups[chosen],
                rows.weight[chosen] if len(rows.weight) else rows.weight,
                np.full(len(chosen), min(k, n_folds), np.uint8),
            )
        )
    return stripes


def sample_stripes(n_stripes: int, longest: int) -> int:
    """How many of several stripes make a sample."""
    return max(min(n_stripes - 1, round(SAMPLE / longest)), 1)


def join_stripes(stripes: Sequence[Rows]) -> Rows:
    """Stripes as one table."""
    if len(stripes) == 1:
        return stripes[0]
    return Rows(*(np.concatenate(parts, axis=-1) for parts in zip(*stripes, strict=True)))
