"""Wiering's Table 2 beside his numbers, and what he wished for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive_papers import figures
from unnaive_papers.measures import by_set, error_reduction, p_values, significant
from unnaive_papers.pages import Block, Picture, Table, as_rows, number, signed
from unnaive_papers.statistics import sign_of
from unnaive_papers.study import Study

METHODS = ("NB", "1-4 HM", "2-2 HM", "bagging", "boosting")
LEVEL = 0.05


def show(study: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its parts."""
    blocks: list[Block] = []
    found = records("table")
    if len(found) and "NB" in set(found["method"]):
        apart = [name for name, told in study.sets.items() if told.get("apart")]
        blocks += [_table(study, found), _sums(study, found, apart), _picture(found, apart)]
    rows = records("beyond")
    if len(rows):
        blocks += [_beyond(rows, [n for n, t in study.sets.items() if t.get("apart")])]
    if len(rows := records("experts")):
        blocks.append(_experts(study, rows))
    if len(rows := records("training")):
        blocks.append(_training(rows))
    rows = records("loading")
    if len(rows):
        blocks.append(_loading(rows))
    return blocks


def _table(study: Study, found: Any) -> Table:
    methods = [m for m in METHODS if m in set(found["method"])]
    signs = {m: p_values(found, m, "NB", "two samples") for m in methods if m != "NB"}
    paired = {m: p_values(found, m, "NB", "plain") for m in methods if m != "NB"}
    rows = []
    for name in (s for s in study.sets if s in set(found["set"])):
        told = study.sets[name]
        own = found[found["set"] == name]
        cells = []
        for method in methods:
            values = own[own["method"] == method]["accuracy"]
            sign = ""
            if method != "NB" and name in signs[method].index:
                a, b = (
                    sign_of(found.loc[name, "gain"], found.loc[name, "p"])
                    for found in (signs[method], paired[method])
                )
                sign = f" {a} {b}"
            paper = told["paper"][METHODS.index(method)]
            cells.append(f"{values.mean():.1f} ±{values.std(ddof=0):.1f}{sign} ({paper})")
        rows.append([told.get("title", name) + (" †" if told.get("apart") else ""), *cells])
    note = (
        "Per cent right on the other half, ± its deviation over halves; the paper's figure in "
        "brackets. Signs against NB: by the t-test of two samples, which the paper seems to mean, "
        "then by that of pairs, since all methods see the same halves (+ or - below 0.05, doubled "
        "below 0.01). † The paper's 14 classes cannot be rebuilt from its text: rings are cut like "
        "the other numeric targets, and the set is in no mean."
    )
    return Table("Table 2: test results", ["set", *methods], rows, note)


def _sums(study: Study, found: Any, apart: list[str]) -> Table:
    rows = []
    own = found[~found["set"].isin(apart)]
    wide = by_set(own)
    paper = {n: t["paper"] for n, t in study.sets.items() if n in wide.index}
    said = np.array(list(paper.values()))
    for k, method in enumerate(m for m in METHODS if m in wide):
        line = [method, number(wide[method].mean()), number(said[:, k].mean())]
        if method == "NB":
            rows.append([*line, "", "", "", ""])
            continue
        cut = error_reduction(own, method, "NB").value
        theirs = 100 * ((said[:, k] - said[:, 0]) / (100 - said[:, 0])).mean()
        score = [
            ":".join(
                str(int(significant(own, method, "NB", sign, test, LEVEL).value)) for sign in "+-"
            )
            for test in ("two samples", "plain")
        ]
        rows.append([*line, signed(cut), signed(theirs), *score])
    return Table(
        f"Table 2: means over {len(wide)} sets",
        ["method", "mean", "paper's, same sets", "error less than NB's, %", "paper's, same sets",
         "wins:losses", "wins:losses, paired"],
        rows,
    )  # fmt: skip


def _picture(found: Any, apart: list[str]) -> Picture:
    wide = by_set(found[~found["set"].isin(apart)])
    wide = wide.loc[(wide.max(axis=1) - wide["NB"]).sort_values().index]
    lines = {m: (wide[m] - wide["NB"]).tolist() for m in METHODS[1:] if m in wide}
    return Picture(
        "Gains over naive Bayes, set by set",
        figures.lines_over_sets([str(n) for n in wide.index], lines, "points above NB"),
        "Lines of the gain of mixtures, bagging and boosting over naive Bayes, set by set.",
    )


def _beyond(rows: Any, apart: list[str]) -> Table:
    wide = by_set(rows[~rows["set"].isin(apart)])
    methods = list(dict.fromkeys(rows["method"]))
    order = [m for m in ("NB", "1-4 HM", *sorted(methods)) if m in wide]
    wide = wide[list(dict.fromkeys(order))]
    whole = wide.dropna()
    texts = [[str(n), *(number(v, 1) for v in row)] for n, row in wide.iterrows()]
    texts.append([f"mean of {len(whole)}", *(number(v) for v in whole.mean())])
    cuts = ["" if m == "NB" else signed(error_reduction(rows, m, "NB").value) for m in wide.columns]
    texts.append(["error less than NB's, %", *cuts])
    return Table(
        "Larger architectures, boosted mixtures, boosted NBTree", ["set", *wide.columns], texts,
        f"Per cent right over {rows['seed'].nunique()} halves. The paper reports that boosting "
        "mixtures did not change their mean, that larger architectures were sometimes better, and "
        "wishes to compare boosted NBTree and to grow architectures by cross-validation.", 2,
    )  # fmt: skip


def _experts(study: Study, rows: Any) -> Table:
    wide = by_set(rows)
    wide = wide[[m for m in study.parts["experts"].methods if m in wide]]
    return Table(
        "Gates after boosting, and other experts", ["set", *wide.columns],
        as_rows(wide, 1, {f"mean of {len(wide)}": wide.mean()}),
        f"Per cent right over {rows['seed'].nunique()} halves. Gated boosting: a naive Bayes gate "
        "that learns, after the rounds, which of them is the surest of a row's class. Mixtures of "
        "trees (C4.5) and of neighbours (five, with the rows' weights as votes): one gate over "
        "four experts, five sweeps over all rows.", 1,
    )  # fmt: skip


def _training(rows: Any) -> Table:
    wide = by_set(rows)
    return Table(
        "The half that was learned", ["set", *wide.columns],
        as_rows(wide, 1, {f"mean of {len(wide)}": wide.mean()}),
        f"Per cent right on the rows that were learned, mean over {rows['seed'].nunique()} halves.",
        1,
    )  # fmt: skip


def _loading(rows: Any) -> Table:
    texts = [[r["method"], number(r["loaded"], 0), str(r["runs"])] for _, r in rows.iterrows()]
    return Table(
        "Exclusive or and 4-bit parity", ["architecture, problem", "% of seeds loaded", "seeds"],
        texts,
        "Loaded: every row of the problem is answered right after training (exclusive or: 20 "
        "sweeps; parity: 1,000 sweeps with counters that start at 0.01).",
    )  # fmt: skip
