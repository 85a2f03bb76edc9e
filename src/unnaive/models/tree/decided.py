"""The question that a node of a tree asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.models.tree import node_kernels as kernels


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A question about one attribute: which child a slot leads to.

    A numeric test has a child for every interval between cuts: cut k lies between the cells of
    codes ``below[k]`` and ``above[k]``. A discrete one has a child for each of ``values`` (codes).
    """

    attribute: int
    below: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    values: tuple[int, ...] = ()

    @property
    def n_children(self) -> int:
        return len(self.values) or len(self.below) + 1

    def child(self, codes: NDArray[Any], size: int, out: NDArray[np.int32]) -> None:
        """Child of each code of a node's rows (OUT), -1 for missing and values without a child."""
        if self.values:
            kernels.branches(codes, np.array(self.values), size, out)
        else:
            kernels.intervals(codes, np.array(self.below), out)
