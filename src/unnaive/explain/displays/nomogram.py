"""A nomogram: points for a row's values, whose sum gives the probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.wording import counted
from unnaive.explain.attributes import AttributeEvidence
from unnaive.explain.displays import drawing
from unnaive.explain.displays.choice import choose, drawn_values
from unnaive.explain.evidence import PartEvidence, evidence_of
from unnaive.explain.parts import find_label

PROBABILITIES = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
LEVELS = 3  # lines of names above and below a scale


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
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
    """

    attribute: AttributeEvidence
    values: list[int]
    log_odds: NDArray[np.float64]
    points: NDArray[np.float64]


class NomogramDisplay:
    """Points for every value, adding up to the probability of a class against another.

    Log odds of two classes add up exactly, so what is read from the scales is
    P(label) / (P(label) + P(against)) of the naive Bayes that is drawn. Attributes that are not
    drawn add nothing.

    Parameters
    ----------
    facts : PartEvidence
        From `evidence_of`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scales_ : list of Scale
        The attributes drawn, from the top.
    marks_ : list of matplotlib artists
        The marks of each scale, at its points.
    label_, against_ : str
        The two classes.
    least_ : float
        Log odds of zero points in all.
    per_point_ : float
        Log odds of a point: ``least_ + per_point_ * points`` are the log odds of a row.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, NomogramDisplay
    >>> model = NaiveBayesClassifier().fit([["a"], ["a"], ["b"], ["b"]], ["n", "n", "y", "n"])
    >>> display = NomogramDisplay.from_estimator(model)
    >>> display.scales_[0].points.tolist()
    [0.0, 100.0]
    """

    def __init__(self, facts: PartEvidence) -> None:
        self.facts = facts

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, part: int | str | None = None, **options: Any
    ) -> Self:
        """Draw the nomogram of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
        part : int, str or None, default=None
            Which naive Bayes of the model; see `evidence_of`.
        **options :
            As in `plot`.

        Returns
        -------
        NomogramDisplay
        """
        return cls(evidence_of(estimator, part)).plot(**options)

    def plot(
        self,
        *,
        label: Any = None,
        against: Any = None,
        attributes: Sequence[str] | None = None,
        max_attributes: int = 12,
        max_values: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        label, against : Any, default=None
            The two classes; by default the last of two classes against the first, and of more the
            most frequent against the second most frequent.
        attributes : sequence of str or None, default=None
            Which to draw; by default those with the widest scales, the widest first.
        max_attributes : int, default=12
            Most attributes that are drawn.
        max_values : int, default=10
            Most values of each.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        NomogramDisplay
        """
        facts = self.facts
        a, b = self._pair(label, against)
        self.label_, self.against_ = facts.names[a], facts.names[b]
        chosen = choose(facts, attributes, len(facts.attributes))
        scales = [_log_odds(attribute, a, b, max_values) for attribute in chosen]
        if attributes is None:
            scales.sort(key=lambda pair: -float(np.ptp(pair[2])))
        scales = scales[: max_attributes if attributes is None else None]
        widest = max([drawing.LEAST_SCALE, *(float(np.ptp(odds)) for _, _, odds in scales)])
        self.per_point_ = widest / 100.0
        self.scales_ = [
            Scale(attribute, values, odds, (odds - odds.min()) / self.per_point_)
            for attribute, values, odds in scales
        ]
        prior = float(facts.log_prior[a] - facts.log_prior[b])
        self.least_ = prior + sum(float(scale.log_odds.min()) for scale in self.scales_)
        self._draw(ax)
        return self

    def _pair(self, label: Any, against: Any) -> tuple[int, int]:
        facts = self.facts
        if len(facts.labels) < 2:
            raise ValueError("a nomogram compares two classes; this model has one.")
        order = [int(c) for c in np.argsort(-facts.log_prior, kind="stable")]
        if len(order) == 2:
            order = [1, 0]
        a = order[0] if label is None else find_label(facts.labels, label, "label")
        if against is None:
            b = next(c for c in order if c != a)
        else:
            b = find_label(facts.labels, against, "against")
            if label is None and a == b:
                a = next(c for c in order if c != b)
        if a == b:
            raise ValueError(f"label and against are both {facts.names[a]!r}: give two classes.")
        return a, b

    def _draw(self, ax: Any) -> None:
        levels = [_levels(scale) for scale in self.scales_]
        heights = [0.75 + 0.3 * (max(lines, default=0) + 1) for lines in levels]
        total = sum(heights) + 3.6
        self.figure_, self.ax_ = drawing.canvas(ax, 9.0, 0.9 + 0.36 * total)
        ax = self.ax_
        _ruler(ax, 0.0, np.arange(0, 101, 10), [f"{p}" for p in range(0, 101, 10)], up=True)
        places, names = [0.0], ["points"]
        self.marks_: list[Any] = []
        at = 0.9
        for scale, lines, height in zip(self.scales_, levels, heights, strict=True):
            self._draw_scale(scale, lines, at)
            places.append(at)
            names.append(drawing.plain(scale.attribute.name, 42))
            at += height
        self._draw_sums(at + 0.6)
        places += [at + 0.6, at + 1.7]
        names += ["total points", f"P({drawing.plain(self.label_, 24)})"]
        labels = drawing.name_ticks(ax.yaxis, places, names)
        for label in labels[:1] + labels[-2:]:
            label.set_fontweight("bold")
        ax.set_ylim(at + 2.7, -1.0)
        ax.set_xlim(-4.0, 104.0)
        ax.set_xticks([])
        drawing.bare(ax)
        hidden = sum(attribute.form != "nothing" for attribute in self.facts.attributes) - len(
            self.scales_
        )
        notes = []
        if len(self.facts.labels) > 2:
            notes.append(f"P({drawing.plain(self.label_, 24)}) among the two classes")
        if hidden > 0:
            notes.append(f"{counted(hidden, 'attribute')} with narrower scales left out")
        if self.facts.pairs:
            notes.append(f"{counted(len(self.facts.pairs), 'pair')} of attributes left out")
        where = "" if self.facts.role == "model" else f" at {self.facts.part}"
        drawing.title(
            ax,
            f"{drawing.plain(self.label_, 30)} against {drawing.plain(self.against_, 30)}{where}",
            "; ".join(notes),
        )

    def _draw_scale(self, scale: Scale, levels: list[int], at: float) -> None:
        ax, points = self.ax_, scale.points
        ax.hlines(at, points.min(), points.max(), color="black", lw=0.8)
        counts = np.nan_to_num(scale.attribute.counts[scale.values].sum(axis=1), nan=1.0)
        size = 12.0 + 60.0 * np.sqrt(counts / max(counts.max(), 1e-300))
        colours = [
            "white" if scale.attribute.states[v] == "missing" else drawing.FOR for v in scale.values
        ]
        self.marks_.append(
            ax.scatter(
                points,
                np.full(len(points), at),
                s=size,
                c=colours,
                edgecolors=drawing.FOR,
                zorder=3,
            )
        )
        for x, v, level in zip(points, scale.values, levels, strict=True):
            if level >= 0:
                text = drawing.plain(scale.attribute.values[v], 24)
                y = at + 0.36 + 0.3 * level
                drawing.write(ax, x, y, text, fontsize=drawing.SMALL - 1.5, ha="center")
                if level:
                    ax.vlines(x, at, y - 0.14, color="#bbbbbb", lw=0.5, zorder=1)

    def _draw_sums(self, at: float) -> None:
        """The two lower rulers, which share a scale of their own."""
        ax = self.ax_
        most = sum(float(scale.points.max()) for scale in self.scales_)
        most = max(most, 1e-9)
        step = next(s for s in (10, 20, 25, 50, 100, 200, 500, 1000, 10**9) if most / s <= 12)
        sums = np.arange(0, most + 1e-9, step)
        _ruler(ax, at, 100 * sums / most, [f"{s:.0f}" for s in sums], up=True)
        points = (logit(PROBABILITIES) - self.least_) / self.per_point_
        inside = (points >= 0) & (points <= most)
        where = 100 * points[inside] / most
        names = [f"{p:g}" for p in PROBABILITIES[inside]]
        shown = [k for k in range(len(where)) if k == 0 or where[k] - where[k - 1] > 4.5]
        _ruler(ax, at + 1.1, where[shown], [names[k] for k in shown], up=False)
        ax.hlines(at + 1.1, 0, 100, color="black", lw=0.8)

    def probability(self, points: float) -> float:
        """Probability for a sum of points, as read from the lower rulers.

        Parameters
        ----------
        points : float

        Returns
        -------
        float
        """
        return float(expit(self.least_ + self.per_point_ * points))


def _log_odds(
    attribute: AttributeEvidence, a: int, b: int, most: int
) -> tuple[AttributeEvidence, list[int], NDArray[np.float64]]:
    """What an attribute's values add to the log odds of two labels, impossible ones a lot."""
    odds = attribute.logs[:, a] - attribute.logs[:, b]
    possible = np.abs(odds) <= CERTAIN
    edge = 1.0 + float(np.abs(odds[possible]).max(initial=0.0))
    values = drawn_values(attribute, most)
    return attribute, values, np.where(possible, odds, np.sign(odds) * edge)[values]


def _levels(scale: Scale) -> list[int]:
    """The line on which the name of each value fits; -1 where none does."""
    free = [-np.inf] * LEVELS
    levels = [-1] * len(scale.values)
    for k in np.argsort(scale.points, kind="stable"):
        half = 0.55 * min(len(scale.attribute.values[scale.values[k]]), 24) + 0.8
        x = float(scale.points[k])
        for level in range(LEVELS):
            if x - half > free[level]:
                free[level], levels[k] = x + half, level
                break
    return levels


def _ruler(ax: Any, at: float, places: NDArray[Any], names: Sequence[str], up: bool) -> None:
    ax.hlines(at, 0, 100, color="black", lw=0.8)
    sign = -1.0 if up else 1.0
    ax.vlines(places, at, at + 0.16 * sign, color="black", lw=0.8)
    for x, name in zip(places, names, strict=True):
        drawing.write(ax, x, at + 0.42 * sign, name, fontsize=drawing.SMALL - 1, ha="center")
