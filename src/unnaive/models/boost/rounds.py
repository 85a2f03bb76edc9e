"""Bags that boost side by side, until the rows that they hold out gain no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.encode import Bins
from unnaive.encode.coding import coder_sizes
from unnaive.estimator import Progress
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.state import Rows, Rule, Terms
from unnaive.table.storage import Storage

CHECK = 5  # rounds between two looks at the held-out rows
# Where the held-out rows gain at every look, as they do for thousands of rounds where pairs tell
# classes apart without error, steps become larger; they fall back at the first loss.
LUCKY, HASTE, FASTEST = 10, 1.25, 4.0


RIDGE = 1.0
LEAST_ROWS = 4.0


@dataclass(frozen=True, slots=True)
class Stopping:
    """When rounds end: see the classifier's parameters."""

    early: bool
    max_rounds: int
    patience: int
    tol: float


@dataclass(slots=True, eq=False)
class Bag:
    """A model of all rows but those that it holds out.

    Attributes
    ----------
    number : int
        The fold that is held out; -1 for none.
    scores : array of shape (rows, scores)
    tables : array of shape (cells, scores)
        Evidence of all terms, laid end to end.
    """

    number: int
    scores: NDArray[np.float64]
    tables: NDArray[np.float64]


def step_rule(rows: Rows, rate: float, missing: str) -> Rule:
    """How steps are taken: all terms that step from the same gradients take, together, at most half
    a Newton step, so that they do not overshoot where they say the same.
    """
    heaviest = float(rows.weight.max(initial=1.0))
    unit = max(1.0 / kernels.FINE, 2.0 ** (math.ceil(math.log2(heaviest)) - 30))  # 32-bit numbers
    lowest = 0 if missing == "value" else 1
    return Rule(float(rate), RIDGE, LEAST_ROWS, max(1, int(0.5 / rate)), lowest, unit)


def make_terms(
    numbering: Numbering,
    columns: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    directions: NDArray[np.int8],
) -> Terms:
    """The tables of some columns, then those of pairs."""
    sizes, pair_sizes = coder_sizes(numbering.coders), coder_sizes(numbering.pair_coders)
    has_order = [isinstance(coder, Bins) for coder in numbering.coders]
    first = np.array([*columns, *(a for a, _ in pairs)], np.intp)
    second = np.array([*(-1 for _ in columns), *(b for _, b in pairs)], np.intp)
    width = [*(sizes[j] + 2 for j in columns), *(pair_sizes[a] + 2 for a, _ in pairs)]
    height = [*(1 for _ in columns), *(pair_sizes[b] + 2 for _, b in pairs)]
    start = np.concatenate(([0], np.cumsum(np.multiply(width, height), dtype=np.intp)))
    return Terms(
        first,
        second,
        np.array(width, np.intp),
        np.array(height, np.intp),
        start,
        np.array([has_order[j] for j in first], np.bool_),
        np.array([has_order[j] for j in second], np.bool_),
        np.where(second < 0, directions[first], 0).astype(np.int8),
    )


class Booster:
    """Bags, the rows they learn from, and how."""

    def __init__(
        self,
        rows: Rows,
        prior: NDArray[np.float64],
        rule: Rule,
        stopping: Stopping,
        n_bags: int,
        n_jobs: int | None,
        storage: Storage,
        progress: Progress | None = None,
    ) -> None:
        self.rows, self.rule, self.stopping = rows, rule, stopping
        self.prior, self.n_jobs, self.progress = prior, n_jobs, progress
        n_rows, n_scores = len(rows.groups), len(prior)
        numbers = range(n_bags) if stopping.early else [kernels.NOBODY]
        self.bags = [
            Bag(b, storage.empty((n_rows, n_scores), np.float64), np.zeros((0, n_scores)))
            for b in numbers
        ]
        held = np.isin(rows.folds, np.arange(n_bags))
        weight = rows.weight[held] if len(rows.weight) else np.ones(np.count_nonzero(held))
        self.held_weight = math.fsum(weight)
        self.loss = math.inf

    def run(self, terms: Terms) -> list[float]:
        """Take rounds from where the bags stand, with tables of zeros for terms that are new.

        The bags stop together, where their held-out rows together are judged best; their losses
        every few rounds are the answer.
        """
        more = terms.start[-1]
        for bag in self.bags:
            known = bag.tables
            bag.tables = np.zeros((more, len(self.prior)))
            bag.tables[: len(known)] = known
        self.settle(terms)
        weights = [np.empty(more) for _ in self.bags]
        tasks = list(zip(self.bags, weights, strict=True))
        list(in_threads(lambda t: self._weigh(terms, *t), tasks, self.n_jobs))
        if not self.stopping.early:
            self._advance(terms, tasks, self.stopping.max_rounds, 1.0)
            return []
        losses = [self.held_out_loss()]
        best, best_at, known_tables = losses[0], 0, [bag.tables.copy() for bag in self.bags]
        lucky = 0  # looks in a row that saw a gain
        for done in range(CHECK, self.stopping.max_rounds + CHECK, CHECK):
            self._advance(terms, tasks, CHECK, min(HASTE ** (lucky // LUCKY), FASTEST))
            losses.append(self.held_out_loss())
            lucky = 0 if losses[-1] >= losses[-2] else lucky + 1
            if losses[-1] < best - self.stopping.tol * abs(best):
                best, best_at = losses[-1], done
                known_tables = [bag.tables.copy() for bag in self.bags]
            stopped = self.progress is not None and self.progress.stopped
            if stopped or done - best_at >= self.stopping.patience:
                break
        for bag, tables in zip(self.bags, known_tables, strict=True):
            bag.tables = tables
        self.settle(terms)
        self.loss = best
        return losses

    def settle(self, terms: Terms) -> None:
        """Scores of the rows from the tables."""

        def sum_up(bag: Bag) -> None:
            bag.scores[:] = self.prior
            kernels.add_tables(self.rows, terms, bag.tables, bag.scores)

        list(in_threads(sum_up, self.bags, self.n_jobs))

    def held_out_loss(self) -> float:
        """Mean log loss of the rows that bags hold out."""

        def loss(bag: Bag) -> float:
            return kernels.held_out_loss(self.rows, bag.number, bag.scores)

        return math.fsum(in_threads(loss, self.bags, self.n_jobs)) / self.held_weight

    def mean_tables(self) -> NDArray[np.float64]:
        """Evidence of all bags, averaged."""
        total = np.zeros_like(self.bags[0].tables)
        for bag in self.bags:
            total += bag.tables
        return total / len(self.bags)

    def _weigh(self, terms: Terms, bag: Bag, weight: NDArray[np.float64]) -> None:
        kernels.weigh_terms(self.rows, terms, bag.number, weight)

    def _advance(
        self,
        terms: Terms,
        tasks: Sequence[tuple[Bag, NDArray[np.float64]]],
        n_rounds: int,
        haste: float,
    ) -> None:
        rule = self.rule._replace(rate=self.rule.rate * haste)

        def advance(task: tuple[Bag, NDArray[np.float64]]) -> None:
            bag, weight = task
            kernels.take_rounds(
                self.rows, terms, rule, bag.number, n_rounds, weight, bag.scores, bag.tables
            )

        list(in_threads(advance, tasks, self.n_jobs))
        if self.progress is not None:
            self.progress.add(n_rounds)
