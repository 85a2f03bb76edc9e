"""MERGING: fine tables to coarse ones, by rules that may look at labels."""

from unnaive.discretize.coarse import Coarse, CoarseCoder, ColumnDensity, coarsen
from unnaive.discretize.discretizer import Discretizer
from unnaive.discretize.ruled import RuledEstimator

__all__ = ["Coarse", "CoarseCoder", "ColumnDensity", "Discretizer", "RuledEstimator", "coarsen"]
