"""Random forest: randomised trees of class shares on coded rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Forest
from unnaive.answer.forest import ROWS, mean_leaves
from unnaive.answer.nodes import Node
from unnaive.bayes.calibration import HeldOut
from unnaive.common.checks import check_count_or_share, check_number, expect
from unnaive.common.threads import in_threads
from unnaive.counts import Wanted
from unnaive.discretize import CoarseCoder
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.encode.coders import coder_sizes, row_slots
from unnaive.encode.hashing import branch_seeds, draw_poisson, lane
from unnaive.estimator import Progress
from unnaive.models._forest_kernels import ForestRows, GrownTree, TreeParams, grow_tree
from unnaive.models.base import FirstPass, TableClassifier, check_calibration
from unnaive.models.coded import CodedTable, number_columns, read_coded_table
from unnaive.models.held_out import (
    OUT_OF_BAG,
    CalibrationRows,
    OutOfBagMixin,
    out_of_bag,
    warn_never_out_of_bag,
)
from unnaive.table import Schema
from unnaive.table.records import stretches

PAIR_BINS = 2  # bins of pairs of columns, which a forest does not have
TREES = 16  # grown between two reports of progress
FEW_DRAWS = 50.0  # bags of more draws on average are never empty


class RandomForestClassifier(OutOfBagMixin, TableClassifier):
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
    alpha : float, default=1.0
        Pseudo-count of every leaf, spread over the classes as these are in all rows.
    calibration : {"slope", "none"}, default="slope"
        Whether the logarithms of the mean of the leaves are multiplied by a slope, with an
        intercept for each class, fitted to out-of-bag rows (without ``bootstrap``, to inner folds).
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
    forest_ : Forest
        All trees as flat arrays.
    oob_score_ : float
        Share of rows, by weight, that the trees that have not drawn them get right.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Mean of the leaves of the trees that have not drawn a row, before calibration; NaN where all
        have. Rows of weight zero are left out.
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
    How often a tree draws a row is a Poisson draw by the seed and the number of the row: neither
    blocks nor threads change anything. Categories are sorted by their share of one class within the
    node; of more than two classes, one that the node has is drawn.

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
        alpha: float = 1.0,
        calibration: str = "slope",
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
        self.calibration = calibration
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self.calibration == "none" else 3

    @property
    def forest_(self) -> Forest:
        """All trees."""
        forest = self.answer_.core
        assert isinstance(forest, Forest)
        return forest

    def _fit_node(self, first: FirstPass) -> Node:
        summary = first.summary
        bins = (self.max_bins, PAIR_BINS, self.max_categories)
        coders = number_columns(summary, first.class_factor, *bins).coders
        table = read_coded_table(first.source, coders, summary, first.class_factor)
        mean = float(self.max_samples) if self.bootstrap else None
        self._draws = BootstrapDraws(first.seed, self.n_estimators, mean, table.row_ids)
        forest = self._grow(table, coders, len(summary.labels))
        if self.oob_score:
            proba = self._out_of_bag_proba(forest, table.codes.T, table.row_ids)
            warn_never_out_of_bag(proba, "drawn by every tree", 6)
            self._set_oob(proba, table.y, table.weight)
        return forest

    def _grow(self, table: CodedTable, coders: Sequence[CoarseCoder], n_classes: int) -> Forest:
        """Grow a tree for each bag; threads grow them independently."""
        rows = ForestRows(
            table.codes,
            np.array(coder_sizes(coders), dtype=np.int64),
            np.array([isinstance(coder, Bins) for coder in coders], dtype=bool),
            table.y,
            n_classes,
        )
        depth = -1 if self.max_depth is None else int(self.max_depth)
        params = TreeParams(self._n_tried(len(coders)), float(self.min_samples_leaf), depth)

        def grow(tree: int) -> GrownTree:
            weight = self._draws.weights(tree) * table.weight
            return grow_tree(rows, weight, params, self._draws.seeds[tree])

        growing = Progress(
            "growing trees", self.n_estimators, "trees", step="tree", steps=self.n_estimators,
            n_rows=len(table), hook=self._hook,
        )  # fmt: skip
        trees: list[GrownTree] = []
        for first in range(0, self.n_estimators, TREES):
            more = range(first, min(first + TREES, self.n_estimators))
            trees += in_threads(grow, more, self.n_jobs)
            growing.add(len(more))
            if growing.stopped:
                break
        growing.finish()
        class_weight = np.bincount(table.y, table.weight, n_classes)
        return _join_trees(trees, coders, float(self.alpha), class_weight / class_weight.sum())

    def _held_out(
        self, node: Node, first: FirstPass, rows: CalibrationRows, by_column: bool
    ) -> HeldOut:
        if not self.bootstrap:
            return super()._held_out(node, first, rows, by_column)
        assert isinstance(node, Forest)
        slots = row_slots(rows.block, node.coders)
        proba = self._out_of_bag_proba(node, slots, rows.block.row_ids)
        return out_of_bag(proba, rows.y, rows.sample_weight)

    def _out_of_bag_proba(
        self, forest: Forest, slots: NDArray[Any], row_ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the mean of the leaves of the trees without a row; NaN where all have drawn it."""
        arrays = forest.trees()

        def score(part: slice) -> NDArray[np.float64]:
            out = self._draws.oob_mask(row_ids[part])[: forest.n_trees]
            return mean_leaves(slots[part], arrays, forest.prior, out)

        return np.concatenate(
            list(in_threads(score, list(stretches(len(row_ids), ROWS)), self.n_jobs))
        )

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
        check_number(self, "alpha", 0)
        check_calibration(self)
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
        expect(isinstance(self.answer_.core, Forest), "the answer is no forest.")
        self._check_oob()


