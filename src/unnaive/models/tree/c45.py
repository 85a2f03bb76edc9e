"""From rows to a tree by C4.5: grow, collapse, prune, and number what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from unnaive.discretize import CoarseCoder
from unnaive.encode import Bins, Categories, Grid, coder_sizes
from unnaive.models.tree import prune_kernels
from unnaive.models.tree.c45_kernels import Nodes, Table, grow
from unnaive.models.tree.class_tree import ClassTree
from unnaive.models.tree.classifier import Encoded
from unnaive.models.tree.tree import lay_out
from unnaive.table import Storage

MANY_VALUES = 0.3  # discrete attributes with values for this share of the rows are no yardstick


@dataclass(frozen=True, slots=True)
class C45Rules:
    """See `C45Classifier`."""

    ratio: bool
    penalty: bool
    min_rows: float
    max_depth: int | None
    prune: bool
    raising: bool
    confidence: float
    alpha: float


def grow_c45(
    rows: Encoded,
    coders: Sequence[Grid | Categories | None],
    n_classes: int,
    rules: C45Rules,
    storage: Storage,
) -> ClassTree:
    """The pruned tree of the rows."""
    everyone = np.flatnonzero(rows.weight > 0.0).astype(np.int32)
    table = _table(rows, coders, len(everyone), storage)
    depth = -1 if rules.max_depth is None else rules.max_depth
    nodes, n_nodes = grow(
        table, everyone, n_classes, rules.min_rows, depth, rules.penalty, rules.ratio
    )
    prune_kernels.collapse(nodes, n_nodes)
    if rules.prune:
        deviation = float(norm.ppf(1.0 - rules.confidence))
        prune_kernels.prune(table, nodes, n_nodes, rules.confidence, deviation, rules.raising)
    return _number(nodes, coders, rules.alpha)


def _table(
    rows: Encoded,
    coders: Sequence[Grid | Categories | None],
    n_rows: int,
    storage: Storage,
) -> Table:
    grids = [c if isinstance(c, Grid) else Grid(0, np.empty(0), np.empty(0)) for c in coders]
    sizes = np.array(coder_sizes(coders), dtype=np.int64)
    numeric = np.array([isinstance(coder, Grid) for coder in coders])
    few = numeric | (sizes < MANY_VALUES * n_rows)
    codes = storage.empty((len(coders), len(rows.groups)), np.uint16)
    for own, column in zip(codes, rows.codes, strict=True):
        own[:] = column
    return Table(
        codes=codes,
        sizes=sizes,
        numeric=numeric,
        ordinary=few if few.any() else np.ones_like(few),
        edges=np.cumsum([0, *(grid.size for grid in grids)], dtype=np.int64),
        low=np.concatenate([grid.low for grid in grids]),
        high=np.concatenate([grid.high for grid in grids]),
        groups=rows.groups.astype(np.int64),
        weight=rows.weight,
    )


def _number(nodes: Nodes, coders: Sequence[Grid | Categories | None], alpha: float) -> ClassTree:
    """The nodes that pruning left, parents before children, on one numbering of rows."""
    kept: list[int] = []
    parents, depths = [], []
    pending = [(0, -1, 0)]
    while pending:
        node, parent, depth = pending.pop()
        parents.append(parent)
        depths.append(depth)
        if nodes.attribute[node] >= 0:
            first = int(nodes.first[node])
            last = first + int(nodes.n_children[node]) - 1
            pending += [(child, len(kept), depth + 1) for child in range(last, first - 1, -1)]
        kept.append(node)
    attribute = nodes.attribute[kept]
    answers = [
        _answers(nodes, node, coders[j]) if j >= 0 else np.empty(0)
        for node, j in zip(kept, attribute.tolist(), strict=True)
    ]
    numbering: list[CoarseCoder] = [
        Bins(np.unique([answers[n][0] for n in np.flatnonzero(attribute == j)]))
        if isinstance(coder, Grid)
        else coder
        for j, coder in enumerate(coders)
    ]
    class_weight = nodes.class_weight[kept]
    smooth = class_weight + alpha
    return ClassTree(
        **lay_out(numbering, attribute, answers, np.array(parents, dtype=np.intp)),
        depth=np.array(depths),
        class_weight=class_weight,
        worth=np.where(attribute >= 0, nodes.worth[kept], 0.0),
        answer=smooth / smooth.sum(axis=1, keepdims=True),
    )


def _answers(nodes: Nodes, node: int, coder: Grid | Categories | None) -> NDArray[Any]:
    """Where a numeric test cuts, or the slots of a discrete test's children."""
    if isinstance(coder, Grid):
        return coder.high[[nodes.cut[node] - 1]]
    assert coder is not None
    start = nodes.route_start[node]
    return np.flatnonzero(nodes.route[start : start + coder.size] >= 0) + 1
