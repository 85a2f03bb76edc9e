"""Kernels that grow one randomised tree, level by level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.tree_kernels import WORD
from unnaive.common.kernels import kernel
from unnaive.encode.draws import bits_at
from unnaive.models.tree.forest_cut_kernels import NodeRows, best_cut, make_room, rank_values


class ForestRows(NamedTuple):
    """Coded rows. ``codes`` is columns x rows; ``sizes`` counts each column's values."""

    codes: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    groups: NDArray[np.uint16]
    n_classes: int


class Limits(NamedTuple):
    """How trees grow: columns tried per node, least weight of a leaf, deepest level (-1: none)."""

    max_features: int
    min_leaf: float
    max_depth: int


class Grown(NamedTuple):
    """One tree; see `ClassForest`. The last four lists are longer than what is filled."""

    attribute: NDArray[np.int32]
    test: NDArray[np.int32]
    missing_first: NDArray[np.bool_]
    n_entries: NDArray[np.uint16]
    entry_class: NDArray[np.uint16]
    entry_weight: NDArray[np.float64]
    route: NDArray[np.uint32]


@kernel
def _draw(seed: np.uint64, state: NDArray[np.int64], n: int) -> int:
    """A number below n; state (IN, OUT) counts the draws."""
    state[0] += 1
    high = bits_at(seed, np.uint64(state[0])) >> np.uint64(32)
    return int((high * np.uint64(n)) >> np.uint64(32))


@kernel
def _load(
    rows: ForestRows, members: NDArray[np.int32], j: int, node: NodeRows
) -> tuple[int, int, bool]:
    """Codes of one column (OUT): the least and the largest value, and whether some are missing."""
    codes = rows.codes[j]
    low, high, gone = 1 << 30, 0, False
    for k in range(len(members)):
        code = int(codes[members[k]])
        node.code[k] = code
        if code == 0:
            gone = True
        else:
            low, high = min(low, code), max(high, code)
    return low, high, gone


@kernel
def _choose_test(
    rows: ForestRows,
    members: NDArray[np.int32],
    node: NodeRows,
    columns: NDArray[np.int64],
    limits: Limits,
    seed: np.uint64,
    state: NDArray[np.int64],
) -> tuple[int, int, bool, int]:
    """The best of a few random columns, -1 for none; its cut, and whether missing goes first.

    Columns are drawn until enough were tried and one of them could be cut. Of a category, the cut
    is a rank among its values in this node by their share of a class, which is answered, too.
    """
    n, n_columns = len(members), len(columns)
    best, column, cut, missing_first, ranked_by = -1.0, -1, 0, False, 0
    for tried in range(n_columns):
        if tried >= limits.max_features and column >= 0:
            break
        drawn = tried + _draw(seed, state, n_columns - tried)
        columns[tried], columns[drawn] = columns[drawn], columns[tried]
        j = columns[tried]
        low, high, gone = _load(rows, members, j, node)
        if high == 0 or (low == high and not gone):
            continue  # all are equal
        chosen = 0
        if not rows.numeric[j]:
            chosen = 1 if rows.n_classes == 2 else _draw_class(node, seed, state)
            low, high = 1, rank_values(node, n, chosen)
        worth, last, following, gone_left = best_cut(node, n, low, high, limits.min_leaf)
        if worth > best:
            best, column, missing_first, ranked_by = worth, j, gone_left, chosen
            cut = last
            if rows.numeric[j]:
                cut = (last + following) // 2 if following >= 0 else rows.sizes[j]
    return column, cut, missing_first, ranked_by


@kernel
def _draw_class(node: NodeRows, seed: np.uint64, state: NDArray[np.int64]) -> int:
    """One of the classes that the node has."""
    n = 0
    for weight in node.total:
        n += weight > 0.0
    left = _draw(seed, state, n)
    for c in range(len(node.total)):
        if node.total[c] > 0.0:
            if left == 0:
                return c
            left -= 1
    return 0


@kernel
def _partition(
    rows: ForestRows,
    members: NDArray[np.int32],
    node: NodeRows,
    j: int,
    cut: int,
    missing_first: bool,
    ranked_by: int,
    spare: NDArray[np.int32],
) -> tuple[int, bool, int]:
    """Rows of a node (IN, OUT) with those of its first child in front.

    Answers how many these are, whether values are missing, and how many categories there are.
    """
    gone, n_present = _load(rows, members, j, node)[2], 0
    if not rows.numeric[j]:
        n_present = rank_values(node, len(members), ranked_by)
    n_first = n_second = 0
    for k in range(len(members)):
        code = node.code[k]
        if code <= cut if code else missing_first:
            members[n_first] = members[k]
            n_first += 1
        else:
            spare[n_second] = members[k]
            n_second += 1
    members[n_first:] = spare[:n_second]
    return n_first, gone, n_present


