"""COUNTING: the additive tables that every model learns from."""

from unnaive.counts.additive import (
    KEEP_CHECKPOINTS,
    AdditiveEstimator,
    Shrinkage,
    TableEstimator,
    need_checkpoints,
)
from unnaive.counts.coded import GRAIN, CodedRows, add_lanes, add_marginals, code_rows, count_coded
from unnaive.counts.gather import gather
from unnaive.counts.moments import Moments, Spread
from unnaive.counts.progress import Progress, Telling, told, within
from unnaive.counts.row_progress import RowProgress
from unnaive.counts.summary import (
    Coder,
    Summary,
    Wanted,
    merge_summaries,
    refuse_new,
    row_factor,
)
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets

__all__ = [
    "EXTRA_SLOTS",
    "GRAIN",
    "KEEP_CHECKPOINTS",
    "AdditiveEstimator",
    "CodedRows",
    "Coder",
    "CountTable",
    "Moments",
    "Progress",
    "RowProgress",
    "Shrinkage",
    "Spread",
    "Summary",
    "TableEstimator",
    "Telling",
    "Wanted",
    "add_lanes",
    "add_marginals",
    "code_rows",
    "count_coded",
    "gather",
    "merge_summaries",
    "need_checkpoints",
    "refuse_new",
    "row_factor",
    "slot_offsets",
    "told",
    "within",
]
