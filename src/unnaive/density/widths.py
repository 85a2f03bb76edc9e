"""How wide kernels are: Wang and Yuan's leave-one-out search, Silverman's rule, or a number.

Positions and widths are in units of the column's range, from its smallest value to its largest.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.density import kernels

# Ascending positions of a class's rows, and their weights.
Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

CANDIDATES = np.arange(20, 81) / 100  # the factors c that "cv" tries: a width is c / sqrt(n)
OCTAVES = (slice(0, 20), slice(20, 61))  # wider kernels need fewer nodes
NARROWEST = 1 / 4096  # of the range: narrower kernels would need too long tables
LATTICES = (16, 8, 4, 3)  # nodes in the narrowest width of an octave: many, while they are quick
QUICK = 4096
TOGETHER = 8  # candidates at a time: their sums stay in cache


def check_bandwidth(bandwidth: Any) -> None:
    """Refuse what is neither a rule nor a factor."""
    if isinstance(bandwidth, str):
        right = bandwidth in ("cv", "silverman")
    else:
        real = isinstance(bandwidth, numbers.Real) and not isinstance(bandwidth, bool)
        right = real and 0 < bandwidth < np.inf
    if not right:
        raise ValueError(
            f"bandwidth must be 'cv', 'silverman' or a positive number; got {bandwidth!r}."
        )


def choose_widths(
    classes: Sequence[Places], bandwidth: Any, floor: float
) -> tuple[NDArray[np.float64], float]:
    """Width of each class's kernels, and the factor c they share: NaN under Silverman's rule."""
    weight = np.array([own.sum() for _, own in classes])
    if bandwidth == "silverman":
        return np.maximum(_silverman(classes, weight), NARROWEST), np.nan
    c = best_factor(classes, floor) if bandwidth == "cv" else float(bandwidth)
    return np.maximum(c * _unit(weight), NARROWEST), c


def best_factor(classes: Sequence[Places], floor: float) -> float:
    """The factor under which rows are most probable among the others; the first of equals."""
    likelihood = np.zeros(len(CANDIDATES))
    for positions, weight in classes:
        _add_likelihood(positions, weight, floor, likelihood)
    return float(CANDIDATES[likelihood.argmax()])


def _unit(weight: Any) -> Any:
    """Width of a factor of one, bounded so that the least factor gives the narrowest width."""
    return np.maximum(1 / np.sqrt(weight), NARROWEST / CANDIDATES[0])


def _add_likelihood(
    positions: NDArray[np.float64],
    weight: NDArray[np.float64],
    floor: float,
    out: NDArray[np.float64],
) -> None:
    """Add a class's leave-one-out log likelihood under each candidate (OUT).

    Pair by pair where few rows are close to each other, else on a lattice.
    """
    widths = CANDIDATES * _unit(weight.sum())
    reach = kernels.FARTHEST * widths[-1]
    few = int(2 * LATTICES[0] * (positions[-1] - positions[0] + reach) / widths[0])
    if kernels.close_pairs(positions, reach, few) <= few:
        kernels.leave_one_out(positions, weight, widths, floor, out)
        return
    for octave in OCTAVES:
        out[octave] += _on_lattice(positions, weight, widths[octave], floor)


def _on_lattice(
    positions: NDArray[np.float64],
    weight: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """The same for rows rounded to the nodes of a lattice.

    All sums are one convolution per width. A row's own share is exactly one at its node, which
    is why rows are rounded here and not spread.
    """
    span = positions[-1] - positions[0] + kernels.FARTHEST * widths[-1]
    quick = (nodes for nodes in LATTICES if nodes * span / widths[0] <= QUICK)
    per_width = next(quick, LATTICES[-1])
    step = widths[0] / per_width
    length = fast_length(span / step + 1)
    nodes = np.rint((positions - positions[0]) / step).astype(np.intp)
    binned = np.bincount(nodes, weight)
    ratios = widths / widths[0]
    tones = _tones(length, per_width, float(ratios[-1]), len(ratios))
    heard = np.fft.rfft(binned, length)[: tones.shape[1]]
    found = np.empty(len(widths))
    for start in range(0, len(widths), TOGETHER):
        few = slice(start, start + TOGETHER)
        sums = np.fft.irfft(tones[few] * heard, length, axis=1)
        kernels.add_logs(sums, binned, widths[few], step, floor, found[few])
    return found


@lru_cache(maxsize=32)
def _tones(length: int, per_width: int, widest: float, n: int) -> NDArray[np.float64]:
    """Fourier transforms of kernels, up to where the narrowest has nothing left.

    Their widths grow evenly from one to ``widest`` times ``per_width`` nodes.
    """
    nodes = per_width * np.linspace(1.0, widest, n)
    heard = min(int(9 * length / (2 * np.pi * per_width)) + 1, length // 2 + 1)
    wave = (2 * np.pi / length) * np.arange(heard)
    tones: NDArray[np.float64] = np.exp(-0.5 * (wave * nodes[:, None]) ** 2)
    return tones


def fast_length(n: float) -> int:
    """The least 2**k or 3 * 2**k that is not smaller."""
    whole = 1 << max(int(np.ceil(np.log2(n))), 2)
    return whole * 3 // 4 if n <= whole * 3 // 4 else whole


def _silverman(classes: Sequence[Places], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """0.9 times the lesser of deviation and quartile distance / 1.34, over n**(1/5).

    A class whose rows are all alike takes the largest spread of the others.
    """
    spread = np.array([_spread(*own) for own in classes])
    found: NDArray[np.float64] = 0.9 * np.where(spread > 0, spread, spread.max()) * weight**-0.2
    return found


def _spread(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    mean = (weight * positions).sum() / weight.sum()
    deviation = float(np.sqrt((weight * (positions - mean) ** 2).sum() / weight.sum()))
    ranks = np.cumsum(weight)
    low, high = positions[np.searchsorted(ranks, ranks[-1] * np.array([0.25, 0.75]))]
    quartiles = float(high - low) / 1.34
    return min(deviation, quartiles) if quartiles > 0 else deviation
