"""Growing Wang and Yuan's Flexible NBTree: kernel densities in the search and in the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import validate
from unnaive.density import Scale
from unnaive.density import kernels as density_kernels
from unnaive.density.estimate import FLOOR, middles
from unnaive.density.measure import delta
from unnaive.density.widths import choose_widths
from unnaive.discretize import kernels as cut_kernels
from unnaive.encode import Categories, Grid
from unnaive.encode.coding import coder_sizes
from unnaive.estimator import Progress
from unnaive.models.tree import node_kernels as kernels
from unnaive.models.tree.branches import TreeOptions, TreeRows
from unnaive.models.tree.decided import Test
from unnaive.models.tree.grow import Grower
from unnaive.models.tree.view import View

FINE = 8  # cells in the narrowest width, where a node has more cells than that needs


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One numeric attribute at one node.

    Attributes
    ----------
    codes : array of shape (cells,)
        Fine code of each cell, ascending; the highest one where codes were joined.
    positions : array of shape (cells,)
        In units of the range of the node's rows.
    counts : array of shape (cells + 1, classes)
        Weight of each class, first of the rows without a value.
    widths : array of shape (classes + 1,)
        Widths of the classes' kernels, then that of all together, in the same units.
    place : array of shape (ranks + 1,)
        Slot of each rank among the node's codes: 0 missing, then the cells.
    """

    codes: NDArray[np.intp]
    positions: NDArray[np.float64]
    counts: NDArray[np.float64]
    widths: NDArray[np.float64]
    place: NDArray[np.intp]


