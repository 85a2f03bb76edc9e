"""Growing an architecture while cross-validated accuracy improves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

Layers: TypeAlias = tuple[int, ...]
# Each architecture tried, with its cross-validated accuracy, in the order of trying.
Growth: TypeAlias = list[tuple[Layers, float]]

SEEDLINGS: tuple[Layers, ...] = ((1,), (2,), (4,), (2, 2))


def grow_layers(judge: Callable[[Layers], float], max_experts: int) -> tuple[Layers, Growth]:
    """The best architecture on a path of improvements, and all that were tried.

    Small architectures are all tried: two experts may be too few to gain where four are enough.
    From the best on, either the last layer doubles or a layer of pairs is added, as long as the
    better of the two is more accurate than what is there. Ties go to the smaller one.
    """
    found: Growth = [(layers, judge(layers)) for layers in SEEDLINGS if fits(layers, max_experts)]
    best = max(found, key=lambda pair: pair[1])
    while True:
        larger = [
            (layers, judge(layers))
            for layers in ((*best[0][:-1], 2 * best[0][-1]), (*best[0], 2))
            if fits(layers, max_experts) and layers not in {tried for tried, _ in found}
        ]
        found += larger
        challenger = max(larger, key=lambda pair: pair[1], default=best)
        if challenger[1] <= best[1]:
            return best[0], found
        best = challenger


def fits(layers: Layers, max_experts: int) -> bool:
    return math.prod(layers) <= max_experts and not (layers[0] == 1 and len(layers) > 1)
