"""Gates and experts of a mixture: scores of all units to log probabilities of classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.kernels import log_sum
from unnaive.common.compile import kernel


class Net(NamedTuple):
    """The architecture; see `Shape`."""

    first: NDArray[np.intp]
    width: NDArray[np.intp]
    n_experts: int
    n_classes: int


@kernel
def fold_units(
    joint: NDArray[np.float64], net: Net, trust: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Scores of all units (IN, rows x units, used up) to log trust in experts and log probabilities
    of classes (both OUT).
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
    """Joint logs of n units, every step-th from the start, to logs of shares, in place."""
    total = log_sum(row, start, step, n)
    for k in range(n):
        row[start + k * step] -= total
