"""Kernels that turn numbers into ordered integer keys and keys into cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

SIGN = np.uint64(1 << 63)
ZERO = np.uint64(0)
INFINITE = np.uint64(0x7FF0000000000000)
_CELLS, _ROWS_FOR_CELLS = 4096, 1 << 14  # of equal width between the cuts, and rows that pay them
_VALUES = 1024


@kernel
def bit_count(x: np.uint64) -> int:
    """Return the number of set bits; LLVM makes one instruction of it."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def bit_length(x: np.uint64) -> int:
    """Return the position of the highest set bit, counted from 1."""
    for step in (1, 2, 4, 8, 16, 32):
        x |= x >> np.uint64(step)
    return bit_count(x)


@kernel
def key_of_bits(b: np.uint64) -> np.uint64:
    """A float's bits as an integer that sorts like the float; minus zero is zero."""
    if b & SIGN:
        return ~b if b & ~SIGN else SIGN
    return b | SIGN


@kernel
def key_range(bits: NDArray[np.uint64]) -> tuple[int, np.uint64, np.uint64]:
    """How many values (IN, as bits) are not missing, their smallest and their largest key.

    The number is -1 when one of them is infinite.
    """
    n = 0
    first, last = ~ZERO, ZERO
    infinite = False
    for i in range(len(bits)):
        magnitude = bits[i] & ~SIGN
        if magnitude <= INFINITE:
            infinite |= magnitude == INFINITE
            key = key_of_bits(bits[i])
            first, last = min(first, key), max(last, key)
            n += 1
    return (-1 if infinite else n), first, last