class FlexibleGrower(Grower):
    """Grow a tree that splits on the attribute of highest Bayes measure.

    Numbers are cut where the most probable class changes, if that passes MDL: one child for every
    interval. Where no cut passes, the next attribute is asked. Whether the split is kept is
    decided as in NBTree, by cross-validated accuracy of kernel naive Bayes.

    Parameters
    ----------
    rows, rules, n_jobs, progress :
        As in `Grower`.
    coders : sequence of Grid, Categories or None
        Their numbering of the columns gives codes their positions.
    bandwidth : str or float
        How kernels get their widths, once for each node, in units of its rows' range.
    select : {"utility", "delta"}
        Whether attributes are compared by what their split gives, or by the Bayes measure.
    """

    def __init__(
        self,
        rows: TreeRows,
        coders: Sequence[Grid | Categories | None],
        rules: TreeOptions,
        bandwidth: Any,
        select: str,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(rows, coder_sizes(coders), rules, None, n_jobs, progress)
        self.bandwidth = bandwidth
        self.select = select
        self.grids = [coder if isinstance(coder, Grid) else None for coder in coders]

    def questions(self, view: View, n_jobs: int | None) -> list[Test]:
        """All of them, or that of highest Bayes measure which divides the rows."""
        if self.select == "utility":
            return super().questions(view, n_jobs)
        measures = [self._measure(view, j) for j in range(len(self.sizes))]
        # The first of equals, as NBTree takes it.
        for j in np.argsort([-m[0] for m in measures], kind="stable").tolist():
            share, test = measures[j]
            if share > 0.0 and test is not None and self._is_wide(view, test):
                return [test]
        return []

    def _test(self, view: View, j: int) -> Test | None:
        """Where no cut passes MDL, NBTree's threshold: the split is still to be judged."""
        return self._measure(view, j)[1] or super()._test(view, j)

    def _measure(self, view: View, j: int) -> tuple[float, Test | None]:
        """Share of the rows whose class is the most probable given attribute j, and its test."""
        totals = kernels.child_weights(view.groups, view.weight, view.n_classes)
        if not self.rows.numeric[j]:
            codes, n_values = view.codes[j], int(self.sizes[j]) + 1
            given = (view.groups, view.weight, view.n_classes)
            _, counts = kernels.count_cells(codes, codes, n_values, *given)
            values = counts[1:].T
            share = delta(values, counts[0], totals, values.argmax(axis=0))
            return share, super()._test(view, j)
        cells = self._cells(view, j)
        if cells is None:
            return 0.0, None
        counts = cells.counts[1:]
        logs = np.empty_like(counts)
        everywhere = np.ones(len(counts), dtype=np.bool_)
        density_kernels.fill_cell_logs(
            cells.positions, counts, np.zeros_like(counts), cells.widths, FLOOR, everywhere, logs
        )
        best = (logs + np.log(totals)).argmax(axis=1)
        share = delta(counts.T, cells.counts[0], totals, best)
        return share, _cut_where_classes_change(j, cells, best)

    def _cells(self, view: View, j: int) -> Cells | None:
        """Numbers of attribute j at a node; None where it has no value or is always the same."""
        grid = self.grids[j]
        if grid is None or not view.n_ranks[j]:
            return None
        codes, counts = kernels.count_cells(
            view.codes[j],
            view.ranks[j],
            view.n_ranks[j],
            view.groups,
            view.weight,
            view.n_classes,
        )
        scaled = scaled_cells(grid, codes)
        if scaled is None:
            return None
        scale, positions = scaled
        by_class = np.ascontiguousarray(counts[1:].T)
        widths, _ = choose_widths(positions, by_class, self.bandwidth, FLOOR, scale.narrowest)
        place = np.arange(len(codes) + 1)
        step = widths.min() / FINE
        if 1.0 / step < len(codes) / 2:  # far more cells than needed
            whole = np.floor(positions / step)
            last = np.append(whole[1:] != whole[:-1], True)
            place[1:] = np.cumsum(np.append(True, last[:-1]))
            joined = np.zeros((int(place[-1]) + 1, view.n_classes))
            np.add.at(joined, place, counts)
            codes, counts, positions = codes[last], joined, (whole[last] + 0.5) * step
        return Cells(codes, positions, counts, widths, place)

    def _cross_validate(
        self, view: View, part: NDArray[np.int32], n_parts: int, right: NDArray[np.bool_]
    ) -> None:
        """Mark, for rows of any part, whether the part's naive Bayes gets them right (OUT)."""
        for p, n in enumerate(kernels.child_sizes(part, n_parts).tolist()):
            if n == 0:
                continue
            rows, marks = view.chosen, right
            if n < len(part):
                rows, marks = self.storage.empty(n, np.intp), self.storage.empty(n, np.bool_)
                kernels.rows_of_child(part, p, view.chosen, right, rows, marks)
            self._validate(view if n == len(part) else self._view(rows), marks)
            if n < len(part):
                kernels.return_marks(part, p, marks, right)

    def _validate(self, view: View, right: NDArray[np.bool_]) -> None:
        """Mark a node's rows that kernel naive Bayes gets right when it has not seen their fold
        (OUT).
        """
        slots, n_values = self.storage.copy(view.base), self.sizes.copy()
        widths = np.zeros((1, len(self.sizes), view.n_classes + 1))
        cells_of: dict[int, Cells] = {}
        for j in view.numeric.tolist():
            cells = self._cells(view, j)
            if cells is None:  # one value: all that it says is whether it is missing
                n_values[j] = min(view.n_ranks[j], 1)
                there = np.minimum(np.arange(view.n_ranks[j] + 1), 1)
                kernels.look_up(there, view.ranks[j], slots[:, j])
                continue
            cells_of[j] = cells
            kernels.look_up(cells.place, view.ranks[j], slots[:, j])
            n_values[j] = len(cells.codes)
            widths[0, j] = cells.widths
        starts = np.concatenate(([0], np.cumsum(n_values + 1)))
        positions = np.zeros((1, starts[-1]))
        for j, cells in cells_of.items():
            positions[0, starts[j] + 1 : starts[j + 1]] = cells.positions
        right[:] = False
        rows = self._folded(view, slots, self.storage.zeros(len(right), np.int32))
        densities = validate.Kernels(positions, widths, FLOOR)
        self._mark(rows, n_values[None], densities, right)


def scaled_cells(grid: Grid, codes: NDArray[np.intp]) -> tuple[Scale, NDArray[np.float64]] | None:
    """The range of the values that rows of some codes have, and the codes' positions in it.

    ``codes``, ascending, of a number's grid; None where all values are alike.
    """
    scale = Scale.of_cells(grid, codes - 1)
    return None if scale is None else (scale, scale.positions(middles(grid)[codes - 1]))


def _cut_where_classes_change(j: int, cells: Cells, best: NDArray[np.intp]) -> Test | None:
    """The test that cuts where the most probable class changes, as far as that passes MDL."""
    cuts = cut_kernels.cuts_between(cells.counts[1:], best)
    if len(cuts) == 0:
        return None
    below, above = cells.codes[cuts - 1], cells.codes[cuts]
    return Test(j, tuple(below.tolist()), tuple(above.tolist()))
