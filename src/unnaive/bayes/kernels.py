"""Kernels that add evidence to rows and turn it into probabilities."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_table(
    codes: NDArray[Any], wrap: int, mask: int, logs: NDArray[np.float64], joint: NDArray[np.float64]
) -> None:
    """Add to each row (OUT, rows x classes) the evidence of its slot (IN, slots x classes)."""
    n_classes = joint.shape[1]
    if n_classes == 2:  # the most common case: no inner loop
        for i in range(len(codes)):
            slot = (np.int64(codes[i]) + wrap) & mask
            joint[i, 0] += logs[slot, 0]
            joint[i, 1] += logs[slot, 1]
        return
    for i in range(len(codes)):
        slot = (np.int64(codes[i]) + wrap) & mask
        for c in range(n_classes):
            joint[i, c] += logs[slot, c]


@njit(cache=True, nogil=True)
def add_gaussian(
    values: NDArray[np.float64],
    peak: NDArray[np.float64],
    mean: NDArray[np.float64],
    steepness: NDArray[np.float64],
    missing: NDArray[np.float64],
    joint: NDArray[np.float64],
) -> int:
    """Add to each row (OUT) the log density of its value: peak - steepness * (x - mean)**2.

    Returns the position of the first infinite value, or -1.
    """
    infinite = -1
    for i in range(len(values)):
        x = values[i]
        if x != x:
            for c in range(len(peak)):
                joint[i, c] += missing[c]
            continue
        if infinite < 0 and (x == np.inf or x == -np.inf):
            infinite = i
        for c in range(len(peak)):
            d = x - mean[c]
            joint[i, c] += peak[c] - steepness[c] * d * d
    return infinite


@njit(cache=True, nogil=True)
def normalize(joint: NDArray[np.float64]) -> None:
    """Joint log probabilities to probabilities of classes, row by row, in place."""
    for i in range(joint.shape[0]):
        largest = -np.inf
        for c in range(joint.shape[1]):
            largest = max(largest, joint[i, c])
        total = 0.0
        for c in range(joint.shape[1]):
            joint[i, c] = math.exp(joint[i, c] - largest)
            total += joint[i, c]
        for c in range(joint.shape[1]):
            joint[i, c] /= total
