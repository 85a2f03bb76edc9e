"""MERGING: fine tables to coarse ones, with or without looking at labels."""

from unnaive.discretize.coarse import Coarse, CoarseCoder, coarsen
from unnaive.discretize.discretizer import Discretizer

__all__ = ["Coarse", "CoarseCoder", "Discretizer", "coarsen"]
