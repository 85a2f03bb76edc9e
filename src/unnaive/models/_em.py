"""EM for many mixtures at once: all folds and starts advance in the same pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, Scorer, TableTerm, Term
from unnaive.common.threads import in_threads, thread_count
from unnaive.counts import Summary
from unnaive.density.estimate import SMALLEST_VARIANCE
from unnaive.discretize.rules import Coarse
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import column_slots
from unnaive.encode.hashing import assign_folds, row_bits, value_keys
from unnaive.estimator import Progress
from unnaive.models import _em_kernels as kernels
from unnaive.models._em_kernels import (
    Centres,
    ColumnLayout,
    EMRows,
    Mixtures,
    Prior,
    Rounding,
    Sums,
)
from unnaive.table import Block, Schema, Source
from unnaive.table.records import Records, keep_records

NewProgress: TypeAlias = Callable[[int], Progress]
MAX_CELLS = 256  # of a block, and no more than an eighth of the rows: tables are filled every step
THREAD_ROWS = 8192  # rows visited by one thread, at least,
MAX_THREADS = 16  # because each has sums of its own
ALL_ROWS = -1  # the fold of mixtures that hold out nothing


@dataclass(frozen=True, slots=True)
class EMOptions:
    """Starts of EM and when it stops; see `LatentClassClusterer`."""

    prior: Prior
    n_init: int
    max_iter: int
    tol: float
    seed: int
    init: str


# Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EMRecord:
    """Distinct rows of a block; the fields are those of `EMRows`."""

    PER_ROW: ClassVar = {
        "values": 1, "present": 1, "cells": 1, "weight": 0, "fold": 0, "keys": 0,
    }  # fmt: skip

    values: NDArray[np.float64]
    present: NDArray[np.float64]
    cells: NDArray[np.uint16]
    weight: NDArray[np.float64]
    fold: NDArray[np.int64]
    keys: NDArray[np.uint64]

    @property
    def n_rows(self) -> int:
        return len(self.keys)

    def rows(self) -> EMRows:
        """Return the rows as kernels take them."""
        return EMRows(self.values, self.present, self.cells, self.weight, self.fold, self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnScale:
    """Means and standard deviations of the numeric columns that vary, and weights of their rows."""

    columns: tuple[int, ...]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, summary: Summary, factor: float) -> ColumnScale:
        """Compute the scale of a table whose weights are multiplied by a factor."""
        whole = summary.moments.finish().whole(np.full(1, factor))
        vary = np.flatnonzero(whole.variance > SMALLEST_VARIANCE)
        columns = tuple(summary.moments.columns[k] for k in vary)
        return cls(columns, whole.mean[vary], np.sqrt(whole.variance[vary]), whole.weight[vary])


@dataclass(frozen=True, slots=True, eq=False)
class EMData:
    """A table ready for EM.

    Attributes
    ----------
    records : Records of EMRecord
    layout : ColumnLayout
    coders : dict
        Of the categorical columns that have values.
    scale : ColumnScale
    frequency : array
        Share of each slot in its column.
    weight : float
    n_rows : int
    trained : array of shape (folds + 1, 2)
        Weight and number of distinct rows that each fold, and at last no fold, trains on.
    """

    records: Records[EMRecord]
    layout: ColumnLayout
    coders: dict[int, Categories]
    scale: ColumnScale
    frequency: NDArray[np.float64]
    weight: float
    n_rows: int
    trained: NDArray[np.float64]

    @property
    def n_folds(self) -> int:
        """Return the number of folds, or 0 if one has no training rows."""
        return len(self.trained) - 1 if self.trained[:, 1].all() else 0

    @property
    def offset(self) -> float:
        """Log-likelihood of all rows in the columns' units, less that of standardized values."""
        return -float((np.log(self.scale.deviation) * self.scale.weight).sum())


