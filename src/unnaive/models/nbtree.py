"""NBTree: a decision tree whose leaves are naive Bayes classifiers (Kohavi, 1996)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from unnaive.bayes import check_class_weight, class_factor
from unnaive.counts import Summary, TableEstimator, Wanted
from unnaive.discretize import coarsen, group_rare, row_factor
from unnaive.encode import (
    GRID_LIMIT,
    Bins,
    Categories,
    Grid,
    coder_sizes,
    column_slots,
    groups_of,
)
from unnaive.models._base import TableClassifier
from unnaive.models._folds import fold_numbers
from unnaive.models.tree.build import build_tree
from unnaive.models.tree.grow import Grower, Rows, Rules, Slots
from unnaive.table import Block, Schema, check_number, check_word


class NBTreeClassifier(TableClassifier, TableEstimator):
    """A decision tree that splits a table where naive Bayes is then more often right.

    A node is split on the attribute whose children, each with a naive Bayes of its own, are the
    most accurate under cross-validation, if that cuts the error enough; otherwise it is a leaf with
    naive Bayes on its rows. Rows whose value is missing or has no child stop at the node and are
    answered by the node's own naive Bayes.

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
    min_node_size : float, default=30
        Nodes with less weight than this many rows are not split.
    min_weight_fraction_leaf : float, default=0.0
        Splits that would leave a child with a smaller share of all weight are not considered.
    max_depth : int or None, default=None
        Deepest level of the tree; 0 is plain naive Bayes.
    alpha : float, default=0.5
        Pseudo-count of every value, in the search and in the leaves. 0 is the paper's: as
        accurate, but with extreme probabilities.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value is no evidence, or a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    n_jobs : int or None, default=None
        Threads; the tree never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    tree_ : Tree
        Flat arrays: tests, rows, utilities, what else was considered, and every node's naive Bayes.
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
        min_node_size: float = 30,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = None,
        alpha: float = 0.5,
        missing: str = "skip",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.cv = cv
        self.discretize = discretize
        self.min_error_reduction = min_error_reduction
        self.min_node_size = min_node_size
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.alpha = alpha
        self.missing = missing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

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
        source, summary = self._read(X, y, sample_weight)
        classes, totals = summary.labels.classes, summary.counts.totals
        check_class_weight(self.class_weight, classes)
        own = class_factor(self.class_weight, classes, totals)
        factor = row_factor(summary, own)
        coders = self._coders(summary, factor)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = source.map(lambda block: self._rows(block, coders, summary, factor, seed))
        rules = Rules(
            self.alpha,
            self.missing,
            self.min_error_reduction,
            self.min_node_size,
            self.min_weight_fraction_leaf * float(rows.weight.sum()),
            self.max_depth,
        )
        cuts = slots = None
        if self.discretize == "global":
            cuts = self._global_cuts(summary, own)
            slots = _coarse_slots(rows, coders, cuts)
        nodes = Grower(rows, coder_sizes(coders), rules, slots, self.n_jobs).grow()
        self.tree_ = build_tree(nodes, rows, coders, rules, cuts)
        self.classes_ = classes
        self._remember(summary.schema)
        return self

    def _coders(
        self, summary: Summary, factor: NDArray[np.float64]
    ) -> list[Grid | Categories | None]:
        """Fine numbering of the columns, rare categories grouped."""
        counts = summary.counts.scale_groups(factor)
        return [
            group_rare(coder, counts.values(j), self.max_categories)[0]
            if isinstance(coder, Categories)
            else coder
            for j, coder in enumerate(summary.coders)
        ]

    def _global_cuts(
        self, summary: Summary, factor: NDArray[np.float64]
    ) -> list[NDArray[np.float64] | None]:
        methods = dict.fromkeys(self._wanted(summary.schema).counts, "mdl")
        coarse = coarsen(summary, methods, factor=factor, n_jobs=self.n_jobs)
        return [coder.cuts if isinstance(coder, Bins) else None for coder in coarse.coders]

    def _check_parameters(self) -> None:
        for name in ("alpha", "min_error_reduction", "min_node_size"):
            check_number(self, name, 0)
        check_number(self, "min_weight_fraction_leaf", 0, 0.5)
        if self.max_depth is not None:
            check_number(self, "max_depth", 0, whole=True)
        check_word(self, "missing", "skip", "value")
        check_word(self, "discretize", "node", "global")

    def _wanted(self, schema: Schema) -> Wanted:
        numeric = frozenset(j for j, column in enumerate(schema) if column.kind == "numeric")
        return Wanted(numeric)

    def _rows(
        self,
        block: Block,
        coders: list[Grid | Categories | None],
        summary: Summary,
        factor: NDArray[np.float64],
        seed: int,
    ) -> Rows:
        """Rows as growing sees them."""
        assert block.target is not None
        groups = groups_of(summary.labels, block.target)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        folds, n_folds = fold_numbers(self.cv, block, seed)
        return Rows(
            [column_slots(block, j, coder) for j, coder in enumerate(coders)],
            tuple(isinstance(coder, Grid) for coder in coders),
            groups,
            weight * factor[groups],
            folds,
            len(summary.labels),
            n_folds,
        )

    # Answering ------------------------------------------------------------------------------

    def _joint(self, block: Block) -> NDArray[np.float64]:
        return self.tree_.joint(block, self.n_jobs)

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
        found: NDArray[np.intp] = self._open(X).map(
            lambda block: self.tree_.apply(block, self.n_jobs)
        )
        return found

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
        node = self.apply(X)
        passed = np.zeros((self.tree_.n_nodes, self.tree_.n_nodes), dtype=np.int8)
        for n, parent in enumerate(self.tree_.parent):
            passed[n] = passed[parent] if parent >= 0 else 0
            passed[n, n] = 1
        return csr_array(passed)[node]

    def _evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.tree_.evidence(block)


def _coarse_slots(rows: Rows, coders: list[Any], cuts: list[NDArray[np.float64] | None]) -> Slots:
    """Slots of all rows under cuts that hold at every node."""
    slots = np.empty((len(rows.groups), len(coders)), dtype=np.uint16)
    sizes = np.zeros(len(coders), dtype=np.intp)
    for j, (coder, own) in enumerate(zip(coders, cuts, strict=True)):
        bins = None if own is None else Bins(own)
        slots[:, j] = rows.codes[j] if bins is None else bins.place(coder.low)[rows.codes[j]]
        sizes[j] = 0 if coder is None else coder.size if bins is None else bins.size
    return slots, sizes
