"""From rows to a forest: code them once, draw a bag for each tree, grow the trees in threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.forest import ROWS, ClassForest, mean_leaves
from unnaive.bayes.scoring import log_probabilities
from unnaive.common.threads import in_threads
from unnaive.counts import Summary
from unnaive.counts.coded import check_same_rows
from unnaive.counts.summary import row_factor
from unnaive.discretize import CoarseCoder
from unnaive.encode import Bins
from unnaive.encode.coding import coder_sizes, column_slots
from unnaive.encode.draws import draw_poisson, lane, value_keys
from unnaive.encode.labels import groups_of
from unnaive.estimator import Progress
from unnaive.models._calibration import take_logs
from unnaive.models.tree.forest_kernels import ForestRows, Grown, Limits, grow_tree
from unnaive.table import Block, Source
from unnaive.table.storage import join, stretches

DOUBT = 5.0  # rows by which a power of e to +-1 must lower the log loss
FEW_DRAWS = 50.0  # more in a bag, on average, are never none
TREES = 16  # grown between two reports of progress


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """All rows, coded and sorted by their values, so that no draw depends on their order.

    Attributes
    ----------
    rows : ForestRows
    weight : array of shape (rows,)
        In units of rows.
    order : array of shape (rows,)
        Place of each of them in the order of the table.
    """

    rows: ForestRows
    weight: NDArray[np.float64]
    order: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """ForestRows of one block."""

    PER_ROW: ClassVar = {"codes": 1, "groups": 0, "weight": 0, "row_ids": 0}

    codes: NDArray[np.uint16]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64]
    row_ids: NDArray[np.int64]


def code_table(
    source: Source, coders: Sequence[CoarseCoder], summary: Summary, factor: NDArray[np.float64]
) -> CodedTable:
    """The rows in one pass; ``factor`` multiplies the weights of each class."""
    each = row_factor(summary, factor)

    def code(block: Block) -> _Coded:
        assert block.target is not None
        groups = groups_of(summary.labels, block.target)
        codes = np.empty((len(coders), block.n_rows), np.uint16)
        for j, coder in enumerate(coders):
            codes[j] = column_slots(block, j, coder, unseen=False)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return _Coded(codes, groups.astype(np.uint16), weight * each[groups], block.row_ids)

    n, room = summary.n_rows, source.storage
    coded = join(source, code, n)
    if source.may_change:
        check_same_rows(summary, coders, each, coded.codes, coded.groups, coded.weight)
    keys = value_keys([*coded.codes, coded.groups, coded.weight], n, room)
    by_value = room.argsort(keys)
    codes = room.empty(coded.codes.shape, np.uint16)
    for sorted_column, column in zip(codes, coded.codes, strict=True):
        sorted_column[:] = room.take(column, by_value)
    rows = ForestRows(
        codes,
        np.array(coder_sizes(coders), dtype=np.int64),
        np.array([isinstance(coder, Bins) for coder in coders], dtype=bool),
        room.take(coded.groups, by_value),
        len(summary.labels),
    )
    place = np.empty(n, np.intp)
    place[room.argsort(coded.row_ids)] = np.arange(n)
    return CodedTable(rows, room.take(coded.weight, by_value), place[by_value])


class Bags:
    """How often each tree draws each row: Poisson draws, or once where nothing is drawn.

    Parameters
    ----------
    seeds : array of shape (trees,)
    mean : float or None
        Expected draws of a row; None where all rows are in every bag.
    n_rows : int
    """

    def __init__(self, seeds: NDArray[np.uint64], mean: float | None, n_rows: int) -> None:
        self.seeds, self.mean, self.n_rows = seeds, mean, n_rows

    def draws(self, tree: int) -> NDArray[np.uint64]:
        """Of one tree; all rows where it would come out empty, as in a tiny table."""
        if self.mean is None:
            return np.ones(self.n_rows, np.uint64)
        seed = self.seeds[tree : tree + 1]
        drawn = lane(draw_poisson(seed, np.arange(self.n_rows), self.mean), 0)
        return drawn if drawn.any() else np.ones_like(drawn)

    def left_out(self, part: slice) -> NDArray[np.bool_]:
        """Which trees have not drawn which rows, trees x rows."""
        assert self.mean is not None
        n_trees = len(self.seeds)
        words = draw_poisson(self.seeds, np.arange(part.start, part.stop), self.mean)
        out = np.stack([lane(words, t) == 0 for t in range(n_trees)])
        if self.mean * self.n_rows < FEW_DRAWS:
            out &= np.array([not self.draws(t).all() for t in range(n_trees)])[:, None]
        return out


def grow_forest(
    table: CodedTable,
    coders: Sequence[CoarseCoder],
    bags: Bags,
    limits: Limits,
    n_jobs: int | None,
    progress: Progress,
) -> ClassForest:
    """A tree for each bag. They do not depend on each other, so threads grow them as they can."""

    def grow(tree: int) -> Grown:
        weight = bags.draws(tree) * table.weight
        return grow_tree(table.rows, weight, limits, bags.seeds[tree])

    trees: list[Grown] = []
    for first in range(0, len(bags.seeds), TREES):
        more = range(first, min(first + TREES, len(bags.seeds)))
        trees += in_threads(grow, more, n_jobs)
        progress.add(len(more))
        if progress.stopped:
            break
    classes = np.bincount(table.rows.groups, table.weight, table.rows.n_classes)
    return _join(trees, coders, classes / classes.sum())


def _join(
    trees: Sequence[Grown],
    coders: Sequence[CoarseCoder],
    prior: NDArray[np.float64],
) -> ClassForest:
    """Trees end to end. Routes of categories then begin later."""
    numeric = np.array([*(isinstance(coder, Bins) for coder in coders), True])
    words = np.cumsum([0, *(len(tree.route) for tree in trees)])
    tests = [
        np.where(numeric[tree.attribute], tree.test, tree.test + before).astype(np.int32)
        for tree, before in zip(trees, words[:-1], strict=True)
    ]
    return ClassForest(
        coders=tuple(coders),
        start=np.cumsum([0, *(len(tree.attribute) for tree in trees)], dtype=np.int64),
        attribute=np.concatenate([tree.attribute for tree in trees]),
        test=np.concatenate(tests),
        missing_first=np.concatenate([tree.missing_first for tree in trees]),
        route=np.concatenate([tree.route for tree in trees]),
        n_entries=np.concatenate([tree.n_entries for tree in trees]),
        entry_class=np.concatenate([tree.entry_class for tree in trees]),
        entry_weight=np.concatenate([tree.entry_weight for tree in trees]),
        alpha=0.0,
        prior=prior,
    )


def out_of_bag(
    forest: ClassForest,
    table: CodedTable,
    bags: Bags,
    alphas: Sequence[float],
    n_jobs: int | None,
) -> list[NDArray[np.float64]]:
    """Mean of the leaves of the trees that have not drawn a row; NaN where all have drawn it.

    In the order of ``table``, one answer for each ``alpha``.
    """
    variants = [forest.trees(alpha) for alpha in alphas]

    def answer(part: slice) -> list[NDArray[np.float64]]:
        slots = np.ascontiguousarray(table.rows.codes[:, part].T)
        judges = bags.left_out(part)[: forest.n_trees]
        return mean_leaves(slots, variants, forest.prior, judges)

    parts = in_threads(answer, list(stretches(len(table.weight), ROWS)), n_jobs)
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def answer_drawn(
    forest: ClassForest, table: CodedTable, drawn: NDArray[np.bool_], n_jobs: int | None
) -> NDArray[np.float64]:
    """What the whole forest says of rows that are drawn, NaN of others; in the order of a table."""
    trees, places = forest.trees(), np.flatnonzero(drawn)
    shares = np.full((len(drawn), forest.n_outputs), np.nan)

    def answer(part: slice) -> None:
        slots = np.ascontiguousarray(table.rows.codes[:, places[part]].T)
        shares[places[part]] = forest.answer_slots(slots, trees)

    list(in_threads(answer, list(stretches(len(places), ROWS)), n_jobs))
    return shares


class Judged(NamedTuple):
    """Out-of-bag shares of the classes, the pseudo-rows and power that suit them best, and the log
    loss of all rows with them.
    """

    shares: NDArray[np.float64]
    alpha: float
    power: float
    loss: float


def calibrate(
    forest: ClassForest,
    table: CodedTable,
    bags: Bags,
    alphas: Sequence[float],
    power: float | None,
    n_jobs: int | None,
) -> Judged:
    """The ``alpha`` and the power of least log loss on rows that trees have not drawn.

    The power is sought among powers of two in steps of a sixteenth, from 1/2 to 4, unless one is
    given. A few rows' worth of doubt keeps it near 1 where rows are few.
    """
    everything = out_of_bag(forest, table, bags, alphas, n_jobs)
    judged = ~np.isnan(everything[0][:, 0])
    groups, weight = table.rows.groups[judged], table.weight[judged]
    best: Judged | None = None
    for shares, alpha in zip(everything, alphas, strict=True):
        logs = shares[judged]
        take_logs(logs)

        def loss(power: float, logs: NDArray[np.float64] = logs) -> float:
            raised = log_probabilities(power * logs)
            right = raised[np.arange(len(groups)), groups]
            return DOUBT * math.log(power) ** 2 - math.fsum(weight * right)

        exponent = power or 2.0 ** (_least(lambda k: loss(2.0 ** (k / 16)), -16, 32) / 16)
        if best is None or loss(exponent) < best.loss:
            best = Judged(shares, alpha, exponent, loss(exponent))
    assert best is not None
    return best


def _least(loss: Callable[[int], float], low: int, high: int) -> int:
    """The whole number of least loss, which falls and then rises."""
    while high - low > 0:
        middle = (low + high) // 2
        low, high = (low, middle) if loss(middle) <= loss(middle + 1) else (middle + 1, high)
    return low
