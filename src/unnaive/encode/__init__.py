"""NUMBERING: columns to small integers, without looking at labels.

Every coded attribute has the same slots: 0 is missing, 1 to V its values, V + 1 an unseen value.
"""

from unnaive.encode.bins import Bins, infinite_error
from unnaive.encode.categories import Categories, categories_of, merge_categories
from unnaive.encode.coding import AnyCoder, coder_sizes, column_slots
from unnaive.encode.draws import draw_folds, hold_out, row_bits, value_keys
from unnaive.encode.grid import GRID_LIMIT, Grid, merge_grids, number_values
from unnaive.encode.labels import Labels, groups_of, label_groups, merge_labels, read_target

__all__ = [
    "GRID_LIMIT",
    "AnyCoder",
    "Bins",
    "Categories",
    "Grid",
    "Labels",
    "categories_of",
    "coder_sizes",
    "column_slots",
    "draw_folds",
    "groups_of",
    "hold_out",
    "infinite_error",
    "label_groups",
    "merge_categories",
    "merge_grids",
    "merge_labels",
    "number_values",
    "read_target",
    "row_bits",
    "value_keys",
]
