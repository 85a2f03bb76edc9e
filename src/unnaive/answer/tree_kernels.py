"""Kernels that route rows through trees and forests, and score them where they stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.density.kernels import look_up

WORD = 32  # slots of a category in one word of a route


class Routing(NamedTuple):
    """Tests and branches of a tree; see `Tree`. ``unseen`` is the last slot of each attribute."""

    attribute: NDArray[np.intp]
    numeric: NDArray[np.bool_]
    unseen: NDArray[np.intp]
    child_start: NDArray[np.intp]
    child: NDArray[np.intp]
    route_start: NDArray[np.intp]
    route: NDArray[np.intp]


class DensityTables(NamedTuple):
    """Kernel densities of one attribute, nodes x classes; see `Densities`. None end at 0."""

    start: NDArray[np.float64]
    per_step: NDArray[np.float64]
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    logs: NDArray[np.float64]


@kernel
def follow(routing: Routing, node: int, slot: int) -> int:
    """Return the child that a slot of the node's attribute leads to, -1 where it has none."""
    j, start = routing.attribute[node], routing.route_start[node]
    if slot == 0 or slot == routing.unseen[j]:
        return -1
    first, end = routing.child_start[node], routing.child_start[node + 1]
    if not routing.numeric[j]:
        place = routing.route[start + slot - 1]
        return -1 if place < 0 else routing.child[first + place]
    while first < end - 1 and slot > routing.route[start]:
        first += 1
        start += 1
    return routing.child[first]


@kernel
def arrive(slots: NDArray[np.uint16], routing: Routing, node: NDArray[np.intp]) -> None:
    """Find the node where each row (IN, slots of all attributes) stops (OUT)."""
    for i in range(slots.shape[0]):
        at = 0
        while routing.attribute[at] >= 0:
            child = follow(routing, at, slots[i, routing.attribute[at]])
            if child < 0:
                break  # missing, or a value this node has no child for
            at = child
        node[i] = at


