"""Comparing classifiers on a table by cross-validation."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.utils import check_random_state

from unnaive.choose.comparison import ALIASES, MEASURES, Comparison, mark_as_good, rank
from unnaive.choose.family import candidates, keep_readable
from unnaive.choose.judging import fit_pool, judge_pool
from unnaive.choose.reading import LabelledRows, LabelledTable, make_splits
from unnaive.choose.running import ProgressCallback, Result, TimeBudget, run_all
from unnaive.choose.scanned import read_labelled, refuse_foreign
from unnaive.table.reading import as_frame


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
) -> Comparison:
    """Cross-validate models of this library, and other classifiers, on the same folds of a table.

    Parameters
    ----------
    X : table of shape (n_samples, n_features), path or `scan`
        A pandas, polars or pyarrow table, an array, or a list of rows; or rows that stay where they
        are, which every model reads block by block.
    y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        Labels of any type. Classes may have fewer rows than there are folds.
    models : list of str or None, default=None
        Which models: ``"nb"``, ``"gaussian"``, ``"boosted"``, ``"bagged"``, ``"kernel"``,
        ``"c45"``, ``"forest"``, ``"mixture"``, ``"unnaive"``, ``"nbtree"``, ``"flexible"``,
        ``"decomposition"``. None is all.
    estimators : dict, list, classifier or None, default=None
        Other classifiers: by name, as (name, classifier) pairs, or named after their class. One
        that fails is shown with its error. Those of other libraries need rows in memory.
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
    _check(criterion, time_budget, repeats)
    budget = TimeBudget(time_budget)
    rows = read_labelled(X, y, sample_weight, categorical_features, n_jobs)
    n_classes = len(rows.labels)
    if criterion == "kolmogorov_smirnov" and n_classes != 2:
        raise ValueError(f"criterion {criterion!r} needs 2 classes; y has {n_classes}.")
    rng = check_random_state(0 if random_state is None else random_state)
    seed = int(rng.randint(2**31 - 1))
    splits = make_splits(cv, repeats, groups, rows, seed)
    competitors = candidates(models, estimators, rng, categorical_features, n_jobs)
    if not isinstance(rows, LabelledTable):
        refuse_foreign(competitors)
    if readable:
        competitors = keep_readable(competitors)
    results = run_all(competitors, rows, splits, budget, seed, progress, pool)
    pooled = judge_pool(results, rows, splits, budget, readable) if pool else None
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
    )


def _check(criterion: str, time_budget: Any, repeats: Any) -> None:
    if criterion not in MEASURES:
        choices = " or ".join(map(repr, MEASURES))
        raise ValueError(f"criterion must be {choices}; got {criterion!r}.")
    if type(repeats) is not int or repeats < 1:
        raise ValueError(f"repeats must be a whole number, 1 or more; got {repeats!r}.")
    if time_budget is None:
        return
    right = isinstance(time_budget, numbers.Real) and not isinstance(time_budget, bool)
    if not right or not 0 < time_budget < math.inf:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {time_budget!r}."
        )


def _backend(rows: LabelledRows) -> str | None:
    """The dataframe library of a table in memory; None for others."""
    frame = as_frame(rows.X) if isinstance(rows, LabelledTable) else None
    return None if frame is None else str(frame.implementation.value)


def _fit_best(results: list[Result], rows: LabelledRows) -> tuple[str, Any]:
    """The best estimator, fitted on all rows that count."""
    for result in results:
        if result.quality is None:
            continue
        if result.pooled:
            return result.name, fit_pool(result, results, rows)
        return result.name, rows.fit(result.estimator, rows.places)
    problems = "; ".join(f"{r.name}: {r.problem}" for r in results)
    raise ValueError(f"no model could be fitted: {problems}")
