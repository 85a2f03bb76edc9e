"""Where bags stand, so that another process can go on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import FINITE, check_values, expect
from unnaive.models._checkpoint import Checkpoint
from unnaive.pack import Objects

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Bags in the middle of a run of rounds, or at its end.

    Attributes
    ----------
    run : int
        Number of the run, from 0 on.
    ended : bool
        Whether the run takes no more rounds.
    done, streak : int
        Rounds of this run, and the looks in a row that saw the held-out rows gain.
    n_rounds : int
        Rounds of all runs.
    losses : array
        Held-out loss at every look.
    tables : tuple of arrays of shape (cells, scores)
        Evidence of each bag.
    """

    run: int
    ended: bool
    done: int
    streak: int
    n_rounds: int
    losses: NDArray[np.float64]
    tables: tuple[NDArray[np.float64], ...]

    def check(self) -> None:
        """Refuse what no run leaves."""
        numbers = (self.run, self.done, self.streak, self.n_rounds)
        expect(min(numbers) >= 0, f"rounds and runs are counted from 0 on, but here are {numbers}.")
        check_values("losses", self.losses, (self.losses.size,), 0.0, FINITE)
        for table in self.tables:
            expect(table.ndim == 2, f"evidence has {table.ndim} dimensions instead of 2.")
            check_values("tables", table, table.shape, -FINITE, FINITE)


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPairs:
    """The pairs of columns that each bag tries."""

    pairs: tuple[tuple[Pair, ...], ...]


KINDS = Objects(Standing, ChosenPairs)


class Resumed:
    """Runs and choices that earlier processes made, and where those of this one are kept.

    Scores of rows are not kept: whether or not there is a checkpoint, they are added up anew from
    the tables wherever bags may be resumed, so that resumed bags go the same way bit for bit.
    """

    def __init__(self, kept: Checkpoint | None = None) -> None:
        self._kept = kept if kept is not None and kept.active else None
        self._run = -1
        steps = [] if self._kept is None else self._kept.steps(KINDS, Standing)
        self._standings: dict[int, Standing] = {step.run: step for step in steps}
        self._choices = [] if self._kept is None else self._kept.steps(KINDS, ChosenPairs)

    def begin(self, shapes: Sequence[tuple[int, ...]]) -> Standing | None:
        """Begin the next run, of bags with tables of these shapes; where it stood, if it did."""
        self._run += 1
        standing = self._standings.pop(self._run, None)
        if standing is not None:
            self._expect([table.shape for table in standing.tables] == list(shapes))
        return standing

    def add(
        self,
        ended: bool,
        done: int,
        streak: int,
        n_rounds: int,
        losses: Sequence[float],
        tables: Sequence[NDArray[np.float64]],
    ) -> None:
        """Keep where the bags of this run stand."""
        if self._kept is not None:
            copies = tuple(table.copy() for table in tables)  # records are written later
            history = np.array(losses, np.float64)
            standing = Standing(self._run, ended, done, streak, n_rounds, history, copies)
            self._kept.add(KINDS, standing)

    def pairs(
        self, search: Callable[[], list[list[Pair]]], columns: Sequence[int], n_bags: int
    ) -> list[list[Pair]]:
        """The pairs that each bag tries: as they were found, or searched for."""
        if self._choices:
            pairs = [list(bag) for bag in self._choices[0].pairs]
            self._expect(len(pairs) == n_bags)
            self._expect({j for bag in pairs for pair in bag for j in pair} <= set(columns))
            return pairs
        pairs = search()
        if self._kept is not None:
            self._kept.add(KINDS, ChosenPairs(tuple(tuple(bag) for bag in pairs)))
        return pairs

    def _expect(self, same: bool) -> None:
        """Refuse to go on with other rows."""
        if not same and self._kept is not None:
            self._kept.refuse_rows()
