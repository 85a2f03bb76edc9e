"""Coded rows: counted again and again, with other weights or draws.

A model that visits its rows more than once keeps them as joint codes. Each visit counts runs of
columns together and takes single columns from the joint tables afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unnaive.common.kernels import kernel
from unnaive.common.threads import in_threads
from unnaive.counts import kernels
from unnaive.counts.summary import Summary
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.coders import AnyCoder, coder_sizes, column_slots
from unnaive.encode.hashing import LANE_BITS, LANES
from unnaive.encode.labels import groups_of
from unnaive.table import Block
from unnaive.table.records import Storage, changed_rows, stretches

ROWS = 1 << 16  # rows of one task; fixed, so that sums never depend on the number of threads
SAME = 1e-9  # relative difference of sums of weights that counts as none
GRAIN = 2.0**-20  # weights that models make are multiples of this: they add exactly in any order


@dataclass(frozen=True, slots=True, eq=False)
class JointCodes:
    """Rows of a block, a few columns at a time.

    Attributes
    ----------
    runs : tuple of tuples of int
        Columns that share a code; columns without a coder are in none.
    places : tuple
        For each column, where its own slots (missing if there are any, then values) belong among
        the coder's.
    starts : array of shape (runs + 1,)
        Where the cells of each run begin when joint tables are laid end to end.
    codes : array of shape (runs, rows)
        Cell of each row in the joint table of a run, the last column's slots varying fastest.
    """

    PER_ROW: ClassVar = {"codes": 1}

    runs: tuple[tuple[int, ...], ...]
    places: tuple[NDArray[np.intp], ...]
    starts: NDArray[np.intp]
    codes: NDArray[np.uint16]


def joint_runs(
    widths: Sequence[int | None], cells: int, most: int | None = None
) -> list[list[int]]:
    """Neighbouring columns whose joint table has at most so many cells; None stands alone."""
    runs: list[list[int]] = []
    size = cells + 1
    for j, width in enumerate(widths):
        fits = width is not None and size * width <= cells
        if fits and (most is None or len(runs[-1]) < most):
            runs[-1].append(j)
            size *= width or 1
        else:
            runs.append([j])
            size = cells + 1 if width is None else width
    return runs


def joint_codes(
    block: Block,
    coders: Sequence[AnyCoder],
    gaps: Sequence[bool],
    n_groups: int,
    n_jobs: int | None = None,
) -> JointCodes:
    """Code the rows of a block, whose values the coders have all seen.

    ``gaps`` says which columns have missing values: the others need no room for them.
    """
    few_runs = 4  # of which threads would share the columns, not the runs
    speaking = [j for j, coder in enumerate(coders) if coder is not None]
    places = [np.zeros(1, dtype=np.intp)] * len(coders)
    # By the coders' widths, so that evidence is added in the same order in every block.
    widths = [_width(coders[j], gaps[j]) for j in speaking]
    # A joint table of 2**13 cells stays in cache.
    positions = joint_runs(widths, max((1 << 13) // n_groups, 1))
    # A table without a value has one run of no columns: all rows are in its one cell.
    runs = tuple(tuple(speaking[k] for k in run) for run in positions) or ((),)
    codes = np.zeros((len(runs), block.n_rows), dtype=np.uint16)

    def fill(r: int) -> None:
        columns = in_threads(lambda j: _own_slots(block, j, coders[j], gaps[j]), runs[r], n_jobs)
        for j, (column, wrap, place) in zip(runs[r], columns, strict=True):
            mask = np.uint16(0xFF if column.dtype == np.uint8 else 0xFFFF)
            _append_slots(column, np.uint16(wrap), mask, np.uint16(len(place) & 0xFFFF), codes[r])
            places[j] = place

    # Columns of one run at a time: their own codes are not held longer than that.
    list(in_threads(fill, range(len(runs)), n_jobs if len(runs) >= few_runs else 1))
    cells = [math.prod(len(places[j]) for j in run) for run in runs]
    starts = np.concatenate(([0], np.cumsum(cells, dtype=np.intp)))
    return JointCodes(runs, tuple(places), starts, codes)


def _width(coder: AnyCoder, gaps: bool) -> int:
    """Slots of one column in any block: missing if there are gaps, then values."""
    assert coder is not None
    return coder.size + gaps


def _own_slots(
    block: Block, j: int, coder: AnyCoder, gaps: bool
) -> tuple[NDArray[Any], int, NDArray[np.intp]]:
    """Codes of one column, what to add to number them from 0, and where these slots belong."""
    assert coder is not None
    if isinstance(coder, Categories):
        raw = block.categorical(j)
        if len(raw.values) <= coder.size and len(raw.values) < 2**16 - 1:
            place = coder.slots(raw.values)
            return (raw.codes, 1, place) if gaps else (raw.codes, 0, place[1:])
    first = 0 if gaps else 1
    return column_slots(block, j, coder), -first & 0xFFFF, np.arange(first, coder.size + 1)


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Rows of one block: their codes, classes, weights (None: all 1) and numbers (None: one after
    the other from that of the first row on; such rows are not joined).
    """

    PER_ROW: ClassVar = {"groups": 0, "weight": 0, "numbers": 0}

    joint: JointCodes
    groups: NDArray[Any]
    weight: NDArray[np.float64] | None
    numbers: NDArray[np.int64] | None
    first_row: int = 0

    @property
    def n_rows(self) -> int:
        return len(self.groups)

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Number of each row in the whole table."""
        return self.numbers_of(slice(0, self.n_rows))

    def numbers_of(self, part: slice) -> NDArray[np.int64]:
        """Numbers of a stretch of rows."""
        if self.numbers is not None:
            return self.numbers[part]
        return np.arange(self.first_row + part.start, self.first_row + part.stop)

    def count(self, part: slice, n_groups: int, weight: NDArray[Any]) -> NDArray[Any]:
        """Joint tables of a stretch of rows, laid end to end: cells x groups, in one line."""
        out = self.no_counts(n_groups, weight.dtype)
        self.add_counts(part, n_groups, weight, out)
        return out

    def no_counts(self, n_groups: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Joint tables of no rows."""
        return np.zeros(self.joint.starts[-1] * n_groups, dtype=dtype)

    def add_counts(
        self, part: slice, n_groups: int, weight: NDArray[Any], out: NDArray[Any]
    ) -> None:
        """Add the rows of a stretch to joint tables (OUT)."""
        codes, groups = self.joint.codes[:, part], self.groups[part]
        kernels.count_cells(codes, self.joint.starts, groups, n_groups, weight, out)

    def take(self, rows: NDArray[np.intp], storage: Storage) -> CodedRows:
        """The rows at some places; all where there are as many."""
        if len(rows) == self.n_rows:
            return self
        codes = storage.empty((len(self.joint.codes), len(rows)), self.joint.codes.dtype)
        np.take(self.joint.codes, rows, axis=1, out=codes, mode="clip")
        weight = None if self.weight is None else storage.take(self.weight, rows)
        groups, numbers = storage.take(self.groups, rows), storage.take(self.row_ids, rows)
        return CodedRows(replace(self.joint, codes=codes), groups, weight, numbers)

    def stretches(self, size: int = ROWS) -> list[slice]:
        """The rows, a task's worth at a time."""
        return list(stretches(self.n_rows, size))


