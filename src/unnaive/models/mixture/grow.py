"""Growing an architecture while cross-validated accuracy improves."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture import Shape
from unnaive.common.threads import in_threads
from unnaive.encode.coding import AnyCoder
from unnaive.encode.draws import assign_folds
from unnaive.models.mixture.training import (
    Counters,
    Folds,
    SlotRows,
    TrainingOptions,
    TrainingRows,
    train,
)
from unnaive.table.storage import Storage

Layers: TypeAlias = tuple[int, ...]
# Each architecture tried, with its cross-validated accuracy, in the order of trying.
Growth = list[tuple[Layers, float]]

SEEDLINGS: tuple[Layers, ...] = ((1,), (2,), (4,), (2, 2))


def grow_layers(judge: Callable[[Layers], float], max_experts: int) -> tuple[Layers, Growth]:
    """The best architecture on a path of improvements, and all that were tried.

    Small architectures are all tried: two experts may be too few to gain where four are enough.
    From the best on, either the last layer doubles or a layer of pairs is added, as long as the
    better of the two is more accurate than what is there. Ties go to the smaller one.
    """
    growth: Growth = [(layers, judge(layers)) for layers in SEEDLINGS if fits(layers, max_experts)]
    best = max(growth, key=lambda pair: pair[1])
    while True:
        larger = [
            (layers, judge(layers))
            for layers in ((*best[0][:-1], 2 * best[0][-1]), (*best[0], 2))
            if fits(layers, max_experts) and layers not in {tried for tried, _ in growth}
        ]
        growth += larger
        challenger = max(larger, key=lambda pair: pair[1], default=best)
        if challenger[1] <= best[1]:
            return best[0], growth
        best = challenger


def fits(layers: Layers, max_experts: int) -> bool:
    return math.prod(layers) <= max_experts and not (layers[0] == 1 and len(layers) > 1)


def draw_training_folds(cv: Any, seed: int, rows: TrainingRows) -> Folds:
    """Folds of all rows: a number of them is drawn where the rows are; others come together."""
    if isinstance(cv, numbers.Integral):
        _, n_folds = assign_folds(cv, seed, np.empty(0, np.int64), None)
        return Folds(partial(_drawn, int(cv), seed), n_folds)
    (ids, groups), storage = next(rows.records.each(_ids_and_groups)), rows.records.storage
    fold, n_folds = assign_folds(cv, seed, ids, groups, storage)
    return Folds(lambda _ids, _storage: fold, n_folds)


def _drawn(cv: int, seed: int, row_ids: NDArray[np.int64], storage: Storage) -> NDArray[np.int64]:
    return assign_folds(cv, seed, row_ids, None, storage)[0]


def _ids_and_groups(rows: SlotRows, _state: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    return rows.row_ids, rows.groups


def held_out_accuracy(
    rows: TrainingRows,
    layers: Layers,
    coders: Sequence[AnyCoder],
    options: TrainingOptions,
    n_sweeps: int,
    seed: int,
    folds: Folds,
    n_classes: int,
    n_jobs: int | None = None,
) -> float:
    """Cross-validated accuracy of an architecture: share of the weight that is right."""
    shape, storage = Shape.of(layers, n_classes), rows.records.storage
    counters = train(rows, shape, coders, options, n_sweeps, seed, folds, n_jobs)
    judge = partial(_right, counters, options, rows.weight, folds, storage, n_jobs)
    right, size = rows.records.reduce(judge, np.add, "judging")
    # A fold of all rows has nothing to learn from.
    return math.fsum(right[size < rows.n_rows]) / rows.weight


def _right(
    counters: list[Counters],
    options: TrainingOptions,
    weight: float,
    folds: Folds,
    storage: Storage,
    n_jobs: int | None,
    rows: SlotRows,
    _state: Any,
) -> NDArray[np.float64]:
    """The weight of the rows of each fold that are right without it, and how many it has."""
    fold = folds.fold_of(rows.row_ids, storage)

    def right(k: int) -> tuple[float, int]:
        held_out = storage.where(lambda part: fold[part] == k, len(fold))
        predicted = counters[k].answer(rows, held_out, options, weight, storage)
        hit = storage.empty(len(held_out), np.float64)
        np.equal(predicted, storage.take(rows.groups, held_out), out=hit)
        return float(storage.take(rows.weight, held_out) @ hit), len(held_out)

    return np.array(list(in_threads(right, range(len(counters)), n_jobs))).T
