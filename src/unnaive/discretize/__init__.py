"""MERGING: fine tables to coarse ones, with or without looking at labels."""

from unnaive.discretize.coarse import Coarse, CoarseCoder, coarsen, group_rare
from unnaive.discretize.cuts import METHODS, ColumnCounts, find_cuts, midpoints
from unnaive.discretize.discretizer import Discretizer, cut_names, interval_names

__all__ = [
    "METHODS",
    "Coarse",
    "CoarseCoder",
    "ColumnCounts",
    "Discretizer",
    "coarsen",
    "cut_names",
    "find_cuts",
    "group_rare",
    "interval_names",
    "midpoints",
]
