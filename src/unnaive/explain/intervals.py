"""Credible intervals of evidence, from the rows behind it: few rows make wide intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, softmax

from unnaive.bayes import GaussianTerm, KernelTerm

JEFFREYS = 0.5  # rows for and against a value that a posterior starts from


def normal_reach(errors: NDArray[np.floating], level: float) -> NDArray[np.float64]:
    """Distance from evidence to its limits on either side, given its standard errors."""
    reach: NDArray[np.float64] = ndtri((1.0 + level) / 2.0) * errors.astype(np.float64)
    return reach


def table_reach(
    counts: NDArray[np.float64],
    level: float,
    estimates: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance from the evidence of each value to its limits below and above: values x labels.

    The share of a value among the rows of a label, and among the rows of the others, has a beta
    posterior that ignores other values: pseudo-counts of many values would make few rows look like
    many. The limits of the two logarithms are joined as those of independent quantities
    (Zou and Donner's recovered variances), which keeps their skew.

    Parameters
    ----------
    counts : array of shape (values, labels)
    level : float
        Probability of the interval.
    estimates : tuple of arrays of shape (values, labels), or None
        Log P(value | label) and log P(value | others) by the model; None for the shares
        themselves.
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    label, rest = (None, None) if estimates is None else estimates
    down, up = _log_reach(counts, level, label)
    rest_down, rest_up = _log_reach(others, level, rest)
    return np.hypot(down, rest_up), np.hypot(up, rest_down)


def _log_reach(
    counts: NDArray[np.float64], level: float, given: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance from a log probability to the limits of its posterior."""
    counts = np.maximum(counts, 0.0)  # differences of real weights may round below zero
    have = counts + JEFFREYS
    lack = np.maximum(counts.sum(axis=0) - counts, 0.0) + JEFFREYS
    estimate = np.log(have / (have + lack)) if given is None else given
    low = np.log(betaincinv(have, lack, (1.0 - level) / 2.0))
    high = np.log(betaincinv(have, lack, (1.0 + level) / 2.0))
    return np.maximum(estimate - low, 0.0), np.maximum(high - estimate, 0.0)


def density_reach(
    term: GaussianTerm | KernelTerm,
    values: NDArray[np.float64],
    rows: NDArray[np.float64],
    logs: NDArray[np.float64],
    log_prior: NDArray[np.float64],
    level: float,
) -> NDArray[np.float64]:
    """Distance from the evidence of numbers to its limits on either side: values x labels.

    By the variance of a log density to first order: of a normal one with estimated mean and
    variance, or of a sum of kernels. That of the other labels is the mean of theirs, weighted by
    their probability at the number.

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
    return normal_reach(np.sqrt(variance + rest), level)


def _gaussian_variance(term: GaussianTerm, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of a log density, for one row: mean and variance are both estimated."""
    z = (values[:, None] - term.mean) ** 2 / term.variance
    return z + 0.5 * (z - 1.0) ** 2


def _kernel_variance(term: KernelTerm, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of a kernel density, whose kernels' squares integrate to 1 / (2 sqrt(pi) width)."""
    densities = term.densities
    # With the floor, in units of the range.
    smoothed = np.exp(densities.at(values) + densities.scale.log_range)
    density = np.maximum(smoothed - densities.floors, 0.0)
    return density / (2.0 * np.sqrt(np.pi) * densities.widths) / smoothed**2
