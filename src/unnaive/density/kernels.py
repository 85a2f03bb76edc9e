"""Kernels of kernel densities: leave-one-out sums, spreading rows over nodes, looking up."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

FARTHEST = 8.5  # widths: farther rows add less than 2e-16 of their own peak
ROOT_2_PI = math.sqrt(2.0 * math.pi)


@njit(cache=True, nogil=True)
def close_pairs(positions: NDArray[np.float64], reach: float, most: int) -> int:
    """How many pairs of ascending positions (IN) lie no farther apart than ``reach``.

    Counting stops beyond ``most``.
    """
    pairs = first = 0
    for b in range(len(positions)):
        while positions[b] - positions[first] > reach:
            first += 1
        pairs += b - first
        if pairs > most:
            break
    return pairs


@njit(cache=True, nogil=True)
def leave_one_out(
    positions: NDArray[np.float64],
    weight: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    out: NDArray[np.float64],
) -> None:
    """Add, for each width (IN), the log density of every row among the others of its class (OUT).

    positions (IN) ascending, with the weight (IN) of the rows there. One row is left out: a weight
    of one, or all that is there.
    """
    n = len(positions)
    whole = weight.sum()
    sums = np.empty(n)
    for k in range(len(widths)):
        h = widths[k]
        for a in range(n):
            sums[a] = max(weight[a] - 1.0, 0.0)
        first = 0
        for b in range(n):
            while positions[b] - positions[first] > FARTHEST * h:
                first += 1
            for a in range(first, b):
                z = (positions[b] - positions[a]) / h
                close = math.exp(-0.5 * z * z)
                sums[a] += weight[b] * close
                sums[b] += weight[a] * close
        for a in range(n):
            others = whole - min(weight[a], 1.0)
            density = sums[a] / (others * h * ROOT_2_PI) if others > 0.0 else 0.0
            out[k] += weight[a] * math.log(density + floor)


@njit(cache=True, nogil=True)
def add_logs(
    sums: NDArray[np.float64],
    weight: NDArray[np.float64],
    widths: NDArray[np.float64],
    step: float,
    floor: float,
    out: NDArray[np.float64],
) -> None:
    """`leave_one_out` (OUT) of the weight (IN) at nodes, given sums of kernels there (IN).

    sums: widths x nodes, of kernels that are one in all over the nodes.
    """
    whole = weight.sum()
    for k in range(len(widths)):
        peak = step / (widths[k] * ROOT_2_PI)  # a row's own share at its node
        total = 0.0
        for m in range(len(weight)):
            if weight[m] > 0.0:
                gone = min(weight[m], 1.0)
                rest = sums[k, m] - gone * peak
                density = rest / ((whole - gone) * step) if rest > 0.0 and whole > gone else 0.0
                total += weight[m] * math.log(density + floor)
        out[k] = total


@njit(cache=True, nogil=True)
def spread_rows(
    places: NDArray[np.float64], weight: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Share each weight among the four nodes (OUT) around its place (IN).

    Lagrange's weights keep the first four moments, so that sums of smooth kernels over the nodes
    are those over the rows up to the fourth power of the step.
    """
    for i in range(len(places)):
        k = int(places[i])
        f = places[i] - k
        w = weight[i]
        out[k - 1] -= w * f * (f - 1.0) * (f - 2.0) / 6.0
        out[k] += w * (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0
        out[k + 1] -= w * (f + 1.0) * f * (f - 2.0) / 2.0
        out[k + 2] += w * (f + 1.0) * f * (f - 1.0) / 6.0


@njit(cache=True, nogil=True)
def look_up(place: float, logs: NDArray[np.float64]) -> float:
    """Log density between nodes (IN); beyond the first and the last it is theirs."""
    if place <= 0.0:
        return logs[0]
    k = int(place)
    if place >= len(logs) - 1:
        return logs[-1]
    f = place - k
    return logs[k] + f * (logs[k + 1] - logs[k])


@njit(cache=True, nogil=True)
def fill_log_densities(
    positions: NDArray[np.float64],
    start: NDArray[np.float64],
    per_step: NDArray[np.float64],
    offsets: NDArray[np.intp],
    logs: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Log density of each position (IN) in each class: positions x classes (OUT)."""
    for c in range(len(start)):
        own = logs[offsets[c] : offsets[c + 1]]
        for i in range(len(positions)):
            out[i, c] = look_up((positions[i] - start[c]) * per_step[c], own)
