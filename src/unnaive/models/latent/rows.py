"""Rows as EM sees them: distinct, column by column, numbers standardized, categories packed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Summary
from unnaive.density.normal import SMALLEST_VARIANCE
from unnaive.encode import Categories
from unnaive.encode.coding import column_slots
from unnaive.encode.draws import assign_folds, value_keys
from unnaive.models.latent import kernels
from unnaive.models.latent.state import EMRows, Packs
from unnaive.table import Block, Source
from unnaive.table.records import MemoryRecords, Records, keep_records
from unnaive.table.storage import Storage, join, stretches

MOST_CELLS = 256  # of a pack, and no more than an eighth of the rows: tables are made every step


@dataclass(frozen=True, slots=True, eq=False)
class Standardization:
    """The numeric columns that vary, their means and standard deviations."""

    columns: tuple[int, ...]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Rows of a source: slots and numbers of the columns, weights, the rows' own numbers, and
    numbers that come from their values.
    """

    PER_ROW: ClassVar = {"slots": 0, "values": 0, "weight": 0, "row_ids": 0, "keys": 0}

    slots: list[NDArray[Any]]
    values: list[NDArray[np.float64]]
    weight: NDArray[np.float64] | None
    row_ids: NDArray[np.int64]
    keys: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRows:
    """Rows of a record, each once.

    Attributes
    ----------
    slots : array of shape (categorical columns, rows)
    values : array of shape (numeric columns, rows)
        Standardized, 0 where missing.
    missing : array of shape (numeric columns, rows)
    weight, keys : arrays of shape (rows,)
    held : array of shape (folds + 1, rows)
        The weight that each fold holds out; the last fold holds out nothing.
    """

    PER_ROW: ClassVar = {
        "slots": 1, "values": 1, "missing": 1, "weight": 0, "keys": 0, "held": 1,
    }  # fmt: skip

    slots: NDArray[np.uint16]
    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    weight: NDArray[np.float64]
    keys: NDArray[np.uint64]
    held: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        return len(self.keys)


class Prepared(NamedTuple):
    """What is known of a record's rows beside them, given all rows: fields of `EMRows`."""

    gap: NDArray[np.intp]
    present: NDArray[np.float64]
    cells: NDArray[np.uint16]

    def rows(self, record: DistinctRows) -> EMRows:
        """Return the record's rows, ready for EM."""
        return EMRows(record.values, self.gap, self.present, self.cells, record.weight, record.held)


