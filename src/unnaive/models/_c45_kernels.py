"""C4.5 kernels: gain ratio, growth with fractional rows, pessimistic pruning."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.counts.encoded_rows import (
    GRAIN,  # fractions are multiples of it, so that they add exactly
)
from unnaive.discretize.kernels import TIE, x_log_x
from unnaive.models._nbtree_kernels import count_cells

EPSILON = 1e-3  # C4.5's tolerance when it compares gains and weights
MAX_SIDE_WEIGHT = 25.0  # most weight that each side of a threshold is required to have
ERROR_TOLERANCE = 0.1  # errors by which a simpler tree may be worse


class TrainingRows(NamedTuple):
    """Coded rows and the cells of their columns.

    ``codes`` is columns x rows, 0 is missing. The cells of column j begin at ``cell_start[j]`` in
    ``low`` and ``high``, the least and largest value of each cell. ``ordinary`` marks the columns
    that count in the average gain.
    """

    codes: NDArray[Any]
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    ordinary: NDArray[np.bool_]
    cell_start: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64]


class SplitOptions(NamedTuple):
    """Options of `C45Classifier` that choose splits; ``max_depth`` is -1 where there is none."""

    use_gain_ratio: bool
    threshold_penalty: bool
    threshold_by_ratio: bool
    min_rows: float
    max_depth: int


class Nodes(NamedTuple):
    """Nodes level by level, the children of a node side by side.

    A threshold sends codes up to ``cut`` to the first child; a split by category looks up the child
    of a code in ``route``, from ``route_start``, -1 where there is none. The rows of node n are
    ``row_index[start[n] : stop[n]]``, each with a ``fraction`` of its weight.
    """

    attribute: NDArray[np.int64]
    cut: NDArray[np.int64]
    first_child: NDArray[np.int64]
    n_children: NDArray[np.int64]
    depth: NDArray[np.int64]
    score: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    route_start: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    route: NDArray[np.int64]
    row_index: NDArray[np.int32]
    fraction: NDArray[np.float32]


# Scores of splits ---------------------------------------------------------------------------------


@kernel
def threshold_info(total: float, known: float, left: float) -> float:
    """Return the split information of a threshold, in bits of all rows; missing is a third side."""
    info = x_log_x(total) - x_log_x(left) - x_log_x(known - left)
    return info - x_log_x(total - known)


@kernel
def best_threshold(
    counts: NDArray[np.float64], total: float, min_side: float, by_ratio: bool
) -> tuple[float, float, int, int]:
    """Return the bits gained by the best cut, the weight on its left, its last cell, and the tries.

    ``counts`` is cells x classes, ``total`` also includes rows with a missing value. Each side must
    weigh ``min_side``; the cell is -1 if no cut qualifies. The best cut has the greatest gain or,
    with ``by_ratio``, the greatest gain ratio among the cuts of at least mean gain.
    """
    n_cells, n_classes = counts.shape
    by_class = np.zeros(n_classes)
    for k in range(n_cells):
        for c in range(n_classes):
            by_class[c] += counts[k, c]
    known = by_class.sum()
    left = np.zeros(n_classes)
    in_left = in_right = n_left = 0.0
    for c in range(n_classes):
        in_right += x_log_x(by_class[c])
    whole = x_log_x(known) - in_right
    tie = TIE * (x_log_x(known) + 1.0)
    gains, lefts, lasts = np.empty((3, n_cells if by_ratio else 0))
    best, best_left, at, tries = np.inf, 0.0, -1, 0
    for k in range(n_cells - 1):
        for c in range(n_classes):
            add = counts[k, c]
            if add > 0.0:
                right = by_class[c] - left[c]
                in_left += x_log_x(left[c] + add) - x_log_x(left[c])
                in_right += x_log_x(right - add) - x_log_x(right)
                left[c] += add
                n_left += add
        if n_left < min_side:
            continue
        if known - n_left < min_side:
            break
        bits = x_log_x(n_left) - in_left + x_log_x(known - n_left) - in_right
        if by_ratio:
            gains[tries], lefts[tries], lasts[tries] = whole - bits, n_left, k
        elif bits < best - tie:
            best, best_left, at = bits, n_left, k
        tries += 1
    if not by_ratio or tries == 0:
        return whole - best, best_left, at, tries
    least = gains[:tries].mean() - EPSILON * total
    chosen, score = 0, -np.inf
    for i in range(tries):
        info = threshold_info(total, known, lefts[i])
        if gains[i] >= least and info > EPSILON * total and gains[i] / info > score + TIE:
            chosen, score = i, gains[i] / info
    return gains[chosen], lefts[chosen], int(lasts[chosen]), tries


@kernel
def score_threshold(
    counts: NDArray[np.float64], total: float, options: SplitOptions
) -> tuple[float, float, int]:
    """Return gain and split information per row of the best threshold, and its cell, -1 if none."""
    known = counts.sum()
    share = 0.1 * known / counts.shape[1]
    min_side = min(max(share, options.min_rows), max(MAX_SIDE_WEIGHT, options.min_rows))
    gain, left, at, tries = best_threshold(counts, total, min_side, options.threshold_by_ratio)
    if at >= 0 and options.threshold_penalty:
        gain -= math.log2(tries)
    if at < 0 or gain <= TIE * total:
        return 0.0, 0.0, -1
    return gain / total, threshold_info(total, known, left) / total, at


@kernel
def score_categories(
    counts: NDArray[np.float64], total: float, min_rows: float
) -> tuple[float, float, bool]:
    """Return gain and split information per row of one child per value, and whether two children
    have enough weight.
    """
    n_classes = counts.shape[1]
    by_class = np.zeros(n_classes)
    known = after = parts = 0.0
    large = 0
    for v in range(len(counts)):
        n = 0.0
        for c in range(n_classes):
            by_class[c] += counts[v, c]
            n += counts[v, c]
            after -= x_log_x(counts[v, c])
        after += x_log_x(n)
        parts += x_log_x(n)
        known += n
        large += n >= min_rows
    before = x_log_x(known)
    for c in range(n_classes):
        before -= x_log_x(by_class[c])
    info = x_log_x(total) - parts - x_log_x(total - known)
    return (before - after) / total, info / total, large >= 2


@kernel
def best_split(
    gain: NDArray[np.float64],
    info: NDArray[np.float64],
    possible: NDArray[np.bool_],
    ordinary: NDArray[np.bool_],
    use_gain_ratio: bool,
) -> tuple[int, float]:
    """Return the column of greatest gain ratio among those of at least average gain, or -1, and its
    score. Columns with very many categories do not count in the average.
    """
    average, n = 0.0, 0
    for j in range(len(gain)):
        if possible[j] and ordinary[j]:
            average += gain[j]
            n += 1
    if n:
        average /= n
    best, score = -1, 0.0
    for j in range(len(gain)):
        too_small = gain[j] < average - EPSILON or info[j] <= EPSILON
        if not possible[j] or (use_gain_ratio and too_small):
            continue
        here = gain[j] / info[j] if use_gain_ratio else gain[j]
        if here > score + TIE:
            best, score = j, here
    return best, score


@kernel
def _threshold_code(rows: TrainingRows, j: int, below: int, above: int) -> int:
    """Return the last code at or below the middle of two: a threshold is a training value."""
    low, high = rows.low[rows.cell_start[j] :], rows.high[rows.cell_start[j] :]
    middle = 0.5 * high[below - 1] + 0.5 * low[above - 1]
    code = below
    while code + 1 < above and high[code] <= middle:
        code += 1
    return code


@kernel
def _choose_split(
    rows: TrainingRows,
    row_index: NDArray[np.int32],
    fraction: NDArray[np.float32],
    n_classes: int,
    options: SplitOptions,
) -> tuple[int, float, int]:
    """Return the column that a node splits on, -1 for none, the split's score, and its cut."""
    y, weight = rows.y[row_index], fraction * rows.weight[row_index]
    total, n_columns = weight.sum(), len(rows.sizes)
    gain, info = np.zeros(n_columns), np.zeros(n_columns)
    possible = np.zeros(n_columns, np.bool_)
    below, above = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
    for j in range(n_columns):
        codes, size = rows.codes[j][row_index], rows.sizes[j]
        cells, counts = count_cells(codes, y, weight, size, n_classes)
        counts = counts[1:]
        if rows.numeric[j]:
            gain[j], info[j], at = score_threshold(counts, total, options)
            if at >= 0:
                possible[j], below[j], above[j] = True, cells[at], cells[at + 1]
        else:
            gain[j], info[j], possible[j] = score_categories(counts, total, options.min_rows)
    best, score = best_split(gain, info, possible, rows.ordinary, options.use_gain_ratio)
    if best < 0 or not rows.numeric[best]:
        return best, score, 0
    return best, score, _threshold_code(rows, best, below[best], above[best])


