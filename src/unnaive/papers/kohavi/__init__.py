"""Kohavi (1996): NBTree beside C4.5 and naive Bayes on 29 data sets."""

from unnaive.papers.kohavi.experiments import CONFIGURATIONS, EXPERIMENTS, MEASURES
from unnaive.papers.kohavi.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "MEASURES", "show"]
