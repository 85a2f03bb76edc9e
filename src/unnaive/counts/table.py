"""The one statistic: how often each value of each attribute goes with each group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import HEAVIEST, check_values, expect
from unnaive.counts import kernels
from unnaive.encode.coders import AnyCoder, coder_sizes

EXTRA_SLOTS = 2  # beside its values, every attribute has a slot for missing and one for unseen


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """Weights of rows per group and attribute value, all attributes laid end to end.

    float64, because whole numbers below 2**53 add exactly in any order, and so do the rounded
    weights that models make. Nothing probabilistic lives here.

    Attributes
    ----------
    counts : array of shape (groups, slots)
    offsets : array of shape (attributes + 1,)
        Attribute j owns the slots ``offsets[j]`` to ``offsets[j + 1]``: missing, its values,
        unseen.
    totals : array of shape (groups,)
        Weight of all rows of each group.
    """

    counts: NDArray[np.float64]
    offsets: NDArray[np.intp]
    totals: NDArray[np.float64]

    @classmethod
    def empty(cls, n_groups: int, sizes: Sequence[int]) -> CountTable:
        """Return a table of zeros for attributes with so many values each."""
        offsets = slot_offsets(sizes)
        return cls(np.zeros((n_groups, offsets[-1])), offsets, np.zeros(n_groups))

    def check(self) -> None:
        """Refuse what is no table of counts."""
        edges = self.offsets
        expect(edges.ndim == 1 and len(edges) and edges[0] == 0, "slots do not begin at 0.")
        expect((np.diff(edges) >= EXTRA_SLOTS).all(), "an attribute has no slot for missing.")
        check_values("totals", self.totals, (self.totals.size,), 0.0, HEAVIEST)
        check_values("counts", self.counts, (self.n_groups, int(edges[-1])), 0.0, HEAVIEST)

    def check_coders(self, coders: Sequence[AnyCoder], n_groups: int) -> None:
        """Refuse counts of other attributes than those with these coders, or of other groups."""
        same = np.array_equal(self.offsets, slot_offsets(coder_sizes(coders)))
        expect(same, "counts do not match the columns.")
        expect(self.n_groups == n_groups, f"counts are not for {n_groups} groups.")

    @property
    def n_groups(self) -> int:
        return len(self.totals)

    @property
    def n_attributes(self) -> int:
        return len(self.offsets) - 1

    def attribute(self, j: int) -> NDArray[np.float64]:
        """Return the view of one attribute's counts: (groups, missing + values + unseen)."""
        return self.counts[:, self.offsets[j] : self.offsets[j + 1]]

    def values(self, j: int) -> NDArray[np.float64]:
        """Return the view of one attribute's counts without missing and unseen."""
        return self.counts[:, self.offsets[j] + 1 : self.offsets[j + 1] - 1]

    def __add__(self, other: CountTable) -> CountTable:
        return CountTable(self.counts + other.counts, self.offsets, self.totals + other.totals)

    def coarsen(
        self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]
    ) -> CountTable:
        """Merge slots: ``places[j]`` says where each slot of attribute j goes (None: nowhere new).

        Neighbouring values merged is discretization; values moved apart makes room for those that
        another table has.
        """
        out = CountTable.empty(self.n_groups, sizes)
        flat = self._flat_places(places, out.offsets)
        kernels.scatter_slots(self.counts, flat, out.counts)
        return CountTable(out.counts, out.offsets, self.totals)

    def add(
        self, part: CountTable, places: Sequence[NDArray[np.intp]], groups: NDArray[np.intp]
    ) -> None:
        """Add a part whose slots and groups go to these places; this table changes."""
        flat = part._flat_places(places, self.offsets)
        kernels.add_table(part.counts, groups, flat, self.counts)
        np.add.at(self.totals, groups, part.totals)

    def _flat_places(
        self, places: Sequence[NDArray[np.intp] | None], offsets: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the place of each slot in a table whose attributes begin at ``offsets``."""
        widths = np.diff(self.offsets)
        each = [np.arange(n) if p is None else p for p, n in zip(places, widths, strict=True)]
        if not each:
            return np.empty(0, dtype=np.intp)
        return np.concatenate(each) + np.repeat(offsets[:-1], widths)

    def select_groups(self, groups: NDArray[np.intp]) -> CountTable:
        """Return the table of some groups only."""
        return CountTable(self.counts[groups], self.offsets, self.totals[groups])

    def sum_groups(self, place: NDArray[np.intp], n_groups: int) -> CountTable:
        """Add groups together: group g becomes part of group ``place[g]``."""
        if len(place) == n_groups and (place == np.arange(n_groups)).all():
            return self
        counts, totals = np.zeros((n_groups, self.counts.shape[1])), np.zeros(n_groups)
        np.add.at(counts, place, self.counts)
        np.add.at(totals, place, self.totals)
        return CountTable(counts, self.offsets, totals)

    def scale_groups(self, factor: NDArray[np.float64]) -> CountTable:
        """Return every group's weights multiplied by one number."""
        return CountTable(self.counts * factor[:, None], self.offsets, self.totals * factor)


def slot_offsets(sizes: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where the slots of each attribute begin, for attributes with so many values."""
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.intp) + EXTRA_SLOTS)))


def information_of(table: NDArray[Any]) -> float:
    """Return the mutual information of the rows and the columns of a table of weights, in nats.

    Corrected for the cells that the weight is spread over, as Miller and Madow do: half the number
    of cells beyond one, over the weight. What says nothing has about 0, however many values it has.
    """
    return float(kernels.mutual_information(np.ascontiguousarray(table, dtype=np.float64)))


def most_informative(tables: Sequence[NDArray[Any] | None], most: int) -> list[int]:
    """Return the numbers of the tables of most information, the first of equals, in ascending
    order.
    """
    information = [-np.inf if table is None else information_of(table) for table in tables]
    return [j for j in highest(information, most) if information[j] > -np.inf]


def highest(values: Sequence[float], most: int) -> list[int]:
    """Return the places of the highest values, the first of equals, in ascending order."""
    return sorted(np.argsort(-np.array(values), kind="stable")[:most].tolist())
