"""Kernels that grow a tree test by test, with fractions of rows where values are missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.counts.coded import GRAIN  # of fractions of rows: multiples of it add exactly
from unnaive.discretize.kernels import x_log_x
from unnaive.models.tree.gain_kernels import (
    EPSILON,
    choose,
    count,
    judge_number,
    judge_values,
)


class Table(NamedTuple):
    """Encoded rows. ``codes`` is attributes x rows, 0 is missing; ``edges`` says where the cells
    of each attribute begin in ``low`` and ``high``, the least and largest value of each cell.
    """

    codes: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    ordinary: NDArray[np.bool_]
    edges: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    groups: NDArray[np.int64]
    weight: NDArray[np.float64]


class Nodes(NamedTuple):
    """Nodes level by level, children of one node side by side.

    A numeric test sends codes up to ``cut`` to the first child; a discrete one looks up the
    child's place in ``route``, from ``route_start``, -1 where a value has no child. Rows of node n
    are ``members[start[n] : stop[n]]``, each there with a ``fraction`` of its weight.
    """

    attribute: NDArray[np.int64]
    cut: NDArray[np.int64]
    first: NDArray[np.int64]
    n_children: NDArray[np.int64]
    depth: NDArray[np.int64]
    worth: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    route_start: NDArray[np.int64]
    route: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    members: NDArray[np.int32]
    fraction: NDArray[np.float32]


@kernel
def _threshold_code(table: Table, j: int, below: int, above: int) -> int:
    """The last code at or below the middle of two: a threshold is a value of the training set."""
    low, high = table.low[table.edges[j] :], table.high[table.edges[j] :]
    middle = 0.5 * high[below - 1] + 0.5 * low[above - 1]
    code = below
    while code + 1 < above and high[code] <= middle:
        code += 1
    return code


@kernel
def sides(
    table: Table, nodes: Nodes, node: int, start: int, stop: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Weight of a node's rows that go whole to each child; how many rows may go to each, those
    whose value is missing included; class weights of rows that stay, as their value has no child.
    """
    members, fraction = nodes.members, nodes.fraction
    j, n_children = nodes.attribute[node], nodes.n_children[node]
    codes, numeric, cut = table.codes[j], table.numeric[j], nodes.cut[node]
    route = nodes.route[nodes.route_start[node] :]
    known = np.zeros(n_children)
    size = np.zeros(n_children, dtype=np.int64)
    stay = np.zeros(nodes.class_weight.shape[1])
    unknown = 0
    for k in range(start, stop):
        code = codes[members[k]]
        if code == 0:
            unknown += 1
            continue
        child = (0 if code <= cut else 1) if numeric else route[code - 1]
        weight = fraction[k] * table.weight[members[k]]
        if child < 0:
            stay[table.groups[members[k]]] += weight
        else:
            known[child] += weight
            size[child] += 1
    return known, size + unknown, stay


