"""The order of keys of which there may be more than memory should sort at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import kernel

if TYPE_CHECKING:
    from unnaive.table.storage import Storage

RUN = 1 << 20  # keys that are sorted in memory at a time


def ascending(keys: NDArray[Any], storage: Storage) -> NDArray[np.intp]:
    """Places of the keys in ascending order, equal ones as they stand: a stable argsort.

    Runs of keys are sorted in memory, then merged two by two where the storage has room.
    """
    if storage.limit is None:
        return np.argsort(keys, kind="stable")
    n = len(keys)
    order = storage.empty(n, np.intp)
    for start in range(0, n, RUN):
        places = np.argsort(keys[start : start + RUN], kind="stable")
        np.add(places, start, out=order[start : start + RUN])
    run = RUN
    while run < n:
        merged = storage.empty(n, np.intp)
        for start in range(0, n, 2 * run):
            middle, end = min(start + run, n), min(start + 2 * run, n)
            _merge(keys, order[start:middle], order[middle:end], merged[start:end])
        order, run = merged, 2 * run
    return order


@kernel
def _merge(
    keys: NDArray[Any], a: NDArray[np.intp], b: NDArray[np.intp], out: NDArray[np.intp]
) -> None:
    """Places in ascending order of their keys (OUT), of two lists that are so (IN); first a's."""
    i = j = 0
    for k in range(len(out)):
        if j == len(b) or (i < len(a) and keys[a[i]] <= keys[b[j]]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
