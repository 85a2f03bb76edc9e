"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.build import Smoothing, build_scorer
from unnaive.bayes.estimate import IMPOSSIBLE, class_factor, given_priors, log_likelihood, log_prior
from unnaive.bayes.evidence import Evidence
from unnaive.bayes.scoring import (
    GaussianTerm,
    Scorer,
    TableTerm,
    Term,
    log_probabilities,
    probabilities,
)

__all__ = [
    "IMPOSSIBLE",
    "Evidence",
    "GaussianTerm",
    "Scorer",
    "Smoothing",
    "TableTerm",
    "Term",
    "build_scorer",
    "class_factor",
    "given_priors",
    "log_likelihood",
    "log_prior",
    "log_probabilities",
    "probabilities",
]
