"""Checks that arrays are a tree: kernels follow them unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.counts.table import slot_offsets
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.encode.coding import coder_sizes

if TYPE_CHECKING:
    from unnaive.answer.tree import Tree


def children_of(parent: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """``child_start`` and ``child`` of a tree."""
    order = np.argsort(parent, kind="stable")  # the root comes first, then children of node 0
    return np.searchsorted(parent[order], np.arange(len(parent) + 1)), order


def check_nodes(tree: Tree) -> None:
    """Check that nodes form a tree, and that tests lead to a node's children."""
    n, parent, depth = tree.attribute.size, tree.parent, tree.depth
    check_values("attribute", tree.attribute, (n,), -1, len(tree.coders) - 1)
    expect(n and parent.shape == (n,) and parent[0] == -1, "node 0 is not a root.")
    check_values("parent", parent[1:], (n - 1,), 0)
    expect((parent[1:] < np.arange(1, n)).all(), "a child comes before its parent.")
    expect(depth.shape == (n,) and depth[0] == 0, "depth is not 0 at the root.")
    expect((depth[1:] == depth[parent[1:]] + 1).all(), "a child is not 1 deeper than its parent.")
    start, child = children_of(parent)
    same = np.array_equal(tree.child_start, start) and np.array_equal(tree.child, child)
    expect(same, "child and child_start do not match parent.")
    expect(((np.diff(start) > 0) == (tree.attribute >= 0)).all(), "a leaf has children.")
    sizes = coder_sizes(tree.coders)
    expect(max(sizes, default=0) <= GRID_LIMIT, "a column has too many values.")
    expect(np.array_equal(tree.offsets, slot_offsets(sizes)), "offsets do not match the coders.")
    expect(tree.class_weight.ndim == 2, "class_weight is not nodes x classes.")
    check_values("class_weight", tree.class_weight, (n, tree.n_outputs), 0.0, HEAVIEST)
    _check_routes(tree, np.array([*sizes, 0])[tree.attribute])  # a leaf, at -1, tests nothing


def _check_routes(tree: Tree, size: NDArray[np.intp]) -> None:
    """Check routes, given the number of values of the column that each node tests."""
    n, tests = tree.n_nodes, tree.attribute >= 0
    expect((size[tests] > 0).all(), "a node tests a column without values.")
    cuts = np.array([*(isinstance(c, Bins) for c in tree.coders), False])[tree.attribute]
    children = np.diff(tree.child_start)
    length = np.where(tests, np.where(cuts, children - 1, size), 0)
    same = np.array_equal(tree.route_start, np.cumsum(length) - length)
    expect(same, "route_start does not match the lengths of the tests.")
    shape = tree.route.shape
    expect(shape == (length.sum(),), f"route has shape {shape}, but tests need {length.sum()}.")
    node = np.repeat(np.arange(n), length)  # of each entry
    low = np.where(cuts, 1, -1)[node]
    high = np.where(cuts, size - 1, children - 1)[node]
    expect(((tree.route >= low) & (tree.route <= high)).all(), "a test leads to no child.")
    within = (node[1:] == node[:-1]) & cuts[node[1:]]
    expect((np.diff(tree.route)[within] > 0).all(), "the cuts of a test are not in order.")
    named = ~cuts[node] & (tree.route >= 0)
    led = np.bincount((tree.child_start[node] + tree.route)[named], minlength=n)
    by_value = (tests & ~cuts)[tree.parent[tree.child]] & (tree.child > 0)
    expect(np.array_equal(led, by_value), "a child has no value, or more than one.")
