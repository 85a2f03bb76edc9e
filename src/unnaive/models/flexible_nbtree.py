"""Flexible NBTree: a tree of kernel naive Bayes classifiers (Wang and Yuan, 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.trees import NaiveBayesTree, NodeDensities
from unnaive.bayes.estimate import missing_evidence
from unnaive.common.checks import check_word
from unnaive.counts import Summary
from unnaive.density import Densities, Scale
from unnaive.density import kernels as density_kernels
from unnaive.density.bandwidth import check_bandwidth, choose_widths
from unnaive.density.estimate import FLOOR, delta, densities_at, middles
from unnaive.discretize.kernels import cuts_between
from unnaive.encode import GRID_LIMIT, Grid
from unnaive.models import _nbtree_kernels as kernels
from unnaive.models.nbtree import (
    CrossValidatedTree,
    FeatureTable,
    GrownNode,
    NodeModel,
    NodeRows,
    Split,
    TableRows,
    TreeData,
    TreeParams,
    tree_fields,
)

FINE = 8  # cells in the narrowest width, where a node has more cells than that needs


class FlexibleNBTreeClassifier(CrossValidatedTree):
    """Decision tree with a kernel naive Bayes classifier at every leaf.

    A node is split on the feature that alone names the right class most often (the Bayes measure,
    `bayes_measure`). A number is cut where the most probable class changes, into as many intervals
    as pass the MDL test; where no cut passes, the next feature is tried. The split is kept if it
    cuts the cross-validated error of kernel naive Bayes enough. Rows whose value is missing or has
    no child stop at the node, and its naive Bayes answers for them.

    Parameters
    ----------
    cv : int, splitter or iterable, default=5
        How utilities are cross-validated, as in `NBTreeClassifier`.
    select : {"delta", "utility"}, default="delta"
        How features are compared: by the Bayes measure, as the paper does, or each by the
        cross-validated accuracy of its split, as in NBTree; a number of which no cut passes the
        MDL test is then split at NBTree's threshold.
    bandwidth : {"conditional", "cv", "silverman"} or float, default="conditional"
        Width of the kernels, as in `NaiveBayesClassifier`; chosen once for each node, for all
        folds, from its rows and in units of their range. ``"cv"`` is the paper's.
    stop : {"or", "and"}, default="or"
        When a node is not split: where the split reduces the error too little *or* rows are too
        few, as in `NBTreeClassifier`; or only where both hold, as the paper's words can be read:
        nodes of more than ``min_node_size`` rows are then always split, smaller ones where that
        reduces the error enough.
    min_error_reduction : float, default=0.05
        A split must reduce the error of the node by more than this share.
    significance : float or None, default=0.05
        Subtrees that are not significantly better than their root are pruned, as in
        `NBTreeClassifier`. None is the paper's.
    min_node_size : float, default=30
        Nodes with less weight than this many rows are not split.
    min_weight_fraction_leaf : float, default=0.0
        Splits with a child of a smaller share of the total weight are not considered.
    max_depth : int or None, default=None
        Maximum depth of the tree; 0 is plain kernel naive Bayes.
    alpha : float, default=0.5
        Pseudo-count of every category, in the search and in the leaves.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value carries no evidence, or is a value like any other.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    calibration : {"columns", "slope", "none"}, default="columns"
        As in `NBTreeClassifier`. ``"none"`` is the paper's.
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
    tree_ : KernelTree
        Flat arrays: splits, weights, utilities, width factors, and the naive Bayes of each node.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of the table have names.

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

    def _node_model(
        self,
        data: TreeData,
        params: TreeParams,
        summary: Summary,  # noqa: ARG002
        factor: NDArray[np.float64],  # noqa: ARG002
    ) -> NodeModel:
        return DensityNodes(data, params, self.bandwidth, self.select)

    def _tree_params(self, weight: float) -> TreeParams:
        return replace(super()._tree_params(weight), stop=self.stop)


@dataclass(frozen=True, slots=True, eq=False)
class NodeCells:
    """One numeric feature at one node.

    Attributes
    ----------
    ranks : array of shape (n_cells,)
        The node's code of each cell, ascending; the highest one where cells were joined.
    positions : array of shape (n_cells,)
        In units of the range of the node's rows.
    counts : array of shape (n_cells + 1, n_classes)
        Weight of each class, first of the rows without a value.
    widths : array of shape (n_classes + 1,)
        Widths of the classes' kernels, then that of all together, in the same units.
    slot_of : array of shape (n_codes + 1,)
        Slot of each of the node's codes: 0 missing, then the cells.
    """

    ranks: NDArray[Any]
    positions: NDArray[np.float64]
    counts: NDArray[np.float64]
    widths: NDArray[np.float64]
    slot_of: NDArray[np.intp]


