"""How the time to fit grows in one size while the others stay, and how that is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unnaive_papers import figures
from unnaive_papers.pages import Block, Picture, Table
from unnaive_papers.statistics import log_slope

TIMES = 3  # the best of so many
Shape = dict[str, int]


def fit_times(
    make: Callable[[Shape], Any],
    rows: Callable[[Shape], tuple[Any, Any]],
    shape: Shape,
    what: str,
    sizes: Sequence[int],
) -> dict[str, Any]:
    """Processor seconds to fit by size: the best of three."""
    took = []
    for size in sizes:
        now = {**shape, what: size}
        X, y = rows(now)
        took.append(min(_seconds(make(now), X, y) for _ in range(TIMES)))
    return {"size": list(sizes), "time": took, "accuracy": 0.0}


def _seconds(model: Any, X: Any, y: Any) -> float:
    start = time.process_time()  # one thread, and other programs may be running
    model.fit(X, y)
    return time.process_time() - start


def growth_blocks(
    records: Any, figure: str, unit: str, title: str, words: Mapping[str, str]
) -> list[Block]:
    """A picture and a table of powers; methods are called "model, size"."""
    panels: dict[str, dict[str, Any]] = {}
    texts = []
    for _, row in records.iterrows():
        name, what = row["method"].split(", ")
        panels.setdefault(words[what], {})[name] = (row["size"], row[figure])
        power = log_slope(row["size"], row[figure])
        texts.append([
            name, words[what], f"{row['size'][0]:,} to {row['size'][-1]:,}",
            f"{row[figure][0]:,.3g} to {row[figure][-1]:,.3g}",
            f"{power.value:.2f} [{power.low:.2f}, {power.high:.2f}]",
        ])  # fmt: skip
    sizes = ", ".join(panels)
    return [
        Picture(
            title, figures.powers(panels, unit), f"{unit} by {sizes}, on logarithmic scales.",
            "Dotted: exactly linear, through the last point.",
        ),
        Table(
            f"{title}: powers", ["model", "in", "from to", unit, "power, 95 % interval"], texts,
            "1 is linear, 0 is constant.",
        ),
    ]  # fmt: skip
