"""Trees of naive Bayes classifiers whose splits are judged by cross-validation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from unnaive.counts import Summary
from unnaive.encode import Categories, Grid, assign_folds
from unnaive.models._base import EvidenceClassifier
from unnaive.models._progress import Progress
from unnaive.models.tree.classifier import TreeClassifier, encoded
from unnaive.models.tree.grow import Rows, Rules
from unnaive.models.tree.tree import BayesTree
from unnaive.table import Block, check_number, check_word


class FoldedTreeClassifier(CallbackSupportMixin, EvidenceClassifier, TreeClassifier):  # type: ignore[misc]
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
    random_state: Any
    tree_: BayesTree

    @abstractmethod
    def _grow(
        self,
        rows: Rows,
        coders: list[Grid | Categories | None],
        rules: Rules,
        summary: Summary,
        own: NDArray[np.float64],
        progress: Progress,
    ) -> BayesTree:
        """The tree of encoded rows; ``own`` is the user's factor of each class."""

    # Learning -------------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        source, summary, own = self._read_for_tree(X, y, sample_weight)
        coders = self._fine_coders(summary, own)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = source.map(lambda block: self._rows(block, coders, summary, own, seed))
        rules = Rules(
            float(self.alpha),  # kernels are compiled for floats
            self.missing,
            float(self.min_error_reduction),
            self.significance,
            float(self.min_node_size),
            self.min_weight_fraction_leaf * float(rows.weight.sum()),
            self.max_depth,
        )
        progress = Progress(self, "hundredth of rows in leaves", float(rows.weight.sum()))
        self.tree_ = self._grow(rows, coders, rules, summary, own, progress)
        self.classes_ = summary.labels.classes
        self._remember(summary.schema)
        progress.end()
        return self

    def _check_parameters(self) -> None:
        for name in ("alpha", "min_error_reduction", "min_node_size"):
            check_number(self, name, 0)
        check_number(self, "min_weight_fraction_leaf", 0, 0.5)
        if self.significance is not None:
            check_number(self, "significance", 0, 1)
        if self.max_depth is not None:
            check_number(self, "max_depth", 0, whole=True)
        check_word(self, "missing", "skip", "value")

    def _rows(
        self,
        block: Block,
        coders: list[Grid | Categories | None],
        summary: Summary,
        own: NDArray[np.float64],
        seed: int,
    ) -> Rows:
        """Rows as growing sees them."""
        codes, groups, weight = encoded(block, coders, summary, own)
        numeric = tuple(isinstance(coder, Grid) for coder in coders)
        folds, n_folds = assign_folds(self.cv, seed, block.row_ids, block.target)
        return Rows(codes, numeric, groups, weight, folds, len(summary.labels), n_folds)

    # Answering ------------------------------------------------------------------------------

    def _joint(self, block: Block) -> NDArray[np.float64]:
        return self.tree_.joint(block, self.n_jobs)

    def _evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.tree_.evidence(block)
