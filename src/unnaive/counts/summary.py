"""Additive summary statistics of rows: how they merge, and how rows are taken out again."""

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
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.encode.categories import Order, merge_categories, order_values
from unnaive.encode.coders import AnyCoder, check_coders, coder_sizes
from unnaive.encode.grid import merge_grids
from unnaive.encode.labels import keep_labels, merge_labels, refuse_mixed
from unnaive.table import Column, Schema
from unnaive.table.schema import natural_kind

# Sums of weights that are not exact in binary: what is left of a sum below this share of it is
# rounding. 1e7 rows added one after the other are off by at most 1e7 * 2**-53 of their sum.
ROUNDING = 1e-9
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
    """Counts by class of every column's fine values, and moments of numbers."""

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
        """Return the sums of the same rows, each weighing ``factor`` (above 0) times its weight."""
        if factor == 1.0:
            return self
        counts = self.counts.scale_groups(np.full(len(self.labels), factor))
        return replace(self, counts=counts, moments=self.moments.scaled(factor))

    def announce(self, labels: Labels) -> Summary:
        """Return the same sums with groups for all classes that will ever come."""
        merged, (_, place) = merge_labels([labels, self.labels])
        refuse_new(labels, self.labels)
        counts = self.counts.sum_groups(place, len(merged))
        moments = self.moments.sum_groups(place, len(merged))
        return replace(self, labels=merged, counts=counts, moments=moments, closed=True)

    def __repr__(self) -> str:
        rows, slots = self.counts.totals.sum(), self.counts.counts.shape[1]
        return f"Summary of {rows:g} rows: {len(self.schema)} columns, {slots} values"


