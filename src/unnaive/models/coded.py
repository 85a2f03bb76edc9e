"""Coded rows at the driver: what trees, forests and the flagship learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Summary
from unnaive.counts.encoded_rows import check_same_rows
from unnaive.counts.summary import row_factor
from unnaive.discretize.rules import group_rare
from unnaive.encode import Categories, Grid, Labels
from unnaive.encode.coders import AnyCoder, coder_sizes, column_slots
from unnaive.encode.hashing import draw_uniform
from unnaive.encode.labels import groups_of
from unnaive.table import Block, Source
from unnaive.table.codes import code_dtype
from unnaive.table.storage import join, join_records, keep, taken


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
