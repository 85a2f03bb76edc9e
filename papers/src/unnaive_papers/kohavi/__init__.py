"""Kohavi (1996): NBTree beside C4.5 and naive Bayes on 29 data sets."""

from unnaive_papers.kohavi.experiments import CONFIGURATIONS, EXPERIMENTS, MEASURES
from unnaive_papers.kohavi.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "MEASURES", "show"]
