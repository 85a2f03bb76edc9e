"""From the fine table to the coarse one that models use: cut numbers, group rare categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import CountTable, Summary
from unnaive.counts.summary import row_factor
from unnaive.discretize.cuts import ColumnCounts, find_cuts
from unnaive.encode import Bins, Categories, Grid
from unnaive.encode.coding import coder_sizes

# Numbering of one column in a fitted model; None where the column carries no evidence.
CoarseCoder: TypeAlias = Bins | Categories | None


@dataclass(frozen=True, slots=True, eq=False)
class Coarse:
    """Coders that new rows go through, the counts in their slots, and the factor of each class
    that is in these counts.
    """

    coders: tuple[CoarseCoder, ...]
    counts: CountTable
    factor: NDArray[np.float64]


def coarsen(
    summary: Summary,
    methods: Mapping[int, str],
    *,
    n_bins: int = 10,
    bandwidth: Any = "cv",
    max_categories: int | None = None,
    factor: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Coarse:
    """Cut the numeric columns named in ``methods`` and group rare categories: no pass over rows.

    Other numeric columns that were counted stay in one piece.
    ``factor`` weighs the classes, as if every row of a class had that weight.
    """
    factor = row_factor(summary, factor)
    counts = summary.counts if (factor == 1).all() else summary.counts.scale_groups(factor)
    spread = _spread(summary, [j for j, m in methods.items() if m == "sigma"], factor)

    def column(j: int) -> tuple[CoarseCoder, NDArray[np.intp] | None]:
        coder = summary.coders[j]
        if isinstance(coder, Grid) and coder.size:
            if j not in methods:
                return _cut(coder, np.empty(0))
            mean, deviation = spread.get(j, (np.nan, np.nan))
            fine = ColumnCounts(coder, counts.values(j), mean, deviation)
            return _cut(coder, find_cuts(methods[j], fine, n_bins, bandwidth))
        if isinstance(coder, Categories):
            return group_rare(coder, counts.values(j), max_categories)
        return None, None

    threads = n_jobs if methods else None  # only cutting is work
    found = list(in_threads(column, range(len(summary.coders)), threads))
    coders = tuple(coder for coder, _ in found)
    merged = counts.coarsen([place for _, place in found], coder_sizes(coders))
    return Coarse(coders, merged, factor)


def _spread(
    summary: Summary, columns: list[int], factor: NDArray[np.float64]
) -> dict[int, tuple[float, float]]:
    """Mean and standard deviation of whole columns."""
    if not columns:
        return {}
    whole = summary.moments.finish().whole(factor)
    place = [summary.moments.columns.index(j) for j in columns]
    return {
        j: (whole.mean[k], np.sqrt(whole.variance[k])) for j, k in zip(columns, place, strict=True)
    }


def _cut(grid: Grid, cuts: NDArray[np.float64]) -> tuple[Bins, NDArray[np.intp]]:
    bins = Bins(cuts)
    return bins, bins.place(grid.low).astype(np.intp)


def group_rare(
    coder: Categories, counts: NDArray[np.float64], most: int | None
) -> tuple[Categories, NDArray[np.intp] | None]:
    """Keep the most frequent values, the first where equally frequent, and one for the rest.

    The second answer says where the old slots went, None where nothing was grouped.
    """
    if most is None or coder.size <= most:
        return coder, None
    kept = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[: most - 1])
    rest = np.setdiff1d(np.arange(coder.size), kept)
    grouped = Categories(
        tuple(coder.values[i] for i in kept), rare=tuple(coder.values[i] for i in rest)
    )
    return grouped, np.concatenate((grouped.slots(coder.values), [grouped.size + 1]))
