"""A tree as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.encode import Categories
from unnaive.models.tree.tree import Tree


def export_text(model: Any, *, max_depth: int | None = None, decimals: int = 6) -> str:
    """A fitted tree as indented text.

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
    check_is_fitted(model)
    tree: Tree = model.tree_
    names = [str(column.name) for column in model.schema_]
    deepest = tree.depth.max() if max_depth is None else max_depth
    lines = []
    for node in np.flatnonzero(tree.depth <= deepest).tolist():  # parents before children
        leaf = tree.attribute[node] < 0 or tree.depth[node] == deepest
        answer = tree.describe(node, model.classes_) if leaf else ""
        if node == 0:
            if leaf:
                lines.append(answer)
            continue
        condition = _condition(tree, node, names, decimals)
        indent = "|   " * (tree.depth[node] - 1)
        lines.append(f"{indent}{condition}: {answer}" if leaf else f"{indent}{condition}")
    return "\n".join(lines)


def _condition(tree: Tree, node: int, names: list[str], decimals: int) -> str:
    """What leads to a node from its parent."""
    parent = int(tree.parent[node])
    name, coder = names[tree.attribute[parent]], tree.coders[tree.attribute[parent]]
    if isinstance(coder, Categories):
        return f"{name} = {coder.name(tree.value(node))}"
    place = tree.children(parent).index(node)
    edges = [f"{cut:.{decimals}g}" for cut in tree.cuts(parent)]
    if place == 0:
        return f"{name} <= {edges[0]}"
    if place == len(edges):
        return f"{name} > {edges[-1]}"
    return f"{edges[place - 1]} < {name} <= {edges[place]}"
