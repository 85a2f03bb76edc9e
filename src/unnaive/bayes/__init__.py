"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.build import Smoothing
from unnaive.bayes.scoring import GaussianTerm, KernelTerm, Scorer, TableTerm, Term

__all__ = ["GaussianTerm", "KernelTerm", "Scorer", "Smoothing", "TableTerm", "Term"]
