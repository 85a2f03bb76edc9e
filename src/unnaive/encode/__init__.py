"""NUMBERING: columns to small integers, without looking at labels.

Every coded attribute has the same slots: 0 is missing, 1 to V its values, V + 1 an unseen value.
"""

from unnaive.encode.categories import Categories
from unnaive.encode.grid import GRID_LIMIT, Bins, Grid
from unnaive.encode.labels import Labels

__all__ = ["GRID_LIMIT", "Bins", "Categories", "Grid", "Labels"]
