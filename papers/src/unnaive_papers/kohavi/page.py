"""Kohavi's tables and figures beside his numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from unnaive_papers import figures
from unnaive_papers.growth import growth_blocks
from unnaive_papers.measures import by_set
from unnaive_papers.pages import Block, Picture, Table, number
from unnaive_papers.statistics import mean_estimate
from unnaive_papers.study import Study

ORDER = ("C4.5", "NB", "NBTree", "NB, default", "NBTree, default")
TREE = "NBTree"
OTHERS = ("C4.5", "NB")

SIZES = {"rows": "instances m", "attributes": "attributes n", "labels": "labels l"}


def show(study: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its parts."""
    blocks: list[Block] = []
    found = records("accuracy")
    if len(found):
        wide = by_set(found)[[m for m in ORDER if m in set(found["method"])]]
        wide = wide.reindex([s for s in study.sets if s in wide.index])
        blocks.append(_accuracies(study, wide))
        if {TREE, *OTHERS} <= set(wide):
            blocks += _differences(wide)
        blocks.append(_nodes(study, found))
    found = records("curves")
    if len(found):
        blocks.append(_curves(study, found))
    if len(found := records("cost")):
        blocks += growth_blocks(found, "time", "seconds", "Time to choose a split", SIZES)
    found = records("evidence")
    if len(found):
        blocks += _evidence(found)
    return blocks


def _accuracies(study: Study, wide: Any) -> Table:
    rows = []
    for name, row in wide.iterrows():
        told = study.sets[str(name)]
        test = f"{told['train']:,} / {told['test']:,}" if "train" in told else "10 folds"
        rows.append([told.get("title", str(name)), test, *(number(v) for v in row)])
    said = study.about["averages"]
    rows.append([f"mean of {len(wide)}", "", *(number(v) for v in wide.mean())])
    rows.append(["the paper's mean of 29", "", *(number(said.get(c, np.nan)) for c in wide)])
    return Table(
        "Accuracy on the data sets of Table 1", ["set", "training / test rows", *wide.columns],
        rows, "Per cent right, mean over seeds. The paper prints the three means only.", 2,
    )  # fmt: skip


def _differences(wide: Any) -> list[Block]:
    gaps = {m: wide[TREE] - wide[m] for m in OTHERS}
    order = (gaps["C4.5"] - gaps["NB"]).sort_values().index
    ratio = {m: (100 - wide[TREE]) / (100 - wide[m]).clip(lower=0.01) for m in OTHERS}
    names = [str(n) for n in order]
    return [
        Picture(
            "Figure 4: accuracy differences",
            figures.lines_over_sets(
                names, {f"{TREE} - {m}": gaps[m][order].to_numpy() for m in OTHERS}, "points"
            ),
            "Lines of NBTree's accuracy minus that of C4.5 and of naive Bayes, set by set.",
            "Above zero NBTree is better. Sets are sorted by the difference of the two lines.",
        ),
        Picture(
            "Figure 5: error ratios",
            figures.lines_over_sets(
                names, {f"{TREE} / {m}": ratio[m][order].to_numpy() for m in OTHERS},
                "ratio of errors", 1.0,
            ),
            "Lines of NBTree's error divided by that of C4.5 and of naive Bayes, set by set.",
            "Below one NBTree is better. An error of zero in the divisor counts as 0.01 %.",
        ),
    ]  # fmt: skip


def _nodes(study: Study, found: Any) -> Table:
    nodes = found.pivot_table("nodes", "set", "method", sort=False)
    said = {n: s["nodes"] for n, s in study.sets.items() if "nodes" in s}
    rows = []
    for name, row in nodes.iterrows():
        paper = said.get(str(name), {})
        cells = []
        for method in ("NBTree", "NBTree, default", "C4.5"):
            own = f" ({paper[method]:,})" if method in paper else ""
            cells.append(number(row.get(method, np.nan), 0) + own)
        rows.append([study.sets[str(name)].get("title", str(name)), *cells])
    columns = ["set", "NBTree (paper)", "NBTree, default", "C4.5 (paper)"]
    return Table("Number of nodes", columns, rows, "Mean over folds and seeds.")


def _curves(study: Study, found: Any) -> Picture:
    panels: dict[str, dict[str, Any]] = {}
    for name in study.parts["curves"].sets:
        rows = found[found["set"] == name]
        if rows.empty:
            continue
        lines = {}
        for method in ("NB", "C4.5", "NBTree"):
            own = rows[rows["method"] == method]
            if own.empty:
                continue
            points = np.array(own["accuracies"].tolist())
            at = [mean_estimate(points[:, k], "seeds") for k in range(points.shape[1])]
            lines[method] = (
                own["sizes"].iloc[0], [e.value for e in at], [e.low for e in at],
                [e.high for e in at],
            )  # fmt: skip
        panels[study.sets[name].get("title", name)] = lines
    part = study.parts["curves"]
    return Picture(
        "Figure 2: learning curves",
        figures.curves(panels, "training rows", "% right"),
        "Learning curves of naive Bayes, C4.5 and NBTree with error bars, one panel per data set.",
        f"{part.options['points']} sizes, {found['seed'].nunique()} run(s) each, tested on all "
        "rows not trained on; bars are 95 % intervals of the mean over runs. NBTree is not in the "
        "paper's figure. The names of the nine sets are not in the paper's text: these are ours.",
    )


def _evidence(found: Any) -> list[Block]:
    record = found[found["method"] == "NB, default"]
    record = (record if len(record) else found).iloc[0]
    tables, rows = {}, []
    for name, own in record["attributes"].items():
        labels = _labels(own["cuts"])
        tables[name] = (labels, np.array(own["weights"]))
        for label, weights in zip(labels, own["weights"], strict=True):
            rows.append([name, label, *(f"{w:+.2f}" for w in weights)])
    return [
        Picture(
            "Figure 1: evidence for iris",
            figures.evidence(tables, record["classes"]),
            "Bars of evidence for the three kinds of iris, by interval of each attribute.",
            "Log P(value | class) - log P(value | other classes), with the library's default "
            "pseudo-count: raw frequencies of zero would have no end.",
        ),
        Table("Evidence for iris, in numbers", ["attribute", "value", *record["classes"]], rows),
    ]


def _labels(cuts: list[float]) -> list[str]:
    if not cuts:
        return ["any"]
    inner = [f"{a:g} to {b:g}" for a, b in pairwise(cuts)]
    return [f"up to {cuts[0]:g}", *inner, f"above {cuts[-1]:g}"]
