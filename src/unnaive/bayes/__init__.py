"""SCORING: counts to log probabilities, rows to scores and evidence."""

from unnaive.bayes.build import SMALLEST_VARIANCE, Smoothing, build_scorer, table_scorer
from unnaive.bayes.coded import cell_logs, coded_scores, judge
from unnaive.bayes.estimate import (
    check_class_weight,
    class_factor,
    given_priors,
    log_likelihood,
    log_prior,
    missing_evidence,
)
from unnaive.bayes.evidence import Evidence, Votes, weigh
from unnaive.bayes.kernels import IMPOSSIBLE
from unnaive.bayes.quality import Quality, QualitySums, log_losses
from unnaive.bayes.scoring import (
    GaussianTerm,
    KernelTerm,
    Scorer,
    TableTerm,
    Term,
    add_scorers,
    log_probabilities,
    probabilities,
    stack_scorers,
)

__all__ = [
    "IMPOSSIBLE",
    "SMALLEST_VARIANCE",
    "Evidence",
    "GaussianTerm",
    "KernelTerm",
    "Quality",
    "QualitySums",
    "Scorer",
    "Smoothing",
    "TableTerm",
    "Term",
    "Votes",
    "add_scorers",
    "build_scorer",
    "cell_logs",
    "check_class_weight",
    "class_factor",
    "coded_scores",
    "given_priors",
    "judge",
    "log_likelihood",
    "log_losses",
    "log_prior",
    "log_probabilities",
    "missing_evidence",
    "probabilities",
    "stack_scorers",
    "table_scorer",
    "weigh",
]
