"""Rows as EM sees them: distinct, column by column, numbers standardized, categories packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Summary
from unnaive.density.normal import SMALLEST_VARIANCE
from unnaive.encode import Categories
from unnaive.encode.coding import column_slots
from unnaive.encode.draws import assign_folds, hold_out, value_keys
from unnaive.models.latent import kernels
from unnaive.models.latent.state import EMRows, Packs
from unnaive.table import Block, Source
from unnaive.table.storage import Storage, join, stretches

MOST_CELLS = 256  # of a pack, and no more than an eighth of the rows: tables are made every step


@dataclass(frozen=True, slots=True, eq=False)
class Standardization:
    """The numeric columns that vary, their means and standard deviations."""

    columns: tuple[int, ...]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Latent:
    """A table ready for EM.

    Attributes
    ----------
    rows : EMRows
    packs : Packs
    slots : array of shape (categorical columns, rows)
    shares : array
        How frequent the value of each slot is in its column.
    keys : array of shape (rows,)
        A number for each distinct row, from its values.
    offset : float
        Log-likelihood of all rows in the units of the columns, less that of standardized values.
    storage : Storage
        Where more arrays of rows go.
    """

    rows: EMRows
    packs: Packs
    slots: NDArray[np.uint16]
    shares: NDArray[np.float64]
    keys: NDArray[np.uint64]
    offset: float
    storage: Storage

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
    scale: Standardization,
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
        slots = [column_slots(block, j, coder, unseen=False) for j, coder in coded.items()]
        values = [block.numeric(j) for j in scale.columns]
        return _Values(slots, values, block.weight, block.row_ids)

    read_values, room = join(source, read, n_rows), source.storage
    columns = [*read_values.slots, *read_values.values]
    keys = value_keys(columns, n_rows, room)
    first, place = _distinct(keys, columns, room)
    n = len(first)
    held = room.zeros(((cv if isinstance(cv, int) else 0) + 1, n))
    if cv is not None and not isinstance(cv, int):
        folds, n_folds = assign_folds(cv, seed, read_values.row_ids, None)
        held = room.zeros((n_folds + 1, n))
    weight, nobody = room.zeros(n), np.empty(0, np.int64)
    for part in stretches(n_rows):
        each = np.full(part.stop - part.start, factor)
        if read_values.weight is not None:
            each = factor * read_values.weight[part]
        kernels.add_weights(place[part], each, nobody, weight[None])
        if cv is not None and not isinstance(cv, int):
            kernels.add_weights(place[part], each, folds[part], held)
    keys = room.take(keys, first)
    if isinstance(cv, int):
        hold_out(seed, keys, weight, cv, held, room)
    widths = np.array([coder.size + 1 for coder in coded.values()], np.intp)
    packs, picked, cells = _pack(read_values.slots, first, widths, room)
    values, gap, present = _standardize(read_values.values, first, scale, room)
    filled = np.array([weight @ present[g] if g >= 0 else weight.sum() for g in gap])
    return Latent(
        EMRows(values, gap, present, cells, weight, held),
        packs,
        picked,
        _shares(picked, weight, packs.width),
        keys,
        -float((np.log(scale.deviation) * filled).sum()),
        room,
    )


def _distinct(
    keys: NDArray[np.uint64], columns: Sequence[NDArray[Any]], room: Storage
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One of each set of equal rows, in the order of their keys, and the set of every row."""
    order, n = room.argsort(keys), len(keys)
    new, place = room.empty(n, np.bool_), room.empty(n, np.intp)
    sets = 0
    for part in stretches(n):
        places = order[max(part.start - 1, 0) : part.stop]  # with the row before
        ordered = keys[places]
        same = ordered[1:] == ordered[:-1]
        pairs = np.flatnonzero(same)
        for column in columns if len(pairs) else ():  # equal keys are equal rows, but for bad luck
            a, b = column[places[pairs]], column[places[pairs + 1]]
            same[pairs] &= (a == b) | ((a != a) & (b != b))
        here = ~same if part.start else np.concatenate(([True], ~same))
        new[part] = here
        place[order[part]] = sets + np.cumsum(here) - 1
        sets += int(here.sum())
    return room.take(order, room.where(lambda part: new[part], n)), place


def _standardize(
    columns: Sequence[NDArray[np.float64]],
    rows: NDArray[np.intp],
    scale: Standardization,
    room: Storage,
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """`values`, `gap` and `present` of `EMRows`."""
    n = len(rows)
    gap = np.full(len(columns), -1, dtype=np.intp)
    with_gaps = [k for k, column in enumerate(columns) if kernels.any_missing(column)]
    gap[with_gaps] = np.arange(len(with_gaps))
    values, present = room.empty((len(columns), n), float), room.empty((len(with_gaps), n), float)
    for part in stretches(n):
        for k, column in enumerate(columns):
            standardized = (column[rows[part]] - scale.mean[k]) / scale.deviation[k]
            if gap[k] >= 0:
                missing = np.isnan(standardized)
                standardized[missing] = 0.0
                present[gap[k], part] = ~missing
            values[k, part] = standardized
    return values, gap, present


def _pack(
    columns: Sequence[NDArray[Any]], rows: NDArray[np.intp], widths: NDArray[np.intp], room: Storage
) -> tuple[Packs, NDArray[np.uint16], NDArray[np.uint16]]:
    """Neighbouring columns as one, while the cells of their combinations are few.

    Answers the slots of the rows (columns x rows) and their cells (packs x rows) as well.
    """
    n = len(rows)
    most = min(MOST_CELLS, n // 8)
    pack, divisor = np.zeros(len(widths), np.intp), np.ones(len(widths), np.intp)
    sizes: list[int] = []
    for c, width in enumerate(widths.tolist()):
        if sizes and sizes[-1] * width <= most:
            divisor[c] = sizes[-1]
            sizes[-1] *= width
        else:
            sizes.append(width)
        pack[c] = len(sizes) - 1
    slots, cells = room.empty((len(widths), n), np.uint16), room.zeros((len(sizes), n), np.uint16)
    for part in stretches(n):
        for c, column in enumerate(columns):
            slots[c, part] = column[rows[part]]
            cells[pack[c], part] += slots[c, part] * np.uint16(divisor[c])
    return Packs(_edges(sizes), pack, divisor, widths, _edges(widths)), slots, cells


def _edges(sizes: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.intp)))).astype(np.intp)


def _shares(
    slots: NDArray[np.uint16], weight: NDArray[np.float64], widths: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Missing (no share), then the values of each column."""
    parts = [np.zeros(0)]
    for codes, width in zip(slots, widths.tolist(), strict=True):
        weights = np.zeros(width)
        kernels.add_weights(codes, weight, np.empty(0, np.int64), weights[None])
        weights[0] = 0.0
        parts.append(weights / weights.sum())
    return np.concatenate(parts)


def column_scale(summary: Summary) -> Standardization:
    """Mean and deviation of the numeric columns that vary."""
    whole = summary.moments.finish().whole(np.ones(1))
    vary = np.flatnonzero(whole.variance > SMALLEST_VARIANCE)
    columns = tuple(summary.moments.columns[k] for k in vary)
    return Standardization(columns, whole.mean[vary], np.sqrt(whole.variance[vary]))
