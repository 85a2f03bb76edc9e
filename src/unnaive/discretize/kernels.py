"""Fayyad and Irani's recursion over class counts in ascending cells."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

_RUN = 32  # cells whose cuts are bounded together
TIE = 1e-12  # cuts whose entropies differ by less, relative to n log n, are equally good


# Most weights are small whole numbers, whose logarithms need not be taken again and again.
_X_LOG_X = np.array([0.0, *(k * math.log2(k) for k in range(1, 1024))])


@kernel
def x_log_x(x: float) -> float:
    if 0.0 <= x < len(_X_LOG_X):
        k = np.int64(x)
        if k == x:
            return _X_LOG_X[k]
    return x * math.log2(x) if x > 0.0 else 0.0


@kernel
def _split_bits(
    start: NDArray[np.float64],
    left_end: NDArray[np.float64],
    right_end: NDArray[np.float64],
    stop: NDArray[np.float64],
    corner: int,
) -> float:
    """Bits to name the classes on both sides of a cut, given cumulative counts.

    Class c stands at ``left_end`` where bit c of ``corner`` is 0, at ``right_end`` where it is 1.
    """
    bits = n_left = n_right = 0.0
    for c in range(len(start)):
        here = right_end[c] if (corner >> c) & 1 else left_end[c]
        left, right = here - start[c], stop[c] - here
        n_left += left
        n_right += right
        bits -= x_log_x(left) + x_log_x(right)
    return bits + x_log_x(n_left) + x_log_x(n_right)


@kernel
def _is_boundary(cumulative: NDArray[np.float64], i: int) -> bool:
    """Whether the cells before and after cut i differ: not both of one and the same class."""
    only = -1
    for c in range(cumulative.shape[1]):
        before = cumulative[i, c] > cumulative[i - 1, c]
        after = cumulative[i + 1, c] > cumulative[i, c]
        if before != after:
            return True
        if before:
            if only >= 0:
                return True
            only = c
    return False


@kernel
def _bits_of_run(
    cumulative: NDArray[np.float64],
    start: int,
    stop: int,
    run: tuple[int, int],
    candidate: NDArray[np.bool_],
    of_class: NDArray[np.float64],
    bits: NDArray[np.float64],
) -> float:
    """`_split_bits` of the candidates of a run of cuts (OUT), infinite for others; the least.

    From one to the next, only classes whose counts have changed are computed again (of_class is
    scratch). The first is computed whole: rounding errors do not pass from run to run.
    """
    first, last = cumulative[start], cumulative[stop]
    before = -1
    n_left = n_right = both = 0.0
    least = np.inf
    for i in range(run[0], run[1]):
        bits[i] = np.inf
        if not candidate[i]:
            continue
        for c in range(len(first)):
            here = cumulative[i, c]
            if before < 0:
                n_left += here - first[c]
                n_right += last[c] - here
            elif here != cumulative[before, c]:
                n_left += here - cumulative[before, c]
                n_right -= here - cumulative[before, c]
                both -= of_class[c]
            else:
                continue
            of_class[c] = x_log_x(here - first[c]) + x_log_x(last[c] - here)
            both += of_class[c]
        before = i
        bits[i] = x_log_x(n_left) + x_log_x(n_right) - both
        least = min(least, bits[i])
    return least


@kernel
def best_cut(
    cumulative: NDArray[np.float64],
    start: int,
    stop: int,
    candidate: NDArray[np.bool_],
    bits: NDArray[np.float64],
) -> int:
    """The first cut of least class entropy between cells start and stop, or -1.

    cumulative (IN) has a row of zeros and then the counts of classes up to each cell; bits is
    scratch. Entropy is concave in the counts, so over a run of cuts it is least at a corner of
    the box of counts the run spans: runs that cannot hold the best cut are left out.
    """
    bounded_classes = 4  # a bound looks at 2**classes corners
    n_classes = cumulative.shape[1]
    first, last = cumulative[start], cumulative[stop]
    total = 0.0
    for c in range(n_classes):
        total += last[c] - first[c]
    tie = TIE * (x_log_x(total) + 1.0)
    bounded = n_classes <= bounded_classes
    enough = np.inf
    if bounded:
        for i in range(start + _RUN, stop, _RUN):
            here = _split_bits(first, cumulative[i], cumulative[i], last, 0)
            enough = min(enough, here)
    least, of_class = np.inf, np.empty(n_classes)
    for run in range(start, stop, _RUN):
        end = min(run + _RUN, stop)
        if bounded and end - run > 4:
            floor = np.inf
            for corner in range(1 << n_classes):
                corner_bits = _split_bits(first, cumulative[run], cumulative[end], last, corner)
                floor = min(floor, corner_bits)
            if floor > min(enough, least) + 2.0 * tie:
                for i in range(max(run, start + 1), end):
                    bits[i] = np.inf
                continue
        cuts = (max(run, start + 1), end)
        here = _bits_of_run(cumulative, start, stop, cuts, candidate, of_class, bits)
        least = min(least, here)
    if least == np.inf:
        return -1
    for i in range(start + 1, stop):
        if bits[i] <= least + tie:
            return i
    return -1


@kernel
def _side(start: NDArray[np.float64], stop: NDArray[np.float64]) -> tuple[float, float, int]:
    """Weight, entropy in bits per row, and number of classes of a stretch of cells."""
    n = 0.0
    bits = 0.0
    classes = 0
    for c in range(len(start)):
        here = stop[c] - start[c]
        if here > 0.0:
            classes += 1
            n += here
            bits -= x_log_x(here)
    return n, (bits + x_log_x(n)) / n if n > 0.0 else 0.0, classes


@kernel
def worth_cutting(cumulative: NDArray[np.float64], start: int, cut: int, stop: int) -> bool:
    """The minimum description length test: the gain must pay for naming the cut."""
    n, entropy, k = _side(cumulative[start], cumulative[stop])
    n1, entropy1, k1 = _side(cumulative[start], cumulative[cut])
    n2, entropy2, k2 = _side(cumulative[cut], cumulative[stop])
    if n <= 1.0:
        return False
    gain = entropy - (n1 * entropy1 + n2 * entropy2) / n
    # log2(3**k - 2) without overflow
    message = k * math.log2(3.0) + math.log1p(-2.0 * 3.0**-k) / math.log(2.0)
    message -= k * entropy - k1 * entropy1 - k2 * entropy2
    return gain > (math.log2(n - 1.0) + message) / n


@kernel
def mdl_cuts(cumulative: NDArray[np.float64], candidate: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Cuts that the recursion accepts, ascending: cut i lies between cells i - 1 and i."""
    n_cells = cumulative.shape[0] - 1
    bits = np.empty(n_cells + 1)
    chosen = np.zeros(n_cells + 1, dtype=np.bool_)
    stack = [(0, n_cells)]
    while stack:
        start, stop = stack.pop()
        if stop - start < 2:
            continue
        cut = best_cut(cumulative, start, stop, candidate, bits)
        if cut >= 0 and worth_cutting(cumulative, start, cut, stop):
            chosen[cut] = True
            stack.append((start, cut))
            stack.append((cut, stop))
    return np.flatnonzero(chosen)


