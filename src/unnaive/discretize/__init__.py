"""MERGING: fine tables to coarse ones, by rules that may look at labels."""

from unnaive.discretize.discretizer import Discretizer, RuledEstimator
from unnaive.discretize.rules import Coarse, CoarseCoder, ColumnDensity, coarsen

__all__ = ["Coarse", "CoarseCoder", "ColumnDensity", "Discretizer", "RuledEstimator", "coarsen"]
