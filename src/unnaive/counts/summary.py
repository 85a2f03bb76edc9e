"""What rows leave behind, and how two such remains become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, expect
from unnaive.common.wording import counted
from unnaive.counts.moments import Moments
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.encode.categories import Order, merge_categories
from unnaive.encode.coding import AnyCoder, check_coders, coder_sizes
from unnaive.encode.grid import merge_grids
from unnaive.encode.labels import merge_labels, refuse_mixed
from unnaive.table import Schema

# Numbering of one column; None for a column that is not counted or has no value at all.
Coder: TypeAlias = Grid | Categories | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a pass should collect about the numeric columns, beside counting the others."""

    counts: frozenset[int]
    moments: frozenset[int] = frozenset()

    def __or__(self, other: Wanted) -> Wanted:
        return Wanted(self.counts | other.counts, self.moments | other.moments)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Counts by class of every column's fine values, and exact moments: what rows leave behind."""

    schema: Schema
    labels: Labels
    coders: tuple[Coder, ...]
    counts: CountTable
    moments: Moments
    n_rows: int
    wanted: Wanted
    grid_limit: int = GRID_LIMIT
    closed: bool = False  # whether the classes were announced, so that no others may come

    def check(self) -> None:
        """Refuse parts that no pass leaves together."""
        columns, groups = range(len(self.schema)), len(self.labels)
        check_coders(self.coders, self.schema)
        self.counts.check_coders(self.coders, groups)
        expect(len(self.moments.sums) == groups, "moments do not match the classes.")
        named = {*self.wanted.counts, *self.wanted.moments, *self.moments.columns}
        expect(named <= set(columns), "a column with sums does not exist.")
        numeric = all(self.schema[j].kind != "categorical" for j in named)
        expect(numeric, "a categorical column has sums.")
        expect(self.n_rows >= 0, f"n_rows is {self.n_rows}, not 0 or more.")
        expect(2 <= self.grid_limit <= GRID_LIMIT, f"grid_limit is {self.grid_limit}.")

    def __add__(self, other: Summary) -> Summary:
        return merge_summaries([self, other])

    def scaled(self, factor: float) -> Summary:
        """The same rows, each weighing ``factor`` (above 0) times its weight."""
        if factor == 1.0:
            return self
        counts = self.counts.scale_groups(np.full(len(self.labels), factor))
        return replace(self, counts=counts, moments=self.moments.scaled(factor))

    def announce(self, labels: Labels) -> Summary:
        """The same with groups for all classes that will ever come."""
        merged, (_, place) = merge_labels([labels, self.labels])
        refuse_new(labels, self.labels)
        counts = self.counts.sum_groups(place, len(merged))
        moments = self.moments.sum_groups(place, len(merged))
        return replace(self, labels=merged, counts=counts, moments=moments, closed=True)

    def __repr__(self) -> str:
        rows, slots = self.counts.totals.sum(), self.counts.counts.shape[1]
        return f"Summary of {rows:g} rows: {len(self.schema)} columns, {slots} values"


def merge_summaries(parts: Sequence[Summary]) -> Summary:
    """What one pass over all their rows would have collected.

    The time it takes grows with the sizes of the parts, not with that of the result times their
    number.
    """
    limit = parts[0].grid_limit
    schema = reduce(Schema.__add__, {id(p.schema): p.schema for p in parts}.values())
    for part in parts:
        refuse_mixed(parts[0].labels, part.labels)
        if part.closed:
            for other in parts:
                refuse_new(part.labels, other.labels)
    labels, group_places = merge_labels([p.labels for p in parts])
    coders, places = unite_values(parts, schema)
    counts = CountTable.empty(len(labels), coder_sizes(coders))
    for part, place, group in zip(parts, places, group_places, strict=True):
        counts.add(part.counts, place, group)
    columns = sorted({j for p in parts for j in p.moments.columns})
    sums = (
        p.moments.widen(columns).sum_groups(group, len(labels))
        for p, group in zip(parts, group_places, strict=True)
    )
    moments = reduce(Moments.__add__, sums)
    n_rows = sum(p.n_rows for p in parts)
    wanted = reduce(Wanted.__or__, [p.wanted for p in parts])
    closed = any(p.closed for p in parts)
    schema = mark_whole(schema, coders)
    return Summary(schema, labels, coders, counts, moments, n_rows, wanted, limit, closed)


