"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.build import SMALLEST_VARIANCE, Smoothing, build_scorer
from unnaive.bayes.estimate import (
    check_class_weight,
    class_factor,
    given_priors,
    log_likelihood,
    log_prior,
)
from unnaive.bayes.evidence import Evidence
from unnaive.bayes.kernels import IMPOSSIBLE
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
    "SMALLEST_VARIANCE",
    "Evidence",
    "GaussianTerm",
    "Scorer",
    "Smoothing",
    "TableTerm",
    "Term",
    "build_scorer",
    "check_class_weight",
    "class_factor",
    "given_priors",
    "log_likelihood",
    "log_prior",
    "log_probabilities",
    "probabilities",
]