class DensityNodes(NodeModel):
    """Naive Bayes with a kernel density for each number and class.

    Nodes split on the feature of highest Bayes measure. Numbers are cut where the most probable
    class changes, if that passes MDL: one child for every interval. Where no cut passes, the next
    feature is asked.

    Parameters
    ----------
    data, params :
        As in `NodeModel`.
    bandwidth : str or float
        How kernels get their widths, once for each node, in units of its rows' range.
    select : {"utility", "delta"}
        Whether features are compared by what their split gives, or by the Bayes measure.
    """

    def __init__(self, data: TreeData, params: TreeParams, bandwidth: Any, select: str) -> None:
        super().__init__(data, params)
        self.bandwidth, self.select = bandwidth, select

    def candidate_splits(self, node: NodeRows, n_jobs: int | None) -> list[Split]:
        """Return all splits, or that of highest Bayes measure which divides the rows."""
        if self.select == "utility":
            return super().candidate_splits(node, n_jobs)
        measures = [self._measure(node, j) for j in range(len(self.data.sizes))]
        # The first of equals, as NBTree takes it.
        for j in np.argsort([-m[0] for m in measures], kind="stable").tolist():
            share, split = measures[j]
            if share > 0.0 and split is not None and self.is_wide(node, split):
                return [split]
        return []

    def split_on(self, node: NodeRows, j: int) -> Split | None:
        """Return NBTree's threshold where no cut passes MDL: the split is still evaluated."""
        return self._measure(node, j)[1] or super().split_on(node, j)

    def _measure(self, node: NodeRows, j: int) -> tuple[float, Split | None]:
        """Return the share of rows whose class is the most probable by feature j, and its split."""
        totals = np.zeros(node.n_classes)
        np.add.at(totals, node.y, node.weight)
        if not self.data.numeric[j]:
            given = (node.y, node.weight, int(node.sizes[j]), node.n_classes)
            _, counts = kernels.count_cells(node.codes[j], *given)
            values = counts[1:].T
            share = delta(values, counts[0], totals, values.argmax(axis=0))
            return share, super().split_on(node, j)
        cells = self._cells(node, j)
        if cells is None:
            return 0.0, None
        counts = cells.counts[1:]
        logs, everywhere = np.empty_like(counts), np.ones(len(counts), dtype=np.bool_)
        density_kernels.fill_cell_logs(
            cells.positions, counts, np.zeros_like(counts), cells.widths, FLOOR, everywhere, logs
        )
        best = (logs + np.log(totals)).argmax(axis=1)
        cuts = cuts_between(counts, best)
        split = self.split_at(node, j, cells.ranks, cuts) if len(cuts) else None
        return delta(counts.T, cells.counts[0], totals, best), split

    def _cells(self, node: NodeRows, j: int) -> NodeCells | None:
        """Return the cells of number j at a node; None where all its values are alike."""
        grid, n_ranks = self.data.coders[j], int(node.sizes[j])
        if not isinstance(grid, Grid) or not n_ranks:
            return None
        ranks, counts = kernels.count_cells(
            node.codes[j], node.y, node.weight, n_ranks, node.n_classes
        )
        scaled = _positions(grid, node.values[j, :n_ranks])
        if scaled is None:
            return None
        scale, positions = scaled
        by_class = np.ascontiguousarray(counts[1:].T)
        widths, _ = choose_widths(positions, by_class, self.bandwidth, FLOOR, scale.narrowest)
        slot_of = np.arange(n_ranks + 1)
        step = widths.min() / FINE
        if 1.0 / step < n_ranks / 2:  # far more cells than needed
            lattice = np.floor(positions / step)
            last = np.append(lattice[1:] != lattice[:-1], True)
            slot_of[1:] = np.cumsum(np.append(True, last[:-1]))
            joined = np.zeros((int(slot_of[-1]) + 1, node.n_classes))
            np.add.at(joined, slot_of, counts)
            ranks, counts, positions = ranks[last], joined, (lattice[last] + 0.5) * step
        return NodeCells(ranks, positions, counts, widths, slot_of)

    def mark_correct(
        self,
        node: NodeRows,
        child: NDArray[np.int32],
        n_children: int,
        correct: NDArray[np.bool_],
    ) -> None:
        order, starts = kernels.order_by(child, n_children + 1)
        for k in range(1, n_children + 1):
            rows = order[starts[k] : starts[k + 1]]
            if len(rows):
                whole = len(rows) == len(child)
                own = node if whole else self.gather(node.rows[rows])
                correct[rows] = self._validate(own)

    def _validate(self, node: NodeRows) -> NDArray[np.bool_]:
        """Return which rows of a node cross-validated kernel naive Bayes classifies correctly."""
        n_features, n = node.codes.shape
        slots = self.data.storage.empty((n, n_features), node.codes.dtype)
        n_slots, widths = node.sizes.copy(), np.zeros((n_features, node.n_classes + 1))
        positions = []
        for j in range(n_features):
            cells = self._cells(node, j)
            if cells is not None:
                n_slots[j], widths[j] = len(cells.ranks), cells.widths
                slots[:, j] = cells.slot_of.astype(slots.dtype)[node.codes[j]]
            elif self.data.numeric[j]:  # one value: all that it says is whether it is missing
                n_slots[j] = min(n_slots[j], 1)
                np.minimum(node.codes[j], 1, out=slots[:, j])
            else:
                slots[:, j] = node.codes[j]
            positions += [np.zeros(1), np.zeros(n_slots[j]) if cells is None else cells.positions]
        densities = kernels.Densities(np.concatenate(positions), widths, FLOOR)
        correct = np.empty(n, dtype=np.bool_)
        kernels.cross_validate(node.folded(slots), n_slots, self.smoothing, densities, correct)
        return correct

    def table_of(self, rows: TableRows, j: int) -> tuple[FeatureTable, Densities | None]:
        """Return naive Bayes of one feature; no densities where its values are alike."""
        coder, params = self.data.coders[j], self.params
        cells, counts = self.count_cells(rows, j)
        if not isinstance(coder, Grid) or not coder.size:
            return self.slot_table(None, cells, int(self.data.sizes[j]) + 2, counts), None
        by_class = np.ascontiguousarray(counts[1:].T)
        present = by_class.sum(axis=1)
        logs = missing_evidence(present, counts[0], params.alpha, params.missing)
        nothing = np.zeros_like(present)
        table = FeatureTable(
            np.empty(0),
            np.stack((logs[1], logs[0], nothing)),
            np.stack((counts[0], present, nothing)),
        )
        scale, scaled = Scale.of(coder), _positions(coder, cells) if len(cells) else None
        density = None if scaled is None else densities_at(*scaled, by_class, self.bandwidth)
        return table, None if density is None or scale is None else density.on(scale)

    def build(self, nodes: Sequence[GrownNode], n_jobs: int | None = None) -> NaiveBayesTree:
        data, both = self.data, self.tables(nodes, n_jobs)
        shape = (len(data.sizes), len(nodes), data.n_classes)
        width, start, per_step = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        first, last = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
        factor = np.full((len(nodes), len(data.sizes)), np.nan)
        logs, filled = [np.empty(0)], 0
        for n, of_node in enumerate(both):
            for j, (_, density) in enumerate(of_node):
                if density is None:
                    continue
                factor[n, j], width[j, n] = density.factor, density.widths
                start[j, n], per_step[j, n] = density.start, density.per_step
                first[j, n], last[j, n] = filled + density.first, filled + density.last
                logs.append(density.logs)
                filled += len(density.logs)
        densities = NodeDensities(
            scales=tuple(Scale.of(c) if isinstance(c, Grid) else None for c in data.coders),
            factor=factor,
            width=width,
            start=start,
            per_step=per_step,
            first=first,
            last=last,
            logs=np.concatenate(logs),
        )
        tables = [[table for table, _ in of_node] for of_node in both]
        return NaiveBayesTree(**tree_fields(nodes, data, tables), densities=densities)


def _positions(grid: Grid, codes: NDArray[Any]) -> tuple[Scale, NDArray[np.float64]] | None:
    """Return the range of the values that rows of some codes (ascending) have, and the codes'
    positions in it; None where all values are alike.
    """
    cells = codes.astype(np.intp) - 1
    scale = Scale.of_cells(grid, cells)
    return None if scale is None else (scale, scale.positions(middles(grid)[cells]))
