"""Kernels of kernel densities: leave-one-out sums, spreading rows over nodes, looking up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel

ROOT_2_PI = math.sqrt(2.0 * math.pi)
_NEGLIGIBLE = 1e-5  # of the floor: rows so far away that they add no more are left out


@kernel
def reach_of(width: float, floor: float) -> float:
    """Farthest distance, in widths, at which a row adds to the density."""
    return math.sqrt(2.0 * max(math.log(1.0 / (ROOT_2_PI * width * floor * _NEGLIGIBLE)), 1.0))


@kernel
def _close_pairs(positions: NDArray[np.float64], reach: float, most: int) -> int:
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


@kernel
def leave_one_out(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    factors: NDArray[np.float64],
    units: NDArray[np.float64],
    narrowest: float,
    most: float,
    floor: float,
    out: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Add the log density of every row among the others of its class, for each factor (OUT).

    positions (IN) of cells, ascending, with counts (IN) classes x cells; a class's width is a
    factor (IN) times its unit (IN), and never less than the narrowest. One row is left out: a
    weight of one, or all that is there.
    Returns which classes were passed over: those with more pairs than ``most`` for each width that
    their rows span.
    """
    n_classes, n_cells = counts.shape
    passed_over = np.zeros(n_classes, dtype=np.bool_)
    own = np.empty(n_cells)
    weight = np.empty(n_cells)
    sums = np.empty(n_cells)
    for c in range(n_classes):
        n = 0
        for i in range(n_cells):
            if counts[c, i] > 0.0:
                own[n], weight[n] = positions[i], counts[c, i]
                n += 1
        if n == 0:
            continue
        whole = weight[:n].sum()
        widest = max(factors[-1] * units[c], narrowest)
        reach = widest * reach_of(widest, floor)
        few = int(most * (own[n - 1] - own[0] + reach) / max(factors[0] * units[c], narrowest))
        if _close_pairs(own[:n], reach, few) > few:
            passed_over[c] = True
            continue
        last = 0.0
        for k in range(len(factors)):
            h = max(factors[k] * units[c], narrowest)
            if k > 0 and h == narrowest:
                out[k] += last
                continue
            reach = h * reach_of(h, floor)
            for a in range(n):
                sums[a] = max(weight[a] - 1.0, 0.0)
            first = 0
            for b in range(n):
                while own[b] - own[first] > reach:
                    first += 1
                for a in range(first, b):
                    z = (own[b] - own[a]) / h
                    close = math.exp(-0.5 * z * z)
                    sums[a] += weight[b] * close
                    sums[b] += weight[a] * close
            last = 0.0
            for a in range(n):
                others = whole - min(weight[a], 1.0)
                density = sums[a] / (others * h * ROOT_2_PI) if others > 0.0 else 0.0
                last += weight[a] * math.log(density + floor)
            out[k] += last
    return passed_over


@kernel
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


@kernel
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


@kernel
def look_up(place: float, logs: NDArray[np.float64]) -> float:
    """Log density between nodes (IN); beyond the first and the last it is theirs."""
    if place >= len(logs) - 1:
        return logs[-1]
    if not place > 0.0:  # nor if it is no number, as where infinite values are scaled
        return logs[0]
    k = int(place)
    f = place - k
    return logs[k] + f * (logs[k + 1] - logs[k])


@kernel
def add_kernels(
    places: NDArray[np.float64],
    weight: NDArray[np.float64],
    nodes: float,
    reach: float,
    out: NDArray[np.float64],
) -> None:
    """Add kernels that are so many nodes wide around places (IN) to the nodes in reach (OUT)."""
    for i in range(len(places)):
        first = max(math.ceil(places[i] - reach), 0)
        last = min(int(places[i] + reach), len(out) - 1)
        for k in range(first, last + 1):
            z = (k - places[i]) / nodes
            out[k] += weight[i] * math.exp(-0.5 * z * z)


@kernel
def fill_log_densities(
    positions: NDArray[np.float64],
    start: NDArray[np.float64],
    per_step: NDArray[np.float64],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    logs: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Log density of each position (IN) in each class: positions x classes (OUT)."""
    for c in range(len(start)):
        own = logs[first[c] : last[c]]
        for i in range(len(positions)):
            out[i, c] = look_up((positions[i] - start[c]) * per_step[c], own)


@kernel
def fill_cell_logs(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    less: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    needed: NDArray[np.bool_],
    logs: NDArray[np.float64],
) -> None:
    """Log density in each class at cells, by sums over the cells themselves: nothing is rounded.

    positions (IN) of cells, ascending; counts (IN) cells x classes, and what is to be taken from
    them (IN); widths (IN) of the classes, then that of all together; needed (IN) the cells that
    anyone asks for; logs (OUT) cells x classes. A class without rows looks like all together.
    """
    n_cells, n_classes = counts.shape
    rest = np.empty(n_cells)
    sums = np.empty(n_cells)
    for c in range(n_classes):
        whole = 0.0
        for i in range(n_cells):
            rest[i] = counts[i, c] - less[i, c]
            whole += rest[i]
        h = widths[c]
        if whole <= 0.0:
            h, whole = widths[n_classes], 0.0
            for i in range(n_cells):
                rest[i] = counts[i].sum() - less[i].sum()
                whole += rest[i]
        reach = h * reach_of(h, floor)
        sums[:] = 0.0
        first = 0
        for b in range(n_cells):
            if rest[b] <= 0.0:
                continue
            while positions[b] - positions[first] > reach:
                first += 1
            for a in range(first, n_cells):
                if positions[a] - positions[b] > reach:
                    break
                if needed[a]:
                    z = (positions[b] - positions[a]) / h
                    sums[a] += rest[b] * math.exp(-0.5 * z * z)
        scale = 1.0 / (whole * h * ROOT_2_PI) if whole > 0.0 else 0.0
        for a in range(n_cells):
            if needed[a]:
                logs[a, c] = math.log(sums[a] * scale + floor)
