"""NBTree: a decision tree whose leaves are naive Bayes classifiers (Kohavi, 1996)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_count_or_share, check_word
from unnaive.counts import Summary
from unnaive.discretize import coarsen
from unnaive.discretize.rules import Mdl
from unnaive.encode import GRID_LIMIT, Bins, Categories, Grid
from unnaive.encode.coding import coder_sizes
from unnaive.estimator.registry import register
from unnaive.models.tree import node_kernels
from unnaive.models.tree.branches import Slots, TreeOptions, TreeRows
from unnaive.models.tree.build import Leaves
from unnaive.models.tree.folded import FoldedTreeClassifier
from unnaive.models.tree.grow import Grower, NewGrower


@register("nbtree", "A tree with a naive Bayes at every leaf.", cost=80)
class NBTreeClassifier(FoldedTreeClassifier):
    """A decision tree that splits a table where naive Bayes is then more often right.

    A node is split on the attribute whose children, each with a naive Bayes of its own, are the
    most accurate under cross-validation, if that cuts the error enough; otherwise it is a leaf with
    naive Bayes on its rows. Rows whose value is missing or has no child stop at the node and are
    answered by the node's own naive Bayes. Coded rows of a Dask or Spark DataFrame come to the
    driver.

    Parameters
    ----------
    cv : int, splitter or iterable, default=5
        How utilities are cross-validated. A number draws that many folds, once for the whole tree,
        from ``random_state``; or a scikit-learn splitter, or ready (train, test) positions.
    discretize : {"node", "global"}, default="node"
        Cut numeric columns by MDL anew at every node, as the paper does, or once for all: faster,
        and another model.
    min_error_reduction : float, default=0.05
        A split must cut the node's error by more than this share.
    significance : float or None, default=0.05
        Subtrees that are not better than their root beyond chance are cut back to a leaf: of the
        held-out rows that only the node or only the leaves below it get right, more must go to the
        leaves, at this level of a one-sided test. None leaves the tree as it grew, as the paper
        does: the best of many splits is often luck.
    min_node_size : float, default=30
        Nodes with less weight than this many rows are not split.
    min_weight_fraction_leaf : float, default=0.0
        Splits that would leave a child with a smaller share of all weight are not considered.
    max_depth : int or None, default=None
        Deepest level of the tree; 0 is plain naive Bayes.
    max_features : int, float or None, default=None
        How many columns a node judges, as a number or a share of all: those whose question tells
        most about the class. None is 128. Half of them take half the time; members of ensembles
        are as good together.
    alpha : float, default=0.5
        Pseudo-count of every value, in the search and in the leaves. 0 is the paper's: as
        accurate, but with extreme probabilities.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value is no evidence, or a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    calibration : {"columns", "slope", "none"}, default="columns"
        Whether the evidence of each column is multiplied by a factor of its own, or all evidence by
        one, the same in all leaves, and every class has an intercept, such that the classes of rows
        are most probable, each judged by its leaf as if it had not been counted there; a class that
        has not occurred in a leaf is then improbable, not impossible. Large tables are calibrated
        by rows drawn by their places. ``"none"`` is the paper's.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    n_jobs : int or None, default=None
        Threads; the tree never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    tree_ : BayesTree
        Flat arrays: tests, rows, utilities, what else was considered, and every node's naive Bayes.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    export_text : The tree as text.

    References
    ----------
    R. Kohavi. Scaling Up the Accuracy of Naive-Bayes Classifiers: a Decision-Tree Hybrid. KDD 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unnaive import NBTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = NBTreeClassifier(random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        cv: Any = 5,
        discretize: str = "node",
        min_error_reduction: float = 0.05,
        significance: float | None = 0.05,
        min_node_size: float = 30,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = None,
        max_features: float | None = None,
        alpha: float = 0.5,
        missing: str = "skip",
        class_weight: Any = None,
        calibration: str = "columns",
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.cv = cv
        self.discretize = discretize
        self.min_error_reduction = min_error_reduction
        self.significance = significance
        self.min_node_size = min_node_size
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.max_features = max_features
        self.alpha = alpha
        self.missing = missing
        self.class_weight = class_weight
        self.calibration = calibration
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_word(self, "discretize", "node", "global")
        if self.max_features is not None:
            check_count_or_share(self, "max_features")

    def _plan(
        self,
        coders: list[Grid | Categories | None],
        rules: TreeOptions,
        summary: Summary,
        factor: NDArray[np.float64],
    ) -> tuple[NewGrower, Leaves]:
        cuts = self._global_cuts(summary, factor) if self.discretize == "global" else None
        rules = replace(rules, max_features=self.max_features)
        return partial(_new_grower, coders, cuts, rules), Leaves(coders, rules, cuts)

    def _global_cuts(
        self, summary: Summary, factor: NDArray[np.float64]
    ) -> list[NDArray[np.float64] | None]:
        rules = dict.fromkeys(summary.schema.numeric, Mdl())
        coarse = coarsen(summary, rules, factor=factor, n_jobs=self.n_jobs)
        return [coder.cuts if isinstance(coder, Bins) else None for coder in coarse.coders]


def _new_grower(
    coders: list[Grid | Categories | None],
    cuts: list[NDArray[np.float64] | None] | None,
    rules: TreeOptions,
    rows: TreeRows,
    *more: Any,
) -> Grower:
    slots = None if cuts is None else _coarse_slots(rows, coders, cuts)
    return Grower(rows, coder_sizes(coders), rules, slots, *more)


def _coarse_slots(
    rows: TreeRows, coders: list[Any], cuts: list[NDArray[np.float64] | None]
) -> Slots:
    """Slots of all rows under cuts that hold at every node."""
    slots = rows.storage.empty((len(rows.groups), len(coders)), np.uint16)
    sizes = np.zeros(len(coders), dtype=np.intp)
    for j, (coder, column_cuts) in enumerate(zip(coders, cuts, strict=True)):
        bins = None if column_cuts is None else Bins(column_cuts)
        if bins is None:
            slots[:, j] = rows.codes[j]
        else:
            node_kernels.look_up(bins.place(coder.low), rows.codes[j], slots[:, j])
        sizes[j] = 0 if coder is None else coder.size if bins is None else bins.size
    return slots, sizes
