"""EM for many mixtures at once: all folds and starts advance in the same pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, Scorer, TableTerm, Term
from unnaive.common.threads import in_threads, thread_count
from unnaive.encode import Bins, Categories
from unnaive.encode.draws import row_bits
from unnaive.estimator import Progress
from unnaive.models.latent import kernels, starts
from unnaive.models.latent.rows import DistinctRows, Latent, Prepared, Standardization
from unnaive.models.latent.state import Centres, Grains, Mixtures, Packs, Prior, Sums
from unnaive.table import Schema
from unnaive.table.storage import Storage, stretches

Begin: TypeAlias = Callable[[int], Progress]
STRETCH = 8192  # rows visited by one thread, at least,
MOST_PARTS = 16  # and no more threads than this: each has sums of its own


@dataclass(frozen=True, slots=True)
class EMOptions:
    """When EM stops and from where it starts; see `LatentClassClusterer`."""

    prior: Prior
    n_init: int
    max_iter: int
    tol: float
    seed: int
    init: str = "far"


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The best mixture for all rows, and how good its number of components is.

    Attributes
    ----------
    mixtures : Mixtures
        Of one mixture.
    history : array
        Penalized log-likelihood per row, in standardized units, at every step.
    converged : bool
    likelihood : float
        Log-likelihood of all rows, in the columns' units.
    held_out : float
        Mean log-likelihood of held-out rows, in the columns' units; NaN without folds.
    """

    mixtures: Mixtures
    history: NDArray[np.float64]
    converged: bool
    likelihood: float
    held_out: float

    @property
    def n_components(self) -> int:
        return self.mixtures.log_share.shape[1]


