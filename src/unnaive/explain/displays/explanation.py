"""A waterfall: from the prior, bar by bar, to the prediction of a row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.sklearn_private import safe_indexing
from unnaive.explain.displays import drawing
from unnaive.explain.model import read_model
from unnaive.explain.rows import Waterfall, explain_rows, waterfall_of

BEFORE, START = "before any evidence", "at the root"


class ExplanationDisplay:
    """Why a row is predicted as it is: bars from the prior to the answer, the longest first.

    Where one naive Bayes answers for the row, bars are what each attribute adds to the log odds of
    a class against another. Where several parts answer, bars are what each adds to the answer.

    Parameters
    ----------
    waterfall : Waterfall
        From `waterfall_of`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        The start, the bars drawn, and one bar for all others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import ExplanationDisplay, NaiveBayesClassifier
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
    >>> display = ExplanationDisplay.from_estimator(model, data.data, row=70)
    >>> display.waterfall.label, display.waterfall.against
    ('virginica', 'versicolor')
    """

    def __init__(self, waterfall: Waterfall) -> None:
        self.waterfall = waterfall

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        label: Any = None,
        against: Any = None,
        piece: str | None = None,
        **options: Any,
    ) -> Self:
        """Explain a row of a table by a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
        X : table of shape (n_samples, n_features)
        row : int, default=0
            Which row of X.
        label, against, piece :
            As in `waterfall_of`.
        **options :
            As in `plot`.

        Returns
        -------
        ExplanationDisplay
        """
        one = X[row : row + 1] if isinstance(X, list) else safe_indexing(X, [row])
        explanation = explain_rows(read_model(estimator), one)[0]
        return cls(waterfall_of(explanation, label, against, piece)).plot(**options)

    def plot(self, *, max_bars: int = 12, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        max_bars : int, default=12
            Most bars; the others are added up in one.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ExplanationDisplay
        """
        fall = self.waterfall
        kept = min(max_bars, len(fall.bars))
        names = [BEFORE if fall.unit == "log odds" else START]
        sign = " =" if fall.unit == "log odds" else ":"
        pairs = zip(fall.names[:kept], fall.values[:kept], strict=True)
        names += [_name(name, sign, value) for name, value in pairs]
        bars = [fall.start, *fall.bars[:kept]]
        if len(fall.bars) > kept:
            names.append(f"{len(fall.bars) - kept} others")
            bars.append(float(fall.bars[kept:].sum()))
        if fall.unit != "log odds" and fall.start == 0.0:
            names, bars = names[1:], bars[1:]
        self.figure_, self.ax_ = drawing.canvas(ax, 7.5, 1.3 + 0.27 * (len(bars) + 1))
        self._draw(names, np.array(bars, dtype=float))
        return self

    def _draw(self, names: list[str], bars: Any) -> None:
        ax, fall = self.ax_, self.waterfall
        ends = np.cumsum(bars)
        # Impossible values would leave nothing else to see.
        limit = 1.2 * CERTAIN
        left, right = np.clip(ends - bars, -limit, limit), np.clip(ends, -limit, limit)
        at = np.arange(len(bars))
        colours = [drawing.FOR if bar >= 0 else drawing.AGAINST for bar in bars]
        if names[0] in (BEFORE, START):
            colours[0] = drawing.NEUTRAL
        self.bars_ = ax.barh(at, right - left, 0.7, left=left, color=colours, zorder=2)
        ax.vlines(right[:-1], at[:-1] + 0.35, at[1:] - 0.35, color="#888888", lw=0.6)
        total = float(np.clip(fall.total, -limit, limit))
        last = len(bars)
        ax.barh([last], [total], 0.7, color="#333333", zorder=2)
        every = [0.0, *left, *right, total]
        low, high = min(every), max(every)
        reach = max(high - low, drawing.LEAST_SCALE)
        digits = "+z.1%" if fall.unit == "probability" else "+z.2f"
        numbers = [_number(bar, digits) for bar in bars]
        numbers.append(_number(fall.total, digits.replace("+", "") if "%" in digits else digits))
        ends = np.append(np.maximum(left, right), max(total, 0.0)) + 0.015 * reach
        for y, (x, text) in enumerate(zip(ends, numbers, strict=True)):
            drawing.write(ax, x, y, text, fontsize=drawing.SMALL - 1)
        ax.axvline(0, color="black", lw=0.8)
        drawing.name_ticks(ax.yaxis, range(last + 1), [*names, "total"])[-1].set_fontweight("bold")
        ax.set_ylim(last + 0.7, -0.7)
        ax.set_xlim(low - 0.04 * reach, high + 0.14 * reach)
        ax.tick_params(axis="x", labelsize=drawing.SMALL)
        ax.grid(axis="x", color="#dddddd", lw=0.5, zorder=0)
        ax.set_axisbelow(True)
        what = drawing.plain(fall.label, 40)
        rival = f" against {drawing.plain(fall.against, 40)}" if fall.against else ""
        ax.set_xlabel(f"{fall.unit} of {what}{rival}", fontsize=drawing.SMALL, parse_math=False)
        drawing.bare(ax, "bottom")
        where = f", by {fall.title}" if fall.title else ""
        drawing.title(ax, f"P({drawing.plain(fall.answer, 40)}) = {fall.probability:.4g}{where}")


def _name(name: str, sign: str, value: str) -> str:
    if not value:
        return drawing.plain(name, 50)
    return f"{drawing.plain(name, 32)}{sign} {drawing.plain(value, 24)}"


def _number(bar: float, digits: str) -> str:
    if abs(bar) > 10 * CERTAIN:
        return "rules it out" if bar < 0 else "rules the other out"
    return format(bar, digits)
