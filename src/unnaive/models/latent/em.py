"""EM for many mixtures at once: all folds and starts advance in the same pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import GaussianTerm, Scorer, TableTerm, Term
from unnaive.common.threads import in_threads, thread_count
from unnaive.encode import Bins, Categories
from unnaive.encode.draws import row_bits
from unnaive.estimator import Progress
from unnaive.models.latent import kernels, starts
from unnaive.models.latent.rows import Latent, Standardization
from unnaive.models.latent.state import Mixtures, Prior, Sums
from unnaive.table import Schema
from unnaive.table.storage import stretches

Begin: TypeAlias = Callable[[int], Progress]
STRETCH = 8192  # rows visited by one task, at least,
MOST_PARTS = 16  # and no more tasks than this: each has sums of its own


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
        folds = latent.n_folds + 1
        # Mixtures stand fold by fold; the last fold is all rows.
        self.fold = np.repeat(np.arange(folds), rules.n_init)
        self.start = np.tile(np.arange(rules.n_init), folds)
        self.distance = latent.storage.empty((len(self.fold), latent.n_rows), np.float64)
        self.distance[:] = np.inf
        self.seeds = np.empty((len(self.fold), 0), dtype=np.intp)
        self.n_components = 0

    def add_component(self) -> bool:
        """One more component for every start; False where a fold has no other row for it."""
        if self.rules.init == "random":
            weight = self.latent.rows.weight
            more = all((weight > held).sum() > self.n_components for held in self.latent.rows.held)
        else:
            more = self._add_seeds()
        self.n_components += more
        return more

    def _add_seeds(self) -> bool:
        """One more centre for every start; False where a fold has no other row to choose."""
        step = self.n_components
        chosen = np.empty(len(self.fold), dtype=np.intp)
        keys = [self._race(start, step) for start in range(self.rules.n_init)]
        for m, (fold, start) in enumerate(zip(self.fold, self.start, strict=True)):
            last = self.seeds[m, -1] if step else -1
            latent = self.latent
            chosen[m] = starts.farthest(
                latent.rows, latent.slots, fold, last, keys[start], self.distance[m]
            )
        if (chosen < 0).any():
            return False
        self.seeds = np.column_stack((self.seeds, chosen))
        return True

    def _race(self, start: int, step: int) -> NDArray[np.float64]:
        """An exponential draw for every row, that depends on the row's values alone."""
        stage = np.array([(start << 32) + step])
        seed = int(row_bits(self.rules.seed, stage)[0])
        keys = self.latent.keys.view(np.int64)
        race = self.latent.storage.empty(len(keys), np.float64)
        for part in stretches(len(keys)):
            bits = row_bits(seed, keys[part])
            race[part] = -np.log(((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
        return race

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
        starts = (np.flatnonzero(fold == f) for f in range(self.latent.n_folds + 1))
        best = [int(of_fold[final[of_fold].argmax()]) for of_fold in starts]
        return self._fitted(mixtures, sums, history, taken, best)

    def _begin(self, chosen: NDArray[np.intp]) -> Mixtures:
        """Parameters that the chosen mixtures start from."""
        latent = self.latent
        n, k, columns = len(chosen), self.n_components, len(latent.rows.values)
        mixtures = Mixtures(
            np.empty((n, k)),
            np.empty((n, k, columns)),
            np.empty((n, k, columns)),
            np.empty((n, latent.packs.offset[-1], k)),
            np.empty((n, k, latent.packs.start[-1])),
            np.empty(n),
        )
        if self.rules.init == "random":
            self._begin_at_random(chosen, mixtures)
            return mixtures
        starts.begin(
            latent.rows, latent.packs, latent.slots, latent.shares, self.seeds[chosen],
            self.rules.prior, mixtures,
        )  # fmt: skip
        return mixtures

    def _begin_at_random(self, chosen: NDArray[np.intp], mixtures: Mixtures) -> None:
        """Random shares of every row, the same in all folds of a start (OUT)."""
        latent = self.latent
        rounding, unit = self._rounding()
        sums = _empty_sums(mixtures)
        draws = latent.storage.empty((self.n_components, latent.n_rows), np.float64)
        for start in np.unique(self.start[chosen]).tolist():
            for k in range(self.n_components):
                np.exp(-self._race(start, k), out=draws[k])  # even between 0 and 1
            for m in np.flatnonzero(self.start[chosen] == start).tolist():
                held = latent.rows.held[self.fold[chosen[m]]]
                starts.begin_at_random(
                    latent.rows, latent.packs, draws, held, rounding, unit, self.rules.prior, m,
                    sums, mixtures,
                )  # fmt: skip

    def _rounding(self) -> tuple[float, float]:
        """What rounds terms to whole numbers of a unit, and that unit.

        Sums of squares of standardized values are at most the weight: 2**50 units.
        """
        exponent = math.ceil(math.log2(self.latent.rows.weight.sum()))
        return math.ldexp(1.5, exponent + 2), math.ldexp(1.0, exponent - 50)

    def _run(
        self, mixtures: Mixtures, fold: NDArray[np.intp], progress: Progress
    ) -> tuple[Sums, NDArray[np.float64]]:
        latent, rules = self.latent, self.rules
        weight = latent.rows.weight
        rest = latent.storage.empty(len(weight), np.float64)
        each = [np.subtract(weight, held, out=rest).sum() for held in latent.rows.held]
        trained = np.array(each)[fold]
        rounding, unit = self._rounding()
        n_parts = max(1, min(MOST_PARTS, latent.n_rows // STRETCH))
        edges = np.linspace(0, latent.n_rows, n_parts + 1).astype(np.intp)
        parts, whole = _empty_sums(mixtures, n_parts), _empty_sums(mixtures)
        history = np.full((len(fold), rules.max_iter), np.nan)
        active = np.ones(len(fold), dtype=np.bool_)
        if thread_count(self.n_jobs, n_parts) == 1 and progress.hook is None:
            kernels.run(
                latent.rows, latent.packs, mixtures, fold, edges, rounding, unit, rules.prior,
                rules.tol, trained, history, active, parts, whole,
            )  # fmt: skip
            return whole, history

        def visit(p: int) -> None:
            part = Sums(*(sums[p] for sums in parts))
            kernels.visit(
                latent.rows, latent.packs, mixtures, fold, active, rounding, edges[p],
                edges[p + 1], part,
            )  # fmt: skip

        for step in range(rules.max_iter):
            list(in_threads(visit, range(n_parts), self.n_jobs))
            kernels.add_parts(parts, active, whole)
            moving = kernels.improve(
                latent.packs, whole, unit, rules.prior, rules.tol, trained, step, history, active,
                mixtures,
            )  # fmt: skip
            progress.add(1)
            if not moving or progress.stopped:
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
        weight = float(latent.rows.weight.sum())
        steps = history[best[-1], : taken[best[-1]]]
        held = float(sums.fit[best[:-1], 1].sum()) + latent.offset if best[:-1] else np.nan
        return Fitted(
            Mixtures(*(part[best[-1] : best[-1] + 1].copy() for part in mixtures)),
            steps,
            bool(len(steps) > 1 and steps[-1] - steps[-2] < tol),
            float(sums.fit[best[-1], 0]) + latent.offset,
            held / weight,
        )


def _empty_sums(mixtures: Mixtures, *parts: int) -> Sums:
    n, k, columns = mixtures.mean.shape
    return Sums(
        np.empty((*parts, n, k), np.int64),
        np.empty((*parts, n, k, columns, 3), np.int64),
        np.empty((*parts, *mixtures.table.shape)),
        np.empty((*parts, n, 2)),
    )


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
    if best is None:
        raise ValueError("cv has a fold that leaves no rows to learn from; use another splitter.")
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
