"""From grown nodes to a tree that answers: naive Bayes of every node, on one numbering of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.trees import BayesTree, lay_out
from unnaive.bayes.estimate import log_likelihood, log_prior
from unnaive.common.threads import in_threads
from unnaive.counts.table import slot_offsets
from unnaive.discretize import CoarseCoder
from unnaive.discretize.cuts import midpoints
from unnaive.encode import Bins, Categories, Grid
from unnaive.encode.coding import coder_sizes
from unnaive.models.tree import node_kernels
from unnaive.models.tree.branches import Node, TreeOptions, TreeRows


@dataclass(frozen=True, slots=True, eq=False)
class AttributeTable:
    """One attribute at one node: its cuts (None for categories), the evidence of its slots, and
    the weight of the node's rows behind it, both slots x classes.
    """

    cuts: NDArray[np.float64] | None
    logs: NDArray[np.float64]
    counts: NDArray[np.float64]


class Leaves:
    """From grown nodes to a tree: the naive Bayes of each.

    ``cuts`` are those of all nodes, or None for each its own.
    """

    def __init__(
        self,
        coders: Sequence[Grid | Categories | None],
        rules: TreeOptions,
        cuts: Sequence[NDArray[np.float64] | None] | None = None,
    ) -> None:
        self.coders, self.rules = coders, rules
        given = [None] * len(coders) if cuts is None else cuts
        self.fixed = [slots_of_codes(*both) for both in zip(coders, given, strict=True)]

    def part(self, rows: TreeRows, chosen: NDArray[np.intp], j: int) -> Any:
        """Attribute j in the naive Bayes of the chosen rows."""
        return table_part(rows, chosen, self.coders[j], self.rules, j, *self.fixed[j])

    def describe(self, node: Node, rows: TreeRows) -> None:
        """Give a node its naive Bayes, from its rows."""
        node.parts = [self.part(rows, node.rows, j) for j in range(len(self.coders))]
        given = (rows.groups, rows.weight, node.rows, rows.n_classes)
        node.totals = node_kernels.class_weights(*given)

    def build(self, nodes: Sequence[Node]) -> BayesTree:
        """Flat arrays of nodes that have their naive Bayes."""
        return BayesTree(**bayes_fields(nodes, self.coders, [node.parts for node in nodes]))

    def build_here(
        self, nodes: Sequence[Node], rows: TreeRows, n_jobs: int | None = None
    ) -> BayesTree:
        """Flat arrays of nodes whose rows are here."""
        in_threads(lambda node: self.describe(node, rows), nodes, n_jobs)
        return self.build(nodes)


def bayes_fields(
    nodes: Sequence[Node],
    coders: Sequence[Grid | Categories | None],
    parts: Sequence[Sequence[AttributeTable]],
) -> dict[str, Any]:
    """The fields of a `BayesTree`, given what each node says about each attribute."""
    attribute = np.array([-1 if n.test is None else n.test.attribute for n in nodes])
    answers = [_answers(node, coders) for node in nodes]
    numbering = tuple(
        _union(coder, [p[j] for p in parts], [answers[n] for n in np.flatnonzero(attribute == j)])
        for j, coder in enumerate(coders)
    )
    offsets = slot_offsets(coder_sizes(numbering))
    place = np.empty((len(nodes), offsets[-1]), dtype=np.int32)
    logs: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.float64]] = []
    filled = 0
    for n, node_parts in enumerate(parts):
        for j, part in enumerate(node_parts):
            place[n, offsets[j] : offsets[j + 1]] = filled + _places(part, numbering[j])
            logs.append(part.logs)
            counts.append(part.counts)
            filled += len(part.logs)
    totals = np.array([node.totals for node in nodes])
    return {
        **lay_out(numbering, attribute, answers, _parents(nodes)),
        "depth": np.array([node.depth for node in nodes]),
        "utility": np.array([node.utility for node in nodes]),
        "candidates": np.array(
            [[n.candidates.get(j, np.nan) for j in range(len(coders))] for n in nodes]
        ),
        "class_weight": totals,
        "place": place,
        "logs": np.concatenate(logs),
        "counts": np.concatenate(counts),
        "log_prior": np.array([log_prior(t, 0.0, None) for t in totals]),
    }


def _parents(nodes: Sequence[Node]) -> NDArray[np.intp]:
    parent = np.full(len(nodes), -1, dtype=np.intp)
    for n, node in enumerate(nodes):
        parent[node.children] = n
    return parent


def table_part(
    rows: TreeRows,
    chosen: NDArray[np.intp],
    coder: Grid | Categories | None,
    rules: TreeOptions,
    j: int,
    cuts: NDArray[np.float64] | None,
    slots: NDArray[Any] | None,
) -> AttributeTable:
    """Naive Bayes of one attribute from the chosen rows; ``slots`` of its codes, None to cut."""
    codes, given = rows.codes[j], (rows.groups, rows.weight, rows.n_classes)
    if slots is None:
        assert isinstance(coder, Grid)
        below, above, counts = node_kernels.cut_part(codes, chosen, coder.size, *given)
        cuts = midpoints(coder.high[below - 1], coder.low[above - 1])
    else:
        counts = node_kernels.count_part(codes, chosen, slots, *given)
    return AttributeTable(cuts, log_likelihood(counts, rules.alpha, rules.missing), counts.T)


def slots_of_codes(
    coder: Grid | Categories | None, cuts: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
    """Cuts of an attribute and the slots of its codes, where all nodes have the same."""
    if isinstance(coder, Grid) and coder.size:
        return cuts, None if cuts is None else Bins(cuts).place(coder.low)
    return None, np.arange(2 if coder is None else coder.size + 2)


def _answers(node: Node, coders: Sequence[Grid | Categories | None]) -> NDArray[Any]:
    """Where a numeric test cuts, or the slots of a discrete test's children."""
    if node.test is None or node.test.values:
        return np.array(() if node.test is None else node.test.values, dtype=np.intp)
    grid = coders[node.test.attribute]
    assert isinstance(grid, Grid)
    below, above = np.array(node.test.below), np.array(node.test.above)
    return midpoints(grid.high[below - 1], grid.low[above - 1])


def _union(
    coder: Grid | Categories | None,
    parts: Sequence[AttributeTable],
    tested: Sequence[NDArray[np.float64]],
) -> CoarseCoder:
    """Numbering that is fine enough for every node and every test."""
    if not isinstance(coder, Grid):
        return coder
    every = [p.cuts for p in parts if p.cuts is not None]
    return Bins(np.unique(np.concatenate([*every, *tested])))


def _places(part: AttributeTable, numbering: CoarseCoder) -> NDArray[np.intp]:
    """Slot at a node for each slot of the common numbering."""
    if not isinstance(numbering, Bins):
        return np.arange(len(part.logs))
    if part.cuts is None:  # never a value here
        return np.array([0] + [len(part.logs) - 1] * (numbering.size + 1))
    # An interval of the common numbering lies inside the node's interval above its lower edge.
    lower = np.searchsorted(part.cuts, numbering.cuts, side="right") + 1
    return np.concatenate(([0, 1], lower, [len(part.logs) - 1]))
