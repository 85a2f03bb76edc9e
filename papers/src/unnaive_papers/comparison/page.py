"""Means, ranks and critical differences over distinct sets."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive_papers import figures
from unnaive_papers.comparison.tuned import INNER
from unnaive_papers.pages import Block, Picture, Table, as_rows, number
from unnaive_papers.sets import known_sets
from unnaive_papers.statistics import Ranking, rank_methods
from unnaive_papers.study import Study

MOST = 0.9  # of all folds: a method that finished fewer is shown with others on its own folds
# Figure, title, whether higher is better, factor, digits.
FIGURES = {
    "accuracy": ("accuracy, %", True, 100, 2),
    "log_loss": ("log loss", False, 1, 4),
    "brier": ("Brier score", False, 1, 4),
    "calibration_error": ("calibration error", False, 1, 4),
}


def show(study: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its parts."""
    return [*_with_defaults(study, records("quality")), *_tuned(study, records("tuned"))]


def _with_defaults(study: Study, found: Any) -> list[Block]:
    if not len(found):
        return []
    distinct = found[~found["set"].map(lambda n: "near_copy_of" in known_sets().get(n, {}))]
    blocks: list[Block] = [_means(study, distinct), *_beside_slow(study, distinct)]
    for figure in ("accuracy", "log_loss"):
        wide = filled(distinct, study, figure)
        if wide.shape[0] > 1 and wide.shape[1] > 2:
            ranking = rank_methods(wide, higher_is_better=FIGURES[figure][1])
            blocks += _ranks(ranking, FIGURES[figure][0].split(",")[0])
    wide = 100 * found.pivot_table("accuracy", "set", "method", sort=False)
    order = [m for m in study.parts["quality"].methods if m in wide]
    blocks.append(
        Table("Accuracy, set by set", ["set", *order], as_rows(wide[order], 1), "Per cent right.")
    )
    return blocks


def filled(found: Any, study: Study, figure: str) -> Any:
    """Sets x methods; a set that a method did not finish counts as its worst."""
    wide = found.pivot_table(figure, "set", "method", sort=False)
    there = [m for m in study.parts["quality"].methods if m in wide]
    wide = wide[[m for m in there if wide[m].notna().any()]]
    worst = wide.min(axis=1) if FIGURES[figure][1] else wide.max(axis=1)
    return wide.apply(lambda column: column.fillna(worst))


def _means(study: Study, found: Any) -> Table:
    rows = []
    part, sets = study.parts["quality"], found["set"].nunique()
    wide = found.pivot_table("accuracy", "set", "method").dropna()  # sets that all have finished
    for method in part.methods:
        own = found[found["method"] == method]
        if own.empty:
            continue
        cells = [
            number(factor * own[figure].mean(), digits) if figure in own else ""
            for figure, (_, _, factor, digits) in FIGURES.items()
        ]
        own = own.dropna(axis=1, how="all")  # what Weka does not print
        times = [number(own[c].sum(), 1) if c in own else "" for c in ("fit_s", "predict_s")]
        size = number(own["bytes"].median() / 1024, 0) if "bytes" in own else ""
        common = number(100 * wide[method].mean(), 2)
        done = [_of(own["set"].nunique(), sets), _of(own["fits"].sum(), own["parts"].sum())]
        rows.append([method, *done, *cells, common, *times, size])
    columns = [
        "method", "sets", "fits", *(title for title, *_ in FIGURES.values()),
        "accuracy, %, common sets", "fit, s in all", "predict, s in all", "model, KB (median)",
    ]  # fmt: skip
    note = (
        f"Means over {sets} distinct sets (near-copies count once), of the sets each method "
        f"finished: a set may take {part.limit:g} s, and no fold is begun after "
        f"{part.options['patience']:g} s of work; folds that were not are left out of the scores. "
        "Times are processor seconds that all fits would take, one thread, our models after a fit "
        "that is not timed. Weka prints its accuracy and its time to build only; its models are "
        f"not measured. Common sets are the {len(wide)} that all methods finished."
    )
    return Table("All classifiers", columns, rows, note)


def _beside_slow(study: Study, records: Any) -> list[Block]:
    """For each method that lacks many folds for want of time, all others on those it finished."""
    if "so_far" not in records:
        return []
    done = records.dropna(subset="log_loss").groupby("method")[["fits", "parts"]].sum()
    short = done.index[done["fits"] < MOST * done["parts"]]
    return [
        on_the_folds_of(method, study.parts["quality"].methods, records)
        for method in study.parts["quality"].methods
        if method in short
    ]


