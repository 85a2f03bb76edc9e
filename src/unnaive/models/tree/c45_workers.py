"""What workers do for C4.5 on rows that stay with them.

Where a row is follows from its codes and the tree so far, so that nothing is kept of it between
passes: rows are led from the roots to the nodes that a pass asks for. Sums are exact, and so those
of all rows, because weights are whole numbers and fractions of rows multiples of 2**-20.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Categories, Grid, Labels
from unnaive.encode.coding import coder_sizes
from unnaive.models._halves import in_second_half
from unnaive.models.tree import c45_away_kernels as kernels
from unnaive.models.tree.c45 import C45Rules, Place, Pruned, grow_and_prune
from unnaive.models.tree.c45_kernels import Nodes, Table
from unnaive.models.tree.classifier import encode_block
from unnaive.table import Block
from unnaive.table.storage import Storage, join_records, stretches

ROOM = 8  # lists of rows in so many levels, at first
_BY_NODE = (
    "attribute", "cut", "first", "n_children", "depth", "worth", "class_weight", "route_start",
)  # fmt: skip
NO_ROUTE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class C45Rows:
    """Coded rows of one block; ``weight`` is empty where all are 1, ``second`` is their half."""

    PER_ROW: ClassVar = {"codes": 0, "groups": 0, "weight": 0, "second": 0}

    codes: list[NDArray[Any]]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    second: NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        return len(self.groups)


def _table(
    columns: Table, codes: list[NDArray[Any]], groups: NDArray[Any], weight: NDArray[Any]
) -> Table:
    """Rows as kernels take them."""
    slots = np.empty((len(codes), len(groups)), np.uint16)
    for row, column in zip(slots, codes, strict=True):
        row[:] = column
    weights = weight.astype(np.float64) if len(weight) else np.ones(len(groups))
    return columns._replace(codes=slots, groups=groups.astype(np.int64), weight=weights)


class Tally(NamedTuple):
    """What is known of rows when they are coded: how many there are, how many in the second half,
    how many have a weight that is no whole number; and the weight of all rows and of both halves.
    """

    n_rows: int
    n_second: int
    n_broken: int
    weight: NDArray[np.float64]

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]
        return Tally._make(map(operator.add, self, other))


def code_rows(
    coders: list[Grid | Categories | None],
    labels: Labels,
    class_weight: NDArray[np.float64],
    block: Block,
) -> tuple[C45Rows, Tally]:
    """The rows of a block, and what is known of them."""
    coded, second = encode_block(block, coders, labels, class_weight), in_second_half(block.row_ids)
    codes = [
        column.astype(np.uint8 if size < 256 else np.uint16, copy=False)
        for column, size in zip(coded.codes, coder_sizes(coders), strict=True)
    ]
    weight = coded.weight
    broken = np.count_nonzero((weight != np.floor(weight)) | (weight < 1.0))
    totals = np.array([part.sum() for part in (weight, weight[~second], weight[second])])
    tally = Tally(len(weight), int(np.count_nonzero(second)), int(broken), totals)
    groups = coded.groups.astype(np.min_scalar_type(len(labels)))
    return C45Rows(codes, groups, np.empty(0) if (weight == 1).all() else weight, second), tally


class Paths(NamedTuple):
    """Trees through which rows are led: one of all rows, and more of one or both halves.

    ``share`` and ``live`` are as `lead` takes them.
    """

    columns: Table
    nodes: Nodes
    share: NDArray[np.float64]
    live: NDArray[np.bool_]
    n_roots: int


def _lead(paths: Paths, rows: C45Rows) -> Iterator[tuple[Table, Nodes]]:
    """Some rows of a record at a time, led to all live nodes and their children."""
    columns = Table(*map(np.array, paths.columns))  # what comes by a message may be read-only
    sent, share, live = Nodes(*map(np.array, paths.nodes)), *map(np.array, paths[2:4])
    for part in stretches(rows.n_rows):
        codes, second = [column[part] for column in rows.codes], rows.second[part]
        table = _table(columns, codes, rows.groups[part], rows.weight[part])
        all_rows = np.arange(len(second))
        of_roots = [all_rows, all_rows[~second], all_rows[second]][: paths.n_roots]
        edges, members = np.cumsum([0, *map(len, of_roots)]), np.concatenate(of_roots)
        need, room = 1, ROOM * len(members)
        while need:
            nodes = sent._replace(
                start=np.zeros(len(live), np.int64),
                stop=np.zeros(len(live), np.int64),
                members=np.empty(room, np.int32),
                fraction=np.empty(room, np.float32),
            )
            nodes.members[: edges[-1]], nodes.fraction[: edges[-1]] = members, 1.0
            nodes.start[: paths.n_roots], nodes.stop[: paths.n_roots] = edges[:-1], edges[1:]
            need = kernels.lead(table, nodes, share, live, edges[-1])
            room = max(need, 2 * room)
        yield table, nodes


class Sums(NamedTuple):
    """Sums of rows: class weights of nodes and of rows that stay there, the weight that each node
    of a tree has from rows whose value its parent knows, and (if these are asked for) nodes x codes
    of all columns x classes.
    """

    class_weight: NDArray[np.float64]
    stay: NDArray[np.float64]
    known: NDArray[np.float64]
    tables: NDArray[np.float64]

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return Sums._make(map(operator.add, self, other))


def sum_nodes(
    paths: Paths, some: NDArray[np.int64], offsets: NDArray[np.int64] | None, rows: C45Rows, _: Any
) -> Sums:
    """The sums of some nodes; ``offsets`` say where the codes of columns begin in tables."""
    shape = (len(some), paths.nodes.class_weight.shape[1])
    tables = np.zeros((0, 0, 0) if offsets is None else (shape[0], offsets[-1], shape[1]))
    sums = Sums(np.zeros(shape), np.zeros(shape), np.zeros(len(paths.live)), tables)
    for table, nodes in _lead(paths, rows):
        kernels.weigh_nodes(table, nodes, some, *sums[:3])
        if offsets is not None:
            kernels.count_nodes(table, nodes, some, offsets, sums.tables)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class NodeRows:
    """Rows of some nodes, each there with a fraction of its weight."""

    PER_ROW: ClassVar = {"codes": 0, "groups": 0, "weight": 0, "fraction": 0, "node": 0}

    codes: list[NDArray[Any]]
    groups: NDArray[Any]
    weight: NDArray[np.uint32]
    fraction: NDArray[np.float32]
    node: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        return len(self.groups)


def rows_of_nodes(paths: Paths, some: NDArray[np.int64], rows: C45Rows, _state: Any) -> NodeRows:
    """The rows of a record that are in some nodes; one may be in several."""
    parts = []
    for part, (table, nodes) in zip(stretches(rows.n_rows), _lead(paths, rows), strict=True):
        start, stop = nodes.start[some], nodes.stop[some]
        places = np.concatenate([np.arange(a, b) for a, b in zip(start, stop, strict=True)])
        members = nodes.members[places]
        parts.append(
            NodeRows(
                [column[part][members] for column in rows.codes],
                rows.groups[part][members],
                table.weight[members].astype(np.uint32),
                nodes.fraction[places],
                np.repeat(some.astype(np.int32), stop - start),
            )
        )
    return join_records(parts)


def place_rows(
    some: NDArray[np.int64], place: NDArray[np.uint64], rows: NodeRows
) -> NDArray[np.uint64]:
    """Where rows of some nodes belong."""
    return place[np.searchsorted(some, rows.node)]


class Beneath(NamedTuple):
    """Nodes below which trees are finished: their number and depth, which columns are ordinary,
    and the weight of all rows of the tree.
    """

    node: NDArray[np.int64]
    depth: NDArray[np.int64]
    ordinary: NDArray[np.bool_]
    weight: NDArray[np.float64]


def finish_nodes(
    columns: Table, beneath: Beneath, n_classes: int, rules: C45Rules, rows: NodeRows, _: Any
) -> dict[int, Pruned]:
    """The trees below nodes, all rows of which are here."""
    columns, order = Table(*map(np.array, columns)), np.argsort(rows.node, kind="stable")
    numbers, starts = np.unique(rows.node[order], return_index=True)
    trees = {}
    for node, some in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        i = int(np.searchsorted(beneath.node, node))
        columns = columns._replace(ordinary=beneath.ordinary[i].copy())
        codes = [column[some] for column in rows.codes]
        table = _table(columns, codes, rows.groups[some], rows.weight[some])
        place = Place(int(beneath.depth[i]), rows.fraction[some], float(beneath.weight[i]))
        trees[node] = _compact(grow_and_prune(table, n_classes, rules, Storage(), place), table)
    return trees


def _compact(pruned: Pruned, table: Table) -> Pruned:
    """A tree without nodes that neither pruning nor tests that are worth keeping lead to.

    Where the children of a grown node are no longer here, the first of them is -1.
    """
    nodes, grown, keep = pruned[:3]
    needed, pending = np.zeros(len(keep), bool), [0]
    needed[0] = True
    while pending:
        node = pending.pop()
        for tree, asks in ((nodes, nodes.attribute[node] >= 0), (grown, keep[node])):
            if asks and not needed[tree.first[node]]:
                children = range(tree.first[node], tree.first[node] + tree.n_children[node])
                needed[children] = True
                pending += children
    kept, place = np.flatnonzero(needed), np.cumsum(needed) - 1
    routes, ends = [NO_ROUTE], [0]
    moved: dict[int, int] = {}  # where routes begin, by where they began

    def shorten(tree: Nodes, asks: NDArray[np.bool_]) -> Nodes:
        attribute = np.where(asks, tree.attribute[kept], -1)
        route_start = np.zeros(len(kept), np.int64)
        for i in np.flatnonzero(asks & ~table.numeric[attribute]):
            start = int(tree.route_start[kept[i]])
            if start not in moved:
                moved[start] = ends[-1]
                routes.append(tree.route[start : start + table.sizes[attribute[i]]])
                ends.append(ends[-1] + len(routes[-1]))
            route_start[i] = moved[start]
        first = np.where(tree.attribute[kept] >= 0, tree.first[kept], 0)  # a leaf's may be anything
        first = np.where(needed[first], place[first], -1)
        new = {"attribute": attribute, "first": first, "route_start": route_start}
        lists = {name: getattr(tree, name)[:0] for name in ("start", "stop", "members", "fraction")}
        return select_nodes(tree, kept)._replace(**new, **lists)

    nodes = shorten(nodes, nodes.attribute[kept] >= 0)
    grown = shorten(grown, keep[kept])
    route = np.concatenate(routes)
    nodes, grown = nodes._replace(route=route), grown._replace(route=route)
    return Pruned._make((nodes, grown, *(array[kept] for array in pruned[2:])))


def count_children(
    sums: NDArray[np.float64], cut: int, numeric: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Class weights of children from those of a column's codes, and the route to them."""
    if numeric:
        return np.stack([sums[1 : cut + 1].sum(axis=0), sums[cut + 1 :].sum(axis=0)]), NO_ROUTE
    occurs = sums[1:].any(axis=1)
    return sums[1:][occurs], np.where(occurs, np.cumsum(occurs) - 1, -1)


