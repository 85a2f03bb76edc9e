"""From rows to a tree by C4.5: grow, collapse, prune, and number what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from unnaive.answer.trees import ClassTree, lay_out
from unnaive.discretize import CoarseCoder
from unnaive.encode import Bins, Categories, Grid
from unnaive.encode.coding import coder_sizes
from unnaive.estimator import Progress
from unnaive.models.tree import prune_kernels
from unnaive.models.tree.c45_kernels import Nodes, Table, grow, plant, ready_bits
from unnaive.models.tree.classifier import Encoded
from unnaive.table.passes import Hook
from unnaive.table.storage import Storage

MANY_VALUES = 0.3  # discrete attributes with values for this share of the rows are no yardstick


@dataclass(frozen=True, slots=True)
class C45Rules:
    """See `C45Classifier`."""

    ratio: bool
    penalty: bool
    by_ratio: bool  # thresholds
    min_rows: float
    max_depth: int | None
    prune: bool
    raising: bool
    confidence: float
    alpha: float
    for_shares: bool  # whether to keep tests that change shares, though no prediction

    @property
    def deepest(self) -> int:
        """The last level as kernels take it: -1 for none."""
        return -1 if self.max_depth is None else self.max_depth

    @property
    def limits(self) -> tuple[float, float]:
        """Confidence of pessimistic errors, and the normal quantile of it."""
        return self.confidence, float(norm.ppf(1.0 - self.confidence))


class Pruned(NamedTuple):
    """A tree before tests are put back.

    ``grown`` is the tree as it was before pruning, and ``keep`` says which of its tests are worth
    keeping; ``errors``, ``description``, ``estimate`` and ``staying`` are what `prune_kernels` say
    of its nodes.
    """

    nodes: Nodes
    grown: Nodes
    keep: NDArray[np.bool_]
    errors: NDArray[np.float64]
    description: NDArray[np.float64]
    estimate: NDArray[np.float64]
    staying: NDArray[np.float64]


class Place(NamedTuple):
    """Where a tree is grown: of all rows, or below a node of another, of fractions of some rows.

    ``weight`` is that of all rows of the other tree.
    """

    depth: int
    fraction: NDArray[np.float32]
    weight: float


@contextmanager
def report_growing(n_rows: int, hook: Hook | None) -> Iterator[None]:
    """Growing the trees of so many rows, as a task of a fit."""
    growing = Progress("growing and pruning", steps=0, hook=hook)
    yield
    growing.reach(n_rows)
    growing.finish()


def grow_c45(
    rows: Encoded,
    coders: Sequence[Grid | Categories | None],
    n_classes: int,
    rules: C45Rules,
    storage: Storage,
) -> ClassTree:
    """The pruned tree of the rows."""
    groups = storage.empty(len(rows.groups), np.int64)
    groups[:] = rows.groups
    codes = storage.empty((len(coders), len(groups)), np.uint16)
    for slots, column in zip(codes, rows.codes, strict=True):
        slots[:] = column
    columns = column_table(coders, int(np.count_nonzero(rows.weight)))
    table = columns._replace(codes=codes, groups=groups, weight=rows.weight)
    pruned = grow_and_prune(table, n_classes, rules, storage)
    prune_kernels.restore(pruned.nodes, pruned.grown, pruned.keep, 0)
    return number_nodes(pruned.nodes, 0, coders, rules.alpha)


def grow_and_prune(
    table: Table, n_classes: int, rules: C45Rules, storage: Storage, place: Place | None = None
) -> Pruned:
    """The tree of all rows of a table, or that below a node."""
    nodes, n_nodes = _grow(table, n_classes, rules, storage, place)
    grown = _copy(nodes, storage) if rules.for_shares else nodes
    errors, description = storage.empty((2, n_nodes), np.float64)
    errors[:] = description[:] = np.nan
    keep = storage.zeros(n_nodes, np.bool_)
    prune_kernels.collapse(nodes, errors)
    work = prune_kernels.begin(nodes, n_nodes, storage)
    if rules.prune:
        _prune(table, nodes, work, rules, storage)
    if rules.for_shares:
        prune_kernels.worth_keeping(table, grown, description, keep)
    return Pruned(nodes, grown, keep, errors, description, work.estimate, work.staying)


def _grow(
    table: Table, n_classes: int, rules: C45Rules, storage: Storage, place: Place | None
) -> tuple[Nodes, int]:
    """All nodes of the unpruned tree, and how many there are; kernels ask for room as they go."""
    n_rows = len(table.weight)
    room = (storage.empty(n_rows, np.int64), storage.empty(n_rows, np.float64))
    # Every level of the tree has a list of all its rows.
    lists = (storage.empty(2 * n_rows, np.int32), storage.empty(2 * n_rows, np.float32))
    lists[1][:n_rows] = 1.0 if place is None else place.fraction
    nodes = plant(table, n_classes, 0 if place is None else place.depth, *lists)
    ready = ready_bits(nodes.class_weight[0].sum() if place is None else place.weight)
    at, need = np.array([0, 1, 0]), np.zeros(3, np.int64)  # the root has no test yet
    while not grow(
        table, nodes, at, rules.min_rows, rules.deepest, rules.penalty, rules.by_ratio,
        rules.ratio, ready, *room, need,
    ):  # fmt: skip
        nodes = _longer(nodes, need, storage)
    return nodes, int(at[1])


def _prune(
    table: Table, nodes: Nodes, work: prune_kernels.Work, rules: C45Rules, storage: Storage
) -> None:
    while need := prune_kernels.prune(table, nodes, work, *rules.limits, rules.raising):
        nodes = _longer(nodes, np.array([need, 0, 0]), storage)


def _copy(nodes: Nodes, storage: Storage) -> Nodes:
    """The nodes as they are; lists of rows and routes stay."""

    def copy(array: NDArray[Any]) -> NDArray[Any]:
        out = storage.empty(array.shape, array.dtype)
        out[:] = array
        return out

    changing = ("attribute", "cut", "first", "n_children", "route_start", "worth", "class_weight")
    return nodes._replace(**{name: copy(getattr(nodes, name)) for name in changing})


def _longer(nodes: Nodes, need: NDArray[np.int64], storage: Storage) -> Nodes:
    """The nodes with lists of rows, arrays of nodes and routes so long, or longer."""

    def longer(name: str, array: NDArray[Any]) -> NDArray[Any]:
        kind = 0 if name in ("members", "fraction") else 2 if name == "route" else 1
        n = len(array)
        if need[kind] <= n:
            return array
        out = storage.empty((max(int(need[kind]), 2 * n), *array.shape[1:]), array.dtype)
        out[:n] = array
        return out

    return nodes._replace(**{name: longer(name, array) for name, array in nodes._asdict().items()})


def column_table(coders: Sequence[Grid | Categories | None], n_rows: int) -> Table:
    """What a table of so many rows says of its columns; the rows are still to come."""
    grids = [c if isinstance(c, Grid) else Grid(0, np.empty(0), np.empty(0)) for c in coders]
    sizes = np.array(coder_sizes(coders), dtype=np.int64)
    numeric = np.array([isinstance(coder, Grid) for coder in coders])
    few = numeric | (sizes < MANY_VALUES * n_rows)
    return Table(
        codes=np.empty((len(coders), 0), np.uint16),
        sizes=sizes,
        numeric=numeric,
        ordinary=few if few.any() else np.ones_like(few),
        edges=np.cumsum([0, *(grid.size for grid in grids)], dtype=np.int64),
        low=np.concatenate([grid.low for grid in grids]),
        high=np.concatenate([grid.high for grid in grids]),
        groups=np.empty(0, np.int64),
        weight=np.empty(0),
    )


def number_nodes(
    nodes: Nodes, root: int, coders: Sequence[Grid | Categories | None], alpha: float
) -> ClassTree:
    """The nodes that pruning left of a tree, parents before children, on one numbering of rows."""
    kept: list[int] = []
    parents, depths = [], []
    pending = [(root, -1, 0)]
    while pending:
        node, parent, depth = pending.pop()
        parents.append(parent)
        depths.append(depth)
        if nodes.attribute[node] >= 0:
            first = int(nodes.first[node])
            last = first + int(nodes.n_children[node]) - 1
            pending += [(child, len(kept), depth + 1) for child in range(last, first - 1, -1)]
        kept.append(node)
    attribute = nodes.attribute[kept]
    answers = [
        _answers(nodes, node, coders[j]) if j >= 0 else np.empty(0)
        for node, j in zip(kept, attribute.tolist(), strict=True)
    ]
    numbering: list[CoarseCoder] = [
        Bins(np.unique([answers[n][0] for n in np.flatnonzero(attribute == j)]))
        if isinstance(coder, Grid)
        else coder
        for j, coder in enumerate(coders)
    ]
    class_weight = nodes.class_weight[kept]
    smooth = class_weight + alpha
    return ClassTree(
        **lay_out(numbering, attribute, answers, np.array(parents, dtype=np.intp)),
        depth=np.array(depths),
        class_weight=class_weight,
        worth=np.where(attribute >= 0, nodes.worth[kept], 0.0),
        answer=smooth / smooth.sum(axis=1, keepdims=True),
    )


def _answers(nodes: Nodes, node: int, coder: Grid | Categories | None) -> NDArray[Any]:
    """Where a numeric test cuts, or the slots of a discrete test's children."""
    if isinstance(coder, Grid):
        return coder.high[[nodes.cut[node] - 1]]
    assert coder is not None
    start = nodes.route_start[node]
    return np.flatnonzero(nodes.route[start : start + coder.size] >= 0) + 1
