"""The words of ``unnaive-papers``: estimate, progress, verdicts. `cli.py` calls ``main``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from unnaive.common.wording import span_words
from unnaive_papers.claims import ORDER, UNKNOWN
from unnaive_papers.run import Outcome, Plan, plan, run
from unnaive_papers.study import NO_SET, Task

INK = {"reproduced": "green", "partly": "yellow", "not": "red", UNKNOWN: "dim"}


def main(
    paper: str,
    data: str | None = None,
    *,
    quick: bool = False,
    jobs: int = 1,
    results: Path = Path("results"),
    sets: list[str] | None = None,
    parts: list[str] | None = None,
    fresh: bool = False,
    limit: float | None = None,
    seeds: int | None = None,
    estimate: bool = False,
    write_baseline: Path | None = None,
    console: Any = None,
) -> int:
    """Run papers and print what came out; 1 if a claim of the quick sample fell, 2 on errors."""
    from rich.console import Console

    console = console or Console()
    work = plan(
        paper,
        data,
        quick=quick,
        results=results,
        sets=sets,
        parts=parts,
        fresh=fresh,
        limit=limit,
        seeds=seeds,
    )
    _say_plan(console, work, jobs)
    if estimate:
        return 0
    outcome = _run_with_bar(console, work, results, jobs)
    _say_outcome(console, outcome)
    if write_baseline is not None:
        from unnaive_papers.claims import baseline_text

        write_baseline.write_text(baseline_text(outcome.verdicts), encoding="utf-8")
    if outcome.fallen:
        for verdict, was in outcome.fallen:
            console.print(
                f"[red]{verdict.paper}, {verdict.id}: was {was}, now {verdict.verdict}[/red] "
                f"(found {verdict.found.value:g}, paper {verdict.said:g})"
            )
        return 1
    return 2 if any("time limit" not in why for _, why in outcome.failed) else 0


def _say_plan(console: Any, work: Plan, jobs: int) -> None:
    left = work.seconds(jobs)
    console.print(f"{len(work.tasks):,} tasks, {len(work.done):,} done before.")
    for key, seconds in left.items():
        if seconds:
            console.print(f"  {key}: about {span_words(seconds)} to go on {jobs} process(es)")
    if len(left) > 1:
        console.print(f"  all: about {span_words(sum(left.values()))}")
    for study in work.studies:
        wanted = {name for part in study.parts.values() for name in part.sets}
        if missing := sorted(wanted - {*work.shelf.names(), NO_SET}):
            console.print(f"  {study.key}: no data for {', '.join(missing)}", style="yellow")


def _run_with_bar(console: Any, work: Plan, results: Path, jobs: int) -> Outcome:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=len(work.left), left="")

        def progress(task: Task | None, done: int, _total: int, left: float) -> None:
            words = f"{task.paper} {task.part}: {task.method} on {task.set}" if task else ""
            bar.update(row, completed=done, description=words, left=f"{span_words(left)} left")

        return run(work, results, jobs=jobs, progress=progress)


def _say_outcome(console: Any, outcome: Outcome) -> None:
    from rich.table import Table

    if outcome.verdicts:
        table = Table("paper", "claim", "paper's", "here", "verdict", title="Verdicts")
        for v in outcome.verdicts:
            whole = "" if v.is_whole else f" ({v.n_sets} of {v.all_sets} sets)"
            here = "" if v.verdict == UNKNOWN else f"{v.found.value:.4g}"
            ink = INK[v.verdict]
            table.add_row(v.paper, v.id, f"{v.said:g}", here, f"[{ink}]{v.verdict}[/{ink}]{whole}")
        console.print(table)
        counts = Counter(v.verdict for v in outcome.verdicts)
        console.print(", ".join(f"{counts[word]} {word}" for word in ORDER if counts[word]))
    for task, why in outcome.failed[:10]:
        console.print(f"{task.part}: {task.method} on {task.set}: {why}", style="yellow")
    console.print(
        f"{outcome.seconds:.1f} s; largest process {outcome.megabytes:,.0f} MB; pages: "
        + ", ".join(str(p) for p in outcome.pages if p.suffix == ".html")
    )
