"""How sure evidence is: credible intervals from the rows behind it, so that thin data look thin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, softmax

from unnaive.bayes import GaussianTerm, KernelTerm
from unnaive.density import FLOOR

JEFFREYS = 0.5  # pseudo-count per value of an interval at least, also where estimates have none


def table_reach(
    counts: NDArray[np.float64], alpha: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far below and above its estimate the evidence of each value may lie: values x labels.

    The probability of a value given a label, and given the other labels, has a beta posterior; the
    limits of the two logarithms are joined as those of independent quantities (Zou and Donner's
    recovered variances), which keeps their skew.

    Parameters
    ----------
    counts : array of shape (values, labels)
    alpha : float
        Pseudo-count of every value.
    level : float
        Probability of the interval.
    """
    alpha = max(alpha, JEFFREYS)
    down, up = _log_reach(counts, alpha, level)
    rest_down, rest_up = _log_reach(counts.sum(axis=1, keepdims=True) - counts, alpha, level)
    return np.hypot(down, rest_up), np.hypot(up, rest_down)


def _log_reach(
    counts: NDArray[np.float64], alpha: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance from a log probability to the limits of its posterior."""
    own = np.maximum(counts, 0.0) + alpha  # differences of real weights may round below zero
    whole = own.sum(axis=0)
    rest = np.maximum(whole - own, 1e-12)  # an attribute with one value is certain
    estimate = np.log(own / whole)
    low = np.log(np.maximum(betaincinv(own, rest, (1.0 - level) / 2.0), 1e-300))
    high = np.log(betaincinv(own, rest, (1.0 + level) / 2.0))
    return np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)


def density_reach(
    term: GaussianTerm | KernelTerm,
    values: NDArray[np.float64],
    rows: NDArray[np.float64],
    logs: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    level: float,
) -> NDArray[np.float64]:
    """How far to either side the evidence of numbers may lie: values x labels.

    By the variance of a log density to first order: of a normal one with estimated mean and
    variance, or of a sum of kernels. The others' is the mean of theirs, by who is likely there.

    Parameters
    ----------
    rows : array of shape (labels,)
        Weight of the rows behind each density.
    logs : array of shape (values, labels)
        Log densities.
    """
    if isinstance(term, GaussianTerm):
        variance = _gaussian_variance(term, values)
    else:
        variance = _kernel_variance(term, values)
    variance = variance / np.maximum(rows, JEFFREYS)
    n_labels = logs.shape[1]
    rest = np.zeros_like(variance)
    for c in range(n_labels if n_labels > 1 else 0):
        others = np.arange(n_labels) != c
        share = softmax((logs + log_prior)[:, others], axis=1)
        rest[:, c] = (share**2 * variance[:, others]).sum(axis=1)
    reach: NDArray[np.float64] = ndtri((1.0 + level) / 2.0) * np.sqrt(variance + rest)
    return reach


def _gaussian_variance(term: GaussianTerm, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of a log density, of one row: its mean and variance are both estimated."""
    z = (values[:, None] - term.mean) ** 2 / term.variance
    return z + 0.5 * (z - 1.0) ** 2


def _kernel_variance(term: KernelTerm, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of a kernel density, whose kernels' squares integrate to 1 / (2 sqrt(pi) width)."""
    own = term.densities
    whole = np.exp(own.at(values) + own.scale.log_range)  # with the floor, in units of the range
    density = np.maximum(whole - FLOOR, 0.0)
    return density / (2.0 * np.sqrt(np.pi) * own.widths) / whole**2
