"""Additive models of columns and pairs of columns, boosted in bags: the flagship's algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.calibration import HeldOut, fit_calibration
from unnaive.bayes.estimate import log_likelihood
from unnaive.bayes.scoring import PairTerm, TableTerm, Term, log_probabilities, probabilities
from unnaive.common.threads import in_threads
from unnaive.counts import Summary
from unnaive.counts.table import most_informative
from unnaive.encode import Bins
from unnaive.encode.coders import coder_sizes
from unnaive.encode.hashing import deal_folds, draw_order
from unnaive.estimator import Progress
from unnaive.models import _additive_kernels as kernels
from unnaive.models._additive_kernels import Rows, Rule, Terms
from unnaive.models.coded import Numbering, read_coded_table
from unnaive.table import Schema, Source
from unnaive.table.records import Storage, stretches

MANY_ROWS = 40_000  # from so many on, a round looks at a sample of them
SAMPLE = 1 << 15  # rows of a sample, about: so many stripes
STRIPE = 1 << 15  # rows of a stripe, at most twice
LEAST_LEARNING = 4  # stripes that no bag holds out


@dataclass(frozen=True, slots=True, eq=False)
class Stripes:
    """Coded rows: all of them in one stripe, or where there are many, random parts of them.

    ``order`` has the position in the table of each row, stripe after stripe; it is empty where one
    stripe has them all as they come.
    """

    rows: list[Rows]
    order: NDArray[np.intp]
    storage: Storage

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> Rows:
        return self.rows[k]

    @property
    def longest(self) -> int:
        """Rows of the longest stripe."""
        return max(len(rows.groups) for rows in self.rows)

    @property
    def heaviest(self) -> float:
        """The largest weight of a row, at least 1."""
        return max(float(rows.weight.max(initial=1.0)) for rows in self.rows)

    def weigh(self, terms: Terms, bag: int = kernels.NOBODY) -> NDArray[np.float64]:
        """Return the weight in every cell of the rows that a bag does not hold out."""
        total, part = np.zeros(terms.start[-1]), np.empty(terms.start[-1])
        for rows in self.rows:
            kernels.weigh_terms(rows, terms, bag, part)
            total += part
        return total

    def scored(
        self, terms: Terms, tables: NDArray[np.float64], prior: NDArray[np.float64], n_classes: int
    ) -> HeldOut:
        """Return the rows with their scores by tables of evidence."""
        n_rows, room = sum(len(rows.groups) for rows in self.rows), self.storage
        scores = room.zeros((n_rows, n_classes), np.float64)
        groups, weight = room.empty(n_rows, np.uint16), room.empty(n_rows, np.float64)
        joint = room.empty((self.longest, len(prior)), np.float64)
        first = 0
        for rows in self.rows:
            here, some = slice(first, first + len(rows.groups)), joint[: len(rows.groups)]
            scores[here, n_classes - len(prior) :] = score_rows(rows, terms, tables, prior, some)
            groups[here], weight[here] = rows.groups, rows.weight if len(rows.weight) else 1.0
            first = here.stop
        return HeldOut(scores, groups, weight)


def score_rows(
    rows: Rows,
    terms: Terms,
    tables: NDArray[np.float64],
    prior: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scores of rows (OUT) by tables of evidence; of two classes, the log odds of the second."""
    scores[:] = prior
    kernels.add_tables(rows, terms, tables, scores)
    return scores


