"""Weights of models that are pooled, from what they say of rows that they have not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from unnaive.answer.nodes import Node
from unnaive.bayes.scoring import LEAST_LOG, log_probabilities
from unnaive.table.storage import Storage, stretches

LEAST_SUM = -300.0  # of log probabilities without a floor, in fitting weights
DOUBT = 5.0  # rows: how strongly weights are held at equal ones, and intercepts at 0
GRAIN = 2.0**-20  # weights and intercepts are rounded to multiples of it
STEPS = 500  # most of either search
CLOSE = 1e-9  # mean log loss that one more step must gain


class Weights(NamedTuple):
    """Weights of the members, and what is added to the log probabilities of the classes."""

    members: NDArray[np.float64]
    intercept: NDArray[np.float64]


def equal_weights(n: int, n_classes: int) -> Weights:
    """Of n members that count alike."""
    return Weights(np.full(n, 1.0 / n), np.zeros(n_classes))


def take_member_logs(node: Node, p: NDArray[np.float64]) -> None:
    """Probabilities of rows by a member to what a pool adds up for them (IN and OUT)."""
    least = np.exp(LEAST_SUM if node.has_bounded_scores else LEAST_LOG)
    for part in stretches(len(p)):
        p[part] = np.log(np.maximum(p[part], least))


def weigh_logs(
    logs: Sequence[NDArray[np.float64]], groups: NDArray[Any], weight: NDArray[np.float64]
) -> Weights:
    """Weights, 0 or more, and intercepts of least log loss of the sum of log probabilities.

    The loss is convex. Weights are held at equal ones that sum to 1 as if by ``DOUBT`` rows.

    Parameters
    ----------
    logs : arrays of shape (rows, classes)
        One for each member.
    groups : array of shape (rows,)
        The class of each row.
    weight : array of shape (rows,)
        In units of rows.
    """
    n, n_rows, n_classes = len(logs), *logs[0].shape
    equal, zero = equal_weights(n, n_classes)
    total = weight.sum()

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        members, intercept = given[:n], given[n:]
        value = DOUBT * float(((members - equal) ** 2).sum() + (intercept**2).sum())
        slope, back = 2.0 * DOUBT * (members - equal), 2.0 * DOUBT * intercept
        for part in stretches(n_rows):
            w, c = weight[part], groups[part]
            sure = _pooled(Weights(members, intercept), logs, part)
            error = np.exp(sure)  # probability less truth
            rows = np.arange(len(w))
            value -= float((w * sure[rows, c]).sum())
            error[rows, c] -= 1.0
            error *= w[:, None]
            slope += np.array([(error * log[part]).sum() for log in logs])
            back += error.sum(axis=0)
        return value / total, np.concatenate((slope, back)) / total

    free = n_classes > 1  # one class is certain
    bounds = [(0.0, None)] * n + [(None if free else 0.0, None if free else 0.0)] * n_classes
    start = np.concatenate((equal, zero))
    options = {"maxiter": STEPS, "ftol": CLOSE}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    rounded = np.rint(best / GRAIN) * GRAIN
    return Weights(rounded[:n], rounded[n:])


def weigh_shares(
    logs: Sequence[NDArray[np.float64]],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    storage: Storage | None = None,
) -> Weights:
    """Weights that sum to 1, of least log loss of the mean of probabilities, by EM.

    Arguments are those of `weigh_logs`; ``DOUBT`` rows are shared equally.
    """
    n, n_rows, n_classes = len(logs), *logs[0].shape
    right = (storage or Storage()).empty((n, n_rows), np.float64)
    for part in stretches(n_rows):
        rows = np.arange(part.start, part.stop)
        for k, log in enumerate(logs):
            right[k, part] = np.exp(log[rows, groups[part]])
    members, no_shift = equal_weights(n, n_classes)
    for _ in range(STEPS):
        new = np.full(n, DOUBT / n)
        for part in stretches(n_rows):
            shares = members[:, None] * right[:, part]
            shares *= weight[part] / shares.sum(axis=0)
            new += shares.sum(axis=1)
        new /= new.sum()
        moved = float(np.abs(new - members).max())
        members = new
        if moved < CLOSE:
            break
    return Weights(np.rint(members / GRAIN) * GRAIN, no_shift)


def _pooled(
    weights: Weights, logs: Sequence[NDArray[np.float64]], part: slice
) -> NDArray[np.float64]:
    """Log probabilities of a stretch of rows by the weighted sum of members' logs."""
    total = np.tile(weights.intercept, (len(logs[0][part]), 1))
    for w, log in zip(weights.members, logs, strict=True):
        total += w * log[part]
    return log_probabilities(total)


def pooled_logs(
    weights: Weights, combine: str, logs: Sequence[NDArray[np.float64]], part: slice
) -> NDArray[np.float64]:
    """Log probabilities of a stretch of rows by a pool, given those of its members."""
    if combine == "geometric":
        return _pooled(weights, logs, part)
    shares = weights.members / weights.members.sum()
    total = sum(w * np.exp(log[part]) for w, log in zip(shares, logs, strict=True))
    mixed: NDArray[np.float64] = np.log(total)
    return mixed


def pooled_loss(
    weights: Weights,
    combine: str,
    logs: Sequence[NDArray[np.float64]],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
) -> float:
    """Mean log loss of a pool on rows, given the log probabilities of its members."""
    loss = 0.0
    for part in stretches(len(groups)):
        sure = pooled_logs(weights, combine, logs, part)
        loss -= float((weight[part] * sure[np.arange(len(sure)), groups[part]]).sum())
    return loss / float(weight.sum())