def portions(weight: dict[int, float], most: float) -> Iterator[NDArray[np.int64]]:
    """Nodes in ascending order, so many at a time as weigh no more than ``most``, or one."""
    nodes: list[int] = []
    total = 0.0
    for node in sorted(weight):
        if nodes and total + weight[node] > most:
            yield np.array(nodes)
            nodes, total = [], 0.0
        nodes.append(node)
        total += weight[node]
    yield np.array(nodes)


def blank_nodes(n: int, n_classes: int, depth: int) -> Nodes:
    """So many nodes without a test."""
    zeros = np.zeros((4, n), np.int64)
    return Nodes(
        np.full(n, -1), zeros[0], zeros[1], zeros[2], np.full(n, depth), np.zeros(n),
        np.zeros((n, n_classes)), zeros[3], NO_ROUTE, NO_ROUTE, NO_ROUTE, np.empty(0, np.int32),
        np.empty(0, np.float32),
    )  # fmt: skip


def select_nodes(nodes: Nodes, some: Any) -> Nodes:
    """Some nodes; they still name their children as before."""
    return nodes._replace(**{name: getattr(nodes, name)[some] for name in _BY_NODE})


def join_nodes(parts: Sequence[Nodes]) -> Nodes:
    """Nodes and routes one after the other."""
    return Nodes._make(map(np.concatenate, zip(*parts, strict=True)))
