"""The sums of many periods laid end to end, as files keep them: what periods share is there once.

Columns, classes and categories are mostly the same in all periods. They are listed in a `Catalog`,
and periods name them by their numbers in it; what is left of a period are numbers, and those of
all periods are a few arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.counts import CountTable, Moments, Summary, Wanted
from unnaive.counts.exact import LIMBS
from unnaive.counts.summary import Coder
from unnaive.counts.table import EXTRA_SLOTS
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.encode.grid import check_cells
from unnaive.pack import PackError
from unnaive.pack.known import LEARNED
from unnaive.pack.objects import Objects, checked
from unnaive.pack.values import Aside, encode
from unnaive.table import Schema

NO_CODER, OWN_GRID, SHARED = 0, 1, 2  # how a column is numbered; from 2 on, by shared categories
NARROW = (np.dtype("u1"), np.dtype("<u2"), np.dtype("<u4"), np.dtype("<f8"))  # types of counts
OBJECT_BYTES, REFERENCE_BYTES, PART_OBJECTS = 256, 32, 4  # memory that reading takes, at most


@dataclass(frozen=True, slots=True)
class Form:
    """What a pass has collected, and how: as in `Summary`; ``moments`` are columns."""

    wanted: Wanted
    moments: tuple[int, ...]
    grid_limit: int
    closed: bool


CatalogItem: TypeAlias = Schema | Labels | Form | Categories


class Catalog:
    """What sums of periods share, each item once, in the order in which it came."""

    def __init__(self) -> None:
        self.items: list[CatalogItem] = []
        self._by_content: dict[bytes, int] = {}
        self._by_identity: dict[int, tuple[CatalogItem, int]] = {}  # kept, lest ids be reused

    def __len__(self) -> int:
        return len(self.items)

    def place(self, item: CatalogItem) -> int:
        """The number of an item, which is added if no equal one is there."""
        known = self._by_identity.get(id(item))
        if known is None:
            number = self._by_content.setdefault(_content(item), len(self.items))
            if number == len(self.items):
                self.items.append(item)
            self._by_identity[id(item)] = known = item, number
        return known[1]

    def add(self, item: CatalogItem) -> None:
        """Add the next item of a file, also if an equal one is there: numbers are the file's."""
        number = len(self.items)
        self.items.append(item)
        self._by_content.setdefault(_content(item), number)
        self._by_identity[id(item)] = item, number

    def named(self, number: int, kind: type) -> Any:
        """The item of a number, which must be of a kind."""
        item = self.items[number] if 0 <= number < len(self.items) else None
        if not isinstance(item, kind):
            what = "is not there" if item is None else f"is a {type(item).__name__}"
            raise PackError(f"number {number} of what periods share {what}, not a {kind.__name__}.")
        return item

    def shorten(self, length: int) -> None:
        """Forget what was added after so many items."""
        del self.items[length:]
        self._by_content = {k: n for k, n in self._by_content.items() if n < length}
        self._by_identity = {k: v for k, v in self._by_identity.items() if v[1] < length}


def _content(item: CatalogItem) -> bytes:
    """A digest that tells items apart: 1, 1.0 and true are equal, and not the same."""
    aside = Aside()
    text = json.dumps(encode(RECORDS.pack(item, type(item)), aside))
    digest = hashlib.sha256(text.encode())
    for array in aside.arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


class _Reference(NamedTuple):
    """Columns of `Stack.references`; those of coders follow."""

    schema: int = 0
    labels: int = 1
    form: int = 2
    coders: int = 3


