"""COUNTING: the additive tables that every model learns from."""

from unnaive.counts.moments import Moments, Spread
from unnaive.counts.summary import Summary, Wanted
from unnaive.counts.table import CountTable

__all__ = ["CountTable", "Moments", "Spread", "Summary", "Wanted"]
