"""The clusters of a class in words, as class decompositions keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import FINITE, check_values, expect
from unnaive.common.wording import counted, printable


@dataclass(frozen=True, slots=True, eq=False)
class ClassClusters:
    """The clusters of one class.

    Attributes
    ----------
    label : Any
        The class.
    n_clusters : int
    sizes : array of shape (n_clusters,)
        Weight of the rows of each cluster.
    profiles : tuple of str
        How each cluster differs from the class as a whole.
    noise : bool
        Whether the last cluster holds the rows that the clusterer called noise.
    """

    label: Any
    n_clusters: int
    sizes: NDArray[np.float64]
    profiles: tuple[str, ...]
    noise: bool

    def check(self) -> None:
        """Check that there is one size and one profile for each cluster."""
        check_values("sizes", self.sizes, (self.n_clusters,), 0.0, FINITE)
        n = len(self.profiles)
        expect(n == self.n_clusters, f"profiles are {n}, but clusters are {self.n_clusters}.")

    def __str__(self) -> str:
        lines = [f"{self.label}: {counted(self.n_clusters, 'cluster')}"]
        for p, (size, profile) in enumerate(zip(self.sizes, self.profiles, strict=True)):
            name = "noise" if self.noise and p + 1 == self.n_clusters else f"cluster {p}"
            lines.append(f"  {name} ({counted(size, 'row')}): {profile}")
        return "\n".join(map(printable, lines))

    __repr__ = __str__
