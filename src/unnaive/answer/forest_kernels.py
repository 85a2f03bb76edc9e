"""Kernels that send rows through all trees of a forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel

WORD = 32  # slots of a category in one word of a route


class Trees(NamedTuple):
    """All trees; see `ClassForest`. ``first_child`` is -1 for a leaf, whose entries begin at
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
def child_of(trees: Trees, node: int, slot: int) -> int:
    """The child that a slot of the node's column leads to."""
    if trees.numeric[trees.attribute[node]]:
        first = slot <= trees.test[node] if slot else trees.missing_first[node]
    else:
        word = trees.route[trees.test[node] + slot // WORD]
        first = (word >> np.uint32(slot % WORD)) & np.uint32(1) != 0
    return trees.first_child[node] + (0 if first else 1)


@kernel
def find_leaves(
    slots: NDArray[np.uint16], trees: Trees, tree: int, leaf: NDArray[np.int64]
) -> None:
    """The leaf where each row (IN, slots of all columns) ends in one tree (OUT)."""
    for i in range(slots.shape[0]):
        node = trees.start[tree]
        while trees.first_child[node] >= 0:
            node = child_of(trees, node, slots[i, trees.attribute[node]])
        leaf[i] = node


@kernel
def add_leaves(
    leaf: NDArray[np.int64],
    trees: Trees,
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
    trees: Trees,
    tree: int,
    weight: NDArray[np.float64],
    alpha: float,
    prior: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Probabilities of the classes at every node of one tree (OUT, its nodes x classes).

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
def add_changes(
    slots: NDArray[np.uint16],
    trees: Trees,
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
