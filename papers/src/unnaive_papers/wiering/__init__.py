"""Wiering (2003): hierarchical mixtures, bagging and boosting of naive Bayes on 19 data sets."""

from unnaive_papers.wiering.experiments import CONFIGURATIONS, EXPERIMENTS, MEASURES
from unnaive_papers.wiering.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "MEASURES", "show"]