class Search:
    """Mixtures with one component after another, for every fold, all rows, and every start.

    ``begin`` makes what counts the steps with so many components, and may stop them.
    """

    def __init__(self, latent: Latent, rules: EMOptions, n_jobs: int | None, begin: Begin) -> None:
        self.latent, self.rules, self.n_jobs = latent, rules, n_jobs
        self.begin, self.stopped = begin, False
        # Mixtures stand fold by fold; the last fold is all rows.
        folds = np.arange(len(latent.trained))[-latent.n_folds - 1 :]
        self.fold = np.repeat(folds, rules.n_init)
        self.start = np.tile(np.arange(rules.n_init), len(folds))
        n_mixtures, n_slots = len(self.fold), len(latent.packs.pack)
        self.centres = Centres(
            np.empty((n_mixtures, 0, latent.n_numbers)),
            np.empty((n_mixtures, 0, n_slots), np.uint16),
        )
        # Sums of squares of standardized values are at most the weight: 2**50 units.
        exponent = math.ceil(math.log2(latent.weight))
        self.grains = Grains(
            math.ldexp(1.5, exponent + 2),
            math.ldexp(1.0, exponent - 50),
            math.ldexp(1.0, min(52, 62 - latent.n_rows.bit_length())),
        )
        self.n_components = 0

    def add_component(self) -> bool:
        """One more component for every start; False where a fold has no other row for it."""
        if self.rules.init == "random":
            more = bool((self.latent.trained[:, 1] > self.n_components).all())
        else:
            more = self._add_centres()
        self.n_components += more
        return more

    def _add_centres(self) -> bool:
        """One more centre for every start; False where a fold has no other row to choose."""
        races = self._race_seeds(range(self.rules.n_init), self.n_components)
        draw = partial(
            _draw_centres, self.fold, self.start, races, self.centres, self.latent.records.storage
        )
        chosen = self.latent.records.reduce(draw, _earlier, "drawing centres")
        if np.isinf(chosen.race).any():
            return False
        pairs: Iterable[tuple[Any, Any]] = zip(self.centres, chosen.centres, strict=True)
        self.centres = Centres(
            *(np.ascontiguousarray(np.concatenate(pair, axis=1)) for pair in pairs)
        )
        return True

    def _race_seeds(self, starts: Iterable[int], step: int) -> list[int]:
        """What the exponential draws of each start depend on, beside the rows' values."""
        stages = np.array([(start << 32) + step for start in starts])
        return [int(seed) for seed in row_bits(self.rules.seed, stages)]

    def fit(self) -> Fitted:
        """EM from the centres chosen so far, to the end."""
        n_components = self.n_components
        # One component has one best place, wherever it starts.
        chosen = np.flatnonzero(self.start == 0) if n_components == 1 else np.arange(len(self.fold))
        fold = self.fold[chosen]
        mixtures = self._begin(chosen)
        progress = self.begin(n_components)
        sums, history = self._run(mixtures, fold, progress)
        progress.finish()
        self.stopped = progress.stopped
        taken = (~np.isnan(history)).sum(axis=1)
        final = history[np.arange(len(chosen)), taken - 1]
        starts = (np.flatnonzero(fold == f) for f in np.unique(fold))
        best = [int(of_fold[final[of_fold].argmax()]) for of_fold in starts]
        return self._fitted(mixtures, sums, history, taken, best)

    def _begin(self, chosen: NDArray[np.intp]) -> Mixtures:
        """Parameters that the chosen mixtures start from."""
        latent, prior = self.latent, self.rules.prior
        shape = (len(chosen), self.n_components)
        mixtures = Mixtures(
            np.empty(shape),
            np.zeros((*shape, latent.n_numbers)),
            np.ones((*shape, latent.n_numbers)),
            np.empty((shape[0], latent.packs.offset[-1], shape[1])),
            np.empty((*shape, latent.packs.start[-1])),
            np.empty(shape[0]),
        )
        if self.rules.init != "random":
            centres = Centres(self.centres.values[chosen], self.centres.slots[chosen])
            starts.begin(latent.packs, latent.shares, centres, prior, mixtures)
            return mixtures
        # Random shares of every row, the same in all folds of a start.
        each = [self._race_seeds(range(self.rules.n_init), k) for k in range(self.n_components)]
        share = partial(
            _share_at_random, latent.packs, self.fold[chosen], self.start[chosen], each, mixtures,
            self.grains.rounding, latent.records.storage,
        )  # fmt: skip
        sums = latent.records.reduce(share, _add_sums, "sharing rows")
        for m in range(len(chosen)):
            kernels.estimate(latent.packs, sums, self.grains.unit, prior, m, mixtures)
        return mixtures

    def _run(
        self, mixtures: Mixtures, fold: NDArray[np.intp], progress: Progress
    ) -> tuple[Sums, NDArray[np.float64]]:
        """Steps until all mixtures rest: their last sums, and how good they were at each."""
        latent, rules, whole = self.latent, self.rules, _zero_sums(mixtures)
        trained = latent.trained[fold, 0]
        history = np.full((len(fold), rules.max_iter), np.nan)
        active = np.ones(len(fold), dtype=np.bool_)
        for step in range(rules.max_iter):
            all_move = bool(active.all())
            moving = mixtures if all_move else Mixtures(*(part[active] for part in mixtures))
            visit = partial(_visit, latent.packs, moving, fold[active], self.grains, self.n_jobs)
            new = latent.records.reduce(visit, _add_sums, "a step of EM")
            if all_move:
                whole = new
            else:
                for old, part in zip(whole, new, strict=True):
                    old[active] = part
            goes_on = kernels.improve(
                latent.packs, whole, self.grains, rules.prior, rules.tol, trained, step, history,
                active, mixtures,
            )  # fmt: skip
            progress.add(1)
            if not goes_on or progress.stopped:
                break
        return whole, history

    def _fitted(
        self,
        mixtures: Mixtures,
        sums: Sums,
        history: NDArray[np.float64],
        taken: NDArray[np.intp],
        best: list[int],
    ) -> Fitted:
        latent, tol = self.latent, self.rules.tol
        steps = history[best[-1], : taken[best[-1]]]
        fit = sums.fit[..., 0] + sums.fit[..., 1] / self.grains.fine
        held = float(fit[best[:-1], 1].sum()) + latent.offset if best[:-1] else np.nan
        return Fitted(
            Mixtures(*(part[best[-1] : best[-1] + 1].copy() for part in mixtures)),
            steps,
            bool(len(steps) > 1 and steps[-1] - steps[-2] < tol),
            float(fit[best[-1], 0]) + latent.offset,
            held / latent.weight,
        )


# What passes do with a record, on whatever machine it is ----------------------------------------


class _Chosen(NamedTuple):
    """A row for each mixture: the time at which it won its race, its key, and its values."""

    race: NDArray[np.float64]
    key: NDArray[np.uint64]
    centres: Centres


def _draw_centres(
    fold: NDArray[np.intp],
    start: NDArray[np.intp],
    races: list[int],
    centres: Centres,
    room: Storage,
    record: DistinctRows,
    state: Prepared,
) -> _Chosen:
    """The row of this record that comes first in the race of each mixture."""
    rows, n = state.rows(record), len(fold)
    times, chosen = np.empty(n), np.empty(n, np.intp)
    for s, seed in enumerate(races):
        keys = _race(seed, record.keys, room)
        for m in np.flatnonzero(start == s):
            chosen[m], times[m] = starts.farthest(rows, record.slots, fold[m], centres, m, keys)
    values, slots = record.values[:, chosen].T, record.slots[:, chosen].T
    return _Chosen(times, record.keys[chosen], Centres(values[:, None], slots[:, None]))


