"""Bags that boost side by side, until the rows that they hold out gain no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.encode import Bins
from unnaive.encode.coders import coder_sizes
from unnaive.estimator import Progress
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import (
    Numbering,
    Stripes,
    join_stripes,
    sample_stripes,
    score_rows,
)
from unnaive.models.boost.state import Rows, Rule, Terms

LOOK = 5  # rounds at full pace between two looks at the held-out rows
# The share of the learning rate that rounds begin with. There are many pairs, most of them noise
# where rows are few: rounds at full pace would be past the best before the first look.
STEADY, CAREFUL = 1.0, 0.3
# Where the held-out rows gain at every look, as they do for thousands of rounds where pairs tell
# classes apart without error, steps become larger; they fall back at the first loss.
LUCKY, HASTE, FASTEST = 5, 1.5, 5.0
# Gains are measured by the loss that is left, but by no less than this share of what the base rates
# lose: where hardly any is left, a gain of a thousandth of it is nothing.
SETTLED = 0.1

RIDGE = 1.0  # four rows that are as likely as not
LEAST_ROWS = 4.0
# Leaves of a step of a single column: one cut is smoother, three reach single values in few rounds.
FEW_LEAVES, MANY_LEAVES = 2, 4


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
        Of all rows; of a sample where there are several stripes.
    terms : Terms
        Tables that it learns.
    tables : array of shape (cells, scores)
        Evidence of all terms, laid end to end.
    cell_weight : array of shape (cells,)
        Weight of the rows that it learns from in a round.
    n_rounds : int
        Rounds taken.
    """

    number: int
    scores: NDArray[np.float64]
    terms: Terms
    tables: NDArray[np.float64]
    cell_weight: NDArray[np.float64]
    n_rounds: int

    def table(self, t: int) -> NDArray[np.float64]:
        """View of the evidence of one term."""
        return self.tables[self.terms.start[t] : self.terms.start[t + 1]]


def step_rule(heaviest: float, rate: float, missing: str) -> Rule:
    """How steps are taken, where no row weighs more than this."""
    unit = max(1.0 / kernels.FINE, 2.0 ** (math.ceil(math.log2(heaviest)) - 30))  # 32-bit numbers
    lowest = 0 if missing == "value" else 1
    return Rule(float(rate), RIDGE, LEAST_ROWS, together(rate), lowest, unit, FEW_LEAVES)


def together(rate: float) -> int:
    """Terms that step from the same gradients: at most one Newton step together, so that they do
    not overshoot where they say the same.
    """
    return max(1, int(1.0 / rate))


def make_terms(
    numbering: Numbering,
    columns: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    directions: NDArray[np.int8],
) -> Terms:
    """The tables of some columns, then those of pairs."""
    # Of all columns only these are looked at: a table has more pairs than columns.
    coders, coarse = numbering.coders, numbering.pair_coders
    first = np.array([*columns, *(a for a, _ in pairs)], np.intp)
    second = np.array([*(-1 for _ in columns), *(b for _, b in pairs)], np.intp)
    across = [*(coders[j] for j in columns), *(coarse[a] for a, _ in pairs)]
    width = [size + 2 for size in coder_sizes(across)]
    height = [*(1 for _ in columns), *(n + 2 for n in coder_sizes([coarse[b] for _, b in pairs]))]
    start = np.concatenate(([0], np.cumsum(np.multiply(width, height), dtype=np.intp)))
    return Terms(
        first,
        second,
        np.array(width, np.intp),
        np.array(height, np.intp),
        start,
        np.array([isinstance(coders[j], Bins) for j in first], np.bool_),
        np.array([isinstance(coders[j], Bins) for j in second], np.bool_),
        np.where(second < 0, directions[first], 0).astype(np.int8),
    )