@kernel
def _route_values(
    node: NodeRows, n_present: int, cut: int, others_first: bool, route: NDArray[np.uint32]
) -> None:
    """Bits of the slots that go to the first child (OUT); others are those that no row has."""
    route[:] = np.uint32(0xFFFFFFFF) if others_first else np.uint32(0)
    for k in range(n_present):
        slot = node.present[k]
        bit = np.uint32(1) << np.uint32(slot % WORD)
        if k < cut:
            route[slot // WORD] |= bit
        else:
            route[slot // WORD] &= ~bit


@kernel
def _longer(route: NDArray[np.uint32], needed: int) -> NDArray[np.uint32]:
    """The same list, with room for so many words."""
    if needed <= len(route):
        return route
    out = np.empty(max(needed, 2 * len(route)), np.uint32)
    out[: len(route)] = route
    return out


@kernel
def _empty_tree(n: int) -> Grown:
    """Room for a tree whose leaves have at least one of n rows each."""
    most = 2 * n
    return Grown(
        np.full(most, -1, np.int32), np.zeros(most, np.int32), np.zeros(most, np.bool_),
        np.zeros(most, np.uint16), np.empty(n, np.uint16), np.empty(n), np.empty(64, np.uint32),
    )  # fmt: skip


@kernel
def _weigh(
    rows: ForestRows, members: NDArray[np.int32], weight: NDArray[np.float64], node: NodeRows
) -> int:
    """Classes and weights of a node's rows and their totals (OUT); how many classes it has."""
    node.total[:] = 0.0
    for k in range(len(members)):
        row = members[k]
        node.group[k], node.weight[k] = rows.groups[row], weight[row]
        node.total[rows.groups[row]] += weight[row]
    n = 0
    for total in node.total:
        n += total > 0.0
    return n


@kernel
def _add_test(
    rows: ForestRows, tree: Grown, at: int, column: int, cut: int, node: NodeRows,
    split: tuple[bool, int], larger: bool, route: NDArray[np.uint32], n_words: int,
) -> tuple[NDArray[np.uint32], int]:  # fmt: skip
    """Write the test of a node; the list of routes and how many words of it are filled.

    ``split`` says whether missing values go first, and how many categories the node has. What no
    row of the node has goes where most of the rows go (``larger``: to the first child).
    """
    missing_first, n_present = split
    tree.attribute[at], tree.test[at], tree.missing_first[at] = column, cut, missing_first
    if rows.numeric[column]:
        return route, n_words
    words = (rows.sizes[column] + 2 + WORD - 1) // WORD
    route = _longer(route, n_words + words)
    _route_values(node, n_present, cut, larger, route[n_words : n_words + words])
    tree.test[at], tree.missing_first[at] = n_words, False
    return route, n_words + words


@kernel
def grow_tree(
    rows: ForestRows, weight: NDArray[np.float64], limits: Limits, seed: np.uint64
) -> Grown:
    """A tree of the rows that weigh something; its draws depend on the seed alone.

    Nodes come level by level, the two children of a node side by side in the order of their
    parents, so that nothing else need be known to find them.
    """
    members = np.flatnonzero(weight).astype(np.int32)
    n, n_columns = len(members), len(rows.sizes)
    node = make_room(n, rows.n_classes, rows.sizes.max() if n_columns else 0)
    tree = _empty_tree(n)
    route, n_words, n_filled = tree.route, 0, 0
    edges, depth = np.empty((2, 2 * n), np.int64), np.zeros(2 * n, np.int64)
    edges[0, 0], edges[1, 0] = 0, n
    columns, state, spare = np.arange(n_columns), np.zeros(1, np.int64), np.empty(n, np.int32)
    n_nodes, at = 1, 0
    while at < n_nodes:
        first, last, column = edges[0, at], edges[1, at], -1
        node_rows = members[first:last]
        n_classes = _weigh(rows, node_rows, weight, node)
        total = node.total.sum()
        if n_classes > 1 and depth[at] != limits.max_depth and total >= 2.0 * limits.min_leaf:
            column, cut, missing_first, ranked_by = _choose_test(
                rows, node_rows, node, columns, limits, seed, state
            )
        if column >= 0:
            n_first, gone, n_present = _partition(
                rows, node_rows, node, column, cut, missing_first, ranked_by, spare
            )
            larger = 2.0 * weight[node_rows[:n_first]].sum() >= total
            split = (missing_first if gone else larger, n_present)
            route, n_words = _add_test(
                rows, tree, at, column, cut, node, split, larger, route, n_words
            )
            edges[0, n_nodes], edges[1, n_nodes] = first, first + n_first
            edges[0, n_nodes + 1], edges[1, n_nodes + 1] = first + n_first, last
            depth[n_nodes] = depth[n_nodes + 1] = depth[at] + 1
            n_nodes += 2
        else:
            tree.n_entries[at] = n_classes
            for c in range(rows.n_classes):
                if node.total[c] > 0.0:
                    tree.entry_class[n_filled], tree.entry_weight[n_filled] = c, node.total[c]
                    n_filled += 1
        at += 1
    return Grown(
        tree.attribute[:n_nodes].copy(), tree.test[:n_nodes].copy(),
        tree.missing_first[:n_nodes].copy(), tree.n_entries[:n_nodes].copy(),
        tree.entry_class[:n_filled].copy(), tree.entry_weight[:n_filled].copy(),
        route[:n_words].copy(),
    )  # fmt: skip
