"""Arrays as JSON: bytes in base64, so that numbers reach the page bit for bit and stay small."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Packed: TypeAlias = dict[str, Any]

_FEW = 64  # numbers that are not worth looking for repetition


def pack(array: Any) -> Packed:
    """One array, any shape, as plain data.

    Whole numbers take the smallest type that holds them. Floats that repeat, as logarithms of small
    counts do, are kept once, with the place of each.
    """
    flat = np.ascontiguousarray(array).ravel()
    if flat.dtype.kind in "bui":
        return _pack_whole(flat)
    flat = flat.astype(np.float64, copy=False)
    if len(flat) >= _FEW:
        # As bits: what looks alike to a float, as 0 and -0, stays itself.
        bits, places = np.unique(flat.view(np.uint64), return_inverse=True)
        width = _whole_type(0, len(bits)).itemsize
        if 8 * len(bits) + width * len(flat) < 8 * len(flat):
            return {"values": _text(bits, "f8"), "at": _pack_whole(places.ravel())}
    return _text(flat, "f8")


def pack_short(array: Any) -> Packed:
    """One array of numbers that are only looked at: seven digits are enough."""
    return _text(np.ascontiguousarray(array, dtype=np.float32).ravel(), "f4")


def _pack_whole(flat: NDArray[Any]) -> Packed:
    low, high = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
    dtype = _whole_type(low, high)
    return _text(flat.astype(dtype), f"{'i' if dtype.kind == 'i' else 'u'}{dtype.itemsize}")


def _whole_type(low: int, high: int) -> np.dtype[Any]:
    names = ("i1", "i2", "i4") if low < 0 else ("u1", "u2", "u4")
    for name in names:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return np.dtype(name)
    raise OverflowError(f"numbers from {low} to {high} do not fit in 32 bits.")


def _text(flat: NDArray[Any], kind: str) -> Packed:
    little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
    return {"kind": kind, "bytes": base64.b64encode(little.tobytes()).decode("ascii")}
