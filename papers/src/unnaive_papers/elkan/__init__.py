"""Elkan (1997): what naive Bayes costs, boosting included, and what it is equal to."""

from unnaive_papers.elkan.experiments import CONFIGURATIONS, EXPERIMENTS
from unnaive_papers.elkan.page import show

__all__ = ["CONFIGURATIONS", "EXPERIMENTS", "show"]
