"""Vilalta and Rish (2003): classes decomposed into clusters, on 26 data sets."""

from unnaive_papers.vilalta.experiments import CONFIGURATIONS, EXPERIMENTS, MEASURES
from unnaive_papers.vilalta.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "MEASURES", "show"]
