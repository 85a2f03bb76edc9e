"""The scales of a nomogram: points for the values of attributes, and of pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.explain.displays.choice import drawn_values
from unnaive.explain.model import AttributeEvidence, PairEvidence

FREE = 0.8  # points between two names on a line
LETTER = 0.55  # points of half a letter
LONGEST = 24  # letters of a name


@dataclass(frozen=True, slots=True, eq=False)
class NomogramScale:
    """One attribute of a nomogram.

    Attributes
    ----------
    attribute : AttributeEvidence
    values : list of int
        The rows of the attribute that are marked.
    log_odds : array
        What each marked value adds to the log odds.
    points : array
        The same in points: 0 for the least favourable value, 100 for the widest scale's best.
    every : array
        Points of all rows of the attribute, marked or not: missing ones, unseen ones.
    """

    attribute: AttributeEvidence
    values: list[int]
    log_odds: NDArray[np.float64]
    points: NDArray[np.float64]
    every: NDArray[np.float64]

    @property
    def levels(self) -> list[int]:
        """The line below the scale on which the name of each value fits."""
        free: list[float] = []
        levels = [0] * len(self.values)
        for k in np.argsort(self.points, kind="stable"):
            letters = min(len(self.attribute.values[self.values[k]]), LONGEST)
            x, half = float(self.points[k]), LETTER * letters + FREE
            level = next((n for n, end in enumerate(free) if x - half > end), len(free))
            free[level : level + 1] = [x + half]
            levels[k] = level
        return levels


@dataclass(frozen=True, slots=True, eq=False)
class PairScale:
    """A pair of attributes of a nomogram: a table of points.

    Attributes
    ----------
    evidence : PairEvidence
    log_odds, points : arrays of shape (values, values)
    """

    evidence: PairEvidence
    log_odds: NDArray[np.float64]
    points: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NomogramPoints(Facts):
    """The points of every value: what a nomogram draws, to look up and to add.

    Attributes
    ----------
    label, against : str
    scales : tuple of NomogramScale
        Of the attributes, those that are drawn first.
    pairs : tuple of PairScale
    """

    label: str
    against: str
    scales: tuple[NomogramScale, ...]
    pairs: tuple[PairScale, ...]

    def _columns(self) -> Columns:
        tables: list[Columns] = [
            {
                "column": [scale.attribute.name] * len(scale.attribute),
                "value": scale.attribute.values,
                "points": scale.every,
            }
            for scale in self.scales
        ]
        for pair in self.pairs:
            first, second = pair.evidence.values
            both = [f"{a}, {b}" for a in first for b in second]
            name = pair.evidence.name
            tables.append(
                {"column": [name] * len(both), "value": both, "points": pair.points.ravel()}
            )
        return join_columns(tables)

    def _title(self) -> str:
        return f"Points for {self.label} against {self.against}"


def make_scales(
    attributes: Sequence[AttributeEvidence], a: int, b: int, most: int
) -> list[tuple[AttributeEvidence, list[int], NDArray[np.float64]]]:
    """For each attribute its values that are marked, and the log odds of all its rows."""
    return [
        (attribute, drawn_values(attribute, most), possible_odds(attribute.logs, a, b))
        for attribute in attributes
    ]


def possible_odds(logs: NDArray[np.float64], a: int, b: int) -> NDArray[np.float64]:
    """What values add to the log odds of two labels; impossible ones a little more than others."""
    odds = logs[..., a] - logs[..., b]
    possible = np.abs(odds) <= CERTAIN
    edge = 1.0 + float(np.abs(odds[possible]).max(initial=0.0))
    return np.where(possible, odds, np.sign(odds) * edge)
