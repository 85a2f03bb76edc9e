"""Means, ranks and critical differences over distinct sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unnaive_papers import figures
from unnaive_papers.pages import Block, Picture, Table, as_rows, number
from unnaive_papers.sets import known_sets
from unnaive_papers.statistics import Ranking, rank_methods
from unnaive_papers.study import Study

# Figure, title, whether higher is better, factor, digits.
FIGURES = {
    "accuracy": ("accuracy, %", True, 100, 2),
    "log_loss": ("log loss", False, 1, 4),
    "brier": ("Brier score", False, 1, 4),
    "calibration_error": ("calibration error", False, 1, 4),
}


def show(study: Study, records: Callable[[str], Any]) -> list[Block]:
    """The page's blocks from the records of its part."""
    found = records("quality")
    if not len(found):
        return []
    distinct = found[~found["set"].map(lambda n: "near_copy_of" in known_sets().get(n, {}))]
    blocks: list[Block] = [_means(study, distinct)]
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