class Booster:
    """Bags, the rows they learn from, and how."""

    def __init__(
        self,
        stripes: Stripes,
        prior: NDArray[np.float64],
        rule: Rule,
        stopping: Stopping,
        n_bags: int,
        n_jobs: int | None,
        progress: Progress,
        terms: Terms,
    ) -> None:
        self.stripes, self.rule, self.stopping = stripes, rule, stopping
        self.prior, self.n_jobs, self.progress = prior, n_jobs, progress
        self.n_sampled = sample_stripes(len(stripes), stripes.longest)  # that a round looks at
        n_rows = self.n_sampled * stripes.longest
        n_scores = len(prior)
        numbers = range(n_bags) if stopping.early else [kernels.NOBODY]
        self.bags = [
            Bag(
                b,
                stripes.storage.empty((n_rows, n_scores), np.float64),
                terms,
                np.zeros((terms.start[-1], n_scores)),
                np.empty(0),
                0,
            )
            for b in numbers
        ]
        self.held_weight = self.base_loss = 0.0
        if stopping.early:
            self.held_weight = math.fsum(
                math.fsum(rows.weight[held]) if len(rows.weight) else np.count_nonzero(held)
                for rows in map(stripes.__getitem__, {self.held_out_stripe(b) for b in self.bags})
                for held in [rows.folds < n_bags]
            )
            self.base_loss = self._base_loss()

    def run(self, pace: float = STEADY, most: int | None = None) -> list[float]:
        """Take rounds from where the bags stand, at first with this share of the learning rate.

        The bags stop together, where their held-out rows together are judged best, or after
        ``most`` rounds; their losses at every look are the answer.
        """
        most = self.stopping.max_rounds if most is None else min(most, self.stopping.max_rounds)
        self.prepare()
        done = streak = 0
        if not self.stopping.early:
            while done < most and not self.progress.stopped:
                n_rounds = min(LOOK, most - done)
                self._advance(n_rounds, 1.0)
                done += n_rounds
            return []
        losses = [self.held_out_loss()]
        least = self.stopping.tol * SETTLED * self.base_loss
        best, best_at, tables = losses[-1], done, [bag.tables.copy() for bag in self.bags]
        while done < most:
            now = min(pace * HASTE ** (streak // LUCKY), FASTEST)
            n_rounds = math.ceil(LOOK * min(now, 1.0))
            self._advance(n_rounds, now)
            done += n_rounds
            losses.append(self.held_out_loss())
            streak = 0 if losses[-1] >= losses[-2] else streak + 1
            if losses[-1] < best - max(self.stopping.tol * best, least):
                best, best_at, tables = losses[-1], done, [bag.tables.copy() for bag in self.bags]
            if self.progress.stopped or done - best_at >= self.stopping.patience:
                break
        for bag, evidence in zip(self.bags, tables, strict=True):
            bag.tables = evidence
        return losses

    def score(self, bag: Bag, rows: Rows) -> NDArray[np.float64]:
        """Scores of some rows from a bag's tables, until those of other rows are asked for."""
        scores = bag.scores[: len(rows.groups)]
        return score_rows(rows, bag.terms, bag.tables, self.prior, scores)

    def held_out_stripe(self, bag: Bag) -> int:
        """Which stripe has the rows that a bag holds out."""
        return bag.number if len(self.stripes) > 1 else 0

    def held_out(self, bag: Bag) -> Rows:
        """Rows among which are those that a bag holds out."""
        return self.stripes[self.held_out_stripe(bag)]

    def learning(self, bag: Bag, n: int) -> Rows:
        """Rows that a bag learns from in round n: the next few stripes, but for its own."""
        if len(self.stripes) == 1:
            return self.stripes[0]
        after = self.n_sampled * n + np.arange(self.n_sampled)
        chosen = (bag.number + 1 + after % (len(self.stripes) - 1)) % len(self.stripes)
        return join_stripes([self.stripes[int(k)] for k in chosen])

    def prepare(self) -> None:
        """Bring the bags' weights and scores up to their tables."""

        def prepare(bag: Bag) -> None:
            weight = self.stripes.weigh(bag.terms, bag.number)
            bag.cell_weight = self.n_sampled / len(self.stripes) * weight
            self.score(bag, self.held_out(bag))

        list(in_threads(prepare, self.bags, self.n_jobs))

    def _base_loss(self) -> float:
        """Mean log loss of the rows that bags hold out by the base rates alone."""
        for bag in self.bags:
            bag.scores[:] = self.prior
        losses = [
            kernels.held_out_loss(rows, bag.number, bag.scores[: len(rows.groups)])
            for bag in self.bags
            for rows in [self.held_out(bag)]
        ]
        return math.fsum(losses) / self.held_weight

    def held_out_loss(self) -> float:
        """Mean log loss of the rows that bags hold out."""

        def loss(bag: Bag) -> float:
            rows = self.held_out(bag)
            scores = self.score(bag, rows) if len(self.stripes) > 1 else bag.scores
            return kernels.held_out_loss(rows, bag.number, scores)

        return math.fsum(in_threads(loss, self.bags, self.n_jobs)) / self.held_weight

    def _advance(self, n_rounds: int, pace: float) -> None:
        rule = self.rule._replace(rate=self.rule.rate * pace)
        rule = rule._replace(block=together(rule.rate))
        each = n_rounds if len(self.stripes) == 1 else 1

        def advance(bag: Bag) -> None:
            for _ in range(0, n_rounds, each):
                rows = self.learning(bag, bag.n_rounds)
                scores = self.score(bag, rows) if len(self.stripes) > 1 else bag.scores
                kernels.take_rounds(
                    rows, bag.terms, rule, bag.number, each, bag.cell_weight, scores, bag.tables
                )
                bag.n_rounds += each

        list(in_threads(advance, self.bags, self.n_jobs))
        self.progress.add(n_rounds)
