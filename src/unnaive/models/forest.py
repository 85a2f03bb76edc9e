"""Random forest: randomised trees of class shares on coded rows."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, ClassForest
from unnaive.answer.forest import FARTHEST, STEEPEST
from unnaive.bayes.estimate import check_class_weight, class_factor
from unnaive.common.checks import check_count_or_share, check_number, expect
from unnaive.counts import Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import branch_seeds
from unnaive.estimator import Progress, reports_progress
from unnaive.models._out_of_bag import (
    OUT_OF_BAG,
    OutOfBag,
    match_by_all,
    out_of_bag_accuracy,
    rows_of_all,
    warn_of_unjudged,
)
from unnaive.models._seeding import draw_seed
from unnaive.models.base import TableClassifier
from unnaive.models.boost.coding import number_columns
from unnaive.models.tree.forest import (
    Bags,
    CodedTable,
    answer_drawn,
    calibrate,
    code_table,
    grow_forest,
)
from unnaive.models.tree.forest_kernels import Limits
from unnaive.table import Schema

ALPHAS = (0.01, 0.1, 1.0)  # tried on rows out of bag
MOST_ALPHA = 10_000.0
USUAL_ALPHA = 0.1  # where nothing is out of bag
SHAPE_BINS = 2  # intervals of pairs of columns, which a forest does not have


class RandomForestClassifier(OutOfBag, TableClassifier):
    """Many randomised trees, each grown on its own draw of the rows, whose mean is the answer.

    Numbers are cut into fine intervals once, so that a tree only counts small integers. At every
    node a few columns are drawn, and the test that leaves the least Gini impurity is taken: a
    threshold on a number, or two sets of categories. Missing values take the side where they lower
    impurity most; a value that no row of a node had goes where most of its rows went.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Columns tried at each node: their square root or logarithm, a number, a share, or all.
    max_depth : int or None, default=None
        Deepest level of the trees.
    min_samples_leaf : float, default=1
        Least weight of the drawn rows of a leaf.
    bootstrap : bool, default=True
        Whether each tree draws rows; without it every tree has all of them.
    max_samples : float, default=1.0
        Expected rows that a tree draws, as a share of all; at most 1.
    oob_score : bool, default=False
        Whether to judge each row by the trees that have not drawn it.
    alpha : float or "oob", default="oob"
        Rows added to every leaf, spread over the classes as these are in all rows, so that no class
        is impossible; "oob" takes the one of least log loss on rows that trees have not drawn.
    power : float or "oob", default="oob"
        Power that the mean of the leaves is raised to: more than 1 makes the forest surer. "oob" is
        as for ``alpha``, and gives every class an intercept, so that classes are as probable over
        the training rows as they are frequent.
    max_bins : int, default=256
        Most intervals of a number.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    forest_ : ClassForest
        All trees as flat arrays.
    oob_score_ : float
        Share of rows, by weight, that the trees that have not drawn them get right.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Probabilities by the trees that have not drawn a row; NaN where all have. Rows of weight
        zero are left out.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    C45Classifier : One tree, pruned, to be read.

    Notes
    -----
    How often a tree draws a row is a Poisson draw by the seed and the row's place among all rows
    sorted by their values: the order of rows, their partition and the number of threads change
    nothing. Categories are sorted by their share of one class within the node; of more than two
    classes, one that the node has is drawn.

    References
    ----------
    L. Breiman. Random Forests. Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unnaive import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.95
    True
    """

    _n_passes = 2
    _adds_up = False
    _optional_attributes = TableClassifier._optional_attributes | OUT_OF_BAG

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_features: Any = "sqrt",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        bootstrap: bool = True,
        max_samples: float = 1.0,
        oob_score: bool = False,
        alpha: Any = "oob",
        power: Any = "oob",
        max_bins: int = 256,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.alpha = alpha
        self.power = power
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A row drawn twice counts twice its weight.

        Returns
        -------
        self
        """
        self._check_parameters()
        source, summary = self._read(X, y, sample_weight)
        classes = summary.labels.classes
        check_class_weight(self.class_weight, classes)
        factor = class_factor(self.class_weight, classes, summary.counts.totals)
        coders = number_columns(
            summary, factor, self.max_bins, SHAPE_BINS, self.max_categories
        ).coders
        table = code_table(source, coders, summary, factor)
        seeds = branch_seeds(draw_seed(self.random_state), self.n_estimators)
        bags = Bags(seeds, float(self.max_samples) if self.bootstrap else None, summary.n_rows)
        growing = Progress(
            "growing trees", self.n_estimators, "trees", step="tree", steps=self.n_estimators,
            n_rows=summary.n_rows, hook=self._hook,
        )  # fmt: skip
        limits = self._limits(len(coders))
        forest = grow_forest(table, coders, bags, limits, self.n_jobs, growing)
        growing.finish()
        self._drop_out_of_bag()
        forest = self._calibrate(forest, table, bags, summary.counts.totals)
        self._set_answer(Answer(summary.schema, classes, forest))
        return self

    @property
    def forest_(self) -> ClassForest:
        """All trees."""
        forest = self.answer_.root
        assert isinstance(forest, ClassForest)
        return forest

    def _calibrate(
        self, forest: ClassForest, table: CodedTable, bags: Bags, totals: NDArray[np.float64]
    ) -> ClassForest:
        """The forest with its pseudo-rows, power and intercepts; rows judged out of bag are kept
        where that is asked for.
        """
        alphas = ALPHAS if self.alpha == "oob" else (float(self.alpha),)
        power = None if self.power == "oob" else float(self.power)
        if not self.bootstrap:
            alpha = USUAL_ALPHA if self.alpha == "oob" else alphas[0]
            return replace(forest, alpha=alpha, power=power or 1.0)
        if power is not None and len(alphas) == 1 and not self.oob_score:
            return replace(forest, alpha=alphas[0], power=power)
        judged = calibrate(forest, table, bags, alphas, power, self.n_jobs)
        # Where a class is rare, leaves must know its share: more pseudo-rows while they help.
        while self.alpha == "oob" and judged.alpha == alphas[-1] < MOST_ALPHA:
            alphas = (10.0 * alphas[-1],)
            more = calibrate(forest, table, bags, alphas, power, self.n_jobs)
            judged = more if more.loss < judged.loss else judged
        forest = replace(forest, alpha=judged.alpha, power=judged.power)
        if power is None:
            groups, weight = table.rows.groups, table.weight
            drawn = rows_of_all(np.arange(len(groups)), groups, totals)
            by_all = answer_drawn(forest, table, drawn, self.n_jobs)
            found = match_by_all(1.0, by_all, groups, weight, self.n_jobs)
            forest = replace(forest, intercept=np.clip(found.intercept, -FARTHEST, FARTHEST))
        if self.oob_score:
            self._judge(forest.calibrate(judged.shares), table)
        return forest

    def _judge(self, each: NDArray[np.float64], table: CodedTable) -> None:
        """Keep what trees say of rows that they have not drawn."""
        warn_of_unjudged(each, "drawn by every tree", 4)
        self.oob_score_ = out_of_bag_accuracy(each, table.rows.groups, table.weight)
        self.oob_decision_function_ = np.empty_like(each)
        self.oob_decision_function_[table.order] = each

    def _limits(self, n_columns: int) -> Limits:
        depth = -1 if self.max_depth is None else int(self.max_depth)
        return Limits(self._n_tried(n_columns), float(self.min_samples_leaf), depth)

    def _n_tried(self, n_columns: int) -> int:
        """Columns tried at each node."""
        given = self.max_features
        if given is None:
            return n_columns
        if isinstance(given, str):
            root = math.sqrt if given == "sqrt" else math.log2
            return max(1, int(root(max(n_columns, 1))))
        return int(given) if isinstance(given, Integral) else max(1, int(given * n_columns))

    def _n_tasks(self) -> int | None:
        return 1

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _check_parameters(self) -> None:
        check_number(self, "n_estimators", 1, whole=True)
        check_number(self, "min_samples_leaf", 0)
        if self.alpha != "oob":
            check_number(self, "alpha", 0)
        if self.power != "oob":
            check_number(self, "power", 1e-3, STEEPEST)
        check_number(self, "max_samples", 0, 1)
        check_number(self, "max_bins", 2, GRID_LIMIT, whole=True)
        if self.max_depth is not None:
            check_number(self, "max_depth", 0, whole=True)
        given = self.max_features
        if isinstance(given, str) or given is None:
            if given not in ("sqrt", "log2", None):
                raise ValueError(
                    "max_features must be 'sqrt', 'log2', a number of columns, a share of them or "
                    f"None; got {given!r:.60}."
                )
        else:
            check_count_or_share(self, "max_features")
        if self.max_samples == 0:
            raise ValueError("max_samples must be more than 0: trees of no rows learn nothing.")
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs bootstrap=True: without drawing, every tree has every row."
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.root, ClassForest), "the answer is no forest.")
        self._check_out_of_bag()