def read_em_data(source: Source, summary: Summary, coarse: Coarse, cv: Any, seed: int) -> EMData:
    """Code the rows, whose folds are drawn by row number or assigned by a splitter."""
    coders = {
        j: coder
        for j, coder in enumerate(coarse.coders)
        if isinstance(coder, Categories) and coder.size
    }
    factor, weight = float(coarse.factor[0]), float(coarse.counts.totals.sum())
    scale = ColumnScale.of(summary, factor)
    layout = _plan_layout(
        [coder.size + 1 for coder in coders.values()], scale.weight < weight, summary.n_rows
    )
    fold_of, n_folds = _folds(source, cv, seed)
    read = partial(_read_block, coders, scale, layout, factor, fold_of, n_folds)
    records, sizes = keep_records(source, read, np.add)
    whole = sizes.sum(axis=0, keepdims=True)
    trained = np.concatenate((whole - sizes[:n_folds], whole))
    counts = [coarse.counts.values(j)[0] for j in coders]
    frequency = [np.concatenate(([0.0], each / each.sum())) for each in counts]
    return EMData(
        records, layout, coders, scale, np.concatenate([[], *frequency]), weight,
        summary.n_rows, trained,
    )  # fmt: skip


def _folds(
    source: Source, cv: Any, seed: int
) -> tuple[Callable[[NDArray[np.int64]], NDArray[np.int64]], int]:
    """Return a function from row numbers to folds, and the number of folds."""
    if cv is None:
        return np.zeros_like, 0
    if isinstance(cv, int):
        return partial(_drawn_folds, cv, seed), cv
    ids = np.concatenate(list(source.each(lambda block: block.row_ids)))
    fold, n_folds = assign_folds(cv, seed, ids, None)
    return lambda row_ids: fold[np.searchsorted(ids, row_ids)], n_folds


def _drawn_folds(cv: int, seed: int, row_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return assign_folds(cv, seed, row_ids, None)[0]


def _read_block(
    coders: dict[int, Categories],
    scale: ColumnScale,
    layout: ColumnLayout,
    factor: float,
    fold_of: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    n_folds: int,
    block: Block,
) -> tuple[EMRecord, NDArray[np.float64]]:
    """Merge equal rows of a block; also return the weight and number of rows of each fold."""
    slots = [column_slots(block, j, coder, unseen=False) for j, coder in coders.items()]
    numbers = [block.numeric(j) for j in scale.columns]
    keys, fold = value_keys([*slots, *numbers], block.n_rows), fold_of(block.row_ids)
    both = value_keys([keys, fold.astype(np.uint64)], block.n_rows)
    _, first, place = np.unique(both, return_index=True, return_inverse=True)
    weight = np.bincount(place, block.weight, len(first)).astype(np.float64) * factor
    cells = np.zeros((len(layout.start) - 1, len(first)), np.uint16)
    for c, codes in enumerate(slots):
        cells[layout.block[c]] += codes[first] * np.uint16(layout.divisor[c])
    values = np.empty((len(numbers), len(first)))
    for k, column in enumerate(numbers):
        values[k] = (column[first] - scale.mean[k]) / scale.deviation[k]
    missing = np.isnan(values)
    values[missing] = 0.0
    present = (~missing[layout.gap >= 0]).astype(np.float64)
    record = EMRecord(values, present, cells, weight, fold[first], keys[first])
    n_folds = max(n_folds, 1)
    sizes = np.bincount(record.fold, weight, n_folds), np.bincount(record.fold, minlength=n_folds)
    return record, np.stack(sizes, axis=1)


def _plan_layout(widths: Sequence[int], gaps: NDArray[np.bool_], n_rows: int) -> ColumnLayout:
    """Combine neighbouring categorical columns while the cells of their combinations are few."""
    block, divisor = np.zeros(len(widths), np.intp), np.ones(len(widths), np.intp)
    sizes: list[int] = []
    for c, width in enumerate(widths):
        if sizes and sizes[-1] * width <= min(MAX_CELLS, n_rows // 8):
            divisor[c] = sizes[-1]
            sizes[-1] *= width
        else:
            sizes.append(width)
        block[c] = len(sizes) - 1
    gap = np.where(gaps, np.cumsum(gaps) - 1, -1)
    return ColumnLayout(gap, _edges(sizes), block, divisor, np.array(widths, int), _edges(widths))


def _edges(sizes: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.intp))))


