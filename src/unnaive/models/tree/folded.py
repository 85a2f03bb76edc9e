"""Trees of naive Bayes classifiers whose splits are judged by cross-validation."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import BayesTree
from unnaive.answer.calibrated import pool_priors, tree_without_one
from unnaive.answer.nodes import Node
from unnaive.bayes import Smoothing
from unnaive.common.checks import check_number, check_word
from unnaive.counts import Summary
from unnaive.counts.coded import check_same_rows
from unnaive.counts.summary import row_factor
from unnaive.encode import Categories, Grid
from unnaive.encode.draws import assign_folds
from unnaive.estimator import Progress
from unnaive.models.base import FirstPass, check_calibration
from unnaive.models.tree.branches import TreeOptions, TreeRows
from unnaive.models.tree.build import Leaves
from unnaive.models.tree.classifier import TreeClassifier
from unnaive.models.tree.folded_rows import (
    FoldedBlock,
    fold_block,
    whole_weight,
)
from unnaive.models.tree.grow import NewGrower
from unnaive.table import Block, Source
from unnaive.table.storage import join


class FoldedTreeClassifier(TreeClassifier):
    """A tree of naive Bayes classifiers, whose splits are judged by cross-validation.

    Subclasses have the parameters of `NBTreeClassifier` but ``discretize``, and say how the tree is
    grown.
    """

    cv: Any
    alpha: float
    missing: str
    min_error_reduction: float
    significance: float | None
    min_node_size: float
    min_weight_fraction_leaf: float
    max_depth: int | None
    calibration: str
    random_state: Any

    @abstractmethod
    def _plan(
        self,
        coders: list[Grid | Categories | None],
        rules: TreeOptions,
        summary: Summary,
        factor: NDArray[np.float64],
    ) -> tuple[NewGrower, Leaves]:
        """How trees of coded rows grow, on any machine, and how they answer.

        ``factor`` is the user's factor of each class.
        """

    def _fit_node(self, first: FirstPass) -> Node:
        summary, factor = first.summary, first.class_factor
        coders = self._fine_coders(summary, factor)
        tree = self._grow(first, coders)
        return tree if self.calibration == "none" else pool_priors(tree)

    def _leave_one_out(self, node: Node) -> Node:
        assert isinstance(node, BayesTree)
        return tree_without_one(node, Smoothing(self.alpha, self.missing))

    def _grow(self, first: FirstPass, coders: list[Grid | Categories | None]) -> BayesTree:
        """Return the tree of the coded rows."""
        source, summary, factor, seed, _ = first
        # Folds are drawn row by row; any other way to deal them needs to know of all rows.
        n_folds = self.cv if isinstance(self.cv, numbers.Integral) else None
        weight = whole_weight(summary, factor)
        code = partial(fold_block, coders, summary, factor, n_folds, seed)
        new_grower, leaves = self._plan(coders, self._rules(weight), summary, factor)
        rows = self._rows(source, code, coders, summary, seed)
        if source.may_change:
            weights = row_factor(summary, factor)
            check_same_rows(summary, coders, weights, rows.codes, rows.groups, rows.weight)
        progress = self._growing(weight)
        nodes = new_grower(rows, self.n_jobs, progress).grow()
        tree = leaves.build_here(nodes, rows, self.n_jobs)
        progress.finish()
        return tree

    def _growing(self, weight: float) -> Progress:
        step = "hundredth of rows in leaves"
        return Progress("growing", weight, step=step, hook=self._hook)

    def _rules(self, weight: float) -> TreeOptions:
        return TreeOptions(
            float(self.alpha),  # kernels are compiled for floats
            self.missing,
            float(self.min_error_reduction),
            self.significance,
            float(self.min_node_size),
            self.min_weight_fraction_leaf * weight,
            self.max_depth,
        )

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self.calibration == "none" else 3

    def _check_parameters(self) -> None:
        for name in ("alpha", "min_error_reduction", "min_node_size"):
            check_number(self, name, 0)
        check_number(self, "min_weight_fraction_leaf", 0, 0.5)
        if self.significance is not None:
            check_number(self, "significance", 0, 1)
        if self.max_depth is not None:
            check_number(self, "max_depth", 0, whole=True)
        check_word(self, "missing", "skip", "value")
        check_calibration(self, "columns")

    def _rows(
        self,
        source: Source,
        code: Callable[[Block], FoldedBlock],
        coders: list[Grid | Categories | None],
        summary: Summary,
        seed: int,
    ) -> TreeRows:
        """All rows as growing sees them."""
        every, n_folds = join(source, code, summary.n_rows), self.cv
        if not isinstance(self.cv, numbers.Integral):
            target = summary.labels.classes[every.rows.groups]
            folds, n_folds = assign_folds(self.cv, seed, every.folds, target)
            every = replace(every, folds=folds.astype(np.min_scalar_type(n_folds)))
        return every.for_tree(coders, len(summary.labels), n_folds, source.storage)
