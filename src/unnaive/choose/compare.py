"""Comparing classifiers on a table by cross-validation."""

from __future__ import annotations

import math
import numbers
import pickle
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from unnaive.bayes.metrics import NAN, Measures, MeasureSums
from unnaive.choose.candidates import candidates, keep_readable
from unnaive.choose.comparison import ALIASES, MEASURES, Comparison, Result, mark_as_good, rank
from unnaive.choose.pooled import fit_pool, judge_pool, over_folds, take_member_logs
from unnaive.choose.rows import (
    MAX_ROWS,
    LabelledRows,
    Split,
    check_estimators,
    make_splits,
    read_rows,
)
from unnaive.common.advice import silence
from unnaive.encode.hashing import draw_order
from unnaive.models.base import leaves_answer
from unnaive.table.source import as_frame

ProgressCallback = Callable[[str, int, int], None]
# Rows of the small fits that estimate the cost of a model, by the best time of each size; the very
# first may compile kernels. They may take a share of the time budget.
PROBES = (64, 64, 64, 256, 256, 1024, 1024)
PROBE_SHARE = 0.3


def compare(
    X: Any,
    y: Any = None,
    *,
    models: Iterable[str] | None = None,
    estimators: Any = None,
    criterion: str = "log_loss",
    cv: Any = 5,
    repeats: int = 1,
    groups: Any = None,
    time_budget: float | None = None,
    categorical_features: Any = "from_dtype",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    pool: bool = False,
    readable: bool = False,
    max_rows: int = MAX_ROWS,
) -> Comparison:
    """Cross-validate models of this library, and other classifiers, on the same folds of a table.

    Parameters
    ----------
    X : table of shape (n_samples, n_features), path or `scan`
        A pandas, polars or pyarrow table, an array, or a list of rows; or rows that are read from
        elsewhere, of which ``max_rows`` are compared.
    y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        Labels of any type. Classes may have fewer rows than there are folds.
    models : list of str or None, default=None
        Which models: ``"nb"``, ``"gaussian"``, ``"boosted"``, ``"bagged"``, ``"kernel"``,
        ``"c45"``, ``"forest"``, ``"mixture"``, ``"unnaive"``, ``"nbtree"``, ``"flexible"``,
        ``"decomposition"``. None is all.
    estimators : dict, list, classifier or None, default=None
        Other classifiers: by name, as (name, classifier) pairs, or named after their class. One
        that fails is shown with its error.
    criterion : str, default="log_loss"
        What the table is sorted by and the best model chosen by: "log_loss", "accuracy", "brier",
        "calibration_error", "roc_auc", "average_precision", "f1" or, of two classes,
        "kolmogorov_smirnov". Among equals, the cheaper wins.
    cv : int, splitter or iterable, default=5
        A number of folds, dealt so that each has its share of every class; or a scikit-learn
        splitter, or ready (train, test) positions.
    repeats : int, default=1
        How often rows are dealt into folds anew, where cv is a number: more folds tell smaller
        differences from chance.
    groups : array-like of shape (n_samples,) or None, default=None
        For splitters that keep rows together.
    time_budget : float or None, default=None
        Seconds for the whole comparison. The cheapest models, by fits on a few rows, come first;
        those that would exceed the budget are left out, which the result says. The first model is
        always finished, and a fit is never interrupted.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories, for this library's models; as in `NaiveBayesClassifier`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of rows, in fitting and in the measures; or the name of a column.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of all models where they have none. None is 0: the same table gives
        the same comparison every time.
    n_jobs : int or None, default=None
        Threads of each of this library's models. Models run one after the other, so that their
        times can be compared.
    progress : callable or None, default=None
        Called with the name of a model, the number of fits done and their total.
    pool : bool, default=False
        Whether the pool of this library's models competes, too; see `PooledClassifier`. It takes no
        fits but those on all rows, if it is the best.
    readable : bool, default=False
        Whether only models compete whose evidence adds up over columns, and their pool.
    max_rows : int, default=1_000_000
        Of more rows that are not in memory, a random sample of about that size is compared. The
        best model is fitted on all rows.

    Returns
    -------
    Comparison
        ``best_`` is the best model, fitted on all rows; ``frame`` the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from unnaive import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare(
    ...     X,
    ...     y,
    ...     models=["nb", "kernel"],
    ...     estimators={"logistic": LogisticRegression(max_iter=500)},
    ...     random_state=0,
    ... )
    >>> sorted(result.name for result in comparison.results)
    ['kernel', 'logistic', 'nb']
    >>> comparison.best_.predict(X[:1])
    array([0])
    """
    criterion = ALIASES.get(criterion, criterion)
    _check(criterion, time_budget, repeats, max_rows)
    budget = TimeBudget(time_budget)
    rng = check_random_state(0 if random_state is None else random_state)
    seed = int(rng.randint(2**31 - 1))
    rows = read_rows(X, y, sample_weight, categorical_features, max_rows, seed)
    n_classes = len(rows.labels)
    if criterion == "kolmogorov_smirnov" and n_classes != 2:
        raise ValueError(f"criterion {criterion!r} needs 2 classes; y has {n_classes}.")
    splits = make_splits(cv, repeats, groups, rows, seed)
    competitors = candidates(models, estimators, rng, categorical_features, n_jobs)
    check_estimators(competitors, rows)
    if readable:
        competitors = keep_readable(competitors)
    results = _run_all(competitors, rows, splits, budget, seed, progress, pool)
    pooled = judge_pool(results, rows, splits, readable) if pool else None
    if pooled is not None and budget.exceeded_by(pooled.fit_seconds):
        problem = f"left out: the time budget of {budget.limit:g} s is too small for it"
        pooled = Result(pooled.name, pooled.estimator, problem=problem, left_out=True, pooled=True)
    results = rank(results if pooled is None else [*results, pooled], criterion)
    results = mark_as_good(results, criterion, splits)
    best, fitted = _fit_best(results, rows)
    results = [replace(result, held_out=None) for result in results]
    return Comparison(
        results=tuple(results),
        criterion=criterion,
        n_folds=len(splits) // repeats,
        n_repeats=repeats,
        n_rows=len(rows),
        classes=rows.labels.classes,
        best_name_=best,
        best_=fitted,
        schema=rows.schema,
        backend=_backend(rows),
        n_rows_of_scan=rows.n_rows_of_scan,
    )


