"""Kernels of kernel densities: leave-one-out sums, spreading rows over nodes, looking up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

ROOT_2_PI = math.sqrt(2.0 * math.pi)
_FAR = 50.0  # squared widths beyond the nearest row: kernels there are 1e-11 of its own


@kernel
def reach_of(width: float, floor: float) -> float:
    """Farthest distance, in widths, at which a row adds to the density."""
    negligible = 1e-5  # of the floor: rows so far away that they add no more are left out
    return math.sqrt(2.0 * max(math.log(1.0 / (ROOT_2_PI * width * floor * negligible)), 1.0))


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
def _log_among_others(
    places: NDArray[np.float64], weight: NDArray[np.float64], a: int, h: float
) -> float:
    """Log of the sum of kernels of width h around all rows but one that stands at place a.

    places (IN) ascending, with their weights (IN). The nearest row is taken out of the sum, so that
    it is never 0, however far the others are. -inf if there is no other row.
    """
    n = len(places)
    nearest = np.inf
    if weight[a] > 1.0:
        nearest = 0.0
    else:
        if a > 0:
            nearest = places[a] - places[a - 1]
        if a + 1 < n:
            nearest = min(nearest, places[a + 1] - places[a])
    if nearest == np.inf:
        return -np.inf
    least = (nearest / h) ** 2
    total = max(weight[a] - 1.0, 0.0)
    for b in range(a - 1, -1, -1):
        z = ((places[a] - places[b]) / h) ** 2 - least
        if z > _FAR:
            break
        total += weight[b] * math.exp(-0.5 * z)
    for b in range(a + 1, n):
        z = ((places[b] - places[a]) / h) ** 2 - least
        if z > _FAR:
            break
        total += weight[b] * math.exp(-0.5 * z)
    return math.log(total) - 0.5 * least


@kernel
def leave_one_out(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    factors: NDArray[np.float64],
    units: NDArray[np.float64],
    most: float,
    out: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Add the log density of every row among the others of its class, for each factor (OUT).

    positions (IN) of cells, ascending, with counts (IN) classes x cells; a class's width is a
    factor (IN) times its unit (IN). One row is left out: a weight of one, or all that is there; a
    class of one row has no others and adds nothing.
    Returns which classes were passed over: those with more pairs than ``most`` for each width that
    their rows span.
    """
    n_classes, n_cells = counts.shape
    passed_over = np.zeros(n_classes, dtype=np.bool_)
    places = np.empty(n_cells)
    weight = np.empty(n_cells)
    for c in range(n_classes):
        n = 0
        for i in range(n_cells):
            if counts[c, i] > 0.0:
                places[n], weight[n] = positions[i], counts[c, i]
                n += 1
        if n == 0:
            continue
        whole = weight[:n].sum()
        reach = math.sqrt(_FAR) * factors[-1] * units[c]
        few = int(most * (places[n - 1] - places[0] + reach) / (factors[0] * units[c]))
        if _close_pairs(places[:n], reach, few) > few:
            passed_over[c] = True
            continue
        for k in range(len(factors)):
            h = factors[k] * units[c]
            for a in range(n):
                others = whole - min(weight[a], 1.0)
                log = _log_among_others(places[:n], weight[:n], a, h) if others > 0.0 else -np.inf
                if log > -np.inf:
                    out[k] += weight[a] * (log - math.log(others * h * ROOT_2_PI))
    return passed_over


@kernel
def add_logs(
    sums: NDArray[np.float64],
    nodes: NDArray[np.intp],
    places: NDArray[np.float64],
    weight: NDArray[np.float64],
    widths: NDArray[np.float64],
    step: float,
    out: NDArray[np.float64],
) -> None:
    """`leave_one_out` (OUT) of the weight (IN) at places (IN), given sums of kernels there (IN).

    sums: widths x nodes of a lattice, of kernels that are one in all over the nodes, as a
    convolution gives them. nodes: that of each place. Where so little is left without the row that
    rounding may have made it, kernels are added one by one.
    """
    rounding = 1e-11  # of a convolution's largest sum: less than this may be rounding
    whole = weight.sum()
    for k in range(len(widths)):
        h = widths[k]
        peak = step / (h * ROOT_2_PI)  # a row's own share at its node
        total = log_others = 0.0
        last = -1.0  # most places have lost the same
        for m in range(len(places)):
            gone = min(weight[m], 1.0)
            if whole <= gone:
                continue
            if gone != last:
                last, log_others = gone, math.log(whole - gone)
            rest = sums[k, nodes[m]] - gone * peak
            if rest > rounding * whole * peak:
                log = math.log(rest / step)
            else:
                log = _log_among_others(places, weight, m, h) - math.log(h * ROOT_2_PI)
            if log > -np.inf:
                total += weight[m] * (log - log_others)
        out[k] = total


@kernel
def add_cell_kernels(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
    sums: NDArray[np.float64],
) -> None:
    """Kernels of each class's rows added at the cells themselves: classes x cells (OUT).

    positions (IN) of cells, ascending; counts (IN) classes x cells; widths (IN) of the classes.
    """
    sums[:] = 0.0
    n_classes, n_cells = counts.shape
    for c in range(n_classes):
        h = widths[c]
        reach = h * reach_of(h, floor)
        peak = 1.0 / (h * ROOT_2_PI)
        first = 0
        for b in range(n_cells):
            if counts[c, b] <= 0.0:
                continue
            while positions[b] - positions[first] > reach:
                first += 1
            for a in range(first, n_cells):
                if positions[a] - positions[b] > reach:
                    break
                z = (positions[b] - positions[a]) / h
                sums[c, a] += counts[c, b] * peak * math.exp(-0.5 * z * z)


@kernel
def log_class_shares(
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> float:
    """Log probability of all rows' classes given their values, each row left out of its class.

    sums (IN) of kernels and counts (IN), classes x cells; widths (IN) of the classes.
    """
    n_classes, n_cells = counts.shape
    totals = np.zeros(n_classes)
    for c in range(n_classes):
        totals[c] = counts[c].sum()
    found = 0.0
    for a in range(n_cells):
        every = 0.0
        for c in range(n_classes):
            every += max(sums[c, a], 0.0) + floor * totals[c]
        for c in range(n_classes):
            gone = min(counts[c, a], 1.0)
            others = totals[c] - gone
            if counts[c, a] <= 0.0 or others <= 0.0:
                continue
            whole = max(sums[c, a], 0.0) + floor * totals[c]
            rest = max(sums[c, a] - gone / (widths[c] * ROOT_2_PI), 0.0) + floor * others
            found += counts[c, a] * math.log(rest / (every - whole + rest))
    return found


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
