"""Weights of models that are pooled, from what they say of rows that they have not learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from unnaive.bayes.scoring import log_probabilities

LEAST_SUM = -300.0  # of log probabilities without a floor, in fitting weights
DOUBT = 5.0  # rows: how strongly weights are held at equal ones, and intercepts at 0
GRAIN = 2.0**-20  # weights and intercepts are rounded to multiples of it
STEPS = 500  # most of either search
CLOSE = 1e-9  # mean log loss that one more step must gain


class Weights(NamedTuple):
    """Weights of the members, and what is added to the log probabilities of the classes."""

    members: NDArray[np.float64]
    intercept: NDArray[np.float64]


def weigh_logs(
    logs: NDArray[np.float64], groups: NDArray[np.intp], weight: NDArray[np.float64]
) -> Weights:
    """Weights, 0 or more, and intercepts of least log loss of the sum of log probabilities.

    The loss is convex. Weights are held at equal ones that sum to 1 as if by ``DOUBT`` rows.

    Parameters
    ----------
    logs : array of shape (members, rows, classes)
    groups : array of shape (rows,)
        The class of each row.
    weight : array of shape (rows,)
        In units of rows.
    """
    n, n_rows, n_classes = logs.shape
    rows, total = np.arange(n_rows), weight.sum()
    equal = np.full(n, 1.0 / n)

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        members, intercept = given[:n], given[n:]
        z = np.tile(intercept, (n_rows, 1))
        for w, log in zip(members, logs, strict=True):
            z += w * log
        sure = log_probabilities(z)
        error = np.exp(sure)  # probability less truth
        value = -float((weight * sure[rows, groups]).sum())
        error[rows, groups] -= 1.0
        error *= weight[:, None]
        slope = np.array([(error * log).sum() for log in logs])
        slope += 2.0 * DOUBT * (members - equal)
        value += DOUBT * float(((members - equal) ** 2).sum() + (intercept**2).sum())
        back = error.sum(axis=0) + 2.0 * DOUBT * intercept
        return value / total, np.concatenate((slope, back)) / total

    free = n_classes > 1  # one class is certain
    bounds = [(0.0, None)] * n + [(None if free else 0.0, None if free else 0.0)] * n_classes
    start = np.concatenate((equal, np.zeros(n_classes)))
    options = {"maxiter": STEPS, "ftol": CLOSE}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    rounded = np.rint(best / GRAIN) * GRAIN
    return Weights(rounded[:n], rounded[n:])


def weigh_shares(
    logs: NDArray[np.float64], groups: NDArray[np.intp], weight: NDArray[np.float64]
) -> Weights:
    """Weights that sum to 1, of least log loss of the mean of probabilities, by EM.

    Arguments are those of `weigh_logs`; ``DOUBT`` rows are shared equally.
    """
    n, n_rows, n_classes = logs.shape
    said = np.exp(logs[:, np.arange(n_rows), groups])
    members = np.full(n, 1.0 / n)
    for _ in range(STEPS):
        shares = members[:, None] * said
        shares *= weight / shares.sum(axis=0)
        new = shares.sum(axis=1) + DOUBT / n
        new /= new.sum()
        moved = float(np.abs(new - members).max())
        members = new
        if moved < CLOSE:
            break
    return Weights(np.rint(members / GRAIN) * GRAIN, np.zeros(n_classes))


def pooled_loss(
    weights: Weights,
    combine: str,
    logs: NDArray[np.float64],
    groups: NDArray[np.intp],
    weight: NDArray[np.float64],
) -> float:
    """Mean log loss of a pool on rows, given the log probabilities of its members."""
    if combine == "geometric":
        added = np.tensordot(weights.members, logs, 1) + weights.intercept
        sure = log_probabilities(added)
    else:
        shares = weights.members / weights.members.sum()
        sure = np.log(np.tensordot(shares, np.exp(logs), 1))
    return -float((weight * sure[np.arange(len(groups)), groups]).sum() / weight.sum())
