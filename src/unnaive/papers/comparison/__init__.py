"""Beyond the papers: the family beside other libraries on all sets."""

from unnaive.papers.comparison.experiments import CONFIGURATIONS, EXPERIMENTS
from unnaive.papers.comparison.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "show"]
