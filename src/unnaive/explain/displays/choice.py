"""Which attributes and values to draw where there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.bayes.evidence import CERTAIN
from unnaive.common.wording import counted
from unnaive.explain.displays import drawing
from unnaive.explain.model import AttributeEvidence, PartEvidence

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
    """The attributes to draw: those named, or those with evidence, the most important first."""
    if attributes is not None:
        return [facts[name] for name in attributes]
    informative = [attribute for attribute in facts.ranked() if attribute.form != "nothing"]
    if not informative:
        raise ValueError(
            f"no attribute has evidence at {facts.part!r}, so there is nothing to draw"
            + ("; TreeDisplay draws a tree of classes." if facts.role == "node" else ".")
        )
    return informative[:most]


def lines(attribute: AttributeEvidence, most: int) -> list[Row]:
    """The lines of an attribute: its name and the values that are drawn."""
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
    """The values of an attribute to draw, in their order: missing if it occurs, the most important
    values, points that cover a density.
    """
    frequent = attribute.distribution().mean(axis=1)
    values = [v for v, state in enumerate(attribute.states) if state == "value"]
    if attribute.form == "density":
        within = np.cumsum(frequent[values]) / max(frequent[values].sum(), 1e-300)
        inside = [v for v, s in zip(values, within, strict=True) if TAILS <= s <= 1 - TAILS]
        inside = inside or values
        picks = np.linspace(0, len(inside) - 1, min(POINTS, most, len(inside))).round()
        values = [inside[int(k)] for k in np.unique(picks)]
    elif len(values) > most:
        worth = frequent * np.minimum(np.abs(attribute.weights), CERTAIN).max(axis=1)
        values = sorted(sorted(values, key=lambda v: -worth[v])[:most])
    missing = attribute.states[0] == "missing" and (
        bool(attribute.logs[0].any()) or float(np.nan_to_num(attribute.counts[0]).sum()) > 0
    )
    return [0, *values] if missing else values
