"""NBTree: a decision tree whose leaves are naive Bayes classifiers (Kohavi, 1996)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

from unnaive.answer import NaiveBayesTree
from unnaive.answer.nodes import Node
from unnaive.answer.trees import Tree, lay_out
from unnaive.bayes import Smoothing
from unnaive.bayes.estimate import log_likelihood, log_prior
from unnaive.common.checks import check_count_or_share, check_number, check_word, expect
from unnaive.common.threads import in_threads
from unnaive.counts import Summary, Wanted
from unnaive.counts.kernels import row_information
from unnaive.counts.table import highest, slot_offsets
from unnaive.discretize import CoarseCoder, coarsen
from unnaive.discretize.rules import Mdl, midpoints
from unnaive.encode import GRID_LIMIT, Bins, Categories, Grid
from unnaive.encode.coders import coder_sizes
from unnaive.encode.hashing import assign_folds
from unnaive.estimator import Progress
from unnaive.models import _nbtree_kernels as kernels
from unnaive.models.base import FirstPass, TableClassifier, check_calibration
from unnaive.models.coded import (
    CodedTable,
    group_rare_categories,
    read_coded_table,
)
from unnaive.table import Schema
from unnaive.table.records import Storage

MAX_FEATURES = 128  # features that a node evaluates, unless it is told how many
SMALL = 1024  # smaller nodes, with all that is below them, are each grown in one thread


class TreeClassifier(TableClassifier):
    """A classifier that is a tree, ``tree_``.

    Subclasses have the parameters ``class_weight`` and ``max_categories``.
    """

    _one_baseline = False  # each leaf has its own
    class_weight: Any
    calibration: str

    @property
    def _n_passes(self) -> int:  # type: ignore[override]
        return 2 if self.calibration == "none" else 3

    def _n_tasks(self) -> int | None:
        return 1

    @property
    def tree_(self) -> Tree:
        """The tree."""
        tree = self.answer_.root
        assert isinstance(tree, Tree)
        return tree

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.root, Tree), "expected a tree.")

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _fine_coders(
        self, summary: Summary, factor: NDArray[np.float64]
    ) -> list[Grid | Categories | None]:
        """Return the fine coders of the columns, rare categories grouped."""
        return group_rare_categories(summary, factor, self.max_categories)

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the node where each row stops.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            A leaf, or an inner node where the row's value is missing or has no child.
        """
        nodes: NDArray[np.intp] = self._open(X).map(
            lambda block: self.tree_.apply(block, self.n_jobs), ["node"]
        )
        return nodes

    def decision_path(self, X: Any) -> csr_array:
        """Return the nodes that each row passes through.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        sparse array of shape (n_samples, n_nodes)
            1 where the row passes.
        """
        return self.tree_.paths(self.apply(X))


