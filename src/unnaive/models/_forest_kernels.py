"""Random forest kernels: one randomised tree by the Gini impurity, level by level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.tree_kernels import WORD
from unnaive.common.kernels import kernel
from unnaive.encode.hashing import bits_at

_SMALL_TABLE = 64  # entries of a table of counts that are always worth clearing


class ForestRows(NamedTuple):
    """Coded rows: ``codes`` is columns x rows, 0 is missing; ``sizes`` has the number of values."""

    codes: NDArray[Any]
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    y: NDArray[np.uint16]
    n_classes: int


class TreeParams(NamedTuple):
    """Columns tried per node, least weight of a leaf, and the deepest level (-1: none)."""

    max_features: int
    min_samples_leaf: float
    max_depth: int


class GrownTree(NamedTuple):
    """One tree; see `Forest`."""

    attribute: NDArray[np.int32]
    test: NDArray[np.int32]
    missing_first: NDArray[np.bool_]
    n_entries: NDArray[np.uint16]
    entry_class: NDArray[np.uint16]
    entry_weight: NDArray[np.float64]
    route: NDArray[np.uint32]


class NodeRows(NamedTuple):
    """The rows of one node: their codes in one column, classes and weights; and work space.

    ``total``, ``left`` and ``missing`` have an entry per class; ``slot_weight``, ``slot_share`` and
    ``rank`` one per slot of the widest column; ``keys`` and ``counts`` are for sorting and counts.
    """

    code: NDArray[np.int64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64]
    keys: NDArray[np.int64]
    counts: NDArray[np.float64]
    total: NDArray[np.float64]
    left: NDArray[np.float64]
    missing: NDArray[np.float64]
    slot_weight: NDArray[np.float64]
    slot_share: NDArray[np.float64]
    rank: NDArray[np.int64]
    present: NDArray[np.int64]


@kernel
def _allocate_node(n: int, n_classes: int, widest: int) -> NodeRows:
    by_class = np.zeros((3, n_classes))
    by_slot = np.zeros((2, widest + 2))
    return NodeRows(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64),
        np.empty(2 * n + _SMALL_TABLE), by_class[0], by_class[1], by_class[2],
        by_slot[0], by_slot[1], np.zeros(widest + 2, np.int64), np.empty(widest + 2, np.int64),
    )  # fmt: skip


# Splits of one node -------------------------------------------------------------------------------


@kernel
def _sum_of_squares(weights: NDArray[np.float64]) -> float:
    total = 0.0
    for weight in weights:
        total += weight * weight
    return total


@kernel
def _scan_cuts(
    node: NodeRows,
    n_keys: int,
    counted: bool,
    low: int,
    high: int,
    min_samples_leaf: float,
    missing_left: bool,
) -> tuple[float, int, int]:
    """Return the best cut of ascending codes: its score, the last code on the left, the next code.

    The score of a cut is the sum over its sides of squared class weights divided by the side's
    weight, which is largest where the Gini impurity is least. If ``counted``, ``counts`` has the
    class weights of every code from ``low`` to ``high``, otherwise ``keys`` has the sorted rows.
    The last code is -1 if no cut is allowed, the next one -1 if only missing values are on the
    right.
    """
    left, total, missing = node.left, node.total, node.missing
    n_classes = len(total)
    w_left = w_right = sq_right = 0.0
    for c in range(n_classes):
        left[c] = missing[c] if missing_left else 0.0
        w_left += left[c]
        w_right += total[c] - left[c]
        sq_right += (total[c] - left[c]) ** 2
    sq_left = _sum_of_squares(left)
    best, last, following = -1.0, -1, -1
    at = -1  # the last code that went left, whose cut is not scored yet
    for step in range(high - low + 1 if counted else n_keys):
        row, code, first, stop = 0, low + step, 0, n_classes
        if counted:
            some = False
            for c in range(n_classes):
                some |= node.counts[step * n_classes + c] > 0.0
            if not some:
                continue
        else:
            row, code = node.keys[step] & 0xFFFFFFFF, node.keys[step] >> 32
            first, stop = node.y[row], node.y[row] + 1
        if at >= 0 and code != at and w_left >= min_samples_leaf and w_right >= min_samples_leaf:
            score = sq_left / w_left + sq_right / w_right
            if score > best:
                best, last, following = score, at, code
        for c in range(first, stop):
            w = node.counts[step * n_classes + c] if counted else node.weight[row]
            if w > 0.0:
                right = total[c] - left[c]
                sq_left += w * (2.0 * left[c] + w)
                sq_right += w * (w - 2.0 * right)
                left[c] += w
                w_left += w
                w_right -= w
        at = code
    allowed = w_left >= min_samples_leaf and w_right >= min_samples_leaf
    if not missing_left and at >= 0 and allowed:  # missing values against all others
        score = sq_left / w_left + sq_right / w_right
        if score > best:
            best, last, following = score, at, -1
    return best, last, following


@kernel
def _best_cut(
    node: NodeRows, n: int, low: int, high: int, min_samples_leaf: float
) -> tuple[float, int, int, bool]:
    """Return the best cut with missing values (code 0) on either side; the last says if left."""
    n_classes = len(node.total)
    node.missing[:] = 0.0
    n_keys, some_missing = 0, False
    width = (high - low + 1) * n_classes
    counted = width <= 2 * n + _SMALL_TABLE
    if counted:
        node.counts[:width] = 0.0
    for k in range(n):
        if node.code[k] == 0:
            node.missing[node.y[k]] += node.weight[k]
            some_missing = True
        elif counted:
            node.counts[(node.code[k] - low) * n_classes + node.y[k]] += node.weight[k]
        else:
            node.keys[n_keys] = (node.code[k] << 32) | k
            n_keys += 1
    node.keys[:n_keys].sort()
    best, last, following = _scan_cuts(node, n_keys, counted, low, high, min_samples_leaf, False)
    missing_left = False
    if some_missing:
        score, at, after = _scan_cuts(node, n_keys, counted, low, high, min_samples_leaf, True)
        if score > best:
            best, last, following, missing_left = score, at, after, True
    return best, last, following, missing_left


@kernel
def _rank_categories(node: NodeRows, n: int, ranking_class: int) -> int:
    """Replace codes by ranks from 1, by their share of one class; return the number of categories.

    Missing counts as a category. ``present`` (OUT) has the slots by rank.
    """
    n_present = 0
    for k in range(n):
        slot = node.code[k]
        if node.slot_weight[slot] == 0.0:
            node.present[n_present] = slot
            n_present += 1
        node.slot_weight[slot] += node.weight[k]
        if node.y[k] == ranking_class:
            node.slot_share[slot] += node.weight[k]
    present = node.present[:n_present]
    present.sort()
    for slot in present:
        node.slot_share[slot] /= node.slot_weight[slot]
    order = np.argsort(node.slot_share[present], kind="mergesort")
    present[:] = present[order]
    for k in range(n_present):
        node.rank[present[k]] = k + 1
    for k in range(n):
        node.code[k] = node.rank[node.code[k]]
    for slot in present:
        node.slot_weight[slot] = node.slot_share[slot] = 0.0
    return n_present


@kernel
def _draw(seed: np.uint64, state: NDArray[np.int64], n: int) -> int:
    """Return a random number below n; state (IN, OUT) counts the draws."""
    state[0] += 1
    high = bits_at(seed, np.uint64(state[0])) >> np.uint64(32)
    return int((high * np.uint64(n)) >> np.uint64(32))


@kernel
def _draw_class(node: NodeRows, seed: np.uint64, state: NDArray[np.int64]) -> int:
    """Return one of the classes of the node, at random."""
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
def _load_codes(
    rows: ForestRows, row_index: NDArray[np.int32], j: int, node: NodeRows
) -> tuple[int, int, bool]:
    """Load the codes of a column (OUT); return the least and largest, and if some are missing."""
    codes = rows.codes[j]
    low, high, some_missing = 1 << 30, 0, False
    for k in range(len(row_index)):
        code = int(codes[row_index[k]])
        node.code[k] = code
        if code == 0:
            some_missing = True
        else:
            low, high = min(low, code), max(high, code)
    return low, high, some_missing


@kernel
def _choose_split(
    rows: ForestRows,
    row_index: NDArray[np.int32],
    node: NodeRows,
    columns: NDArray[np.int64],
    params: TreeParams,
    seed: np.uint64,
    state: NDArray[np.int64],
) -> tuple[int, int, bool, int]:
    """Return the best of a few random columns (-1: none), its cut, whether missing values go to the
    first child, and the class that ranks its categories.

    Columns are drawn until enough were tried and one of them could be cut. The cut of a categorical
    column is a rank among its categories.
    """
    n, n_columns = len(row_index), len(columns)
    best, column, cut, missing_first, ranked_by = -1.0, -1, 0, False, 0
    for tried in range(n_columns):
        if tried >= params.max_features and column >= 0:
            break
        drawn = tried + _draw(seed, state, n_columns - tried)
        columns[tried], columns[drawn] = columns[drawn], columns[tried]
        j = columns[tried]
        low, high, some_missing = _load_codes(rows, row_index, j, node)
        if high == 0 or (low == high and not some_missing):
            continue  # constant
        ranking_class = 0
        if not rows.numeric[j]:
            ranking_class = 1 if rows.n_classes == 2 else _draw_class(node, seed, state)
            low, high = 1, _rank_categories(node, n, ranking_class)
        score, last, following, missing_left = _best_cut(
            node, n, low, high, params.min_samples_leaf
        )
        if score > best:
            best, column, missing_first, ranked_by = score, j, missing_left, ranking_class
            cut = last
            if rows.numeric[j]:
                cut = (last + following) // 2 if following >= 0 else rows.sizes[j]
    return column, cut, missing_first, ranked_by


# Growing ------------------------------------------------------------------------------------------


@kernel
def _partition(
    rows: ForestRows,
    row_index: NDArray[np.int32],
    node: NodeRows,
    j: int,
    cut: int,
    missing_first: bool,
    ranked_by: int,
    spare: NDArray[np.int32],
) -> tuple[int, bool, int]:
    """Move the rows of the first child to the front (IN, OUT).

    Returns their number, whether values are missing, and the number of categories.
    """
    some_missing, n_present = _load_codes(rows, row_index, j, node)[2], 0
    if not rows.numeric[j]:
        n_present = _rank_categories(node, len(row_index), ranked_by)
    n_first = n_second = 0
    for k in range(len(row_index)):
        code = node.code[k]
        if code <= cut if code else missing_first:
            row_index[n_first] = row_index[k]
            n_first += 1
        else:
            spare[n_second] = row_index[k]
            n_second += 1
    row_index[n_first:] = spare[:n_second]
    return n_first, some_missing, n_present


@kernel
def _route_categories(
    node: NodeRows, n_present: int, cut: int, others_first: bool, route: NDArray[np.uint32]
) -> None:
    """Set the bits of the slots that go to the first child (OUT); others are those without rows."""
    route[:] = np.uint32(0xFFFFFFFF) if others_first else np.uint32(0)
    for k in range(n_present):
        slot = node.present[k]
        bit = np.uint32(1) << np.uint32(slot % WORD)
        if k < cut:
            route[slot // WORD] |= bit
        else:
            route[slot // WORD] &= ~bit


@kernel
def _extended(route: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    """Return a list with room for ``size`` words."""
    if size <= len(route):
        return route
    out = np.empty(max(size, 2 * len(route)), np.uint32)
    out[: len(route)] = route
    return out


@kernel
def _allocate_tree(n: int) -> GrownTree:
    """Return room for a tree whose leaves have at least one of n rows each."""
    most = 2 * n
    return GrownTree(
        np.full(most, -1, np.int32), np.zeros(most, np.int32), np.zeros(most, np.bool_),
        np.zeros(most, np.uint16), np.empty(n, np.uint16), np.empty(n), np.empty(64, np.uint32),
    )  # fmt: skip


@kernel
def _load_rows(
    rows: ForestRows, row_index: NDArray[np.int32], weight: NDArray[np.float64], node: NodeRows
) -> int:
    """Load classes and weights of a node's rows and their totals (OUT); count its classes."""
    node.total[:] = 0.0
    for k in range(len(row_index)):
        i = row_index[k]
        node.y[k], node.weight[k] = rows.y[i], weight[i]
        node.total[rows.y[i]] += weight[i]
    n = 0
    for total in node.total:
        n += total > 0.0
    return n


