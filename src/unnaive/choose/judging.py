"""The pool of models that were compared, judged on their folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.answer import Ensemble
from unnaive.bayes.quality import Quality, QualitySums
from unnaive.choose.pooled import PooledClassifier
from unnaive.choose.pooling import Weights, equal_weights, pooled_logs, pooled_loss, weigh_logs
from unnaive.choose.reading import LabelledRows, Split
from unnaive.choose.running import Result, TimeBudget, over_folds
from unnaive.models.base import leaves_answer
from unnaive.table.storage import stretches

POOL = "pool"  # what it is called among the results of a comparison


def judge_pool(
    results: Sequence[Result],
    rows: LabelledRows,
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
    judged: list[tuple[QualitySums, Quality]] = []
    for _, test in splits:
        weights = _weigh(chosen, rows, _judged(chosen, rows, test))
        logs = _take(chosen, rows, test)
        answers = rows.storage.empty(logs[0].shape, np.float64)
        for part in stretches(len(test)):
            answers[part] = np.exp(pooled_logs(weights, "geometric", logs, part))
        judged.append(rows.quality(answers, test))
    estimator = PooledClassifier([(r.name, r.estimator) for r in chosen])
    seconds = sum(r.fit_seconds for r in chosen)
    if budget.exceeded_by(seconds):
        problem = f"left out: the time budget of {budget.limit:g} s is too small for it"
        return Result(POOL, estimator, problem=problem, left_out=True, pooled=True)
    return Result(
        POOL,
        estimator,
        over_folds(judged),
        tuple(fold for _, fold in judged),
        pooled=True,
        fit_seconds=seconds,
        predict_seconds=sum(r.predict_seconds for r in chosen),
    )


def fit_pool(pool: Result, results: Sequence[Result], rows: LabelledRows) -> PooledClassifier:
    """The pool of compared models, fitted on all rows, with weights by all that was held out."""
    by_name = {r.name: r for r in results}
    chosen = [by_name[name] for name, _ in pool.estimator.estimators]
    judged = _judged(chosen, rows)
    weights = _weigh(chosen, rows, judged)
    groups, weight = rows.storage.take(rows.groups, judged), rows.units(judged)
    loss = pooled_loss(weights, "geometric", _take(chosen, rows, judged), groups, weight)
    model: PooledClassifier = clone(pool.estimator)
    return _fit_members(model, [r.name for r in chosen], weights, loss, rows)


def refit_pool(pool: PooledClassifier, rows: LabelledRows) -> PooledClassifier:
    """A fitted pool whose members learn again from other rows, and keep their weights."""
    root = pool.answer_.root
    assert isinstance(root, Ensemble)
    model: PooledClassifier = clone(pool)
    weights = Weights(pool.weights_, root.intercept)
    return _fit_members(model, pool.names_, weights, pool.held_out_loss_, rows)


def _fit_members(
    model: PooledClassifier, names: Sequence[str], weights: Weights, loss: float, rows: LabelledRows
) -> PooledClassifier:
    """A pool of those members that have a weight, each fitted on all rows."""
    fitted = {
        name: rows.fit(estimator, rows.places)
        for (name, estimator), share in zip(model.estimators, weights.members, strict=True)
        if share or not weights.members.any()
    }
    return model._adopt(names, fitted, weights, loss, rows)


def _judged(
    chosen: Sequence[Result], rows: LabelledRows, without: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Places of the rows that all models were judged by, but for those of one fold."""
    here = np.ones(len(rows), dtype=bool)
    if without is not None:
        here[without] = False
    logs = [r.held_out for r in chosen if r.held_out is not None]

    def known(part: slice) -> NDArray[np.bool_]:
        unknown = np.zeros(part.stop - part.start, dtype=bool)
        for log in logs:
            unknown |= np.isnan(log[part, 0])
        return here[part] & ~unknown

    return rows.storage.where(known, len(rows))


def _take(
    chosen: Sequence[Result], rows: LabelledRows, places: NDArray[np.intp]
) -> list[NDArray[np.float64]]:
    """What each model would add to a pool, for some rows."""
    return [rows.storage.take(r.held_out, places) for r in chosen if r.held_out is not None]


def _weigh(chosen: Sequence[Result], rows: LabelledRows, judged: NDArray[np.intp]) -> Weights:
    """Weights by rows that were held out; equal ones where there are none."""
    if not len(judged):
        return equal_weights(len(chosen), len(rows.labels))
    groups = rows.storage.take(rows.groups, judged)
    return weigh_logs(_take(chosen, rows, judged), groups, rows.units(judged))


def _poolable(estimator: Any, readable: bool) -> bool:
    if not leaves_answer(estimator):
        return False
    if readable:
        return bool(estimator._adds_up and estimator._one_baseline)
    inner = getattr(estimator, "estimator", None)
    return inner is None or leaves_answer(inner)
