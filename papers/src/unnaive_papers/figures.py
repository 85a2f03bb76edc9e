"""Figures as SVG, by matplotlib; what they show are tables of numbers."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from unnaive_papers.statistics import Ranking

COLOURS = ("#1b6ca8", "#c8553d", "#3f8f5b", "#7a5195", "#b08900", "#5f6b73")
MARKERS = ("o", "s", "^", "D", "v", "P")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "unnaive",
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _svg(figure: Any) -> str:
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def styled(draw: Any) -> Any:
    """A function that draws, under one style."""

    def drawn(*args: Any, **kwargs: Any) -> str:
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return str(draw(*args, **kwargs))

    drawn.__doc__ = draw.__doc__
    return drawn


@styled
def curves(panels: Mapping[str, Mapping[str, tuple[Any, Any, Any, Any]]], x: str, y: str) -> str:
    """Small multiples: panel -> line -> (x, y, low, high)."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = _figure(3.1 * columns, 2.4 * rows + 0.35, rows, columns)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    for axis, (title, lines) in zip(axes.flat, panels.items(), strict=False):
        for name, (at, middle, low, high) in lines.items():
            k = names.index(name) % len(COLOURS)
            error = np.abs(np.array([np.subtract(middle, low), np.subtract(high, middle)]))
            axis.errorbar(
                at, middle, yerr=error, color=COLOURS[k], marker=MARKERS[k], markersize=2.6,
                linewidth=1.1, elinewidth=0.7, label=name,
            )  # fmt: skip
        axis.set_title(title)
        axis.grid(color="#e4e4e4", linewidth=0.6)
        axis.ticklabel_format(axis="x", style="plain", useOffset=False)
        axis.locator_params(axis="x", nbins=4)
    for axis in axes[-1]:
        axis.set_xlabel(x)
    for axis in axes[:, 0]:
        axis.set_ylabel(y)
    known: dict[str, Any] = {}
    for axis in axes.flat:
        known |= {
            label: mark for mark, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
    marks = [known[name] for name in names]
    figure.legend(marks, names, loc="outside upper center", ncols=len(names), frameon=False)
    return _svg(figure)


@styled
def lines_over_sets(
    names: Sequence[str], lines: Mapping[str, Sequence[float]], y: str, level: float | None = 0.0
) -> str:
    """One point per set and line, sets along the x axis."""
    figure, axes = _figure(max(5.0, 0.28 * len(names) + 1.2), 3.4)
    axis = axes[0, 0]
    if level is not None:
        axis.axhline(level, color="#555555", linewidth=0.8)
    for k, (name, values) in enumerate(lines.items()):
        axis.plot(
            range(len(names)), values, color=COLOURS[k], marker=MARKERS[k], markersize=3.5,
            linewidth=1, label=name,
        )  # fmt: skip
    axis.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axis.set_ylabel(y)
    axis.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    return _svg(figure)


@styled
def scatter(groups: Mapping[str, tuple[Any, Any]], x: str, y: str, notes: Any = ()) -> str:
    """Points of several groups; notes are (x, y, text)."""
    figure, axes = _figure(5.4, 3.6)
    axis = axes[0, 0]
    axis.axhline(0, color="#555555", linewidth=0.8)
    for k, (name, (a, b)) in enumerate(groups.items()):
        axis.plot(a, b, MARKERS[k], color=COLOURS[k], markersize=4.5, label=name)
    for a, b, text in notes:
        axis.annotate(text, (a, b), xytext=(4, 3), textcoords="offset points", fontsize=7)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(color="#e4e4e4", linewidth=0.6)
    axis.legend(frameon=False)
    return _svg(figure)


@styled
def histogram(groups: Mapping[str, Sequence[float]], edges: Sequence[float], x: str, y: str) -> str:
    """Counts of values between edges, groups side by side."""
    figure, axes = _figure(5.4, 3.2)
    axis, width = axes[0, 0], 0.8 / len(groups)
    for k, (name, values) in enumerate(groups.items()):
        counts, _ = np.histogram(values, edges)
        at = np.arange(len(counts)) + (k - (len(groups) - 1) / 2) * width
        axis.bar(at, counts, width, color=COLOURS[k], label=name)
    labels = [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
    axis.set_xticks(range(len(labels)), labels)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.legend(frameon=False)
    return _svg(figure)


@styled
def powers(panels: Mapping[str, Mapping[str, tuple[Any, Any]]], y: str, power: int = 1) -> str:
    """Log-log panels: x name -> line -> (x, y), each beside a dotted line of this power."""
    figure, axes = _figure(3.2 * len(panels) + 0.6, 3.0, 1, len(panels))
    for axis, (x, lines) in zip(axes.flat, panels.items(), strict=True):
        for k, (name, (a, b)) in enumerate(lines.items()):
            axis.loglog(a, b, marker=MARKERS[k], color=COLOURS[k], markersize=4, label=name)
            guide = b[-1] * (np.asarray(a, float) / a[-1]) ** power
            axis.loglog(a, guide, ":", color=COLOURS[k], linewidth=0.8)
        ticks = sorted({value for a, _ in lines.values() for value in a})
        axis.set_xticks(ticks, [_short(value) for value in ticks])
        axis.minorticks_off()
        axis.set_xlabel(x)
        axis.grid(color="#e4e4e4", linewidth=0.6)
        axis.legend(frameon=False)
    axes[0, 0].set_ylabel(y)
    return _svg(figure)


def _short(value: float) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e4 else (
        f"{value:g}"
    )  # fmt: skip


@styled
def evidence(tables: Mapping[str, tuple[Sequence[str], Any]], classes: Sequence[str]) -> str:
    """Bars of evidence per attribute: attribute -> (values, evidence by value and class)."""
    figure, axes = _figure(9.4, 2.2 * -(-len(tables) // 2) + 0.4, -(-len(tables) // 2), 2)
    for axis in axes.flat[len(tables) :]:
        axis.axis("off")
    for axis, (name, (values, weights)) in zip(axes.flat, tables.items(), strict=False):
        width = 0.8 / len(classes)
        for k, label in enumerate(classes):
            at = np.arange(len(values)) + (k - (len(classes) - 1) / 2) * width
            axis.bar(at, np.asarray(weights)[:, k], width, color=COLOURS[k], label=label)
        axis.set_xticks(range(len(values)), values)
        axis.set_title(name)
        axis.axhline(0, color="#555555", linewidth=0.8)
    for axis in axes[:, 0]:
        axis.set_ylabel("evidence (nats)")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(classes), frameon=False)
    return _svg(figure)


@styled
def critical_differences(ranking: Ranking) -> str:
    """Average ranks on a line; bars join methods that cannot be told apart."""
    n = len(ranking.methods)
    half = -(-n // 2)
    figure, axes = _figure(8.6, 0.75 + 0.24 * half + 0.14 * len(ranking.groups))
    axis = axes[0, 0]
    low, high = int(np.floor(ranking.ranks.min())), int(np.ceil(ranking.ranks.max()))
    for tick in range(low, high + 1):
        axis.plot([tick, tick], [0, 0.25], color="black", linewidth=0.9)
        axis.text(tick, 0.4, str(tick), ha="center", va="bottom")
    axis.plot([low, high], [0, 0], color="black", linewidth=1)
    start = -0.35 - 0.42 * len(ranking.groups)
    margin = 0.04 * (high - low)
    for k, (name, rank) in enumerate(zip(ranking.methods, ranking.ranks, strict=True)):
        left = k < half
        depth = start - 0.75 * (k if left else n - 1 - k) - 0.4
        edge = low - margin if left else high + margin
        axis.plot([rank, rank, edge], [0, depth, depth], color="#666666", linewidth=0.8)
        axis.text(
            edge, depth, f"{name} {rank:.2f} " if left else f" {rank:.2f} {name}",
            ha="right" if left else "left", va="center",
        )  # fmt: skip
    for k, (first, last) in enumerate(ranking.groups):
        at = -0.3 - 0.42 * k
        axis.plot(
            [ranking.ranks[first] - 0.03, ranking.ranks[last] + 0.03], [at, at],
            color="black", linewidth=3, solid_capstyle="butt",
        )  # fmt: skip
    reach = (high - low) * 0.42
    axis.set_xlim(low - reach, high + reach)
    axis.axis("off")
    return _svg(figure)
