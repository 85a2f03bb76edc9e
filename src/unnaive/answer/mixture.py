"""Hierarchical mixtures: gates and experts as flat arrays, and their one kernel."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.evidence import Evidence, member_evidence, scorer_evidence, select_outputs
from unnaive.answer.nodes import (
    Node,
    check_counts,
    in_chunks,
    normalized_totals,
    scorer_importances,
)
from unnaive.bayes import Scorer
from unnaive.bayes.kernels import log_sum
from unnaive.common.checks import MOST, expect
from unnaive.common.kernels import kernel
from unnaive.counts import CountTable
from unnaive.table import Block, Schema
from unnaive.table.columns import as_objects

MOST_EXPERTS = MOST["max_experts"]
MOST_LAYERS = 64


def check_layers(layers: Any) -> tuple[int, ...]:
    """Return the layers that a user gives as whole numbers."""
    listed = hasattr(layers, "__len__") and not isinstance(layers, str)
    if not (
        listed
        and len(layers) > 0
        and all(isinstance(b, numbers.Integral) and int(b) >= 1 for b in layers)
    ):
        raise ValueError(
            "layers must be 'grow' or whole numbers, 1 or more, such as (4,) or (2, 2); "
            f"got {layers!r}."
        )
    n, sizes = 1, tuple(int(b) for b in layers)
    if len(sizes) > MOST_LAYERS:
        raise ValueError(f"layers has {len(sizes):,} layers; at most {MOST_LAYERS} can be trained.")
    for width in sizes:
        n *= width
        if n > MOST_EXPERTS:
            raise ValueError(
                f"layers asks for {n:,} experts; at most {MOST_EXPERTS:,} can be trained."
            )
    return sizes


class Net(NamedTuple):
    """The architecture; see `MixtureStructure`."""

    first: NDArray[np.intp]
    width: NDArray[np.intp]
    n_experts: int
    n_classes: int


@dataclass(frozen=True, slots=True, eq=False)
class MixtureStructure:
    """Gates and experts, level by level; node 0 is the root, the last nodes are the experts.

    Every model is a naive Bayes over *units*: a gate's are its children, an expert's are the
    classes. Unit ``node - 1`` is that node as its gate sees it; after all of these come the
    experts' units, class by class, so that one class's units of all experts stand together.

    Attributes
    ----------
    layers : tuple of int
        Children of every gate of each layer.
    n_classes : int
    """

    layers: tuple[int, ...]
    n_classes: int

    def check(self) -> None:
        """Check the layers and the number of classes."""
        check_layers(self.layers)
        expect(self.n_classes > 0, "there are no classes.")

    @property
    def width(self) -> NDArray[np.intp]:
        """Number of children of each gate."""
        gates = np.cumprod((1, *self.layers[:-1]))
        return np.repeat(np.array(self.layers, np.intp), gates)

    @property
    def first(self) -> NDArray[np.intp]:
        """First child of each gate: children of one gate follow those of the gate before."""
        width = self.width
        return np.cumsum(width) - width + 1

    @property
    def net(self) -> Net:
        """The arrays that kernels need."""
        return Net(self.first, self.width, self.n_experts, self.n_classes)

    @property
    def n_gates(self) -> int:
        return sum(math.prod(self.layers[:k]) for k in range(len(self.layers)))

    @property
    def n_experts(self) -> int:
        return math.prod(self.layers)

    @property
    def n_gate_units(self) -> int:
        return self.n_gates - 1 + self.n_experts

    @property
    def n_units(self) -> int:
        return self.n_gate_units + self.n_experts * self.n_classes

    def models(self) -> list[NDArray[np.intp]]:
        """Return the units of every model: gates in order, then experts."""
        ends = np.cumsum(self.width)
        gates = np.split(np.arange(ends[-1]), ends[:-1])
        classes = self.n_gate_units + self.n_experts * np.arange(self.n_classes)
        return gates + [classes + e for e in range(self.n_experts)]

    def children(self, gate: int) -> list[str]:
        """Return the names of a gate's children."""
        first = int(self.first[gate])
        return [self.name(node) for node in range(first, first + int(self.width[gate]))]

    def name(self, node: int) -> str:
        """Name of a gate or an expert."""
        gates = self.n_gates
        return f"gate {node}" if node < gates else f"expert {node - gates}"

    def experts_below(self) -> list[NDArray[np.intp]]:
        """Return the experts below every node, gates first."""
        below = []
        for k in range(len(self.layers) + 1):  # gates of a level share the experts equally
            below += np.split(np.arange(self.n_experts), math.prod(self.layers[:k]))
        return below

    def __repr__(self) -> str:
        return f"MixtureStructure {'-'.join(map(str, self.layers))}: {self.n_experts} experts"


