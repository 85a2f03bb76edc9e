"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.scoring import GaussianTerm, KernelTerm, Scorer, Smoothing, TableTerm, Term

__all__ = ["GaussianTerm", "KernelTerm", "Scorer", "Smoothing", "TableTerm", "Term"]
