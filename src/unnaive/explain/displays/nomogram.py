"""A nomogram on one page: points of a row's values, whose sum gives a probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.wording import counted
from unnaive.explain.displays import drawing
from unnaive.explain.displays.evidence import choose_columns, drawn_values
from unnaive.explain.model import AttributeEvidence, PartEvidence, evidence_of, find_label

PROBABILITIES = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
STEPS = (10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10**9)  # of the ruler of total points
LABEL_LENGTH = 24


@dataclass(frozen=True, slots=True, eq=False)
class NomogramScale:
    """One column of a nomogram.

    Attributes
    ----------
    attribute : AttributeEvidence
    values : list of int
        The values of the column that are marked.
    log_odds : array
        Contribution of each marked value to the log odds.
    points : array
        The same in points: 0 for the least favourable value, 100 for the widest scale's best.
    """

    attribute: AttributeEvidence
    values: list[int]
    log_odds: NDArray[np.float64]
    points: NDArray[np.float64]

    @property
    def levels(self) -> list[int]:
        """The line below the scale on which each label fits."""
        line_ends: list[float] = []
        levels = [0] * len(self.values)
        for k in np.argsort(self.points, kind="stable"):
            n_letters = min(len(self.attribute.values[self.values[k]]), LABEL_LENGTH)
            # Half a letter is 0.55 points wide, and labels keep 0.8 points apart.
            x, half = float(self.points[k]), 0.55 * n_letters + 0.8
            level = next((n for n, end in enumerate(line_ends) if x - half > end), len(line_ends))
            line_ends[level : level + 1] = [x + half]
            levels[k] = level
        return levels

    @property
    def height(self) -> float:
        return 1.05 + 0.3 * max(self.levels, default=0)


class NomogramDisplay:
    """Points for every value, adding up to the probability of a class against another.

    The log odds of two classes are a sum, so what is read from the scales is
    P(label) / (P(label) + P(against)) of the naive Bayes that is drawn. Columns that are not drawn
    and pairs of columns share one scale; `scorecard` has the points of all of them.

    Parameters
    ----------
    facts : PartEvidence
        From `evidence_of`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scales_ : list of NomogramScale
        The columns drawn, from the top.
    others_ : array of shape (2,)
        Least and most points of all other columns and pairs together.
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
        max_values: int = 12,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        label, against : Any, default=None
            The two classes; by default the last of two classes against the first, and of more the
            most frequent against the second most frequent.
        attributes : sequence of str or None, default=None
            Which to draw; by default the most important.
        max_attributes : int, default=12
            Most columns drawn. The others share one scale.
        max_values : int, default=12
            Most values of each column that are marked.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        NomogramDisplay
        """
        facts = self.facts
        a, b = self._classes(label, against)
        self.label_, self.against_ = facts.names[a], facts.names[b]
        chosen = choose_columns(facts, attributes, max_attributes)
        odds = [_log_odds(one.logs, a, b) for one in chosen]
        marked = [drawn_values(one, max_values) for one in chosen]
        names = {one.name for one in chosen}
        rest = [_log_odds(one.logs, a, b) for one in facts.attributes if one.name not in names]
        rest += [_log_odds(pair.logs, a, b) for pair in facts.pairs]
        ranges = [np.ptp(one[values]) for one, values in zip(odds, marked, strict=True)]
        self.per_point_ = max(drawing.LEAST_SCALE, *map(float, ranges)) / 100.0
        self.scales_ = [
            NomogramScale(one, values, at[values], (at[values] - at.min()) / self.per_point_)
            for one, values, at in zip(chosen, marked, odds, strict=True)
        ]
        if attributes is None:
            self.scales_.sort(key=lambda scale: -float(np.ptp(scale.points)))
        most = sum(float(np.ptp(one)) for one in rest) / self.per_point_
        self.others_ = np.array([0.0, most])
        prior = float(facts.log_prior[a] - facts.log_prior[b])
        self.least_ = prior + sum(float(one.min()) for one in (*odds, *rest))
        self._draw(ax)
        return self

    def probability(self, points: float) -> float:
        """Return the probability for a sum of points, as read from the lower rulers.

        Parameters
        ----------
        points : float

        Returns
        -------
        float
        """
        return float(expit(self.least_ + self.per_point_ * points))

    def _classes(self, label: Any, against: Any) -> tuple[int, int]:
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
        has_others = bool(self.others_[1])
        height = sum(scale.height for scale in self.scales_) + 1.05 * has_others + 3.6
        self.figure_, self.ax_ = drawing.canvas(ax, 9.0, 0.9 + 0.36 * height)
        ax = self.ax_
        self._ruler(0.0, np.arange(0, 101, 10), [f"{p}" for p in range(0, 101, 10)], up=True)
        places, names, at = [0.0], ["points"], 0.9
        self.marks_: list[Any] = []
        for scale in self.scales_:
            self._draw_scale(scale, at)
            places.append(at)
            names.append(drawing.plain(scale.attribute.name, 42))
            at += scale.height
        if has_others:
            ends = [f"{p:.4g}" for p in self.others_]
            self._ruler(at, self.others_, ends, up=False, end=min(100.0, self.others_[1]))
            places.append(at)
            n_others = len(self.facts.attributes) - len(self.scales_), len(self.facts.pairs)
            others = [counted(*each) for each in zip(n_others, ("column", "pair"), strict=True)]
            named = ", ".join(text for text in others if not text.startswith("0 "))
            names.append(f"all others ({named})")
            at += 1.05
        self._draw_sums(at + 0.6)
        bold = [0, len(places), len(places) + 1]
        places += [at + 0.6, at + 1.7]
        names += ["total points", f"P({drawing.plain(self.label_, 24)})"]
        labels = drawing.name_ticks(ax.yaxis, places, names)
        for k in bold:
            labels[k].set_fontweight("bold")
        ax.set_ylim(at + 2.7, -1.0)
        ax.set_xlim(-4.0, 104.0)
        ax.set_xticks([])
        drawing.bare(ax)
        where = "" if self.facts.role == "model" else f" at {self.facts.part}"
        title = f"{drawing.plain(self.label_, 30)} against {drawing.plain(self.against_, 30)}"
        notes = []
        if len(self.facts.labels) > 2:
            notes.append(f"P({drawing.plain(self.label_, 24)}) among the two classes")
        if has_others or any(
            len(s.values) < s.attribute.states.count("value") for s in self.scales_
        ):
            notes.append("scorecard has the points of all values")
        drawing.title(ax, title + where, "; ".join(notes))

    def _draw_scale(self, scale: NomogramScale, at: float) -> None:
        ax, points = self.ax_, scale.points
        ax.hlines(at, points.min(), points.max(), color="black", lw=0.8)
        counts = np.nan_to_num(scale.attribute.counts[scale.values].sum(axis=1), nan=1.0)
        size = 12.0 + 60.0 * np.sqrt(counts / max(counts.max(), 1e-300))
        states = [scale.attribute.states[v] for v in scale.values]
        colours = ["white" if state == "missing" else drawing.FOR for state in states]
        line = np.full(len(points), at)
        marks = ax.scatter(points, line, s=size, c=colours, edgecolors=drawing.FOR, zorder=3)
        self.marks_.append(marks)
        for x, v, level in zip(points, scale.values, scale.levels, strict=True):
            if level:
                ax.vlines(x, at, at + 0.22 + 0.3 * level, color="#bbbbbb", lw=0.5, zorder=1)
            text = drawing.plain(scale.attribute.values[v], LABEL_LENGTH)
            y = at + 0.36 + 0.3 * level
            drawing.write(ax, x, y, text, fontsize=drawing.SMALL - 1.5, ha="center")

    def _draw_sums(self, at: float) -> None:
        """Draw the two lower rulers, which share a scale of their own."""
        most = sum(float(scale.points.max()) for scale in self.scales_) + self.others_[1]
        most = max(most, 1e-9)
        step = next(s for s in STEPS if most / s <= 12)
        sums = np.arange(0, most + 1e-9, step)
        self._ruler(at, 100 * sums / most, [f"{s:.0f}" for s in sums], up=True)
        points = (logit(PROBABILITIES) - self.least_) / self.per_point_
        inside = (points >= 0) & (points <= most)
        where = 100 * points[inside] / most
        names = [f"{p:g}" for p in PROBABILITIES[inside]]
        shown: list[int] = []  # with room for their names
        for k in range(len(where)):
            if not shown or where[k] - where[shown[-1]] > 4.5:
                shown.append(k)
        self._ruler(at + 1.1, where[shown], [names[k] for k in shown], up=False)

    def _ruler(
        self, at: float, places: NDArray[Any], names: Sequence[str], *, up: bool, end: float = 100.0
    ) -> None:
        """Draw a line with marks; what is longer than the upper ruler ends with it."""
        self.ax_.hlines(at, 0.0, end, color="black", lw=0.8)
        places = np.minimum(places, end)
        sign = -1.0 if up else 1.0
        self.ax_.vlines(places, at, at + 0.16 * sign, color="black", lw=0.8)
        for x, name in zip(places, names, strict=True):
            how = {"fontsize": drawing.SMALL - 1, "ha": "center"}
            drawing.write(self.ax_, x, at + 0.42 * sign, name, **how)


def _log_odds(logs: NDArray[np.float64], a: int, b: int) -> NDArray[np.float64]:
    """Return contributions to the log odds, those of impossible values just above the others."""
    odds = logs[..., a] - logs[..., b]
    possible = np.abs(odds) <= CERTAIN
    edge = 1.0 + float(np.abs(odds[possible]).max(initial=0.0))
    return np.where(possible, odds, np.sign(odds) * edge)
