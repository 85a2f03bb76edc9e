"""NBTree: a decision tree whose leaves are naive Bayes classifiers (Kohavi, 1996)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from unnaive.counts import Summary
from unnaive.discretize import coarsen
from unnaive.encode import (
    GRID_LIMIT,
    Bins,
    Categories,
    Grid,
    coder_sizes,
    draw_folds,
)
from unnaive.models._base import EvidenceClassifier
from unnaive.models.tree.build import build_tree
from unnaive.models.tree.classifier import TreeClassifier, encoded
from unnaive.models.tree.grow import Grower, Rows, Rules, Slots
from unnaive.models.tree.tree import BayesTree
from unnaive.table import Block, check_number, check_word


class NBTreeClassifier(EvidenceClassifier, TreeClassifier):
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

    tree_: BayesTree

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
        source, summary, own = self._read_for_tree(X, y, sample_weight)
        coders = self._fine_coders(summary, own)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = source.map(lambda block: self._rows(block, coders, summary, own, seed))
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
        self.classes_ = summary.labels.classes
        self._remember(summary.schema)
        return self

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
        folds, n_folds = self._folds(block, seed)
        return Rows(codes, numeric, groups, weight, folds, len(summary.labels), n_folds)

    def _folds(self, block: Block, seed: int) -> tuple[NDArray[np.int64], int]:
        """A fold for every row, drawn once for the tree."""
        if isinstance(self.cv, (int, np.integer)):
            if self.cv < 2:
                raise ValueError(f"cv must be 2 folds or more; got {self.cv!r}.")
            return draw_folds(seed, block.row_ids, int(self.cv)), int(self.cv)
        if hasattr(self.cv, "split"):
            splits = list(self.cv.split(np.zeros(block.n_rows), block.target))
            ids = np.arange(block.n_rows)
        else:
            splits, ids = list(self.cv), block.row_ids  # positions in the table as it was given
        found = np.full(max(block.n_rows, int(ids.max()) + 1), -1, dtype=np.int64)
        for k, (_, test) in enumerate(splits):
            if (found[test] >= 0).any():
                raise ValueError("cv puts a row into two test sets; use a splitter that does not.")
            found[test] = k
        if (found[ids] < 0).any():
            raise ValueError("cv leaves rows out of every test set; each must be in one.")
        return found[ids], len(splits)

    # Answering ------------------------------------------------------------------------------

    def _joint(self, block: Block) -> NDArray[np.float64]:
        return self.tree_.joint(block, self.n_jobs)

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
