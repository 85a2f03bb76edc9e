"""The values of one column in two samples, in common bins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import CountTable, Summary
from unnaive.counts.kernels import scatter_slots
from unnaive.counts.summary import Coder, align_values, row_factor
from unnaive.discretize.words import interval_words
from unnaive.encode import Categories, Grid
from unnaive.encode.bins import Bins
from unnaive.encode.labels import merge_labels, refuse_mixed
from unnaive.table import Column

LEAST_EXPECTED = 5  # rows of a value in either sample, or chi-squared does not describe its chance
OTHERS = "others"  # rare categories together


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Two samples: their classes and columns, aligned, in units of rows."""

    classes: NDArray[Any]
    totals: tuple[NDArray[np.float64], NDArray[np.float64]]
    coders: tuple[Coder, ...]
    tables: tuple[CountTable, CountTable]
    labelled: bool


def align(before: Summary, after: Summary, *, labelled: bool) -> Sides:
    """Counts of both samples by the same classes and values; one class where labels are unknown."""
    coders, made = align_values([before, after], before.schema + after.schema)
    tables = [
        table.scale_groups(row_factor(part))
        for table, part in zip(made, (before, after), strict=True)
    ]
    if labelled:
        refuse_mixed(before.labels, after.labels)
        labels, places = merge_labels([before.labels, after.labels])
        classes = labels.classes
    else:
        places = [np.zeros(table.n_groups, dtype=np.intp) for table in tables]
        classes = np.array(["all"])
    first, second = (
        table.sum_groups(place, len(classes)) for table, place in zip(tables, places, strict=True)
    )
    return Sides(classes, (first.totals, second.totals), coders, (first, second), labelled)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCounts:
    """Classes x bins of one column in two samples; bins in words.

    Attributes
    ----------
    words : tuple of str
    before, after : arrays of shape (classes, bins)
    missing : arrays of shape (classes,)
        Rows without a value, before and after.
    new, vanished : tuples of categories
        With values in one of the samples only.
    """

    column: Column
    words: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    missing: tuple[NDArray[np.float64], NDArray[np.float64]]
    new: tuple[Any, ...] = ()
    vanished: tuple[Any, ...] = ()

    @property
    def whole(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of each bin, those without a value first, before and after."""
        sides = zip(self.missing, (self.before, self.after), strict=True)
        first, second = (np.concatenate(([gap.sum()], side.sum(axis=0))) for gap, side in sides)
        return first, second

    def merged(self, place: NDArray[np.intp], words: tuple[str, ...]) -> ColumnCounts:
        """Bins added together: bin b becomes part of ``place[b]``."""
        sides = []
        for side in (self.before, self.after):
            out = np.zeros((len(side), len(words)))
            scatter_slots(np.ascontiguousarray(side), place, out)
            sides.append(out)
        return replace(self, words=words, before=sides[0], after=sides[1])

    def some_classes(self, kept: NDArray[np.bool_]) -> ColumnCounts:
        first, second = self.missing
        return replace(
            self,
            before=self.before[kept],
            after=self.after[kept],
            missing=(first[kept], second[kept]),
        )


def fine_counts(sides: Sides, j: int, column: Column) -> ColumnCounts | None:
    """A column with a bin for every value; None where its values were not counted."""
    coder = sides.coders[j]
    if coder is None:
        return None
    first, second = sides.tables
    missing = (first.attribute(j)[:, 0], second.attribute(j)[:, 0])
    before, after = first.values(j), second.values(j)
    if not isinstance(coder, Categories):
        return ColumnCounts(column, ("",) * coder.size, before, after, missing)
    here, there = before.sum(axis=0) > 0, after.sum(axis=0) > 0
    pairs = list(zip(coder.values, here, there, strict=True))
    return ColumnCounts(
        column,
        tuple(map(str, coder.values)),
        before,
        after,
        missing,
        tuple(v for v, was, now in pairs if now and not was),
        tuple(v for v, was, now in pairs if was and not now),
    )


def check_bins(n_bins: int) -> None:
    """Refuse bins that tell nothing apart."""
    if n_bins < 2:
        raise ValueError(f"n_bins must be 2 or more; got {n_bins!r}.")


def binned(fine: ColumnCounts, coder: Grid | Categories | Bins, n_bins: int) -> ColumnCounts:
    """Few bins: equal shares of the first sample's numbers, or all categories that are not rare."""
    if not isinstance(coder, Categories):
        return _number_bins(fine, coder, n_bins)
    both = fine.before.sum(axis=0) + fine.after.sum(axis=0)
    sizes = [fine.before.sum(), fine.after.sum()]
    expected = both * min(sizes) / max(sum(sizes), 1.0)
    kept = expected >= LEAST_EXPECTED
    if kept.all() or (~kept).sum() == 1:
        return fine
    place = np.full(len(kept), int(kept.sum()), dtype=np.intp)
    place[kept] = np.arange(kept.sum())
    words = (*(w for w, is_kept in zip(fine.words, kept, strict=True) if is_kept), OTHERS)
    return fine.merged(place, words)


def _number_bins(fine: ColumnCounts, coder: Grid | Bins, n_bins: int) -> ColumnCounts:
    weight = fine.before.sum(axis=0)
    if not weight.any():
        weight = fine.after.sum(axis=0)
    place, cuts = _equal_shares(weight, coder, n_bins)
    return fine.merged(place, tuple(interval_words(cuts, fine.column)))


def _equal_shares(
    weight: NDArray[np.float64], coder: Grid | Bins, n_bins: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Bin of each cell, so that bins have about equal weight, and the cuts between bins.

    Bins made of such bins are the same. Fewer are made of few rows: bins that are laid around
    single rows differ from any other sample.
    """
    n_bins = max(2, min(n_bins, int(weight.sum() / LEAST_EXPECTED)))
    middle = (np.cumsum(weight) - weight / 2) / max(weight.sum(), 1e-300)
    wanted = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    steps = np.diff(wanted) > 0
    ends = np.flatnonzero(steps)
    if isinstance(coder, Bins):
        cuts = coder.cuts[ends]
    else:
        cuts = coder.high[ends] + (coder.low[ends + 1] - coder.high[ends]) / 2
    return np.concatenate(([0], np.cumsum(steps)))[: len(weight)], cuts


def watched_intervals(summary: Summary, n_bins: int) -> dict[int, Bins]:
    """Equal shares of each column's numbers, in which new rows are counted."""
    intervals = {}
    for j, coder in enumerate(summary.coders):
        if isinstance(coder, Grid) and coder.size:
            weight = summary.counts.values(j).T @ row_factor(summary)
            intervals[j] = Bins(_equal_shares(weight, coder, n_bins)[1])
    return intervals


def frequent_classes(totals: tuple[Any, Any]) -> NDArray[np.bool_]:
    """Classes with enough rows in both samples to say how evidence for them has changed."""
    return np.asarray(np.minimum(*totals) >= 4 * LEAST_EXPECTED)


def evidence_bins(
    fine: ColumnCounts, coder: Grid | Categories | Bins, n_bins: int, totals: tuple[Any, Any]
) -> ColumnCounts | None:
    """Bins in which every class that is frequent in both samples has rows enough; None if none."""
    kept = frequent_classes(totals)
    if kept.sum() < 2:
        return None
    rows = float(np.minimum(*totals)[kept].min())
    fine = fine.some_classes(kept)
    if not isinstance(coder, Categories):
        return _number_bins(fine, coder, max(2, min(n_bins, int(rows / (2 * LEAST_EXPECTED)))))
    both = fine.before.sum(axis=0) + fine.after.sum(axis=0)
    common = rows * both / max(both.sum(), 1.0) >= LEAST_EXPECTED
    place = np.full(len(common), int(common.sum()), dtype=np.intp)
    place[common] = np.arange(common.sum())
    words = tuple(w for w, is_common in zip(fine.words, common, strict=True) if is_common)
    return fine.merged(place, words if common.all() else (*words, OTHERS))
