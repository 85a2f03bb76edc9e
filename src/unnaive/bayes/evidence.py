"""Weight of evidence: what a value does to the log odds of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CERTAIN = 30.0  # log odds that decide alone: more, as of impossible values, adds nothing


def add_bars(baseline: NDArray[np.float64], bars: NDArray[np.float64]) -> NDArray[np.float64]:
    """The baseline (..., classes) plus all bars (..., bars, classes), in their order."""
    total = baseline.copy()
    for k in range(bars.shape[-2]):
        total += bars[..., k, :]
    return total


def weigh(logs: NDArray[np.float64], log_prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight of evidence: log P(value | class) - log P(value | the other classes).

    Which is what a value does to the log odds of each class, if it alone is known. One class has
    no others, and no evidence.

    Parameters
    ----------
    logs : array of shape (..., classes)
        Log P(value | class).
    log_prior : array that broadcasts to the shape of logs
    """
    if logs.shape[-1] < 2:
        return np.zeros(logs.shape)
    if logs.shape[-1] == 2:
        return logs - logs[..., ::-1]
    return logs - (_of_others(logs + log_prior) - _of_others(log_prior))


def _of_others(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the sum over all classes but each one, without a difference."""
    before, after = np.full(logs.shape, -np.inf), np.full(logs.shape, -np.inf)
    before[..., 1:] = np.logaddexp.accumulate(logs[..., :-1], axis=-1)
    after[..., :-1] = np.logaddexp.accumulate(logs[..., :0:-1], axis=-1)[..., ::-1]
    return np.logaddexp(before, after)


def mean_strength(
    weights: NDArray[np.float64], shares: NDArray[np.float64], log_prior: NDArray[np.float64]
) -> float:
    """Mean absolute evidence for the true class, over rows as frequent as the model expects.

    Parameters
    ----------
    weights : array of shape (..., classes)
        Weight of evidence of each value.
    shares : array of shape (..., classes)
        How frequent the value is in each class.
    log_prior : array of shape (classes,)
    """
    prior = np.exp(log_prior - log_prior.max())
    strength = np.minimum(np.abs(weights), CERTAIN)
    return float((shares * strength).sum(axis=tuple(range(weights.ndim - 1))) @ prior / prior.sum())