class CrossValidatedTree(TreeClassifier):
    """A tree of naive Bayes classifiers whose splits are evaluated by cross-validation.

    Subclasses have the parameters of `NBTreeClassifier` but ``discretize`` and ``max_features``,
    and build the naive Bayes of its nodes.
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
    def _node_model(
        self, data: TreeData, params: TreeParams, summary: Summary, factor: NDArray[np.float64]
    ) -> NodeModel:
        """Return how naive Bayes at the nodes is built; ``factor`` is that of each class."""

    def _fit_node(self, first: FirstPass) -> Node:
        if hasattr(self.cv, "__next__"):  # an iterator would be empty in inner folds
            self.cv = list(self.cv)
        tree = self._grow(first)
        return tree if self.calibration == "none" else tree.with_pooled_priors()

    def _leave_one_out(self, node: Node) -> Node:
        assert isinstance(node, NaiveBayesTree)
        return node.without_one(Smoothing(self.alpha, self.missing))

    def _grow(self, first: FirstPass) -> NaiveBayesTree:
        """Return the tree of the coded rows."""
        source, summary, factor, seed, _ = first
        coders = self._fine_coders(summary, factor)
        table = read_coded_table(source, coders, summary, factor)
        cv, classes = self.cv, summary.labels.classes
        target = None if isinstance(cv, Integral) else classes[table.y]
        folds, n_folds = assign_folds(cv, seed, table.row_ids, target)
        folds = folds.astype(np.min_scalar_type(n_folds))
        data = TreeData(table, coders, folds, n_folds, len(classes), source.storage)
        weight = float(table.weight.sum())
        params = self._tree_params(weight)
        model = self._node_model(data, params, summary, factor)
        step = "hundredth of rows in leaves"
        progress = Progress("growing", weight, step=step, hook=self._hook)
        nodes = NBTreeGrower(data, model, params, self.n_jobs, progress).grow()
        tree = model.build(nodes, self.n_jobs)
        progress.finish()
        return tree

    def _tree_params(self, weight: float) -> TreeParams:
        """Return the parameters of growing, for rows of this weight."""
        return TreeParams(
            alpha=float(self.alpha),  # kernels are compiled for floats
            missing=self.missing,
            min_error_reduction=float(self.min_error_reduction),
            significance=self.significance,
            min_node_size=float(self.min_node_size),
            min_child_weight=self.min_weight_fraction_leaf * weight,
            max_depth=self.max_depth,
        )

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


class NBTreeClassifier(CrossValidatedTree):
    """Decision tree with a naive Bayes classifier at every leaf.

    A node is split on the feature whose children, each with a naive Bayes classifier of its own,
    have the highest cross-validated accuracy, if that cuts the node's error enough. Rows whose
    value is missing or has no child stop at the node, and its naive Bayes answers for them. Coded
    rows of a Dask or Spark DataFrame come to the driver.

    Parameters
    ----------
    cv : int, splitter or iterable, default=5
        How utilities are cross-validated. A number draws that many folds, once for the whole tree,
        from ``random_state``; or a scikit-learn splitter, or ready (train, test) positions.
    discretize : {"node", "global"}, default="node"
        Cut numeric columns by MDL anew at every node, as the paper does, or once for all nodes:
        faster, and a different model.
    min_error_reduction : float, default=0.05
        A split must reduce the error of the node by more than this share.
    significance : float or None, default=0.05
        Subtrees that are not significantly better than their root are pruned: among the held-out
        rows that only the node or only its leaves classify correctly, more must be those of the
        leaves, at this level of a one-sided test. None, as in the paper, does not prune: the best
        of many splits is then often due to chance.
    min_node_size : float, default=30
        Nodes with less weight than this many rows are not split.
    min_weight_fraction_leaf : float, default=0.0
        Splits with a child of a smaller share of the total weight are not considered.
    max_depth : int or None, default=None
        Maximum depth of the tree; 0 is plain naive Bayes.
    max_features : int, float or None, default=None
        How many features a node evaluates, as a number or a share of all: those whose split has
        the highest mutual information with the class. None is 128.
    alpha : float, default=0.5
        Pseudo-count of every value, in the search and in the leaves. 0 is the paper's: as
        accurate, but with extreme probabilities.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value carries no evidence, or is a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    calibration : {"columns", "slope", "none"}, default="columns"
        Whether the evidence of each column is multiplied by a factor of its own ("columns"), or all
        evidence by one ("slope"), the same in all leaves, and each class gets an intercept. The
        factors maximise the likelihood of held-out rows. A class that does not occur in a leaf is
        then improbable there, not impossible. ``"none"`` is the paper's.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    n_jobs : int or None, default=None
        Number of threads; the tree does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        The fitted model as plain data; see the guide on answers.
    tree_ : BayesTree
        Flat arrays: splits, weights, utilities, evaluated candidates, and the naive Bayes of each
        node.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of the table have names.

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

    def _node_model(
        self, data: TreeData, params: TreeParams, summary: Summary, factor: NDArray[np.float64]
    ) -> NodeModel:
        cuts: list[NDArray[np.float64] | None] | None = None
        if self.discretize == "global":
            rules = dict.fromkeys(summary.schema.numeric, Mdl())
            coarse = coarsen(summary, rules, factor=factor, n_jobs=self.n_jobs)
            cuts = [coder.cuts if isinstance(coder, Bins) else None for coder in coarse.coders]
        return DiscretizedNodes(data, params, cuts, self.max_features)


