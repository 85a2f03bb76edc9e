"""What trees share as estimators: reading rows for growing, and saying where rows stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.answer.trees import Tree
from unnaive.bayes.estimate import check_class_weight, class_factor
from unnaive.common.checks import expect
from unnaive.counts import Summary, Wanted
from unnaive.counts.summary import row_factor
from unnaive.discretize.coarse import group_rare
from unnaive.encode import Categories, Grid, Labels
from unnaive.encode.coding import column_slots
from unnaive.encode.labels import groups_of
from unnaive.models.base import TableClassifier
from unnaive.table import Block, Schema, Source


class TreeClassifier(TableClassifier):
    """A classifier that is a tree, ``tree_``.

    Subclasses have the parameters ``class_weight`` and ``max_categories``.
    """

    _n_passes = 2
    _one_baseline = False  # each leaf has its own
    class_weight: Any

    def _n_tasks(self) -> int | None:
        return 1

    @property
    def tree_(self) -> Tree:
        """The tree."""
        tree = self.answer_.root
        assert isinstance(tree, Tree)
        return tree

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.root, Tree), "the answer is no tree.")

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _read_for_tree(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Source, Summary, NDArray[np.float64]]:
        """The rows, what one pass leaves, and the user's factor of each class."""
        source, summary = self._read(X, y, sample_weight)
        classes = summary.labels.classes
        check_class_weight(self.class_weight, classes)
        return source, summary, class_factor(self.class_weight, classes, summary.counts.totals)

    def _fine_coders(
        self, summary: Summary, factor: NDArray[np.float64]
    ) -> list[Grid | Categories | None]:
        """Fine numbering of the columns, rare categories grouped."""
        return fine_coders(summary, factor, self.max_categories)

    def apply(self, X: Any) -> NDArray[np.intp]:
        """The node where each row stops.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            A leaf, or an inner node where the row's value is missing or has no child.
        """
        nodes: NDArray[np.intp] = self._open(X).map(
            lambda block: self.tree_.apply(block, self.n_jobs), ["node"]
        )
        return nodes

    def decision_path(self, X: Any) -> csr_array:
        """The nodes that each row passes through.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        sparse array of shape (n_samples, n_nodes)
            1 where the row passes.
        """
        return self.tree_.paths(self.apply(X))


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Slots of the columns, class and weight of the rows, weights in units of rows."""

    PER_ROW: ClassVar = {"codes": 0, "groups": 0, "weight": 0}

    codes: list[NDArray[Any]]
    groups: NDArray[Any]
    weight: NDArray[np.float64]


def fine_coders(
    summary: Summary, factor: NDArray[np.float64], max_categories: int | None
) -> list[Grid | Categories | None]:
    """Fine numbering of the columns of a table, rare categories grouped."""
    counts = summary.counts.scale_groups(factor)
    return [
        group_rare(coder, counts.values(j), max_categories)[0]
        if isinstance(coder, Categories)
        else coder
        for j, coder in enumerate(summary.coders)
    ]


def encoded(
    block: Block,
    coders: list[Grid | Categories | None],
    summary: Summary,
    factor: NDArray[np.float64],
) -> Encoded:
    """The rows of a block as trees see them."""
    return encode_block(block, coders, summary.labels, row_factor(summary, factor))


def encode_block(
    block: Block,
    coders: list[Grid | Categories | None],
    labels: Labels,
    class_weight: NDArray[np.float64],
) -> Encoded:
    """The same, where rows of each class weigh so much."""
    assert block.target is not None
    groups = groups_of(labels, block.target)
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    codes = [column_slots(block, j, coder, unseen=False) for j, coder in enumerate(coders)]
    return Encoded(codes, groups, weight * class_weight[groups])
