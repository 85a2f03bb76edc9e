"""Widths under which values tell the classes of rows best, each row left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.density import kernels

# Factors of a class's unit, from wide to narrow: the first of equals is the widest.
FACTORS = 2.0 ** np.arange(2, -5, -1)
EXPONENT = -0.2  # of a class's rows: how fast kernels shrink, as in Silverman's rule
DIRECT = 256  # cells up to which kernels are added one by one, else on a lattice
ROUNDING = 1e-9  # of a log likelihood: closer than this is equal
PER_WIDTH = 4  # nodes of the lattice in the narrowest width


def conditional_widths(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    weight: NDArray[np.float64],
    floor: float,
    narrowest: float,
) -> NDArray[np.float64]:
    """Width of each class's kernels, then that of all rows together.

    A width is a factor, which all classes share, times the deviation of all rows over n**(1/5), n
    the rows of the class. The factor is the one under which the classes of rows are most probable
    given their values (conditional likelihood), each row left out of its own class. ``weight`` is
    the n of each class, and of all together.
    """
    units = deviation(positions, counts.sum(axis=0)) * np.maximum(weight, 1.0) ** EXPONENT
    widths = np.maximum(FACTORS[:, None] * units, narrowest)
    if (counts.sum(axis=1) > 0).sum() < 2:  # nothing to tell apart
        chosen: NDArray[np.float64] = widths[len(FACTORS) // 2]
        return chosen
    few = len(positions) <= DIRECT
    given = (positions, counts, widths, floor)
    likelihood = _one_by_one(*given) if few else _on_lattice(*given)
    best: NDArray[np.float64] = widths[_first_of_best(likelihood)].copy()
    return best


def _first_of_best(likelihood: NDArray[np.float64]) -> int:
    """The first that is as good as the best, but for rounding."""
    best = likelihood.max()
    return int(np.argmax(likelihood >= best - ROUNDING * abs(best)))


def deviation(positions: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Standard deviation of positions that have weights."""
    whole = weight.sum()
    mean = (weight * positions).sum() / whole
    return float(np.sqrt((weight * (positions - mean) ** 2).sum() / whole))


def fast_length(n: float) -> int:
    """The least 2**k or 3 * 2**k that is not smaller."""
    whole = 1 << max(int(np.ceil(np.log2(n))), 2)
    return whole * 3 // 4 if n <= whole * 3 // 4 else whole


def _one_by_one(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """Conditional log likelihood under each of several widths, by sums over pairs of cells."""
    likelihood, sums = np.empty(len(widths)), np.empty(counts.shape)
    for k, tried in enumerate(widths):
        kernels.add_cell_kernels(positions, counts, tried, floor, sums)
        likelihood[k] = kernels.log_class_shares(sums, counts, tried, floor)
    return likelihood


def _on_lattice(
    positions: NDArray[np.float64],
    counts: NDArray[np.float64],
    widths: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """The same of rows rounded to the nodes of a lattice, by one convolution per class and width.

    A row's own share is then exactly one at its node.
    """
    step = float(widths.min()) / PER_WIDTH
    nodes = np.rint((positions - positions[0]) / step).astype(np.intp)
    rows = np.zeros((len(counts), int(nodes[-1]) + 1))
    for weights, out in zip(counts, rows, strict=True):
        out[:] = np.bincount(nodes, weights, len(out))
    # The lattice is a circle, so long that its ends do not meet.
    spectrum = np.fft.rfft(rows, fast_length(rows.shape[1] + 8.0 * widths.max() / step), axis=1)
    wave = (np.pi / (spectrum.shape[1] - 1)) * np.arange(spectrum.shape[1])
    likelihood, sums = np.empty(len(widths)), np.empty(rows.shape)
    for k, tried in enumerate(widths):
        for c, h in enumerate(tried[:-1].tolist()):
            tones = np.exp(-0.5 * (wave * (h / step)) ** 2)
            sums[c] = np.fft.irfft(spectrum[c] * tones)[: rows.shape[1]]
        sums /= step
        likelihood[k] = kernels.log_class_shares(sums, rows, tried, floor)
    return likelihood