@dataclass(frozen=True, slots=True, eq=False)
class GatedMixture(Node):
    """Gates divide every row among experts; gates and experts are naive Bayes models.

    Attributes
    ----------
    shape : MixtureStructure
        The architecture of gates and experts.
    scorer : Scorer
        Of all gates and experts: its classes are their units.
    counts : CountTable
        Weight of the training rows by unit.
    """

    shape: MixtureStructure
    scorer: Scorer
    counts: CountTable

    def check(self) -> None:
        """Check that evidence and counts are those of the units."""
        units = self.shape.n_units
        n = len(self.scorer.log_prior)
        expect(n == units, f"evidence is for {n} units, but the shape has {units}.")
        check_counts(self.counts, self.scorer, units)

    @property
    def n_outputs(self) -> int:
        return self.shape.n_classes

    def check_columns(self, schema: Schema) -> None:
        self.scorer.check_columns(schema, self.shape.n_units)

    def responsibilities(
        self, block: Block, n_jobs: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log responsibility of each expert, and the log probability of each class."""
        shape = self.shape

        def fold(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            n = len(scores)
            experts, classes = np.empty((n, shape.n_experts)), np.empty((n, shape.n_classes))
            fold_units(scores, shape.net, experts, classes)
            return experts, classes

        experts, classes = zip(*in_chunks(block, self.scorer, fold, n_jobs), strict=True)
        return np.concatenate(experts), np.concatenate(classes)

    def scores(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        return self.responsibilities(block, n_jobs)[1]

    def evidence(self, block: Block, classes: NDArray[Any], n_jobs: int | None = None) -> Evidence:
        """Return what each expert adds to the probabilities; gates come first among the members."""
        shape, both = self.shape, scorer_evidence(self.scorer, block, classes, n_jobs)
        weight = np.exp(self.responsibilities(block, n_jobs)[0])
        labels = [as_objects(shape.children(g)) for g in range(shape.n_gates)]
        labels += [classes] * shape.n_experts
        members = [select_outputs(both, *each) for each in zip(shape.models(), labels, strict=True)]
        shares = np.stack([weight[:, below].sum(axis=1) for below in shape.experts_below()], axis=1)
        experts = [member.probabilities() for member in members[shape.n_gates :]]
        votes = weight[:, :, None] * np.stack(experts, axis=1)
        names = [shape.name(k) for k in range(len(members))]
        terms = names[shape.n_gates :]
        why = member_evidence(votes, terms, classes, "identity", members, shares)
        return replace(why, member_names=tuple(names), n_gates=shape.n_gates)

    def feature_importances(self, schema: Schema) -> NDArray[np.float64]:
        """Return those of the experts, weighted by the rows they answered for."""
        experts = self.shape.models()[self.shape.n_gates :]
        weight = np.array([self.counts.totals[units].sum() for units in experts])
        each = [
            scorer_importances(self.scorer.select(units), self.counts.select_groups(units), schema)
            for units in experts
        ]
        return np.asarray(weight @ np.array(each) / weight.sum())

    def class_prior(self) -> NDArray[np.float64] | None:
        """Return the shares of the experts' units, class by class."""
        experts = self.counts.totals[self.shape.n_gate_units :]
        return normalized_totals(experts.reshape(self.shape.n_classes, -1).sum(axis=1))


@kernel
def fold_units(
    joint: NDArray[np.float64], net: Net, trust: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Turn scores of all units (IN, rows x units, used up) into log trust in experts and log
    probabilities of classes (both OUT).
    """
    first, width, n_experts, n_classes = net
    n_gates = len(first)
    start = n_gates - 1 + n_experts
    logs, both = np.empty(n_gates + n_experts), np.empty(n_experts)
    for i in range(joint.shape[0]):
        row = joint[i]
        logs[0] = 0.0
        for g in range(n_gates):
            _log_share(row, first[g] - 1, 1, width[g])
            for node in range(first[g], first[g] + width[g]):
                logs[node] = logs[g] + row[node - 1]
        for e in range(n_experts):
            trust[i, e] = logs[n_gates + e]
            _log_share(row, start + e, n_experts, n_classes)
        for c in range(n_classes):
            for e in range(n_experts):
                both[e] = row[start + c * n_experts + e] + trust[i, e]
            out[i, c] = log_sum(both, 0, 1, n_experts)


@kernel
def _log_share(row: NDArray[np.float64], start: int, step: int, n: int) -> None:
    """Turn joint logs of n units, every step-th from the start, into logs of shares, in place."""
    total = log_sum(row, start, step, n)
    for k in range(n):
        row[start + k * step] -= total
