"""Kernels that lead rows through a tree and score them where they arrive."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def arrive(
    slots: NDArray[np.uint16],
    attribute: NDArray[np.intp],
    route_start: NDArray[np.intp],
    route: NDArray[np.intp],
    node: NDArray[np.intp],
) -> None:
    """The node where each row (IN, slots of all attributes) stops (OUT)."""
    for i in range(slots.shape[0]):
        at = 0
        while attribute[at] >= 0:
            child = route[route_start[at] + slots[i, attribute[at]]]
            if child < 0:
                break  # missing, or a value this node has no child for
            at = child
        node[i] = at


@njit(cache=True, nogil=True)
def add_evidence(
    slots: NDArray[np.uint16],
    node: NDArray[np.intp],
    offsets: NDArray[np.intp],
    place: NDArray[np.int32],
    logs: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> None:
    """Add to each row (OUT) the evidence of its slots at its node, attribute by attribute."""
    n_classes = joint.shape[1]
    for i in range(slots.shape[0]):
        own = place[node[i]]
        if n_classes == 2:  # the most common case: no inner loop
            first, second = joint[i, 0], joint[i, 1]
            for j in range(slots.shape[1]):
                at = own[offsets[j] + slots[i, j]]
                first += logs[at, 0]
                second += logs[at, 1]
            joint[i, 0], joint[i, 1] = first, second
            continue
        for j in range(slots.shape[1]):
            at = own[offsets[j] + slots[i, j]]
            for c in range(n_classes):
                joint[i, c] += logs[at, c]
