"""Models over time: one summary for each period, models of windows, and what has changed."""

from unnaive.living.comparing import compare_periods, drift
from unnaive.living.display import DriftDisplay
from unnaive.living.editing import edit, edits_of, flatten, make_monotone, undo
from unnaive.living.facts import Drift
from unnaive.living.following import DriftOverTime, follow_drift
from unnaive.living.timeline import Timeline

__all__ = [
    "Drift",
    "DriftDisplay",
    "DriftOverTime",
    "Timeline",
    "compare_periods",
    "drift",
    "edit",
    "edits_of",
    "flatten",
    "follow_drift",
    "make_monotone",
    "undo",
]
