"""The pool of models that were compared, judged on their folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.bayes.quality import Quality, QualitySums
from unnaive.bayes.scoring import LEAST_LOG, log_probabilities
from unnaive.choose.pooled import PooledClassifier
from unnaive.choose.pooling import LEAST_SUM, pooled_loss, weigh_logs
from unnaive.choose.reading import LabelledTable, Split
from unnaive.choose.running import Result, TimeBudget, over_folds
from unnaive.models._base import leaves_answer

POOL = "pool"  # what it is called among the results of a comparison


def judge_pool(
    results: Sequence[Result],
    rows: LabelledTable,
    splits: Sequence[Split],
    budget: TimeBudget,
    readable: bool = False,
) -> Result | None:
    """The pool of compared models, judged on the folds that they were judged on.

    Weights are fitted on the rows that other folds have held out, so that no fold is judged by
    weights that know it. None where there are no two models of this library to pool; ``readable``
    keeps to those whose evidence adds up over columns and pairs.
    """
    chosen = [r for r in results if r.held_out is not None and _poolable(r.estimator, readable)]
    if len(chosen) < 2 or POOL in {r.name for r in results}:
        return None
    logs = held_out_logs(chosen)
    sums: QualitySums | None = None
    folds: list[Quality] = []
    for _, test in splits:
        others = np.setdiff1d(np.concatenate([t for _, t in splits]), test)
        weights = weigh_logs(logs[:, others], rows.groups[others], rows.units(others))
        added = np.tensordot(weights.members, logs[:, test], 1) + weights.intercept
        new, fold = rows.quality(np.exp(log_probabilities(added)), test)
        sums = new if sums is None else sums + new
        folds.append(fold)
    assert sums is not None
    estimator = PooledClassifier([(r.name, r.estimator) for r in chosen])
    seconds = sum(r.fit_seconds for r in chosen)
    if budget.exceeded_by(seconds):
        problem = f"left out: the time budget of {budget.limit:g} s is too small for it"
        return Result(POOL, estimator, problem=problem, left_out=True)
    return Result(
        POOL,
        estimator,
        over_folds(sums.quality, folds),
        tuple(folds),
        fit_seconds=seconds,
        predict_seconds=sum(r.predict_seconds for r in chosen),
    )


def fit_pool(
    pool: Result,
    results: Sequence[Result],
    rows: LabelledTable,
    kept: NDArray[np.intp],
    schema: Any,
) -> PooledClassifier:
    """The pool of compared models, fitted on all rows, with weights by all that was held out."""
    by_name = {r.name: r for r in results}
    chosen = [by_name[name] for name, _ in pool.estimator.estimators]
    logs = held_out_logs(chosen)
    judged = kept[~np.isnan(logs[:, kept]).any(axis=(0, 2))]
    groups, weight = rows.groups[judged], rows.units(judged)
    weights = weigh_logs(logs[:, judged], groups, weight)
    fitted = {
        r.name: rows.fit(r.estimator, kept)
        for r, share in zip(chosen, weights.members, strict=True)
        if share or not weights.members.any()
    }
    model: PooledClassifier = clone(pool.estimator)
    loss = pooled_loss(weights, "geometric", logs[:, judged], groups, weight)
    return model._adopt([r.name for r in chosen], fitted, weights, loss, schema, rows)


def _poolable(estimator: Any, readable: bool) -> bool:
    if not leaves_answer(estimator):
        return False
    if readable:
        return bool(estimator._adds_up and estimator._one_baseline)
    inner = getattr(estimator, "estimator", None)
    return inner is None or leaves_answer(inner)


def held_out_logs(results: Sequence[Result]) -> NDArray[np.float64]:
    """Log probabilities of held-out rows, members x rows x classes."""
    out = []
    for result in results:
        assert result.held_out is not None
        least = LEAST_SUM if result.estimator._adds_up else LEAST_LOG
        out.append(np.log(np.maximum(result.held_out, np.exp(least))))
    return np.stack(out)
