"""A nomogram: points for a row's values, whose sum gives the probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unnaive.common.wording import counted
from unnaive.explain.displays import drawing
from unnaive.explain.displays.choice import choose
from unnaive.explain.displays.pair import draw_cells, is_written
from unnaive.explain.displays.scales import (
    LONGEST,
    NomogramPoints,
    NomogramScale,
    PairScale,
    make_scales,
    possible_odds,
)
from unnaive.explain.model import AttributeEvidence, PartEvidence, evidence_of, find_label

PROBABILITIES = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
MOST_VALUES = 60  # of an attribute that are marked
PAGE = 34.0  # lines of a page
TABLES = 4  # of pairs on a page


class NomogramDisplay:
    """Points for every value, adding up to the probability of a class against another.

    Log odds of two classes add up exactly, so what is read from the scales is
    P(label) / (P(label) + P(against)) of the naive Bayes that is drawn. All attributes are drawn,
    on as many pages as they need; a pair of attributes is a line, and a table of points beside.

    Parameters
    ----------
    facts : PartEvidence
        From `evidence_of`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The first page.
    pages_ : list of matplotlib Figure
    axes_ : list of matplotlib Axes
        All pages, and their axes; the rulers of the sum are on the last one.
    scales_ : list of NomogramScale
        The attributes drawn, from the top.
    others_ : list of NomogramScale
        Attributes whose points are drawn as one scale.
    pairs_ : list of PairScale
    tables_ : list of matplotlib Figure
        Tables of the points of pairs, four on a page.
    points_ : NomogramPoints
        The points of every value as a table: ``points_.to_frame()``.
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
        max_attributes: int | None = None,
        max_values: int = MOST_VALUES,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        label, against : Any, default=None
            The two classes; by default the last of two classes against the first, and of more the
            most frequent against the second most frequent.
        attributes : sequence of str or None, default=None
            Which to draw; by default all, those with the widest scales first.
        max_attributes : int or None, default=None
            Most attributes that are drawn. What the others add is drawn as one scale.
        max_values : int, default=60
            Most values of each attribute that are marked; ``points_`` has all of them.
        ax : matplotlib Axes or None, default=None
            Where to draw; by default on as many pages as are needed.

        Returns
        -------
        NomogramDisplay
        """
        facts = self.facts
        a, b = self._pair(label, against)
        self.label_, self.against_ = facts.names[a], facts.names[b]
        chosen = choose(facts, attributes, len(facts.attributes))
        drawn = make_scales(chosen, a, b, max_values)
        if attributes is None:
            drawn.sort(key=lambda scale: -float(np.ptp(scale[2][scale[1]])))
        named = {attribute.name for attribute in chosen}
        left_out = [one for one in facts.attributes if one.name not in named and one.logs.any()]
        made = [*drawn, *make_scales(left_out, a, b, max_values)]
        pair_odds = [possible_odds(pair.logs, a, b) for pair in facts.pairs]
        ranges = [float(np.ptp(odds[values])) for _, values, odds in drawn]
        widest = max([drawing.LEAST_SCALE, *ranges, *(float(np.ptp(odds)) for odds in pair_odds)])
        self.per_point_ = widest / 100.0
        scales = [self._scale(*one) for one in made]
        n_drawn = len(drawn) if max_attributes is None else min(max_attributes, len(drawn))
        self.scales_, self.others_ = scales[:n_drawn], scales[n_drawn:]
        self.pairs_ = [
            PairScale(pair, odds, (odds - odds.min()) / self.per_point_)
            for pair, odds in zip(facts.pairs, pair_odds, strict=True)
        ]
        prior = float(facts.log_prior[a] - facts.log_prior[b])
        self.least_ = prior + sum(float(scale.log_odds.min()) for scale in scales)
        self.least_ += sum(float(odds.min()) for odds in pair_odds)
        self.points_ = NomogramPoints(self.label_, self.against_, tuple(scales), tuple(self.pairs_))
        self._draw(ax)
        return self

    def _scale(
        self, attribute: AttributeEvidence, values: list[int], odds: NDArray[np.float64]
    ) -> NomogramScale:
        marked = odds[values]
        every = (odds - marked.min()) / self.per_point_
        return NomogramScale(attribute, values, marked, every[values], every)

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
        """On the axes given, or on pages; the two rulers of the sum stand on the last one."""
        self.marks_: list[Any] = []
        rows = [_Row(drawing.plain(s.attribute.name, 42), s.points, s) for s in self.scales_]
        if self.others_:
            name = f"{counted(len(self.others_), 'other attribute')}, added up"
            rows.append(_Row(name, _ends([scale.points for scale in self.others_]), None))
        rows += [
            _Row(f"{drawing.plain(pair.evidence.name, 34)} (table)", _ends([pair.points]), None)
            for pair in self.pairs_
        ]
        self.pages_: list[Any] = []
        self.axes_: list[Any] = []
        pages = [rows] if ax is not None else list(_pages(rows))
        for k, page in enumerate(pages):
            self._draw_page(page, k + 1, len(pages), ax)
        self.figure_, self.ax_ = self.pages_[0], self.axes_[0]
        batches = range(0, len(self.pairs_), TABLES)
        self.tables_ = [self._draw_tables(self.pairs_[k : k + TABLES]) for k in batches]

    def _draw_page(self, rows: Sequence[_Row], number: int, n_pages: int, ax: Any) -> None:
        last = number == n_pages
        total = sum(row.height for row in rows) + (3.6 if last else 1.2)
        figure, ax = _page(number, ax, 0.9 + 0.36 * total)
        self.pages_.append(figure)
        self.axes_.append(ax)
        _ruler(ax, 0.0, np.arange(0, 101, 10), [f"{p}" for p in range(0, 101, 10)], up=True)
        places, names = [0.0], ["points"]
        at = 0.9
        for row in rows:
            if row.scale is None:
                ends = [f"{p:.4g}" for p in row.points]
                _ruler(ax, at, row.points, ends, up=False, line=row.points)
            else:
                self._draw_scale(ax, row.scale, at)
            places.append(at)
            names.append(row.name)
            at += row.height
        bold = [0]
        if last:
            self._draw_sums(ax, at + 0.6)
            bold += [len(places), len(places) + 1]
            places += [at + 0.6, at + 1.7]
            names += ["total points", f"P({drawing.plain(self.label_, 24)})"]
            at += 2.1
        labels = drawing.name_ticks(ax.yaxis, places, names)
        for k in bold:
            labels[k].set_fontweight("bold")
        ax.set_ylim(at + 0.6, -1.0)
        ax.set_xlim(-4.0, 104.0)
        ax.set_xticks([])
        drawing.bare(ax)
        where = "" if self.facts.role == "model" else f" at {self.facts.part}"
        if n_pages > 1:
            where += f" (page {number} of {n_pages})"
        title = f"{drawing.plain(self.label_, 30)} against {drawing.plain(self.against_, 30)}"
        drawing.title(ax, title + where, "; ".join(self._notes()) if last else "")

    def _notes(self) -> list[str]:
        notes = []
        if len(self.facts.labels) > 2:
            notes.append(f"P({drawing.plain(self.label_, 24)}) among the two classes")
        if any(len(s.values) < s.attribute.states.count("value") for s in self.scales_):
            notes.append("values that are not marked are in points_")
        if self.others_:
            notes.append("points of the other attributes are in points_")
        if self.pairs_:
            notes.append("points of pairs are in tables_")
        return notes

    def _draw_tables(self, pairs: Sequence[PairScale]) -> Any:
        """Tables of the points of some pairs."""
        drawing.pyplot()
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 4.6 * -(-len(pairs) // 2)), layout="constrained")
        for k, pair in enumerate(pairs):
            ax = figure.add_subplot(-(-len(pairs) // 2), min(2, len(pairs)), k + 1)
            slots = pair.evidence.shown_slots()
            odds, points = (table[np.ix_(*slots)] for table in (pair.log_odds, pair.points))
            texts = [[f"{p:.3g}" for p in row] for row in points.tolist()]
            draw_cells(ax, pair.evidence, slots, odds, texts)
            note = "" if is_written(odds) else "colours alone; points are in points_"
            drawing.title(ax, f"points of {drawing.plain(pair.evidence.name, 40)}", note)
        return figure

    def _draw_scale(self, ax: Any, scale: NomogramScale, at: float) -> None:
        points = scale.points
        ax.hlines(at, points.min(), points.max(), color="black", lw=0.8)
        counts = np.nan_to_num(scale.attribute.counts[scale.values].sum(axis=1), nan=1.0)
        size = 12.0 + 60.0 * np.sqrt(counts / max(counts.max(), 1e-300))
        colours = [
            "white" if scale.attribute.states[v] == "missing" else drawing.FOR for v in scale.values
        ]
        line = np.full(len(points), at)
        marks = ax.scatter(points, line, s=size, c=colours, edgecolors=drawing.FOR, zorder=3)
        self.marks_.append(marks)
        levels = np.array(scale.levels)
        low = levels > 0
        ends = at + 0.22 + 0.3 * levels[low]
        ax.vlines(points[low], at, ends, color="#bbbbbb", lw=0.5, zorder=1)
        for x, v, level in zip(points, scale.values, scale.levels, strict=True):
            text = drawing.plain(scale.attribute.values[v], LONGEST)
            y = at + 0.36 + 0.3 * level
            drawing.write(ax, x, y, text, fontsize=drawing.SMALL - 1.5, ha="center")

    def _draw_sums(self, ax: Any, at: float) -> None:
        """The two lower rulers, which share a scale of their own."""
        points = [scale.points for scale in (*self.scales_, *self.others_)]
        points += [pair.points for pair in self.pairs_]
        most = max(float(_ends(points)[1]), 1e-9)
        steps = (10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10**9)
        step = next(s for s in steps if most / s <= 12)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A line of the drawing: an attribute with its scale, or the ends of what is not marked."""

    name: str
    points: NDArray[np.float64]
    scale: NomogramScale | None

    @property
    def height(self) -> float:
        levels = 1 if self.scale is None else max(self.scale.levels, default=0) + 1
        return 0.75 + 0.3 * levels


