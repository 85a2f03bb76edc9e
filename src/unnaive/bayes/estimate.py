"""Counts to log probabilities: every smoothing formula of the library lives here."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import kernels


def log_prior(
    totals: NDArray[np.float64], prior_alpha: float, priors: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Log probability of each class before any evidence."""
    shares = totals + prior_alpha if priors is None else priors
    whole = shares.sum()
    logs = [kernels.log_share(n, whole) if n > 0 else kernels.ABSENT for n in shares]
    return np.array(logs)


def given_priors(priors: Any, classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Check the prior probabilities a user gives, by label or in the order of the classes.

    By label they may name classes that have not come yet.
    """
    if priors is None:
        return None
    by_label = isinstance(priors, Mapping)
    try:
        given = np.asarray(list(priors.values()) if by_label else priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"priors must be numbers; got {priors!r:.80}.") from None
    if not by_label and given.shape != classes.shape:
        raise ValueError(
            f"priors has shape {given.shape}, but there are {len(classes)} classes: "
            "give one number for each."
        )
    if (given < 0).any() or not np.isclose(given.sum(), 1.0):
        raise ValueError(f"priors must be 0 or more and sum to 1; they sum to {given.sum():g}.")
    if by_label:
        lacking = [c for c in classes.tolist() if c not in priors]
        if lacking:
            raise ValueError(f"priors has no entry for the class {lacking[0]!r}.")
        return np.array([float(priors[c]) for c in classes.tolist()])
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

    Missing (unless it is a value) and unseen carry no evidence.
    """
    logs = np.zeros(counts.shape[::-1])
    seen_counts = np.ascontiguousarray(counts.T[:-1])  # one layout: the kernel is compiled once
    kernels.fill_all_logs(seen_counts, float(alpha), missing == "value", logs[:-1])
    return logs


def tables_without_one(
    counts: NDArray[np.float64],
    logs: NDArray[np.float64],
    starts: NDArray[np.integer[Any]],
    alpha: float,
    missing: str,
    rows: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """`log_likelihood` of each slot given each class, for a row of that slot and class that was
    not counted: of many attributes at once, their slots one below the other.

    Parameters
    ----------
    counts, logs : arrays of shape (slots of all, classes)
        Rows by slot, and the `log_likelihood` of them.
    starts : array
        Where the slots of each attribute begin: missing, the values, unseen.
    rows : array of shape (slots of all, classes) or None, default=None
        How many rows are behind the counts, if not as many as they say. The one left out has the
        mean weight of its slot.
    """
    behind = counts if rows is None else rows
    is_value = np.ones(len(counts), dtype=np.bool_)
    is_value[starts[1:] - 1] = is_value[-1] = False  # unseen
    is_value[starts] = (counts[starts] > 0.0).any(axis=1) if missing == "value" else False
    n_values = np.add.reduceat(is_value, starts, dtype=np.intp)
    totals, total_rows = (
        np.add.reduceat(np.where(is_value[:, None], table, 0.0), starts)
        for table in (counts, behind)
    )
    whole = totals * _share_left(total_rows) + alpha * n_values[:, None]
    whole, out = np.repeat(whole, n_values, axis=0), logs.copy()
    given = (counts[is_value], behind[is_value], whole, alpha, logs[is_value])
    out[is_value] = _log_shares_left(*given)
    return out


def _log_shares_left(
    table: NDArray[np.float64],
    behind: NDArray[np.float64],
    whole: NDArray[np.float64],
    alpha: float,
    logs: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Logs of what values share of the whole, each without one of the rows behind it; where there
    are none, ``logs``.
    """
    possible = (table > 0.0) & (whole > 0.0)
    share = (table * _share_left(behind) + alpha) / np.where(whole > 0.0, whole, 1.0)
    left_logs = np.log(share, out=np.full(share.shape, kernels.IMPOSSIBLE), where=share > 0.0)
    return np.where(possible, left_logs, logs)


def first_value(counts: NDArray[np.float64], missing: str) -> int:
    """The first slot that is a value: 0, missing, where that is one and occurs."""
    return 0 if missing == "value" and counts[:, 0].any() else 1


def _share_left(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of some rows that is left without one of them."""
    return np.maximum(rows - 1.0, 0.0) / np.maximum(rows, 1.0)


def pooled_log_prior(
    totals: NDArray[np.float64], whole: NDArray[np.float64], less: float = 0.0
) -> NDArray[np.float64]:
    """Log prior of the classes at each node of a tree, with one row more that is of all classes by
    their shares in the whole table: no class is impossible where it merely has not occurred.

    Parameters
    ----------
    totals : array of shape (nodes, classes)
    whole : array of shape (classes,)
    less : float, default=0.0
        Weight of a row left out: taken from its class, and from all rows of the node.
    """
    share = whole / whole.sum()
    n = np.maximum(totals.sum(axis=1, keepdims=True) - less, 0.0)
    shares = (np.maximum(totals - less, 0.0) + share) / (n + 1.0)
    return np.log(shares, out=np.full(shares.shape, kernels.ABSENT), where=shares > 0.0)


def class_factor(
    class_weight: Any, classes: NDArray[Any], totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What ``class_weight`` multiplies each class's rows by, in scikit-learn's meaning."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = totals > 0
        share = totals.sum() / (present.sum() * np.where(present, totals, 1.0))
        return np.where(present, share, 1.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}.")
    for label, weight in class_weight.items():
        if not isinstance(weight, numbers.Real) or not 0 < float(weight) < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be a positive number; got {weight!r}."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def check_class_weight(class_weight: Any, classes: NDArray[Any]) -> None:
    """Refuse weights for classes that do not occur: mostly a slip of the pen."""
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise ValueError(
                f"class_weight names the class {unknown[0]!r}, but the classes are {labels[:10]}."
            )


def missing_evidence(
    present: NDArray[np.float64], absent: NDArray[np.float64], alpha: float, missing: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log probability per class that a numeric value is there, and that it is missing."""
    if missing == "skip" or not absent.any():
        return np.zeros(len(present)), np.zeros(len(present))
    counts = np.column_stack((absent, present, np.zeros_like(present)))
    logs = log_likelihood(counts, alpha, missing)
    return logs[1], logs[0]
