"""The command ``unnaive-papers``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run the papers' experiments and write pages beside their figures.

    [bold]Example:[/] unnaive-papers all --quick
    """
    from unnaive_papers.command import main

    try:
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
    except (ValueError, OSError, ImportError) as error:
        if debug:
            raise
        print(f"unnaive-papers: {error}", file=sys.stderr)
        code = 1
    raise typer.Exit(code)


def _split(words: str | None) -> list[str] | None:
    return None if words is None else [word.strip() for word in words.split(",") if word.strip()]