def unite_values(
    parts: Sequence[Any], schema: Schema
) -> tuple[tuple[Coder, ...], list[list[NDArray[np.intp]]]]:
    """The numbering of all values together, and where the slots of each part are in it."""
    coders: list[Coder] = []
    places: list[list[NDArray[np.intp]]] = [[] for _ in parts]
    for j, column in enumerate(schema):
        coder, maps = _merge_coders([p.coders[j] for p in parts], parts[0].grid_limit, column.order)
        coders.append(coder)
        for place, slots in zip(places, maps, strict=True):
            place.append(slots)
    return tuple(coders), places


def row_factor(summary: Summary, factor: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Weights of the classes in units of rows.

    Weights that are below one on average, such as weights that sum to one, are scaled to mean one:
    pseudo-counts and description lengths count rows. Larger ones stay, so that a weight of 2 is a
    row seen twice.
    """
    if factor is None:
        factor = np.ones(len(summary.labels))
    weight = float((factor * summary.counts.totals).sum())
    if not summary.n_rows / HEAVIEST <= weight <= HEAVIEST:
        few = weight < 1.0
        raise ValueError(
            f"the weights of all {counted(summary.n_rows, 'row')} add up to {weight:g}, too "
            f"{'little' if few else 'much'} to compute with; {'multiply' if few else 'divide'} "
            "sample_weight or class_weight by a large number."
        )
    return factor * (summary.n_rows / weight) if weight < summary.n_rows else factor


def refuse_new(announced: Labels, labels: Labels) -> None:
    """Raise an error that names a label which was not announced."""
    refuse_mixed(announced, labels)
    classes = announced.classes.tolist()
    new = [label for label in labels.classes.tolist() if label not in classes]
    if new:
        raise ValueError(
            f"y holds the label {new[0]!r}, which is not among the classes given to partial_fit: "
            f"{classes[:10]}."
        )


def mark_whole(schema: Schema, coders: Sequence[AnyCoder]) -> Schema:
    """The columns, marked where their numbers are whole ones, as far as their grids tell."""
    whole = [
        c.family == "number" and isinstance(grid, Grid) and grid.is_whole
        for c, grid in zip(schema, coders, strict=True)
    ]
    return schema.mark_whole(whole)


def _merge_coders(
    coders: Sequence[Any], limit: int, order: Order
) -> tuple[Any, list[NDArray[np.intp]]]:
    some = [c for c in coders if c is not None]
    if not some:
        return None, [np.arange(EXTRA_SLOTS)] * len(coders)
    merged: Grid | Categories
    if isinstance(some[0], Grid):
        merged, maps = merge_grids([c for c in some if isinstance(c, Grid)], limit)
    else:
        merged, maps = merge_categories([c for c in some if isinstance(c, Categories)], order)
    remaining = iter(maps)
    nothing = np.array([0, merged.size + 1])
    return merged, [nothing if c is None else next(remaining) for c in coders]


def refuse_identifiers(summary: Summary) -> None:
    """Raise an error that names a column of more categories than 16-bit codes have room for."""
    for column, coder in zip(summary.schema, summary.coders, strict=True):
        if isinstance(coder, Categories) and coder.size > GRID_LIMIT:
            raise ValueError(
                f"{column} has {coder.size:,} different categories, more than {GRID_LIMIT:,}: "
                "it looks like an identifier. Drop it, or pass max_categories= to keep the most "
                "frequent ones and group the rest."
            )
