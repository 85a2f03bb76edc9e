"""Drift as a figure over time, and as one HTML page."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unnaive.common.wording import counted
from unnaive.explain.displays import drawing
from unnaive.explain.report.report import render
from unnaive.living.drift import ColumnDrift, Drift, DriftOverTime

MOST_NAMED = 24  # periods with their names
LEAST_SCALE = 0.25  # of the stability index, so that small changes look small
SHOWN = 12  # values of a column on the page


class DriftDisplay:
    """How far each column has moved in each period.

    Parameters
    ----------
    drift : DriftOverTime
        From `Timeline.drift`.

    Attributes
    ----------
    ax_ : matplotlib Axes or array of Axes
    figure_ : matplotlib Figure
    columns_ : list of str
        The columns that are drawn, those that changed most first.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unnaive import DriftDisplay, Timeline
    >>> X = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 2)), columns=["a", "b"])
    >>> timeline = Timeline("batch").fit(X.assign(batch=X.index // 100), X["a"] > 0)
    >>> sorted(DriftDisplay.from_timeline(timeline).columns_)
    ['a', 'b']
    """

    def __init__(self, drift: DriftOverTime) -> None:
        self.drift = drift

    @classmethod
    def from_timeline(
        cls, timeline: Any, *, kind: str = "heatmap", ax: Any = None, **options: Any
    ) -> Self:
        """Compare the periods of a timeline, and draw.

        Parameters
        ----------
        timeline : Timeline
        kind, ax :
            As in :meth:`plot`.
        **options :
            As in `Timeline.drift`.

        Returns
        -------
        DriftDisplay
        """
        return cls(timeline.drift(**options)).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "heatmap", max_columns: int = 20, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        kind : {"heatmap", "lines"}, default="heatmap"
            Colours by stability index, a dot where a column has drifted; or a small drawing for
            each column, with the index and the loss of evidence.
        max_columns : int, default=20
        ax : matplotlib Axes or None, default=None
            For the heat map.

        Returns
        -------
        DriftDisplay
        """
        if kind not in ("heatmap", "lines"):
            raise ValueError(f"kind must be 'heatmap' or 'lines'; got {kind!r}.")
        self.columns_ = self.drift.names[:max_columns]
        if kind == "heatmap":
            self._draw_cells(ax)
        else:
            self._draw_lines()
        return self

    def _draw_cells(self, ax: Any) -> None:
        columns, n = self.columns_, len(self.drift.periods)
        width = min(max(2.5 + 0.3 * n, 5.0), 14.0)
        self.figure_, self.ax_ = drawing.canvas(ax, width, 1.4 + 0.26 * len(columns))
        index = self.drift.matrix(columns)
        scale = max(LEAST_SCALE, float(np.nanmax(index, initial=0.0)))
        cells = self.ax_.imshow(index, cmap="Blues", vmin=0.0, vmax=scale, aspect="auto")
        for i, k in np.argwhere(self.drift.matrix(columns, "drifted") > 0):
            drawing.write(self.ax_, k, i, "•", ha="center", color=drawing.AGAINST)
        names = [drawing.plain(name, 24) for name in columns]
        drawing.name_ticks(self.ax_.yaxis, range(len(columns)), names)
        self._name_periods(self.ax_)
        drawing.bare(self.ax_)
        self.figure_.colorbar(cells, ax=self.ax_, label="stability index")
        drawing.title(self.ax_, "Drift of columns over time", "a dot: drifted")

    def _draw_lines(self) -> None:
        n = len(self.columns_)
        across = min(4, n)
        down = -(-n // across)
        size = {"figsize": (3.0 * across, 1.0 + 1.6 * down), "layout": "constrained"}
        shared = {"sharex": True, "sharey": True, "squeeze": False}
        self.figure_, self.ax_ = drawing.pyplot().subplots(down, across, **shared, **size)
        for ax, name in zip(self.ax_.flat, self.columns_, strict=False):
            for fact, colour in (("index", drawing.FOR), ("evidence_loss", drawing.AGAINST)):
                values = self.drift.matrix([name], fact)[0]
                ax.plot(values, color=colour, marker=".", label=fact.replace("_", " "))
            drawing.title(ax, drawing.plain(name, 30))
            self._name_periods(ax)
        for ax in self.ax_.flat[n:]:
            ax.set_axis_off()
        self.ax_.flat[0].legend(fontsize=drawing.SMALL)

    def _name_periods(self, ax: Any) -> None:
        periods = self.drift.periods
        places = np.arange(0, len(periods), -(-len(periods) // MOST_NAMED))
        names = [drawing.plain(periods[k], 14) for k in places]
        drawing.name_ticks(ax.xaxis, places, names, rotation=90)


def drift_page(drift: Drift, title: str = "") -> str:
    """Return one HTML page: the verdict, base rates, a table of all columns, and their values.

    Parameters
    ----------
    drift : Drift
    title : str, default=""
        What was compared, such as the name of a model.

    Returns
    -------
    str
        HTML without scripts, which asks for nothing on the network.
    """
    panels = [_panel(column) for column in drift.columns]
    contents = {"title": f"Drift: {title}" if title else "Drift", "drift": drift, "panels": panels}
    return render("drift.html.jinja", contents)


def _panel(column: ColumnDrift) -> dict[str, Any]:
    """Return the values of a column that moved most, in their order."""
    sides = zip(column.values, column.before, column.after, strict=True)
    rows = [row for row in sides if row[1] or row[2]]
    moved = sorted(range(len(rows)), key=lambda k: -abs(rows[k][2] - rows[k][1]))[:SHOWN]
    left = len(rows) - len(moved)
    note = counted(left, "more value") if left else ""
    if not rows:
        note = "Its values were not counted."
    if column.missing_before == column.missing_after == 1.0:
        note = "No row has a value."
    most = max((max(row[1:]) for row in rows), default=1.0) or 1.0
    return {
        "name": column.column,
        "rows": [rows[k] for k in sorted(moved)],
        "most": most,
        "note": note,
    }
