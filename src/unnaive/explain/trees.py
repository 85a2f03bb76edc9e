"""Trees: their nodes, the conditions of their tests, the path of a row, and trees as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer, ClassTree, NaiveBayesTree
from unnaive.answer.trees import Tree
from unnaive.answer.unwrap import unwrap
from unnaive.common.facts import Columns, Facts, FactTuple
from unnaive.common.wording import counted, printable
from unnaive.discretize.intervals import cut_names, whole_edges
from unnaive.encode import Categories
from unnaive.table import Schema


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
    """Return the nodes of a fitted tree, parents before children.

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
    utility = tree.utility if isinstance(tree, NaiveBayesTree) else tree.worth
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


def path_to(tree: Tree, node: int, schema: Schema) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the nodes from the root to a node, and the test that leads to each."""
    path: list[int] = []
    while node >= 0:
        path.append(node)
        node = int(tree.parent[node])
    path.reverse()
    return tuple(path), tuple(condition(tree, n, schema) if n else "" for n in path)


def export_text(model: Any, *, max_depth: int | None = None, decimals: int = 6) -> str:
    """Return a fitted tree as indented text.

    Parameters
    ----------
    model : fitted tree classifier
    max_depth : int or None, default=None
        Show no deeper nodes.
    decimals : int, default=6
        Significant digits of thresholds.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NBTreeClassifier, export_text
    >>> data = load_iris(as_frame=True)
    >>> tree = NBTreeClassifier(max_depth=0, random_state=0).fit(data.data, data.target)
    >>> print(export_text(tree))
    naive Bayes: 150 rows, 3 classes, utility 0.947
    """
    root, tree = find_tree(model, "export_text shows")
    schema, labels = root.schema, root.labels
    deepest = tree.depth.max() if max_depth is None else max_depth
    # Deeper nodes name their depth, so the text of a chain grows with its nodes alone.
    most_indented = 50
    lines = []
    for node in np.flatnonzero(tree.depth <= deepest).tolist():  # parents before children
        leaf = tree.attribute[node] < 0 or tree.depth[node] == deepest
        answer = tree.describe(node, labels) if leaf else ""
        if leaf and tree.attribute[node] >= 0:
            answer += " ..."  # there is more below
        depth = int(tree.depth[node])
        indent = "|   " * min(depth, most_indented)
        if node:
            test = condition(tree, node, schema, decimals)
            level = f"[depth {depth}] " if depth > most_indented else ""
            lines.append(f"{indent[4:]}{level}{test}{f': {answer}' if leaf else ''}")
        elif leaf:
            lines.append(answer)
        staying = tree.staying(node)
        if not leaf and staying >= 1e-3:  # less is the rounding of the shares of rows
            name = schema.label(int(tree.attribute[node]))
            rows = counted(staying, "row")
            lines.append(f"{indent}{name} missing: the node's own answer, {rows}")
    return "\n".join(map(printable, lines))


def find_tree(model: Any, what: str) -> tuple[Answer, NaiveBayesTree | ClassTree]:
    """Return a fitted model's answer and the tree in it; ``what`` begins the error message."""
    check_is_fitted(model)
    model = unwrap(model).model
    answer = getattr(model, "answer_", None)
    tree = answer.tree if isinstance(answer, Answer) else None
    if tree is None or not isinstance(answer, Answer):
        raise TypeError(
            f"{what} trees of this library, such as NBTreeClassifier; got a {type(model).__name__}."
        )
    return answer, tree


def condition(tree: Tree, node: int, schema: Schema, decimals: int = 6) -> str:
    """Return the test that leads to a node from its parent."""
    parent = int(tree.parent[node])
    column, coder = schema[int(tree.attribute[parent])], tree.coders[tree.attribute[parent]]
    name = schema.label(int(tree.attribute[parent]))
    if isinstance(coder, Categories):
        return f"{name} = {coder.name(tree.value(node))}"
    place = tree.child_number(node)
    cuts = tree.cuts(parent)
    whole = whole_edges(cuts, column)
    if whole is not None:
        return _whole_test(name, place, *whole)
    edges = cut_names(cuts, column, decimals)
    if place == 0:
        return f"{name} <= {edges[0]}"
    if place == len(edges):
        return f"{name} > {edges[-1]}"
    return f"{edges[place - 1]} < {name} <= {edges[place]}"


def _whole_test(name: str, place: int, last: list[str], first: list[str]) -> str:
    """Return the test of a column of whole numbers or levels, by the first and last of them."""
    if place == 0:
        return f"{name} <= {last[0]}"
    if place == len(last):
        return f"{name} >= {first[-1]}"
    low, high = first[place - 1], last[place]
    return f"{name} = {low}" if low == high else f"{low} <= {name} <= {high}"
