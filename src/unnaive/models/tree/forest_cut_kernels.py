"""Kernels that cut the rows of one node in two by the Gini impurity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

_FEW = 64  # entries of a table of counts that are always worth clearing


class NodeRows(NamedTuple):
    """Room for the rows of one node: their codes in one column, classes and weights, and counts.

    ``total`` and ``left`` have an entry per class, ``slot_weight``, ``slot_share`` and ``rank`` one
    per slot of the widest column; ``keys`` and ``table`` are room for sorting and counting.
    """

    code: NDArray[np.int64]
    group: NDArray[np.int64]
    weight: NDArray[np.float64]
    keys: NDArray[np.int64]
    table: NDArray[np.float64]
    total: NDArray[np.float64]
    left: NDArray[np.float64]
    gone: NDArray[np.float64]
    slot_weight: NDArray[np.float64]
    slot_share: NDArray[np.float64]
    rank: NDArray[np.int64]
    present: NDArray[np.int64]


@kernel
def _sum_of_squares(weights: NDArray[np.float64]) -> float:
    total = 0.0
    for weight in weights:
        total += weight * weight
    return total


@kernel
def _scan(
    node: NodeRows, n: int, n_counted: int, low: int, high: int, least: float, gone_left: bool
) -> tuple[float, int, int]:
    """The best cut of ascending codes: its worth, the last code on the left, the next one there is
    (-1 where only rows without a value are on the right).

    The worth of a cut is the weight of each side times its sum of squared class shares, which is
    most where the Gini impurity is least. ``n_counted`` > 0 says that ``table`` has the class
    weights of every code from ``low`` to ``high``; otherwise ``keys`` are sorted rows. Rows without
    a value, ``gone``, go to the left or to the right. The code is -1 where no cut is allowed.
    """
    left, total, gone = node.left, node.total, node.gone
    n_classes = len(total)
    w_left = w_right = 0.0
    for c in range(n_classes):
        left[c] = gone[c] if gone_left else 0.0
        w_left += left[c]
        w_right += total[c] - left[c]
    sq_left = _sum_of_squares(left)
    sq_right = 0.0
    for c in range(n_classes):
        sq_right += (total[c] - left[c]) ** 2
    best, last, following = -1.0, -1, -1
    steps = high - low + 1 if n_counted else n
    at = -1  # the last code that went left, whose cut is not judged yet
    for step in range(steps):
        if n_counted:
            code, counts = low + step, node.table[step * n_classes : (step + 1) * n_classes]
            some = False
            for c in range(n_classes):
                some |= counts[c] > 0.0
            if not some:
                continue
        else:
            code = node.keys[step] >> 32
        if at >= 0 and code != at and w_left >= least and w_right >= least:
            worth = sq_left / w_left + sq_right / w_right
            if worth > best:
                best, last, following = worth, at, code
        if n_counted:
            for c in range(n_classes):
                w = counts[c]
                if w > 0.0:
                    right = total[c] - left[c]
                    sq_left += w * (2.0 * left[c] + w)
                    sq_right += w * (w - 2.0 * right)
                    left[c] += w
                    w_left += w
                    w_right -= w
        else:
            k = node.keys[step] & 0xFFFFFFFF
            c, w = node.group[k], node.weight[k]
            right = total[c] - left[c]
            sq_left += w * (2.0 * left[c] + w)
            sq_right += w * (w - 2.0 * right)
            left[c] += w
            w_left += w
            w_right -= w
        at = code
    if not gone_left and at >= 0 and w_left >= least and w_right >= least:  # gone against the rest
        worth = sq_left / w_left + sq_right / w_right
        if worth > best:
            best, last, following = worth, at, -1
    return best, last, following


@kernel
def best_cut(
    node: NodeRows, n: int, low: int, high: int, least: float
) -> tuple[float, int, int, bool]:
    """`_scan` with rows without a value (code 0) on either side; the last says if on the left."""
    n_classes = len(node.total)
    node.gone[:] = 0.0
    n_keys, some_gone = 0, False
    width = (high - low + 1) * n_classes
    counted = width <= 2 * n + _FEW
    if counted:
        table = node.table[:width]
        table[:] = 0.0
        for k in range(n):
            if node.code[k] == 0:
                node.gone[node.group[k]] += node.weight[k]
                some_gone = True
            else:
                table[(node.code[k] - low) * n_classes + node.group[k]] += node.weight[k]
    else:
        for k in range(n):
            if node.code[k] == 0:
                node.gone[node.group[k]] += node.weight[k]
                some_gone = True
            else:
                node.keys[n_keys] = (node.code[k] << 32) | k
                n_keys += 1
        node.keys[:n_keys].sort()
    best, last, following = _scan(node, n_keys, counted, low, high, least, False)
    gone_left = False
    if some_gone:
        worth, at, after = _scan(node, n_keys, counted, low, high, least, True)
        if worth > best:
            best, last, following, gone_left = worth, at, after, True
    return best, last, following, gone_left


@kernel
def rank_values(node: NodeRows, n: int, chosen: int) -> int:
    """Categories by their share of one class: codes become ranks from 1; how many there are.

    Missing counts as a category. ``present`` (OUT) has the slots by rank.
    """
    n_present = 0
    for k in range(n):
        slot = node.code[k]
        if node.slot_weight[slot] == 0.0:
            node.present[n_present] = slot
            n_present += 1
        node.slot_weight[slot] += node.weight[k]
        if node.group[k] == chosen:
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
def make_room(n: int, n_classes: int, widest: int) -> NodeRows:
    counts = np.zeros((3, n_classes))
    slots = np.zeros((2, widest + 2))
    return NodeRows(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64),
        np.empty(2 * n + _FEW), counts[0], counts[1], counts[2], slots[0], slots[1],
        np.zeros(widest + 2, np.int64), np.empty(widest + 2, np.int64),
    )  # fmt: skip