@kernel
def shares(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of rows without a value that go to children, by the weight of those that have one."""
    total = known.sum()
    return known / total if total > 0.0 else np.full(len(known), 1.0 / len(known))


@kernel
def edges_of(size: NDArray[np.int64], top: int) -> NDArray[np.int64]:
    """Edges between lists of so many rows that begin at ``top``."""
    edges = np.full(len(size) + 1, top)
    edges[1:] += np.cumsum(size)
    return edges


@kernel
def send(
    table: Table,
    nodes: Nodes,
    node: int,
    start: int,
    stop: int,
    share: NDArray[np.float64],
    edges: NDArray[np.int64],
) -> None:
    """Append the rows of a node's children to ``members``, where edges say.

    There must be room for them; edges (IN, OUT) are then where the lists really begin and end.
    """
    members, fraction = nodes.members, nodes.fraction
    j, n_children = nodes.attribute[node], nodes.n_children[node]
    codes, numeric, cut = table.codes[j], table.numeric[j], nodes.cut[node]
    route = nodes.route[nodes.route_start[node] :]
    at = edges[:-1].copy()
    for k in range(start, stop):
        code = codes[members[k]]
        if code == 0:
            for child in range(n_children):
                part = np.floor(fraction[k] * share[child] / GRAIN + 0.5) * GRAIN
                if part > 0.0:
                    members[at[child]], fraction[at[child]] = members[k], part
                    at[child] += 1
            continue
        child = (0 if code <= cut else 1) if numeric else route[code - 1]
        if child >= 0:
            members[at[child]], fraction[at[child]] = members[k], fraction[k]
            at[child] += 1
    top = edges[0]
    for child in range(n_children):  # close the gaps that fractions of nothing left
        begin, edges[child] = edges[child], top
        for k in range(begin, at[child]):
            members[top], fraction[top] = members[k], fraction[k]
            top += 1
    edges[n_children] = top


@kernel
def weigh(
    table: Table,
    members: NDArray[np.int32],
    fraction: NDArray[np.float32],
    start: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """Class weights (OUT) of a stretch of members."""
    out[:] = 0.0
    for k in range(start, stop):
        out[table.groups[members[k]]] += fraction[k] * table.weight[members[k]]


@kernel
def judge(
    numeric: bool,
    cells: NDArray[np.int64],
    counts: NDArray[np.float64],
    items: float,
    min_rows: float,
    penalty: bool,
    by_ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[float, float, bool, int, int]:
    """Gain and split information of asking an attribute, whether it may be asked, and between which
    codes a number is cut; counts (IN) are the class weights of its codes.
    """
    if not numeric:
        gain, info, possible = judge_values(counts, items, min_rows, ready)
        return gain, info, possible, 0, 0
    gain, info, at = judge_number(counts, items, min_rows, penalty, by_ratio, ready)
    if at < 0:
        return gain, info, False, 0, 0
    return gain, info, True, cells[at], cells[at + 1]


@kernel
def best_judged(
    table: Table,
    gain: NDArray[np.float64],
    info: NDArray[np.float64],
    possible: NDArray[np.bool_],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
    ratio: bool,
) -> tuple[int, float, int]:
    """The attribute to ask by what `judge` says of all, -1 for none; what it is worth; a number's
    threshold.
    """
    best, worth = choose(gain, info, possible, table.ordinary, ratio)
    if best < 0 or not table.numeric[best]:
        return best, worth, 0
    return best, worth, _threshold_code(table, best, below[best], above[best])


@kernel
def _best_test(
    table: Table,
    rows: NDArray[np.int32],
    groups: NDArray[np.int64],
    weight: NDArray[np.float64],
    n_classes: int,
    min_rows: float,
    penalty: bool,
    by_ratio: bool,
    ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[int, float, int]:
    """The attribute to ask of these rows; see `best_judged`."""
    n_attributes = len(table.sizes)
    gain, info = np.zeros(n_attributes), np.zeros(n_attributes)
    possible = np.zeros(n_attributes, np.bool_)
    below, above = np.zeros(n_attributes, np.int64), np.zeros(n_attributes, np.int64)
    items = weight.sum()
    for j in range(n_attributes):
        cells, counts = count(table.codes[j], rows, groups, weight, table.sizes[j], n_classes)
        gain[j], info[j], possible[j], below[j], above[j] = judge(
            table.numeric[j], cells, counts, items, min_rows, penalty, by_ratio, ready
        )
    return best_judged(table, gain, info, possible, below, above, ratio)


@kernel
def may_ask(by_class: NDArray[np.float64], min_rows: float, last: bool) -> bool:
    """Whether a node of these class weights is worth a test, if it is not in the last level."""
    items = by_class.sum()
    return not (items < 2.0 * min_rows or last or by_class.max() >= items - EPSILON)


@kernel
def _route_values(
    codes: NDArray[np.uint16],
    rows: NDArray[np.int32],
    size: int,
    route: NDArray[np.int64],
    start: int,
) -> int:
    """One more route (OUT), from ``start``: a child for each value of these rows; how many."""
    routes = route[start : start + size]
    routes[:] = -1
    for row in rows:
        if codes[row]:
            routes[codes[row] - 1] = 0
    n_children = 0
    for value in range(size):
        if routes[value] == 0:
            routes[value] = n_children
            n_children += 1
    return n_children


@kernel
def plant(
    table: Table,
    n_classes: int,
    depth: int,
    members: NDArray[np.int32],
    fraction: NDArray[np.float32],
) -> Nodes:
    """The root, in this depth: all rows that weigh something, first in the lists of rows (OUT)."""
    n_rows = 0
    for i in range(len(table.weight)):
        if table.weight[i] > 0.0:
            members[n_rows], fraction[n_rows] = i, fraction[i]
            n_rows += 1
    nodes = Nodes(
        np.full(64, -1), np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64),
        np.full(64, depth), np.zeros(64), np.zeros((64, n_classes)), np.zeros(64, np.int64),
        np.zeros(64, np.int64), np.zeros(64, np.int64), np.full(64, n_rows), members, fraction,
    )  # fmt: skip
    weigh(table, members, fraction, 0, n_rows, nodes.class_weight[0])
    return nodes


@kernel
def ready_bits(weight: float) -> NDArray[np.float64]:
    """The bits of whole numbers up to a weight, as far as a table is worth it."""
    ready = np.zeros(int(min(weight, 65536.0)) + 2)
    for k in range(2, len(ready)):
        ready[k] = x_log_x(float(k))
    return ready


@kernel
def grow(
    table: Table,
    nodes: Nodes,
    at: NDArray[np.int64],
    min_rows: float,
    max_depth: int,
    penalty: bool,
    by_ratio: bool,
    ratio: bool,
    ready: NDArray[np.float64],
    groups: NDArray[np.int64],
    weight: NDArray[np.float64],
    need: NDArray[np.int64],
) -> bool:
    """Grow the unpruned tree from where it stands, until it is whole or something has no room.

    at (IN, OUT) says where: the node to go on with, how many nodes and routes there are. groups and
    weight are room for those of one node's rows. Answers whether the tree is whole; if not, need
    (OUT) says how long the lists of rows, the nodes and the routes must be to go on.
    """
    n_classes = nodes.class_weight.shape[1]
    widest = max(2, table.sizes.max()) if len(table.sizes) else 2
    node, n_nodes, n_routes = at
    while node < n_nodes:
        start, stop = nodes.start[node], nodes.stop[node]
        need[0], need[1], need[2] = 0, n_nodes + widest, n_routes + widest
        short = need[1] > len(nodes.attribute) or need[2] > len(nodes.route)
        if nodes.attribute[node] < 0 and not short:  # otherwise it has its test, but found no room
            last = nodes.depth[node] == max_depth
            if not may_ask(nodes.class_weight[node], min_rows, last):
                node += 1
                continue
            rows = nodes.members[start:stop]
            for k in range(len(rows)):
                groups[k] = table.groups[rows[k]]
                weight[k] = nodes.fraction[start + k] * table.weight[rows[k]]
            j, worth, cut = _best_test(
                table, rows, groups[: len(rows)], weight[: len(rows)], n_classes,
                min_rows, penalty, by_ratio, ratio, ready,
            )  # fmt: skip
            if j < 0:
                node += 1
                continue
            nodes.attribute[node], nodes.worth[node], nodes.cut[node] = j, worth, cut
            nodes.first[node], nodes.n_children[node] = n_nodes, 2
            if not table.numeric[j]:
                nodes.route_start[node], size = n_routes, table.sizes[j]
                nodes.n_children[node] = _route_values(
                    table.codes[j], rows, size, nodes.route, n_routes
                )
                n_routes += size
        if not short:
            known, size, _ = sides(table, nodes, node, start, stop)
            edges = edges_of(size, nodes.stop[n_nodes - 1])
            need[0] = edges[-1]
        if short or need[0] > len(nodes.members):
            at[0], at[1], at[2] = node, n_nodes, n_routes
            return False
        send(table, nodes, node, start, stop, shares(known), edges)
        for k in range(nodes.n_children[node]):
            child = nodes.first[node] + k
            nodes.attribute[child], nodes.depth[child] = -1, nodes.depth[node] + 1
            nodes.start[child], nodes.stop[child] = edges[k], edges[k + 1]
            by_class = nodes.class_weight[child]
            weigh(table, nodes.members, nodes.fraction, edges[k], edges[k + 1], by_class)
        n_nodes += nodes.n_children[node]
        node += 1
    at[0], at[1], at[2] = node, n_nodes, n_routes
    return True
