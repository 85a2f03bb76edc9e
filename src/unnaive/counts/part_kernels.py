"""Kernels that count many small parts of the rows at once, each in the cells of its own values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.encode.kernels import INFINITE, SIGN, key_of_bits, smallest_shift

MISSING = ~np.uint64(0)  # the key of no number and of no category; it sorts last
_FEW = 24  # rows that are sorted as quickly by insertion
_THREE_BYTES = 4096  # rows that three bytes of their keys tell apart, but for few
_BYTE = np.uint64(255)
_CHUNK = 2048


@kernel
def keys_of_numbers(bits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> bool:
    """Keys of values (IN, as bits), missing ones last of all (OUT); False if one is infinite."""
    infinite = False
    for i in range(len(bits)):
        magnitude = bits[i] & ~SIGN
        infinite |= magnitude == INFINITE
        keys[i] = key_of_bits(bits[i]) if magnitude <= INFINITE else MISSING
    return not infinite


@kernel
def _sort_bytes(
    keys: NDArray[np.uint64],
    rows: NDArray[np.int32],
    shifts: NDArray[np.uint64],
    spare_keys: NDArray[np.uint64],
    spare_rows: NDArray[np.int32],
) -> None:
    """Sort keys by some of their bytes, the least of these first; equal ones keep their order."""
    n = len(keys)
    ends = np.zeros((len(shifts), 256), dtype=np.int32)
    for i in range(n):
        for k in range(len(shifts)):
            ends[k, (keys[i] >> shifts[k]) & _BYTE] += 1
    from_keys, from_rows, to_keys, to_rows = keys, rows, spare_keys, spare_rows
    for k in range(len(shifts)):
        low, end, at = shifts[k], ends[k], np.int32(0)
        for b in range(256):
            at, end[b] = at + end[b], at
        for i in range(n):
            b = (from_keys[i] >> low) & _BYTE
            to = end[b]
            to_keys[to], to_rows[to] = from_keys[i], from_rows[i]
            end[b] = to + 1
        from_keys, from_rows, to_keys, to_rows = to_keys, to_rows, from_keys, from_rows
    if len(shifts) & 1:
        keys[:] = spare_keys
        rows[:] = spare_rows


@kernel
def _insert(keys: NDArray[np.uint64], rows: NDArray[np.int32], most: int) -> bool:
    """Sort keys that are nearly sorted; False as soon as more than ``most`` moves are needed."""
    moves = 0
    for i in range(1, len(keys)):
        key, row, k = keys[i], rows[i], i
        while k > 0 and keys[k - 1] > key:
            keys[k], rows[k] = keys[k - 1], rows[k - 1]
            k -= 1
        keys[k], rows[k] = key, row
        moves += i - k
        if moves > most:
            return False
    return True


@kernel
def sort_parts(keys: NDArray[np.uint64], starts: NDArray[np.intp], rows: NDArray[np.int32]) -> None:
    """Sort the keys of each part (IN, OUT), with the number of the row of each (OUT).

    By the three or four highest of the bytes that are not the same in all keys of a part, which
    leaves few to move; by all of them where that is not so. Rows with equal keys keep their order.
    """
    spare_keys, spare_rows = np.empty_like(keys), np.empty_like(rows)
    for i in range(len(keys)):
        rows[i] = i
    shifts = np.empty(8, dtype=np.uint64)
    for p in range(len(starts) - 1):
        start, stop = starts[p], starts[p + 1]
        part_keys, part_rows = keys[start:stop], rows[start:stop]
        if stop - start <= _FEW:
            _insert(part_keys, part_rows, _FEW * _FEW)
            continue
        varying = np.uint64(0)
        for i in range(start, stop):
            varying |= keys[i] ^ keys[start]
        n = 0
        for k in range(8):
            if (varying >> np.uint64(8 * k)) & _BYTE:
                shifts[n] = 8 * k
                n += 1
        first = max(0, n - (3 if stop - start <= _THREE_BYTES else 4))
        to_keys, to_rows = spare_keys[start:stop], spare_rows[start:stop]
        _sort_bytes(part_keys, part_rows, shifts[first:n], to_keys, to_rows)
        if first and not _insert(part_keys, part_rows, 4 * (stop - start)):
            _sort_bytes(part_keys, part_rows, shifts[:n], to_keys, to_rows)


@kernel
def number_parts(
    keys: NDArray[np.uint64],
    starts: NDArray[np.intp],
    limit: int,
    cells: NDArray[np.int32],
    shifts: NDArray[np.intp],
    sizes: NDArray[np.intp],
) -> None:
    """Cells of sorted keys (IN) in each part (OUT): their number, missing -1; bits dropped, sizes.

    As many low bits as needed are dropped, so that no part has more than ``limit`` cells.
    """
    for p in range(len(starts) - 1):
        start, stop = starts[p], starts[p + 1]
        while stop > start and keys[stop - 1] == MISSING:
            stop -= 1
            cells[stop] = -1
        shift = 0
        if stop - start > limit:
            shift = smallest_shift(keys[start:stop], limit)
        drop = np.uint64(shift)
        n = 0
        for i in range(start, stop):
            n += i == start or keys[i] >> drop != keys[i - 1] >> drop
            cells[i] = n - 1
        shifts[p], sizes[p] = shift, n


@kernel
def list_cells(
    keys: NDArray[np.uint64],
    starts: NDArray[np.intp],
    cells: NDArray[np.int32],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
) -> None:
    """First and last key of each cell of each part (OUT), in their order."""
    n = -1
    for p in range(len(starts) - 1):
        for i in range(starts[p], starts[p + 1]):
            if cells[i] < 0:
                break
            if i == starts[p] or cells[i] != cells[i - 1]:
                n += 1
                low[n] = keys[i]
            high[n] = keys[i]


@kernel
def look_up_parts(
    slots: NDArray[np.int32],
    starts: NDArray[np.intp],
    n_values: int,
    cells: NDArray[np.int32],
    sizes: NDArray[np.intp],
    codes: NDArray[np.int32],
) -> int:
    """Cells of numbered values (IN, missing 0) in each part (OUT): their number, missing -1; sizes.

    ``codes`` (OUT) are the values of the cells, numbered from 0 on; how many there are is returned.
    """
    n = 0
    place = np.empty(n_values + 1, dtype=np.int32)
    for p in range(len(starts) - 1):
        place[:] = 0
        for i in range(starts[p], starts[p + 1]):
            place[slots[i]] = 1
        place[0] = size = 0
        for value in range(1, n_values + 1):
            if place[value]:
                size += 1
                place[value] = size
                codes[n] = value - 1
                n += 1
        for i in range(starts[p], starts[p + 1]):
            cells[i] = place[slots[i]] - 1
        sizes[p] = size
    return n


@kernel
def order_rows(
    parts: NDArray[Any],
    free: NDArray[np.intp],
    places: NDArray[np.int32],
    order: NDArray[np.int32],
) -> None:
    """Place of each row in the order of the parts (OUT), and the row at each place (OUT).

    ``free`` (IN, OUT) is where the next row of each part goes.
    """
    for i in range(len(parts)):
        place = free[parts[i]]
        free[parts[i]] = place + 1
        places[i] = place
        order[place] = i


@kernel
def put_rows(values: NDArray[Any], places: NDArray[np.int32], out: NDArray[Any]) -> None:
    """Values (IN) at the places of their rows (OUT).

    They are read in their order and written to few ends, which are in cache; to be looked up in
    the new order, each would have to be fetched by itself.
    """
    for i in range(len(places)):
        out[places[i]] = values[i]


@kernel
def number_classes(
    parts: NDArray[Any], groups: NDArray[Any], n_classes: int, cells: NDArray[np.int32]
) -> None:
    """Cell of each row (OUT) among those of all parts, ``n_classes`` each."""
    for i in range(len(groups)):
        cells[i] = np.int32(parts[i]) * np.int32(n_classes) + np.int32(groups[i])


@kernel
def add_weights(
    cells: NDArray[np.int32], weight: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Weight of the rows of each cell (OUT); ``weight`` (IN) is empty where each weighs one."""
    for i in range(len(cells)):
        out[cells[i]] += weight[i] if len(weight) else 1.0


