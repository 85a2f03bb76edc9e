"""How grown nodes become a tree with kernel densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.trees import KernelTree
from unnaive.bayes.estimate import missing_evidence
from unnaive.density import Densities, Scale
from unnaive.density.estimate import densities_at
from unnaive.encode import Categories, Grid
from unnaive.models.tree import node_kernels
from unnaive.models.tree.branches import Node, TreeOptions, TreeRows
from unnaive.models.tree.build import AttributeTable, Leaves, bayes_fields
from unnaive.models.tree.flexible import scaled_cells


class KernelLeaves(Leaves):
    """From grown nodes to a tree with densities."""

    def __init__(
        self, coders: Sequence[Grid | Categories | None], rules: TreeOptions, bandwidth: Any
    ) -> None:
        # Numbers without densities are all alike.
        super().__init__(coders, rules, [np.empty(0)] * len(coders))
        self.bandwidth = bandwidth
        self.scales = tuple(
            Scale.of(coder) if isinstance(coder, Grid) else None for coder in coders
        )

    def part(
        self, rows: TreeRows, chosen: NDArray[np.intp], j: int
    ) -> tuple[AttributeTable, Densities | None]:
        if self.scales[j] is None:
            return super().part(rows, chosen, j), None
        return _number(rows, chosen, j, self.coders[j], self.rules, self.bandwidth)

    def build(self, nodes: Sequence[Node]) -> KernelTree:
        return _kernel_tree(nodes, self.coders, self.scales)


def _kernel_tree(
    nodes: Sequence[Node],
    coders: Sequence[Grid | Categories | None],
    scales: tuple[Scale | None, ...],
) -> KernelTree:
    """Flat arrays of a grown tree, with densities from the rows of every node."""
    assert nodes[0].totals is not None
    shape = (len(coders), len(nodes), len(nodes[0].totals))
    width, start, per_step = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    first, last = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    factor = np.full((len(nodes), len(coders)), np.nan)
    tables, filled = [np.empty(0)], 0
    for n, node in enumerate(nodes):
        for j, (_, density) in enumerate(node.parts):
            if density is None:
                continue
            factor[n, j], width[j, n] = density.factor, density.widths
            start[j, n], per_step[j, n] = density.start, density.per_step
            first[j, n], last[j, n] = filled + density.first, filled + density.last
            tables.append(density.logs)
            filled += len(density.logs)
    parts = [[part for part, _ in node.parts] for node in nodes]
    return KernelTree(
        **bayes_fields(nodes, coders, parts),
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
    rows: TreeRows,
    chosen: NDArray[np.intp],
    j: int,
    grid: Grid | Categories | None,
    rules: TreeOptions,
    bandwidth: Any,
) -> tuple[AttributeTable, Densities | None]:
    """Naive Bayes of one number from the chosen rows; no densities where its values are alike."""
    assert isinstance(grid, Grid)
    scale = Scale.of(grid)
    assert scale is not None
    given = (rows.groups, rows.weight, rows.n_classes)
    cells, counts = node_kernels.count_cells_of(rows.codes[j], chosen, grid.size, *given)
    by_class = np.ascontiguousarray(counts[1:].T)
    there, absent = missing_evidence(by_class.sum(axis=1), counts[0], rules.alpha, rules.missing)
    logs = np.stack((absent, there, np.zeros_like(there)))
    scaled = scaled_cells(grid, cells) if len(cells) else None
    density = None if scaled is None else densities_at(*scaled, by_class, bandwidth)
    rows_behind = np.stack((counts[0], by_class.sum(axis=1), np.zeros_like(there)))
    return AttributeTable(np.empty(0), logs, rows_behind), None if density is None else density.on(
        scale
    )
