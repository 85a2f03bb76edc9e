"""What nodes ask, and what was decided at nodes by earlier processes of the same fit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import expect
from unnaive.models._checkpoint import Checkpoint
from unnaive.models.tree import node_kernels as kernels
from unnaive.pack import Objects


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

    def check(self) -> None:
        """Refuse a question that no node asks."""
        ascending = all(a < b for a, b in pairwise(self.values or self.below))
        between = all(b < a for b, a in zip(self.below, self.above, strict=True))
        first = min((*self.values, *self.below, 1))
        expect(
            self.attribute >= 0
            and first == 1
            and ascending
            and between
            and bool(self.values) != bool(self.below),
            "a test is not one that nodes make.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was found at a node.

    Attributes
    ----------
    path : tuple of int
        Which child each time, from the root.
    utility : float
        Of the node itself.
    test : Test or None
        Its question; None for a leaf.
    asked, utilities : tuples
        Attributes that were considered, and the utilities of their splits.
    """

    path: tuple[int, ...]
    utility: float
    test: Test | None
    asked: tuple[int, ...]
    utilities: tuple[float, ...]

    @property
    def candidates(self) -> dict[int, float]:
        return dict(zip(self.asked, self.utilities, strict=True))

    @property
    def split_utility(self) -> float:
        """Utility of the split."""
        assert self.test is not None
        return self.candidates[self.test.attribute]

    def check(self) -> None:
        """Refuse what no search leaves."""
        n, utilities = len(self.asked), len(self.utilities)
        expect(n == utilities, f"{n} attributes were considered, but {utilities} have utilities.")
        considered = self.test is None or self.test.attribute in self.asked
        expect(considered, "a node asks about an attribute that was not considered.")


KINDS = Objects(Test, Decision)


class Decided:
    """Decisions by node. Only tests are kept, which are small: judging one test again is cheap
    beside trying all, gives the same marks of the rows, and shows whether the rows are the same.
    """

    def __init__(self, kept: Checkpoint | None, sizes: NDArray[np.intp]) -> None:
        self._kept = kept if kept is not None and kept.active else None
        steps = [] if self._kept is None else self._kept.steps(KINDS, Decision)
        for step in steps:
            if step.test is not None:
                attribute, codes = step.test.attribute, (*step.test.values, *step.test.above)
                self.expect(attribute < len(sizes) and max(codes) <= sizes[attribute])
        self._decisions: dict[tuple[int, ...], Decision] = {step.path: step for step in steps}

    def get(self, path: tuple[int, ...], utility: float) -> Decision | None:
        """What was decided at a node of this utility, if it has been looked at."""
        decision = self._decisions.pop(path, None) if self._decisions else None
        self.expect(decision is None or decision.utility == utility)
        return decision

    def expect(self, same: bool) -> None:
        """Refuse to go on with other rows."""
        if not same and self._kept is not None:
            self._kept.refuse_rows()

    def add(
        self, path: tuple[int, ...], utility: float, test: Test | None, candidates: dict[int, float]
    ) -> None:
        """Keep what was found at a node."""
        if self._kept is not None:
            values = tuple(map(float, candidates.values()))
            self._kept.add(KINDS, Decision(path, utility, test, tuple(candidates), values))
