"""What a tree of naive Bayes classifiers grows on, how, and its nodes while it grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.models.tree.decided import Test
from unnaive.models.tree.view import View
from unnaive.table.storage import Storage

CANDIDATES = 128  # attributes that a node judges, unless it is told how many
# Coarse slots, rows x attributes, and numbers of values.
Slots: TypeAlias = tuple[NDArray[np.uint16], NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class TreeRows:
    """Encoded rows: what growing sees of a table.

    Attributes
    ----------
    codes : list of arrays
        Slot of each row in each attribute: 0 missing, then fine cells or categories.
    numeric : tuple of bool
        Which attributes are numbers, their codes in ascending order of value.
    groups, weight, folds : arrays
        Class, weight and fold of each row.
    storage : Storage
        Where more arrays of rows go.
    """

    codes: list[NDArray[Any]]
    numeric: tuple[bool, ...]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    folds: NDArray[Any]
    n_classes: int
    n_folds: int
    storage: Storage


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """When to split and how leaves estimate; see `NBTreeClassifier`.

    ``stop`` says whether a node stays a leaf where a split cuts its error too little "or" it has
    too few rows, or only where both hold ("and"). ``max_features`` None is `CANDIDATES`.
    """

    alpha: float
    missing: str
    min_error_reduction: float
    significance: float | None
    min_node_size: float
    min_child_weight: float
    max_depth: int | None
    stop: str = "or"
    max_features: Any = None

    def most_tests(self, n_attributes: int) -> int:
        """How many questions are judged at a node, of one for each attribute."""
        given = self.max_features
        if given is None:
            return CANDIDATES
        return int(given if isinstance(given, Integral) else math.ceil(given * n_attributes))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A question, its utility, and which of the node's rows are then right."""

    test: Test
    utility: float
    right: NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Node:
    """One node of a grown tree, with everything that was considered there."""

    rows: NDArray[np.intp]
    depth: int
    weight: float
    utility: float
    candidates: dict[int, float] = field(default_factory=dict)
    test: Test | None = None
    children: list[int] = field(default_factory=list)
    parts: Sequence[Any] = ()  # its naive Bayes by attribute, and its classes' weights, where
    totals: NDArray[np.float64] | None = None  # its rows are elsewhere


@dataclass(slots=True, eq=False)
class Branch:
    """A node that grows: which of its rows are right, its view, and what has grown below it."""

    node: Node
    right: NDArray[np.bool_]
    view: View | None = None
    below: list[Branch] = field(default_factory=list)


def every_branch(root: Branch) -> list[Branch]:
    """All branches from one on, parents before children."""
    branches = [root]
    for branch in branches:
        branches += branch.below
    return branches


def is_luck(gained: float, changed: float, significance: float | None) -> bool:
    """Whether a subtree is not right more often than its root beyond chance: by the weight of rows
    that it gains, and of those that only one of both gets right; never without a significance.

    Chance: held-out rows that only the node or only its subtree gets right are as likely to be
    either. Small steps that lead somewhere together are so judged together.
    """
    if significance is None:
        return False
    return not changed or normal_tail(gained / math.sqrt(changed)) > significance


def normal_tail(deviations: float) -> float:
    """Chance of a normal variable to lie so many standard deviations or more above its mean."""
    return 0.5 * math.erfc(deviations / math.sqrt(2.0))


def flatten(root: Branch) -> list[Node]:
    """Nodes in order, parents before children, with the numbers of their children."""
    nodes: list[Node] = []
    stack = [(root, -1)]
    while stack:
        branch, parent = stack.pop()
        if parent >= 0:
            nodes[parent].children.append(len(nodes))
        stack += [(below, len(nodes)) for below in reversed(branch.below)]
        nodes.append(branch.node)
    return nodes
