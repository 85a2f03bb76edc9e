"""Evidence of columns and of pairs of columns as bars and coloured cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.wording import counted, listed
from unnaive.explain.displays import drawing
from unnaive.explain.model import (
    AttributeEvidence,
    PairEvidence,
    PartEvidence,
    evidence_of,
    find_label,
    read_model,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the drawing: an attribute's name, or one of its values (``value`` is its place)."""

    attribute: AttributeEvidence
    value: int | None
    text: str


def choose_columns(
    facts: PartEvidence, attributes: Sequence[str] | None, most: int
) -> list[AttributeEvidence]:
    """Return the attributes to draw: those named, or the most important with evidence."""
    if attributes is not None:
        return [facts[name] for name in attributes]
    informative = [attribute for attribute in facts.ranked() if attribute.form != "nothing"]
    if not informative:
        raise ValueError(
            f"no attribute has evidence at {facts.part!r}, so there is nothing to draw"
            + ("; TreeDisplay draws a tree of classes." if facts.role == "node" else ".")
        )
    return informative[:most]


def _lines(attribute: AttributeEvidence, most: int) -> list[Row]:
    """Return the lines of an attribute: its name and the values that are drawn."""
    kept = drawn_values(attribute, most)
    head = drawing.plain(attribute.name, 45)
    hidden = attribute.states.count("value") - sum(attribute.states[v] == "value" for v in kept)
    if hidden and attribute.form != "density":
        head = f"{drawing.plain(attribute.name, 34)} ({counted(hidden, 'more value')})"
    rows = [Row(attribute, None, head)]
    prefix = "at " if attribute.form == "density" else ""
    for v in kept:
        text = drawing.plain(attribute.values[v], 34)
        rows.append(Row(attribute, v, text if attribute.states[v] == "missing" else prefix + text))
    return rows


def drawn_values(attribute: AttributeEvidence, most: int) -> list[int]:
    """Return the values of an attribute to draw, in their order: missing if it occurs, the most
    important values, points that cover a density.
    """
    frequent = attribute.distribution().mean(axis=1)
    values = [v for v, state in enumerate(attribute.states) if state == "value"]
    if attribute.form == "density":
        # Seven points cover a density; its outermost percents are not drawn.
        within = np.cumsum(frequent[values]) / max(frequent[values].sum(), 1e-300)
        inside = [v for v, s in zip(values, within, strict=True) if 0.01 <= s <= 0.99]
        inside = inside or values
        picks = np.linspace(0, len(inside) - 1, min(7, most, len(inside))).round()
        values = [inside[int(k)] for k in np.unique(picks)]
    elif len(values) > most:
        worth = frequent * np.minimum(np.abs(attribute.weights), CERTAIN).max(axis=1)
        values = sorted(sorted(values, key=lambda v: -worth[v])[:most])
    missing = attribute.states[0] == "missing" and (
        bool(attribute.logs[0].any()) or float(np.nan_to_num(attribute.counts[0]).sum()) > 0
    )
    return [0, *values] if missing else values


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
        chosen = choose_columns(facts, attributes, max_attributes)
        self.rows_ = [row for attribute in chosen for row in _lines(attribute, max_values)]
        drawn = self._labels(label)
        bars = len(drawn) <= 6 and len(drawn) * len(self.rows_) <= 150  # more would be too thin
        height = 0.125 * len(drawn) + 0.09 if bars else 0.19
        width = 7.5 if bars else 3.8 + 0.24 * len(drawn)
        sizes = np.array([1.0 if row.value is None else height / 0.215 for row in self.rows_])
        self.figure_, self.ax_ = drawing.canvas(ax, max(width, 6.0), 1.1 + 0.215 * sizes.sum())
        self.bars_: list[Any] = []
        self.cells_: Any = None
        places = np.cumsum(sizes) - sizes / 2  # the middle of each line, downwards
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

    def _draw_bars(
        self, drawn: NDArray[np.intp], places: NDArray[np.float64], height: float
    ) -> None:
        ax, facts = self.ax_, self.facts
        is_value = np.array([row.value is not None for row in self.rows_])
        y, thick = places[is_value], 0.8 * height / len(drawn)
        numbers = [self._numbers(name, drawn)[is_value] for name in ("weights", "low", "high")]
        sure = np.abs(numbers[0]) <= CERTAIN
        longest = max(np.abs(numbers[0][sure]).max(initial=0.0), drawing.LEAST_SCALE)
        # Whiskers longer than 1.5 times the longest bar are cut.
        ends = np.abs(np.nan_to_num(np.stack(numbers[1:])[:, sure]))
        limit = longest * float(np.clip(1.03 * ends.max(initial=0.0) / longest, 1.2, 1.5))
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
        """Return a field of the evidence on every line, by label drawn; NaN on lines of names."""
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
            alpha=np.where(unsure, 0.3, 1.0),
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
        """Draw names on the left, rows on the right."""
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


