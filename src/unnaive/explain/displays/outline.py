"""Nested groups of rows, drawn as an outline: trees, clusters of classes, gates and experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.explain.classes import TypicalValue
from unnaive.explain.displays import drawing
from unnaive.explain.model import label_names

STACKED = 8  # classes with a colour each; of more, the most frequent is named
INDENT = 0.25  # inches, as all widths here
LETTER = 0.53 * drawing.SMALL / 72.0  # mean width of one
NARROWEST, WIDEST = 1.5, 5.0  # outline
ROWS, GAP, CLASSES, BARS = 0.65, 0.12, 1.4, 1.1  # columns beside it
FEWEST, WORDS = 1.5, 3.9  # and the last one, of values and their evidence


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the columns stand, as shares of the width: the right end of the numbers of rows, then
    the left ends of classes, bars of evidence and its words; and the inches of the whole.
    """

    rows: float
    classes: float
    bars: float
    words: float
    inches: float

    @classmethod
    def of(cls, outline: float, evidence: float, inches: float) -> Columns:
        """Columns with ``evidence`` inches for bars and words of evidence."""
        rows = outline + ROWS
        edges = [rows, rows + GAP, rows + GAP + CLASSES, rows + GAP + CLASSES + BARS]
        scale = 1.0 / (edges[2] + evidence)
        rows, classes, bars, words = (edge * scale for edge in edges)
        return cls(rows, classes, bars, words, inches)

    def letters(self, share: float) -> int:
        """About how many letters fit into a share of the width."""
        return max(6, int(share * self.inches / LETTER))


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One line of an outline: a group of rows.

    Attributes
    ----------
    name : str
    depth, parent : int
        Nesting, and the place of the item above in the list, -1 at the top.
    weight : float
    class_share : array of shape (classes,)
        As long as the bars are drawn, of the whole width.
    remarks : tuple of TypicalValue
        Evidence drawn beside it.
    note : str
        In grey, after the name.
    """

    name: str
    depth: int
    parent: int
    weight: float
    class_share: NDArray[np.float64]
    remarks: tuple[TypicalValue, ...]
    note: str = ""


def _draw_name(
    ax: Any, items: Sequence[Item], k: int, y: float, tops: NDArray[np.float64], columns: Columns
) -> None:
    item, indent = items[k], INDENT / columns.inches
    x = indent * item.depth
    room = columns.letters(columns.rows - ROWS / columns.inches - x)
    spare = max(room // 2, room - len(item.name) - 2)
    note = drawing.plain(item.note, spare) if item.note else ""
    name = drawing.plain(item.name, max(room - len(note) - 2 * bool(note), 6))
    bold = "bold" if item.depth == 0 else "normal"
    shown = drawing.write(ax, x, y, name, fontweight=bold)
    if note:
        ax.annotate(
            f"  {note}", (1.0, 0.5), xycoords=shown, va="center", color=drawing.NEUTRAL,
            fontsize=drawing.SMALL - 1, parse_math=False,
        )  # fmt: skip
    drawing.write(
        ax, columns.rows, y, drawing.rows_text(item.weight), ha="right", color=drawing.NEUTRAL
    )
    if item.parent >= 0:
        above = float(tops[item.parent]) + 0.5
        left = x - 0.75 * indent
        ax.plot([left, left, x - 0.004], [above + 0.45, y, y], color="#999999", lw=0.7)


def _draw_classes(
    ax: Any, item: Item, y: float, classes: Sequence[str], stacked: bool, columns: Columns
) -> list[Any]:
    """How the rows are spread over the classes: stacked, or the most frequent one by name."""
    first, width = columns.classes, 0.93 * (columns.bars - columns.classes)
    if stacked:
        starts = np.cumsum([0.0, *item.class_share[:-1]])
        return [
            ax.barh(y, width * share, 0.7, left=first + width * start, color=drawing.colour(c))[0]
            for c, (share, start) in enumerate(zip(item.class_share, starts, strict=True))
        ]
    best = int(item.class_share.argmax())
    frame = ax.barh(y, width, 0.7, left=first, color="#eeeeee")[0]
    bar = ax.barh(y, width * item.class_share[best], 0.7, left=first, color="#9DC3DE")[0]
    text = f"{drawing.plain(classes[best], 12)} {item.class_share[best]:.0%}"
    drawing.write(ax, first + 0.004, y, text, fontsize=drawing.SMALL - 1)
    return [bar, frame]


def _draw_remarks(
    ax: Any, item: Item, y: float, scale: float, columns: Columns, name_label: bool
) -> list[Any]:
    width = 0.93 * (columns.words - columns.bars)
    bars = []
    for r, remark in enumerate(item.remarks):
        at = y + r
        length = width * min(abs(remark.weight) / scale, 1.0)
        colour = drawing.FOR if remark.weight > 0 else drawing.AGAINST
        bars.append(ax.barh(at, length, 0.55, left=columns.bars, color=colour)[0])
        text = _words(remark, name_label, columns.letters(1.0 - columns.words))
        drawing.write(ax, columns.words, at, text, fontsize=drawing.SMALL - 1)
    return bars


def _words(remark: TypicalValue, name_label: bool, room: int | None = None) -> str:
    """A remark in at most ``room`` letters, or in as many as it needs."""
    weight = f"{remark.weight:+.2f}  "
    label = f" → {drawing.plain(remark.label, 14)}" if name_label else ""
    if room is None:
        return f"{weight}{drawing.plain(remark.attribute)} = {drawing.plain(remark.value)}{label}"
    room -= len(weight) + len(label)
    value = drawing.plain(remark.value, max(room // 2, room - len(remark.attribute) - 3, 8))
    name = drawing.plain(remark.attribute, max(room - len(value) - 3, 8))
    return f"{weight}{name} = {value}{label}"


class Outline:
    """Shared by the displays of nested groups.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    items_ : list
        The lines drawn, from the top.
    class_bars_, evidence_bars_ : list of list of matplotlib Rectangle
        For each line, the bar of classes and the bars of evidence.
    """

    def _show(
        self, items: list[Item], labels: Any, title: str, note: str, ax: Any, *, name_label: bool
    ) -> Self:
        """Draw items from the top, a bar of classes and bars of evidence beside each.

        ``name_label`` tells whether remarks name their label.
        """
        classes = label_names(labels)
        heights = [max(1, len(item.remarks)) for item in items]
        needed = max(INDENT * i.depth + LETTER * (len(i.name) + len(i.note) + 3) for i in items)
        outline = float(np.clip(needed, NARROWEST, WIDEST))
        height = 1.2 + 0.185 * sum(heights) + 0.06 * len(items)
        # Where there is no evidence (C4.5), the title and the legend still need room.
        has_evidence = any(item.remarks for item in items)
        legend = min(len(classes), 4) * (max(map(len, classes)) + 6)
        least = LETTER * max(1.3 * len(title) + len(note) + 3, legend)
        plain = outline + ROWS + GAP + CLASSES
        longest = max((len(_words(r, name_label)) for i in items for r in i.remarks), default=0)
        words = float(np.clip(LETTER * (longest + 1), FEWEST, WORDS)) if has_evidence else 0.0
        evidence = max(BARS * has_evidence + words, min(least - plain, BARS + WORDS), 0.0)
        inches = plain + evidence
        if ax is not None:
            inches = drawing.size(ax)[0]
        self.figure_, ax = drawing.canvas(ax, inches, height)
        self.items_, self.ax_ = items, ax
        columns = Columns.of(outline, evidence, inches)
        stacked = len(classes) <= STACKED
        weights = [abs(remark.weight) for item in items for remark in item.remarks]
        # A few extreme ones must not make all others short.
        scale = float(np.quantile(weights, 0.9)) if weights else 1.0
        tops = np.cumsum([0.0, *(h + 0.35 for h in heights)])
        self.class_bars_: list[list[Any]] = []
        self.evidence_bars_: list[list[Any]] = []
        for k, item in enumerate(items):
            y = float(tops[k]) + 0.5
            _draw_name(ax, items, k, y, tops, columns)
            self.class_bars_.append(_draw_classes(ax, item, y, classes, stacked, columns))
            self.evidence_bars_.append(_draw_remarks(ax, item, y, scale, columns, name_label))
        head = {"color": drawing.NEUTRAL, "fontsize": drawing.SMALL - 1}
        drawing.write(ax, columns.rows, -0.4, "rows", ha="right", **head)
        drawing.write(ax, columns.classes, -0.4, "classes", **head)
        if has_evidence:
            drawing.write(ax, columns.bars, -0.4, "evidence (log odds)", **head)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(float(tops[-1]) + 0.1, -1.0)
        ax.set_xticks([])
        ax.set_yticks([])
        drawing.bare(ax)
        if stacked:
            drawing.legend(
                ax, classes, [drawing.colour(c) for c in range(len(classes))], loc="upper left",
                bbox_to_anchor=(0.0, 0.0), ncols=min(len(classes), 4),
            )  # fmt: skip
        drawing.title(ax, title)
        if note:
            corner = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
            drawing.write(ax, 1.0, 1.0, note, color=drawing.NEUTRAL, **corner)
        return self
