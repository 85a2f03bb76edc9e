"""Rows as EM sees them: distinct, column by column, numbers standardized, categories packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Categories, assign_folds, column_slots, hold_out, value_keys
from unnaive.models.latent.state import Packs, Rows
from unnaive.table import Block, Source, join

MOST_CELLS = 256  # of a pack, and no more than an eighth of the rows: tables are made every step


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The numeric columns that vary, their means and standard deviations."""

    columns: tuple[int, ...]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Latent:
    """A table ready for EM.

    Attributes
    ----------
    rows : Rows
    packs : Packs
    slots : array of shape (categorical columns, rows)
    shares : array
        How frequent the value of each slot is in its column.
    keys : array of shape (rows,)
        A number for each distinct row, from its values.
    offset : float
        Log-likelihood of all rows in the units of the columns, less that of standardized values.
    """

    rows: Rows
    packs: Packs
    slots: NDArray[np.uint16]
    shares: NDArray[np.float64]
    keys: NDArray[np.uint64]
    offset: float

    @property
    def n_rows(self) -> int:
        return len(self.keys)

    @property
    def n_folds(self) -> int:
        """Folds that hold something out; one more holds out nothing."""
        return len(self.rows.held) - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Rows of a source: slots and numbers of the columns, weights, and the rows' own numbers."""

    PER_ROW: ClassVar = {"slots": 0, "values": 0, "weight": 0, "row_ids": 0}

    slots: list[NDArray[Any]]
    values: list[NDArray[np.float64]]
    weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]


def read_rows(
    source: Source,
    coders: Sequence[Categories | None],
    scale: Scale,
    factor: float,
    cv: Any,
    seed: int,
    n_rows: int,
) -> Latent:
    """Encode the rows once: every step of EM then only adds and multiplies.

    ``cv`` says what is held out: a number of folds, dealt by the rows' values; anything else that
    `assign_folds` reads; or None, nothing.
    """
    coded = {j: coder for j, coder in enumerate(coders) if coder is not None}

    def read(block: Block) -> _Values:
        slots = [column_slots(block, j, coder) for j, coder in coded.items()]
        values = [block.numeric(j) for j in scale.columns]
        return _Values(slots, values, block.weight, block.row_ids)

    found = join(source, read, n_rows)
    slots, values = found.slots, found.values
    keys = value_keys([*slots, *values], n_rows)
    first, place = _distinct(keys, [*slots, *values])
    n = len(first)
    each = np.full(n_rows, factor) if found.weight is None else factor * found.weight
    weight = np.bincount(place, each, n).astype(np.float64)
    table = np.empty((len(values), n))
    present: list[NDArray[np.float64]] = []
    gap = np.full(len(values), -1, dtype=np.intp)
    for k, column in enumerate(values):
        table[k] = (column[first] - scale.mean[k]) / scale.deviation[k]
        missing = np.isnan(table[k])
        if missing.any():
            table[k, missing] = 0.0
            gap[k] = len(present)
            present.append(np.where(missing, 0.0, 1.0))
    held = np.zeros((1, n))
    if isinstance(cv, int):
        held = np.vstack((hold_out(seed, keys[first], weight, cv), held))
    elif cv is not None:
        folds, n_folds = assign_folds(cv, seed, found.row_ids, None)
        dealt = np.bincount(folds * n + place, each, n_folds * n).reshape(n_folds, n)
        held = np.vstack((dealt, held))
    picked = np.array([s[first] for s in slots], dtype=np.uint16).reshape(len(slots), n)
    packs, cells = _pack(picked, np.array([coder.size + 1 for coder in coded.values()], np.intp))
    there = np.array(present).reshape(len(present), n)
    rows = Rows(table, gap, there, cells, weight, held)
    logs = np.log(scale.deviation)
    filled = np.array([weight @ there[g] if g >= 0 else weight.sum() for g in gap])
    return Latent(
        rows,
        packs,
        picked,
        _shares(picked, weight, packs.width),
        keys[first],
        -float((logs * filled).sum()),
    )


def _distinct(
    keys: NDArray[np.uint64], columns: Sequence[NDArray[Any]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One of each set of equal rows, in the order of their keys, and the set of every row."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    pairs = np.flatnonzero(same)
    for column in columns if len(pairs) else ():  # equal keys are equal rows, but for bad luck
        a, b = column[order[pairs]], column[order[pairs + 1]]
        same[pairs] &= (a == b) | ((a != a) & (b != b))
    new = np.concatenate(([True], ~same))
    place = np.empty(len(keys), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def _pack(slots: NDArray[np.uint16], widths: NDArray[np.intp]) -> tuple[Packs, NDArray[np.uint16]]:
    """Neighbouring columns as one, while the cells of their combinations are few."""
    most = min(MOST_CELLS, slots.shape[1] // 8)
    pack, divisor = np.zeros(len(widths), np.intp), np.ones(len(widths), np.intp)
    sizes: list[int] = []
    cells: list[NDArray[np.uint16]] = []
    for c, width in enumerate(widths.tolist()):
        if sizes and sizes[-1] * width <= most:
            divisor[c] = sizes[-1]
            cells[-1] = cells[-1] + slots[c] * np.uint16(sizes[-1])
            sizes[-1] *= width
        else:
            sizes.append(width)
            cells.append(slots[c])
        pack[c] = len(sizes) - 1
    start, offset = _edges(sizes), _edges(widths)
    packed = np.array(cells, dtype=np.uint16).reshape(len(cells), slots.shape[1])
    return Packs(start, pack, divisor, widths, offset), packed


def _edges(sizes: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.intp)))).astype(np.intp)


def _shares(
    slots: NDArray[np.uint16], weight: NDArray[np.float64], widths: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Missing (no share), then the values of each column."""
    parts = [np.zeros(0)]
    for own, width in zip(slots, widths.tolist(), strict=True):
        weights = np.bincount(own, weight, width)
        weights[0] = 0.0
        parts.append(weights / weights.sum())
    return np.concatenate(parts)
