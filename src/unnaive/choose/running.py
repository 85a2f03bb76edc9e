"""Estimators on the same folds of a table, one after the other, within a time budget."""

from __future__ import annotations

import operator
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.quality import NAN, Quality, QualitySums
from unnaive.choose.pooling import take_member_logs
from unnaive.choose.reading import LabelledRows, Split
from unnaive.common.advice import silence
from unnaive.encode.draws import draw_order
from unnaive.models.base import leaves_answer

ProgressCallback = Callable[[str, int, int], None]
# Rows of the small fits that estimate the cost of a model, by the best time of each size; the very
# first may compile kernels. They may take a share of the time budget.
PROBES = (64, 64, 64, 256, 256, 1024, 1024)
PROBE_SHARE = 0.3


@dataclass(frozen=True)
class Result:
    """The result of one estimator.

    Attributes
    ----------
    name : str
    estimator : estimator
        As it was compared, not fitted.
    quality : Quality or None
        Over all held-out rows; areas under curves are means over folds. Without ``predict_proba``,
        only accuracy and F1 are known, others NaN.
    folds : tuple of Quality
        Of each fold.
    as_good : bool
        Whether it is the best, or does not differ from it by the criterion (a paired t-test over
        folds, corrected for training rows that folds share, at 5 %).
    size : int or None
        Bytes of the pickled model of the first fold.
    problem : str
        Why there is no quality: an error, or the time budget; empty if there is one.
    left_out : bool
        Whether the time budget is the reason.
    pooled : bool
        Whether it is the pool of the other results.
    fit_seconds, predict_seconds : float
        Of the median fold: the first may have compiled kernels.
    held_out : array of shape (rows, classes) or None
        Of models of this library, what they would add to a pool for rows that were held out; NaN
        for others.
    """

    name: str
    estimator: Any = field(compare=False)
    quality: Quality | None = None
    folds: tuple[Quality, ...] = ()
    as_good: bool = False
    size: int | None = None
    problem: str = ""
    left_out: bool = False
    pooled: bool = False
    fit_seconds: float = field(default=NAN, compare=False)
    predict_seconds: float = field(default=NAN, compare=False)
    held_out: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    def figures(self, name: str) -> list[float]:
        """A measure of each fold."""
        return [getattr(fold, name) for fold in self.folds]


