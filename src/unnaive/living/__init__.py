"""Models over time: counts of periods, models of windows, and what has changed."""

from unnaive.living.display import DriftDisplay
from unnaive.living.drift import Drift, DriftOverTime, drift
from unnaive.living.timeline import Timeline

__all__ = [
    "Drift",
    "DriftDisplay",
    "DriftOverTime",
    "Timeline",
    "drift",
]
