"""Training of hierarchical mixtures: sweeps over rows that are coded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture import Shape
from unnaive.bayes.estimate import log_prior
from unnaive.common.threads import in_order, in_threads
from unnaive.counts import CountTable
from unnaive.counts.coded import GRAIN
from unnaive.encode import Labels
from unnaive.encode.coding import AnyCoder, coder_sizes, column_slots
from unnaive.encode.draws import branch_seeds, draw_order, why_together
from unnaive.encode.labels import groups_of
from unnaive.estimator import Progress
from unnaive.models.mixture import kernels
from unnaive.table import Block, Source
from unnaive.table.records import MemoryRecords, Records, keep_records
from unnaive.table.storage import Storage, join

ROWS = 1 << 14  # rows of one task of a batch sweep


@dataclass(frozen=True, slots=True, eq=False)
class SlotRows:
    """Rows in the order of their numbers: slots (0 missing or unseen), classes, weights."""

    PER_ROW: ClassVar = {"slots": 0, "groups": 0, "weight": 0, "row_ids": 0}

    slots: NDArray[np.uint16]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """A fold for each row: ``fold_of`` says which, given the rows' numbers and room for it."""

    fold_of: Callable[[NDArray[np.int64], Storage], NDArray[np.int64]]
    n_folds: int


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How a mixture learns; see the classifier's parameters."""

    sigma: float
    gamma: float
    noise: float
    batch: bool
    shuffle: bool

    def why_together(self, cv: Any) -> str | None:
        """Why rows must come together, by how folds are dealt; None where they need not."""
        return why_together(cv) if self.batch else "online training is a walk from row to row"


class TrainingRows(NamedTuple):
    """All rows, where they are; how many there are, and what they weigh."""

    records: Records[SlotRows]
    n_rows: int
    weight: float

    def sweep(
        self,
        counters: Sequence[Counters],
        options: TrainingOptions,
        seed: int,
        folds: Folds | None = None,
        n_jobs: int | None = None,
    ) -> list[Counters]:
        """Counters after one pass over the rows, of one mixture or one without each fold.

        Rows are learned from one by one, or all are judged by the counters as they stand.
        """
        room = self.records.storage
        sweep = _Sweep(list(counters), options, self.weight, seed, folds, room, n_jobs)
        new = self.records.reduce(sweep, _add_each, "sweeping")
        if not options.batch:
            return new
        # What was learned adds exactly; what it is added to need not.
        return [old + more for old, more in zip(counters, new, strict=True)]


def training_rows(
    source: Source,
    coders: Sequence[AnyCoder],
    labels: Labels,
    factor: NDArray[np.float64],
    n_rows: int,
    options: TrainingOptions,
    by_place: bool = False,
) -> TrainingRows:
    """All rows of a source; values that the coders do not know are as good as missing.

    Online training is a walk from row to row: all come here, as they do where their places count.
    """

    def code(block: Block) -> SlotRows:
        assert block.target is not None
        slots = np.empty((block.n_rows, len(coders)), dtype=np.uint16)
        for j, coder in enumerate(coders):
            slots[:, j] = column_slots(block, j, coder, unseen=False)
        groups = groups_of(labels, block.target)
        weight = factor[groups] if block.weight is None else block.weight * factor[groups]
        return SlotRows(slots, groups, weight, block.row_ids)

    def code_and_weigh(block: Block) -> tuple[SlotRows, float]:
        rows = code(block)
        return rows, float(rows.weight.sum())

    if by_place or not options.batch:
        rows = join(source, code, n_rows)
        whole = MemoryRecords([rows], source.storage)
        return TrainingRows(whole, n_rows, float(rows.weight.sum()))
    records, weight = keep_records(source, code_and_weigh, float.__add__)
    return TrainingRows(records, n_rows, weight)