@kernel
def grow_tree(
    rows: ForestRows, weight: NDArray[np.float64], params: TreeParams, seed: np.uint64
) -> GrownTree:
    """Return a tree of the rows of positive weight; its draws depend on the seed alone.

    Nodes come level by level, the two children of a node side by side in the order of their
    parents, so that nothing else is needed to find them. Values that no row of a node has go where
    most of its rows go.
    """
    row_index = np.flatnonzero(weight).astype(np.int32)
    n, n_columns = len(row_index), len(rows.sizes)
    node = _allocate_node(n, rows.n_classes, rows.sizes.max() if n_columns else 0)
    tree = _allocate_tree(n)
    route, n_words, n_filled = tree.route, 0, 0
    spans, depth = np.empty((2, 2 * n), np.int64), np.zeros(2 * n, np.int64)
    spans[0, 0], spans[1, 0] = 0, n
    columns, state, spare = np.arange(n_columns), np.zeros(1, np.int64), np.empty(n, np.int32)
    n_nodes, at = 1, 0
    while at < n_nodes:
        start, stop, column = spans[0, at], spans[1, at], -1
        own = row_index[start:stop]
        n_classes = _load_rows(rows, own, weight, node)
        total = node.total.sum()
        heavy = total >= 2.0 * params.min_samples_leaf
        if n_classes > 1 and depth[at] != params.max_depth and heavy:
            column, cut, missing_first, ranked_by = _choose_split(
                rows, own, node, columns, params, seed, state
            )
        if column >= 0:
            n_first, some_missing, n_present = _partition(
                rows, own, node, column, cut, missing_first, ranked_by, spare
            )
            most_first = 2.0 * weight[own[:n_first]].sum() >= total
            tree.attribute[at] = column
            if rows.numeric[column]:
                tree.test[at] = cut
                tree.missing_first[at] = missing_first if some_missing else most_first
            else:
                words = (rows.sizes[column] + 2 + WORD - 1) // WORD
                route = _extended(route, n_words + words)
                _route_categories(
                    node, n_present, cut, most_first, route[n_words : n_words + words]
                )
                tree.test[at] = n_words
                n_words += words
            middle = start + n_first
            spans[0, n_nodes], spans[1, n_nodes] = start, middle
            spans[0, n_nodes + 1], spans[1, n_nodes + 1] = middle, stop
            depth[n_nodes] = depth[n_nodes + 1] = depth[at] + 1
            n_nodes += 2
        else:
            tree.n_entries[at] = n_classes
            for c in range(rows.n_classes):
                if node.total[c] > 0.0:
                    tree.entry_class[n_filled], tree.entry_weight[n_filled] = c, node.total[c]
                    n_filled += 1
        at += 1
    return GrownTree(
        tree.attribute[:n_nodes].copy(), tree.test[:n_nodes].copy(),
        tree.missing_first[:n_nodes].copy(), tree.n_entries[:n_nodes].copy(),
        tree.entry_class[:n_filled].copy(), tree.entry_weight[:n_filled].copy(),
        route[:n_words].copy(),
    )  # fmt: skip
