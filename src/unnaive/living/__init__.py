"""Models over time: one summary for each period, models of windows, and what has changed."""

from unnaive.living.comparing import compare_periods, drift
from unnaive.living.facts import Drift
from unnaive.living.timeline import Timeline

__all__ = ["Drift", "Timeline", "compare_periods", "drift"]