@kernel
def count_pair(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    width: int,
    cells: NDArray[np.int32],
    size: int,
    out: NDArray[np.uint32],
) -> None:
    """Rows per (cell, slot of a, slot of b): one increment counts two columns (OUT).

    ``width`` is the number of slots of b, ``size`` that of both together.
    """
    one, places = np.uint8(1), np.empty(_CHUNK, dtype=np.int32)  # raw codes to slots: wrap around
    n_b, n_both = np.int32(width), np.int32(size)
    for start in range(0, len(a), _CHUNK):
        m = min(_CHUNK, len(a) - start)
        a_, b_, of = a[start : start + m], b[start : start + m], cells[start : start + m]
        for i in range(m):
            slot = np.int32(np.uint8(a_[i] + one)) * n_b + np.int32(np.uint8(b_[i] + one))
            places[i] = of[i] * n_both + slot
        for i in range(m):
            out[places[i]] += np.uint32(1)


@kernel
def part_pair(
    joint: NDArray[np.uint32], first: NDArray[np.uint32], second: NDArray[np.uint32]
) -> None:
    """The tables of two columns (OUT, cells x slots) in their joint one (IN, cells x both)."""
    n_a, n_b = first.shape[1], second.shape[1]
    for cell in range(len(joint)):
        for a in range(n_a):
            for b in range(n_b):
                n = joint[cell, a * n_b + b]
                first[cell, a] += n
                second[cell, b] += n


