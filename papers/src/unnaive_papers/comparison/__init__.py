"""Beyond the papers: the family beside other libraries on all sets."""

from unnaive_papers.comparison.experiments import CONFIGURATIONS, EXPERIMENTS
from unnaive_papers.comparison.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "show"]