@kernel
def add_evidence(
    slots: NDArray[np.uint16],
    node: NDArray[np.intp],
    offsets: NDArray[np.intp],
    place: NDArray[np.int32],
    logs: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> None:
    """Add to each row (OUT) the evidence of its slots at its node, attribute by attribute."""
    n_classes = joint.shape[1]
    for i in range(slots.shape[0]):
        places = place[node[i]]
        if n_classes == 2:  # the most common case: no inner loop
            first, second = joint[i, 0], joint[i, 1]
            for j in range(slots.shape[1]):
                at = places[offsets[j] + slots[i, j]]
                first += logs[at, 0]
                second += logs[at, 1]
            joint[i, 0], joint[i, 1] = first, second
            continue
        for j in range(slots.shape[1]):
            at = places[offsets[j] + slots[i, j]]
            for c in range(n_classes):
                joint[i, c] += logs[at, c]


@kernel
def add_densities(
    values: NDArray[np.float64],
    node: NDArray[np.intp],
    low: float,
    half_range: float,
    tables: DensityTables,
    scores: NDArray[np.float64],
) -> None:
    """Add to each row (OUT) the log density of one number at its node; none where it is missing."""
    inverse = 1.0 / half_range
    for i in range(len(values)):
        if np.isnan(values[i]):
            continue
        n = node[i]
        for c in range(scores.shape[1]):
            if tables.last[n, c] > 0:
                table = tables.logs[tables.first[n, c] : tables.last[n, c]]
                scale, shift = inverse * tables.per_step[n, c], tables.start[n, c]
                x = (0.5 * values[i] - 0.5 * low) * scale - shift * tables.per_step[n, c]
                scores[i, c] += look_up(x, table)


@kernel
def find_ends(
    slots: NDArray[np.uint16],
    routing: Routing,
    share: NDArray[np.float64],
    at: NDArray[np.intp],
    part: NDArray[np.float64],
) -> int:
    """Find the nodes where one row stops, and the share of it that does (OUT, from the end back).

    A row goes to all children, by their shares, where its value is missing or was never seen; it
    stops where its value has no child. ``at`` and ``part`` have room for every node: those that
    wait are kept from the front, those that are found from the end.
    """
    at[0], part[0], pending, ended = 0, 1.0, 1, 0
    while pending:
        pending -= 1
        node, weight = at[pending], part[pending]
        split = False
        while routing.attribute[node] >= 0:
            j = routing.attribute[node]
            child = follow(routing, node, slots[j])
            if child < 0:
                split = slots[j] == 0 or slots[j] == routing.unseen[j]
                break
            node = child
        if split:
            for k in range(routing.child_start[node], routing.child_start[node + 1]):
                at[pending], part[pending] = routing.child[k], weight * share[routing.child[k]]
                pending += 1
        else:
            ended += 1
            at[len(at) - ended], part[len(at) - ended] = node, weight
    return ended


@kernel
def add_shares(
    slots: NDArray[np.uint16],
    routing: Routing,
    share: NDArray[np.float64],
    answer: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to each row (OUT, rows x classes) the answers of the nodes it reaches, by its share."""
    n = len(routing.attribute)
    at, part = np.empty(n, dtype=np.intp), np.empty(n)
    for i in range(slots.shape[0]):
        for k in range(n - 1, n - 1 - find_ends(slots[i], routing, share, at, part), -1):
            for c in range(out.shape[1]):
                out[i, c] += part[k] * answer[at[k], c]


@kernel
def list_ends(
    slots: NDArray[np.uint16],
    routing: Routing,
    share: NDArray[np.float64],
    rows: NDArray[np.intp],
    nodes: NDArray[np.intp],
    shares: NDArray[np.float64],
) -> int:
    """Return how many nodes all rows stop at; list row, node and share of each (OUT, if room)."""
    n, filled = len(routing.attribute), 0
    at, part = np.empty(n, dtype=np.intp), np.empty(n)
    for i in range(slots.shape[0]):
        for k in range(n - 1, n - 1 - find_ends(slots[i], routing, share, at, part), -1):
            if filled < len(rows):
                rows[filled], nodes[filled], shares[filled] = i, at[k], part[k]
            filled += 1
    return filled


@kernel
def add_changes(
    rows: NDArray[np.intp],
    nodes: NDArray[np.intp],
    shares: NDArray[np.float64],
    parent: NDArray[np.intp],
    attribute: NDArray[np.intp],
    answer: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add, by the column that is tested, how class shares change on the way of each row (OUT).

    Where rows stop (IN) is one entry for each row, node and share, row by row. Every node that a
    row passes is visited once, children before parents, however many of its ends are below it.
    """
    passing, visited = np.zeros(len(parent)), np.zeros(len(parent), dtype=np.bool_)
    passed = np.empty(len(parent), dtype=np.intp)
    i = 0
    while i < len(rows):
        row, n = rows[i], 0
        while i < len(rows) and rows[i] == row:
            node = nodes[i]
            passing[node] += shares[i]
            while node >= 0 and not visited[node]:
                visited[node] = True
                passed[n] = node
                n += 1
                node = parent[node]
            i += 1
        for node in np.sort(passed[:n])[::-1]:
            share, above = passing[node], parent[node]
            passing[node], visited[node] = 0.0, False
            if above >= 0:
                passing[above] += share
                for c in range(answer.shape[1]):
                    change = answer[node, c] - answer[above, c]
                    out[row, attribute[above], c] += share * change


# Forests ----------------------------------------------------------------------------------------


class ForestArrays(NamedTuple):
    """All trees; see `Forest`. ``first_child`` is -1 for a leaf, whose entries begin at
    ``first_entry`` and end where those of the next node begin.
    """

    start: NDArray[np.int64]
    attribute: NDArray[np.int32]
    numeric: NDArray[np.bool_]
    test: NDArray[np.int32]
    missing_first: NDArray[np.bool_]
    route: NDArray[np.uint32]
    first_child: NDArray[np.int64]
    first_entry: NDArray[np.int64]
    entry_class: NDArray[np.uint16]
    entry_share: NDArray[np.float64]
    rest: NDArray[np.float64]


@kernel(inline="always")
def child_of(trees: ForestArrays, node: int, slot: int) -> int:
    """Return the child that a slot of the node's column leads to."""
    if trees.numeric[trees.attribute[node]]:
        first = slot <= trees.test[node] if slot else trees.missing_first[node]
    else:
        word = trees.route[trees.test[node] + slot // WORD]
        first = (word >> np.uint32(slot % WORD)) & np.uint32(1) != 0
    return trees.first_child[node] + (0 if first else 1)


@kernel
def find_leaves(
    slots: NDArray[np.uint16], trees: ForestArrays, tree: int, leaf: NDArray[np.int64]
) -> None:
    """Find the leaf where each row (IN, slots of all columns) ends in one tree (OUT)."""
    for i in range(slots.shape[0]):
        node = trees.start[tree]
        while trees.first_child[node] >= 0:
            node = child_of(trees, node, slots[i, trees.attribute[node]])
        leaf[i] = node


@kernel
def add_leaves(
    leaf: NDArray[np.int64],
    trees: ForestArrays,
    judged: NDArray[np.bool_],
    out: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> None:
    """Add the class shares of each row's leaf (OUT, rows x classes), and what they leave (OUT).

    Only rows that are ``judged``.
    """
    for i in range(len(leaf)):
        if judged[i]:
            node = leaf[i]
            rest[i] += trees.rest[node]
            for k in range(trees.first_entry[node], trees.first_entry[node + 1]):
                out[i, trees.entry_class[k]] += trees.entry_share[k]


@kernel
def node_answers(
    trees: ForestArrays,
    tree: int,
    weight: NDArray[np.float64],
    alpha: float,
    prior: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Compute class probabilities at every node of one tree (OUT, its nodes x classes).

    ``weight`` (IN) are the weights of the entries; a node has those of all leaves below it.
    """
    begin, end = trees.start[tree], trees.start[tree + 1]
    out[:] = 0.0
    for node in range(end - 1, begin - 1, -1):  # children come after their parents
        answer = out[node - begin]
        if trees.first_child[node] >= 0:
            child = trees.first_child[node] - begin
            answer[:] = out[child] + out[child + 1]
        else:
            for k in range(trees.first_entry[node], trees.first_entry[node + 1]):
                answer[trees.entry_class[k]] += weight[k]
    for node in range(end - begin):
        total = out[node].sum() + alpha
        for c in range(out.shape[1]):
            out[node, c] = (out[node, c] + alpha * prior[c]) / total


@kernel
def add_forest_changes(
    slots: NDArray[np.uint16],
    trees: ForestArrays,
    tree: int,
    answers: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add to the columns of each row (OUT, rows x columns x classes) how their tests in one tree
    change its probabilities (IN, its nodes x classes), from the root to the leaf.
    """
    begin = trees.start[tree]
    for i in range(slots.shape[0]):
        node = begin
        while trees.first_child[node] >= 0:
            j = trees.attribute[node]
            child = child_of(trees, node, slots[i, j])
            for c in range(out.shape[2]):
                out[i, j, c] += answers[child - begin, c] - answers[node - begin, c]
            node = child
