"""Counts to log probabilities: every smoothing formula of the library lives here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Stands for log 0: so low that the class with the fewest impossible values always wins, and finite,
# so that scores add up.
IMPOSSIBLE = -1e5


def log_or_impossible(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm with a floor instead of minus infinity."""
    positive = p > 0
    return np.where(positive, np.log(np.where(positive, p, 1.0)), IMPOSSIBLE)


def log_prior(
    totals: NDArray[np.float64], prior_alpha: float, priors: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Log probability of each class before any evidence."""
    if priors is not None:
        return log_or_impossible(priors)
    smoothed = totals + prior_alpha
    return log_or_impossible(smoothed / smoothed.sum())


def given_priors(priors: Any, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Check the prior probabilities a user gives, by label or in the order of the classes."""
    if priors is None:
        return None
    if isinstance(priors, Mapping):
        lacking = [c for c in classes.tolist() if c not in priors]
        if lacking:
            raise ValueError(f"priors has no entry for the class {lacking[0]!r}.")
        priors = [priors[c] for c in classes.tolist()]
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != classes.shape:
        raise ValueError(f"priors has {given.size} entries, but there are {len(classes)} classes.")
    if (given < 0).any() or not np.isclose(given.sum(), 1.0):
        raise ValueError(f"priors must be 0 or more and sum to 1; they sum to {given.sum():g}.")
    return given


def log_likelihood(counts: NDArray[np.float64], alpha: float, missing: str) -> NDArray[np.float64]:
    """Log probability of each slot of one attribute given each class: slots x classes.

    Parameters
    ----------
    counts : array of shape (classes, slots)
        Missing, the values, unseen.
    alpha : float
        Pseudo-count per value; 0 means raw frequencies with a floor.
    missing : {"skip", "value"}
        Whether missing is one of the values, where it occurs.

    Missing (unless it is a value) and unseen carry no evidence, and neither does an attribute
    about which a class has no rows.
    """
    values = slice(0 if missing == "value" and counts[:, 0].any() else 1, -1)
    seen = counts[:, values]
    total = seen.sum(axis=1, keepdims=True) + alpha * seen.shape[1]
    known = total > 0
    share = (seen + alpha) / np.where(known, total, 1.0)
    logs = np.zeros((counts.shape[1], len(counts)))
    logs[values] = np.where(known, log_or_impossible(share), 0.0).T
    return logs


def class_factor(
    class_weight: Any, classes: NDArray[Any], totals: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """What ``class_weight`` multiplies each class's rows by, in scikit-learn's meaning."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}."
            )
        present = totals > 0
        share = totals.sum() / (present.sum() * np.where(present, totals, 1.0))
        return np.where(present, share, 1.0)
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"class_weight names the class {unknown[0]!r}, but the classes are "
            f"{classes.tolist()[:10]}."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def gaussian_parameters(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    whole_mean: float,
    whole_variance: float,
    var_smoothing: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance per class, never degenerate.

    The variance grows by a share of the whole column's variance; a class without a value looks
    like the whole column.
    """
    known = ~np.isnan(mean)
    spread = np.where(known, variance, whole_variance) + var_smoothing * whole_variance
    return np.where(known, mean, whole_mean), spread


def missing_evidence(
    present: NDArray[np.float64], totals: NDArray[np.float64], alpha: float, missing: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log probability per class that a numeric value is there, and that it is missing."""
    absent = totals - present
    counts = np.column_stack((absent, present, np.zeros_like(totals)))
    if missing == "skip" or not absent.any():
        return np.zeros(len(totals)), np.zeros(len(totals))
    logs = log_likelihood(counts, alpha, missing)
    return logs[1], logs[0]
