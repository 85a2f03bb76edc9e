"""Growing an architecture while cross-validated accuracy improves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture_shape import Shape
from unnaive.common.threads import in_threads
from unnaive.encode.coding import AnyCoder
from unnaive.models.mixture.training import SlotRows, TrainingOptions, train

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


def held_out_accuracy(
    rows: SlotRows,
    layers: Layers,
    coders: Sequence[AnyCoder],
    options: TrainingOptions,
    n_sweeps: int,
    seed: int,
    folds: tuple[NDArray[np.int64], int],
    n_classes: int,
    n_jobs: int | None = None,
) -> float:
    """Cross-validated accuracy of an architecture: share of the weight that is right."""
    fold, n_folds = folds
    shape, room = Shape.of(layers, n_classes), rows.storage

    def right(k: int) -> float:
        held_out = room.where(lambda part: fold[part] == k, len(fold))
        if not 0 < len(held_out) < len(fold):
            return 0.0
        counters = train(rows, shape, coders, options, n_sweeps, seed, fold, k)
        predicted = counters.answer(rows, held_out, options)
        groups = room.take(rows.groups, held_out)
        hit = room.empty(len(held_out), np.float64)
        np.equal(predicted, groups, out=hit)
        return float(room.take(rows.weight, held_out) @ hit)

    hits = in_threads(right, range(n_folds), n_jobs)
    return math.fsum(hits) / float(rows.weight.sum())
