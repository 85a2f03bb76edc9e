"""Newton's method for convex losses that are sums over many rows.

A Hessian costs more than a gradient. It is learned on from gradients (the update of Broyden,
Fletcher, Goldfarb and Shanno), and computed anew where that no longer leads on quickly.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate_kernels import solve_positive

STEPS = 100


class Loss(Protocol):
    """A convex loss."""

    def loss(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The loss and its gradient."""

    def hessian(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Hessian."""


def minimize(
    problem: Loss,
    point: NDArray[np.float64],
    least: NDArray[np.float64],
    close: float,
    slow: float,
) -> NDArray[np.float64]:
    """The point of least loss, none of whose numbers is below ``least``, which the start is not.

    A step that does not gain is halved; one that would gain no more than ``close`` is the last. The
    Hessian is computed anew where a step would gain more than a share ``slow`` of the one before.
    """
    loss, gradient = problem.loss(point)
    hessian, is_new, to_gain = problem.hessian(point), True, np.inf
    for _ in range(STEPS):
        step = _step(gradient, hessian, point - least)
        gain = 0.5 * float(gradient @ step)
        if gain > max(slow * to_gain, close) and not is_new:
            hessian, is_new = problem.hessian(point), True
            continue
        to_gain = gain
        while gain > close:
            there = problem.loss(point - step)
            if there[0] <= loss:
                break
            step, gain = 0.5 * step, 0.5 * gain
        point = point - step
        if gain <= close:
            break
        hessian, is_new = _learn(hessian, -step, there[1] - gradient), False
        loss, gradient = there
    return point


def _learn(
    hessian: NDArray[np.float64], step: NDArray[np.float64], change: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A Hessian that explains how a step has changed the gradient."""
    curve = float((change * step).sum())
    # Not by matrix products, whose order of sums depends on threads.
    pushed = (hessian * step).sum(axis=1)
    expected = float((pushed * step).sum())
    if not (curve > 0.0 and expected > 0.0):
        return hessian
    more, less = change[:, None] * change / curve, pushed[:, None] * pushed / expected
    return hessian + (more - less)


def _step(
    gradient: NDArray[np.float64], hessian: NDArray[np.float64], room: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far to go back, such that no number goes farther than it has room."""
    step, held = np.zeros_like(gradient), np.zeros(len(gradient), dtype=bool)
    while True:
        rest = gradient[~held] - hessian[np.ix_(~held, held)] @ step[held]
        solve_positive(hessian[np.ix_(~held, ~held)], rest)
        step[~held] = rest
        beyond = ~held & (step > room)
        if not beyond.any():
            return step
        held |= beyond
        step[held] = room[held]
