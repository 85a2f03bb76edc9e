"""Several small columns as one: a row's cell in their joint table.

Models that visit rows again and again keep them so: one look-up or one increment then serves four
or five columns, in two bytes a row. Codes stay in the block's own order where that is small: the
tables are moved to them, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.common.threads import in_threads
from unnaive.encode.categories import Categories
from unnaive.encode.coding import AnyCoder, column_slots
from unnaive.table import Block

CELLS = 1 << 13  # a joint table of so many cells stays in cache
FEW_RUNS = 4  # of which threads would share the columns, not the runs


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
    speaking = [j for j, coder in enumerate(coders) if coder is not None]
    places = [np.zeros(1, dtype=np.intp)] * len(coders)
    # By the coders' widths, so that evidence is added in the same order in every block.
    widths = [_width(coders[j], gaps[j]) for j in speaking]
    positions = joint_runs(widths, max(CELLS // n_groups, 1))
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
    list(in_threads(fill, range(len(runs)), n_jobs if len(runs) >= FEW_RUNS else 1))
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