# Rows of nodes ------------------------------------------------------------------------------------


@kernel
def _child_of(rows: TrainingRows, nodes: Nodes, node: int, code: int) -> int:
    """Return the child of a node that a code goes to, -1 for none."""
    if rows.numeric[nodes.attribute[node]]:
        return 0 if code <= nodes.cut[node] else 1
    return nodes.route[nodes.route_start[node] + code - 1]


@kernel
def _sum_weights(
    rows: TrainingRows, nodes: Nodes, start: int, stop: int, out: NDArray[np.float64]
) -> None:
    """Sum the class weights (OUT) of the rows listed from start to stop."""
    out[:] = 0.0
    for k in range(start, stop):
        i = nodes.row_index[k]
        out[rows.y[i]] += nodes.fraction[k] * rows.weight[i]


@kernel
def _partition_rows(
    rows: TrainingRows, nodes: Nodes, node: int, start: int, stop: int, top: int
) -> tuple[Nodes, NDArray[np.int64], NDArray[np.float64], int]:
    """List the rows of a node's children, from ``top`` on.

    A row with a missing value goes to every child with a fraction of its weight. Returns the nodes,
    whose lists may have grown, the offsets of the children's lists, the class weights of the rows
    that stay because no child has their value, and the number of rows with a missing value.
    """
    codes, n_children = rows.codes[nodes.attribute[node]], nodes.n_children[node]
    known, size = np.zeros(n_children), np.zeros(n_children, np.int64)
    staying = np.zeros(nodes.class_weight.shape[1])
    n_missing = 0
    for k in range(start, stop):
        i = nodes.row_index[k]
        if codes[i] == 0:
            n_missing += 1
            continue
        child, weight = _child_of(rows, nodes, node, codes[i]), nodes.fraction[k] * rows.weight[i]
        if child < 0:
            staying[rows.y[i]] += weight
        else:
            known[child] += weight
            size[child] += 1
    total = known.sum()
    share = known / total if total > 0.0 else np.full(n_children, 1.0 / n_children)
    offsets = np.full(n_children + 1, top)
    offsets[1:] += np.cumsum(size + n_missing)
    nodes = _with_room(nodes, offsets[-1], 0, 0)
    row_index, fraction = nodes.row_index, nodes.fraction
    at = offsets[:-1].copy()
    for k in range(start, stop):
        i = row_index[k]
        if codes[i] == 0:
            for child in range(n_children):
                part = np.floor(fraction[k] * share[child] / GRAIN + 0.5) * GRAIN
                if part > 0.0:
                    row_index[at[child]], fraction[at[child]] = i, part
                    at[child] += 1
            continue
        child = _child_of(rows, nodes, node, codes[i])
        if child >= 0:
            row_index[at[child]], fraction[at[child]] = i, fraction[k]
            at[child] += 1
    for child in range(n_children):  # close the gaps that fractions rounded to 0 have left
        begin, offsets[child] = offsets[child], top
        for k in range(begin, at[child]):
            row_index[top], fraction[top] = row_index[k], fraction[k]
            top += 1
    offsets[n_children] = top
    return nodes, offsets, staying, n_missing