def on_the_folds_of(slow: str, methods: list[str], records: Any) -> Table:
    """Accuracy and log loss of methods on the folds that a slow one has finished."""
    done = records.dropna(subset="log_loss")
    steps = {
        (r.method, r.set): r.so_far if isinstance(r.so_far, list) else [(r.accuracy, r.log_loss)]
        for r in done.itertuples()
    }
    fits = done[done["method"] == slow].set_index("set")["fits"].astype(int)
    rows = []
    for method in methods:
        so_far = [steps.get((method, name), []) for name in fits.index]
        if method != slow and any(map(operator.lt, map(len, so_far), fits)):
            continue  # it is slower still
        scores = [part[:n][-1] for part, n in zip(so_far, fits, strict=True)]
        accuracy, log_loss = np.mean(scores, axis=0)
        rows.append([method, number(100 * accuracy, 2), number(log_loss, 4)])
    note = (
        f"Means over the {len(fits)} distinct sets of which {slow} finished a fold in its time, on "
        f"the {fits.sum()} folds it finished, for all methods that finished them too."
    )
    columns = ["method", "accuracy, %", "log loss"]
    return Table(f"On the folds that {slow} finished", columns, rows, note)


def _tuned(study: Study, found: Any) -> list[Block]:
    """Peers tuned within the pool's time, beside our models with their defaults."""
    if not len(found) or "log_loss" not in found:
        return []
    part = study.parts["tuned"]
    wide = {f: found.pivot_table(f, "set", "method", sort=False) for f in ("accuracy", "log_loss")}
    order = [m for m in part.methods if m in wide["log_loss"]]
    ranks = wide["log_loss"][order].rank(axis=1).mean()
    rows = []
    for method in order:
        own = found[found["method"] == method]
        tried = own["trials"].mean() if "trials" in own else math.nan
        rows.append(
            [
                method,
                _of(own["set"].nunique(), len(part.sets)),
                _of(own["fits"].sum(), own["parts"].sum()),
                number(100 * own["accuracy"].mean(), 2),
                number(own["log_loss"].mean(), 4),
                number(ranks[method], 2),
                number(tried, 1),
                number(own["fit_s"].sum(), 1),
            ]
        )
    columns = [
        "method", "sets", "fits", "accuracy, %", "log loss", "rank by log loss", "trials a fit",
        "fit, s in all",
    ]  # fmt: skip
    note = (
        f"Means over {found['set'].nunique()} distinct sets of moderate size "
        f"({', '.join(part.sets)}), on the splits above, at most {part.options['parts']} of a set. "
        "Our models have their defaults. A peer has on every split the processor time that the "
        f"pool took to fit there, and tries at most {part.options['trials']} settings in it: "
        f"first its defaults, then random ones, each judged by log loss in {INNER} folds of the "
        "training rows. A trial that is not finished in time does not count, but for the first; "
        "the best setting is fitted on all training rows, which comes on top. Times are processor "
        "seconds of trials and last fits together, one thread."
    )
    each = wide["log_loss"][order]
    return [
        Table("Peers tuned within the time of the pool", columns, rows, note),
        Table("Log loss, set by set, peers tuned", ["set", *order], as_rows(each, 4), ""),
        _spaces(part.options["spaces"]),
    ]


def _spaces(spaces: dict[str, Any]) -> Table:
    rows = [
        [method, name, f"{least:g} to {most:g}", "logarithmic" if scale == "log" else scale]
        for method, space in spaces.items()
        for name, (scale, least, most) in space.items()
    ]
    note = "Drawn independently; other parameters have their defaults."
    return Table(
        "What settings are drawn from", ["method", "parameter", "range", "scale"], rows, note
    )


def _of(done: float, wanted: float) -> str:
    return f"{done:.0f}" if done == wanted else f"{done:.0f} of {wanted:.0f}"


def _ranks(ranking: Ranking, title: str) -> list[Block]:
    differ = sum(p < 0.05 for p in ranking.p_values.values())
    note = (
        f"Average ranks over {ranking.n_sets} distinct sets, 1 is best; Friedman's p is "
        f"{ranking.friedman_p:.1e}. Bars join methods of which no pair differs by Wilcoxon's test "
        f"with Holm's correction at 0.05; {differ} of {len(ranking.p_values)} pairs differ. A set "
        "that a method did not finish counts as its worst."
    )
    ranks = zip(ranking.methods, ranking.ranks, strict=True)
    alt = f"Critical differences of average ranks by {title}: " + ", ".join(
        f"{method} {rank:.2f}" for method, rank in ranks
    )
    return [Picture(f"Ranks by {title}", figures.critical_differences(ranking), alt, note)]
