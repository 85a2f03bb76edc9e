"""Which attributes and values are drawn where there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.explain.attributes import CERTAIN, AttributeEvidence
from unnaive.explain.displays import ink
from unnaive.explain.evidence import PartEvidence

POINTS = 7  # of a density that are drawn
TAILS = 0.01  # of a distribution that are not


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the drawing: an attribute's name, or one of its values (``value`` is its place)."""

    attribute: AttributeEvidence
    value: int | None
    text: str


def choose(
    facts: PartEvidence, attributes: Sequence[str] | None, most: int
) -> list[AttributeEvidence]:
    """The attributes to draw: those named, or those that say something, the most telling first."""
    if attributes is not None:
        return [facts[name] for name in attributes]
    speaking = [own for own in facts.ranked() if own.form != "nothing"]
    if not speaking:
        raise ValueError(
            f"no attribute says anything at {facts.part!r}, so there is no evidence to draw"
            + ("; a tree of classes is drawn by TreeDisplay." if facts.role == "node" else ".")
        )
    return speaking[:most]


def lines(own: AttributeEvidence, most: int) -> list[Row]:
    """An attribute's name and the values of it that are drawn."""
    kept = drawn_values(own, most)
    found = [Row(own, None, ink.plain(own.name, 45))]
    at = "at " if own.form == "density" else ""
    for v in kept:
        text = ink.plain(own.values[v], 34)
        found.append(Row(own, v, text if own.states[v] == "missing" else at + text))
    hidden = sum(own.states[v] == "value" for v in range(len(own))) - sum(
        own.states[v] == "value" for v in kept
    )
    if hidden and own.form != "density":
        found[0] = Row(
            own, None, f"{ink.plain(own.name, 34)} ({hidden} more value{'s' * (hidden > 1)})"
        )
    return found


def drawn_values(own: AttributeEvidence, most: int) -> list[int]:
    """The rows of an attribute that are drawn, in their order: missing if it occurs, the values
    that matter most, points that cover a density.
    """
    frequent = own.distribution().mean(axis=1)
    values = [v for v, state in enumerate(own.states) if state == "value"]
    if own.form == "density":
        within = np.cumsum(frequent[values]) / max(frequent[values].sum(), 1e-300)
        inside = [v for v, s in zip(values, within, strict=True) if TAILS <= s <= 1 - TAILS]
        inside = inside or values
        picks = np.linspace(0, len(inside) - 1, min(POINTS, most, len(inside))).round()
        values = [inside[int(k)] for k in np.unique(picks)]
    elif len(values) > most:
        worth = frequent * np.minimum(np.abs(own.weights), CERTAIN).max(axis=1)
        values = sorted(sorted(values, key=lambda v: -worth[v])[:most])
    gone = own.states[0] == "missing" and (
        bool(own.logs[0].any()) or float(np.nan_to_num(own.counts[0]).sum()) > 0
    )
    return [0, *values] if gone else values