# Growing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TreeParams:
    """When to split and how nodes estimate; see `NBTreeClassifier`.

    ``stop`` says whether a node stays a leaf where a split cuts its error too little "or" it has
    too few rows, or only where both hold ("and").
    """

    alpha: float
    missing: str
    min_error_reduction: float
    significance: float | None
    min_node_size: float
    min_child_weight: float
    max_depth: int | None
    stop: str = "or"


class TreeData:
    """Coded rows with folds, on which a tree grows.

    Parameters
    ----------
    table : CodedTable
    coders : sequence of Grid, Categories or None
        Coders of the columns.
    folds : array of shape (n_rows,)
    n_folds, n_classes : int
    storage : Storage
        Where further matrices of rows go.
    """

    def __init__(
        self,
        table: CodedTable,
        coders: Sequence[Grid | Categories | None],
        folds: NDArray[Any],
        n_folds: int,
        n_classes: int,
        storage: Storage,
    ) -> None:
        self.codes, self.y, self.weight = table.codes, table.y, table.weight
        self.coders, self.folds, self.n_folds = coders, folds, n_folds
        self.n_classes, self.storage = n_classes, storage
        self.sizes = np.array(coder_sizes(coders), dtype=np.intp)
        self.numeric = np.array([isinstance(coder, Grid) for coder in coders], dtype=np.bool_)


class NodeRows:
    """The rows of one node, gathered once for all the splits that are evaluated there.

    Attributes
    ----------
    rows : array of shape (n_rows,)
        Places in the table, in order of their folds.
    codes : array of shape (n_features, n_rows)
        Numbers are ranked among the ``values`` that occur in the node.
    sizes : array of shape (n_features,)
    values : array of shape (n_features, any)
        The table's code of each rank.
    slots, n_slots : arrays
        Like codes and sizes, in bins where these are the same at all nodes.
    y, weight, folds : arrays of shape (n_rows,)
        Classes are numbered among those that occur in the node.
    """

    def __init__(self, data: TreeData, rows: NDArray[np.intp]) -> None:
        n, codes, numeric = len(rows), data.codes, data.numeric
        dtype = np.result_type(np.uint16, codes)
        self.rows, self.sizes = rows, data.sizes.copy()
        self.codes = data.storage.empty((len(codes), n), dtype)
        widest = int(self.sizes[numeric].max(initial=0))
        self.values = data.storage.empty((len(codes), min(n, widest)), dtype)
        kernels.gather_columns(codes, rows, numeric, self.codes, self.values, self.sizes)
        self.y, self.weight, self.folds = data.y[rows], data.weight[rows], data.folds[rows]
        place, self.n_classes = kernels.renumber(self.y, data.n_classes)
        self.y = place.astype(self.y.dtype)[self.y]
        self.total = float(self.weight.sum())
        self.slots, self.n_slots, self.n_folds = self.codes, self.sizes, data.n_folds

    def folded(self, slots: NDArray[Any]) -> kernels.FoldedRows:
        """Return the rows as kernels cross-validate them, in these slots."""
        given = (self.y, self.n_classes, self.weight, self.folds, self.n_folds)
        return kernels.FoldedRows(slots, *given)

    def children(self, split: Split) -> NDArray[np.int32]:
        """Return the child of each row, from 1; 0 where its value is missing or has none."""
        j = split.feature
        child_of = np.zeros(self.sizes[j] + 1, dtype=np.int32)
        if split.values:
            child_of[list(split.values)] = np.arange(1, split.n_children + 1)
        else:
            child_of[1:] = np.searchsorted(split.below, self.values[j, : self.sizes[j]]) + 1
        return child_of[self.codes[j]]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A question about one feature: which child a code leads to.

    A number has a child for every interval between cuts: cut k lies between the cells of the
    table's codes ``below[k]`` and ``above[k]``. A categorical feature has one for each of
    ``values`` (codes).
    """

    feature: int
    below: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    values: tuple[int, ...] = ()

    @property
    def n_children(self) -> int:
        return len(self.values) or len(self.below) + 1


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedSplit:
    """A split, its utility, and the bits of the node's rows that are then classified correctly."""

    split: Split
    utility: float
    bits: NDArray[np.uint8]