class TimeBudget:
    """Time budget: seconds since the start, and their limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._start = time.perf_counter()

    def exceeded_by(self, seconds: float) -> bool:
        """Whether so many more seconds would exceed the limit."""
        elapsed = time.perf_counter() - self._start
        return self.limit is not None and elapsed + seconds > self.limit


def run_all(
    candidates: Mapping[str, Any],
    rows: LabelledRows,
    splits: Sequence[Split],
    budget: TimeBudget,
    seed: int,
    progress: ProgressCallback | None,
    pool: bool = False,
) -> list[Result]:
    """Every candidate's result, the cheapest first where time is limited.

    With ``pool``, time is kept for fitting those that are done once more, on all rows.
    """
    costs = dict.fromkeys(candidates, 0.0)
    if budget.limit is not None:
        costs = _estimate_costs(candidates, rows, budget, seed)
    results: list[Result] = []
    steps = len(candidates) * len(splits)
    for i, name in enumerate(sorted(candidates, key=lambda name: costs[name])):

        def report(fold: int, name: str = name, done: int = i * len(splits)) -> None:
            if progress is not None:
                progress(name, done + fold, steps)

        first = not any(r.quality for r in results)  # one model is always finished
        result = Result(name, candidates[name])
        limit = None if first else budget
        kept = sum(r.fit_seconds for r in results if r.held_out is not None) if pool else 0.0
        results.append(_run(result, rows, splits, limit, costs[name], kept, report))
        report(len(splits))
    return results


def _estimate_costs(
    candidates: Mapping[str, Any], rows: LabelledRows, budget: TimeBudget, seed: int
) -> dict[str, float]:
    """Estimated seconds of one fit of each, from fits on a few rows."""
    assert budget.limit is not None
    n = len(rows)
    few = rows.sample(draw_order(seed, rows.places, rows.storage)[: PROBES[-1]])
    allowed = PROBE_SHARE * budget.limit / len(candidates)
    return {
        name: _extrapolate(_probe(estimator, few, budget, allowed), n)
        + rows.pass_seconds(estimator)
        for name, estimator in candidates.items()
    }


def _probe(
    estimator: Any, rows: LabelledRows, budget: TimeBudget, allowed: float
) -> dict[int, float]:
    """Seconds of fits on the first rows, by their number, as long as they are few enough."""
    seconds: dict[int, float] = {}
    warm = False
    for size in PROBES:
        few = min(size, len(rows))
        largest = max(seconds, default=0)
        if budget.exceeded_by(0) or (largest and seconds[largest] * few / largest > allowed):
            break
        start = time.perf_counter()
        try:
            with silence():
                rows.fit(estimator, np.arange(few))
        except Exception as error:
            _reraise_interrupt(error)
            break  # it will be shown when its turn comes
        took = time.perf_counter() - start
        if warm:
            seconds[few] = min(took, seconds.get(few, took))
        warm = True
    return seconds


def _extrapolate(seconds: dict[int, float], n: int) -> float:
    """Seconds for n rows: growing as between the smallest and the largest fit, or like n."""
    if not seconds:
        return 0.0  # unknown: it is checked between folds
    small, large = min(seconds), max(seconds)
    first, last = seconds[small], seconds[large]
    if small == large:
        small, first = 0, 0.0
    return last + max(last - first, 0.0) / (large - small) * (n - large)


def _run(
    result: Result,
    rows: LabelledRows,
    splits: Sequence[Split],
    budget: TimeBudget | None,
    cost: float,
    kept: float,
    report: Callable[[int], None],
) -> Result:
    """The result over all folds, unless a fit, or after the first one the rest, takes too long.

    ``kept`` are seconds that must be left after it.
    """
    fits: list[float] = []
    predictions: list[float] = []
    judged: list[tuple[QualitySums, Quality]] = []
    size = None
    held_out: NDArray[np.float64] | None = None
    for k, (train, test) in enumerate(splits):
        # Room is kept for fitting on all rows, in case this is the best.
        ahead = float(np.median(fits)) * (len(splits) - k + 1) if fits else cost
        if budget is not None and budget.exceeded_by(ahead + kept):
            after = f" after {k} of {len(splits)} folds" if k else ""
            problem = f"left out{after}: the time budget of {budget.limit:g} s is too small for it"
            return replace(result, problem=problem, left_out=True)
        report(k)
        start = time.perf_counter()
        try:
            with silence():
                model = rows.fit(result.estimator, train)
            fitted = time.perf_counter()
            p = rows.predict_proba(model, test)
            predicted = time.perf_counter()
            judged.append(rows.quality(p, test, model))
        except Exception as error:
            _reraise_interrupt(error)
            # Whatever a user's estimator raises is shown in the table, beside the others.
            words = [*str(error).strip().splitlines(), "no message"][0]
            return replace(result, problem=f"{type(error).__name__}: {words}")
        if leaves_answer(model):
            take_member_logs(model.answer_.root, p)
            if held_out is None:
                held_out = rows.storage.empty((len(rows), len(rows.labels)), np.float64)
                held_out[...] = NAN
            held_out[test] = p
        fits.append(fitted - start)
        predictions.append(predicted - fitted)
        size = _size(model) if size is None else size
    quality = over_folds(judged)
    return replace(
        result,
        quality=quality,
        folds=tuple(fold for _, fold in judged),
        size=size,
        fit_seconds=float(np.median(fits)),
        predict_seconds=float(np.median(predictions)),
        held_out=held_out if quality.log_loss == quality.log_loss else None,
    )


def over_folds(judged: Sequence[tuple[QualitySums, Quality]]) -> Quality:
    """Measures of all rows together, and means over folds of those that are no sums over rows."""
    sums, folds = zip(*judged, strict=True)
    quality = reduce(operator.add, sums).quality
    if np.isnan([fold.log_loss for fold in folds]).all():  # no probabilities
        return Quality(quality.accuracy, NAN, NAN, NAN, quality.f1)
    areas = {}
    for name in ("roc_auc", "average_precision", "kolmogorov_smirnov"):
        figures = np.array([getattr(fold, name) for fold in folds])
        there = figures[~np.isnan(figures)]
        areas[name] = float(there.mean()) if len(there) else NAN
    return replace(quality, **areas)


def _reraise_interrupt(error: BaseException) -> None:
    """Re-raise Ctrl-C, which compiled code turns into an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        cause = cause.__cause__ or cause.__context__


def _size(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:  # a lambda inside, for instance
        return None
