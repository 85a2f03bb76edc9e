"""What trees share as estimators: reading rows for growing, and saying where rows stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Categories, Grid, Labels
from unnaive.encode.coding import column_slots
from unnaive.encode.labels import groups_of
from unnaive.table import Block


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Slots of the columns, class and weight of the rows, weights in units of rows."""

    PER_ROW: ClassVar = {"codes": 0, "groups": 0, "weight": 0}

    codes: list[NDArray[Any]]
    groups: NDArray[Any]
    weight: NDArray[np.float64]


def encode_block(
    block: Block,
    coders: list[Grid | Categories | None],
    labels: Labels,
    class_weight: NDArray[np.float64],
) -> Encoded:
    """The same, where rows of each class weigh so much."""
    assert block.target is not None
    groups = groups_of(labels, block.target)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    codes = [column_slots(block, j, coder, unseen=False) for j, coder in enumerate(coders)]
    return Encoded(codes, groups, weight * class_weight[groups])
