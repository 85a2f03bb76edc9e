"""C4.5: a decision tree by gain ratio (Quinlan, 1993; release 8, 1996)."""

from __future__ import annotations

import math
from typing import Any, Self

from unnaive.answer import Answer, ClassTree
from unnaive.common.checks import check_number, check_word
from unnaive.counts.coded import check_same_rows
from unnaive.counts.summary import row_factor
from unnaive.encode import GRID_LIMIT, Categories, Grid, Labels
from unnaive.estimator import reports_progress
from unnaive.models._calibration import check_calibration
from unnaive.models.nbtree import TreeClassifier
from unnaive.models.tree.c45 import C45Rules, report_growing
from unnaive.models.tree.c45_left_out import (
    CodedTrees,
    calibrate_shares,
    code_here,
    slope_without_one,
    smooth_to_parents,
)
from unnaive.table import Source


class C45Classifier(TreeClassifier):
    """A decision tree of classes: the yardstick of the papers.

    A node asks the attribute of greatest gain ratio among those whose gain is at least average:
    one child per category, or a threshold on a number, whose gain pays for the choice of the
    threshold. A row whose value is missing goes to all children, with a share of its weight. The
    grown tree is pruned where a leaf, or the largest branch, would err no more by a pessimistic
    estimate.

    Parameters
    ----------
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        How tests are ranked: the gain per bit of the split itself, or the gain alone.
    threshold_penalty : bool, default=True
        Whether the gain of a threshold pays for naming it among those tried, as since release 8
        (1996); earlier releases, which the papers of their time ran, did not ask for it.
    thresholds : {"gain", "gain_ratio"}, default="gain"
        By what the threshold of a number is chosen: by gain, as since release 8, or by gain ratio
        among thresholds of at least average gain, as before.
    min_rows : float, default=2
        Weight that at least two children of a test must have. Both sides of a threshold must also
        have a tenth of the node's rows per class, but no more than 25.
    max_depth : int or None, default=None
        Deepest level of the tree.
    prune : bool, default=True
        Whether to prune. Subtrees that make as many errors on the training rows as a leaf are
        always replaced by the leaf, but for tests that calibration keeps.
    raising : bool, default=True
        Whether pruning may put the largest branch in place of a subtree.
    confidence : float, default=0.25
        Confidence level of the pessimistic errors: smaller prunes more.
    alpha : float, default=1.0
        Pseudo-count of every class in the leaves' probabilities; 0 takes C4.5's raw shares. With
        calibration it is for the root alone: the shares of other nodes are pulled to those of their
        parents, by the weight of one row.
    calibration : {"slope", "none"}, default="slope"
        Whether the logarithms of the leaves' shares are multiplied by one factor. Rows say which
        twice, each judged without itself by the nodes on its path, which is too sure, and by a tree
        of the half of the rows that it is not in, drawn by their numbers, which is not sure enough
        (of more than 4,096 rows, only those of one half); the factor is the geometric mean. Every
        class has an intercept: shares add up to those of the training rows, and a leaf predicts the
        class that most of its rows have. Tests that were pruned though they change no prediction
        are kept where they tell so much of the classes' shares that they pay for their own
        description: a rare class has leaves where it is less rare. ``"none"`` is Quinlan's tree.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    n_jobs : int or None, default=None
        Threads for reading and answering.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    tree_ : ClassTree
        Flat arrays: tests, their gain ratios, class weights and answers.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    export_text : The tree as text.
    NBTreeClassifier : A tree whose leaves are naive Bayes classifiers.

    Notes
    -----
    A value without a child at a node, because no training row had it there, is answered by the
    node; a value never seen at all goes to all children, like a missing one. C4.5 counts an empty
    leaf for each such value; this tree has none. Shares of rows are multiples of 2**-20, so that
    the order of rows does not matter.

    References
    ----------
    J. R. Quinlan. C4.5: Programs for Machine Learning. Morgan Kaufmann 1993.

    J. R. Quinlan. Improved Use of Continuous Attributes in C4.5. JAIR 4, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import C45Classifier, export_text
    >>> data = load_iris(as_frame=True)
    >>> tree = C45Classifier().fit(data.data, data.target_names[data.target])
    >>> print(export_text(tree))
    petal width (cm) <= 0.6: setosa (50 rows)
    petal width (cm) > 0.6
    |   petal width (cm) <= 1.7
    |   |   petal length (cm) <= 4.9: versicolor (48 rows, 1 wrong)
    |   |   petal length (cm) > 4.9
    |   |   |   petal width (cm) <= 1.5: virginica (3 rows)
    |   |   |   petal width (cm) > 1.5: versicolor (3 rows, 1 wrong)
    |   petal width (cm) > 1.7: virginica (46 rows, 1 wrong)
    """

    _adds_up = False

    def __init__(
        self,
        *,
        criterion: str = "gain_ratio",
        threshold_penalty: bool = True,
        thresholds: str = "gain",
        min_rows: float = 2,
        max_depth: int | None = None,
        prune: bool = True,
        raising: bool = True,
        confidence: float = 0.25,
        alpha: float = 1.0,
        calibration: str = "slope",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.threshold_penalty = threshold_penalty
        self.thresholds = thresholds
        self.min_rows = min_rows
        self.max_depth = max_depth
        self.prune = prune
        self.raising = raising
        self.confidence = confidence
        self.alpha = alpha
        self.calibration = calibration
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.n_jobs = n_jobs

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow and prune the tree.

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
        rules = self._rules()
        source, summary, factor = self._read_for_tree(X, y, sample_weight)
        coders = self._fine_coders(summary, factor)
        class_weights = row_factor(summary, factor)
        given = (source, coders, summary.labels, class_weights, summary.n_rows)
        numbered, grower = code_here(*given), self._grower(coders, summary.labels, source)
        if source.may_change:
            rows = numbered.rows
            check_same_rows(summary, coders, class_weights, rows.codes, rows.groups, rows.weight)
        with report_growing(summary.n_rows, self._hook):
            tree = grower.grow(numbered.rows)
            low = grower.slope_by_halves(numbered) if rules.for_shares else None
        if low is not None:
            tree = self._calibrate(tree, low)
        self._set_answer(Answer(summary.schema, summary.labels.classes, tree))
        return self

    def _grower(
        self, coders: list[Grid | Categories | None], labels: Labels, source: Source
    ) -> CodedTrees:
        return CodedTrees(coders, len(labels), self._rules(), source.storage, self.n_jobs)

    def _calibrate(self, tree: ClassTree, low: float) -> ClassTree:
        """The tree as sure as it should be; ``low`` is how sure trees of half of the rows are."""
        tree = smooth_to_parents(tree, float(self.alpha))
        high = max(low, slope_without_one(tree, float(self.alpha), self.n_jobs))
        return calibrate_shares(tree, math.sqrt(low * high), self.n_jobs)

    def _check_parameters(self) -> None:
        check_calibration(self)
        check_word(self, "criterion", "gain_ratio", "gain")
        check_word(self, "thresholds", "gain", "gain_ratio")
        check_number(self, "min_rows", 0)
        check_number(self, "alpha", 0)
        check_number(self, "confidence", 1e-6, 0.5)
        if self.max_depth is not None:
            check_number(self, "max_depth", 0, whole=True)

    def _rules(self) -> C45Rules:
        return C45Rules(
            ratio=self.criterion == "gain_ratio",
            penalty=bool(self.threshold_penalty),
            by_ratio=self.thresholds == "gain_ratio",
            min_rows=float(self.min_rows),
            max_depth=self.max_depth,
            prune=bool(self.prune),
            raising=bool(self.raising),
            confidence=float(self.confidence),
            alpha=float(self.alpha),
            for_shares=self.calibration == "slope",
        )
