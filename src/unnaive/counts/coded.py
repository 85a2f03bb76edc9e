"""Coded rows: counted again and again, with other weights or draws.

A model that visits its rows more than once keeps them as joint codes. Each visit counts runs of
columns together and takes single columns from the joint tables afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unnaive.counts import kernels
from unnaive.counts.summary import Summary
from unnaive.counts.table import EXTRA_SLOTS, CountTable
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.encode.coding import AnyCoder, coder_sizes
from unnaive.encode.draws import LANE_BITS, LANES
from unnaive.encode.joint import JointCodes, joint_codes
from unnaive.encode.labels import groups_of
from unnaive.table import Block
from unnaive.table.passes import changed_rows
from unnaive.table.storage import Storage, stretches

ROWS = 1 << 16  # rows of one task; fixed, so that sums never depend on the number of threads
SAME = 1e-9  # relative difference of sums of weights that counts as none
GRAIN = 2.0**-20  # weights that models make are multiples of this: they add exactly in any order


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

    def distinct(self, n_groups: int) -> CodedRows:
        """Rows that are equal, class and all, as one with their weight; numbered from 0.

        The same rows where columns do not share one code, or where that would not make them few.
        """
        n_cells = int(self.joint.starts[-1])
        if len(self.joint.runs) != 1 or 8 * n_cells * n_groups > self.n_rows:
            return self
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        counts = self.count(slice(0, self.n_rows), n_groups, weight).reshape(n_cells, n_groups)
        cells, groups = np.nonzero(counts)
        codes = cells[None].astype(self.joint.codes.dtype)
        return CodedRows(replace(self.joint, codes=codes), groups, counts[cells, groups], None)

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
