"""From the fine table to what models use: cut numbers or fit densities, group rare categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.threads import in_threads
from unnaive.counts import CountTable, Spread, Summary
from unnaive.counts.summary import row_factor
from unnaive.density import Densities, Normal
from unnaive.discretize.cuts import snap
from unnaive.discretize.rules import ColumnSums, CuttingRule, DensityRule, Rule
from unnaive.encode import Bins, Categories, Grid
from unnaive.encode.coders import coder_sizes

# Numbering of one column in a fitted model; None where the column carries no evidence.
CoarseCoder: TypeAlias = Bins | Categories | None
NO_CELLS = Grid(0, np.empty(0), np.empty(0))
NO_MOMENTS = Spread(np.empty(0), np.empty(0), np.empty(0))


class ColumnDensity(NamedTuple):
    """Densities of a column by class, None if it is constant, and the weight of the rows of each
    class that have a value.
    """

    density: Normal | Densities | None
    weight: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Coarse:
    """Coders that new rows go through, the counts in their slots, the factor of each class that is
    in these counts, and the densities of columns whose rule fits them.
    """

    coders: tuple[CoarseCoder, ...]
    counts: CountTable
    factor: NDArray[np.float64]
    densities: Mapping[int, ColumnDensity]


def coarsen(
    summary: Summary,
    rules: Mapping[int, Rule],
    *,
    max_categories: int | None = None,
    factor: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Coarse:
    """Apply the rules of the numeric columns and group rare categories: no pass over rows.

    Numeric columns that are counted but not cut stay in one piece.
    ``factor`` weighs the classes, as if every row of a class had that weight.
    """
    factor = row_factor(summary, factor)
    counts = summary.counts if (factor == 1).all() else summary.counts.scale_groups(factor)
    sums = _column_sums(summary, counts, factor)

    def column(j: int) -> tuple[CoarseCoder, NDArray[np.intp] | None]:
        coder, rule = summary.coders[j], rules.get(j)
        if isinstance(coder, Categories):
            return group_rare(coder, counts.values(j), max_categories)
        if coder is None or not coder.size:
            return None, None
        cuts = np.empty(0)
        if isinstance(rule, CuttingRule) and coder.size > 1:
            cuts = snap(coder, rule.cuts(sums(j)))
        return _cut(coder, cuts)

    def density(task: tuple[int, DensityRule]) -> ColumnDensity:
        whole, rule = sums(task[0]), task[1]
        weight = whole.counts.sum(axis=1) if rule.needs_counts else whole.classes.weight * factor
        return ColumnDensity(rule.density(whole), weight)

    threads = n_jobs if rules else None  # only numbers are work
    columns = list(in_threads(column, range(len(summary.coders)), threads))
    coders = tuple(coder for coder, _ in columns)
    merged = counts.coarsen([place for _, place in columns], coder_sizes(coders))
    dense = {j: rule for j, rule in rules.items() if isinstance(rule, DensityRule)}
    densities = in_threads(density, list(dense.items()), n_jobs)
    return Coarse(coders, merged, factor, dict(zip(dense, densities, strict=True)))


def _column_sums(
    summary: Summary, counts: CountTable, factor: NDArray[np.float64]
) -> Callable[[int], ColumnSums]:
    """What a rule sees of each numeric column."""
    place = {j: k for k, j in enumerate(summary.moments.columns)}
    classes = summary.moments.finish() if place else NO_MOMENTS
    whole = classes.whole(factor) if place else NO_MOMENTS

    def sums(j: int) -> ColumnSums:
        grid, k = summary.coders[j], place.get(j)
        spread = (NO_MOMENTS, NO_MOMENTS) if k is None else (classes.column(k), whole.column(k))
        return ColumnSums(grid if isinstance(grid, Grid) else NO_CELLS, counts.values(j), *spread)

    return sums


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
