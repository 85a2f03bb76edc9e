"""A tree as facts: its nodes, the conditions of their tests, and the path of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import BayesTree, ClassTree
from unnaive.bayes.scoring import probabilities
from unnaive.common.facts import Columns, Facts, FactTuple
from unnaive.common.wording import counted
from unnaive.explain.tree_text import condition, find_tree
from unnaive.table import Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Facts):
    """A node on the path of a row.

    Attributes
    ----------
    node : int
    condition : str
        The test passed from its parent; "" at the root.
    shares : array of shape (labels,)
        Class shares of the node, before any evidence.
    """

    node: int
    condition: str
    shares: NDArray[np.float64]

    def _columns(self) -> Columns:
        n = self.shares.size
        return {
            "node": [self.node] * n,
            "condition": [self.condition] * n,
            "label": np.arange(n),
            "share": self.shares,
        }

    def _title(self) -> str:
        return f"node {self.node}: {self.condition or 'the root'}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TreeNode(Facts):
    """One node of a tree.

    Attributes
    ----------
    node, parent, depth : int
        The root is 0 and has the parent -1.
    children : tuple of int
    attribute : str or None
        The attribute the node tests; None for a leaf.
    condition : str
        The test passed from its parent; "" at the root.
    weight : float
        Weight of its training rows.
    class_weight : array of shape (classes,)
        The same by class.
    staying : float
        Weight of the rows whose value is missing, so that no child has them.
    utility : float
        Cross-validated accuracy of the node's naive Bayes, or the gain ratio of a C4.5 test.
    words : str
        What the node predicts as a leaf.
    """

    node: int
    parent: int
    depth: int
    children: tuple[int, ...]
    attribute: str | None
    condition: str
    weight: float
    class_weight: NDArray[np.float64]
    staying: float
    utility: float
    words: str

    def _columns(self) -> Columns:
        return {
            "node": [self.node],
            "parent": [self.parent],
            "depth": [self.depth],
            "condition": [self.condition],
            "attribute": [self.attribute],
            "rows": [self.weight],
            "staying": [self.staying],
            "utility": [self.utility],
            "words": [self.words],
        }

    def _title(self) -> str:
        return f"node {self.node}: {self.condition or 'the root'}, {counted(self.weight, 'row')}"


def tree_of(model: Any) -> FactTuple[TreeNode]:
    """The nodes of a fitted tree, parents before children.

    Parameters
    ----------
    model : fitted tree classifier

    Returns
    -------
    tuple of TreeNode

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import C45Classifier
    >>> from unnaive.explain import tree_of
    >>> data = load_iris(as_frame=True)
    >>> tree = C45Classifier().fit(data.data, data.target_names[data.target])
    >>> for node in tree_of(tree)[:3]:
    ...     print(node.node, node.condition, node.weight)
    0  150.0
    1 petal width (cm) <= 0.6 50.0
    2 petal width (cm) > 0.6 100.0
    """
    answer, tree = find_tree(model, "tree_of reads")
    schema, labels = answer.schema, answer.labels
    utility = tree.utility if isinstance(tree, BayesTree) else tree.worth
    weight = tree.weight
    return FactTuple(
        TreeNode(
            n,
            int(tree.parent[n]),
            int(tree.depth[n]),
            tuple(tree.children(n)),
            schema.label(int(tree.attribute[n])) if tree.attribute[n] >= 0 else None,
            condition(tree, n, schema) if n else "",
            float(weight[n]),
            tree.class_weight[n],
            tree.staying(n),
            float(utility[n]),
            tree.describe(n, labels),
        )
        for n in range(tree.n_nodes)
    )


def path_to(tree: BayesTree | ClassTree, node: int, schema: Schema) -> tuple[Step, ...]:
    """The path from the root to a node."""
    steps = []
    while node >= 0:
        test = condition(tree, node, schema) if node else ""
        if isinstance(tree, BayesTree):
            shares = probabilities(tree.log_prior[node : node + 1].copy())[0]
        else:
            shares = tree.answer[node]
        steps.append(Step(node, test, shares))
        node = int(tree.parent[node])
    return tuple(reversed(steps))
