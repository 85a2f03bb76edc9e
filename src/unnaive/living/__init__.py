"""Models over time: one summary for each period, models of windows, and what has changed."""

from unnaive.living.timeline import Timeline

__all__ = ["Timeline"]
