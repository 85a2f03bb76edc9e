"""COUNTING: the additive tables that every model learns from."""

from unnaive.counts.additive import AdditiveEstimator, Shrinkage, TableEstimator
from unnaive.counts.gather import gather
from unnaive.counts.moments import Moments, Spread
from unnaive.counts.summary import Coder, Summary, Wanted, merge_summaries, row_factor
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets

__all__ = [
    "EXTRA_SLOTS",
    "AdditiveEstimator",
    "Coder",
    "CountTable",
    "Moments",
    "Shrinkage",
    "Spread",
    "Summary",
    "TableEstimator",
    "Wanted",
    "gather",
    "merge_summaries",
    "row_factor",
    "slot_offsets",
]