@kernel
def move_parts(
    tables: NDArray[Any],
    patterns: NDArray[np.intp],
    slots: NDArray[np.intp],
    classes: NDArray[np.intp],
    begins: NDArray[np.intp],
    widths: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None:
    """Counts of one column (IN, cells of parts and classes x raw slots) to those of parts (OUT).

    ``slots[patterns[p]]`` (IN) are the slots of part p; all else is as in `count_parts`.
    """
    n_parts, n_classes = classes.shape
    for p in range(n_parts):
        place = slots[patterns[p]]
        for g in range(n_classes):
            row, start = tables[p * n_classes + g], begins[p] + classes[p, g] * widths[p]
            for s in range(len(row)):
                if row[s] > 0:
                    out[start + place[s]] += row[s]


@kernel
def count_parts(
    rows: NDArray[np.int32],
    cells: NDArray[np.int32],
    sizes: NDArray[np.intp],
    slots: NDArray[np.intp],
    starts: NDArray[np.intp],
    groups: NDArray[Any],
    classes: NDArray[np.intp],
    weight: NDArray[np.float64],
    begins: NDArray[np.intp],
    widths: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None:
    """Weight of one column per part, group and slot (OUT), equal cells in the order of the rows.

    The tables of parts lie one after the other in ``out``, groups x slots each: that of part p has
    ``widths[p]`` slots, and the column begins at ``begins[p]``. ``slots`` (IN) has the slot of
    every cell, part by part, and is empty where they are in order; ``rows`` (IN) is empty where
    cells are those of the rows as they come, ``weight`` (IN) where every row weighs one.
    ``classes[p]`` (IN) has the number of each class among those of part p.
    """
    first = 0  # of the cells of the part
    for p in range(len(starts) - 1):
        for i in range(starts[p], starts[p + 1]):
            row = rows[i] if len(rows) else np.int32(i)
            slot = np.int64(cells[i]) + 1
            if slot and len(slots):
                slot = slots[first + slot - 1]
            place = begins[p] + classes[p, groups[row]] * widths[p] + slot
            out[place] += weight[row] if len(weight) else 1.0
        first += sizes[p]
