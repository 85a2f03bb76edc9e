"""NUMBERING: columns to small integers, without looking at labels.

Every coded attribute has the same slots: 0 is missing, 1 to V its values, V + 1 an unseen value.
"""

from unnaive.encode.bins import Bins, infinite_error
from unnaive.encode.categories import Categories, categories_of, merge_categories
from unnaive.encode.coding import AnyCoder, check_coders, coder_sizes, column_slots
from unnaive.encode.draws import (
    LANE_BITS,
    LANE_ROWS,
    LANES,
    assign_folds,
    branch_seed,
    branch_seeds,
    deal_folds,
    draw_folds,
    draw_order,
    draw_poisson,
    draw_uniform,
    hold_out,
    lane,
    row_bits,
    value_keys,
)
from unnaive.encode.grid import GRID_LIMIT, Grid, merge_grids, number_values
from unnaive.encode.joint import JointCodes, joint_codes, joint_runs
from unnaive.encode.labels import (
    Labels,
    groups_of,
    label_groups,
    merge_labels,
    read_target,
    same_labels,
)

__all__ = [
    "GRID_LIMIT",
    "LANES",
    "LANE_BITS",
    "LANE_ROWS",
    "AnyCoder",
    "Bins",
    "Categories",
    "Grid",
    "JointCodes",
    "Labels",
    "assign_folds",
    "branch_seed",
    "branch_seeds",
    "categories_of",
    "check_coders",
    "coder_sizes",
    "column_slots",
    "deal_folds",
    "draw_folds",
    "draw_order",
    "draw_poisson",
    "draw_uniform",
    "groups_of",
    "hold_out",
    "infinite_error",
    "joint_codes",
    "joint_runs",
    "label_groups",
    "lane",
    "merge_categories",
    "merge_grids",
    "merge_labels",
    "number_values",
    "read_target",
    "row_bits",
    "same_labels",
    "value_keys",
]
