"""Comparing classifiers on a table by cross-validation."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from unnaive.choose.comparison import MEASURES, Comparison, rank
from unnaive.choose.family import candidates
from unnaive.choose.running import (
    LabelledTable,
    ProgressCallback,
    Result,
    Split,
    TimeBudget,
    run_all,
)
from unnaive.encode.draws import deal_folds
from unnaive.encode.labels import label_groups, read_target
from unnaive.table import Block, open_table, scan_of
from unnaive.table.reading import as_frame


def compare(
    X: Any,
    y: Any,
    *,
    models: Iterable[str] | None = None,
    estimators: Any = None,
    criterion: str = "log_loss",
    cv: Any = 5,
    groups: Any = None,
    time_budget: float | None = None,
    categorical_features: Any = "from_dtype",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Cross-validate models of this library, and other classifiers, on the same folds of a table.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        A pandas, polars or pyarrow table, an array, or a list of rows.
    y : array-like of shape (n_samples,)
        Labels of any type. Classes may have fewer rows than there are folds.
    models : list of str or None, default=None
        Which models: ``"nb"``, ``"gaussian"``, ``"boosted"``, ``"bagged"``, ``"kernel"``,
        ``"c45"``, ``"forest"``, ``"mixture"``, ``"nbtree"``, ``"flexible"``, ``"decomposition"``.
        None is all.
    estimators : dict, list, classifier or None, default=None
        Other classifiers: by name, as (name, classifier) pairs, or named after their class. One
        that fails is shown with its error.
    criterion : {"log_loss", "accuracy", "brier", "calibration_error"}, default="log_loss"
        What the table is sorted by and the best model chosen by. Among equals, the cheaper wins.
    cv : int, splitter or iterable, default=5
        A number of folds, dealt so that each has its share of every class; or a scikit-learn
        splitter, or ready (train, test) positions.
    groups : array-like of shape (n_samples,) or None, default=None
        For splitters that keep rows together.
    time_budget : float or None, default=None
        Seconds for the whole comparison. The cheapest models, by fits on a few rows, come first;
        those that would exceed the budget are left out, which the result says. The first model is
        always finished, and a fit is never interrupted.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories, for this library's models; as in `NaiveBayesClassifier`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of rows, in fitting and in the measures.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of all models where they have none.
    n_jobs : int or None, default=None
        Threads of each of this library's models. Models run one after the other, so that their
        times can be compared.
    progress : callable or None, default=None
        Called with the name of a model, the number of fits done and their total.

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
    _check(criterion, time_budget)
    budget = TimeBudget(time_budget)
    rows, kept, schema = _read(X, y, sample_weight, categorical_features)
    rng = check_random_state(random_state)
    seed = int(rng.randint(2**31 - 1))
    splits = _splits(cv, groups, rows, kept, seed)
    competitors = candidates(models, estimators, rng, categorical_features, n_jobs)
    results = rank(run_all(competitors, rows, splits, budget, seed, progress), criterion)
    best, fitted = _fit_best(results, rows, kept)
    return Comparison(
        results=tuple(results),
        criterion=criterion,
        n_folds=len(splits),
        n_rows=len(kept),
        classes=rows.labels.classes,
        best_name_=best,
        best_=fitted,
        schema=schema,
        backend=None if (frame := as_frame(rows.X)) is None else frame.implementation.value,
    )


def _check(criterion: str, time_budget: Any) -> None:
    if criterion not in MEASURES:
        choices = " or ".join(map(repr, MEASURES))
        raise ValueError(f"criterion must be {choices}; got {criterion!r}.")
    if time_budget is None:
        return
    right = isinstance(time_budget, numbers.Real) and not isinstance(time_budget, bool)
    if not right or not 0 < time_budget < math.inf:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {time_budget!r}."
        )


def _read(
    X: Any, y: Any, sample_weight: Any, categorical_features: Any
) -> tuple[LabelledTable, NDArray[np.intp], Any]:
    """The table, checked, the rows whose weight is not 0, and the schema."""
    if scan_of(X) is not None:
        raise TypeError(
            f"models are compared on tables in memory; got {type(X).__name__}. Read the rows, or a "
            "sample of them, first."
        )
    frame = as_frame(X)
    if frame is not None:
        X = frame.to_native()  # streams are read once
    elif not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    target = read_target(y)
    # The checks of all estimators here; errors name what the user passed.
    source = open_table(
        BaseEstimator(), X, target, sample_weight, categorical_features=categorical_features
    )
    block: Block = source.map(lambda rows: rows)
    kept = block.row_ids
    if len(kept) < 2:
        raise ValueError(
            f"cross-validation needs 2 rows or more; got n_samples = {len(kept)} (1 sample)."
        )
    weight = None
    if block.weight is not None:
        weight = np.zeros(len(target))
        weight[kept] = block.weight
    groups = np.zeros(len(target), dtype=np.intp)
    labels, groups[kept] = label_groups(target[kept])
    return LabelledTable(X, target, labels, groups, weight), kept, block.schema


def _splits(
    cv: Any, groups: Any, rows: LabelledTable, kept: NDArray[np.intp], seed: int
) -> Sequence[Split]:
    """Training and test rows of each fold; rows of weight zero are in neither."""
    if isinstance(cv, (int, np.integer)) and groups is None:
        if cv < 2:
            raise ValueError(f"cv must be 2 folds or more; got {cv!r}.")
        n_folds = min(int(cv), len(kept))
        folds = deal_folds(seed, kept, rows.groups[kept], n_folds)
        return [(kept[folds != k], kept[folds == k]) for k in range(n_folds)]
    from sklearn.model_selection import check_cv

    if groups is not None:
        check_consistent_length(rows.target, groups)
    counts = np.zeros(len(rows.target), dtype=bool)
    counts[kept] = True
    splitter = check_cv(cv, rows.groups, classifier=True)
    every = splitter.split(np.zeros(len(counts)), rows.groups, groups)
    pairs = [(np.asarray(a, np.intp), np.asarray(b, np.intp)) for a, b in every]
    weighted = [(a[counts[a]], b[counts[b]]) for a, b in pairs]
    usable = [(a, b) for a, b in weighted if len(a) and len(b)]
    if not usable:
        raise ValueError("cv leaves no fold with both training and test rows.")
    return usable


def _fit_best(
    results: list[Result], rows: LabelledTable, kept: NDArray[np.intp]
) -> tuple[str, Any]:
    """The best estimator, fitted on all rows that count."""
    for result in results:
        if result.quality is not None:
            return result.name, rows.fit(result.estimator, kept)
    problems = "; ".join(f"{r.name}: {r.problem}" for r in results)
    raise ValueError(f"no model could be fitted: {problems}")