class BootstrapDraws:
    """How often each tree draws each row: Poisson draws, or once where nothing is drawn.

    Parameters
    ----------
    seed, n_trees : int
    mean : float or None
        Expected draws of a row; None if every bag has all rows once.
    row_ids : array of shape (rows,)
        Numbers of the training rows.
    """

    def __init__(
        self, seed: int, n_trees: int, mean: float | None, row_ids: NDArray[np.int64]
    ) -> None:
        self.seeds, self.mean, self.row_ids = branch_seeds(seed, n_trees), mean, row_ids

    def weights(self, tree: int) -> NDArray[np.float64]:
        """Return the draws of one tree; all rows if it draws none, as in a tiny table."""
        if self.mean is None:
            return np.ones(len(self.row_ids))
        seed = self.seeds[tree : tree + 1]
        drawn = lane(draw_poisson(seed, self.row_ids, self.mean), 0)
        return drawn.astype(np.float64) if drawn.any() else np.ones(len(drawn))

    def oob_mask(self, row_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which trees have not drawn which rows, trees x rows."""
        assert self.mean is not None
        words = draw_poisson(self.seeds, row_ids, self.mean)
        out = np.stack([lane(words, t) == 0 for t in range(len(self.seeds))])
        if self.mean * len(self.row_ids) < FEW_DRAWS:
            empty = [self.weights(t).all() for t in range(len(self.seeds))]
            out[np.array(empty)] = False
        return out


def _join_trees(
    trees: Sequence[GrownTree],
    coders: Sequence[CoarseCoder],
    alpha: float,
    prior: NDArray[np.float64],
) -> Forest:
    """Return the trees end to end; routes of categories begin later."""
    numeric = np.array([*(isinstance(coder, Bins) for coder in coders), True])
    words = np.cumsum([0, *(len(tree.route) for tree in trees)])
    tests = [
        np.where(numeric[tree.attribute], tree.test, tree.test + before).astype(np.int32)
        for tree, before in zip(trees, words[:-1], strict=True)
    ]

    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    return Forest(
        coders=tuple(coders),
        start=np.cumsum([0, *(len(tree.attribute) for tree in trees)], dtype=np.int64),
        attribute=join("attribute"),
        test=np.concatenate(tests),
        missing_first=join("missing_first"),
        route=join("route"),
        n_entries=join("n_entries"),
        entry_class=join("entry_class"),
        entry_weight=join("entry_weight"),
        alpha=alpha,
        prior=prior,
    )
