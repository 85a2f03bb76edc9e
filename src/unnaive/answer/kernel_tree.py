"""A tree with a kernel naive Bayes at every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import tree_kernels as kernels
from unnaive.answer.tree import BayesTree, Located
from unnaive.bayes import KernelTerm, Term
from unnaive.common.checks import check_values, expect
from unnaive.density import Densities, Scale
from unnaive.density.estimate import check_tables
from unnaive.encode import Bins
from unnaive.table import Block


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class KernelTree(BayesTree):
    """A tree with a kernel naive Bayes at every node.

    The evidence of numbers in `BayesTree` is only whether they are missing; their densities are
    tables that are looked up (`Densities`), one for each node, attribute and class.

    Attributes
    ----------
    scales : tuple of Scale or None
        The range of each attribute at the root; None where it has no densities.
    factor : array of shape (nodes, attributes)
        The c of kernel width = c / sqrt(n); NaN where there is none.
    width : array of shape (attributes, nodes, classes)
        Widths of the kernels, in units of the attribute's range; 0 where there are none.
    start, per_step : arrays of shape (attributes, nodes, classes)
        Position of a table's first node, and nodes per unit.
    first, last : arrays of shape (attributes, nodes, classes)
        Where a table begins and ends in ``densities``; both 0 where there is none.
    densities : array
    """

    scales: tuple[Scale | None, ...]
    factor: NDArray[np.float64]
    width: NDArray[np.float64]
    start: NDArray[np.float64]
    per_step: NDArray[np.float64]
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    densities: NDArray[np.float64]

    def check(self) -> None:
        BayesTree.check(self)
        n, n_columns = self.n_nodes, len(self.coders)
        check_values("factor", self.factor, (n, n_columns), nan=True)
        shape = (n_columns, n, self.n_outputs)
        check_values("width", self.width, shape, 0.0)
        for name in ("start", "per_step", "first", "last"):
            given = getattr(self, name).shape
            expect(given == shape, f"{name} has the shape {given}, not {shape}.")
        self._check_presence()
        n_scales = len(self.scales)
        expect(n_scales == n_columns, f"scales are {n_scales}, but columns are {n_columns}.")
        for j, scale in enumerate(self.scales):
            there = self.last[j] > 0
            expect((self.first[j] < self.last[j])[there].all(), "a density has no table.")
            expect(not there.any() if scale is None else True, "a density has no scale.")
            if scale is not None:
                expect(isinstance(self.coders[j], Bins), f"column {j}, a density, is no number.")
                ends = (self.first[j][there], self.last[j][there])
                steps = (self.start[j][there], self.per_step[j][there])
                check_tables(scale, *steps, *ends, self.densities)

    def _check_presence(self) -> None:
        """Every class of a node has a table of an attribute, or none has, nor anything of one."""
        there = self.last != 0
        expect((self.last >= 0).all(), "a table of densities ends before it begins.")
        expect((there == there.any(axis=2, keepdims=True)).all(), "a class has no density.")
        nothing = not (self.first[~there].any() or self.width[~there].any())
        expect(nothing, "a density that is not there has a width or a place.")

    def _add_evidence(
        self,
        block: Block,
        slots: NDArray[np.uint16],
        node: NDArray[np.intp],
        joint: NDArray[np.float64],
    ) -> None:
        for j in range(len(self.coders)):
            self._add(block, j, slots, node, joint)

    def evidence(
        self, block: Block, located: Located | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        slots, node = self.locate(block) if located is None else located
        bars = np.zeros((block.n_rows, len(self.coders), self.log_prior.shape[1]))
        for j in range(len(self.coders)):
            self._add(block, j, slots, node, bars[:, j])
        return self.log_prior[node], bars

    def term(self, node: int, j: int) -> Term:
        scale = self.scales[j]
        if scale is None or not self.last[j, node].any():
            return BayesTree.term(self, node, j)  # dataclasses with slots have no super()
        first, last = self.first[j, node], self.last[j, node]
        densities = Densities(
            scale,
            self.width[j, node],
            float(self.factor[node, j]),
            self.start[j, node],
            self.per_step[j, node],
            first - first.min(),
            last - first.min(),
            self.densities[first.min() : last.max()],
        )
        absent, there = self.logs[self.place[node, self.offsets[j] : self.offsets[j] + 2]]
        return KernelTerm(densities, there, absent)

    def _add(
        self,
        block: Block,
        j: int,
        slots: NDArray[np.uint16],
        node: NDArray[np.intp],
        joint: NDArray[np.float64],
    ) -> None:
        """Add the evidence of one attribute to rows (OUT)."""
        scale = self.scales[j]
        if scale is None:
            at = self.offsets[j : j + 1]
            kernels.add_evidence(slots[:, j : j + 1], node, at, self.place, self.logs, joint)
            return
        tables = kernels.DensityTables(
            self.start[j], self.per_step[j], self.first[j], self.last[j], self.densities
        )
        place = self.place[:, self.offsets[j] : self.offsets[j + 1]]
        given = (slots[:, j], node, place, self.logs, scale.low, scale.half_range, tables)
        kernels.add_densities(block.numeric(j), *given, joint)