class Counters:
    """The counters of all units, slots x units, as kernels need them; without pseudo-counts."""

    def __init__(self, shape: Shape, sizes: Sequence[int]) -> None:
        self.shape, self.n_sweeps = shape, 0
        padded = -(-shape.n_units // kernels.PADDING) * kernels.PADDING
        self.empty = CountTable.empty(1, sizes)
        self.offsets = self.empty.offsets
        self.sizes = np.array(sizes, dtype=np.float64)
        self.counts = np.zeros((self.offsets[-1], padded))
        self.wholes = np.zeros((len(sizes), padded))
        self.totals = np.zeros(padded)

    @classmethod
    def of_table(cls, shape: Shape, coders: Sequence[AnyCoder], table: CountTable) -> Counters:
        """Counters that go on where a table stands."""
        counters = cls(shape, coder_sizes(coders))
        n = shape.n_units
        counters.counts[:, :n] = table.counts.T
        counters.totals[:n] = table.totals
        for j in range(len(counters.sizes)):
            counters.wholes[j, :n] = table.values(j).sum(axis=1)
        return counters

    def table(self) -> CountTable:
        n = self.shape.n_units
        counts = np.ascontiguousarray(self.counts[:, :n].T)
        return CountTable(counts, self.offsets, self.totals[:n].copy())

    def blank(self) -> Counters:
        return Counters(self.shape, [int(size) for size in self.sizes])

    def __add__(self, other: Counters) -> Counters:
        new = self.blank()
        new.n_sweeps = self.n_sweeps
        new.counts = self.counts + other.counts
        new.wholes = self.wholes + other.wholes
        new.totals = self.totals + other.totals
        return new

    def visit(
        self,
        rows: SlotRows,
        visits: NDArray[np.intp],
        options: TrainingOptions,
        weight: float,
        new: Counters,
    ) -> None:
        """Judge rows in an order, and teach them to counters (OUT): these, where training is
        online. All rows weigh ``weight`` together.
        """
        kernels.sweep(
            visits, rows.slots, rows.groups, rows.weight, self.shape.net, options.sigma,
            options.gamma, self._stretch(weight, options), GRAIN if options.batch else 0.0,
            self._units(), new._units(),
        )  # fmt: skip

    def answer(
        self,
        rows: SlotRows,
        visits: NDArray[np.intp],
        options: TrainingOptions,
        weight: float,
        storage: Storage,
    ) -> NDArray[np.intp]:
        """The most probable class of some rows."""
        predicted = storage.zeros(len(visits), np.intp)
        stretch = self._stretch(weight, options)
        kernels.answer(
            visits, rows.slots, self.shape.net, options.gamma, stretch, self._units(), predicted
        )
        return predicted

    def answer_left_out(
        self,
        rows: SlotRows,
        options: TrainingOptions,
        weight: float,
        storage: Storage,
        n_jobs: int | None = None,
        *,
        counted_too: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Probabilities of the classes of all rows, each as if it had not been counted; and, where
        that is asked for, as it was.
        """
        n_classes = self.shape.n_classes
        probable = storage.zeros((rows.n_rows, n_classes), np.float64)
        counted = storage.zeros((rows.n_rows if counted_too else 0, n_classes), np.float64)
        stretch = self._stretch(weight, options)

        def answer(start: int) -> None:
            counters = self + self.blank()  # counters are changed while they answer
            visits = np.arange(start, min(start + ROWS, rows.n_rows))
            kernels.answer_left_out(
                visits, rows.slots, rows.groups, float(self.n_sweeps), self.shape.net,
                options.sigma, options.gamma, stretch, counters._units(), probable, counted,
            )  # fmt: skip

        list(in_order(answer, range(0, rows.n_rows, ROWS), n_jobs))
        return probable, counted if counted_too else None

    def _units(self) -> kernels.Units:
        return kernels.Units(self.offsets, self.sizes, self.counts, self.wholes, self.totals)

    def _stretch(self, weight: float, options: TrainingOptions) -> int:
        """How many counters can be multiplied before floats run out of range."""
        largest = float(self.totals.sum() + weight) + options.gamma * self.sizes.max()
        digits = max(np.log10(largest + 10.0), -np.log10(min(options.gamma, 0.1)))
        return max(1, int(140 / digits))


@dataclass(frozen=True, slots=True, eq=False)
class _Sweep:
    """What a sweep does with a record, on whatever machine it is.

    Attributes
    ----------
    counters : list of Counters
        Of one mixture, or of one without each fold.
    weight : float
        Of all rows.
    """

    counters: list[Counters]
    options: TrainingOptions
    weight: float
    seed: int
    folds: Folds | None
    storage: Storage
    n_jobs: int | None

    def __call__(self, rows: SlotRows, _state: Any) -> list[Counters]:
        fold = None
        if self.folds is not None:
            fold = self.folds.fold_of(rows.row_ids, self.storage)
        return self._together(rows, fold) if self.options.batch else self._one_by_one(rows, fold)

    def _together(self, rows: SlotRows, fold: NDArray[np.int64] | None) -> list[Counters]:
        """What the rows teach all counters, which adds up."""

        def learn(task: tuple[int, int]) -> tuple[int, Counters]:
            k, start = task
            visits = np.arange(start, min(start + ROWS, rows.n_rows))
            if fold is not None:
                visits = visits[fold[visits] != k]
            new = self.counters[k].blank()
            self.counters[k].visit(rows, visits, self.options, self.weight, new)
            return k, new

        learned = [counters.blank() for counters in self.counters]
        tasks = product(range(len(learned)), range(0, rows.n_rows, ROWS))
        for k, new in in_order(learn, tasks, self.n_jobs):
            learned[k] += new
        return learned

    def _one_by_one(self, rows: SlotRows, fold: NDArray[np.int64] | None) -> list[Counters]:
        """Counters as one row after the other leaves them; the record is all rows."""
        room = self.storage
        ids = rows.row_ids
        order = draw_order(self.seed, ids, room) if self.options.shuffle else room.argsort(ids)

        def learn(k: int) -> Counters:
            visits = order
            if fold is not None:
                kept = room.where(lambda part: fold[order[part]] != k, len(order))
                visits = room.take(order, kept)
            moved = self.counters[k] + self.counters[k].blank()
            moved.visit(rows, visits, self.options, self.weight, moved)
            return moved

        return list(in_threads(learn, range(len(self.counters)), self.n_jobs))


def _add_each(a: list[Counters], b: list[Counters]) -> list[Counters]:
    return [one + other for one, other in zip(a, b, strict=True)]


def unit_log_prior(shape: Shape, totals: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Log prior of the units of every gate and every expert."""
    prior = np.empty(shape.n_units)
    for units in shape.models():
        prior[units] = log_prior(totals[units], gamma, None)
    return prior


def first_table(shape: Shape, coders: Sequence[AnyCoder], noise: float, seed: int) -> CountTable:
    """Counters before the first row: a little noise, so that experts come to differ."""
    table = CountTable.empty(shape.n_units, coder_sizes(coders))
    rng = np.random.default_rng(seed)
    table.totals[:] = noise * rng.random(shape.n_units)
    for j in range(table.n_attributes):
        table.values(j)[:] = noise * rng.random(table.values(j).shape)
    return table


def train(
    rows: TrainingRows,
    shape: Shape,
    coders: Sequence[AnyCoder],
    options: TrainingOptions,
    n_sweeps: int,
    seed: int,
    folds: Folds | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Counters]:
    """All sweeps, over all rows or those without each fold; ``progress`` counts and may stop
    them.
    """
    table = first_table(shape, coders, options.noise, seed)
    first = Counters.of_table(shape, coders, table)
    counters = [first] * (1 if folds is None else folds.n_folds)
    for done, sweep_seed in enumerate(branch_seeds(seed, n_sweeps), 1):
        counters = rows.sweep(counters, options, int(sweep_seed), folds, n_jobs)
        for each in counters:
            each.n_sweeps = done
        if progress is not None:
            progress.add(1)
            if progress.stopped:
                break
    return counters
