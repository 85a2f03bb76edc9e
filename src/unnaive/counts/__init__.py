"""COUNTING: the additive tables that every model learns from."""

from unnaive.counts.additive import AdditiveEstimator, Shrinkage
from unnaive.counts.gather import Wanted, gather
from unnaive.counts.moments import Moments
from unnaive.counts.summary import Coder, Summary, merge_summaries
from unnaive.counts.table import EXTRA_SLOTS, CountTable, slot_offsets

__all__ = [
    "EXTRA_SLOTS",
    "AdditiveEstimator",
    "Coder",
    "CountTable",
    "Moments",
    "Shrinkage",
    "Summary",
    "Wanted",
    "gather",
    "merge_summaries",
    "slot_offsets",
]