@kernel
def cuts_between(counts: NDArray[np.float64], best: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cuts that the recursion accepts among those where the best class of a cell (IN) changes.

    counts (IN) cells x classes. Only what lies between two changes is looked at, so that the
    recursion sees no other cut.
    """
    changes = np.flatnonzero(best[1:] != best[:-1]) + 1
    cumulative = np.zeros((len(changes) + 2, counts.shape[1]))
    stretch = 0
    for i in range(len(best)):
        if stretch < len(changes) and i == changes[stretch]:
            stretch += 1
            cumulative[stretch + 1] = cumulative[stretch]
        elif i == 0:
            cumulative[1] = cumulative[0]
        cumulative[stretch + 1] += counts[i]
    chosen = mdl_cuts(cumulative, np.ones(len(cumulative), dtype=np.bool_))
    return changes[chosen - 1]


@kernel
def boundaries(cumulative: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which cuts are boundary points: the only ones where entropy can be least."""
    n_cells = cumulative.shape[0] - 1
    out = np.zeros(n_cells + 1, dtype=np.bool_)
    for i in range(1, n_cells):
        out[i] = _is_boundary(cumulative, i)
    return out


@kernel
def threshold_cell(cumulative: NDArray[np.float64]) -> int:
    """The cut of least class entropy between cells, or -1: no test of description length."""
    n = cumulative.shape[0] - 1
    return best_cut(cumulative, 0, n, boundaries(cumulative), np.empty(n + 1))