class PairDisplay:
    """Evidence of two attributes together, as colours of cells with the number of rows in each.

    Parameters
    ----------
    evidence : PairEvidence
        From ``evidence_of(model).pairs``.
    counts : array of shape (values, values) or None, default=None
        Rows behind each cell.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    rows_, columns_ : arrays of int
        The values of the first and second attribute that are drawn.
    cells_ : matplotlib artist
        The coloured cells: weight of evidence, from the first value downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import PairDisplay, UnnaiveBayesClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(str)
    >>> model = UnnaiveBayesClassifier(n_bags=2, random_state=0).fit(X, X[:, 0] == X[:, 1])
    >>> display = PairDisplay.from_estimator(model, X)
    >>> display.evidence.name
    'x0 x x1'
    """

    def __init__(self, evidence: PairEvidence, counts: NDArray[np.float64] | None = None) -> None:
        self.evidence, self.counts = evidence, counts

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, pair: int | Sequence[str] = 0, **options: Any
    ) -> Self:
        """Draw a pair of attributes of a fitted classifier.

        Parameters
        ----------
        estimator : fitted UnnaiveBayesClassifier
        X : table of shape (n_samples, n_features) or None, default=None
            Rows to count in every cell: models keep no counts of pairs.
        pair : int or two names, default=0
            Which pair: its number in ``pairs_``, or its attributes.
        **options :
            As in `plot`.

        Returns
        -------
        PairDisplay
        """
        reading = read_model(estimator)
        evidence = _find_pair(evidence_of(reading).pairs, pair)
        if X is None:
            return cls(evidence).plot(**options)
        return cls(evidence, evidence.count(reading.block(X))).plot(**options)

    def plot(self, *, label: Any = None, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        label : Any, default=None
            The class that evidence is for; by default the last.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        PairDisplay
        """
        evidence, slots = self.evidence, self.evidence.shown_slots(self.counts)
        names = np.array(evidence.labels, dtype=object)
        c = len(names) - 1 if label is None else find_label(names, str(label), "label")
        self.rows_, self.columns_ = slots
        weights = evidence.weights[:, :, c][np.ix_(*slots)]
        width, height = 2.6 + 0.42 * weights.shape[1], 1.6 + 0.26 * weights.shape[0]
        self.figure_, ax = drawing.canvas(ax, min(max(width, 5.0), 14.0), min(height, 14.0))
        limit, self.ax_ = max(float(np.abs(weights).max(initial=0.0)), drawing.LEAST_SCALE), ax
        colours = {"cmap": drawing.diverging(), "vmin": -limit, "vmax": limit}
        self.cells_ = ax.imshow(weights, aspect="auto", **colours)
        small = {"fontsize": drawing.SMALL, "parse_math": False}
        ax.set_ylabel(drawing.plain(evidence.columns[0], 40), **small)
        ax.set_xlabel(drawing.plain(evidence.columns[1], 40), **small)
        for axis, values, kept in zip((ax.yaxis, ax.xaxis), evidence.values, slots, strict=True):
            places = np.arange(0, len(kept), -(-len(kept) // 40))  # at most 40 values are named
            words = [drawing.plain(values[kept[k]], 18) for k in places]
            drawing.name_ticks(axis, places, words, rotation=90 if axis is ax.xaxis else 0)
        note = ""
        if self.counts is not None and max(weights.shape) <= 16:  # there is room for text
            note = "numbers are rows"
            for (i, k), n in np.ndenumerate(self.counts[np.ix_(*slots)]):
                colour = "white" if abs(weights[i, k]) > 0.65 * limit else "black"
                how = {"ha": "center", "fontsize": drawing.SMALL - 2, "color": colour}
                drawing.write(ax, k, i, drawing.rows_text(float(n)), **how)
        drawing.bare(ax)
        title = f"Evidence of {drawing.plain(evidence.name, 60)} for {drawing.plain(names[c], 30)}"
        drawing.title(ax, title, note)
        return self


def _find_pair(pairs: Sequence[PairEvidence], pair: int | Sequence[str]) -> PairEvidence:
    """Return a pair by its number or by its two attributes, in any order."""
    if not pairs:
        raise ValueError("the model has no evidence of pairs; UnnaiveBayesClassifier may have.")
    if isinstance(pair, (int, np.integer)):
        if not 0 <= pair < len(pairs):
            raise ValueError(f"pair must be a number from 0 to {len(pairs) - 1}; got {pair!r}.")
        return pairs[int(pair)]
    for candidate in pairs:
        if set(candidate.columns) == {str(name) for name in pair}:
            return candidate
    some = listed((candidate.name for candidate in pairs), 5)
    raise ValueError(f"there is no pair {tuple(pair)!r}; the model has {some}.")
