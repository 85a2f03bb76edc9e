"""The architecture of a hierarchical mixture as flat arrays."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.mixture_kernels import Net
from unnaive.common.checks import MOST, expect

MOST_EXPERTS = MOST["max_experts"]
MOST_LAYERS = 64


def check_layers(layers: Any) -> tuple[int, ...]:
    """Layers as a user gives them, as whole numbers."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Gates and experts, level by level; node 0 is the root, the last nodes are the experts.

    Every model is a naive Bayes over *units*: a gate's are its children, an expert's are the
    classes. Unit ``node - 1`` is that node as its gate sees it; after all of these come the
    experts' units, class by class, so that one class's units of all experts stand together.

    Attributes
    ----------
    layers : tuple of int
        Children of every gate of each layer.
    n_classes : int
    first, width : arrays of shape (gates,)
        First child of each gate, and how many it has.
    """

    layers: tuple[int, ...]
    n_classes: int
    first: NDArray[np.intp]
    width: NDArray[np.intp]

    @classmethod
    def of(cls, layers: tuple[int, ...], n_classes: int) -> Shape:
        first: list[int] = []
        width: list[int] = []
        nodes, level = 1, 1
        for branches in layers:
            first += [nodes + k * branches for k in range(level)]
            width += [branches] * level
            level *= branches
            nodes += level
        return cls(layers, n_classes, np.array(first, np.intp), np.array(width, np.intp))

    def check(self) -> None:
        """Check that gates and children follow from the layers."""
        check_layers(self.layers)
        expect(self.n_classes > 0, "there are no classes.")
        expect(len(self.layers) <= self.n_gates, f"{self.n_gates} gates are fewer than layers.")
        same = Shape.of(self.layers, self.n_classes)
        right = np.array_equal((self.first, self.width), (same.first, same.width))
        expect(right, "first and width do not match the layers.")

    @property
    def net(self) -> Net:
        """The arrays that kernels need."""
        return Net(self.first, self.width, self.n_experts, self.n_classes)

    @property
    def n_gates(self) -> int:
        return len(self.first)

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
        """The units of every model: gates in order, then experts."""
        gates = [np.arange(f, f + w) - 1 for f, w in zip(self.first, self.width, strict=True)]
        classes = self.n_gate_units + self.n_experts * np.arange(self.n_classes)
        return gates + [classes + e for e in range(self.n_experts)]

    def children(self, gate: int) -> list[str]:
        """Names of a gate's children."""
        nodes = range(int(self.first[gate]), int(self.first[gate] + self.width[gate]))
        return [self.name(node) for node in nodes]

    def name(self, node: int) -> str:
        """Name of a gate or an expert."""
        gates = self.n_gates
        return f"gate {node}" if node < gates else f"expert {node - gates}"

    def experts_below(self) -> list[NDArray[np.intp]]:
        """The experts below every node, gates first."""
        gates = self.n_gates
        below = [np.empty(0, np.intp)] * gates + [np.array([e]) for e in range(self.n_experts)]
        for g in reversed(range(gates)):
            nodes = range(self.first[g], self.first[g] + self.width[g])
            below[g] = np.concatenate([below[node] for node in nodes])
        return below

    def __repr__(self) -> str:
        return f"Shape {'-'.join(map(str, self.layers))}: {self.n_experts} experts"