class _Facts(NamedTuple):
    """What must be known of all rows before the first step; two of them add up."""

    n_rows: int  # distinct ones
    weight: float
    missing: NDArray[np.int64]  # how many values of each numeric column are,
    filled: NDArray[np.float64]  # and what the rows that have one weigh
    slots: NDArray[np.float64]  # weights of all slots, column after column

    def add(self, other: _Facts) -> _Facts:
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return _Facts(*(a + b for a, b in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class Latent:
    """A table ready for EM.

    Attributes
    ----------
    records : Records of DistinctRows
        Their states are `Prepared`.
    packs : Packs
    shares : array
        How frequent the value of each slot is in its column.
    n_numbers, n_rows, weight : int, int, float
        How many numeric columns vary; how many distinct rows there are, and what they weigh.
    trained : array of shape (folds + 1, 2)
        What the rows weigh that each fold trains on, and how many there are.
    offset : float
        Log-likelihood of all rows in the units of the columns, less that of standardized values.
    """

    records: Records[DistinctRows]
    packs: Packs
    shares: NDArray[np.float64]
    n_numbers: int
    n_rows: int
    weight: float
    trained: NDArray[np.float64]
    offset: float

    @property
    def n_folds(self) -> int:
        """Return how many folds judge: all but the last, or none if one has no training rows."""
        return len(self.trained) - 1 if self.trained.all() else 0


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

    ``cv`` is None, a number of folds that are drawn by row number, or anything else that
    `assign_folds` takes. Splitters and positions need all rows in one place.
    """
    coded = {j: coder for j, coder in enumerate(coders) if coder is not None}

    def read(block: Block) -> _Read:
        slots = [column_slots(block, j, coder, unseen=False) for j, coder in coded.items()]
        values = [block.numeric(j) for j in scale.columns]
        keys = value_keys([*slots, *values], block.n_rows)
        return _Read(slots, values, block.weight, block.row_ids, keys)

    make = partial(_make_distinct, scale, factor, cv, seed)
    records: Records[DistinctRows]
    if cv is None or isinstance(cv, int):

        def read_record(block: Block) -> tuple[DistinctRows, int]:
            return make(read(block), Storage()), 0

        records, _ = keep_records(source, read_record, operator.add)
    else:
        whole = make(join(source, read, n_rows), source.storage)
        records = MemoryRecords([whole], source.storage)
    try:
        widths = np.array([coder.size + 1 for coder in coded.values()], np.intp)
        return _prepare_all(records, widths, scale)
    except BaseException:
        records.release()
        raise


def _prepare_all(
    records: Records[DistinctRows], widths: NDArray[np.intp], scale: Standardization
) -> Latent:
    """What is known of all rows, and what must be known of each."""
    facts = records.reduce(partial(_facts, widths), _Facts.add, "looking at rows")
    packs = _plan_packs(widths, facts.n_rows)
    gap = np.where(facts.missing > 0, np.cumsum(facts.missing > 0) - 1, -1).astype(np.intp)
    prepare = partial(_prepare, packs, gap, records.storage)
    trained = records.advance(prepare, np.add, "dealing folds")
    return Latent(
        records,
        packs,
        _shares(facts.slots, widths),
        len(scale.columns),
        facts.n_rows,
        facts.weight,
        trained,
        -float((np.log(scale.deviation) * facts.filled).sum()),
    )


# What passes do with a record, on whatever machine it is ----------------------------------------


def _make_distinct(
    scale: Standardization, factor: float, cv: Any, seed: int, rows: _Read, room: Storage
) -> DistinctRows:
    """Return equal rows as one, with their weight, in the order of their keys."""
    n_rows = len(rows.keys)
    first, place = _distinct(rows.keys, [*rows.slots, *rows.values], room)
    n, nobody = len(first), np.empty(0, np.int64)
    folds, n_folds = nobody, 0
    if cv is not None:
        folds, n_folds = assign_folds(cv, seed, rows.row_ids, None, room)
    held = room.zeros((n_folds + 1, n))
    weight = room.zeros(n)
    for part in stretches(n_rows):
        each = np.full(part.stop - part.start, factor)
        if rows.weight is not None:
            each = factor * rows.weight[part]
        kernels.add_weights(place[part], each, nobody, weight[None])
        if n_folds:
            kernels.add_weights(place[part], each, folds[part], held)
    slots = room.empty((len(rows.slots), n), np.uint16)
    values = room.empty((len(rows.values), n), np.float64)
    missing = room.empty(values.shape, np.bool_)
    for part in stretches(n):
        for c, codes in enumerate(rows.slots):
            slots[c, part] = codes[first[part]]
        for k, column in enumerate(rows.values):
            standardized, gaps = values[k, part], missing[k, part]
            np.take(column, first[part], out=standardized, mode="clip")
            standardized -= scale.mean[k]
            standardized /= scale.deviation[k]
            np.isnan(standardized, out=gaps)
            standardized[gaps] = 0.0
    return DistinctRows(slots, values, missing, weight, room.take(rows.keys, first), held)


def _facts(widths: NDArray[np.intp], record: DistinctRows, _state: Any) -> _Facts:
    weight, missing = record.weight, record.missing
    filled = np.zeros(len(missing))
    for part in stretches(record.n_rows):
        whole = weight[part].sum()
        for k, gaps in enumerate(missing[:, part]):
            filled[k] += weight[part][~gaps].sum() if gaps.any() else whole
    return _Facts(
        record.n_rows,
        float(weight.sum()),
        missing.sum(axis=1),
        filled,
        np.concatenate([np.zeros(0), *_slot_weights(record.slots, weight, widths)]),
    )


def _prepare(
    packs: Packs,
    gap: NDArray[np.intp],
    room: Storage,
    record: DistinctRows,
    _state: Any,
) -> tuple[Prepared, NDArray[np.float64]]:
    """What EM needs of a record beside it; what each fold trains on, and how many rows."""
    n = record.n_rows
    cells = room.zeros((len(packs.start) - 1, n), np.uint16)
    present = room.empty((gap.max(initial=-1) + 1, n), np.float64)
    for part in stretches(n):
        for c, codes in enumerate(record.slots):
            cells[packs.pack[c], part] += codes[part] * np.uint16(packs.divisor[c])
        for k in np.flatnonzero(gap >= 0):
            present[gap[k], part] = ~record.missing[k, part]
    rest = room.empty(n, np.float64)
    trained = [np.subtract(record.weight, out, out=rest).sum() for out in record.held]
    counted = [np.count_nonzero(record.weight > out) for out in record.held]
    return Prepared(gap, present, cells), np.array([trained, counted], np.float64).T


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


def _plan_packs(widths: NDArray[np.intp], n_rows: int) -> Packs:
    """Neighbouring columns as one, while the cells of their combinations are few."""
    most = min(MOST_CELLS, n_rows // 8)
    pack, divisor = np.zeros(len(widths), np.intp), np.ones(len(widths), np.intp)
    sizes: list[int] = []
    for c, width in enumerate(widths.tolist()):
        if sizes and sizes[-1] * width <= most:
            divisor[c] = sizes[-1]
            sizes[-1] *= width
        else:
            sizes.append(width)
        pack[c] = len(sizes) - 1
    return Packs(_edges(sizes), pack, divisor, widths, _edges(widths))


def _edges(sizes: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.intp)))).astype(np.intp)


def _slot_weights(
    slots: NDArray[np.uint16], weight: NDArray[np.float64], widths: NDArray[np.intp]
) -> Iterator[NDArray[np.float64]]:
    """Weights of the slots of each column; missing ones count nothing."""
    for codes, width in zip(slots, widths.tolist(), strict=True):
        weights = np.zeros(width)
        kernels.add_weights(codes, weight, np.empty(0, np.int64), weights[None])
        weights[0] = 0.0
        yield weights


def _shares(weights: NDArray[np.float64], widths: NDArray[np.intp]) -> NDArray[np.float64]:
    """Missing (no share), then the values of each column."""
    columns = np.split(weights, np.cumsum(widths)[:-1]) if len(widths) else [weights]
    return np.concatenate([column / column.sum() for column in columns])


def column_scale(summary: Summary) -> Standardization:
    """Mean and deviation of the numeric columns that vary."""
    whole = summary.moments.finish().whole(np.ones(1))
    vary = np.flatnonzero(whole.variance > SMALLEST_VARIANCE)
    columns = tuple(summary.moments.columns[k] for k in vary)
    return Standardization(columns, whole.mean[vary], np.sqrt(whole.variance[vary]))