def _check(criterion: str, time_budget: Any, repeats: Any, max_rows: Any) -> None:
    if criterion not in MEASURES:
        choices = " or ".join(map(repr, MEASURES))
        raise ValueError(f"criterion must be {choices}; got {criterion!r}.")
    if type(repeats) is not int or repeats < 1:
        raise ValueError(f"repeats must be a whole number, 1 or more; got {repeats!r}.")
    if type(max_rows) is not int or max_rows < 2:
        raise ValueError(f"max_rows must be a whole number, 2 or more; got {max_rows!r}.")
    if time_budget is None:
        return
    right = isinstance(time_budget, numbers.Real) and not isinstance(time_budget, bool)
    if not right or not 0 < time_budget < math.inf:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {time_budget!r}."
        )


def _backend(rows: LabelledRows) -> str | None:
    """Return the dataframe library of the rows; None for arrays and lists."""
    frame = as_frame(rows.X)
    return None if frame is None else str(frame.implementation.value)


def _fit_best(results: list[Result], rows: LabelledRows) -> tuple[str, Any]:
    """Return the name of the best estimator, and it fitted on all rows."""
    for result in results:
        if result.quality is None:
            continue
        if result.pooled:
            return result.name, fit_pool(result, results, rows)
        return result.name, rows.fit_all(result.estimator)
    problems = "; ".join(f"{r.name}: {r.problem}" for r in results)
    raise ValueError(f"no model could be fitted: {problems}")


class TimeBudget:
    """Time budget: seconds since the start, and their limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._start = time.perf_counter()

    def exceeded_by(self, seconds: float) -> bool:
        """Whether so many more seconds would exceed the limit."""
        elapsed = time.perf_counter() - self._start
        return self.limit is not None and elapsed + seconds > self.limit


def _run_all(
    candidates: Mapping[str, Any],
    rows: LabelledRows,
    splits: Sequence[Split],
    budget: TimeBudget,
    seed: int,
    progress: ProgressCallback | None,
    pool: bool = False,
) -> list[Result]:
    """Return every candidate's result, the cheapest first where time is limited.

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
    few = rows.take(draw_order(seed, np.arange(n))[: PROBES[-1]])
    allowed = PROBE_SHARE * budget.limit / len(candidates)
    return {
        name: _extrapolate(_probe(estimator, few, budget, allowed), n)
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
    judged: list[tuple[MeasureSums, Measures]] = []
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
                held_out = np.full((len(rows), len(rows.labels)), NAN)
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