def _ends(points: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Least and most points that attributes add together."""
    return np.array([sum(p.min() for p in points), sum(p.max() for p in points)])


def _pages(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Lines that fit on a page each."""
    page: list[_Row] = []
    for row in rows:
        if page and sum(one.height for one in page) + row.height > PAGE:
            yield page
            page = []
        page.append(row)
    yield page


def _page(number: int, ax: Any, height: float) -> tuple[Any, Any]:
    """Figure and axes of a page; only the first is one of pyplot's, which holds few open."""
    if number == 1:
        return drawing.canvas(ax, 9.0, height)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, height), layout="constrained")
    return figure, figure.add_subplot()


def _ruler(
    ax: Any,
    at: float,
    places: NDArray[Any],
    names: Sequence[str],
    up: bool,
    line: Any = (0, 100),
) -> None:
    ax.hlines(at, min(line), min(max(line), 100.0), color="black", lw=0.8)
    places = np.minimum(places, 100.0)  # scales that are longer than the ruler end with it
    sign = -1.0 if up else 1.0
    ax.vlines(places, at, at + 0.16 * sign, color="black", lw=0.8)
    for x, name in zip(places, names, strict=True):
        drawing.write(ax, x, at + 0.42 * sign, name, fontsize=drawing.SMALL - 1, ha="center")
