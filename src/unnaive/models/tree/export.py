"""A tree as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.encode import Bins
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
    names = [str(column.name) for column in model.schema_]
    lines: list[str] = []
    _describe(model.tree_, 0, "", names, model.classes_, max_depth, decimals, lines)
    return "\n".join(lines)


def _describe(
    tree: Tree,
    node: int,
    indent: str,
    names: list[str],
    classes: Any,
    max_depth: int | None,
    decimals: int,
    lines: list[str],
) -> None:
    if tree.attribute[node] < 0 or (max_depth is not None and tree.depth[node] >= max_depth):
        lines.append(f"{indent}{_leaf(tree, node, classes)}")
        return
    for child in tree.children(node):
        condition = _condition(tree, node, child, names, decimals)
        if tree.attribute[child] < 0:
            lines.append(f"{indent}{condition}: {_leaf(tree, child, classes)}")
        else:
            lines.append(f"{indent}{condition}")
            _describe(tree, child, indent + "|   ", names, classes, max_depth, decimals, lines)


def _condition(tree: Tree, node: int, child: int, names: list[str], decimals: int) -> str:
    j = int(tree.attribute[node])
    coder = tree.coders[j]
    if isinstance(coder, Bins):
        sign = "<=" if child == tree.children(node)[0] else ">"
        return f"{names[j]} {sign} {tree.threshold[node]:.{decimals}g}"
    assert coder is not None
    (slot,) = tree.slots_to(node, child)
    return f"{names[j]} = {coder.name(int(slot))}"


def _leaf(tree: Tree, node: int, classes: Any) -> str:
    present = np.flatnonzero(tree.class_weight[node])
    rows = f"{tree.weight[node]:g} rows"
    if len(present) == 1:
        return f"always {classes[present[0]]}, {rows}"
    return f"naive Bayes: {rows}, {len(present)} classes, utility {tree.utility[node]:.3f}"