# The search -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FittedMixture:
    """The best mixture of all rows.

    Attributes
    ----------
    mixtures : Mixtures
        This mixture alone.
    history : array
        Penalized log-likelihood per row, in standardized units, at every step.
    converged : bool
    held_out : float
        Mean log-likelihood of held-out rows, in the columns' units; NaN without folds.
    """

    mixtures: Mixtures
    history: NDArray[np.float64]
    converged: bool
    held_out: float


class EMSearch:
    """Mixtures of more and more components, for every fold, all rows, and every start.

    ``progress`` returns what counts the steps with a number of components, and may stop them.
    """

    def __init__(
        self, data: EMData, options: EMOptions, n_jobs: int | None, progress: NewProgress
    ) -> None:
        self.data, self.options, self.n_jobs = data, options, n_jobs
        self.progress, self.stopped = progress, False
        self.n_components = 0
        # Mixtures are sorted by fold; those of all rows come last.
        self.fold = np.repeat([*range(data.n_folds), ALL_ROWS], options.n_init)
        self.start = np.tile(np.arange(options.n_init), data.n_folds + 1)
        n_blocks = len(data.layout.start) - 1
        self.centres = Centres(
            np.empty((len(self.fold), 0, len(data.scale.columns))),
            np.empty((len(self.fold), 0, n_blocks), np.uint16),
        )
        # Sums of squares of standardized values are at most the weight: 2**50 units.
        exponent = math.ceil(math.log2(data.weight))
        self.rounding = Rounding(
            math.ldexp(1.5, exponent + 2),
            math.ldexp(1.0, exponent - 50),
            math.ldexp(1.0, min(52, 62 - data.n_rows.bit_length())),
        )

    def add_component(self) -> bool:
        """Add a component to every mixture; return False where a fold has no row left for it."""
        if self.options.init == "random":
            more = bool((self.data.trained[:, 1] > self.n_components).all())
        else:
            more = self._add_centres()
        self.n_components += more
        return more

    def _add_centres(self) -> bool:
        seeds = self._seeds(self.n_components)
        draw = partial(_draw_centres, self.data.layout, seeds, self.fold, self.centres)
        drawn = self.data.records.reduce(draw, _earlier, "drawing centres")
        if np.isinf(drawn.time).any():
            return False
        self.centres = Centres(
            np.concatenate((self.centres.values, drawn.centres.values), axis=1),
            np.concatenate((self.centres.cells, drawn.centres.cells), axis=1),
        )
        return True

    def _seeds(self, component: int) -> NDArray[np.uint64]:
        """Return the seed of each mixture for a component: the same in all folds of a start."""
        return row_bits(self.options.seed, (self.start.astype(np.int64) << 32) + component)

    def fit(self) -> FittedMixture:
        """Run EM with the present number of components."""
        # A single component has one optimum, wherever it starts.
        mixtures = np.flatnonzero((self.start == 0) | (self.n_components > 1))
        fold, parameters = self.fold[mixtures], self._init(mixtures)
        progress = self.progress(self.n_components)
        history = self._run(parameters, fold, progress)
        progress.finish()
        self.stopped = progress.stopped
        n_steps = (~np.isnan(history[..., 0])).sum(axis=1)
        fit, held_out = history[np.arange(len(fold)), n_steps - 1].T
        best = fit.reshape(self.data.n_folds + 1, -1).argmax(axis=1)
        best += np.flatnonzero(self.start[mixtures] == 0)
        whole, steps = best[-1], history[best[-1], : n_steps[best[-1]], 0]
        total = held_out[best[:-1]].sum() + self.data.offset if self.data.n_folds else np.nan
        return FittedMixture(
            Mixtures(*(part[whole : whole + 1].copy() for part in parameters)),
            steps,
            bool(len(steps) > 1 and steps[-1] - steps[-2] < self.options.tol),
            total / self.data.weight,
        )

    def _init(self, chosen: NDArray[np.intp]) -> Mixtures:
        """Return the start of the chosen mixtures."""
        layout, prior = self.data.layout, self.options.prior
        shape, n_numbers = (len(chosen), self.n_components), len(self.data.scale.columns)
        mixtures = Mixtures(
            np.empty(shape),
            np.zeros((*shape, n_numbers)),
            np.ones((*shape, n_numbers)),
            np.empty((shape[0], layout.offset[-1], shape[1])),
            np.empty((*shape, layout.start[-1])),
            np.empty(shape[0]),
        )
        if self.options.init != "random":
            centres = Centres(self.centres.values[chosen], self.centres.cells[chosen])
            kernels.init_at_centres(layout, self.data.frequency, centres, prior, mixtures)
            return mixtures
        seeds = np.stack([self._seeds(k)[chosen] for k in range(self.n_components)], axis=1)
        fold = self.fold[chosen]
        share = partial(_count_random_shares, layout, seeds, fold, self.rounding, mixtures)
        sums = self.data.records.reduce(share, _add_sums, "starting EM")
        for m in range(len(chosen)):
            kernels.estimate(layout, sums, self.rounding.unit, prior, m, mixtures)
        return mixtures

    def _run(
        self, mixtures: Mixtures, fold: NDArray[np.intp], progress: Progress
    ) -> NDArray[np.float64]:
        """Improve mixtures (OUT) until all have converged; return their fit at every step."""
        data, options, rounding = self.data, self.options, self.rounding
        history = np.full((len(fold), options.max_iter, 2), np.nan)
        active = np.ones(len(fold), np.bool_)
        for step in range(options.max_iter):
            visit = partial(_e_step, data.layout, mixtures, fold, active, rounding, self.n_jobs)
            sums = data.records.reduce(visit, _add_sums, "a step of EM")
            kernels.improve(
                data.layout, sums, rounding, options.prior, options.tol,
                data.trained[fold, 0], step, history, active, mixtures,
            )  # fmt: skip
            progress.add(1)
            if progress.stopped or not active.any():
                break
        return history


