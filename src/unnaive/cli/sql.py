"""``unnaive sql``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.cli.options import Keep, ModelFile


def sql(
    model: ModelFile,
    table: Annotated[
        str, typer.Option("--table", metavar="NAME", help="Table to select from, or schema.table.")
    ] = "data",
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect",
            "-d",
            metavar="NAME",
            help="duckdb, postgresql, sqlite, spark, bigquery or snowflake.",
        ),
    ] = "duckdb",
    keep: Keep = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; default: standard output."
        ),
    ] = None,
) -> None:
    """Print a SQL statement that computes the probability of every class in a database.

    [bold]Example:[/] unnaive sql loans.unv --table loans --dialect postgresql --keep id
    """
    from unnaive.cli.console import SafeTerminal
    from unnaive.cli.models import check_writable, load_model
    from unnaive.common.atomic import replacing
    from unnaive.store import to_sql

    if out is not None:
        check_writable(out)
    parts = table.split(".")
    name = parts if len(parts) > 1 else table
    text = to_sql(load_model(model), name, dialect, keep=keep or ())
    if out is None:
        SafeTerminal().write((text.rstrip("\n") + "\n").encode())
        return
    with replacing(out) as file:
        file.write((text.rstrip("\n") + "\n").encode())
