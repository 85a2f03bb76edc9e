"""Helpers of all displays: lazy import of matplotlib, colours, literal text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.common.wording import shortened

# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
FOR, AGAINST, NEUTRAL = "#0072B2", "#D55E00", "#8C8C8C"
DIVERGING = ("#A63603", "#E6A16B", "#F7F7F7", "#7FB2D6", "#084B83")
LEAST_SCALE = 0.1  # log odds: axes are not drawn finer, so that tiny evidence looks tiny
SMALL = 8.0  # points of ordinary text
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")  # Unicode categories without a glyph


def pyplot() -> Any:
    """Return matplotlib.pyplot, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "displays need matplotlib, which is not installed; install it with: "
            "pip install 'unnaive[plot]'."
        ) from error
    return plt


def canvas(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """Return the figure and axes to draw on: those given, or new ones of a fitting size."""
    plt = pyplot()
    if ax is not None:
        return ax.figure, ax
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return figure, ax


def size(drawn: Any) -> tuple[float, float]:
    """Return the size in inches of axes, of a figure, or of a part of a figure."""
    return drawn.bbox.width / drawn.figure.dpi, drawn.bbox.height / drawn.figure.dpi


def colour(k: int) -> str:
    """Return the colour of label number k."""
    return COLOURS[k % len(COLOURS)]


def diverging() -> Any:
    """Return the colours from against (orange) over white to for (blue)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("evidence", list(DIVERGING))


def plain(text: Any, limit: int | None = None) -> str:
    """Return text on one line, without control characters, shortened in the middle."""
    words = " ".join(str(text).split())
    shown = "".join(c for c in words if unicodedata.category(c) not in HIDDEN)
    return shown if limit is None else shortened(shown, limit)


def write(ax: Any, x: float, y: float, text: str, **how: Any) -> Any:
    """Draw text literally: a dollar sign is no formula."""
    return ax.text(x, y, text, parse_math=False, **{"fontsize": SMALL, "va": "center", **how})


def name_ticks(axis: Any, places: Any, names: Sequence[str], **how: Any) -> list[Any]:
    """Draw tick labels literally."""
    axis.set_ticks(places, labels=list(names), **{"fontsize": SMALL, **how})
    labels: list[Any] = axis.get_ticklabels()
    for label in labels:
        label.set_parse_math(False)
    return labels


def title(ax: Any, text: str, note: str = "") -> None:
    """Draw a title, and a smaller note below the drawing."""
    # From left to right as a whole, also where it begins with a name that is not.
    ax.set_title(f"\u200e{text}", loc="left", fontsize=SMALL + 2, parse_math=False)
    if note:
        # Part of the axis label, so that layouts make room for it.
        label = ax.get_xlabel()
        ax.set_xlabel(f"{label}\n{note}" if label else note, fontsize=SMALL, parse_math=False)


def legend(ax: Any, names: Sequence[str], colours: Sequence[str], **where: Any) -> Any:
    """Draw the colours of the labels outside the drawing."""
    from matplotlib.patches import Patch

    patches = [Patch(color=c, label=plain(n, 30)) for n, c in zip(names, colours, strict=True)]
    given = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.5, **where}
    drawn = ax.legend(handles=patches, frameon=False, fontsize=SMALL, **given)
    for text in drawn.get_texts():
        text.set_parse_math(False)
    return drawn


def bare(ax: Any, *kept: str) -> None:
    """Remove the frame but for the sides that are kept."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in kept)
    ax.tick_params(length=0 if "left" not in kept else 3, axis="y")


def rows_text(weight: float) -> str:
    """Return a number of rows in few letters."""
    if np.isnan(weight):
        return ""
    return f"{weight:,.0f}" if weight == round(weight) or weight >= 100 else f"{weight:.3g}"
