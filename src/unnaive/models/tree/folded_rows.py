"""Coded rows with folds: what trees of naive Bayes classifiers grow on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Summary
from unnaive.counts.summary import row_factor
from unnaive.encode import Categories, Grid, Labels
from unnaive.encode.draws import assign_folds
from unnaive.encode.labels import groups_of
from unnaive.models.tree.branches import TreeRows
from unnaive.models.tree.classifier import Encoded, encoded
from unnaive.table import Block
from unnaive.table.storage import Storage


@dataclass(frozen=True, slots=True, eq=False)
class FoldedBlock:
    """Encoded rows and their folds, or their numbers where folds cannot be drawn row by row."""

    PER_ROW: ClassVar = {"folds": 0}

    rows: Encoded
    folds: NDArray[Any]

    def for_tree(
        self,
        coders: Sequence[Grid | Categories | None],
        n_classes: int,
        n_folds: int,
        storage: Storage,
    ) -> TreeRows:
        """The rows as a tree grows on them."""
        numeric = tuple(isinstance(coder, Grid) for coder in coders)
        rows = (self.rows.codes, numeric, self.rows.groups, self.rows.weight, self.folds)
        return TreeRows(*rows, n_classes, int(n_folds), storage)


def fold_block(
    coders: list[Grid | Categories | None],
    summary: Summary,
    factor: NDArray[np.float64],
    n_folds: Any,
    seed: int,
    block: Block,
) -> FoldedBlock:
    """The rows of a block; without a number of folds each has its own number instead of a fold."""
    rows, folds = encoded(block, coders, summary, factor), block.row_ids
    if n_folds is not None:
        drawn, n = assign_folds(n_folds, seed, folds, None)
        folds = drawn.astype(np.min_scalar_type(n))
    weight = exact_weights(rows.weight, whole_weight(summary, factor))
    return FoldedBlock(replace(rows, weight=weight), folds)


def whole_weight(summary: Summary, factor: NDArray[np.float64]) -> float:
    """Weight of all rows of a table."""
    return float((row_factor(summary, factor) * summary.counts.totals).sum())


def weigh_block(
    labels: Labels, factor: NDArray[np.float64], whole: float, block: Block
) -> NDArray[np.float64]:
    """Weights of the rows of a block as `fold_block` has them."""
    assert block.target is not None
    weight = 1.0 if block.weight is None else block.weight
    return exact_weights(weight * factor[groups_of(labels, block.target)], whole)


def exact_weights(weight: NDArray[np.float64], whole: float) -> NDArray[np.float64]:
    """Weights of some rows, where all weigh ``whole``, in units so that sums are exact: the same in
    any order. Whole numbers stay as they are.
    """
    unit = 2.0 ** (round(math.log2(whole)) - 51)
    rounded: NDArray[np.float64] = np.maximum(np.rint(weight / unit), 1.0) * unit
    return rounded
