"""A bar of evidence for every value of every attribute, after Kohavi's figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.evidence import CERTAIN
from unnaive.explain.displays import drawing
from unnaive.explain.displays.choice import choose, lines
from unnaive.explain.model import PartEvidence, evidence_of, find_label

MOST_BARS = 6  # labels that get a bar each; more are drawn as colours of cells
MOST_IN_ALL = 150  # bars of all values and labels
WHISKER = 1.5  # times the longest bar: longer whiskers are cut
UNSURE = 0.3  # opacity of evidence whose interval holds zero


class EvidenceDisplay:
    """Evidence of each value of each attribute for and against the classes.

    A bar is the weight of evidence log P(value | class) - log P(value | other classes), its whisker
    the credible interval: few rows make long whiskers. With more than six classes, or too many
    bars, cells are coloured instead, and those whose interval holds zero are pale.

    Parameters
    ----------
    facts : PartEvidence
        From `evidence_of`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    rows_ : list
        The lines that are drawn, from the top.
    bars_ : list of matplotlib BarContainer
        The bars of each label drawn; empty where cells are coloured.
    cells_ : matplotlib artist or None
        The coloured cells.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import EvidenceDisplay, NaiveBayesClassifier
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
    >>> display = EvidenceDisplay.from_estimator(model)
    >>> display.figure_.savefig("evidence.svg")  # doctest: +SKIP
    """

    def __init__(self, facts: PartEvidence) -> None:
        self.facts = facts

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, part: int | str | None = None, level: float = 0.95, **options: Any
    ) -> Self:
        """Draw the evidence of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
        part : int, str or None, default=None
            Which naive Bayes of the model; see `evidence_of`.
        level : float, default=0.95
            Probability of the credible intervals.
        **options :
            As in `plot`.

        Returns
        -------
        EvidenceDisplay
        """
        return cls(evidence_of(estimator, part, level=level)).plot(**options)

    def plot(
        self,
        *,
        label: Any = None,
        attributes: Sequence[str] | None = None,
        max_attributes: int = 8,
        max_values: int = 8,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        label : Any, default=None
            One class to draw bars for; by default all, and of two the second.
        attributes : sequence of str or None, default=None
            Which to draw, in this order; by default the most important first.
        max_attributes, max_values : int, default=8
            Most attributes, and most values of each, that are drawn.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        EvidenceDisplay
        """
        facts = self.facts
        chosen = choose(facts, attributes, max_attributes)
        self.rows_ = [row for attribute in chosen for row in lines(attribute, max_values)]
        drawn = self._labels(label)
        bars = len(drawn) <= MOST_BARS and len(drawn) * len(self.rows_) <= MOST_IN_ALL
        height = 0.125 * len(drawn) + 0.09 if bars else 0.19
        width = 7.5 if bars else 3.8 + 0.24 * len(drawn)
        spread = sum(1.0 if row.value is None else height / 0.215 for row in self.rows_)
        self.figure_, self.ax_ = drawing.canvas(ax, max(width, 6.0), 1.1 + 0.215 * spread)
        self.bars_: list[Any] = []
        self.cells_: Any = None
        places = self._places(height / 0.215)
        if bars:
            self._draw_bars(drawn, places, height / 0.215)
        else:
            self._draw_cells(drawn, places)
        self._name(places)
        shown = len(chosen)
        notes = [] if bars else ["pale: the interval holds zero"]
        if shown < len(facts.attributes):
            order = ", the most important first" if attributes is None else ""
            notes.append(f"{shown} of {len(facts.attributes)} attributes{order}")
        drawing.title(self.ax_, self._title(drawn), "; ".join(notes))
        return self

    def _labels(self, label: Any) -> NDArray[np.intp]:
        n = len(self.facts.labels)
        if label is not None:
            return np.array([find_label(self.facts.labels, label, "label")])
        return np.array([n - 1]) if n <= 2 else np.arange(n)

    def _title(self, drawn: NDArray[np.intp]) -> str:
        facts = self.facts
        where = "" if facts.role == "model" else f" at {facts.part}"
        if facts.role == "summary":
            where = " (mean of the parts that vote)"
        if len(drawn) == 1:
            return f"Evidence for {drawing.plain(facts.names[drawn[0]], 40)}{where}"
        return f"Evidence for each class{where}"

    def _places(self, height: float) -> NDArray[np.float64]:
        """Middle of each line, downwards; a line of an attribute's name is one high."""
        sizes = np.array([1.0 if row.value is None else height for row in self.rows_])
        return np.cumsum(sizes) - sizes / 2

    def _draw_bars(
        self, drawn: NDArray[np.intp], places: NDArray[np.float64], height: float
    ) -> None:
        ax, facts = self.ax_, self.facts
        is_value = np.array([row.value is not None for row in self.rows_])
        y, thick = places[is_value], 0.8 * height / len(drawn)
        numbers = [self._numbers(name, drawn)[is_value] for name in ("weights", "low", "high")]
        sure = np.abs(numbers[0]) <= CERTAIN
        longest = max(np.abs(numbers[0][sure]).max(initial=0.0), drawing.LEAST_SCALE)
        ends = np.abs(np.nan_to_num(np.stack(numbers[1:])[:, sure]))
        limit = longest * float(np.clip(1.03 * ends.max(initial=0.0) / longest, 1.2, WHISKER))
        weights, lows, highs = np.clip(numbers, -limit, limit)
        for k, c in enumerate(drawn):
            at = y + (k - (len(drawn) - 1) / 2) * thick
            shown = weights[:, k]
            if len(drawn) == 1:
                colours = [drawing.FOR if w > 0 else drawing.AGAINST for w in shown]
            else:
                colours = [drawing.colour(int(c))] * len(shown)
            self.bars_.append(ax.barh(at, shown, thick, color=colours, zorder=2))
            low, high = lows[:, k], highs[:, k]
            counted = ~np.isnan(low)
            ax.hlines(at[counted], low[counted], high[counted], color="#444444", lw=0.8, zorder=3)
            for place, w in zip(at[~sure[:, k]], shown[~sure[:, k]], strict=True):
                ax.plot(w, place, marker=">" if w > 0 else "<", color="black", ms=4, zorder=4)
        ax.axvline(0, color="black", lw=0.8, zorder=1)
        ax.set_xlim(-limit, limit)
        ax.set_xlabel("weight of evidence (log odds)", fontsize=drawing.SMALL)
        if len(drawn) > 1:
            drawing.legend(
                ax, [facts.names[c] for c in drawn], [drawing.colour(int(c)) for c in drawn],
                bbox_to_anchor=(1.09, 1.0),
            )  # fmt: skip
        ax.grid(axis="x", color="#dddddd", lw=0.5, zorder=0)
        ax.set_axisbelow(True)

    def _numbers(self, name: str, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        """A field of the evidence on every line, for the labels drawn; NaN on lines of names."""
        nothing = np.full(len(drawn), np.nan)
        return np.array(
            [
                nothing if row.value is None else getattr(row.attribute, name)[row.value, drawn]
                for row in self.rows_
            ]
        )

    def _draw_cells(self, drawn: NDArray[np.intp], places: NDArray[np.float64]) -> None:
        from matplotlib.colors import TwoSlopeNorm

        ax = self.ax_
        table, low, high = (self._numbers(name, drawn) for name in ("weights", "low", "high"))
        unsure = (low <= 0) & (high >= 0)
        sizes = np.abs(table[np.abs(table) <= CERTAIN])
        # A few extreme cells must not make all others pale.
        limit = max(float(np.quantile(sizes, 0.98)) if len(sizes) else 0.0, drawing.LEAST_SCALE)
        edges = np.concatenate(([0.0], (places[1:] + places[:-1]) / 2, [2 * places[-1]]))
        edges[-1] = places[-1] + (places[-1] - edges[-2])
        self.cells_ = ax.pcolormesh(
            np.arange(len(drawn) + 1) - 0.5,
            edges,
            np.ma.masked_invalid(table),
            cmap=drawing.diverging(),
            norm=TwoSlopeNorm(0.0, -limit, limit),
            alpha=np.where(unsure, UNSURE, 1.0),
            edgecolors="white",
            linewidth=0.4,
        )
        names = [drawing.plain(self.facts.names[c], 16) for c in drawn]
        wide = max(map(len, names)) > 2
        ax.xaxis.tick_top()
        how = {"rotation": 90, "va": "bottom"} if wide else {}
        drawing.name_ticks(ax.xaxis, range(len(drawn)), names, **how)
        tall = drawing.size(self.figure_)[1]
        bar = self.figure_.colorbar(
            self.cells_, ax=ax, extend="both", pad=0.1, aspect=18, shrink=min(1.0, 3.5 / tall),
            anchor=(0.0, 1.0),
        )  # fmt: skip
        bar.set_label("weight of evidence (log odds)", fontsize=drawing.SMALL)
        bar.ax.tick_params(labelsize=drawing.SMALL)
        ax.tick_params(axis="x", length=0)

    def _name(self, places: NDArray[np.float64]) -> None:
        """Names on the left, rows on the right."""
        ax = self.ax_
        labels = drawing.name_ticks(ax.yaxis, places, [row.text for row in self.rows_])
        for label, row in zip(labels, self.rows_, strict=True):
            if row.value is None:
                label.set_fontweight("bold")
        top = places[0] - 0.9
        texts = {
            place: drawing.rows_text(float(row.attribute.counts[row.value].sum()))
            for place, row in zip(places, self.rows_, strict=True)
            if row.value is not None
        }
        if any(texts.values()):
            texts[top + 0.5] = "rows"
        side = {"color": drawing.NEUTRAL, "transform": ax.get_yaxis_transform()}
        for place, text in texts.items():
            drawing.write(ax, 1.01, place, text, **side)
        ax.set_ylim(places[-1] + 0.8, top)
        drawing.bare(ax, *(() if self.cells_ is not None else ("bottom",)))
        ax.tick_params(axis="x", labelsize=drawing.SMALL)
