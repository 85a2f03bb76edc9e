"""Drift over time as a drawing: a heat map of columns and periods, or small lines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unnaive.explain.displays import drawing
from unnaive.living.following import DriftOverTime, follow_drift

MOST_COLUMNS = 20
MOST_NAMED = 24  # periods with their names
LEAST_SCALE = (
    0.25  # of the stability index: colours are not finer, so that small changes look small
)


class DriftDisplay:
    """How far each column has moved in each period.

    Parameters
    ----------
    drift : DriftOverTime
        From `follow_drift`.

    Attributes
    ----------
    ax_ : matplotlib Axes or array of Axes
    figure_ : matplotlib Figure
    columns_ : list of str
        The columns that are drawn, those that changed most first.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import DriftDisplay, Timeline
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> display = DriftDisplay.from_timeline(Timeline(100).fit(X, X[:, 0] > 0))
    >>> sorted(display.columns_)
    ['x0', 'x1']
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
            As in `follow_drift`.

        Returns
        -------
        DriftDisplay
        """
        return cls(follow_drift(timeline, **options)).plot(kind=kind, ax=ax)

    def plot(
        self, *, kind: str = "heatmap", max_columns: int = MOST_COLUMNS, ax: Any = None
    ) -> Self:
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
        columns, periods = self.columns_, self.drift.periods
        width = min(2.5 + 0.3 * len(periods), 14.0)
        self.figure_, self.ax_ = drawing.canvas(ax, max(width, 5.0), 1.4 + 0.26 * len(columns))
        index = self.drift.matrix(columns)
        scale = max(LEAST_SCALE, float(np.nanmax(index, initial=0.0)))
        cells = self.ax_.imshow(index, cmap="Blues", vmin=0.0, vmax=scale, aspect="auto")
        for i, k in np.argwhere(self.drift.matrix(columns, "drifted") > 0):
            drawing.write(self.ax_, k, i, "•", ha="center", color=drawing.AGAINST)
        drawing.name_ticks(
            self.ax_.yaxis, range(len(columns)), [drawing.plain(name, 24) for name in columns]
        )
        self._name_periods(self.ax_)
        drawing.bare(self.ax_)
        self.figure_.colorbar(cells, ax=self.ax_, label="stability index")
        drawing.title(self.ax_, "Drift of columns over time", "a dot: drifted")

    def _draw_lines(self) -> None:
        n = len(self.columns_)
        across = min(4, n)
        down = -(-n // across)
        self.figure_, axes = drawing.pyplot().subplots(
            down, across, figsize=(3.0 * across, 1.0 + 1.6 * down), sharex=True, sharey=True,
            squeeze=False, layout="constrained",
        )  # fmt: skip
        self.ax_ = axes
        x = range(len(self.drift.periods))
        lines = (("index", drawing.FOR), ("evidence_loss", drawing.AGAINST))
        for ax, name in zip(axes.flat, self.columns_, strict=False):
            for fact, colour in lines:
                label = fact.replace("_", " ")
                ax.plot(
                    x, self.drift.matrix([name], fact)[0], color=colour, marker=".", label=label
                )
            drawing.title(ax, drawing.plain(name, 30))
            self._name_periods(ax)
        for ax in axes.flat[n:]:
            ax.set_axis_off()
        axes.flat[0].legend(fontsize=drawing.SMALL)

    def _name_periods(self, ax: Any) -> None:
        periods = self.drift.periods
        places = np.arange(0, len(periods), -(-len(periods) // MOST_NAMED))
        names = [drawing.plain(periods[k], 14) for k in places]
        drawing.name_ticks(ax.xaxis, places, names, rotation=90)
