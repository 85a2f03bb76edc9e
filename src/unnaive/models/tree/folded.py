"""Trees of naive Bayes classifiers whose splits are judged by cross-validation."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, BayesTree
from unnaive.answer.calibrated import calibrated, pool_priors, tree_without_one
from unnaive.answer.nodes import Node
from unnaive.bayes import Smoothing
from unnaive.common.checks import check_number, check_word
from unnaive.counts import Summary
from unnaive.counts.summary import row_factor
from unnaive.encode import Categories, Grid
from unnaive.encode.draws import assign_folds
from unnaive.estimator import Progress, reports_progress
from unnaive.models._calibration import check_calibration, judge_left_out
from unnaive.models._checkpoint import Checkpoint
from unnaive.models.tree.classifier import Encoded, TreeClassifier, encoded
from unnaive.models.tree.grow import Rows, Rules
from unnaive.table import Block, Source, scan_of
from unnaive.table.storage import join


@dataclass(frozen=True, slots=True, eq=False)
class _Folded:
    """Encoded rows and their folds, or their numbers where folds cannot be drawn row by row."""

    PER_ROW: ClassVar = {"folds": 0}

    rows: Encoded
    folds: NDArray[Any]


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
    _keeps_checkpoint = True

    @abstractmethod
    def _grow(
        self,
        rows: Rows,
        coders: list[Grid | Categories | None],
        rules: Rules,
        summary: Summary,
        own: NDArray[np.float64],
        progress: Progress,
        kept: Checkpoint,
    ) -> BayesTree:
        """The tree of encoded rows; ``own`` is the user's factor of each class."""

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        scan = scan_of(X, y, sample_weight)
        if scan is not None:
            X, y, sample_weight = scan, None, None
        with Checkpoint(self, scan) as kept:
            return self._learn(X, y, sample_weight, kept)

    def _learn(self, X: Any, y: Any, sample_weight: Any, kept: Checkpoint) -> Self:
        source, summary, own = self._read_for_tree(X, y, sample_weight, kept)
        coders = self._fine_coders(summary, own)
        rows = self._rows(source, coders, summary, own, kept.seed(self.random_state))
        rules = Rules(
            float(self.alpha),  # kernels are compiled for floats
            self.missing,
            float(self.min_error_reduction),
            self.significance,
            float(self.min_node_size),
            self.min_weight_fraction_leaf * float(rows.weight.sum()),
            self.max_depth,
        )
        progress = Progress(
            "growing", float(rows.weight.sum()), step="hundredth of rows in leaves", hook=self._hook
        )
        grown = self._grow(rows, coders, rules, summary, own, progress, kept)
        progress.finish()
        tree: Node = grown
        if self.calibration != "none":
            tree = self._calibrate(grown, source, summary, own)
        self._learn_answer(Answer(summary.schema, summary.labels.classes, tree))
        return self

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self.calibration == "none" else 3

    def _calibrate(
        self, tree: BayesTree, source: Source, summary: Summary, own: NDArray[np.float64]
    ) -> Node:
        """The tree with scaled evidence, learned from rows left out of their node's tables."""
        without = tree_without_one(tree, Smoothing(self.alpha, self.missing))
        given = (source, summary.labels, row_factor(summary, own), summary.n_rows, self.n_jobs)
        pooled = pool_priors(tree)
        by_column = self.calibration == "columns"
        judged = judge_left_out(pooled, without, *given, by_column=by_column)
        return calibrated(pooled, judged.fit(self.n_jobs))

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
        coders: list[Grid | Categories | None],
        summary: Summary,
        own: NDArray[np.float64],
        seed: int,
    ) -> Rows:
        """Rows as growing sees them."""
        # Folds are drawn row by row; any other way to deal them needs to know of all rows.
        drawn = isinstance(self.cv, numbers.Integral)

        def read(block: Block) -> _Folded:
            folds = block.row_ids
            if drawn:
                found, n = assign_folds(self.cv, seed, folds, None)
                folds = found.astype(np.min_scalar_type(n))
            return _Folded(encoded(block, coders, summary, own), folds)

        found = join(source, read, summary.n_rows)
        rows, folds, n_folds = found.rows, found.folds, self.cv
        if not drawn:
            target = summary.labels.classes[rows.groups]
            folds, n_folds = assign_folds(self.cv, seed, found.folds, target)
        numeric = tuple(isinstance(coder, Grid) for coder in coders)
        return Rows(
            rows.codes, numeric, rows.groups, rows.weight, folds, len(summary.labels),
            int(n_folds), source.storage,
        )  # fmt: skip
