"""Weights of rows that a model makes: kept as logarithms, used as exact multiples.

A round needs the rows once. It judges them by the weights that they have, changes these, and counts
rows as they weigh then, all in one pass. Weights have a mean of about one, by a guess that is made
before the pass; what it really is comes with the counts, which are divided by it afterwards. A
guess that is far off is made good by another pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import CountTable
from unnaive.counts.coded import GRAIN
from unnaive.encode.coding import AnyCoder
from unnaive.models.ensemble.weighing import (
    SQUARE_GRAIN,
    Margins,
    Rows,
    Say,
    Sums,
    Weigher,
    add_judged,
    add_sums,
    judge_record,
    lower_record,
    refresh_record,
    weigh_again,
    weigh_record,
    weights_of,
    without_state,
)
from unnaive.table.records import Records

COARSE = 2.0**-12
LEAST_MEAN, MOST_MEAN = 0.25, 4.0  # of weights in whose unit rows are counted


def itself(record: Any) -> Any:
    """The rows of a record that is rows."""
    return record


class RowWeights:
    """One weight for each row, relative to the row's own.

    Weights are rounded to multiples of a grain, 2**-20: all sums are then exact, and no split of
    the rows over blocks or threads changes them. Every pass returns numbers; logarithms of weights
    stay beside the rows, in a `RowState`.

    Parameters
    ----------
    records : Records
    given : float
        What all rows weigh of their own.
    rows_of : callable
        The rows of a record.
    watch : callable or None, default=None
        Places of the rows of a record whose weights in every round are kept.
    counting : tuple of coders and int, or None, default=None
        By which coders and how many groups rows are counted whenever their weights have changed.
    """

    def __init__(
        self,
        records: Records[Any],
        given: float,
        n_jobs: int | None = None,
        rows_of: Callable[[Any], Rows] = itself,
        watch: Callable[[Any], NDArray[np.intp]] | None = None,
        counting: tuple[Sequence[AnyCoder], int] | None = None,
    ) -> None:
        self.records, self.given, self.total = records, given, given
        place = (records.in_place, records.piece, records.storage)
        self._weigher = Weigher(rows_of, None, watch, counting, _grain(given), *place, n_jobs)
        self._unit = 0.0  # the logarithm of what counts as weight 1
        self._squares = given / SQUARE_GRAIN
        self._table: CountTable | None = None  # of rows as they weigh
        self._begun = self._lowered = False
        self._error = 0.0

    def start_from(self, margins: Margins, log_mean: float) -> None:
        """Divide the first weight of each row by e to its number; ``log_mean`` says what the mean
        of weights is then.
        """
        self._weigher, self._unit = replace(self._weigher, margins=margins), log_mean

    def judge(self, say: Say, vote: float | None = None, last: bool = False) -> float:
        """Weighted error of a round, or its mean loss.

        Where its vote is known before, weights are lowered, and rows counted, in the same pass.
        Those of the last round stay as they are.
        """
        lower = None if vote is None or last else (vote, self._log_mean())
        step = partial(judge_record, self._weigher, self._unit, say, lower, last)
        if last and self._begun:
            judged = self.records.reduce(partial(without_state, step), add_judged, "judging")
        else:
            judged = self.records.advance(step, add_judged, "judging")
        self._begun, self._lowered = True, lower is not None
        self.total = math.fsum(judged.totals)
        self._error = math.fsum(judged.missed) / self.total
        if lower is not None:
            self._settle(judged.after, lower[1])
        return self._error

    def lower(self, vote: float) -> None:
        """Divide the weight of each row that is hit by e to the vote; or where rounds do not vote
        for one class, that of each row by e to the vote times its gain.
        """
        if not self._lowered:
            # exact where rows are hit or not, and no less than the mean where gains lie between
            change = math.log(self._error + (1.0 - self._error) * math.exp(-vote))
            unit = self._log_mean() + change
            step = partial(lower_record, self._weigher, unit, vote)
            self._settle(self.records.advance(step, add_sums, "weighing rows"), unit)
        self._lowered = False

    def refresh(self, seed: int) -> None:
        """Forget everything: weights between 0.9 and 1.1, by seed and row."""
        step = partial(refresh_record, self._weigher, seed)
        self._settle(self.records.advance(step, add_sums, "weighing rows"), 0.0)
        self._begun = True

    def count(self) -> CountTable:
        """Rows counted as they weigh; `worth` says how much a weight of one is."""
        if self._table is None:
            step = partial(weigh_record, self._weigher, self._unit)
            self._learn(self.records.reduce(step, add_sums, "counting"))
        assert self._table is not None
        return self._table

    @property
    def worth(self) -> float:
        """By what weights are multiplied where their mean is one."""
        return self.given / self.total

    def effective_share(self) -> float:
        """How many equal rows would say as much as the rows as they weigh (Kish, 1965), as a share
        of all. Terms of the sums are whole multiples, so that no order of the rows changes it.
        """
        return self.total**2 / (self._squares * SQUARE_GRAIN * self.given)

    def each(self) -> Iterator[NDArray[np.float64]]:
        """Weights of the rows of each record, with mean one."""
        return self.records.each(partial(weights_of, self._weigher, self._log_mean()))

    def _log_mean(self) -> float:
        """The logarithm of the mean weight, by the last sum."""
        return self._unit + math.log(self.total / self.given)

    def _settle(self, sums: Sums | None, unit: float) -> None:
        """Take what rows weigh in a unit, which is made another until their mean is about 1.

        Sums that are too large to be exact are at least known to be that, whatever the order of
        the rows: nothing else follows from them.
        """
        low, high = -math.inf, math.inf  # units that are too small, and too large
        while sums is not None:
            self._unit = unit
            self._learn(sums)
            if LEAST_MEAN * self.given <= self.total <= MOST_MEAN * self.given:
                return
            if self.total > self.given:
                low = unit
            else:
                high = unit
            is_exact = 0.0 < self.total < 2.0**53 * self._weigher.grain
            unit = self._log_mean() if is_exact else sums.top
            if not low < unit < high:
                unit = 0.5 * (low + high)
            if not low < unit < high:  # both are infinite, or neighbours
                return
            step = partial(weigh_again, self._weigher, unit)
            sums = self.records.advance(step, add_sums, "weighing rows")

    def _learn(self, sums: Sums) -> None:
        self.total, self._squares = math.fsum(sums.totals), math.fsum(sums.squares)
        self._table = sums.table


def _grain(given: float) -> float:
    """Weights are multiples of this: as small as sums of all rows can be exact with, unless that
    would round away what weights say.
    """
    exact = 2.0 ** (math.ceil(math.log2(max(given, 1.0) * MOST_MEAN)) - 52)
    return max(GRAIN, exact) if exact <= COARSE else GRAIN
