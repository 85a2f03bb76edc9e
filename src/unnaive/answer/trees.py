"""Grown trees as flat arrays: routing rows, scoring them, and reading them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax

from unnaive.answer import tree_kernels as kernels
from unnaive.answer.evidence import Evidence
from unnaive.answer.nodes import Node, column_factors, normalized_totals, scorer_importances
from unnaive.bayes import KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.estimate import pooled_log_prior, tables_without_one
from unnaive.bayes.evidence import weigh
from unnaive.bayes.kernels import ABSENT
from unnaive.bayes.scoring import LEAST_SHARE, Smoothing, scale_logs
from unnaive.common.checks import HEAVIEST, check_factors, check_positive, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.common.wording import amount, counted
from unnaive.counts import CountTable
from unnaive.counts.table import slot_offsets
from unnaive.density import Densities, Scale
from unnaive.density.estimate import check_tables, logs_without_one
from unnaive.discretize import CoarseCoder
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.encode.coders import check_coders, coder_sizes, numeric_columns, row_slots
from unnaive.table import Block, Schema

Located: TypeAlias = tuple[NDArray[np.uint16], NDArray[np.intp]]  # slots of rows, and their nodes
ROWS = 1 << 16  # rows routed at a time: enough to make slicing columns cheap


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Tree(Node):
    """Nodes in the order parents before children; node 0 is the root.

    Every row is numbered once: a numeric column by all cuts that any node uses, a categorical one
    by its values. A test is then a look-up from slot to child.

    Attributes
    ----------
    coders : tuple
        Numbering of each attribute.
    attribute : array of shape (nodes,)
        Attribute that a node tests, -1 for a leaf.
    parent, depth : arrays of shape (nodes,)
    class_weight : array of shape (nodes, classes)
        Weight of the training rows of each class.
    child_start, child : arrays
        Children of node n are ``child[child_start[n] : child_start[n + 1]]``.
    route_start, route : arrays
        From ``route_start[node]``, how a test finds the child's place among them. Of a numeric
        test: the last slot of every child but the last one. Of a discrete test: the place for
        each value, -1 where it has no child.
    offsets : array of shape (attributes + 1,)
        Where the slots of each attribute begin.
    """

    coders: tuple[CoarseCoder, ...]
    attribute: NDArray[np.intp]
    parent: NDArray[np.intp]
    depth: NDArray[np.intp]
    class_weight: NDArray[np.float64]
    child_start: NDArray[np.intp]
    child: NDArray[np.intp]
    route_start: NDArray[np.intp]
    route: NDArray[np.intp]
    offsets: NDArray[np.intp]

    def check(self) -> None:
        """Check that the arrays are a tree."""
        check_nodes(self)

    def check_columns(self, schema: Schema) -> None:
        check_coders(self.coders, schema)

    @property
    def n_outputs(self) -> int:
        return self.class_weight.shape[1]

    @property
    def n_nodes(self) -> int:
        return len(self.attribute)

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the training rows at each node."""
        return self.class_weight.sum(axis=1)

    def staying(self, node: int) -> float:
        """Return the weight of training rows that no child of the node has."""
        children = self.children(node)
        weight = float(self.class_weight[node].sum())
        rest = weight - float(self.class_weight[children].sum(axis=1).sum())
        return rest if rest > 1e-9 * weight and children else 0.0

    @property
    def n_leaves(self) -> int:
        return int((self.attribute < 0).sum())

    def __repr__(self) -> str:
        return f"Tree of {self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth.max()}"

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which attributes are numbers."""
        return numeric_columns(self.coders)

    def children(self, node: int) -> list[int]:
        """Return the children of a node, in the order of their values."""
        children = self.child[self.child_start[node] : self.child_start[node + 1]]
        return [int(child) for child in children]

    def child_number(self, node: int) -> int:
        """Return where a node stands among its parent's children."""
        parent = self.parent[node]
        children = self.child[self.child_start[parent] : self.child_start[parent + 1]]
        return int(np.searchsorted(children, node))  # children are in ascending order

    def cuts(self, node: int) -> NDArray[np.float64]:
        """Return the cuts of the numeric test of a node: values up to a cut go to the children
        before it. Empty for other nodes.
        """
        coder = self.coders[self.attribute[node]]
        if self.attribute[node] < 0 or not isinstance(coder, Bins):
            return np.empty(0)
        start = self.route_start[node]
        return coder.cuts[self.route[start : start + len(self.children(node)) - 1] - 1]

    def value(self, node: int) -> int:
        """Return slot of the value that leads to a node from its parent, whose test is discrete."""
        parent = int(self.parent[node])
        start, j = self.route_start[parent], self.attribute[parent]
        values = self.offsets[j + 1] - self.offsets[j] - 2
        return int(np.argmax(self.route[start : start + values] == self.child_number(node))) + 1

    # Rows -----------------------------------------------------------------------------------

    def _arrive(self, slots: NDArray[np.uint16]) -> NDArray[np.intp]:
        node = np.empty(len(slots), dtype=np.intp)
        kernels.arrive(slots, self.routing(), node)
        return node

    def locate(self, block: Block) -> Located:
        """Return the slots of the rows, and the nodes where they stop."""
        slots = row_slots(block, self.coders)
        return slots, self._arrive(slots)

    def routing(self) -> kernels.Routing:
        """Return the arrays that kernels route rows by."""
        return kernels.Routing(
            self.attribute,
            self.numeric,
            np.diff(self.offsets) - 1,
            self.child_start,
            self.child,
            self.route_start,
            self.route,
        )

    def apply(self, block: Block, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Return node where each row stops: a leaf, or a node that has no child for its value."""

        def find(start: int) -> NDArray[np.intp]:
            return self.locate(block.slice(start, start + ROWS))[1]

        return np.concatenate(list(in_threads(find, range(0, block.n_rows, ROWS), n_jobs)))

    def paths(self, nodes: NDArray[np.intp]) -> csr_array:
        """Return the nodes on the path to each of some nodes, itself included: (some, nodes)."""
        start = np.concatenate(([0], np.cumsum(self.depth[nodes] + 1)))
        steps, at, last = np.empty(start[-1], dtype=np.intp), nodes, start[1:] - 1
        while len(at):
            steps[last] = at
            on = at > 0
            at, last = self.parent[at[on]], last[on] - 1
        shape = (len(nodes), self.n_nodes)
        return csr_array((np.ones(len(steps), dtype=np.int8), steps, start), shape=shape)

    @abstractmethod
    def describe(self, node: int, classes: NDArray[Any]) -> str:
        """Return the prediction of the node as a leaf, in words."""

    def class_prior(self) -> NDArray[np.float64] | None:
        return normalized_totals(self.class_weight[0])

    def _mean_changes(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean absolute change by the tests on each column, over the training rows."""
        rows = self.class_weight[1:]
        total = max(float(self.class_weight[0].sum()), 1e-300)
        size = (np.abs(steps[1:]) * rows).sum(axis=1) / total
        out = np.zeros(len(self.coders))
        np.add.at(out, self.attribute[self.parent[1:]], size)
        return out


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class NodeDensities:
    """Kernel densities of numeric columns at the nodes of a tree: tables that are looked up.

    Attributes
    ----------
    scales : tuple of Scale or None
        The range of each column at the root; None where it has no densities.
    factor : array of shape (nodes, columns)
        The c of kernel width = c / sqrt(n); NaN where there is none.
    width : array of shape (columns, nodes, classes)
        Widths of the kernels, in units of the column's range; 0 where there are none.
    start, per_step : arrays of shape (columns, nodes, classes)
        Position of a table's first node, and nodes per unit.
    first, last : arrays of shape (columns, nodes, classes)
        Where a table begins and ends in ``logs``; both 0 where there is none.
    logs : array
    """

    scales: tuple[Scale | None, ...]
    factor: NDArray[np.float64]
    width: NDArray[np.float64]
    start: NDArray[np.float64]
    per_step: NDArray[np.float64]
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    logs: NDArray[np.float64]

    def check_nodes(self, coders: Sequence[CoarseCoder], n_nodes: int, n_classes: int) -> None:
        """Check that the arrays are for these columns, nodes and classes."""
        n_columns = len(coders)
        check_values("factor", self.factor, (n_nodes, n_columns), nan=True)
        shape = (n_columns, n_nodes, n_classes)
        check_values("width", self.width, shape, 0.0)
        for name in ("start", "per_step", "first", "last"):
            given = getattr(self, name).shape
            expect(given == shape, f"{name} has the shape {given}, not {shape}.")
        present = self.last != 0  # of all classes, or of none
        expect((self.last >= 0).all(), "a table of densities ends before it begins.")
        expect((present == present.any(axis=2, keepdims=True)).all(), "a class has no density.")
        nothing = not (self.first[~present].any() or self.width[~present].any())
        expect(nothing, "an absent density has a width or a place.")
        n_scales = len(self.scales)
        expect(n_scales == n_columns, f"scales are {n_scales}, but columns are {n_columns}.")
        for j, scale in enumerate(self.scales):
            here = present[j]
            expect((self.first[j] < self.last[j])[here].all(), "a density has no table.")
            expect(scale is not None or not here.any(), "a density has no scale.")
            if scale is not None:
                expect(isinstance(coders[j], Bins), f"column {j}, a density, is no number.")
                ends = (self.first[j][here], self.last[j][here])
                steps = (self.start[j][here], self.per_step[j][here])
                check_tables(scale, *steps, *ends, self.logs)

    def at(self, node: int, j: int) -> Densities | None:
        """Return the densities of one column at a node."""
        scale, first, last = self.scales[j], self.first[j, node], self.last[j, node]
        if scale is None or not last.any():
            return None
        return Densities(
            scale,
            self.width[j, node],
            float(self.factor[node, j]),
            self.start[j, node],
            self.per_step[j, node],
            first - first.min(),
            last - first.min(),
            self.logs[first.min() : last.max()],
        )

    def add(
        self, block: Block, j: int, node: NDArray[np.intp], scores: NDArray[np.float64]
    ) -> None:
        """Add the log densities of a column to rows (OUT, rows x classes) that stop at nodes."""
        scale = self.scales[j]
        if scale is not None:
            tables = kernels.DensityTables(
                self.start[j], self.per_step[j], self.first[j], self.last[j], self.logs
            )
            given = (block.numeric(j), node, scale.low, scale.half_range, tables)
            kernels.add_densities(*given, scores)

    def scaled(self, calibration: Calibration) -> NodeDensities:
        """Return the log densities times the factors of a calibration."""
        factors = np.full(len(self.logs), calibration.slope)
        if calibration.columns is not None:
            for j, factor in enumerate(calibration.columns):
                for n, c in np.argwhere(self.last[j] > 0):
                    factors[self.first[j, n, c] : self.last[j, n, c]] = factor
        return replace(self, logs=factors * self.logs)

    def without_one(self, rows: Callable[[int], NDArray[np.float64]]) -> NodeDensities:
        """Return the densities for a row that was not counted, given the rows of a column by node
        and class.
        """
        logs = self.logs.copy()
        for j, scale in enumerate(self.scales):
            if scale is None:
                continue
            weight = rows(j)
            for n, c in np.argwhere((self.last[j] > 0) & (weight > 0.0)):
                table = slice(self.first[j, n, c], self.last[j, n, c])
                given = (float(weight[n, c]), float(self.width[j, n, c]), scale.log_range)
                logs[table] = logs_without_one(self.logs[table], *given)
        return replace(self, logs=logs)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class NaiveBayesTree(Tree):
    """A tree with a naive Bayes at every node: a look-up from slot to evidence.

    Attributes
    ----------
    utility : array of shape (nodes,)
        Cross-validated accuracy of the node's naive Bayes.
    candidates : array of shape (nodes, attributes)
        Utility of splitting on each attribute; NaN where it was not considered.
    place : array of shape (nodes, slots)
        Row of ``logs`` for each slot at each node.
    logs, counts : arrays of shape (any, classes)
        Evidence of a node's slots, and the weight of the training rows behind it.
    log_prior : array of shape (nodes, classes)
    slope : float
        Factor of calibration that is in the evidence; 1 without it.
    columns : array of shape (attributes,) or None
        Factors of calibration of the columns, where each has its own; the slope is then that of
        the nodes' priors alone.
    densities : NodeDensities or None
        Densities of numbers; the evidence of their slots is then only whether they are missing.
    """

    is_additive: ClassVar = True

    utility: NDArray[np.float64]
    candidates: NDArray[np.float64]
    place: NDArray[np.int32]
    logs: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    slope: float = 1.0
    columns: NDArray[np.float64] | None = None
    densities: NodeDensities | None = None

    def check(self) -> None:
        Tree.check(self)
        check_positive("slope", self.slope)
        n, n_columns = self.n_nodes, len(self.coders)
        check_factors("columns", self.columns, n_columns)
        check_values("utility", self.utility, (n,), 0.0, 1.0 + 1e-9)
        check_values("candidates", self.candidates, (n, n_columns), nan=True)
        check_values("log_prior", self.log_prior, (n, self.n_outputs))
        check_values("logs", self.logs, (len(self.logs), self.n_outputs))
        check_values("counts", self.counts, self.logs.shape, 0.0, HEAVIEST)
        check_values("place", self.place, (n, int(self.offsets[-1])), 0, len(self.logs) - 1)
        if self.densities is not None:
            self.densities.check_nodes(self.coders, n, self.n_outputs)

    @property
    def is_calibrated(self) -> bool:
        return self.slope != 1.0 or self.columns is not None

    # Reading a node ----------------------------------------------------------------------------

    def scorer(self, node: int) -> Scorer:
        """Return the naive Bayes of one node."""
        terms = tuple(self.term(node, j) for j in range(len(self.coders)))
        return Scorer(self.log_prior[node], terms)

    def term(self, node: int, j: int) -> Term:
        """Return the evidence of one attribute at a node, in the node's intervals."""
        rows, coder = self.node_slots(node, j), self.coders[j]
        if coder is None:
            return None
        densities = None if self.densities is None else self.densities.at(node, j)
        if densities is not None:
            absent, present = self.logs[rows[:2]]
            return KernelTerm(densities, present, absent)
        if isinstance(coder, Bins):
            place = self.place[node, self.offsets[j] + 1 : self.offsets[j + 1] - 1]
            coder = Bins(coder.cuts[np.diff(place) > 0])
        return TableTerm(coder, self.logs[rows])

    def node_counts(self, node: int) -> CountTable:
        """Return weight of the node's training rows by class, in the slots of its naive Bayes."""
        slots = [self.node_slots(node, j) for j in range(len(self.coders))]
        offsets = np.cumsum([0, *map(len, slots)])
        return CountTable(self.counts[np.concatenate(slots)].T, offsets, self.class_weight[node])

    def node_slots(self, node: int, j: int) -> NDArray[np.int32]:
        """Return the rows of ``logs`` for one attribute at a node: missing, its values, unseen."""
        place = self.place[node, self.offsets[j] : self.offsets[j + 1]]
        if not isinstance(self.coders[j], Bins):
            return place
        return np.concatenate((place[:1], np.unique(place[1:-1]), place[-1:]))

    def describe(self, node: int, classes: NDArray[Any]) -> str:
        present = np.flatnonzero(self.class_weight[node])
        rows = counted(float(self.class_weight[node].sum()), "row")
        if len(present) == 1:
            return f"always {classes[present[0]]}, {rows}"
        return f"naive Bayes: {rows}, {len(present)} classes, utility {self.utility[node]:.3f}"

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return log P(class, row) by the naive Bayes of the node where the row stops."""
        out = np.empty((block.n_rows, self.log_prior.shape[1]))

        def score(start: int) -> None:
            rows = block.slice(start, start + ROWS)
            slots, node = self.locate(rows)
            part = out[start : start + ROWS]
            part[:] = self.log_prior[node]
            kernels.add_evidence(slots, node, self.offsets, self.place, self.logs, part)
            if self.densities is not None:
                for j in range(len(self.coders)):
                    self.densities.add(rows, j, node, part)

        list(in_threads(score, range(0, block.n_rows, ROWS), n_jobs))
        return out

    def evidence(
        self,
        block: Block,
        classes: NDArray[Any],
        n_jobs: int | None = None,  # noqa: ARG002
    ) -> Evidence:
        """Return the evidence of the naive Bayes where each row stops."""
        located = self.locate(block)
        baseline, contributions = self.contributions(block, located)
        return Evidence(baseline, contributions, block.schema.names, classes, node=located[1])

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        """Return the importance of tests, and of the evidence of leaves: few rows stop elsewhere.

        A test changes log odds as if each class had one row more: small nodes are uncertain.
        """
        logs = np.log(self.class_weight + 1.0)
        steps, weight = np.zeros(logs.shape), self.weight
        above = logs[self.parent[1:]]
        steps[1:] = weigh(logs[1:] - above, above)
        out = self._mean_changes(steps)
        for n in np.flatnonzero(self.attribute < 0).tolist():
            of_leaf = scorer_importances(self.scorer(n), self.node_counts(n), schema)
            out += weight[n] / weight[0] * of_leaf
        return out

    def calibrated(self, calibration: Calibration) -> NaiveBayesTree:
        slope, factors = calibration.slope, self._slot_factors(calibration)
        return replace(
            self,
            log_prior=np.maximum(scale_logs(self.log_prior, slope) + calibration.intercept, ABSENT),
            logs=scale_logs(self.logs, factors),
            slope=slope * self.slope,
            columns=column_factors(self.slope, self.columns, calibration),
            densities=None if self.densities is None else self.densities.scaled(calibration),
        )

    def with_pooled_priors(self) -> NaiveBayesTree:
        """Return the tree with a prior above 0 for classes that are absent at a node."""
        return replace(self, log_prior=pooled_log_prior(self.class_weight, self.class_weight[0]))

    def without_one(self, smoothing: Smoothing) -> NaiveBayesTree:
        """Return the evidence for a row of each class that was not counted at its node.

        Priors are those of `with_pooled_priors`.
        """
        starts = self.place[:, self.offsets[:-1]].ravel()  # nodes and columns lie in order
        given = (starts, smoothing.alpha, smoothing.missing)
        densities = self.densities
        if densities is not None:
            densities = densities.without_one(
                lambda j: self.counts[self.place[:, self.offsets[j] + 1]]
            )
        return replace(
            self,
            logs=tables_without_one(self.counts, self.logs, *given),
            log_prior=pooled_log_prior(self.class_weight, self.class_weight[0], 1.0),
            densities=densities,
        )

    def _slot_factors(self, calibration: Calibration) -> NDArray[np.float64]:
        """Return the factor of each row of ``logs``."""
        factors = np.full((len(self.logs), 1), calibration.slope)
        if calibration.columns is not None:
            for j, factor in enumerate(calibration.columns):
                factors[self.place[:, self.offsets[j] : self.offsets[j + 1]]] = factor
        return factors

    def contributions(
        self, block: Block, located: Located | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the baseline (rows x classes) and contributions (rows x columns x classes).

        ``located`` is what `locate` says of them, here or in a tree of the same nodes.
        """
        slots, node = self.locate(block) if located is None else located
        out = self.logs[self.place[node[:, None], self.offsets[:-1] + slots]]
        if self.densities is not None:
            for j in range(len(self.coders)):
                self.densities.add(block, j, node, out[:, j])
        return self.log_prior[node], out


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassTree(Tree):
    """A tree with class shares at its nodes, as C4.5 grows it.

    Attributes
    ----------
    worth : array of shape (nodes,)
        Gain ratio of the node's test, 0 for a leaf.
    answer : array of shape (nodes, classes)
        Probability of each class at the node.
    """

    worth: NDArray[np.float64]
    answer: NDArray[np.float64]

    def check(self) -> None:
        Tree.check(self)
        check_values("worth", self.worth, (self.n_nodes,))
        check_values("answer", self.answer, self.class_weight.shape, 0.0, 1.0)
        total = self.answer.sum(axis=1)
        expect(np.allclose(total, 1.0, atol=1e-9), "answer does not sum to 1 at every node.")
        below = np.bincount(self.parent[1:], self.weight[1:], self.n_nodes)
        expect((below[self.attribute >= 0] > 0).all(), "the children of a node have no rows.")
        expect(np.isfinite(below).all(), "the weight of a node's rows is not finite.")

    def describe(self, node: int, classes: NDArray[Any]) -> str:
        weight = self.class_weight[node]
        best = int(weight.argmax())
        wrong = weight.sum() - weight[best]
        errors = f", {amount(wrong)} wrong" if wrong else ""
        return f"{classes[best]} ({counted(weight.sum(), 'row')}{errors})"

    def calibrated(self, calibration: Calibration) -> ClassTree:
        """Return the tree with calibrated class shares; nodes keep their majority class."""
        logs = np.log(np.maximum(self.answer, LEAST_SHARE))
        shares = softmax(calibration.slope * logs + calibration.intercept, axis=1)
        counts, nodes = self.class_weight, np.arange(self.n_nodes)
        best = np.where(counts == counts.max(axis=1, keepdims=True), shares, -1.0).argmax(axis=1)
        most = shares[nodes, best].copy()
        shares = np.minimum(shares, (1.0 - 1e-6) * most[:, None])
        shares[nodes, best] = most
        return replace(self, answer=shares / shares.sum(axis=1, keepdims=True))

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of each node in the rows of its parent's children."""
        below = self.parent[1:]
        weight = self.weight[1:]
        share = np.ones(self.n_nodes)
        share[1:] = weight / np.bincount(below, weight, self.n_nodes)[below]
        return share

    def predict_proba(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the mean of the class shares where a row stops, by its shares."""
        out = np.zeros((block.n_rows, self.n_outputs))
        routing, share = self.routing(), self.share

        def answer(start: int) -> None:
            slots = row_slots(block.slice(start, start + ROWS), self.coders)
            kernels.add_shares(slots, routing, share, self.answer, out[start : start + ROWS])

        list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))
        return out

    def stops(self, block: Block) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Return the nodes where rows stop: row, node, and share of the row, one entry for each."""
        slots, routing, share = row_slots(block, self.coders), self.routing(), self.share
        n = 0
        while True:
            rows, nodes, shares = np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n)
            needed = kernels.list_ends(slots, routing, share, rows, nodes, shares)
            if needed == n:
                return rows, nodes, shares
            n = needed

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """Return the change of the class shares by the tests on each column, along a row's paths.

        Rows x columns x classes; with the root's shares they add up to the probabilities.
        """
        out = np.zeros((block.n_rows, len(self.coders), self.n_outputs))
        kernels.add_changes(*self.stops(block), self.parent, self.attribute, self.answer, out)
        return out

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return the change of the class shares by the tests on each column, along the paths."""
        baseline = np.tile(self.answer[0], (block.n_rows, 1))
        changes, stops = self.contributions(block), self.apply(block, n_jobs)
        return Evidence(baseline, changes, block.schema.names, classes, "identity", node=stops)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the mean changes of probabilities, which are its evidence."""
        steps = self.answer.copy()
        steps[1:] -= self.answer[self.parent[1:]]
        return self._mean_changes(steps)


# Building and checking --------------------------------------------------------------------------


def lay_out(
    coders: Sequence[CoarseCoder],
    attribute: NDArray[np.intp],
    answers: Sequence[NDArray[Any]],
    parent: NDArray[np.intp],
) -> dict[str, Any]:
    """Return the fields of a `Tree` that route rows.

    ``answers`` are the cuts of each node with a numeric test; of each with a discrete one, the
    slots that lead to its children, in their order. Children follow their parents.
    """
    starts, routes, filled = [], [np.empty(0, dtype=np.intp)], 0
    for j, answer in zip(attribute.tolist(), answers, strict=True):
        starts.append(filled)
        coder = coders[j]
        if j < 0 or coder is None:
            continue
        if isinstance(coder, Bins):
            route = np.searchsorted(coder.cuts, answer) + 1
        else:
            route = np.full(coder.size, -1, dtype=np.intp)
            route[answer - 1] = np.arange(len(answer))
        routes.append(route)
        filled += len(route)
    child_start, child = children_of(parent)
    return {
        "coders": tuple(coders),
        "attribute": attribute,
        "parent": parent,
        "child_start": child_start,
        "child": child,
        "route_start": np.array(starts, dtype=np.intp),
        "route": np.concatenate(routes),
        "offsets": slot_offsets(coder_sizes(coders)),
    }


def children_of(parent: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return ``child_start`` and ``child`` of a tree."""
    order = np.argsort(parent, kind="stable")  # the root comes first, then children of node 0
    return np.searchsorted(parent[order], np.arange(len(parent) + 1)), order


def check_nodes(tree: Tree) -> None:
    """Check that nodes form a tree, and that tests lead to a node's children."""
    n, parent, depth = tree.attribute.size, tree.parent, tree.depth
    check_values("attribute", tree.attribute, (n,), -1, len(tree.coders) - 1)
    expect(n and parent.shape == (n,) and parent[0] == -1, "node 0 is not a root.")
    check_values("parent", parent[1:], (n - 1,), 0)
    expect((parent[1:] < np.arange(1, n)).all(), "a child comes before its parent.")
    expect(depth.shape == (n,) and depth[0] == 0, "depth is not 0 at the root.")
    expect((depth[1:] == depth[parent[1:]] + 1).all(), "a child is not 1 deeper than its parent.")
    start, child = children_of(parent)
    same = np.array_equal(tree.child_start, start) and np.array_equal(tree.child, child)
    expect(same, "child and child_start do not match parent.")
    expect(((np.diff(start) > 0) == (tree.attribute >= 0)).all(), "a leaf has children.")
    sizes = coder_sizes(tree.coders)
    expect(max(sizes, default=0) <= GRID_LIMIT, "a column has too many values.")
    expect(np.array_equal(tree.offsets, slot_offsets(sizes)), "offsets do not match the coders.")
    expect(tree.class_weight.ndim == 2, "class_weight is not nodes x classes.")
    check_values("class_weight", tree.class_weight, (n, tree.n_outputs), 0.0, HEAVIEST)
    _check_routes(tree, np.array([*sizes, 0])[tree.attribute])  # a leaf, at -1, tests nothing


def _check_routes(tree: Tree, size: NDArray[np.intp]) -> None:
    """Check routes, given the number of values of the column that each node tests."""
    n, tests = tree.n_nodes, tree.attribute >= 0
    expect((size[tests] > 0).all(), "a node tests a column without values.")
    cuts = np.array([*(isinstance(c, Bins) for c in tree.coders), False])[tree.attribute]
    children = np.diff(tree.child_start)
    length = np.where(tests, np.where(cuts, children - 1, size), 0)
    same = np.array_equal(tree.route_start, np.cumsum(length) - length)
    expect(same, "route_start does not match the lengths of the tests.")
    shape = tree.route.shape
    expect(shape == (length.sum(),), f"route has shape {shape}, but tests need {length.sum()}.")
    node = np.repeat(np.arange(n), length)  # of each entry
    low = np.where(cuts, 1, -1)[node]
    high = np.where(cuts, size - 1, children - 1)[node]
    expect(((tree.route >= low) & (tree.route <= high)).all(), "a test leads to no child.")
    within = (node[1:] == node[:-1]) & cuts[node[1:]]
    expect((np.diff(tree.route)[within] > 0).all(), "the cuts of a test are not in order.")
    named = ~cuts[node] & (tree.route >= 0)
    led = np.bincount((tree.child_start[node] + tree.route)[named], minlength=n)
    by_value = (tests & ~cuts)[tree.parent[tree.child]] & (tree.child > 0)
    expect(np.array_equal(led, by_value), "a child has no value, or more than one.")