def merge_summaries(parts: Sequence[Summary]) -> Summary:
    """Return what one pass over all their rows would have collected.

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
    """Return the numbering of all values together, and where the slots of each part are in it."""
    coders: list[Coder] = []
    places: list[list[NDArray[np.intp]]] = [[] for _ in parts]
    for j, column in enumerate(schema):
        coder, maps = _merge_coders([p.coders[j] for p in parts], parts[0].grid_limit, column.order)
        coders.append(coder)
        for place, slots in zip(places, maps, strict=True):
            place.append(slots)
    return tuple(coders), places


def row_factor(summary: Summary, factor: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the weights of the classes in units of rows.

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
    """Return the columns, marked where their numbers are whole ones, as far as their grids tell."""
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


def subtract_summary(whole: Summary, part: Summary) -> Summary:
    """Return what one pass over the rows of ``whole`` without those of ``part`` would have
    collected.

    Byte for byte, while no number of a column shares a cell with others. A grid that had to be
    coarsened stays as coarse as it is, and its cells keep the ends they had: how the remaining rows
    lie inside a cell is not known any more.
    """
    for column, learned in zip(whole.schema + part.schema, whole.schema, strict=True):
        if (column.kind, column.family) != (learned.kind, learned.family):
            raise impossible(f"{column} has values in them, but none in the model")
    taken, taken_moments = _align(whole, part)
    n_rows = whole.n_rows - part.n_rows
    if n_rows < 0:
        raise impossible(f"there are {part.n_rows:,} of them, but {whole.n_rows:,} in the model")
    rest = _subtract_counts(whole, taken)
    moments = _subtract_moments(whole, taken_moments, rest)
    present = rest.totals > 0
    if not present.any() and not n_rows:
        raise ValueError(
            "0 sample(s) would be left while a minimum of 1 is required: these are all rows of "
            "the model. Nothing was forgotten."
        )
    if not n_rows or not present.any():
        raise impossible("their weights are not those that they were counted with")
    return drop_unused(replace(whole, counts=rest, moments=moments, n_rows=n_rows))


def impossible(why: str) -> ValueError:
    """Return the error that rows to forget were never learned from."""
    return ValueError(
        f"the rows to forget cannot all be rows of the model: {why}. Nothing was forgotten."
    )


def _align(whole: Summary, part: Summary) -> tuple[CountTable, Moments]:
    """Return the counts and moments of the part by the classes and values of the whole."""
    place = _place_labels(whole.labels, part.labels)
    columns = zip(whole.schema, whole.coders, part.coders, strict=True)
    places = [_place_values(*column) for column in columns]
    counts = part.counts.coarsen(places, coder_sizes(whole.coders))
    if not {*part.moments.columns} <= {*whole.moments.columns}:
        raise ValueError("the rows to forget were summed otherwise than those of the model.")
    moments = part.moments.widen(whole.moments.columns)
    n = len(whole.labels)
    return counts.sum_groups(place, n), moments.sum_groups(place, n)


def _place_labels(whole: Labels, part: Labels) -> NDArray[np.intp]:
    index = {label: i for i, label in enumerate(whole.classes.tolist())}
    labels = part.classes.tolist()
    for label in labels:
        if label not in index:
            raise impossible(f"they have the label {label!r}, which the model does not know")
    return np.array([index[label] for label in labels], dtype=np.intp)


def _place_values(column: Column, whole: Coder, part: Coder) -> NDArray[np.intp]:
    """Return where each slot of the part lies in the whole."""
    if part is None:
        return np.array([0, 1 if whole is None else whole.size + 1])
    if isinstance(part, Grid) and isinstance(whole, Grid):
        return _place_cells(column, whole, part)
    if isinstance(part, Categories) and isinstance(whole, Categories):
        for value in part.values:
            if value not in whole.index:
                raise impossible(f"{column} has the value {value!r}, which the model does not know")
        return np.concatenate((whole.slots(part.values), [whole.size + 1]))
    raise ValueError(f"{column} was counted otherwise in the model than in the rows to forget.")


def _place_cells(column: Column, whole: Grid, part: Grid) -> NDArray[np.intp]:
    if part.shift > whole.shift:  # a set of values has at least as fine a grid as one it lies in
        raise impossible(f"{column} has more different values in them than in the model")
    cells = part.cells >> np.uint64(whole.shift - part.shift)
    place = np.searchsorted(whole.cells, cells)
    inside = place < whole.size
    at = np.where(inside, place, 0)
    if whole.size:
        inside &= whole.cells[at] == cells
        inside &= (whole.low[at] <= part.low) & (part.high <= whole.high[at])
    if not inside.all():
        value = float(part.low[int(np.argmin(inside))])
        raise impossible(f"{column} has the value {value!r}, which the model does not know")
    return np.concatenate(([0], place + 1, [whole.size + 1])).astype(np.intp)


def _subtract_counts(whole: Summary, taken: CountTable) -> CountTable:
    before = whole.counts
    totals, counts = before.totals - taken.totals, before.counts - taken.counts
    if not _adds_exactly(before, taken):
        totals[np.abs(totals) <= ROUNDING * before.totals] = 0.0
        counts[np.abs(counts) <= ROUNDING * before.counts] = 0.0
        counts[totals == 0] = 0.0
    if (counts < 0).any():
        g, slot = np.argwhere(counts < 0)[0]
        j = int(np.searchsorted(before.offsets, slot, side="right")) - 1
        value = _value_name(whole.coders[j], int(slot - before.offsets[j]))
        raise impossible(
            f"{whole.schema[j]} has {value} with the class "
            f"{whole.labels.classes.tolist()[g]!r} {taken.counts[g, slot]:g} times in them, but "
            f"{before.counts[g, slot]:g} times in the model"
        )
    if (totals < 0).any():
        label = whole.labels.classes.tolist()[int(np.argmin(totals))]
        raise impossible(f"the class {label!r} has more weight in them than in the model")
    return CountTable(counts, before.offsets, totals)


def _adds_exactly(*tables: CountTable) -> bool:
    """Return whether all sums are whole multiples of one power of two, few enough to be exact."""
    weight_bits = 20  # weights that are multiples of 2**-20 add exactly, up to 2**53 of these
    for bits in (0, weight_bits):
        parts = [np.ldexp(a, bits) for table in tables for a in (table.counts, table.totals)]
        if all(part.max(initial=0) < 2**53 and (part == np.rint(part)).all() for part in parts):
            return True
    return False


def _value_name(coder: Coder, slot: int) -> str:
    if slot == 0:
        return "no value"
    if isinstance(coder, Grid):
        low, high = (float(edge[slot - 1]) for edge in (coder.low, coder.high))
        return f"the value {low!r}" if low == high else f"values from {low!r} to {high!r}"
    return f"the value {coder.values[slot - 1]!r}" if coder is not None else "a value"


def _subtract_moments(whole: Summary, taken: Moments, rest: CountTable) -> Moments:
    """Return the sums without those taken; sums that no rows have are refused."""
    moments = whole.moments - taken
    sums, before = moments.sums, whole.moments.sums[..., 0]
    sums[rest.totals == 0] = 0
    weight, squares = sums[..., 2, 0], sums[..., 1, 0]
    gone = np.abs(weight) <= ROUNDING * before[..., 2]
    wrong = gone & (np.abs(squares) > ROUNDING * before[..., 1])
    weights = np.where(gone, 1.0, weight)
    mean = sums[..., 0, 0] / weights
    wrong |= ~gone & ((weight < 0) | (squares / weights < (1 - ROUNDING) * mean**2))
    if wrong.any():
        k = moments.columns[int(np.argmax(wrong.any(axis=0)))]
        raise impossible(f"{whole.schema[k]} has other values in them")
    sums[gone] = 0
    return moments


def drop_unused(summary: Summary) -> Summary:
    """Return the summary without classes and values that no row has.

    A column without a value has no type. Classes that were announced stay.
    """
    if not summary.closed:
        present = np.flatnonzero(summary.counts.totals > 0)
        labels, groups = keep_labels(summary.labels, present)
        table, sums = summary.counts.select_groups(groups), summary.moments.select_groups(groups)
        summary = replace(summary, labels=labels, counts=table, moments=sums)
    columns, coders = list(summary.schema), list(summary.coders)
    kept: list[NDArray[np.intp]] = []
    for j, coder in enumerate(summary.coders):
        start, stop = summary.counts.offsets[j : j + 2]
        used = np.flatnonzero(summary.counts.values(j).any(axis=0))
        coders[j], order = _keep_values(coder, used, columns[j].order)
        kept.append(np.concatenate(([start], start + 1 + order, [stop - 1])).astype(np.intp))
        if _has_no_value(summary, j, len(used)):
            columns[j], coders[j] = _without_type(columns[j])
    sizes = [len(slots) - EXTRA_SLOTS for slots in kept]
    counts = CountTable(
        np.ascontiguousarray(summary.counts.counts[:, np.concatenate(kept)]),
        slot_offsets(sizes),
        summary.counts.totals,
    )
    schema = mark_whole(Schema(tuple(columns), summary.schema.named), coders)
    wanted, moments = summary.wanted, summary.moments
    left = [k for k, j in enumerate(moments.columns) if j in schema.numeric]
    moments = Moments(tuple(moments.columns[k] for k in left), moments.sums[:, left])
    wanted = Wanted(wanted.counts & schema.numeric, wanted.moments & schema.numeric)
    return replace(
        summary, schema=schema, coders=tuple(coders), counts=counts, moments=moments, wanted=wanted
    )


def _keep_values(
    coder: Coder, used: NDArray[np.intp], declared: Order
) -> tuple[Coder, NDArray[np.intp]]:
    """Return the numbering of some values, and their old places in the new order."""
    if isinstance(coder, Grid):
        low = coder.low[used]
        return Grid(coder.shift, low, low if coder.shift == 0 else coder.high[used]), used
    if isinstance(coder, Categories):
        # Values of several types are in another order than those of one.
        values = order_values((coder.values[k] for k in used), declared)
        return Categories(values), coder.slots(values)[1:] - 1
    return None, used


def _has_no_value(summary: Summary, j: int, n_used: int) -> bool:
    if summary.schema[j].family == "empty" or n_used:
        return False
    if summary.coders[j] is not None:
        return True
    if j not in summary.moments.columns:
        return False
    return not summary.moments.sums[:, summary.moments.columns.index(j), 2].any()


def _without_type(column: Column) -> tuple[Column, Coder]:
    """Return a column of which no value is left; a column of numbers used as categories was
    declared.
    """
    declared = column.kind != natural_kind(column.family)
    if declared:
        return Column(column.name, "categorical", "empty"), Categories(())
    return Column(column.name, "empty", "empty"), None
