"""Bandwidths of kernels: by conditional likelihood, by leave-one-out, by rule, or a number.

Positions and widths are in units of the range of the rows at hand, from the smallest value to the
largest.
"""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from unnaive.density import kernels

# Ascending positions of a class's rows, and their weights.
Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

CANDIDATES = np.arange(20, 81) / 100  # the factors c that "cv" tries: a width is c / sqrt(n)
OCTAVES = (slice(0, 20), slice(20, 61))  # wider kernels need fewer nodes
LATTICES = (16, 8, 4, 3)  # nodes in the narrowest width of an octave: many, while they are quick
TOGETHER = 8  # candidates at a time: their sums stay in cache


def check_bandwidth(bandwidth: Any) -> None:
    """Refuse what is neither a rule nor a factor."""
    if isinstance(bandwidth, str):
        right = bandwidth in ("conditional", "cv", "silverman")
    else:
        real = isinstance(bandwidth, numbers.Real) and not isinstance(bandwidth, bool)
        right = real and 0 < bandwidth < np.inf
    if not right:
        raise ValueError(
            "bandwidth must be 'conditional', 'cv', 'silverman' or a positive number; "
            f"got {bandwidth!r}."
        )


def choose_widths(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    bandwidth: Any,
    floor: float,
    narrowest: float,
) -> tuple[NDArray[np.float64], float]:
    """Return the width of each class's kernels, then that of all rows together; and the factor c
    they share.

    ``positions`` of cells, ascending, with ``counts`` of classes (classes x cells). The factor is
    NaN where widths are not c / sqrt(n). A class without rows has the width of all. No width is
    less than the narrowest, whatever the rule says.
    """
    totals = counts.sum(axis=1)
    weight = np.append(np.where(totals > 0, totals, totals.sum()), totals.sum())
    if bandwidth == "silverman":
        return np.maximum(_silverman(positions, counts, weight), narrowest), np.nan
    if bandwidth == "conditional":
        return conditional_widths(positions, counts, weight, floor, narrowest), np.nan
    c = best_factor(positions, counts) if bandwidth == "cv" else float(bandwidth)
    return np.maximum(c / np.sqrt(weight), narrowest), c