@kernel
def _extended(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a list with room for ``size`` entries."""
    if size <= len(array):
        return array
    out = np.zeros(max(size, 2 * len(array)), array.dtype)
    out[: len(array)] = array
    return out


@kernel
def _with_room(nodes: Nodes, n_listed: int, n_nodes: int, n_routes: int) -> Nodes:
    """Return the nodes with room for lists of rows, nodes and routes of these lengths."""
    class_weight = nodes.class_weight
    if n_nodes > len(class_weight):
        size = max(n_nodes, 2 * len(class_weight))
        class_weight = np.zeros((size, nodes.class_weight.shape[1]))
        class_weight[: len(nodes.class_weight)] = nodes.class_weight
    return Nodes(
        _extended(nodes.attribute, n_nodes),
        _extended(nodes.cut, n_nodes),
        _extended(nodes.first_child, n_nodes),
        _extended(nodes.n_children, n_nodes),
        _extended(nodes.depth, n_nodes),
        _extended(nodes.score, n_nodes),
        class_weight,
        _extended(nodes.route_start, n_nodes),
        _extended(nodes.start, n_nodes),
        _extended(nodes.stop, n_nodes),
        _extended(nodes.route, n_routes),
        _extended(nodes.row_index, n_listed),
        _extended(nodes.fraction, n_listed),
    )


# Growing ------------------------------------------------------------------------------------------


@kernel
def _init_root(rows: TrainingRows, n_classes: int) -> Nodes:
    """Return nodes with the root alone, which has all rows of positive weight."""
    row_index = np.flatnonzero(rows.weight > 0.0).astype(np.int32)
    n = len(row_index)
    zeros = np.zeros((7, 1), np.int64)
    nodes = Nodes(
        np.full(1, -1), zeros[0], zeros[1], zeros[2], zeros[3], np.zeros(1),
        np.zeros((1, n_classes)), zeros[4], zeros[5], np.full(1, n), zeros[6],
        row_index, np.ones(n, np.float32),
    )  # fmt: skip
    _sum_weights(rows, nodes, 0, n, nodes.class_weight[0])
    return nodes


@kernel
def _route_categories(
    codes: NDArray[Any], row_index: NDArray[np.int32], route: NDArray[np.int64]
) -> int:
    """Give every value of the rows a child (OUT); return the number of children."""
    route[:] = -1
    for i in row_index:
        if codes[i]:
            route[codes[i] - 1] = 0
    n_children = 0
    for value in range(len(route)):
        if route[value] == 0:
            route[value] = n_children
            n_children += 1
    return n_children


@kernel
def grow(rows: TrainingRows, n_classes: int, options: SplitOptions) -> tuple[Nodes, int]:
    """Return the nodes of the unpruned tree and their number."""
    nodes = _init_root(rows, n_classes)
    n_nodes, n_routes, top = 1, 0, nodes.stop[0]
    node = -1
    while node + 1 < n_nodes:
        node += 1
        class_weight, start, stop = nodes.class_weight[node], nodes.start[node], nodes.stop[node]
        total = class_weight.sum()
        pure = class_weight.max() >= total - EPSILON
        if pure or total < 2.0 * options.min_rows or nodes.depth[node] == options.max_depth:
            continue
        row_index = nodes.row_index[start:stop]
        j, score, cut = _choose_split(
            rows, row_index, nodes.fraction[start:stop], n_classes, options
        )
        if j < 0:
            continue
        nodes.attribute[node], nodes.score[node], nodes.cut[node] = j, score, cut
        nodes.first_child[node], nodes.n_children[node] = n_nodes, 2
        if not rows.numeric[j]:
            size = rows.sizes[j]
            nodes = _with_room(nodes, 0, 0, n_routes + size)
            nodes.route_start[node] = n_routes
            route = nodes.route[n_routes : n_routes + size]
            nodes.n_children[node] = _route_categories(rows.codes[j], row_index, route)
            n_routes += size
        nodes, offsets, _, n_missing = _partition_rows(rows, nodes, node, start, stop, top)
        if n_missing == 0:  # the lists of the children can take the place of their parent's
            nodes.row_index[start:stop] = nodes.row_index[top : top + stop - start]
            nodes.fraction[start:stop] = nodes.fraction[top : top + stop - start]
            offsets += start - top
        else:
            top = offsets[-1]
        n_children = nodes.n_children[node]
        nodes = _with_room(nodes, 0, n_nodes + n_children, 0)
        for k in range(n_children):
            child = n_nodes + k
            nodes.attribute[child], nodes.depth[child] = -1, nodes.depth[node] + 1
            nodes.start[child], nodes.stop[child] = offsets[k], offsets[k + 1]
            _sum_weights(rows, nodes, offsets[k], offsets[k + 1], nodes.class_weight[child])
        n_nodes += n_children
    return nodes, n_nodes


# Pruning ------------------------------------------------------------------------------------------


@kernel
def pessimistic_errors(n: float, errors: float, confidence: float, quantile: float) -> float:
    """Return the errors to expect in n new rows: the upper confidence limit of a binomial share.

    ``quantile`` is the normal quantile of 1 - confidence. Below one error the limit is linear
    between the exact limit for none and the limit for one.
    """
    if n <= 0.0:
        return 0.0
    if errors < 1.0:
        none = n * (1.0 - confidence ** (1.0 / n))
        if errors <= 0.0:
            return none
        return none + errors * (pessimistic_errors(n, 1.0, confidence, quantile) - none)
    if errors + 0.5 >= n:
        return max(n, errors)
    square = quantile * quantile
    share = (errors + 0.5) / n
    spread = math.sqrt(share / n - share * share / n + square / (4.0 * n * n))
    return n * (share + square / (2.0 * n) + quantile * spread) / (1.0 + square / n)


@kernel
def _leaf_errors(
    stopped: NDArray[np.float64],
    class_weight: NDArray[np.float64],
    confidence: float,
    quantile: float,
) -> float:
    """Return the pessimistic errors of rows that stop at a node and get its majority class."""
    n = stopped.sum()
    return pessimistic_errors(n, n - stopped[class_weight.argmax()], confidence, quantile)


@kernel
def collapse(nodes: Nodes, n_nodes: int) -> None:
    """Make leaves (OUT) of nodes whose subtrees make no fewer errors on the training rows."""
    errors = np.zeros(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        class_weight = nodes.class_weight[node]
        errors[node] = class_weight.sum() - class_weight.max()
        if nodes.attribute[node] < 0:
            continue
        first, below = nodes.first_child[node], 0.0
        for child in range(first, first + nodes.n_children[node]):
            below += errors[child]
        if below >= errors[node] - EPSILON:
            nodes.attribute[node] = -1
        else:
            errors[node] = below


class Rerouted(NamedTuple):
    """What the nodes of a branch have if the branch takes the place of its parent.

    ``staying`` are the pessimistic errors of the rows that stop at a node.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    class_weight: NDArray[np.float64]
    staying: NDArray[np.float64]


@kernel
def _descendants(nodes: Nodes, node: int) -> NDArray[np.int64]:
    """Return the nodes below a node, parents before children."""
    found = [node]
    at = 0
    while at < len(found):
        here = found[at]
        if nodes.attribute[here] >= 0:
            for k in range(nodes.n_children[here]):
                found.append(nodes.first_child[here] + k)
        at += 1
    return np.array(found[1:], dtype=np.int64)


@kernel
def _route_through(
    rows: TrainingRows,
    nodes: Nodes,
    node: int,
    branch: int,
    top: int,
    confidence: float,
    quantile: float,
    new: Rerouted,
) -> tuple[Nodes, int, float]:
    """Send all rows of a node through one of its branches (OUT).

    Returns the nodes, whose lists may have grown, the new end of the lists, and the pessimistic
    errors of the branch.
    """
    new.start[branch], new.stop[branch] = nodes.start[node], nodes.stop[node]
    errors, pending = 0.0, [branch]
    while pending:
        here = pending.pop()
        class_weight = new.class_weight[here]
        _sum_weights(rows, nodes, new.start[here], new.stop[here], class_weight)
        if nodes.attribute[here] < 0:
            errors += _leaf_errors(class_weight, class_weight, confidence, quantile)
            continue
        nodes, offsets, staying, _ = _partition_rows(
            rows, nodes, here, new.start[here], new.stop[here], top
        )
        top = offsets[-1]
        new.staying[here] = _leaf_errors(staying, class_weight, confidence, quantile)
        errors += new.staying[here]
        for k in range(nodes.n_children[here]):
            child = nodes.first_child[here] + k
            new.start[child], new.stop[child] = offsets[k], offsets[k + 1]
            pending.append(child)
    return nodes, top, errors


@kernel
def prune(
    rows: TrainingRows,
    nodes: Nodes,
    n_nodes: int,
    confidence: float,
    quantile: float,
    raising: bool,
) -> Nodes:
    """Replace subtrees by a leaf, or by their largest branch, where that makes no more errors.

    Returns the pruned nodes.
    """
    n_classes = nodes.class_weight.shape[1]
    subtree_errors, staying = np.zeros(n_nodes), np.zeros(n_nodes)
    new = Rerouted(
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros((n_nodes, n_classes)),
        np.zeros(n_nodes),
    )
    top = nodes.stop[:n_nodes].max()
    pending = list(range(n_nodes))  # the last first: children before their parents
    while pending:
        node = pending.pop()
        class_weight = nodes.class_weight[node]
        as_leaf = _leaf_errors(class_weight, class_weight, confidence, quantile)
        subtree_errors[node] = as_leaf
        if nodes.attribute[node] < 0:
            continue
        first, as_tree, largest, most = nodes.first_child[node], staying[node], -1, -1.0
        for child in range(first, first + nodes.n_children[node]):
            as_tree += subtree_errors[child]
            weight = nodes.class_weight[child].sum()
            if weight > most:
                largest, most = child, weight
        as_branch, end = np.inf, top
        if raising and nodes.attribute[largest] >= 0:
            nodes, end, as_branch = _route_through(
                rows, nodes, node, largest, top, confidence, quantile, new
            )
        if as_leaf <= min(as_branch, as_tree) + ERROR_TOLERANCE:
            nodes.attribute[node] = -1
        elif as_branch <= as_tree + ERROR_TOLERANCE:
            top, staying[node] = end, new.staying[largest]
            nodes.score[node] = nodes.score[largest]
            for split in (
                nodes.attribute, nodes.cut, nodes.first_child, nodes.n_children, nodes.route_start
            ):  # fmt: skip
                split[node] = split[largest]
            pending.append(node)  # once more, after all nodes that are now below it
            for below in _descendants(nodes, node):
                nodes.start[below], nodes.stop[below] = new.start[below], new.stop[below]
                nodes.class_weight[below] = new.class_weight[below]
                staying[below] = new.staying[below]
                pending.append(below)
        else:
            subtree_errors[node] = as_tree
    return nodes
