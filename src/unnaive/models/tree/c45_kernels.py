"""Kernels that grow a tree test by test, with fractions of rows where values are missing."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unnaive.counts import GRAIN  # of fractions of rows: multiples of it add exactly
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


@njit(cache=True, nogil=True)
def longer(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array, or a copy with room for n items and more."""
    if n <= len(array):
        return array
    out = np.empty((max(n, 2 * len(array)), *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


@njit(cache=True, nogil=True)
def _room(nodes: Nodes, n: int, route: NDArray[np.int64]) -> Nodes:
    """The nodes with room for n of them."""
    return Nodes(
        longer(nodes.attribute, n),
        longer(nodes.cut, n),
        longer(nodes.first, n),
        longer(nodes.n_children, n),
        longer(nodes.depth, n),
        longer(nodes.worth, n),
        longer(nodes.class_weight, n),
        longer(nodes.route_start, n),
        route,
        longer(nodes.start, n),
        longer(nodes.stop, n),
        nodes.members,
        nodes.fraction,
    )


@njit(cache=True, nogil=True)
def with_members(nodes: Nodes, members: NDArray[np.int32], fraction: NDArray[np.float32]) -> Nodes:
    """The same nodes over other lists of rows."""
    return Nodes(
        nodes.attribute,
        nodes.cut,
        nodes.first,
        nodes.n_children,
        nodes.depth,
        nodes.worth,
        nodes.class_weight,
        nodes.route_start,
        nodes.route,
        nodes.start,
        nodes.stop,
        members,
        fraction,
    )


@njit(cache=True, nogil=True)
def _threshold_code(table: Table, j: int, below: int, above: int) -> int:
    """The last code at or below the middle of two: a threshold is a value of the training set."""
    low, high = table.low[table.edges[j] :], table.high[table.edges[j] :]
    middle = 0.5 * high[below - 1] + 0.5 * low[above - 1]
    code = below
    while code + 1 < above and high[code] <= middle:
        code += 1
    return code


@njit(cache=True, nogil=True)
def send(
    table: Table, nodes: Nodes, node: int, start: int, stop: int, top: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]:
    """Rows of a node to its children: known ones whole, unknown ones in shares of the known.

    Children's rows are appended to ``members`` from ``top`` on (arrays are returned, they may have
    been copied), with the edges between children, and the class weights of rows that stay because
    their value has no child.
    """
    members, fraction = nodes.members, nodes.fraction
    j, n_children = nodes.attribute[node], nodes.n_children[node]
    codes, numeric, cut = table.codes[j], table.numeric[j], nodes.cut[node]
    route = nodes.route[nodes.route_start[node] :]
    share = np.zeros(n_children)
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
            share[child] += weight
            size[child] += 1
    known = share.sum()
    edges = np.empty(n_children + 1, dtype=np.int64)
    edges[0] = top
    for child in range(n_children):
        share[child] = share[child] / known if known > 0.0 else 1.0 / n_children
        edges[child + 1] = edges[child] + size[child] + unknown
    members, fraction = longer(members, edges[-1]), longer(fraction, edges[-1])
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
    for child in range(n_children):  # close the gaps that fractions of nothing left
        begin, edges[child] = edges[child], top
        for k in range(begin, at[child]):
            members[top], fraction[top] = members[k], fraction[k]
            top += 1
    edges[n_children] = top
    return members, fraction, edges, stay


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _best_test(
    table: Table,
    rows: NDArray[np.int32],
    groups: NDArray[np.int64],
    weight: NDArray[np.float64],
    n_classes: int,
    min_rows: float,
    penalty: bool,
    ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[int, float, int]:
    """The attribute to ask of these rows, -1 for none; what it is worth; a number's threshold."""
    n_attributes = len(table.sizes)
    gain, info = np.zeros(n_attributes), np.zeros(n_attributes)
    possible, cut = np.zeros(n_attributes, np.bool_), np.zeros(n_attributes, np.int64)
    items = weight.sum()
    for j in range(n_attributes):
        cells, counts = count(table.codes[j], rows, groups, weight, table.sizes[j], n_classes)
        if not table.numeric[j]:
            gain[j], info[j], possible[j] = judge_values(counts, items, min_rows, ready)
            continue
        gain[j], info[j], at = judge_number(counts, items, min_rows, penalty, ready)
        if at >= 0:
            possible[j] = True
            cut[j] = _threshold_code(table, j, cells[at], cells[at + 1])
    best, worth = choose(gain, info, possible, table.ordinary, ratio)
    return best, worth, cut[best]


@njit(cache=True, nogil=True)
def _route_values(
    codes: NDArray[np.uint16],
    rows: NDArray[np.int32],
    size: int,
    route: NDArray[np.int64],
    start: int,
) -> tuple[NDArray[np.int64], int]:
    """The routes with one more, from ``start``: a child for each value of these rows; how many."""
    route = longer(route, start + size)
    own = route[start : start + size]
    own[:] = -1
    for row in rows:
        if codes[row]:
            own[codes[row] - 1] = 0
    n_children = 0
    for value in range(size):
        if own[value] == 0:
            own[value] = n_children
            n_children += 1
    return route, n_children


@njit(cache=True, nogil=True)
def grow(
    table: Table,
    everyone: NDArray[np.int32],
    n_classes: int,
    min_rows: float,
    max_depth: int,
    penalty: bool,
    ratio: bool,
) -> tuple[Nodes, int]:
    """All nodes of the unpruned tree of the rows ``everyone``, and how many there are."""
    n_rows = len(everyone)
    nodes = Nodes(
        np.full(64, -1), np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64),
        np.zeros(64, np.int64), np.zeros(64), np.zeros((64, n_classes)), np.zeros(64, np.int64),
        np.zeros(64, np.int64), np.zeros(64, np.int64), np.full(64, n_rows), everyone.copy(),
        np.ones(n_rows, np.float32),
    )  # fmt: skip
    weigh(table, nodes.members, nodes.fraction, 0, n_rows, nodes.class_weight[0])
    ready = np.zeros(int(min(nodes.class_weight[0].sum(), 65536.0)) + 2)
    for k in range(2, len(ready)):
        ready[k] = x_log_x(float(k))
    groups, weight = np.empty(n_rows, np.int64), np.empty(n_rows)
    n_nodes, n_routes, node = 1, 0, -1
    while node + 1 < n_nodes:
        node += 1
        own, start, stop = nodes.class_weight[node], nodes.start[node], nodes.stop[node]
        items = own.sum()
        few = items < 2.0 * min_rows or nodes.depth[node] == max_depth
        if few or own.max() >= items - EPSILON:
            continue
        rows = nodes.members[start:stop]
        for k in range(len(rows)):
            groups[k] = table.groups[rows[k]]
            weight[k] = nodes.fraction[start + k] * table.weight[rows[k]]
        j, worth, cut = _best_test(
            table, rows, groups[: len(rows)], weight[: len(rows)], n_classes,
            min_rows, penalty, ratio, ready,
        )  # fmt: skip
        if j < 0:
            continue
        nodes.attribute[node], nodes.worth[node], nodes.cut[node] = j, worth, cut
        route, n_children = nodes.route, 2
        if not table.numeric[j]:
            nodes.route_start[node] = n_routes
            route, n_children = _route_values(table.codes[j], rows, table.sizes[j], route, n_routes)
            n_routes += table.sizes[j]
        nodes.first[node], nodes.n_children[node] = n_nodes, n_children
        top = nodes.stop[n_nodes - 1]
        n_nodes += n_children
        nodes = _room(nodes, n_nodes, route)
        members, fraction, edges, _ = send(table, nodes, node, start, stop, top)
        nodes = with_members(nodes, members, fraction)
        for k in range(n_children):
            child = nodes.first[node] + k
            nodes.attribute[child], nodes.depth[child] = -1, nodes.depth[node] + 1
            nodes.start[child], nodes.stop[child] = edges[k], edges[k + 1]
            weigh(table, members, fraction, edges[k], edges[k + 1], nodes.class_weight[child])
    return nodes, n_nodes
