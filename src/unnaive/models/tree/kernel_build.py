"""How grown nodes become a tree with kernel densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.answer.kernel_tree import KernelTree
from unnaive.bayes.estimate import missing_evidence
from unnaive.common.threads import in_threads
from unnaive.density import Densities, Scale
from unnaive.density.estimate import densities_at
from unnaive.encode import Categories, Grid
from unnaive.models.tree import node_kernels
from unnaive.models.tree.build import AttributeTable, bayes_fields, slots_of_codes, table_part
from unnaive.models.tree.flexible import scaled_cells
from unnaive.models.tree.grow import Node, TreeOptions, TreeRows


def build_kernel_tree(
    nodes: Sequence[Node],
    rows: TreeRows,
    coders: Sequence[Grid | Categories | None],
    rules: TreeOptions,
    bandwidth: Any,
    n_jobs: int | None = None,
) -> KernelTree:
    """Flat arrays of a grown tree, with densities from the rows of every node."""
    scales = tuple(Scale.of(coder) if isinstance(coder, Grid) else None for coder in coders)

    # Numbers without densities are all alike.
    one_piece = [slots_of_codes(coder, np.empty(0)) for coder in coders]

    def estimate(node: Node) -> list[tuple[AttributeTable, Densities | None]]:
        return [
            (table_part(node, rows, coder, rules, j, *one_piece[j]), None)
            if scales[j] is None
            else _number(node, rows, j, coder, rules, bandwidth)
            for j, coder in enumerate(coders)
        ]

    found = list(in_threads(estimate, nodes, n_jobs))
    shape = (len(coders), len(nodes), rows.n_classes)
    width, start, per_step = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    first, last = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    factor = np.full((len(nodes), len(coders)), np.nan)
    tables, filled = [np.empty(0)], 0
    for n, own in enumerate(found):
        for j, (_, density) in enumerate(own):
            if density is None:
                continue
            factor[n, j], width[j, n] = density.factor, density.widths
            start[j, n], per_step[j, n] = density.start, density.per_step
            first[j, n], last[j, n] = filled + density.first, filled + density.last
            tables.append(density.logs)
            filled += len(density.logs)
    parts = [[part for part, _ in own] for own in found]
    return KernelTree(
        **bayes_fields(nodes, rows, coders, parts),
        scales=scales,
        factor=factor,
        width=width,
        start=start,
        per_step=per_step,
        first=first,
        last=last,
        densities=np.concatenate(tables),
    )


def _number(
    node: Node,
    rows: TreeRows,
    j: int,
    grid: Grid | Categories | None,
    rules: TreeOptions,
    bandwidth: Any,
) -> tuple[AttributeTable, Densities | None]:
    """Naive Bayes of one number from the node's rows; no densities where its values are alike."""
    assert isinstance(grid, Grid)
    scale = Scale.of(grid)
    assert scale is not None
    given = (rows.groups, rows.weight, rows.n_classes)
    cells, counts = node_kernels.count_cells_of(rows.codes[j], node.rows, grid.size, *given)
    by_class = np.ascontiguousarray(counts[1:].T)
    there, absent = missing_evidence(by_class.sum(axis=1), counts[0], rules.alpha, rules.missing)
    logs = np.stack((absent, there, np.zeros_like(there)))
    scaled = scaled_cells(grid, cells) if len(cells) else None
    density = None if scaled is None else densities_at(*scaled, by_class, bandwidth)
    rows_behind = np.stack((counts[0], by_class.sum(axis=1), np.zeros_like(there)))
    return AttributeTable(np.empty(0), logs, rows_behind), None if density is None else density.on(
        scale
    )