def slots_of_pairs(slots: NDArray[Any], places: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The coarser slots that pairs use."""
    out = np.empty(slots.shape, np.uint8)
    for j, place in enumerate(places):
        out[j] = place[slots[j]]
    return out


def code_rows(
    source: Source,
    numbering: Numbering,
    summary: Summary,
    class_factor: NDArray[np.float64],
    n_folds: int,
    seed: int,
    max_rows: int,
) -> Stripes:
    """Code the rows in one pass, and assign each to the fold that holds it out (none: no folds).

    Of more than ``max_rows`` rows, a random sample of about that size is coded. Sampling and folds
    depend on the seed and the row number. Small tables are stratified by class; the rows of large
    ones are shuffled and split into stripes, and every fold holds one stripe out.
    """
    coders, room = numbering.coders, source.storage
    table = read_coded_table(
        source, coders, summary, class_factor, unseen=True, max_rows=max_rows, seed=seed
    )
    n_rows = len(table)
    slots = room.empty(table.codes.shape, np.uint16)
    pair_slots = room.empty(table.codes.shape, np.uint8)
    for part in stretches(n_rows):
        slots[:, part] = table.codes[:, part]
        pair_slots[:, part] = slots_of_pairs(table.codes[:, part], numbering.places)
    weight = np.empty(0) if (table.weight == 1.0).all() else table.weight
    folds = np.empty(0, np.uint8)
    if n_folds and n_rows < MANY_ROWS:
        folds = deal_folds(seed, table.row_ids, table.y, n_folds).astype(np.uint8)
    whole = Rows(slots, pair_slots, table.y, weight, folds)
    if n_folds and n_rows >= MANY_ROWS:
        order = draw_order(seed, table.row_ids, room)
        return Stripes(_part(whole, order, n_folds), order, room)
    return Stripes([whole], np.empty(0, np.intp), room)


def _part(rows: Rows, order: NDArray[np.intp], n_folds: int) -> list[Rows]:
    """Return the rows in this order, cut into stripes; the first ``n_folds`` of them are folds."""
    n_stripes = max(n_folds + LEAST_LEARNING, len(order) // STRIPE)
    edges = np.linspace(0, len(order), n_stripes + 1).astype(np.intp)
    stripes: list[Rows] = []
    for k, (first, last) in enumerate(pairwise(edges)):
        chosen = order[first:last]
        stripes.append(
            Rows(
                np.take(rows.slots, chosen, axis=1),  # without gaps between the rows of a column
                np.take(rows.pair_slots, chosen, axis=1),
                rows.groups[chosen],
                rows.weight[chosen] if len(rows.weight) else rows.weight,
                np.full(len(chosen), min(k, n_folds), np.uint8),
            )
        )
    return stripes


def sample_stripes(n_stripes: int, longest: int) -> int:
    """How many of several stripes make a sample."""
    return max(min(n_stripes - 1, round(SAMPLE / longest)), 1)


def join_stripes(stripes: Sequence[Rows]) -> Rows:
    """Stripes as one table."""
    if len(stripes) == 1:
        return stripes[0]
    return Rows(*(np.concatenate(parts, axis=-1) for parts in zip(*stripes, strict=True)))


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


Pair: TypeAlias = tuple[int, int]
LEAST_GAIN = 1e-4  # share of the held-out loss that a pair must be worth
MOST_COLUMNS = 128  # among which all pairs are looked at, 8,128 of them
TOGETHER = 64  # pairs that a thread scores at a time


def strongest_pairs(
    booster: Booster, numbering: Numbering, columns: Sequence[int], most: int, apart: bool
) -> list[list[Pair]]:
    """For each bag the pairs that would gain most on what single columns leave, the best first.

    Bags ``apart`` have their own pairs, so that the rows that a bag holds out have no say in them;
    otherwise all have the same.
    """
    candidates = _candidates(numbering, columns)
    if apart and len(candidates) < len(columns):  # as many for each column that is looked at
        most = most * len(candidates) // len(columns)
    pairs = list(combinations(candidates, 2))
    if not pairs or most < 1:
        return [[] for _ in booster.bags]
    none = np.zeros(len(numbering.coders), np.int8)
    parts = [pairs[i : i + TOGETHER] for i in range(0, len(pairs), TOGETHER)]

    def score(task: tuple[Bag, Sequence[Pair]]) -> NDArray[np.float64]:
        bag, own = task
        terms, gains = make_terms(numbering, [], own, none), np.zeros(len(own))
        kernels.pair_gains(
            rows[bag.number], terms, booster.rule, bag.number, scores[bag.number], gains
        )
        return gains

    rows = {bag.number: booster.learning(bag, 0) for bag in booster.bags}
    scores = {bag.number: booster.score(bag, rows[bag.number]) for bag in booster.bags}
    tasks = [(bag, part) for bag in booster.bags for part in parts]
    scored = np.concatenate(list(in_threads(score, tasks, booster.n_jobs)))
    gains = scored.reshape(len(booster.bags), len(pairs))
    if not apart:
        gains[:] = gains.sum(axis=0)
    orders = np.argsort(-gains, axis=1, kind="stable")[:, :most]
    return [
        [pairs[i] for i in order if own[i] > 0.0] for order, own in zip(orders, gains, strict=True)
    ]


def _candidates(numbering: Numbering, columns: Sequence[int]) -> Sequence[int]:
    """The columns whose pairs are looked at: of very many, those that say most by themselves.

    They are chosen by the counts of all rows, so that the order and division of rows do not matter.
    """
    if len(columns) <= MOST_COLUMNS:
        return columns
    tables = [numbering.counts.attribute(j).T for j in columns]
    return [columns[k] for k in most_informative(tables, MOST_COLUMNS)]


def useful_pairs(
    booster: Booster,
    numbering: Numbering,
    n_columns: int,
    pairs: Sequence[Sequence[Pair]],
    most: int,
) -> list[Pair]:
    """The pairs, of those of each bag, by which rows held out gain, the best first."""
    none = np.zeros(len(numbering.coders), np.int8)

    def gain(task: tuple[Bag, int, Pair]) -> float:
        bag, t, pair = task
        rows, one = booster.held_out(bag), make_terms(numbering, [], [pair], none)
        without = scores[bag.number].copy()
        kernels.add_tables(rows, one, -bag.table(t), without)
        after = kernels.held_out_loss(rows, bag.number, scores[bag.number])
        return kernels.held_out_loss(rows, bag.number, without) - after

    scores = {bag.number: booster.score(bag, booster.held_out(bag)) for bag in booster.bags}
    tasks = [
        (bag, n_columns + p, pair)
        for bag, own in zip(booster.bags, pairs, strict=True)
        for p, pair in enumerate(own)
    ]
    gains = dict.fromkeys(chain(*pairs), 0.0)
    for (_, _, pair), own in zip(tasks, in_threads(gain, tasks, booster.n_jobs), strict=True):
        gains[pair] += own
    least = LEAST_GAIN * booster.held_out_loss() * booster.held_weight
    useful = [pair for pair in sorted(gains, key=lambda p: (-gains[p], p)) if gains[pair] > least]
    return useful[:most]


SWEEPS = 100
CLOSE = 1e-12  # of what is left to move, relative to the largest evidence


def purify(
    table: NDArray[np.float64], weight: NDArray[np.float64], lowest: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Split the table of a pair into two columns' parts and what is left.

    Parameters
    ----------
    table : array of shape (slots of first, slots of second, scores)
    weight : array of shape (slots of first, slots of second)
        Weight of the training rows.
    lowest : int
        First slot that has evidence; slots below it, and the last, which is unseen, have none.

    Returns
    -------
    rest : array of the table's shape
        Its weighted mean over either column vanishes for every value of the other.
    first, second : arrays of shape (slots, scores)
        With ``rest`` they add up to the table, in every cell that has evidence.
    """
    inside = (slice(lowest, -1), slice(lowest, -1))
    rest, share = table[inside].copy(), weight[inside]
    ends = np.zeros((table.shape[0], table.shape[2])), np.zeros((table.shape[1], table.shape[2]))
    limit = CLOSE * float(np.abs(rest).max(initial=0.0))
    for _ in range(SWEEPS):
        moved = 0.0
        for axis in (1, 0):
            whole = share.sum(axis=axis)
            mean = (rest * share[:, :, None]).sum(axis=axis) / np.where(whole > 0, whole, 1)[
                :, None
            ]
            rest -= np.expand_dims(mean, axis)
            ends[1 - axis][lowest:-1] += mean
            moved = max(moved, float(np.abs(mean).max(initial=0.0)))
        if moved <= limit:
            break
    out = np.zeros_like(table)
    out[inside] = rest
    return out, ends[0], ends[1]


def centre(
    table: NDArray[np.float64], weight: NDArray[np.float64], lowest: int
) -> NDArray[np.float64]:
    """Take the weighted mean of a column's table (IN, OUT, slots x scores) away; return it."""
    inside = slice(lowest, -1)
    whole = weight[inside].sum()
    if whole == 0.0:
        return np.zeros(table.shape[1])
    mean: NDArray[np.float64] = (table[inside] * weight[inside, None]).sum(axis=0) / whole
    table[inside] -= mean
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Tables by slot: of columns (slots x scores) and of pairs (slots x slots x scores)."""

    intercept: NDArray[np.float64]
    columns: dict[int, NDArray[np.float64]]
    pairs: dict[Pair, NDArray[np.float64]]


def jackknife(
    mean: Evidence, bags: Iterable[Evidence], n_folds: int
) -> dict[int, NDArray[np.float64]]:
    """Standard errors of the weight of evidence of every slot of columns: slots x scores.

    Each bag leaves out one of ``n_folds`` groups of rows, so that the spread of the bags is a
    jackknife by groups: the variance is n_folds - 1 times their mean squared distance from the
    mean.
    """
    squares = {j: np.zeros(table.shape) for j, table in mean.columns.items()}
    n_bags = 0
    for bag in bags:
        n_bags += 1
        for j, table in mean.columns.items():
            change = bag.columns[j] - table
            squares[j] += _weight_change(change, table, mean.intercept) ** 2
    return {j: np.sqrt((n_folds - 1) / n_bags * total) for j, total in squares.items()}


def _weight_change(
    change: NDArray[np.float64], scores: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What small changes of scores do to the weight of evidence of each class."""
    if change.shape[-1] == 1:
        return change
    share = probabilities(scores + prior)
    others = (share * change).sum(axis=-1, keepdims=True) - share * change
    rest = np.maximum(1.0 - share, np.finfo(float).tiny)
    return change - others / rest


SHARES = (0.2, 0.4, 0.6, 0.8)
ALPHA = 0.5  # pseudo-count of every value
# Rows from which on there is one start: measured on held-out training rows, the second one gains up
# to some 3,000 rows, does nothing at 6,000 and loses at 11,000 (letter), for half of the time.
FEW_ROWS = 10_000
WORTH = 0.01  # share of the loss that large steps must spare: less is chance
PATIENCE = 2  # rounds of small steps for each of large ones, until the latter are the better ones


def boost_columns(booster: Booster, numbering: Numbering) -> list[float]:
    """Boost single columns: what the held-out rows lose at every look.

    Where rows are few, the bags boost from no evidence and again from a share of naive Bayes', and
    keep the mean of both: the start matters there, and neither is the better one on all tables. The
    share is the one that held-out rows like best, and the losses are those from no evidence. Models
    without rows held out only start from no evidence.
    """
    if not booster.stopping.early:
        return booster.run()
    losses = _boost_by_leaves(booster)
    if len(booster.stripes) > 1 or len(booster.stripes[0].groups) >= FEW_ROWS:
        return losses
    from_nothing = [bag.tables for bag in booster.bags]
    naive = list(
        in_threads(
            lambda bag: _naive_evidence(booster, numbering, bag), booster.bags, booster.n_jobs
        )
    )

    def loss(share: float) -> float:
        for bag, tables in zip(booster.bags, naive, strict=True):
            bag.tables = share * tables
        booster.prepare()
        return booster.held_out_loss()

    share = min(SHARES, key=loss)
    for bag, tables in zip(booster.bags, naive, strict=True):
        bag.tables = share * tables
    booster.run()
    for bag, tables in zip(booster.bags, from_nothing, strict=True):
        bag.tables = 0.5 * (bag.tables + tables)
    return losses


def _boost_by_leaves(booster: Booster) -> list[float]:
    """Boost from no evidence by steps of four leaves and by steps of two, and keep the better.

    Held-out rows tell which: four are much better where single values stand out from their
    neighbours, as amounts of money do, two a little better where evidence is smooth.
    """
    rule = booster.rule
    booster.rule = rule._replace(leaves=MANY_LEAVES)
    fine = booster.run()
    tables = [bag.tables for bag in booster.bags]
    booster.rule = rule._replace(leaves=FEW_LEAVES)
    for bag in booster.bags:
        bag.tables = np.zeros_like(bag.tables)
    smooth = booster.run(most=PATIENCE * booster.bags[0].n_rounds)
    if min(fine) >= (1.0 - WORTH) * min(smooth):
        return smooth
    booster.rule = rule._replace(leaves=MANY_LEAVES)
    for bag, evidence in zip(booster.bags, tables, strict=True):
        bag.tables = evidence
    return fine


def _naive_evidence(booster: Booster, numbering: Numbering, bag: Bag) -> NDArray[np.float64]:
    """Naive Bayes' evidence of the rows that a bag learns from, in the intervals of pairs.

    Columns that may only rise or fall have none: it need not do so.
    """
    rows, terms, n_classes = booster.stripes[0], bag.terms, numbering.counts.n_groups
    weight = np.empty(terms.start[-1] * n_classes)
    kernels.weigh_classes(rows, terms, bag.number, n_classes, weight)
    weight = weight.reshape(-1, n_classes)
    missing = "value" if booster.rule.lowest == 0 else "skip"
    tables = np.zeros_like(bag.tables)
    for t in np.flatnonzero(terms.direction == 0):
        cells = slice(terms.start[t], terms.start[t + 1])
        place = numbering.places[terms.first[t]]
        counts = np.zeros((place.max() + 1, n_classes))
        np.add.at(counts, place, weight[cells])
        logs = log_likelihood(np.ascontiguousarray(counts.T), ALPHA, missing)[place]
        if n_classes == 2:
            tables[cells] = logs[:, 1:] - logs[:, :1]
        else:
            tables[cells] = logs - logs.mean(axis=1, keepdims=True)
    return tables


def held_out_shares(booster: Booster, stripes: Stripes, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of all rows in the order of the table, each by the bag that held it out.

    NaN for rows that every bag has learned from.
    """
    lengths = [len(rows.groups) for rows in stripes.rows]
    shares = np.full((sum(lengths), n_classes), np.nan)
    first = np.cumsum([0, *lengths])
    for bag in booster.bags:
        stripe = booster.held_out_stripe(bag)
        rows = stripes.rows[stripe]
        held = np.flatnonzero(rows.folds == bag.number)
        scores = _of_classes(booster.score(bag, rows)[held], n_classes)
        shares[first[stripe] + held] = np.exp(log_probabilities(scores))
    if not len(stripes.order):
        return shares
    out = np.empty_like(shares)
    out[stripes.order] = shares
    return out


def base_rate_shift(
    booster: Booster, terms: Terms, tables: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """What is added to the intercept so that classes are as probable, on the whole, as they are
    frequent: a mean of log odds over bags finds rare classes too rare.
    """
    if n_classes < 2:
        return np.zeros(len(booster.prior))
    scored = booster.stripes.scored(terms, tables, booster.prior, n_classes)
    shift = fit_calibration(scored, slope=1.0).intercept
    return shift[1:] - shift[:1] if n_classes == 2 else shift - shift.mean()


def _of_classes(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Scores of all classes: of two, one score is the log odds of the second."""
    if scores.shape[1] == n_classes:
        return scores
    return np.concatenate((np.zeros_like(scores), scores), axis=1)


@dataclass(frozen=True, slots=True)
class Interactions:
    """Which pairs are wanted: those listed, or the ``most`` strongest.

    Where ``held_out`` decides, only those of them that held-out rows gain by.
    """

    most: int
    held_out: bool = False
    listed: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Evidence by slot, for two classes of the second (slots x 1), else of each class.

    ``errors`` are standard errors of columns, where there are several bags; ``losses`` are held-out
    losses every few rounds, of single columns, then with pairs.
    """

    evidence: Evidence
    errors: dict[int, NDArray[np.float64]]
    losses: tuple[list[float], list[float]]

    def standard_errors(self, schema: Schema, n_classes: int) -> tuple[NDArray[np.float32], ...]:
        """Of every column (slots x classes), empty where it has no evidence; of none, nothing."""
        none = np.empty((0, n_classes), np.float32)
        if not self.errors:
            return ()
        return tuple(
            np.broadcast_to(self.errors[j], (len(self.errors[j]), n_classes)).astype(np.float32)
            if j in self.errors
            else none
            for j in range(len(schema))
        )

    def scorer(self, numbering: Numbering, schema: Schema) -> Scorer:
        """Evidence as log probabilities of the classes, but for constants: it sums to 0 over them.

        The prior is one of probabilities.
        """
        n_classes = numbering.counts.n_groups

        def logs(table: NDArray[np.float64]) -> NDArray[np.float64]:
            if n_classes == 2:
                return np.concatenate((-0.5 * table, 0.5 * table), axis=-1)
            return table - table.mean(axis=-1, keepdims=True)

        def term(j: int) -> Term:
            coder = numbering.coders[j]
            if j in self.evidence.columns:
                assert coder is not None
                return TableTerm(coder, logs(self.evidence.columns[j]))
            if coder is None and schema[j].kind != "numeric":
                return None
            coder = Bins(np.empty(0)) if coder is None else coder
            return TableTerm(coder, np.zeros((coder.size + 2, n_classes)))

        pairs = tuple(
            PairTerm(a, b, numbering.pair_of(a, b), logs(table))
            for (a, b), table in self.evidence.pairs.items()
        )
        prior = log_probabilities(logs(self.evidence.intercept)[None])[0]
        return Scorer(prior, tuple(term(j) for j in range(len(schema))), pairs)


def learn(
    booster: Booster,
    numbering: Numbering,
    interactions: Interactions,
    directions: NDArray[np.int8],
    n_folds: int,
) -> Learned:
    """Boost single columns, find pairs, boost both, and purify; bags hold out 1 of n_folds."""
    columns = numbering.varying
    losses, more = boost_columns(booster, numbering), []
    choose = interactions.held_out and booster.stopping.early
    if interactions.listed is None:
        free = [j for j in columns if directions[j] == 0]
        pairs = strongest_pairs(booster, numbering, free, interactions.most, choose)
    else:
        pairs = [list(interactions.listed) for _ in booster.bags]
    if any(pairs):
        for bag, own in zip(booster.bags, pairs, strict=True):
            known = bag.tables
            bag.terms = make_terms(numbering, columns, own, directions)
            bag.tables = np.zeros((bag.terms.start[-1], known.shape[1]))
            bag.tables[: len(known)] = known
        more = booster.run(CAREFUL)
    kept = pairs[0]
    if choose:
        # Bags that differ in a few pairs keep them all; many that hardly matter are left out.
        kept = useful_pairs(booster, numbering, len(columns), pairs, 2 * interactions.most)
        for bag, own in zip(booster.bags, pairs, strict=True):
            for t, pair in enumerate(own, len(columns)):
                if pair not in kept:
                    bag.table(t)[:] = 0.0
    return _purified(booster, numbering, columns, kept, pairs, (losses, more), n_folds)


def _purified(
    booster: Booster,
    numbering: Numbering,
    columns: Sequence[int],
    kept: Sequence[Pair],
    pairs: Sequence[Sequence[Pair]],
    losses: tuple[list[float], list[float]],
    n_folds: int,
) -> Learned:
    """Evidence averaged over the bags; what pairs say of single columns stands in these."""
    terms = make_terms(numbering, columns, kept, np.zeros(len(numbering.coders), np.int8))
    start, n = terms.start, len(columns)
    weight = booster.stripes.weigh(terms)

    def laid_out() -> Iterator[NDArray[np.float64]]:
        for bag, own in zip(booster.bags, pairs, strict=True):
            tables = np.zeros((start[-1], len(booster.prior)))
            tables[: start[n]] = bag.tables[: start[n]]
            for t, pair in enumerate(kept, n):
                if pair in own:
                    tables[start[t] : start[t + 1]] = bag.table(n + own.index(pair))
            yield tables

    def pure(tables: NDArray[np.float64]) -> Evidence:
        return _split(tables, terms, weight, booster, numbering, columns, kept)

    mean = np.zeros((start[-1], len(booster.prior)))
    for tables in laid_out():
        mean += tables
    mean /= len(booster.bags)
    shift = base_rate_shift(booster, terms, mean, numbering.counts.n_groups)
    evidence = pure(mean)
    evidence.intercept[:] += shift
    errors = {}
    if len(booster.bags) > 1:
        errors = jackknife(evidence, map(pure, laid_out()), n_folds)
    return Learned(evidence, errors, losses)


def _split(
    tables: NDArray[np.float64],
    terms: Terms,
    weight: NDArray[np.float64],
    booster: Booster,
    numbering: Numbering,
    columns: Sequence[int],
    kept: Sequence[Pair],
) -> Evidence:
    """Tables laid end to end (IN, OUT) as those of an intercept, of columns and of pairs."""
    start, n, lowest = terms.start, len(columns), booster.rule.lowest
    of_column = {j: tables[start[t] : start[t + 1]] for t, j in enumerate(columns)}
    of_pair: dict[Pair, NDArray[np.float64]] = {}
    for t, (a, b) in enumerate(kept, n):
        shape, cells = (terms.width[t], terms.height[t]), slice(start[t], start[t + 1])
        table, share = tables[cells].reshape(*shape, -1), weight[cells].reshape(shape)
        of_pair[a, b], first, second = purify(table, share, lowest)
        of_column[a] += first[numbering.places[a]]
        of_column[b] += second[numbering.places[b]]
    intercept = booster.prior.copy()
    for t, j in enumerate(columns):
        intercept += centre(of_column[j], weight[start[t] : start[t + 1]], lowest)
    return Evidence(intercept, of_column, of_pair)
