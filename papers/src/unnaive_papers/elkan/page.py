"""Elkan's statements with the measurements beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive_papers import figures
from unnaive_papers.growth import growth_blocks
from unnaive_papers.measures import by_set
from unnaive_papers.pages import Block, Picture, Table, as_rows, number
from unnaive_papers.statistics import mean_estimate
from unnaive_papers.study import Study

WHAT = {
    "rows": "examples e",
    "attributes": "attributes f",
    "values": "values v",
    "rounds": "rounds T",
}


def show(_: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its parts."""
    blocks: list[Block] = []
    for part, figure, unit, title in (
        ("time", "time", "seconds", "Time to learn"),
        ("trees", "time", "seconds", "Time of a tree without pruning"),
        ("memory", "bytes", "bytes", "Memory"),
    ):
        if len(rows := records(part)):
            blocks += growth_blocks(rows, figure, unit, title, WHAT)
    makers: dict[str, Callable[[Any], list[Block]]] = {
        "identity": _identity,
        "midpoints": _midpoints,
        "rounds": _rounds,
        "accuracy": _accuracy,
        "workers": _workers,
    }
    for part, make in makers.items():
        if len(rows := records(part)):
            blocks += make(rows)
    return blocks


def _identity(rows: Any) -> list[Block]:
    texts = [
        [r["set"], f"{r['rows']:,}", str(r["weights"]), f"{r['gap']:.1e}"]
        for _, r in rows.iterrows()
    ]
    columns = ["set", "rows", "weights", "largest difference of probabilities"]
    note = (
        "Equation 2: the weight of a value is the log ratio of its two frequencies, counted here "
        "without the library; probabilities are 1 / (1 + exp(-sum of weights))."
    )
    return [Table("Naive Bayes is logistic regression with indicators", columns, texts, note)]


def _midpoints(rows: Any) -> list[Block]:
    row = rows.iloc[0]
    texts = [
        [r["set"], str(bins), number(gap, 4)]
        for _, r in rows.iterrows()
        for bins, gap in zip(r["size"], r["gap"], strict=True)
    ]
    return [
        Picture(
            "Linear terms as constants over intervals",
            figures.powers(
                {"intervals M": {row["set"]: (row["size"], row["gap"])}}, "difference", -1
            ),
            "Mean difference of log-odds by number of intervals, falling as 1 / M.",
            "The constant of an interval is the coefficient times its midpoint; the paper's "
            "formula divides where it should multiply. Dotted: 1 / M.",
        ),
        Table("The same in numbers", ["set", "intervals", "mean difference of log-odds"], texts),
    ]


def _rounds(rows: Any) -> list[Block]:
    panels = {}
    for name, own in rows.groupby("set"):
        points = np.array(own["accuracies"].tolist())
        at = [mean_estimate(points[:, k], "seeds") for k in range(points.shape[1])]
        line = (
            own["rounds"].iloc[0],
            *([getattr(e, f) for e in at] for f in ("value", "low", "high")),
        )
        panels[str(name)] = {"boosted NB": line}
    return [
        Picture(
            "Rounds of boosting", figures.curves(panels, "rounds", "% right"),
            "Accuracy by rounds of boosting with error bars, one panel per data set.",
            "One third held out, mean over seeds with 95 % intervals. The paper prints no figures.",
        )
    ]  # fmt: skip


def _accuracy(rows: Any) -> list[Block]:
    wide = by_set(rows)
    texts = as_rows(wide, 2, {f"mean of {len(wide)}": wide.mean()})
    return [Table("Accuracy, ten folds", ["set", *wide.columns], texts, "", 1)]


def _workers(rows: Any) -> list[Block]:
    blocks: list[Block] = []
    for _, row in rows.iterrows():
        if row["method"] != "simulated":
            note = (
                "Each worker has its own rows; counts travel to one process and are added. "
                "Processor time, of two workers that of the slower one and of adding."
            )
            cells = [number(row["one"], 3), number(row["two"], 3), f"{row['speed_up']:.2f}"]
            blocks.append(
                Table("Two workers, measured", ["", "one process, s", "two, s", "speed-up"],
                      [["two parts of rows", *cells]], note)
            )  # fmt: skip
            continue
        total = [c + s for c, s in zip(row["count"], row["sums"], strict=True)]
        texts = [
            [f"{p:,}", number(1000 * c, 2), number(1000 * s, 2), number(1000 * t, 2),
             "yes" if equal else "no"]
            for p, c, s, t, equal in zip(
                row["workers"], row["count"], row["sums"], total, row["equal"], strict=True
            )
        ]  # fmt: skip
        blocks.append(
            Table(
                "Tree reduction, simulated",
                ["workers", "counting, ms", "sums on log2(P) levels, ms", "both, ms", "equal"],
                texts,
                "Every part is counted and every sum made, one after the other; the time of P "
                "workers is that of their slowest part (95th percentile) and of one sum on each "
                "level. Equal: bit for bit the model of all rows.",
            )
        )
    return blocks
