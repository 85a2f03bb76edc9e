"""``unnaive-papers``: the work of some papers, its verdicts and its pages."""

from __future__ import annotations

import platform
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from unnaive_papers.claims import Verdict, fallen, judge
from unnaive_papers.kept import Kept, Record, failures, frame
from unnaive_papers.pages import Page, study_page, summary_page, write_page
from unnaive_papers.sets import Shelf, open_shelf
from unnaive_papers.study import COMPARISON, PAPERS, Study, Task, load_study
from unnaive_papers.work import Costs, do_all

QUICK = (
    "The quick sample: few small sets, some of them generated, fewer seeds and folds. Its figures "
    "guard against change; they are not those of the paper's experiment, described next."
)
Progress = Callable[[Task | None, int, int, float], None]  # task, done, all, seconds left


@dataclass(slots=True)
class Outcome:
    """What a run leaves: verdicts, pages, and what fell below its baseline."""

    verdicts: list[Verdict] = field(default_factory=list)
    pages: list[Path] = field(default_factory=list)
    failed: list[tuple[Task, str]] = field(default_factory=list)
    fallen: list[tuple[Verdict, str]] = field(default_factory=list)
    seconds: float = 0.0
    megabytes: float = 0.0  # of the largest process


@dataclass(slots=True)
class Plan:
    """The work of a run before it starts: what is done, what is left, and how long it takes."""

    studies: list[Study]
    shelf: Shelf
    tasks: list[Task]
    done: dict[Task, Record]
    costs: Costs
    kept: dict[str, Kept]

    @property
    def left(self) -> list[Task]:
        return self.costs.order([t for t in self.tasks if t not in self.done])

    def seconds(self, jobs: int) -> dict[str, float]:
        """Expected for what is left of each paper, on so many processes."""
        out = {study.key: 0.0 for study in self.studies}
        for task in self.left:
            alone = load_study(task.paper).parts[task.part].alone
            out[task.paper] += self.costs.seconds(task) / (1 if alone else jobs)
        return out


def chosen(name: str) -> list[str]:
    """Papers that a word names: one of them, ``all`` five, or the ``comparison``."""
    if name == "all":
        return list(PAPERS)
    if name in (*PAPERS, COMPARISON):
        return [name]
    known = ", ".join([*PAPERS, "all", COMPARISON])
    raise ValueError(f"there is no paper {name!r}; choose one of {known}.")


def plan(
    name: str,
    data: str | Path | None = None,
    *,
    quick: bool = False,
    results: Path = Path("results"),
    sets: list[str] | None = None,
    parts: list[str] | None = None,
    fresh: bool = False,
    limit: float | None = None,
    seeds: int | None = None,
) -> Plan:
    """All work of a run, and what of it an earlier run has done."""
    if data is None and not quick:
        raise ValueError(
            "data is needed: a folder of Parquet files with a MANIFEST.json, or openml, or uci "
            "(or quick, which needs none)."
        )
    shelf = open_shelf(None if quick else data, results / "downloads")
    if sets is not None and (unknown := set(sets) - set(shelf.names())):
        raise ValueError(f"no data set is named {', '.join(sorted(unknown))}.")
    studies = [load_study(key, quick) for key in chosen(name)]
    rates = tomllib.loads((files("unnaive_papers") / "rates.toml").read_text("utf-8"))
    costs = Costs(shelf, rates)
    tasks: list[Task] = []
    done: dict[Task, Record] = {}
    kept: dict[str, Kept] = {}
    for study in studies:
        own = study.tasks(shelf, sets, seeds)
        own = own if parts is None else [t for t in own if t.part in parts]
        kept[study.key] = Kept(results / "records", study, shelf, limit)
        found = {} if fresh else kept[study.key].load(own)
        for task, record in found.items():
            costs.learn(task, record)
        tasks += own
        done |= found
    return Plan(studies, shelf, tasks, done, costs, kept)


def run(work: Plan, results: Path, *, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """Do what is left, judge, and write the pages."""
    start = time.perf_counter()
    records = dict(work.done)
    left = work.left
    expected = sum(work.seconds(jobs).values())
    per_task = {t: work.costs.seconds(t) for t in left}
    total = sum(per_task.values()) or 1.0
    spent = 0.0

    def report(task: Task, record: Record) -> None:
        nonlocal spent
        records[task] = record
        spent += per_task[task]
        if "error" not in record or "limit" in record:
            work.kept[task.paper].add(task, record)
        if progress is not None:
            done = len(records) - len(work.done)
            progress(task, done, len(left), expected * (1 - spent / total))

    if left:
        quick = work.studies[0].quick
        do_all(left, quick, work.shelf, jobs, lambda t: work.kept[t.paper].limit(t), report)
    took = time.perf_counter() - start
    outcome = _finish(work, results, records, jobs)
    outcome.seconds, outcome.megabytes = took, _megabytes()
    return outcome


def _finish(work: Plan, results: Path, records: dict[Task, Record], jobs: int) -> Outcome:
    outcome = Outcome()
    pages: list[Page] = []
    for study in work.studies:
        own = {t: r for t, r in records.items() if t.paper == study.key}
        verdicts = judge(study, own)
        page = make_page(study, own, verdicts, jobs)
        pages.append(page)
        outcome.verdicts += verdicts
        outcome.failed += failures(study, own)
        outcome.pages += write_page(page, results)
    if len(pages) > 1:
        outcome.pages += write_page(summary_page(pages, _facts(jobs)), results)
    if work.studies[0].quick:
        outcome.fallen = fallen(outcome.verdicts)
    return outcome


def make_page(
    study: Study, records: dict[Task, Record], verdicts: list[Verdict], jobs: int
) -> Page:
    """One paper's page, from records and claims alone."""
    blocks = study.module.show(study, lambda part: frame(study, part, records))
    seconds = sum(r.get("cpu", 0.0) for r in records.values())
    sets = {t.set for t in records if t.set != "-"}
    total = sum(len(p.sets) * sum(p.seeds.values()) for p in study.parts.values())
    every = {name for part in study.parts.values() for name in part.sets if name != "-"}
    facts = [
        f"{len(records):,} of {total:,} tasks, on {len(sets)} of {len(every)} data sets; "
        f"{seconds:,.0f} s of processor time in all"
        + (" (the quick sample)" if study.quick else ""),
        *_facts(jobs),
    ]
    page = study_page(study, verdicts, blocks, facts)
    if study.quick:
        page.intro = f"{QUICK} {page.intro}"
    page.failed = [
        (f"{t.part}: {t.method} on {t.set}, seed {t.seed}", why)
        for t, why in failures(study, records)
    ]
    return page


def _facts(jobs: int) -> list[str]:
    import numpy
    import sklearn

    return [
        f"unnaive {version('unnaive')}, scikit-learn {sklearn.__version__}, "
        f"NumPy {numpy.__version__}, Python {platform.python_version()}; "
        f"{jobs} process{'es' if jobs > 1 else ''}",
    ]


def _megabytes() -> float:
    """Largest resident set of this process and of those it started."""
    if sys.platform == "win32":
        return 0.0
    import resource

    who: list[Any] = [resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN]
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return max(resource.getrusage(w).ru_maxrss for w in who) / unit