def fit_number(search: EMSearch, n_components: int) -> FittedMixture:
    """Fit a number of components, or as many as there are different rows."""
    while search.n_components < n_components and search.add_component():
        pass
    return search.fit()


def fit_growing(search: EMSearch, max_components: int) -> tuple[FittedMixture, list[float]]:
    """Add components while held-out rows become likelier; also return these likelihoods."""
    best: FittedMixture | None = None
    held_out: list[float] = []
    while len(held_out) < max_components and search.add_component():
        fitted = search.fit()
        if search.stopped and best is not None:  # one that has converged is better
            break
        held_out.append(fitted.held_out)
        if best is not None and not fitted.held_out > best.held_out:
            break
        best = fitted
        if search.stopped:
            break
    assert best is not None
    return best, held_out


def cluster_scorer(
    mixtures: Mixtures, order: NDArray[np.intp], data: EMData, schema: Schema
) -> Scorer:
    """Return the first mixture as a scorer, in the units of the columns."""
    terms: dict[int, Term] = {}
    for i, j in enumerate(data.scale.columns):
        mean = data.scale.mean[i] + data.scale.deviation[i] * mixtures.mean[0, order, i]
        variance = data.scale.deviation[i] ** 2 * mixtures.variance[0, order, i]
        terms[j] = GaussianTerm(mean, variance, np.zeros(len(order)), np.zeros(len(order)))
    for c, (j, coder) in enumerate(data.coders.items()):
        logs = np.zeros((coder.size + 2, len(order)))
        slots = slice(data.layout.offset[c], data.layout.offset[c + 1])
        logs[:-1] = mixtures.logs[0, slots, order].T
        terms[j] = TableTerm(coder, logs)
    for j, column in enumerate(schema):
        if column.kind == "numeric" and j not in terms:
            # Constant: no evidence, but new numbers are still checked.
            terms[j] = TableTerm(Bins(np.empty(0)), np.zeros((3, len(order))))
    return Scorer(mixtures.log_share[0, order], tuple(map(terms.get, range(len(schema)))))


