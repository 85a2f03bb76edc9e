"""Weights of rows that a model makes: kept as logarithms, used as exact multiples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts.coded import GRAIN, CodedRows
from unnaive.encode.draws import draw_uniform
from unnaive.models.ensemble import kernels
from unnaive.table.storage import Storage, stretches

FRESH_LOW, FRESH_HIGH = 0.9, 1.1  # Wiering's fresh weights
SQUARE_GRAIN = 2.0**-12
STEEPEST = 36.0  # a probability below 2**-52 moves a weight no further


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows of which nothing is known but what they weigh."""

    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    def stretches(self) -> list[slice]:
        """The rows, a task's worth at a time."""
        return list(stretches(self.n_rows))


class RowWeights:
    """One weight for each row, relative to the row's own, with mean one.

    Weights are rounded to multiples of 2**-20, and so is what they are divided by: all sums are
    then exact, and no split of the rows over blocks or threads changes them.
    """

    def __init__(
        self,
        blocks: Sequence[CodedRows | GivenRows],
        n_jobs: int | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.blocks, self.n_jobs, self.storage = blocks, n_jobs, storage or Storage()
        self.parts = [(k, part) for k, rows in enumerate(blocks) for part in rows.stretches()]
        self.logs = [self.storage.zeros(rows.n_rows) for rows in blocks]
        self.current = [self._first(rows) for rows in blocks]
        self.given = self.total = float(sum(weight.sum() for weight in self.current))

    def _first(self, rows: CodedRows | GivenRows) -> NDArray[np.float64]:
        """The rows' own weights."""
        if rows.weight is not None:
            return rows.weight
        ones = self.storage.empty(rows.n_rows, np.float64)
        ones[:] = 1.0
        return ones

    def error(self, hits: Sequence[NDArray[np.bool_]]) -> float:
        """Share of the weight that is not hit."""
        missed = self._each(
            lambda k, part: kernels.missed_weight(self.current[k][part], hits[k][part])
        )
        return math.fsum(missed) / self.total

    def mean_loss(self, own: Sequence[NDArray[np.float64]]) -> float:
        """Mean of 1 less each row's number, by weight; the sum is exact, in any order of rows."""

        def weighted() -> Iterator[float]:
            for k, part in self.parts:
                yield from (self.current[k][part] * (1.0 - own[k][part])).tolist()

        return math.fsum(weighted()) / self.total

    def lower_by_margins(self, margins: Sequence[NDArray[np.float64]], vote: float) -> None:
        """Divide the weight of each row by e to the vote times its margin."""

        def lower(k: int, part: slice) -> float:
            log = self.logs[k][part]
            kernels.lower_by_margin(log, margins[k][part], vote, STEEPEST)
            return float(log.max())

        self._scale(max(self._each(lower)))

    def lower_by_hits(self, hits: Sequence[NDArray[np.bool_]], vote: float) -> None:
        """Divide the weight of each row that is hit by e to the vote."""

        def lower(k: int, part: slice) -> float:
            log = self.logs[k][part]
            kernels.lower_by_hit(log, hits[k][part], vote)
            return float(log.max())

        self._scale(max(self._each(lower)))

    def refresh(self, seed: int) -> None:
        """Forget everything: weights between 0.9 and 1.1, by seed and row."""
        span = FRESH_HIGH - FRESH_LOW
        for log, rows in zip(self.logs, self.blocks, strict=True):
            log[:] = np.log(FRESH_LOW + span * draw_uniform(seed, rows.row_ids))
        self._scale(max(float(log.max()) for log in self.logs))

    def relative(self, k: int) -> NDArray[np.float64]:
        """Weights of the rows of a block, relative to their own."""
        given = self.blocks[k].weight
        return self.current[k] if given is None else self.current[k] / given

    def effective_share(self) -> float:
        """Squared sum of the weights over the sum of squares and the number of rows.

        Terms are whole multiples, so that no order of the rows changes the sums.
        """

        def squares(k: int, part: slice) -> float:
            given = self._given(k, part)
            return kernels.exact_squares(self.current[k][part], given, 1.0 / SQUARE_GRAIN)

        return self.total**2 / (math.fsum(self._each(squares)) * SQUARE_GRAIN * self.given)

    def _each(self, fn: Callable[[int, slice], float]) -> list[float]:
        """A number for each stretch of rows of each block."""
        return list(in_threads(lambda task: fn(*task), self.parts, self.n_jobs))

    def _scale(self, top: float) -> None:
        """Current weights from logarithms: relative to the largest, then to mean one."""
        # Whole multiples of 1 / fine add exactly as long as their sum stays below 2**53; weights
        # too large for that are at least told apart.
        fine = max(1.0 / GRAIN, 2.0 ** (52 - math.ceil(math.log2(self.given + 1.0))))
        self.current = [self.storage.empty(len(log), np.float64) for log in self.logs]

        def spread(k: int, part: slice) -> float:
            relative = np.subtract(self.logs[k][part], top, out=self.current[k][part])
            np.exp(relative, out=relative)
            return kernels.exact_total(relative, fine, self._given(k, part))

        def fix(k: int, part: slice) -> float:
            weight = self.current[k][part]
            return kernels.round_weights(weight, scale, GRAIN, self._given(k, part))

        scale = self.given * fine / math.fsum(self._each(spread))
        self.total = math.fsum(self._each(fix))

    def _given(self, k: int, part: slice) -> NDArray[np.float64]:
        """The rows' own weights; empty where all are 1."""
        weight = self.blocks[k].weight
        return np.empty(0) if weight is None else weight[part]
