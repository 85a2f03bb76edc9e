"""The bars that add up to a row's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


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
    return logs - (_of_others(logs + log_prior) - _of_others(log_prior))


def _of_others(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the sum over all classes but each one, without a difference."""
    before, after = np.full(logs.shape, -np.inf), np.full(logs.shape, -np.inf)
    before[..., 1:] = np.logaddexp.accumulate(logs[..., :-1], axis=-1)
    after[..., :-1] = np.logaddexp.accumulate(logs[..., :0:-1], axis=-1)[..., ::-1]
    return np.logaddexp(before, after)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Why each row scores as it does: a baseline and one bar per attribute and class.

    ``joint`` adds them in the scorer's own order, so it equals ``predict_joint_log_proba`` bit
    for bit.

    Attributes
    ----------
    baseline : array of shape (rows, classes)
        Log probability of the class before any attribute is looked at.
    bars : array of shape (rows, attributes, classes)
        Log P(value | class); 0 for unseen values, and for missing ones unless missing is a value.
    features : list
        Names (or positions) of the attributes.
    classes : array
    """

    PER_ROW: ClassVar = {"baseline": 0, "bars": 0}

    baseline: NDArray[np.float64]
    bars: NDArray[np.float64]
    features: list[Any]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.bars)

    @property
    def joint(self) -> NDArray[np.float64]:
        """Joint log probability: the baseline plus all bars."""
        out = self.baseline.copy()
        for j in range(self.bars.shape[1]):
            out += self.bars[:, j]
        return out

    def __repr__(self) -> str:
        rows, attributes, classes = self.bars.shape
        return f"Evidence of {attributes} attributes for {classes} classes in {rows} rows"


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Why models that answer together answer so: what each of them adds for each class.

    Attributes
    ----------
    votes : array of shape (rows, models, classes)
    classes : array
    """

    PER_ROW: ClassVar = {"votes": 0}

    votes: NDArray[np.float64]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.votes)

    @property
    def total(self) -> NDArray[np.float64]:
        """All votes together, in the order of the models: rows x classes."""
        out = np.zeros((len(self.votes), len(self.classes)))
        for k in range(self.votes.shape[1]):
            out += self.votes[:, k]
        return out

    def __repr__(self) -> str:
        rows, models, classes = self.votes.shape
        return f"Votes of {models} models for {classes} classes in {rows} rows"
