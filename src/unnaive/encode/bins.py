"""Numbers to intervals: the coder of a column that has been cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_ascending
from unnaive.common.kernels import read_only
from unnaive.encode import kernels
from unnaive.table import Column
from unnaive.table.codes import code_dtype


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Intervals ``(cut, next cut]`` between ascending cuts. Slot 0 is missing."""

    cuts: NDArray[np.float64]

    def check(self) -> None:
        """Refuse cuts that no rule makes."""
        check_ascending("cuts", self.cuts)

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    def place(self, low: NDArray[np.float64]) -> NDArray[Any]:
        """Slot of each slot of a grid whose cells, from ``low``, no cut divides."""
        ends = np.searchsorted(low, self.cuts, side="right")  # cuts are fewer than cells
        widths = np.diff(ends, prepend=0, append=len(low))
        slots = np.arange(self.size + 2, dtype=code_dtype(self.size))
        return np.repeat(slots, np.concatenate(([1], widths, [1])))

    def divide(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
        """Whether some cut lies within a cell, from ``low`` until before ``high``."""
        inside = np.searchsorted(low, self.cuts, side="right") - 1
        return bool((self.cuts < high[inside])[inside >= 0].any())

    def codes(self, values: NDArray[np.float64], column: Column) -> NDArray[Any]:
        """Slot of each value; infinite values are refused."""
        codes = np.empty(len(values), dtype=code_dtype(self.size))
        infinite = kernels.bin_codes(read_only(values), read_only(self.cuts), codes)
        if infinite >= 0:
            raise infinite_error(column, values[infinite])
        return codes


def infinite_error(column: Column, value: float | None = None) -> ValueError:
    what = "an infinite number" if value is None else f"the number {value}"
    return ValueError(
        f"{column} holds {what}; Input X contains infinity. "
        "Replace infinite numbers by NaN (missing) or by a finite limit."
    )
