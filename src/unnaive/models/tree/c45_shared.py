"""Calibration of C4.5 trees that are members of an ensemble, on rows that are coded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.class_tree import ClassTree
from unnaive.encode.draws import draw_folds
from unnaive.models._calibration import CALIBRATING, JudgedRows, take_logs
from unnaive.models.tree.c45_left_out import NumberedRows
from unnaive.models.tree.classifier import Encoded, SharedRows
from unnaive.table import Block
from unnaive.table.storage import join, stretches


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """What each tree says of the rows of one block."""

    PER_ROW: ClassVar = {"each": 0}

    each: list[NDArray[np.float64]]


def slope_by_halves(
    grow: Callable[[Encoded], ClassTree],
    shared: SharedRows,
    weight: NDArray[np.float64],
    n_jobs: int | None,
) -> float | None:
    """How sure to be of a tree of rows that weigh so much, by trees of the halves that rows are
    not in; None where a half would be empty.

    Halves are drawn by the places of rows among all sorted by value, so that their order does not
    matter.
    """
    source = shared.source
    rows, kept = shared.take(weight)
    numbered = NumberedRows(rows, source.storage.take(shared.places, kept))
    trees = [grow(half) for half in numbered.halves(source.storage)]
    if not trees:
        return None

    def ask(block: Block) -> _Shares:
        return _Shares([tree.probabilities(block, n_jobs) for tree in trees])

    scores, second = join(source, ask, len(weight), CALIBRATING).each
    for part in stretches(len(weight)):
        by_second = draw_folds(0, shared.places[part], 2) == 0
        scores[part][by_second] = second[part][by_second]
    take_logs(scores)
    return JudgedRows(scores, shared.rows.groups, weight).fit(n_jobs).slope