# Passes over a record, on whatever machine it is ------------------------------------------------


class _Drawn(NamedTuple):
    """A row for each mixture: its time, its key, and its values."""

    time: NDArray[np.float64]
    key: NDArray[np.uint64]
    centres: Centres


def _draw_centres(
    layout: ColumnLayout,
    seeds: NDArray[np.uint64],
    fold: NDArray[np.intp],
    centres: Centres,
    record: EMRecord,
    _state: Any,
) -> _Drawn:
    """Return the row of a record that comes first for each mixture."""
    rows = record.rows()
    drawn = [
        kernels.next_centre(rows, layout, seeds[m], fold[m], centres, m) for m in range(len(fold))
    ]
    chosen = np.array([i for i, _ in drawn])
    values, cells = record.values[:, chosen].T, record.cells[:, chosen].T
    times = np.array([time for _, time in drawn])
    return _Drawn(times, record.keys[chosen], Centres(values[:, None], cells[:, None]))


def _earlier(a: _Drawn, b: _Drawn) -> _Drawn:
    """Return the earlier row of two for each mixture, of equals the one with the lower key."""
    first = (a.time < b.time) | ((a.time == b.time) & (a.key <= b.key))
    where = first[:, None, None]
    centres = Centres(
        np.where(where, a.centres.values, b.centres.values),
        np.where(where, a.centres.cells, b.centres.cells),
    )
    return _Drawn(np.minimum(a.time, b.time), np.where(first, a.key, b.key), centres)


def _count_random_shares(
    layout: ColumnLayout,
    seeds: NDArray[np.uint64],
    fold: NDArray[np.intp],
    rounding: Rounding,
    mixtures: Mixtures,
    record: EMRecord,
    _state: Any,
) -> Sums:
    sums = _zero_sums(mixtures)
    for m in range(len(fold)):
        kernels.count_random_shares(record.rows(), layout, seeds[m], fold[m], rounding, m, sums)
    return sums


def _e_step(
    layout: ColumnLayout,
    mixtures: Mixtures,
    fold: NDArray[np.intp],
    active: NDArray[np.bool_],
    rounding: Rounding,
    n_jobs: int | None,
    record: EMRecord,
    _state: Any,
) -> Sums:
    """Return the sums of a record for all active mixtures."""
    n_parts = thread_count(n_jobs, max(1, min(MAX_THREADS, record.n_rows // THREAD_ROWS)))
    edges = [record.n_rows * p // n_parts for p in range(n_parts + 1)]

    def visit(p: int) -> Sums:
        sums = _zero_sums(mixtures)
        kernels.e_step(
            record.rows(), layout, mixtures, fold, active, rounding, edges[p], edges[p + 1], sums
        )
        return sums

    return reduce(_add_sums, in_threads(visit, range(n_parts), n_jobs))


def _zero_sums(mixtures: Mixtures) -> Sums:
    n, k, columns = mixtures.mean.shape
    return Sums(
        np.zeros((n, k), np.int64),
        np.zeros((n, k, columns, 3), np.int64),
        np.zeros(mixtures.table.shape),
        np.zeros((n, 2, 2), np.int64),
    )


def _add_sums(a: Sums, b: Sums) -> Sums:
    return Sums(a.share + b.share, a.moments + b.moments, a.cells + b.cells, a.fit + b.fit)
