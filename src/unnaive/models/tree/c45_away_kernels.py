"""Kernels for C4.5 on rows that stay where they are: leading them through a tree, summing them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.models.tree.c45_kernels import (
    Nodes,
    Table,
    best_judged,
    edges_of,
    judge,
    send,
    sides,
    weigh,
)
from unnaive.models.tree.gain_kernels import cells_of


@kernel
def lead(
    table: Table, nodes: Nodes, share: NDArray[np.float64], live: NDArray[np.bool_], top: int
) -> int:
    """Lead the rows of roots, whose lists end at ``top``, on through all live nodes (OUT).

    ``share`` is what each node gets of rows whose value its parent does not know; rows go no
    farther where it is NaN. Answers 0, or how long the lists of rows must be to go on.
    """
    for node in range(len(live)):
        first = nodes.first[node]
        if not live[node] or nodes.attribute[node] < 0 or np.isnan(share[first]):
            continue
        start, stop = nodes.start[node], nodes.stop[node]
        _, size, _ = sides(table, nodes, node, start, stop)
        edges = edges_of(size, top)
        if edges[-1] > len(nodes.members):
            return edges[-1]
        last = first + nodes.n_children[node]
        send(table, nodes, node, start, stop, share[first:last], edges)
        nodes.start[first:last], nodes.stop[first:last] = edges[:-1], edges[1:]
        top = edges[-1]
    return 0


@kernel
def weigh_nodes(
    table: Table,
    nodes: Nodes,
    some: NDArray[np.int64],
    class_weight: NDArray[np.float64],
    stay: NDArray[np.float64],
    known: NDArray[np.float64],
) -> None:
    """Add (OUT) class weights of some nodes, and of those of their rows that stay there; and the
    weight that each node of the tree has from rows whose value its parent knows.
    """
    by_class = np.empty(class_weight.shape[1])
    for i in range(len(some)):
        node = some[i]
        start, stop = nodes.start[node], nodes.stop[node]
        weigh(table, nodes.members, nodes.fraction, start, stop, by_class)
        class_weight[i] += by_class
        if nodes.attribute[node] >= 0:
            weight, _, staying = sides(table, nodes, node, start, stop)
            stay[i] += staying
            first = nodes.first[node]
            known[first : first + len(weight)] += weight


@kernel
def count_nodes(
    table: Table,
    nodes: Nodes,
    some: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Add (OUT, nodes x codes of all columns x classes) the class weights of each code."""
    for i in range(len(some)):
        start, stop = nodes.start[some[i]], nodes.stop[some[i]]
        for j in range(len(offsets) - 1):
            codes, sums = table.codes[j], out[i, offsets[j] :]
            for k in range(start, stop):
                row = nodes.members[k]
                sums[codes[row], table.groups[row]] += nodes.fraction[k] * table.weight[row]


@kernel
def best_counted_test(
    table: Table,
    sums: NDArray[np.float64],
    offsets: NDArray[np.int64],
    items: float,
    min_rows: float,
    penalty: bool,
    by_ratio: bool,
    ratio: bool,
    ready: NDArray[np.float64],
) -> tuple[int, float, int]:
    """The attribute to ask by the class weights of each code; see `best_judged`."""
    n_attributes = len(table.sizes)
    gain, info = np.zeros(n_attributes), np.zeros(n_attributes)
    possible = np.zeros(n_attributes, np.bool_)
    below, above = np.zeros(n_attributes, np.int64), np.zeros(n_attributes, np.int64)
    for j in range(n_attributes):
        cells, counts = cells_of(sums[offsets[j] : offsets[j + 1]].copy())
        gain[j], info[j], possible[j], below[j], above[j] = judge(
            table.numeric[j], cells, counts, items, min_rows, penalty, by_ratio, ready
        )
    return best_judged(table, gain, info, possible, below, above, ratio)