def _earlier(a: _Chosen, b: _Chosen) -> _Chosen:
    """Of two rows for each mixture the one that won its race earlier; among equals, by key."""
    first = (a.race < b.race) | ((a.race == b.race) & (a.key <= b.key))
    pairs: Iterable[tuple[Any, Any]] = zip(a.centres, b.centres, strict=True)
    centres = Centres(*(np.where(first[:, None, None], one, other) for one, other in pairs))
    return _Chosen(np.minimum(a.race, b.race), np.where(first, a.key, b.key), centres)


def _race(seed: int, keys: NDArray[np.uint64], room: Storage) -> NDArray[np.float64]:
    """An exponential draw for every row, that depends on the row's values alone."""
    race = room.empty(len(keys), np.float64)
    for part in stretches(len(keys)):
        bits = row_bits(seed, keys[part].view(np.int64))
        race[part] = -np.log(((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    return race


def _share_at_random(
    packs: Packs,
    fold: NDArray[np.intp],
    start: NDArray[np.intp],
    races: list[list[int]],
    mixtures: Mixtures,
    rounding: float,
    room: Storage,
    record: DistinctRows,
    state: Prepared,
) -> Sums:
    """Sums of rows in shares that are drawn for each start and component."""
    rows, sums = state.rows(record), _zero_sums(mixtures)
    draws = room.empty((len(races), record.n_rows), np.float64)
    for s in np.unique(start).tolist():
        for k, seeds in enumerate(races):
            times = _race(seeds[s], record.keys, room)
            np.exp(np.negative(times, out=times), out=draws[k])  # even between 0 and 1
        for m in np.flatnonzero(start == s).tolist():
            starts.share_at_random(rows, packs, draws, rows.held[fold[m]], rounding, m, sums)
    return sums


def _visit(
    packs: Packs,
    mixtures: Mixtures,
    fold: NDArray[np.intp],
    grains: Grains,
    n_jobs: int | None,
    record: DistinctRows,
    state: Prepared,
) -> Sums:
    """A step of EM: what its rows leave in the sums of all mixtures."""
    rows = state.rows(record)
    n_parts = thread_count(n_jobs, max(1, min(MOST_PARTS, record.n_rows // STRETCH)))
    edges = [record.n_rows * p // n_parts for p in range(n_parts + 1)]

    def visit(p: int) -> Sums:
        sums = _zero_sums(mixtures)
        kernels.visit(rows, packs, mixtures, fold, grains, edges[p], edges[p + 1], sums)
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
    pairs: Iterable[tuple[Any, Any]] = zip(a, b, strict=True)
    return Sums(*(one + other for one, other in pairs))


def fit_number(
    latent: Latent, n_components: int, rules: EMOptions, n_jobs: int | None, begin: Begin
) -> Fitted:
    """A mixture of so many components, or of as many as there are different rows."""
    search = Search(latent, rules, n_jobs, begin)
    while search.n_components < n_components and search.add_component():
        pass
    return search.fit()


def fit_growing(
    latent: Latent, most: int, rules: EMOptions, n_jobs: int | None, begin: Begin
) -> tuple[Fitted, list[float]]:
    """One component more while held-out rows become likelier; also their likelihoods on the way."""
    search = Search(latent, rules, n_jobs, begin)
    best: Fitted | None = None
    tried: list[float] = []
    while len(tried) < most and search.add_component():
        fitted = search.fit()
        if search.stopped and best is not None:  # one that has come to its end is better
            break
        tried.append(fitted.held_out)
        if best is not None and not fitted.held_out > best.held_out:
            break
        best = fitted
        if search.stopped:
            break
    assert best is not None
    return best, tried


def cluster_scorer(
    fitted: Fitted,
    order: NDArray[np.intp],
    scale: Standardization,
    coders: list[Categories | None],
    schema: Schema,
) -> Scorer:
    """The mixture as the library's scorer, in the units of the columns."""
    mixtures, k = fitted.mixtures, fitted.n_components
    terms: dict[int, Term] = {}
    for i, j in enumerate(scale.columns):
        mean = scale.mean[i] + scale.deviation[i] * mixtures.mean[0, order, i]
        variance = scale.deviation[i] ** 2 * mixtures.variance[0, order, i]
        terms[j] = GaussianTerm(mean, variance, np.zeros(k), np.zeros(k))
    first = 0
    for j, coder in enumerate(coders):
        if coder is not None:
            logs = np.zeros((coder.size + 2, k))
            logs[:-1] = mixtures.logs[0, first : first + coder.size + 1][:, order]
            terms[j] = TableTerm(coder, logs)
            first += coder.size + 1
        elif schema[j].kind == "numeric" and j not in terms:
            # Constant: no evidence, but numbers are still checked when they come.
            terms[j] = TableTerm(Bins(np.empty(0)), np.zeros((3, k)))
    return Scorer(mixtures.log_share[0, order], tuple(terms.get(j) for j in range(len(coders))))
