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
    units = deviation(positions, counts.sum(axis=0)) * weight**EXPONENT
    widths = np.maximum(FACTORS[:, None] * units, narrowest)
    if (counts.sum(axis=1) > 0).sum() < 2:  # nothing to tell apart
        chosen: NDArray[np.float64] = widths[len(FACTORS) // 2]
        return chosen
    places, rows, step = positions, counts, 0.0
    if len(positions) > DIRECT:
        places, rows, step = _on_lattice(positions, counts, widths.min() / PER_WIDTH)
    spectrum = np.fft.rfft(rows, _length(places, widths, step), axis=1) if step else np.empty(0)
    likelihood = np.empty(len(widths))
    for k, tried in enumerate(widths):
        sums = np.empty(rows.shape)
        if step:
            _convolve(spectrum, tried[:-1], step, sums)
        else:
            kernels.add_cell_kernels(places, rows, tried, floor, sums)
        likelihood[k] = kernels.log_class_shares(sums, rows, tried, floor)
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


def _on_lattice(
    positions: NDArray[np.float64], counts: NDArray[np.float64], step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Rows rounded to the nodes of a lattice: a row's own share is then exactly one at its node."""
    nodes = np.rint((positions - positions[0]) / step).astype(np.intp)
    rows = np.zeros((len(counts), int(nodes[-1]) + 1))
    for own, out in zip(counts, rows, strict=True):
        out[:] = np.bincount(nodes, own, len(out))
    return np.arange(rows.shape[1]) * step, rows, step


def _length(places: NDArray[np.float64], widths: NDArray[np.float64], step: float) -> int:
    """Nodes of a circle so long that its ends do not meet."""
    return fast_length(len(places) + 8.0 * widths.max() / step)


def _convolve(
    spectrum: NDArray[np.complex128],
    widths: NDArray[np.float64],
    step: float,
    sums: NDArray[np.float64],
) -> None:
    """Kernels of each class's rows added at all nodes (OUT)."""
    size = spectrum.shape[1]
    wave = (np.pi / (size - 1)) * np.arange(size)
    for own, h, out in zip(spectrum, widths.tolist(), sums, strict=True):
        out[:] = np.fft.irfft(own * np.exp(-0.5 * (wave * (h / step)) ** 2))[: len(out)]
    sums /= step
