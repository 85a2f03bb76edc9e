"""Flexible NBTree: a tree of kernel naive Bayes classifiers (Wang and Yuan, 2004)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from unnaive.common.checks import check_word
from unnaive.counts import Summary
from unnaive.density.widths import check_bandwidth
from unnaive.encode import GRID_LIMIT, Categories, Grid
from unnaive.estimator.registry import register
from unnaive.models.tree.branches import TreeOptions, TreeRows
from unnaive.models.tree.build import Leaves
from unnaive.models.tree.flexible import FlexibleGrower
from unnaive.models.tree.folded import FoldedTreeClassifier
from unnaive.models.tree.grow import NewGrower
from unnaive.models.tree.kernel_build import KernelLeaves


@register("flexible", "A tree with a kernel naive Bayes at every leaf.", cost=90)
class FlexibleNBTreeClassifier(FoldedTreeClassifier):
    """A decision tree whose leaves are kernel naive Bayes classifiers.

    A node asks the attribute that alone names the right class most often (the Bayes measure,
    `bayes_measure`). Numbers are cut only then, where the most probable class changes, into as
    many intervals as pass the MDL test; where none passes, the next attribute is asked. The split
    is kept if it cuts the cross-validated error of kernel naive Bayes enough. Rows whose value is
    missing or has no child stop at the node and are answered by the node's own naive Bayes.

    Parameters
    ----------
    cv : int, splitter or iterable, default=5
        How utilities are cross-validated, as in `NBTreeClassifier`.
    select : {"delta", "utility"}, default="delta"
        How attributes are compared: by the Bayes measure, as the paper does, or each by the
        cross-validated accuracy of its split, as in NBTree; a number of which no cut passes the
        MDL test then takes NBTree's threshold.
    bandwidth : {"conditional", "cv", "silverman"} or float, default="conditional"
        How wide kernels are, as in `NaiveBayesClassifier`; chosen once for each node, for all
        folds, from its rows and in units of their range. ``"cv"`` is the paper's.
    stop : {"or", "and"}, default="or"
        When a node is not split: where the split cuts the error too little *or* rows are too few,
        as in `NBTreeClassifier`; or only where both hold, as the paper's words can be read: nodes
        of more than ``min_node_size`` rows are then always split, smaller ones where that cuts
        the error enough.
    min_error_reduction : float, default=0.05
        A split must cut the node's error by more than this share.
    significance : float or None, default=0.05
        Subtrees that are not better than their root beyond chance are cut back to a leaf, as in
        `NBTreeClassifier`. None is the paper's.
    min_node_size : float, default=30
        Nodes with less weight than this many rows are not split.
    min_weight_fraction_leaf : float, default=0.0
        Splits that would leave a child with a smaller share of all weight are not considered.
    max_depth : int or None, default=None
        Deepest level of the tree; 0 is plain kernel naive Bayes.
    alpha : float, default=0.5
        Pseudo-count of every category, in the search and in the leaves.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value is no evidence, or a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    calibration : {"columns", "slope", "none"}, default="columns"
        Whether the evidence of each column is multiplied by a factor of its own, or all evidence by
        one, the same in all leaves, and every class has an intercept, such that the classes of rows
        are most probable, each judged by its leaf as if it had not been counted there; a class that
        has not occurred in a leaf is then improbable, not impossible. ``"none"`` is the paper's.
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
    tree_ : KernelTree
        Flat arrays: tests, rows, utilities, width factors, and every node's naive Bayes.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    NBTreeClassifier : Numbers are cut before attributes are compared.
    bayes_measure : The measure that chooses attributes.
    export_text : The tree as text.

    References
    ----------
    L. Wang and S. Yuan. Induction of hybrid decision tree based on post-discretization strategy.
    Progress in Natural Science 14(6), 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import FlexibleNBTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = FlexibleNBTreeClassifier(random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        cv: Any = 5,
        select: str = "delta",
        bandwidth: str | float = "conditional",
        stop: str = "or",
        min_error_reduction: float = 0.05,
        significance: float | None = 0.05,
        min_node_size: float = 30,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = None,
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
        self.select = select
        self.bandwidth = bandwidth
        self.stop = stop
        self.min_error_reduction = min_error_reduction
        self.significance = significance
        self.min_node_size = min_node_size
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
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
        check_word(self, "select", "delta", "utility")
        check_word(self, "stop", "or", "and")
        check_bandwidth(self.bandwidth)

    def _plan(
        self,
        coders: list[Grid | Categories | None],
        rules: TreeOptions,
        summary: Summary,  # noqa: ARG002
        factor: Any,  # noqa: ARG002
    ) -> tuple[NewGrower, Leaves]:
        rules = replace(rules, stop=self.stop)
        new_grower = partial(_new_grower, coders, rules, self.bandwidth, self.select)
        return new_grower, KernelLeaves(coders, rules, self.bandwidth)


def _new_grower(
    coders: list[Grid | Categories | None],
    rules: TreeOptions,
    bandwidth: Any,
    select: str,
    rows: TreeRows,
    *more: Any,
) -> FlexibleGrower:
    return FlexibleGrower(rows, coders, rules, bandwidth, select, *more)
