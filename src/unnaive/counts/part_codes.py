"""Categories of many parts of the rows counted at once, in the codes in which they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import kernels, part_kernels
from unnaive.encode.categories import Categories, Order, categories_of
from unnaive.encode.joint import joint_runs
from unnaive.table.codes import RawCodes

FEW = 4  # times as many rows as cells of a table: it is filled in their order


@dataclass(frozen=True, slots=True, eq=False)
class PartTables:
    """Counts of one categorical column, parts and classes x raw slots, and what they stand for.

    Many parts have the same values: a pattern, whose categories are named once.
    """

    tables: NDArray[Any]
    patterns: NDArray[np.intp]  # of each part
    coders: list[Categories]  # of each pattern
    slots: NDArray[np.intp]  # of each pattern and raw slot

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many categories each part has."""
        return np.array([coder.size for coder in self.coders], dtype=np.intp)[self.patterns]

    def part_coders(self, parts: slice) -> list[Categories]:
        """The categories of some parts."""
        return [self.coders[k] for k in self.patterns[parts].tolist()]


def count_codes(
    raw: dict[int, RawCodes],
    orders: dict[int, Order],
    cells: NDArray[np.int32],
    shape: tuple[int, int],
    weight: NDArray[np.float64] | None,
    n_jobs: int | None,
) -> dict[int, PartTables]:
    """Counts of the columns (``raw``, by position) whose tables are small beside the rows.

    Parameters
    ----------
    raw, orders : dict
        Codes and declared order of each column.
    cells : array
        Part times the number of classes, plus class, of each row.
    shape : tuple of int
        How many parts and classes there are.
    weight : array or None
    n_jobs : int or None
    """
    n_cells, n_rows = shape[0] * shape[1], len(cells)
    small = [j for j, c in raw.items() if (len(c.values) + 1) * n_cells <= FEW * n_rows]
    in_pairs = {j for j in small if weight is None and raw[j].codes.dtype == np.uint8}
    widths = [len(raw[j].values) + 1 if j in in_pairs else None for j in small]
    runs = [[small[k] for k in run] for run in joint_runs(widths, n_rows // n_cells, 2)]

    def count(run: list[int]) -> list[PartTables]:
        columns = [raw[j] for j in run]
        counted = _count_pair(columns, cells, n_cells) if len(run) == 2 else [
            _count_one(columns[0], cells, n_cells, weight)
        ]  # fmt: skip
        return [
            _name(table, column.values, orders[j], shape)
            for j, column, table in zip(run, columns, counted, strict=True)
        ]

    tables = in_threads(count, runs, n_jobs)
    return {
        j: table for run, each in zip(runs, tables, strict=True)
        for j, table in zip(run, each, strict=True)
    }  # fmt: skip


def _count_pair(
    columns: list[RawCodes], cells: NDArray[np.int32], n_cells: int
) -> list[NDArray[np.uint32]]:
    n_a, n_b = (len(column.values) + 1 for column in columns)
    joint = np.zeros((n_cells, n_a * n_b), dtype=np.uint32)
    codes = (column.codes for column in columns)
    part_kernels.count_pair(*codes, n_b, cells, n_a * n_b, joint.reshape(-1))
    tables = [np.zeros((n_cells, n), dtype=np.uint32) for n in (n_a, n_b)]
    part_kernels.part_pair(joint, *tables)
    return tables


def _count_one(
    column: RawCodes,
    cells: NDArray[np.int32],
    n_cells: int,
    weight: NDArray[np.float64] | None,
) -> NDArray[Any]:
    shape, mask = (len(column.values) + 1, n_cells), np.iinfo(column.codes.dtype).max
    if weight is None:
        rows = np.zeros(shape, dtype=np.uint32)
        kernels.count_one(column.codes, 1, mask, cells, rows)
        return np.ascontiguousarray(rows.T)
    weights = np.zeros(shape)
    kernels.count_weighted(column.codes, 1, mask, cells, weight, weights)
    return np.ascontiguousarray(weights.T)


def _name(table: NDArray[Any], values: Any, order: Order, shape: tuple[int, int]) -> PartTables:
    """The categories of every part, in their order."""
    present = np.einsum("pcs->ps", table.reshape(*shape, -1))[:, 1:] > 0
    if present.all():
        different, patterns = present[:1], np.zeros(len(present), dtype=np.intp)
    else:
        number: dict[bytes, int] = {}
        packed = np.packbits(present, axis=1)
        each = [number.setdefault(row.tobytes(), len(number)) for row in packed]
        patterns = np.array(each, dtype=np.intp)
        different = present[np.unique(patterns, return_index=True)[1]]
    coders = [categories_of(values, here, order) for here in different]
    slots = np.stack([coder.slots(values) for coder in coders])
    return PartTables(table, patterns, coders, slots)
