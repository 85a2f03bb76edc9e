"""The bars that add up to a row's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


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
