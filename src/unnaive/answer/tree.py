"""A grown tree as flat arrays: routing rows, scoring them, and reading it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.answer import tree_kernels as kernels
from unnaive.answer.tree_checks import check_nodes, children_of
from unnaive.bayes import Scorer, TableTerm, Term
from unnaive.common.checks import HEAVIEST, check_factors, check_positive, check_values
from unnaive.common.threads import in_threads
from unnaive.common.wording import counted
from unnaive.counts import CountTable
from unnaive.counts.table import slot_offsets
from unnaive.discretize import CoarseCoder
from unnaive.encode import Bins
from unnaive.encode.coding import check_coders, coder_sizes, numeric_columns, row_slots
from unnaive.table import Block, Schema

Located: TypeAlias = tuple[NDArray[np.uint16], NDArray[np.intp]]  # slots of rows, and their nodes
ROWS = 1 << 16  # rows routed at a time: enough to make slicing columns cheap


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Tree(ABC):
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

    ADDS_UP: ClassVar = False

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
        """Check that the columns are those of a schema."""
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
        """Weight of training rows that no child of the node has."""
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
        """Children of a node, in the order of their values."""
        children = self.child[self.child_start[node] : self.child_start[node + 1]]
        return [int(child) for child in children]

    def child_number(self, node: int) -> int:
        """Where a node stands among its parent's children."""
        parent = self.parent[node]
        children = self.child[self.child_start[parent] : self.child_start[parent + 1]]
        return int(np.searchsorted(children, node))  # children are in ascending order

    def cuts(self, node: int) -> NDArray[np.float64]:
        """Where the numeric test of a node cuts: values up to a cut go to the children before it.
        Empty for other nodes.
        """
        coder = self.coders[self.attribute[node]]
        if self.attribute[node] < 0 or not isinstance(coder, Bins):
            return np.empty(0)
        start = self.route_start[node]
        return coder.cuts[self.route[start : start + len(self.children(node)) - 1] - 1]

    def value(self, node: int) -> int:
        """Slot of the value that leads to a node from its parent, whose test is discrete."""
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
        """Slots of the rows, and the nodes where they stop."""
        slots = row_slots(block, self.coders)
        return slots, self._arrive(slots)

    def routing(self) -> kernels.Routing:
        """The arrays that kernels route rows by."""
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
        """Node where each row stops: a leaf, or a node that has no child for its value."""

        def find(start: int) -> NDArray[np.intp]:
            return self.locate(block.slice(start, start + ROWS))[1]

        return np.concatenate(list(in_threads(find, range(0, block.n_rows, ROWS), n_jobs)))

    def paths(self, nodes: NDArray[np.intp]) -> csr_array:
        """The nodes on the path to each of some nodes, itself included: of shape (some, nodes)."""
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
        """The prediction of the node as a leaf, in words."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BayesTree(Tree):
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
    """

    ADDS_UP: ClassVar = True

    utility: NDArray[np.float64]
    candidates: NDArray[np.float64]
    place: NDArray[np.int32]
    logs: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    slope: float = 1.0
    columns: NDArray[np.float64] | None = None

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

    @property
    def is_calibrated(self) -> bool:
        return self.slope != 1.0 or self.columns is not None

    # Reading a node ----------------------------------------------------------------------------

    def scorer(self, node: int) -> Scorer:
        """The naive Bayes of one node."""
        terms = tuple(self.term(node, j) for j in range(len(self.coders)))
        return Scorer(self.log_prior[node], terms)

    def term(self, node: int, j: int) -> Term:
        """Evidence of one attribute at a node, in the node's intervals."""
        rows, coder = self.node_slots(node, j), self.coders[j]
        if coder is None:
            return None
        if isinstance(coder, Bins):
            place = self.place[node, self.offsets[j] + 1 : self.offsets[j + 1] - 1]
            coder = Bins(coder.cuts[np.diff(place) > 0])
        return TableTerm(coder, self.logs[rows])

    def node_counts(self, node: int) -> CountTable:
        """Weight of the node's training rows by class, in the slots of its naive Bayes."""
        slots = [self.node_slots(node, j) for j in range(len(self.coders))]
        offsets = np.cumsum([0, *map(len, slots)])
        return CountTable(self.counts[np.concatenate(slots)].T, offsets, self.class_weight[node])

    def node_slots(self, node: int, j: int) -> NDArray[np.int32]:
        """Rows of ``logs`` for one attribute at a node: missing, its values, unseen."""
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

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Log P(class, row) by the naive Bayes of the node where the row stops."""
        out = np.empty((block.n_rows, self.log_prior.shape[1]))

        def score(start: int) -> None:
            rows = block.slice(start, start + ROWS)
            slots, node = self.locate(rows)
            part = out[start : start + ROWS]
            part[:] = self.log_prior[node]
            self._add_evidence(rows, slots, node, part)

        list(in_threads(score, range(0, block.n_rows, ROWS), n_jobs))
        return out

    def _add_evidence(
        self,
        block: Block,  # noqa: ARG002
        slots: NDArray[np.uint16],
        node: NDArray[np.intp],
        joint: NDArray[np.float64],
    ) -> None:
        """Add the evidence of all attributes to rows (OUT), given their slots and nodes."""
        kernels.add_evidence(slots, node, self.offsets, self.place, self.logs, joint)

    def evidence(
        self, block: Block, located: Located | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Baseline (rows x classes) and bars (rows x attributes x classes) of the rows.

        ``located`` is what `locate` says of them, here or in a tree of the same nodes.
        """
        slots, node = self.locate(block) if located is None else located
        at = self.place[node[:, None], self.offsets[:-1] + slots]
        return self.log_prior[node], self.logs[at]


def lay_out(
    coders: Sequence[CoarseCoder],
    attribute: NDArray[np.intp],
    answers: Sequence[NDArray[Any]],
    parent: NDArray[np.intp],
) -> dict[str, Any]:
    """The fields of a `Tree` that route rows.

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
