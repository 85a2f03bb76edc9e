"""Wang and Yuan's table and figure beside their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unnaive_papers import figures
from unnaive_papers.measures import by_set
from unnaive_papers.pages import Block, Picture, Table, as_rows, number
from unnaive_papers.study import Study

METHODS = ("C4.5", "NBTree", "Flexible NBTree")
READINGS = (
    "NBTree, default",
    "Flexible NBTree, default",
    "NBTree, cut before",
    "Flexible NBTree, utility",
    "Flexible NBTree, and",
)


def show(study: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its parts."""
    import pandas as pd

    found = records("accuracy")
    if not len(found):
        return []
    if len(more := records("readings")):
        more = more[~more["method"].isin(found["method"])]
        found = pd.concat([found, more], ignore_index=True)
    wide = by_set(found)
    wide = wide.loc[[*(n for n in study.sets if n in wide.index),
                     *(n for n in wide.index if n not in study.sets)]]  # fmt: skip
    blocks: list[Block] = [_table(study, wide, found)]
    if set(METHODS) <= set(wide):
        blocks.append(_figure(study, wide))
    if len(rows := records("intervals")):
        blocks.append(_intervals(rows))
    return [*blocks, _seconds(study, found)]


def _intervals(rows: Any) -> Table:
    texts = [
        [str(r["set"]), str(r["attributes"]), number(r["before"], 1), str(r["most"]),
         number(r["after"], 1), number(r["kept"], 2)]
        for _, r in rows.iterrows()
    ]  # fmt: skip
    columns = [
        "set", "continuous attributes", "intervals, mean", "most", "after MDL, mean",
        "right above the Bayes measure, least",
    ]  # fmt: skip
    note = (
        "Intervals between values at which the most probable class changes, before and after MDL; "
        "and how many points more than the Bayes measure the most frequent class of each interval "
        "is right, at the attribute where that is least."
    )
    return Table("Section 1.2: intervals before and after MDL", columns, texts, note)


def _seconds(study: Study, found: Any) -> Table:
    """The paper prints no times; a reader wants to know what kernels cost."""
    wide = found.pivot_table("cpu", "set", "method", sort=False)
    order = [m for m in study.parts["accuracy"].methods if m in wide]
    texts = as_rows(wide[order], 2, {f"sum of {len(wide)}": wide[order].sum(skipna=False)})
    note = "Processor seconds of one run of all folds, learning and testing, one thread."
    return Table("What it costs", ["set", *order], texts, note, 1)


def _table(study: Study, wide: Any, found: Any) -> Table:
    methods = [m for m in (*METHODS, *READINGS) if m in wide]
    nodes = found.pivot_table("nodes", "set", "method")
    spread = found.groupby(["set", "method"])["folds"].apply(
        lambda f: _deviation(f.tolist())
    )  # over folds, as the paper's ± seems to be
    rows = []
    for name, row in wide.iterrows():
        told = study.sets.get(str(name), {})
        cells = [
            f"{row[m]:.1f} ±{spread[name, m]:.1f} ({nodes.loc[name, m]:.0f})"
            if (name, m) in spread
            else ""
            for m in methods
        ]
        paper = [number(v, 1) for v in told.get("paper", [])] or ["", "", ""]
        kinds = f"{told.get('continuous', '')} + {told.get('discrete', '')}"
        rows.append([told.get("title", str(name)), kinds, *cells, *paper])
    mean = [number(wide[m].mean(skipna=False)) for m in methods]  # of all sets, or none
    said = [told["paper"] for n, told in study.sets.items() if n in wide.index]
    theirs = [number(sum(p[k] for p in said) / len(said)) if said else "" for k in range(3)]
    rows.append([f"mean of {len(wide)}", "", *mean, *theirs])
    columns = ["set", "continuous + discrete", *methods, *(f"paper: {m}" for m in METHODS)]
    note = (
        "Per cent right, ± its deviation over folds, nodes of the trees in brackets. Beside the "
        "paper's settings stand the library's defaults, NBTree on numbers that were cut into "
        "categories before, as the paper describes it, and Flexible NBTree with every attribute "
        'judged by its utility, and with the paper\'s stopping rule read as "both": nodes of more '
        "than 30 rows are then always split. These two take an hour on letter and optical digits."
    )
    gaps = " What is empty was not measured." if wide[methods].isna().any(axis=None) else ""
    return Table("Table 1: accuracies", columns, rows, note + gaps, 1)


def _deviation(folds: list[list[float]]) -> float:
    import numpy as np

    return float(np.std([value for each in folds for value in each]))


def _figure(study: Study, wide: Any) -> Picture:
    def numbers(name: Any) -> int:
        return int(study.sets.get(str(name), {}).get("continuous", 0))

    order = sorted(wide.index, key=numbers)
    labels = [f"{name} ({numbers(name)})" for name in order]
    lines = {
        f"Flexible NBTree - {m}": [float(wide.loc[n, METHODS[2]] - wide.loc[n, m]) for n in order]
        for m in METHODS[1::-1]
    }
    known = [n for n in order if str(n) in study.sets]
    if len(known) == len(order):
        lines["paper: Flexible NBTree - NBTree"] = [
            study.sets[n]["paper"][2] - study.sets[n]["paper"][1] for n in order
        ]
    return Picture(
        "Figure 2: accuracy differences by continuous attributes",
        figures.lines_over_sets(labels, lines, "points"),
        "Lines of Flexible NBTree's accuracy minus that of NBTree and of C4.5, set by set.",
        "Sets are sorted by the number of continuous attributes, in brackets.",
    )