def row_coder(
    coders: Sequence[AnyCoder],
    counts: CountTable,
    labels: Labels,
    factor: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Callable[[Block], CodedRows]:
    """What codes the rows of a block; ``factor`` multiplies the weights of each class's rows.

    ``counts`` are those of the rows, in the coders' slots: they tell which columns have gaps.
    """
    gaps = [bool(counts.attribute(j)[:, 0].any()) for j in range(len(coders))]

    def code(block: Block) -> CodedRows:
        assert block.target is not None
        groups = groups_of(labels, block.target)
        weight = weigh_classes(block.weight, groups, factor)
        joint = joint_codes(block, coders, gaps, len(labels), n_jobs)
        numbers = None if block.is_consecutive else block.row_ids
        return CodedRows(joint, groups, weight, numbers, block.first_row)

    return code


def weigh_classes(
    weight: NDArray[np.float64] | None, groups: NDArray[Any], factor: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Weights of rows, multiplied by the factors of their classes; None where all are 1."""
    if (factor == 1).all():
        return weight
    return factor[groups] if weight is None else weight * factor[groups]


def count_rows(rows: CodedRows, coders: Sequence[AnyCoder], n_groups: int) -> CountTable:
    """Return the counts of rows in the slots of coders."""
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    parts = (rows.count(part, n_groups, weight[part]) for part in rows.stretches())
    return table_of(rows, coders, n_groups, parts)


def table_of(
    rows: CodedRows,
    coders: Sequence[AnyCoder],
    n_groups: int,
    tables: Iterable[NDArray[np.float64]],
) -> CountTable:
    """Counts of rows in the slots of coders, given joint tables of stretches of them."""
    table = CountTable.empty(n_groups, coder_sizes(coders))
    whole = rows.no_counts(n_groups)
    for counts in tables:
        whole += counts
    add_marginals(rows.joint, whole, table)
    return table


def add_marginals(joint: JointCodes, whole: NDArray[Any], table: CountTable) -> None:
    """Add single columns of joint tables laid end to end, moved to the coders' slots."""
    whole = whole.reshape(-1, table.n_groups)
    starts = joint.starts
    for r, run in enumerate(joint.runs):
        widths = np.array([len(joint.places[j]) for j in run], dtype=np.intp)
        columns = np.zeros((len(run), widths.max(initial=0), table.n_groups))
        kernels.marginals(whole[starts[r] : starts[r + 1]], widths, columns)
        for j, width, column in zip(run, widths, columns, strict=True):
            np.add.at(table.attribute(j).T, joint.places[j], column[:width])
    table.totals[:] += whole[: starts[1]].sum(axis=0)  # every row has one cell in any run


def check_same_rows(
    summary: Summary,
    coders: Sequence[AnyCoder],
    class_weight: NDArray[np.float64],
    slots: Iterable[NDArray[Any]],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
) -> None:
    """Raise `ChangedRowsError` if rows that were read again count otherwise than at first.

    Parameters
    ----------
    summary : Summary
        Of the first pass.
    coders, slots : sequences, one for each column
        Coders whose values are unions of those of the first pass, and the slots of all rows.
    weight : array or None
        Weights of the rows, multiplied by ``class_weight`` of their class.
    """
    sizes = coder_sizes(coders)
    now = count_slots(slots, groups, weight, sizes, len(summary.labels))
    places = [_slot_map(*pair) for pair in zip(summary.coders, coders, strict=True)]
    first = summary.counts.coarsen(places, sizes).scale_groups(class_weight)
    check_same_counts(summary.schema.names, first, now)


def count_slots(
    slots: Iterable[NDArray[Any]],
    groups: NDArray[Any],
    weight: NDArray[np.float64] | None,
    sizes: Sequence[int],
    n_groups: int,
) -> CountTable:
    """Return the counts of rows, whose slots come column by column."""
    table, columns = CountTable.empty(n_groups, sizes), list(slots)
    for part in stretches(len(groups)):
        own, each = groups[part].astype(np.intp), None if weight is None else weight[part]
        table.totals[:] += np.bincount(own, each, n_groups)
        for j, column in enumerate(columns):
            counts = table.attribute(j)
            cells = own * counts.shape[1] + column[part]
            counts += np.bincount(cells, each, counts.size).reshape(counts.shape)
    return table


def _slot_map(fine: AnyCoder, coder: AnyCoder) -> NDArray[np.intp] | None:
    """Return the slot of a coder that each slot of a finer one becomes; None if it is the same."""
    if isinstance(fine, Grid) and isinstance(coder, Bins):
        return coder.place(fine.low).astype(np.intp)
    if isinstance(fine, Categories) and isinstance(coder, Categories) and coder is not fine:
        return np.append(coder.slots(fine.values), coder.size + 1)
    return None


def check_same_counts(names: Sequence[Any], first: CountTable, now: CountTable) -> None:
    """Raise `ChangedRowsError` if two passes over the same rows have different counts.

    Sums of real-valued weights depend on the order of the rows, and agree to rounding only.
    """
    few = 1e-3 * SAME * float(first.totals.sum())
    if not np.allclose(first.totals, now.totals, SAME, few):
        raise changed_rows("the labels or weights are not those of the first pass")
    for j, name in enumerate(names):
        before, after = first.attribute(j), now.attribute(j)
        is_coded = before.shape[1] > EXTRA_SLOTS  # a column without values need not be
        if is_coded and not np.allclose(before, after, SAME, few):
            raise changed_rows(
                f"column {name!r} has other values, or the same values with other labels, than in "
                "the first pass"
            )


def add_lanes(words: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """Add sums of draws that share words (words x cells) to those of single bags (bags x cells)."""
    kernels.add_lanes(words, LANES, LANE_BITS, out)


@kernel
def _append_slots(
    codes: NDArray[Any],
    wrap: np.uint16,
    mask: np.uint16,
    width: np.uint16,
    joint: NDArray[np.uint16],
) -> None:
    """Joint codes (IN, OUT) extended by the slots of one more column (IN).

    A slot for which there is no room is taken for the last, so that no cell is beyond the table.
    """
    last = np.uint16(width - np.uint16(1))
    for i in range(len(codes)):
        slot = min(np.uint16(np.uint16(np.uint16(codes[i]) + wrap) & mask), last)
        joint[i] = np.uint16(np.uint16(joint[i] * width) + slot)
