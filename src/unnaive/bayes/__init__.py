"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.estimate import (
    IMPOSSIBLE,
    class_factor,
    gaussian_parameters,
    log_likelihood,
    log_prior,
    missing_evidence,
)
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
    "TableTerm",
    "Term",
    "class_factor",
    "gaussian_parameters",
    "log_likelihood",
    "log_prior",
    "log_probabilities",
    "missing_evidence",
    "probabilities",
]