@dataclass(slots=True, eq=False)
class GrownNode:
    """A node while the tree grows, with everything that was considered there.

    ``correct`` are the marks of its ``rows`` under cross-validation, ``gathered`` these rows where
    they are already at hand.
    """

    rows: NDArray[np.intp]
    correct: NDArray[np.bool_]
    depth: int
    weight: float
    utility: float
    candidates: dict[int, float] = field(default_factory=dict)
    split: Split | None = None
    children: list[GrownNode] = field(default_factory=list)
    gathered: NodeRows | None = None


class TableRows(NamedTuple):
    """Some rows of the table, with their classes and weights."""

    rows: NDArray[np.intp]
    y: NDArray[Any]
    weight: NDArray[np.float64]


class NodeModel(ABC):
    """How naive Bayes at the nodes of a tree is built.

    Parameters
    ----------
    data : TreeData
    params : TreeParams
    max_features : int, float or None, default=None
        How many features a node evaluates, as a number or a share of all; None is `MAX_FEATURES`.
    """

    def __init__(self, data: TreeData, params: TreeParams, max_features: Any = None) -> None:
        self.data, self.params = data, params
        self.smoothing = kernels.Smoothing(params.alpha, params.missing == "value")
        most = MAX_FEATURES if max_features is None else max_features
        share = not isinstance(most, Integral)
        self.max_features = int(math.ceil(most * len(data.sizes)) if share else most)

    def gather(self, rows: NDArray[np.intp]) -> NodeRows:
        """Return the rows of a node, by their places in the table."""
        return NodeRows(self.data, rows)

    @abstractmethod
    def mark_correct(
        self,
        node: NodeRows,
        child: NDArray[np.int32],
        n_children: int,
        correct: NDArray[np.bool_],
    ) -> None:
        """Mark the rows that the cross-validated naive Bayes of their child classifies correctly
        (OUT); rows of child 0 keep their marks.
        """

    @abstractmethod
    def table_of(self, rows: TableRows, j: int) -> Any:
        """Return naive Bayes of one feature from some rows."""

    @abstractmethod
    def build(self, nodes: Sequence[GrownNode], n_jobs: int | None = None) -> NaiveBayesTree:
        """Return the tree that answers, of nodes as `flatten` orders them."""

    def tables(self, nodes: Sequence[GrownNode], n_jobs: int | None) -> list[list[Any]]:
        """Return naive Bayes of each node by feature."""

        def of_node(node: GrownNode) -> list[Any]:
            rows = TableRows(node.rows, self.data.y[node.rows], self.data.weight[node.rows])
            return [self.table_of(rows, j) for j in range(len(self.data.sizes))]

        return list(in_threads(of_node, nodes, n_jobs))

    def count_cells(self, rows: TableRows, j: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the codes of some rows and the weight of each class there; see the kernel."""
        data = self.data
        codes, size = data.codes[j][rows.rows], int(data.sizes[j])
        return kernels.count_cells(codes, rows.y, rows.weight, size, data.n_classes)

    def slot_table(
        self,
        cuts: NDArray[np.float64] | None,
        slots: NDArray[Any],
        n_slots: int,
        counts: NDArray[np.float64],
    ) -> FeatureTable:
        """Return naive Bayes of one feature whose cells lie in these slots."""
        by_slot = np.zeros((n_slots, self.data.n_classes))
        by_slot[0] = counts[0]
        np.add.at(by_slot, slots, counts[1:])
        logs = log_likelihood(by_slot.T, self.params.alpha, self.params.missing)
        return FeatureTable(cuts, logs, by_slot)

    def candidate_splits(self, node: NodeRows, n_jobs: int | None) -> list[Split]:
        """Return the splits to evaluate, at most one per feature.

        Of many, those that tell most about the class: to evaluate one takes as long as all
        features of all rows, to evaluate thousands would take hours.
        """
        features = range(len(self.data.sizes))
        every = in_threads(lambda j: self.split_on(node, j), features, n_jobs)
        splits = [split for split in every if split is not None and self.is_wide(node, split)]
        if len(splits) <= self.max_features:
            return splits

        def information(split: Split) -> float:
            child, n = node.children(split) - np.int32(1), split.n_children
            return float(row_information(child, n, node.y, node.n_classes, node.weight))

        told = in_threads(information, splits, n_jobs)
        return [splits[k] for k in highest(list(told), self.max_features)]

    def split_on(self, node: NodeRows, j: int) -> Split | None:
        """Return the split on a feature: a child per category, or the threshold of least entropy;
        None if all rows are alike.
        """
        cells, counts = kernels.count_cells(
            node.codes[j], node.y, node.weight, int(node.sizes[j]), node.n_classes
        )
        if not self.data.numeric[j]:
            return Split(j, values=tuple(cells.tolist())) if len(cells) > 1 else None
        cut = kernels.threshold(counts)
        return None if cut < 0 else self.split_at(node, j, cells, np.array([cut]))

    def split_at(
        self, node: NodeRows, j: int, cells: NDArray[Any], cuts: NDArray[np.intp]
    ) -> Split:
        """Return the split of a number before some of its cells, which are ranks in the node."""
        codes = node.values[j, cells - np.intp(1)]
        return Split(j, tuple(codes[cuts - 1].tolist()), tuple(codes[cuts].tolist()))

    def is_wide(self, node: NodeRows, split: Split) -> bool:
        """Return whether every child of a split has enough weight."""
        if self.params.min_child_weight <= 0.0:
            return True
        child, n = node.children(split), split.n_children
        weights = np.bincount(child, node.weight, minlength=n + 1)
        return bool(weights[1:].min() >= self.params.min_child_weight)


class NBTreeGrower:
    """Grow a tree, node by node, parents before children (Kohavi, figure 3).

    Parameters
    ----------
    data : TreeData
    model : NodeModel
    params : TreeParams
    n_jobs : int or None
        Threads for evaluating splits; the tree does not depend on it.
    progress : Progress or None
        Counts the weight of rows that have come to a leaf, and may stop the growing.
    """

    def __init__(
        self,
        data: TreeData,
        model: NodeModel,
        params: TreeParams,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.data, self.model, self.params = data, model, params
        self.n_jobs, self.progress = n_jobs, progress

    def grow(self) -> list[GrownNode]:
        """Return all nodes, parents before children."""
        # Rows of one fold stand together in every node: cross-validation goes fold by fold.
        gathered = self.model.gather(np.argsort(self.data.folds, kind="stable"))
        correct = np.zeros(len(gathered.rows), dtype=np.bool_)
        self.model.mark_correct(gathered, np.ones(len(correct), dtype=np.int32), 1, correct)
        root = self._node(gathered.rows, correct, 0)
        root.gathered = gathered
        small = self._grow_below(root, self.n_jobs, SMALL)
        small.sort(key=lambda node: -len(node.rows))  # the longest work first
        list(in_threads(lambda node: self._grow_below(node, 1, 0), small, self.n_jobs))
        self._prune(root)
        return flatten(root)

    def _grow_below(self, root: GrownNode, n_jobs: int | None, small: int) -> list[GrownNode]:
        """Grow what is below a node, and return the nodes of fewer than ``small`` rows to grow."""
        growing, left = [root], list[GrownNode]()
        while growing:
            for child in self._split_node(growing.pop(), n_jobs):
                (left if len(child.rows) < small else growing).append(child)
        return left

    def _prune(self, root: GrownNode) -> None:
        """Make leaves of nodes whose subtree is not significantly better; see `is_significant`."""
        if self.params.significance is None:
            return
        nodes = flatten(root)
        correct = np.zeros(len(self.data.y), dtype=np.bool_)
        for node in nodes:  # parents before children: a row's last mark is its leaf's
            correct[node.rows] = node.correct
        for node in reversed(nodes):
            if node.children:
                weight, after = self.data.weight[node.rows], correct[node.rows]
                changed = weight[after != node.correct].sum()
                gained = weight[after].sum() - weight[node.correct].sum()
                if not is_significant(gained, changed, self.params.significance):
                    node.children, node.split = [], None
                    correct[node.rows] = node.correct

    def _node(self, rows: NDArray[np.intp], correct: NDArray[np.bool_], depth: int) -> GrownNode:
        weight = self.data.weight[rows]
        total = float(weight.sum())
        return GrownNode(rows, correct, depth, total, float(weight[correct].sum()) / total)

    def _split_node(self, node: GrownNode, n_jobs: int | None) -> list[GrownNode]:
        """Split a node if that is worth it, and return its children."""
        best, settled = None, node.weight  # of rows that stay here
        if self._may_split(node):
            gathered, node.gathered = node.gathered or self.model.gather(node.rows), None
            best = self._best_split(node, gathered, n_jobs)
        if best is not None:
            node.split, n = best.split, best.split.n_children
            order, starts = kernels.order_by(gathered.children(best.split), n + 1)
            correct = np.unpackbits(best.bits, count=len(order)).view(np.bool_)
            for k in range(1, n + 1):
                own = order[starts[k] : starts[k + 1]]
                node.children.append(self._node(node.rows[own], correct[own], node.depth + 1))
                settled -= node.children[-1].weight
        if self.progress is not None:
            self.progress.add(settled)
        return node.children

    def _may_split(self, node: GrownNode) -> bool:
        """Return whether splits are evaluated at a node."""
        params = self.params
        deep = params.max_depth is not None and node.depth >= params.max_depth
        stopped = self.progress is not None and self.progress.stopped
        few = node.weight < params.min_node_size and params.stop == "or"
        return not (deep or stopped or few or node.correct.all())

    def _best_split(
        self, node: GrownNode, gathered: NodeRows, n_jobs: int | None
    ) -> EvaluatedSplit | None:
        """Return the best split, the first of equals, if it cuts the node's error enough."""

        def evaluate(split: Split) -> EvaluatedSplit:
            # Rows without a child (their value is missing) stay with the node's own naive Bayes.
            correct, child = node.correct.copy(), gathered.children(split)
            self.model.mark_correct(gathered, child, split.n_children, correct)
            utility = float(gathered.weight[correct].sum()) / gathered.total
            return EvaluatedSplit(split, utility, np.packbits(correct))

        splits = self.model.candidate_splits(gathered, n_jobs)
        evaluated = list(in_threads(evaluate, splits, n_jobs))
        node.candidates = {one.split.feature: one.utility for one in evaluated}
        best = max(evaluated, key=lambda one: one.utility, default=None)
        return best if best is not None and self._is_better(node, best.utility) else None

    def _is_better(self, node: GrownNode, utility: float) -> bool:
        """Return whether a split cuts a node's error enough, or the node is too large a leaf."""
        if self.params.stop == "and" and node.weight > self.params.min_node_size:
            return True
        error, after = 1.0 - node.utility, 1.0 - utility
        return error - after > self.params.min_error_reduction * error


def is_significant(gained: float, changed: float, significance: float) -> bool:
    """Return whether a subtree is better than its root beyond chance.

    By the weight of held-out rows that it gains, and of those that only one of both classifies
    correctly: under chance, these are as likely to be either. Small steps that lead somewhere
    together are so judged together.
    """
    return changed > 0.0 and float(ndtr(-gained / math.sqrt(changed))) <= significance


def flatten(root: GrownNode) -> list[GrownNode]:
    """Return the nodes of a tree, parents before children."""
    nodes, stack = [], [root]
    while stack:
        nodes.append(stack.pop())
        stack += reversed(nodes[-1].children)
    return nodes


# Naive Bayes at the nodes --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """One feature at one node: its cuts (None for categories), the evidence of its slots, and the
    weight of the node's rows behind it, both slots x classes.
    """

    cuts: NDArray[np.float64] | None
    logs: NDArray[np.float64]
    counts: NDArray[np.float64]


class DiscretizedNodes(NodeModel):
    """Naive Bayes on cut numbers.

    ``cuts`` of numbers hold at all nodes, or each node has its own (None).
    """

    def __init__(
        self,
        data: TreeData,
        params: TreeParams,
        cuts: Sequence[NDArray[np.float64] | None] | None = None,
        max_features: Any = None,
    ) -> None:
        super().__init__(data, params, max_features)
        self.cuts = cuts
        self.slot_of = [self._slots_of_codes(j) for j in range(len(data.sizes))]
        self.cut = np.array([slots is None for slots in self.slot_of], dtype=np.bool_)

    def _slots_of_codes(self, j: int) -> NDArray[Any] | None:
        """Return the slot of each code, or None where each node has its own."""
        coder = self.data.coders[j]
        if not isinstance(coder, Grid) or not coder.size:
            return np.arange(self.data.sizes[j] + 2)
        cuts = None if self.cuts is None else self.cuts[j]
        return None if cuts is None else Bins(cuts).place(coder.low)

    def gather(self, rows: NDArray[np.intp]) -> NodeRows:
        node = super().gather(rows)
        if self.cuts is None:
            return node
        node.slots, node.n_slots = self.data.storage.copy(node.codes), node.sizes.copy()
        for j in np.flatnonzero(self.data.numeric).tolist():
            slot_of = self.slot_of[j]
            assert slot_of is not None
            slot_of_rank = np.append(0, slot_of[node.values[j, : node.sizes[j]]])
            node.slots[j] = slot_of_rank.astype(node.slots.dtype)[node.codes[j]]
            node.n_slots[j] = slot_of[-1] - 1
        return node

    def mark_correct(
        self,
        node: NodeRows,
        child: NDArray[np.int32],
        n_children: int,
        correct: NDArray[np.bool_],
    ) -> None:
        order, starts = kernels.order_by(child, n_children + 1)
        largest, n_features = int(np.diff(starts)[1:].max(initial=0)), len(self.cut)
        rows = node.folded(self.data.storage.empty((largest, n_features), node.slots.dtype))
        given = (node.slots, node.n_slots, self.cut, rows, order, starts)
        kernels.mark_correct(*given, self.smoothing, correct)

    def table_of(self, rows: TableRows, j: int) -> FeatureTable:
        coder, slot_of = self.data.coders[j], self.slot_of[j]
        cells, counts = self.count_cells(rows, j)
        if slot_of is not None:
            fixed = self.cuts[j] if self.cuts is not None and self.data.sizes[j] else None
            return self.slot_table(fixed, slot_of[cells], int(slot_of[-1]) + 1, counts)
        assert isinstance(coder, Grid)
        positions = kernels.mdl_positions(counts)
        slots = np.searchsorted(positions, np.arange(len(cells)), side="right") + 1
        below, above = cells[positions - 1], cells[positions]
        cuts = midpoints(coder.high[below - 1], coder.low[above - 1])
        return self.slot_table(cuts, slots, len(positions) + 3, counts)

    def build(self, nodes: Sequence[GrownNode], n_jobs: int | None = None) -> NaiveBayesTree:
        return NaiveBayesTree(**tree_fields(nodes, self.data, self.tables(nodes, n_jobs)))


# The tree that answers -----------------------------------------------------------------------


def tree_fields(
    nodes: Sequence[GrownNode], data: TreeData, tables: Sequence[Sequence[FeatureTable]]
) -> dict[str, Any]:
    """Return the fields of a `NaiveBayesTree`, given the tables of each node by feature."""
    coders = data.coders
    feature = np.array([-1 if node.split is None else node.split.feature for node in nodes])
    answers = [_answers(node.split, coders) for node in nodes]
    numbering = tuple(
        _union(coder, [t[j] for t in tables], [answers[n] for n in np.flatnonzero(feature == j)])
        for j, coder in enumerate(coders)
    )
    offsets = slot_offsets(coder_sizes(numbering))
    place = np.empty((len(nodes), offsets[-1]), dtype=np.int32)
    filled = 0
    for n, of_node in enumerate(tables):
        for j, table in enumerate(of_node):
            place[n, offsets[j] : offsets[j + 1]] = filled + _places(table, numbering[j])
            filled += len(table.logs)
    totals = np.array(
        [np.bincount(data.y[n.rows], data.weight[n.rows], data.n_classes) for n in nodes]
    )
    number = {id(node): n for n, node in enumerate(nodes)}
    parent = np.full(len(nodes), -1, dtype=np.intp)
    for n, node in enumerate(nodes):
        parent[[number[id(child)] for child in node.children]] = n
    return {
        **lay_out(numbering, feature, answers, parent),
        "depth": np.array([node.depth for node in nodes]),
        "utility": np.array([node.utility for node in nodes]),
        "candidates": np.array(
            [[n.candidates.get(j, np.nan) for j in range(len(coders))] for n in nodes]
        ),
        "class_weight": totals,
        "place": place,
        "logs": np.concatenate([table.logs for of_node in tables for table in of_node]),
        "counts": np.concatenate([table.counts for of_node in tables for table in of_node]),
        "log_prior": np.array([log_prior(t, 0.0, None) for t in totals]),
    }


def _answers(split: Split | None, coders: Sequence[Grid | Categories | None]) -> NDArray[Any]:
    """Return where a split cuts a number, or the slots of its children."""
    if split is None or split.values:
        return np.array(() if split is None else split.values, dtype=np.intp)
    grid = coders[split.feature]
    assert isinstance(grid, Grid)
    below, above = np.array(split.below), np.array(split.above)
    return midpoints(grid.high[below - 1], grid.low[above - 1])


def _union(
    coder: Grid | Categories | None,
    tables: Sequence[FeatureTable],
    split_at: Sequence[NDArray[np.float64]],
) -> CoarseCoder:
    """Return a coder that is fine enough for every node and every split."""
    if not isinstance(coder, Grid):
        return coder
    every = [table.cuts for table in tables if table.cuts is not None]
    return Bins(np.unique(np.concatenate([np.empty(0), *every, *split_at])))


def _places(table: FeatureTable, coder: CoarseCoder) -> NDArray[np.intp]:
    """Return the slot at a node for each slot of the common coder."""
    if not isinstance(coder, Bins):
        return np.arange(len(table.logs))
    if table.cuts is None:  # never a value here
        return np.array([0] + [len(table.logs) - 1] * (coder.size + 1))
    # An interval of the common coder lies inside the node's interval above its lower edge.
    lower = np.searchsorted(table.cuts, coder.cuts, side="right") + 1
    return np.concatenate(([0, 1], lower, [len(table.logs) - 1]))
