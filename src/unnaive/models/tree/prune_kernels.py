"""Kernels that prune a tree by its pessimistic errors (C4.5)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel
from unnaive.discretize.kernels import x_log_x
from unnaive.models.tree.c45_kernels import Nodes, Table, edges_of, send, shares, sides, weigh
from unnaive.models.tree.gain_kernels import EPSILON
from unnaive.table.storage import Storage

SLACK = 0.1  # errors by which a simpler tree may be worse


class Work(NamedTuple):
    """What pruning knows of each node, and which nodes are still to be looked at, the last first.

    ``start``, ``stop``, ``class_weight`` and ``new_staying`` say what nodes of a branch would hold
    if it stood in the place of its parent.
    """

    estimate: NDArray[np.float64]
    staying: NDArray[np.float64]
    new_staying: NDArray[np.float64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    class_weight: NDArray[np.float64]
    pending: NDArray[np.int64]
    at: NDArray[np.int64]  # how many are pending, and where lists of rows end


def begin(nodes: Nodes, n_nodes: int, storage: Storage) -> Work:
    """Before the first node: children come before their parents."""
    pending = storage.empty(n_nodes, np.int64)
    pending[:] = np.arange(n_nodes)
    return Work(
        estimate=storage.zeros(n_nodes),
        staying=storage.zeros(n_nodes),
        new_staying=storage.zeros(n_nodes),
        start=storage.zeros(n_nodes, np.int64),
        stop=storage.zeros(n_nodes, np.int64),
        class_weight=storage.zeros((n_nodes, nodes.class_weight.shape[1])),
        pending=pending,
        at=np.array([n_nodes, nodes.stop[n_nodes - 1]]),
    )


@kernel
def pessimistic(n: float, errors: float, confidence: float, deviation: float) -> float:
    """Errors to expect among n new rows: the upper confidence limit of a binomial share.

    ``deviation`` is the normal quantile of 1 - confidence. Below one error the exact limit for
    none is used, with a straight line up to one.
    """
    if n <= 0.0:
        return 0.0
    if errors < 1.0:
        none = n * (1.0 - confidence ** (1.0 / n))
        if errors <= 0.0:
            return none
        return none + errors * (pessimistic(n, 1.0, confidence, deviation) - none)
    if errors + 0.5 >= n:
        return max(n, errors)
    square = deviation * deviation
    share = (errors + 0.5) / n
    spread = math.sqrt(share / n - share * share / n + square / (4.0 * n * n))
    return n * (share + square / (2.0 * n) + deviation * spread) / (1.0 + square / n)


@kernel
def as_leaf(class_weight: NDArray[np.float64], confidence: float, deviation: float) -> float:
    n = class_weight.sum()
    return pessimistic(n, n - class_weight.max(), confidence, deviation)


@kernel
def collapse(nodes: Nodes, errors: NDArray[np.float64]) -> None:
    """Make leaves (OUT) of nodes whose subtree errs as often on the training rows as they would.

    errors (IN, OUT) are those of each node, of which there are so many; NaN (IN) if not known yet.
    """
    for node in range(len(errors) - 1, -1, -1):
        if not np.isnan(errors[node]):
            continue
        class_weight = nodes.class_weight[node]
        errors[node] = class_weight.sum() - class_weight.max()
        if nodes.attribute[node] < 0:
            continue
        below = 0.0
        for child in range(nodes.first[node], nodes.first[node] + nodes.n_children[node]):
            below += errors[child]
        if below >= errors[node] - EPSILON:
            nodes.attribute[node] = -1
        else:
            errors[node] = below


@kernel
def errors_of_staying(
    stay: NDArray[np.float64],
    class_weight: NDArray[np.float64],
    confidence: float,
    deviation: float,
) -> float:
    """Pessimistic errors among rows that stay at a node, which answers its most frequent class."""
    n = stay.sum()
    return pessimistic(n, n - stay[class_weight.argmax()], confidence, deviation)


@kernel
def branch_errors(
    nodes: Nodes,
    branch: int,
    class_weight: NDArray[np.float64],
    staying: NDArray[np.float64],
    confidence: float,
    deviation: float,
) -> float:
    """Pessimistic errors of a branch whose nodes have these class weights and errors of staying."""
    pending = [branch]
    errors = 0.0
    while pending:
        at = pending.pop()
        if nodes.attribute[at] < 0:
            errors += as_leaf(class_weight[at], confidence, deviation)
            continue
        errors += staying[at]
        for k in range(nodes.n_children[at]):
            pending.append(nodes.first[at] + k)
    return errors


@kernel
def _spread(
    table: Table,
    nodes: Nodes,
    node: int,
    branch: int,
    top: int,
    confidence: float,
    deviation: float,
    work: Work,
) -> tuple[int, float]:
    """Lead all rows of a node through one of its branches, as if the branch stood in its place.

    work (OUT) says what each node of the branch then holds. Answers the new top of the lists of
    rows, and the branch's pessimistic errors; where the lists have no room, how long they must be,
    and -1.
    """
    start, stop = work.start, work.stop
    start[branch], stop[branch] = nodes.start[node], nodes.stop[node]
    pending = [branch]
    while pending:
        at = pending.pop()
        class_weight = work.class_weight[at]
        weigh(table, nodes.members, nodes.fraction, start[at], stop[at], class_weight)
        work.new_staying[at] = 0.0
        if nodes.attribute[at] < 0:
            continue
        known, size, stay = sides(table, nodes, at, start[at], stop[at])
        edges = edges_of(size, top)
        if edges[-1] > len(nodes.members):
            return edges[-1], -1.0
        send(table, nodes, at, start[at], stop[at], shares(known), edges)
        top = edges[-1]
        work.new_staying[at] = errors_of_staying(stay, class_weight, confidence, deviation)
        for k in range(nodes.n_children[at]):
            child = nodes.first[at] + k
            start[child], stop[child] = edges[k], edges[k + 1]
            pending.append(child)
    errors = branch_errors(
        nodes, branch, work.class_weight, work.new_staying, confidence, deviation
    )
    return top, errors


@kernel
def below(nodes: Nodes, node: int) -> NDArray[np.int64]:
    """The nodes below a node, parents before children."""
    nodes_below = [node]
    at = 0
    while at < len(nodes_below):
        here = nodes_below[at]
        at += 1
        if nodes.attribute[here] >= 0:
            for k in range(nodes.n_children[here]):
                nodes_below.append(nodes.first[here] + k)
    return np.array(nodes_below[1:], dtype=np.int64)


@kernel
def largest_child(
    nodes: Nodes, node: int, staying: NDArray[np.float64], estimate: NDArray[np.float64]
) -> tuple[int, float]:
    """The child of most weight, and the pessimistic errors of the node as it is."""
    as_tree, largest, most = staying[node], -1, -1.0
    for child in range(nodes.first[node], nodes.first[node] + nodes.n_children[node]):
        as_tree += estimate[child]
        weight = nodes.class_weight[child].sum()
        if weight > most:
            largest, most = child, weight
    return largest, as_tree


@kernel
def simplest(leaf: float, branch: float, tree: float) -> int:
    """What a node becomes, by pessimistic errors: a leaf (0), its branch (1), or as it is (2)."""
    if leaf <= min(branch, tree) + SLACK:
        return 0
    return 1 if branch <= tree + SLACK else 2


@kernel
def take_test(nodes: Nodes, node: int, given: Nodes, other: int) -> None:
    """Give a node (OUT) the test of another, or of itself as it once was."""
    nodes.attribute[node], nodes.cut[node] = given.attribute[other], given.cut[other]
    nodes.first[node], nodes.n_children[node] = given.first[other], given.n_children[other]
    nodes.route_start[node], nodes.worth[node] = given.route_start[other], given.worth[other]


@kernel
def prune(
    table: Table, nodes: Nodes, work: Work, confidence: float, deviation: float, raising: bool
) -> int:
    """Replace subtrees (OUT) by a leaf, or by their largest branch, where that errs no more.

    Goes on from where ``work`` (IN, OUT) stands. Answers how long the lists of rows must be to go
    on, 0 when all nodes have been looked at.
    """
    estimate, staying, pending = work.estimate, work.staying, work.pending
    n_pending, top = work.at
    while n_pending:
        node = pending[n_pending - 1]
        leaf = as_leaf(nodes.class_weight[node], confidence, deviation)
        estimate[node] = leaf
        if nodes.attribute[node] < 0:
            n_pending -= 1
            continue
        largest, tree = largest_child(nodes, node, staying, estimate)
        branch, end = np.inf, top
        if raising and nodes.attribute[largest] >= 0:
            end, branch = _spread(table, nodes, node, largest, top, confidence, deviation, work)
            if branch < 0.0:
                work.at[0], work.at[1] = n_pending, top
                return end
        n_pending -= 1
        best = simplest(leaf, branch, tree)
        if best == 0:
            nodes.attribute[node] = -1
        elif best == 1:
            staying[node] = work.new_staying[largest]
            take_test(nodes, node, nodes, largest)
            top = end
            n_pending += 1  # the same node again, after all that is now below it
            for under in below(nodes, node):
                nodes.start[under], nodes.stop[under] = work.start[under], work.stop[under]
                nodes.class_weight[under] = work.class_weight[under]
                staying[under] = work.new_staying[under]
                pending[n_pending] = under
                n_pending += 1
        else:
            estimate[node] = tree
    return 0


@kernel
def worth_keeping(
    table: Table, nodes: Nodes, description: NDArray[np.float64], keep: NDArray[np.bool_]
) -> None:
    """Which tests of a grown tree (OUT) say more of the classes' shares than their description,
    and leave the most frequent class as it is.

    ``description`` (IN, OUT) is how many bits it takes to tell the classes of a node's rows, tests
    below included; NaN (IN) if not known yet. A test is told by its column, a threshold by one of
    the node's rows, and the shares of each child but one by half the logarithm of the rows for each
    class but one.
    """
    for node in range(len(keep) - 1, -1, -1):
        if not np.isnan(description[node]):
            continue
        class_weight, j = nodes.class_weight[node], nodes.attribute[node]
        total, n_classes = class_weight.sum(), (class_weight > 0.0).sum()
        leaf = x_log_x(total)
        for weight in class_weight:
            leaf -= x_log_x(weight)
        description[node], keep[node] = leaf, False
        if j < 0 or total < 2.0:
            continue
        n_children, rows = nodes.n_children[node], math.log2(total)
        as_tree = math.log2(len(table.sizes)) + 0.5 * (n_children - 1) * (n_classes - 1) * rows
        if table.numeric[j]:
            as_tree += rows
        for child in range(nodes.first[node], nodes.first[node] + n_children):
            as_tree += description[child]
            if nodes.class_weight[child].argmax() != class_weight.argmax():
                as_tree = np.inf  # what predictions change by is for pruning to say
        if as_tree < leaf:
            description[node], keep[node] = as_tree, True


@kernel
def restore(nodes: Nodes, grown: Nodes, keep: NDArray[np.bool_], root: int) -> None:
    """Put tests that are kept (IN) back below leaves of a pruned tree (OUT).

    Not below a branch that stands in the place of its parent: it has other rows than it had.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        if nodes.attribute[node] < 0 and keep[node]:
            take_test(nodes, node, grown, node)
            for child in range(nodes.first[node], nodes.first[node] + nodes.n_children[node]):
                nodes.attribute[child] = -1
                nodes.class_weight[child] = grown.class_weight[child]
        if nodes.attribute[node] >= 0 and nodes.first[node] == grown.first[node]:
            for child in range(nodes.first[node], nodes.first[node] + nodes.n_children[node]):
                pending.append(child)
