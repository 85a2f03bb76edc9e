"""Training of hierarchical mixtures: sweeps over rows that are coded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture_shape import Shape
from unnaive.bayes.estimate import log_prior
from unnaive.common.threads import in_order
from unnaive.counts import CountTable
from unnaive.counts.coded import GRAIN
from unnaive.encode import Labels
from unnaive.encode.coding import AnyCoder, coder_sizes, column_slots
from unnaive.encode.draws import branch_seeds, draw_order
from unnaive.encode.labels import groups_of
from unnaive.estimator import Progress
from unnaive.models.mixture import kernels
from unnaive.table import Block, Source
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
    storage: Storage = field(default_factory=Storage)  # where more arrays of rows go

    def visits(
        self, seed: int | None, fold: NDArray[np.int64] | None = None, without: int = -1
    ) -> NDArray[np.intp]:
        """The order in which a sweep visits the rows: theirs, or one drawn by seed and row.

        Rows of one fold may be left out.
        """
        if seed is None:
            order = self.storage.argsort(self.row_ids)
        else:
            order = draw_order(seed, self.row_ids, self.storage)
        if fold is None:
            return order
        kept = self.storage.where(lambda part: fold[order[part]] != without, len(order))
        return self.storage.take(order, kept)


def slot_rows(
    source: Source,
    coders: Sequence[AnyCoder],
    labels: Labels,
    factor: NDArray[np.float64],
    n_rows: int,
) -> SlotRows:
    """All rows of a source; values that the coders do not know are as good as missing."""

    def code(block: Block) -> SlotRows:
        assert block.target is not None
        slots = np.empty((block.n_rows, len(coders)), dtype=np.uint16)
        for j, coder in enumerate(coders):
            slots[:, j] = column_slots(block, j, coder, unseen=False)
        groups = groups_of(labels, block.target)
        weight = factor[groups] if block.weight is None else block.weight * factor[groups]
        return SlotRows(slots, groups, weight, block.row_ids)

    return replace(join(source, code, n_rows), storage=source.storage)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How a mixture learns; see the classifier's parameters."""

    sigma: float
    gamma: float
    noise: float
    batch: bool
    shuffle: bool

    def visits(
        self, rows: SlotRows, seed: int, fold: NDArray[np.int64] | None = None, without: int = -1
    ) -> NDArray[np.intp]:
        """The order of a sweep, which only online training minds."""
        return rows.visits(seed if self.shuffle and not self.batch else None, fold, without)


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

    def sweep(
        self,
        rows: SlotRows,
        visits: NDArray[np.intp],
        options: TrainingOptions,
        n_jobs: int | None = None,
    ) -> None:
        """Visit rows once: row by row, or all judged by the counters as they stand."""
        if not options.batch:
            self._visit(rows, visits, options, 0.0, self)
            return

        def learn(start: int) -> Counters:
            new = self.blank()
            self._visit(rows, visits[start : start + ROWS], options, GRAIN, new)
            return new

        whole = self.blank()  # what was learned adds exactly; what it is added to need not
        for new in in_order(learn, range(0, len(visits), ROWS), n_jobs):
            whole.add(new)
        self.add(whole)

    def add(self, other: Counters) -> None:
        self.counts += other.counts
        self.wholes += other.wholes
        self.totals += other.totals

    def answer(
        self, rows: SlotRows, visits: NDArray[np.intp], options: TrainingOptions
    ) -> NDArray[np.intp]:
        """The most probable class of some rows."""
        predicted = rows.storage.zeros(len(visits), np.intp)
        stretch = self._stretch(rows, options)
        kernels.answer(
            visits, rows.slots, self.shape.net, options.gamma, stretch, self._units(), predicted
        )
        return predicted

    def answer_left_out(
        self, rows: SlotRows, options: TrainingOptions, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of the classes of all rows, each as if it had not been counted."""
        probable = rows.storage.zeros((len(rows.groups), self.shape.n_classes), np.float64)
        stretch = self._stretch(rows, options)

        def answer(start: int) -> None:
            counters = self.blank()  # counters are changed while they answer
            counters.add(self)
            visits = np.arange(start, min(start + ROWS, len(rows.groups)))
            kernels.answer_left_out(
                visits, rows.slots, rows.groups, float(self.n_sweeps), self.shape.net,
                options.sigma, options.gamma, stretch, counters._units(), probable,
            )  # fmt: skip

        list(in_order(answer, range(0, len(rows.groups), ROWS), n_jobs))
        return probable

    def _units(self) -> kernels.Units:
        return kernels.Units(self.offsets, self.sizes, self.counts, self.wholes, self.totals)

    def _visit(
        self,
        rows: SlotRows,
        visits: NDArray[np.intp],
        options: TrainingOptions,
        grain: float,
        new: Counters,
    ) -> None:
        kernels.sweep(
            visits,
            rows.slots,
            rows.groups,
            rows.weight,
            self.shape.net,
            options.sigma,
            options.gamma,
            self._stretch(rows, options),
            grain,
            self._units(),
            new._units(),
        )

    def _stretch(self, rows: SlotRows, options: TrainingOptions) -> int:
        """How many counters can be multiplied before floats run out of range."""
        largest = float(self.totals.sum() + rows.weight.sum()) + options.gamma * self.sizes.max()
        digits = max(np.log10(largest + 10.0), -np.log10(min(options.gamma, 0.1)))
        return max(1, int(140 / digits))


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
    rows: SlotRows,
    shape: Shape,
    coders: Sequence[AnyCoder],
    options: TrainingOptions,
    n_sweeps: int,
    seed: int,
    fold: NDArray[np.int64] | None = None,
    without: int = -1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Counters:
    """All sweeps, over all rows or those without a fold; ``progress`` counts and may stop them."""
    table = first_table(shape, coders, options.noise, seed)
    counters = Counters.of_table(shape, coders, table)
    for sweep_seed in branch_seeds(seed, n_sweeps):
        counters.sweep(rows, options.visits(rows, int(sweep_seed), fold, without), options, n_jobs)
        counters.n_sweeps += 1
        if progress is not None:
            progress.add(1)
            if progress.stopped:
                break
    return counters