@kernel
def ordered_keys(bits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    """Keys of values (IN, as bits), missing ones left out (OUT)."""
    n = 0
    for i in range(len(bits)):
        if bits[i] & ~SIGN <= INFINITE:
            keys[n] = key_of_bits(bits[i])
            n += 1


@kernel
def values_of_keys(keys: NDArray[np.uint64], bits: NDArray[np.uint64]) -> None:
    """The inverse of `ordered_keys`."""
    for i in range(len(keys)):
        k = keys[i]
        bits[i] = k ^ SIGN if k & SIGN else ~k


@kernel
def unite_cells(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Ascending keys of both lists (IN, ascending, keys may repeat), each once."""
    out = np.empty(len(a) + len(b), dtype=np.uint64)
    i = j = n = 0
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            key = a[i]
            i += 1
        else:
            key = b[j]
            j += 1
        if n == 0 or out[n - 1] != key:
            out[n] = key
            n += 1
    return out[:n].copy()


@kernel
def place_cells(
    cells: NDArray[np.uint64],
    shift: np.uint64,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    union: NDArray[np.uint64],
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
    place: NDArray[np.intp],
) -> None:
    """Slot of each slot of a grid (IN, ascending cells) in one that has all of its cells (OUT).

    The smallest and largest values of the united cells are lowered and raised (IN, OUT).
    """
    at = 0
    place[0] = 0
    for k in range(len(cells)):
        while union[at] != cells[k] >> shift:
            at += 1
        lowest[at] = min(lowest[at], low[k])
        highest[at] = max(highest[at], high[k])
        place[k + 1] = at + 1
    place[len(cells) + 1] = len(union) + 1


@kernel
def lay_places(
    codes: NDArray[np.uint16], ends: NDArray[np.intp], size: int, places: NDArray[np.intp]
) -> None:
    """Slots of the cells of many grids (IN), each with its missing and unseen slot (OUT)."""
    at = start = 0
    for end in ends:
        places[at] = 0
        at += 1
        for k in range(start, end):
            places[at] = codes[k]
            at += 1
        places[at] = size + 1
        at += 1
        start = end


@kernel
def smallest_shift(ordered: NDArray[np.uint64], limit: int) -> int:
    """Fewest low bits to drop so that at most ``limit`` distinct keys remain.

    Two neighbours of the sorted keys stay distinct as long as their highest differing bit stays,
    so one pass counts the distinct keys for every shift at once.
    """
    differing = np.zeros(65, dtype=np.int64)
    for i in range(1, len(ordered)):
        differing[bit_length(ordered[i] ^ ordered[i - 1])] += 1
    distinct = 1
    for shift in range(64, 0, -1):
        distinct += differing[shift]
        if distinct > limit:
            return shift
    return 0


@kernel
def cells_of_sorted(
    ordered: NDArray[np.uint64],
    shift: np.uint64,
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
) -> int:
    """First and last of the sorted keys (IN) that are equal when shifted (OUT); their number."""
    n = 0
    previous = ZERO
    for i in range(len(ordered)):
        cell = ordered[i] >> shift
        if n == 0 or cell != previous:
            low[n] = ordered[i]
            previous = cell
            n += 1
        high[n - 1] = ordered[i]
    return n


@kernel
def index_cells(cells: NDArray[np.uint64], drop: np.uint64, starts: NDArray[np.int32]) -> None:
    """For each bucket of equal high bits, where its cells begin (OUT, and one entry more)."""
    first = cells[0]
    bucket = 0
    for i in range(len(cells)):
        b = np.int64((cells[i] - first) >> drop)
        while bucket <= b:
            starts[bucket] = i
            bucket += 1
    while bucket < len(starts):
        starts[bucket] = len(cells)
        bucket += 1


@kernel
def cell_codes(
    bits: NDArray[np.uint64],
    cells: NDArray[np.uint64],
    shift: np.uint64,
    drop: np.uint64,
    starts: NDArray[np.int32],
    codes: NDArray[np.uint16],
) -> None:
    """Cell of each value (IN, as bits): 0 missing, 1 to V the cells (OUT).

    A short search inside the bucket of the key's high bits: most buckets hold one cell. A value
    that no cell holds gets a cell nearby, so that no code is ever beyond them.
    """
    first, last = cells[0], cells[-1]
    for i in range(len(bits)):
        if bits[i] & ~SIGN > INFINITE:
            codes[i] = 0
            continue
        key = min(max(key_of_bits(bits[i]) >> shift, first), last)
        bucket = np.int64((key - first) >> drop)
        lo = starts[bucket]
        hi = starts[bucket + 1] - 1
        while lo < hi:
            mid = (lo + hi) >> 1
            if cells[mid] < key:
                lo = mid + 1
            else:
                hi = mid
        codes[i] = lo + 1


@kernel
def mark_bits(
    bits: NDArray[np.uint64], shift: np.uint64, base: np.uint64, words: NDArray[np.uint64]
) -> None:
    """Set the bit that the leading bits of every value's key name (OUT)."""
    one = np.uint64(1)
    for i in range(len(bits)):
        if bits[i] & ~SIGN <= INFINITE:
            at = (key_of_bits(bits[i]) >> shift) - base
            words[at >> np.uint64(6)] |= one << (at & np.uint64(63))


@kernel
def rank_bits(words: NDArray[np.uint64], rank: NDArray[np.uint32]) -> int:
    """How many bits are set before each word (OUT) and in all."""
    n = 0
    for i in range(len(words)):
        rank[i] = n
        n += bit_count(words[i])
    return n


@kernel
def list_bits(words: NDArray[np.uint64], base: np.uint64, cells: NDArray[np.uint64]) -> None:
    """Positions of the set bits, plus ``base``, ascending (OUT)."""
    n = 0
    one = np.uint64(1)
    for i in range(len(words)):
        word = words[i]
        while word:
            lowest = bit_count(~word & (word - one))
            cells[n] = base + np.uint64(i * 64 + lowest)
            word &= word - one
            n += 1


@kernel
def bitmap_codes(
    bits: NDArray[np.uint64],
    shift: np.uint64,
    base: np.uint64,
    words: NDArray[np.uint64],
    rank: NDArray[np.uint32],
    place: NDArray[np.uint16],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    codes: NDArray[np.uint16],
) -> None:
    """Cell of each value by the rank of its bit, and each cell's first and last key (OUT)."""
    one = np.uint64(1)
    for i in range(len(bits)):
        if bits[i] & ~SIGN > INFINITE:
            codes[i] = 0
            continue
        key = key_of_bits(bits[i])
        at = (key >> shift) - base
        word = words[at >> np.uint64(6)]
        before = word & ((one << (at & np.uint64(63))) - one)
        cell = place[rank[at >> np.uint64(6)] + np.uint32(bit_count(before))]
        low[cell] = min(low[cell], key)
        high[cell] = max(high[cell], key)
        codes[i] = cell + 1


@kernel
def bin_codes(
    values: NDArray[np.float64], cuts: NDArray[np.float64], codes: NDArray[np.uint8]
) -> int:
    """Slot of each value between sorted cuts: 0 missing, 1 + number of cuts below it (OUT).

    Returns the position of the first infinite value, or -1.
    """
    very_few = 18  # and quicker than looking up
    few_cuts = 64  # up to so many, comparing with all is quicker than searching
    for start in range(0, len(values), _VALUES):
        part = values[start : start + _VALUES]
        infinite = 0
        for i in range(len(part)):  # no branch: many values at a time
            infinite += abs(part[i]) == np.inf
        if infinite:
            for i in range(len(part)):
                if abs(part[i]) == np.inf:
                    return start + i
    looked_up = len(cuts) > very_few and len(values) >= _ROWS_FOR_CELLS
    if looked_up and _look_up_cuts_below(values, cuts, codes):
        return -1
    if len(cuts) <= few_cuts:
        _count_cuts_below(values, cuts, codes)
    else:
        _search_cuts_below(values, cuts, codes)
    return -1


@kernel
def _count_cuts_below(
    values: NDArray[np.float64], cuts: NDArray[np.float64], codes: NDArray[np.uint8]
) -> None:
    """Compare every value with every cut: without branches, many values at a time."""
    below = np.empty(_VALUES, dtype=np.int64)
    for start in range(0, len(values), _VALUES):
        m = min(_VALUES, len(values) - start)
        part = values[start : start + m]
        for i in range(m):
            below[i] = np.int64(part[i] == part[i])
        for k in range(len(cuts)):
            cut = cuts[k]
            for i in range(m):
                below[i] += np.int64(part[i] > cut)
        for i in range(m):
            codes[start + i] = below[i]


@kernel
def _look_up_cuts_below(
    values: NDArray[np.float64], cuts: NDArray[np.float64], codes: NDArray[np.uint8]
) -> bool:
    """Look up how many cuts lie before the cell of a value, and compare with the next one.

    Cells grow with values, whatever is rounded, so that cuts in earlier cells are below. False,
    and nothing coded, where two cuts share a cell.
    """
    n, low, last = len(cuts), cuts[0], _CELLS - 1.0
    scale = (_CELLS - 2) / (cuts[n - 1] - low)
    if not 0.0 < scale < 1e300 or n > _CELLS:
        return False
    before, ends = np.empty(_CELLS, dtype=np.uint16), np.full(n + 1, np.inf)
    ends[:n] = cuts
    first = 0
    for cell in range(_CELLS):
        before[cell] = first
        while first < n and np.int32((cuts[first] - low) * scale + 1.0) <= cell:
            first += 1
        if first - before[cell] > 1:
            return False
    cells = np.empty(_VALUES, dtype=np.int32)
    for start in range(0, len(values), _VALUES):
        m = min(_VALUES, len(values) - start)
        part = values[start : start + m]
        for i in range(m):  # no branch: many values at a time
            x = (part[i] - low) * scale + 1.0
            x = x if x > 0.0 else 0.0  # missing, too
            cells[i] = np.int32(x if x < last else last)
        for i in range(m):
            k = before[cells[i]]
            codes[start + i] = (k + 1 + (part[i] > ends[k])) if part[i] == part[i] else 0
    return True


@kernel
def _search_cuts_below(
    values: NDArray[np.float64], cuts: NDArray[np.float64], codes: NDArray[np.uint8]
) -> None:
    """Halve the cuts for one value after the other."""
    for i in range(len(values)):
        v = values[i]
        if v != v:
            codes[i] = 0
            continue
        base = 0
        length = len(cuts)
        while length > 1:
            half = length >> 1
            base = base + half if cuts[base + half - 1] < v else base
            length -= half
        codes[i] = base + 1 + (cuts[base] < v)