def best_factor(positions: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return the factor under which rows are most probable among the others; the first of equals.

    Wang and Yuan's formula as it stands: nothing is added to the densities. Pair by pair where few
    rows of a class are close to each other, else on a lattice.
    """
    likelihood = np.zeros(len(CANDIDATES))
    units = 1 / np.sqrt(np.maximum(counts.sum(axis=1), np.finfo(float).tiny))
    pairs = 2.0 * LATTICES[0]
    crowded = kernels.leave_one_out(positions, counts, CANDIDATES, units, pairs, likelihood)
    for class_counts, unit in zip(counts[crowded], units[crowded], strict=True):
        there, weight = places_of(positions, class_counts)
        for octave in OCTAVES:
            likelihood[octave] += _on_lattice(there, weight, CANDIDATES[octave] * unit)
    return float(CANDIDATES[likelihood.argmax()])


def places_of(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> Places:
    """Return where there are rows, and their weight."""
    present = weight > 0
    return positions[present], weight[present]


def _on_lattice(
    positions: NDArray[np.float64], weight: NDArray[np.float64], widths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the leave-one-out log likelihood of rows rounded to the nodes of a lattice, for each
    width.

    All sums are one convolution per width. A row's own share is exactly one at its node, which
    is why rows are rounded here and not spread.
    """
    reach = 8.0  # widths between the ends of a lattice, which is a circle
    span = positions[-1] - positions[0] + reach * widths[-1]
    quick = (nodes for nodes in LATTICES if nodes * span / widths[0] <= 4096)
    per_width = next(quick, LATTICES[-1])
    step = widths[0] / per_width
    nodes = np.rint((positions - positions[0]) / step).astype(np.intp)
    binned = np.bincount(nodes, weight)
    there = np.flatnonzero(binned)
    places, weights = there * step, binned[there]
    spectrum = np.fft.rfft(binned, fast_length(span / step + 1))
    logs = np.empty(len(widths))
    for start in range(0, len(widths), TOGETHER):
        few = slice(start, start + TOGETHER)
        sums = kernel_sums_on_lattice(spectrum, widths[few] / step)
        kernels.add_logs(sums, there, places, weights, widths[few], step, logs[few])
    return logs


def kernel_sums_on_lattice(
    spectrum: NDArray[np.complex128], widths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of kernels, each one in all, at the nodes of a circular lattice.

    ``spectrum`` has the Fourier transform of the weights at an even number of nodes, one for all
    ``widths`` (in nodes) or one for each.
    """
    length = 2 * (spectrum.shape[-1] - 1)
    # Up to where the narrowest kernel has no tones left.
    n_tones = min(int(9 * length / (2 * np.pi * widths.min())) + 1, length // 2 + 1)
    wave = (2 * np.pi / length) * np.arange(n_tones)
    tones = np.exp(-0.5 * (wave * widths[:, None]) ** 2)
    return np.fft.irfft(tones * spectrum[..., :n_tones], length, axis=-1)


def _silverman(
    positions: NDArray[np.float64], counts: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 0.9 times the lesser of deviation and quartile distance / 1.34, over n**(1/5).

    A class without rows, or whose rows are all alike, takes the spread of all.
    """
    everyone = _spread(positions, counts.sum(axis=0))
    spread = [_spread(positions, weights) or everyone for weights in counts]
    widths: NDArray[np.float64] = 0.9 * np.append(spread, everyone) * weight**-0.2
    return widths


def _spread(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    whole = weight.sum()
    if not whole > 0:
        return 0.0
    ranks = np.cumsum(weight)
    low, high = positions[np.searchsorted(ranks, ranks[-1] * np.array([0.25, 0.75]))]
    quartiles = float(high - low) / 1.34
    every = deviation(positions, weight)
    return min(every, quartiles) if quartiles > 0 else every


# Factors of a class's unit, from wide to narrow: the first of equals is the widest.
FACTORS = 2.0 ** np.arange(2, -5, -1)
DIRECT = 256  # cells up to which kernels are added one by one, else on a lattice


def conditional_widths(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    weight: NDArray[np.float64],
    floor: float,
    narrowest: float,
) -> NDArray[np.float64]:
    """Return the width of each class's kernels, then that of all rows together.

    A width is a factor, which all classes share, times the deviation of all rows over n**(1/5), n
    the rows of the class. The factor is the one under which the classes of rows are most probable
    given their values (conditional likelihood), each row left out of its own class. ``weight`` is
    the n of each class, and of all together.
    """
    exponent = -0.2  # of a class's rows: how fast kernels shrink, as in Silverman's rule
    units = deviation(positions, counts.sum(axis=0)) * np.maximum(weight, 1.0) ** exponent
    widths = np.maximum(FACTORS[:, None] * units, narrowest)
    if (counts.sum(axis=1) > 0).sum() < 2:  # nothing to tell apart
        chosen: NDArray[np.float64] = widths[len(FACTORS) // 2]
        return chosen
    few = len(positions) <= DIRECT
    given = (positions, counts, widths, floor)
    likelihood = _one_by_one(*given) if few else _likelihood_on_lattice(*given)
    best: NDArray[np.float64] = widths[_first_of_best(likelihood)].copy()
    return best


def _first_of_best(likelihood: NDArray[np.float64]) -> int:
    """Return the first that is as good as the best, but for rounding."""
    rounding = 1e-9  # of a log likelihood: closer than this is equal
    best = likelihood.max()
    return int(np.argmax(likelihood >= best - rounding * abs(best)))


def deviation(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the standard deviation of positions that have weights."""
    whole = weight.sum()
    mean = (weight * positions).sum() / whole
    return float(np.sqrt((weight * (positions - mean) ** 2).sum() / whole))


def fast_length(n: float) -> int:
    """Return an even number, not smaller, for which Fourier transforms are fast."""
    return 2 * int(scipy.fft.next_fast_len(int(np.ceil(n / 2)), real=True))


def _one_by_one(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """Return the conditional log likelihood under each of several widths, by sums over pairs of
    cells.
    """
    likelihood, sums = np.empty(len(widths)), np.empty(counts.shape)
    for k, tried in enumerate(widths):
        kernels.add_cell_kernels(positions, counts, tried, floor, sums)
        likelihood[k] = kernels.log_class_shares(sums, counts, tried, floor)
    return likelihood


def _likelihood_on_lattice(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """Return the same for rows rounded to the nodes of a lattice, by one convolution per class and
    width.

    A row's own share is then exactly one at its node.
    """
    per_width = 4  # nodes of the lattice in the narrowest width
    step = float(widths.min()) / per_width
    nodes = np.rint((positions - positions[0]) / step).astype(np.intp)
    rows = np.zeros((len(counts), int(nodes[-1]) + 1))
    for weights, out in zip(counts, rows, strict=True):
        out[:] = np.bincount(nodes, weights, len(out))
    # The lattice is a circle, so long that its ends do not meet.
    spectrum = np.fft.rfft(rows, fast_length(rows.shape[1] + 8.0 * widths.max() / step), axis=1)
    likelihood = np.empty(len(widths))
    for k, tried in enumerate(widths):
        sums = kernel_sums_on_lattice(spectrum, tried[:-1] / step)[:, : rows.shape[1]] / step
        likelihood[k] = kernels.log_class_shares(sums, rows, tried, floor)
    return likelihood
