"""``unnaive papers``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def papers(
    paper: Annotated[
        str, typer.Argument(help="kohavi, wang, vilalta, wiering, elkan, all, or comparison.")
    ],
    data: Annotated[
        str | None,
        typer.Option("--data", help="A folder with MANIFEST.json, or openml, or uci."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A sample without data; fails if a claim no longer holds."),
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.")] = 1,
    results: Annotated[
        Path, typer.Option("--results", help="Folder of pages, and of records to go on from.")
    ] = Path("results"),
    sets: Annotated[
        str | None, typer.Option("--sets", help="Only these data sets, with commas.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option("--parts", help="Only these experiments, with commas.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what was kept.")] = False,
    limit: Annotated[
        float | None, typer.Option("--limit", help="Seconds that one task may take.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="At most so many; the rest is estimated from them."),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say how long it would take, and stop.")
    ] = False,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", help="Write the verdicts to this file.")
    ] = None,
) -> None:
    """Run the papers' experiments and write pages beside their figures.

    [bold]Example:[/] unnaive papers all --quick
    """
    from unnaive.papers.command import main

    code = main(
        paper,
        data,
        quick=quick,
        jobs=jobs,
        results=results,
        sets=_split(sets),
        parts=_split(parts),
        fresh=fresh,
        limit=limit,
        seeds=seeds,
        estimate=estimate,
        write_baseline=write_baseline,
    )
    raise typer.Exit(code)


def _split(words: str | None) -> list[str] | None:
    return None if words is None else [word.strip() for word in words.split(",") if word.strip()]