AT = _Reference()


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The sums of periods that have the same columns, but for what is in the catalog.

    Attributes
    ----------
    references : array of shape (parts, 3 + columns)
        Numbers of schema, labels and form in the catalog; then for each column 0 where it has no
        coder, 1 for a grid of its own, or 2 more than the number of its categories.
    rows : array of shape (parts,)
        Rows of each part.
    shifts, sizes : arrays of shape (grids,)
        Bits dropped and cells of each grid, part by part and column by column.
    low, high : arrays
        The cells of all grids; ``high`` of those that drop bits.
    counts : array
        The tables of all parts, groups x slots each, in the narrowest type that holds them all.
    totals, limbs : arrays
        Of all parts, one after the other.
    """

    references: NDArray[np.int32]
    rows: NDArray[np.int64]
    shifts: NDArray[np.uint8]
    sizes: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[Any]
    totals: NDArray[np.float64]
    limbs: NDArray[np.int64]

    @property
    def cost(self) -> int:
        """Most bytes that `unstack_sums` takes beside what was read."""
        objects = PART_OBJECTS * len(self.references) + len(self.shifts)
        given = REFERENCE_BYTES * self.references.size + self.limbs.nbytes
        return OBJECT_BYTES * objects + given + 8 * self.counts.size

    def check(self) -> None:
        """Refuse arrays that do not fit together, or numbers that no pass leaves."""
        shape, grids = self.references.shape, (len(self.shifts),)
        expect(len(shape) == 2 and shape[1] >= AT.coders, "periods name no columns.")
        expect((self.references >= 0).all(), "a number of what periods share is below 0.")
        check_values("rows", self.rows, (shape[0],), 0, 2**62)
        check_values("shifts", self.shifts, grids, 0, 63)
        check_values("sizes", self.sizes, grids, 0, GRID_LIMIT)
        n_own = np.count_nonzero(self.references[:, AT.coders :] == OWN_GRID)
        expect(n_own == len(self.shifts), "columns have more or fewer grids than there are.")
        coarse = self.sizes[self.shifts > 0].sum(dtype=np.int64)
        expect(self.low.shape == (self.sizes.sum(dtype=np.int64),), "grids have other cells.")
        expect(self.high.shape == (coarse,), "cells have no end.")
        expect(self.counts.ndim == 1 and self.counts.dtype in NARROW, "counts are no counts.")
        if self.counts.dtype.kind == "f":
            check_values("counts", self.counts, self.counts.shape, 0.0, HEAVIEST)
        check_values("totals", self.totals, (self.totals.size,), 0.0, HEAVIEST)
        expect(self.limbs.ndim == 1, "sums are not in one line.")


RECORDS = Objects(*LEARNED, Form, Stack)


def stack_sums(parts: Sequence[Summary], catalog: Catalog) -> Stack:
    """The sums of periods as a stack; what is new to the catalog is added to it."""
    references, grids = [], []
    for part in parts:
        form = Form(part.wanted, part.moments.columns, part.grid_limit, part.closed)
        line = [catalog.place(part.schema), catalog.place(part.labels), catalog.place(form)]
        for coder in part.coders:
            if isinstance(coder, Grid):
                grids.append(coder)
                line.append(OWN_GRID)
            else:
                line.append(NO_CODER if coder is None else SHARED + catalog.place(coder))
        references.append(line)
    n_columns = len(parts[0].coders) if parts else 0
    return Stack(
        np.array(references, dtype=np.int32).reshape(len(parts), AT.coders + n_columns),
        np.array([part.n_rows for part in parts], dtype=np.int64),
        np.array([grid.shift for grid in grids], dtype=np.uint8),
        np.array([grid.size for grid in grids], dtype=np.int32),
        _joined([grid.low for grid in grids], np.float64),
        _joined([grid.high for grid in grids if grid.shift], np.float64),
        _narrowed([part.counts.counts for part in parts]),
        _joined([part.counts.totals for part in parts], np.float64),
        _joined([part.moments.limbs.ravel() for part in parts], np.int64),
    )


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)


def _narrowed(tables: Sequence[NDArray[np.float64]]) -> NDArray[Any]:
    """Tables end to end, in the first type that holds every count as it is."""
    flat = [table.ravel() for table in tables]
    most = max((table.max(initial=0.0) for table in flat), default=0.0)
    for dtype in NARROW[:-1]:
        if most <= np.iinfo(dtype).max:
            joined = np.concatenate(flat or [np.empty(0)], dtype=dtype, casting="unsafe")
            ends = np.cumsum([len(table) for table in flat])[:-1]
            same = zip(np.split(joined, ends), flat, strict=True) if flat else ()
            if all((one == other).all() for one, other in same):
                return joined
            break  # some count is no whole number
    return _joined(flat, np.float64)


def unstack_sums(stack: Stack, catalog: Catalog) -> list[Summary]:
    """The sums of each period, checked as `Summary.check` does.

    One period of each make is checked whole; of the others, only numbers can be wrong, and those of
    all periods are looked at together.
    """
    coders = _coders(stack, catalog)
    forms = [catalog.named(n, Form) for n in stack.references[:, AT.form].tolist()]
    labels = [catalog.named(n, Labels) for n in stack.references[:, AT.labels].tolist()]
    schemas = [catalog.named(n, Schema) for n in stack.references[:, AT.schema].tolist()]
    groups = np.array([len(own) for own in labels], dtype=np.int64)
    tables = _tables(stack, catalog, groups)
    moments = _moments(stack, forms, groups)
    sums = [
        Summary(schema, own, numbering, table, moment, n, form.wanted, form.grid_limit, form.closed)
        for schema, own, numbering, table, moment, n, form in zip(
            schemas, labels, coders, tables, moments, stack.rows.tolist(), forms, strict=True
        )
    ]
    lines = map(tuple, stack.references.tolist())
    for summary in dict(zip(lines, sums, strict=True)).values():
        summary.check()
    return sums


def _coders(stack: Stack, catalog: Catalog) -> list[tuple[Coder, ...]]:
    """The coders of each part; one tuple for all parts that have the same."""
    grids = iter(_grids(stack))
    known: dict[tuple[int, ...], tuple[Coder, ...]] = {}
    each = []
    for line in stack.references[:, AT.coders :].tolist():
        key = tuple(line)
        coders = known.get(key)
        if coders is None:
            coders = tuple(
                None if n == NO_CODER
                else next(grids) if n == OWN_GRID
                else catalog.named(n - SHARED, Categories)
                for n in line
            )  # fmt: skip
            if OWN_GRID not in key:
                known[key] = coders
        each.append(coders)
    return each


def _grids(stack: Stack) -> list[Grid]:
    ends = np.cumsum(stack.sizes, dtype=np.int64)
    begins = ends - stack.sizes
    check_cells(stack.low, begins)
    grids, n_coarse = [], 0
    edges = zip(begins.tolist(), ends.tolist(), stack.shifts.tolist(), strict=True)
    for begin, end, shift in edges:
        low = stack.low[begin:end]
        if not shift:
            grids.append(Grid(0, low, low))
            continue
        high = stack.high[n_coarse : n_coarse + end - begin]
        n_coarse += end - begin
        grids.append(checked(partial(Grid, shift, low, high), "a grid"))
    return grids


def _tables(stack: Stack, catalog: Catalog, groups: NDArray[np.int64]) -> list[CountTable]:
    """The counts of each part: views of all of them."""
    coders = stack.references[:, AT.coders :]
    widths = np.zeros(coders.shape, dtype=np.int64)
    widths[coders == OWN_GRID] = stack.sizes
    shared = np.unique(coders[coders >= SHARED])
    sizes = [catalog.named(n - SHARED, Categories).size for n in shared.tolist()]
    named = coders >= SHARED
    widths[named] = np.array(sizes, dtype=np.int64)[np.searchsorted(shared, coders[named])]
    offsets = np.zeros((len(coders), coders.shape[1] + 1), dtype=np.intp)
    np.cumsum(widths + EXTRA_SLOTS, axis=1, out=offsets[:, 1:])
    ends, group_ends = np.cumsum(offsets[:, -1] * groups), np.cumsum(groups)
    expect(len(stack.counts) == ends[-1:].sum(), "counts do not match the columns.")
    expect(len(stack.totals) == group_ends[-1:].sum(), "totals do not match the classes.")
    counts = stack.counts.astype(np.float64, copy=False)
    tables = zip(np.split(counts, ends[:-1]), np.split(stack.totals, group_ends[:-1]), strict=True)
    return [
        CountTable(table.reshape(len(totals), -1), edges, totals)
        for (table, totals), edges in zip(tables, offsets, strict=False)
    ]


def _moments(stack: Stack, forms: Sequence[Form], groups: NDArray[np.int64]) -> list[Moments]:
    """The moments of each part, those of the same columns checked together."""
    shapes = [(n, len(f.moments), 3, LIMBS) for n, f in zip(groups.tolist(), forms, strict=True)]
    ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=np.int64)
    expect(len(stack.limbs) == ends[-1:].sum(), "moments do not match the classes.")
    limbs = [
        one.reshape(shape)
        for one, shape in zip(np.split(stack.limbs, ends[:-1]), shapes, strict=False)
    ]
    moments = [Moments(f.moments, one) for f, one in zip(forms, limbs, strict=True)]
    for columns in {f.moments for f in forms}:
        own = [moment.limbs for moment in moments if moment.columns == columns]
        checked(partial(Moments, columns, np.concatenate(own)), "moments")
    return moments
