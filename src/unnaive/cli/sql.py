"""``unnaive sql``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from unnaive.cli.console import SafeTerminal
from unnaive.cli.options import Cost, Keep, ModelFile, Positive, Threshold, option


def sql(
    model: ModelFile,
    table: Annotated[
        str, option("--table", "NAME", "Table to select from, or schema.table.")
    ] = "data",
    dialect: Annotated[
        str,
        option("--dialect -d", "NAME", "duckdb, postgresql, sqlite, spark, bigquery or snowflake."),
    ] = "duckdb",
    threshold: Threshold = None,
    positive: Positive = None,
    cost: Cost = None,
    keep: Keep = None,
    out: Annotated[
        Path | None, option("--out -o", "FILE", "File to write; default: standard output.")
    ] = None,
) -> None:
    """Print a SQL statement that computes the probability of every class in a database.

    With a threshold or costs, given here or kept in the model, it also has a column decision.

    [bold]Example:[/] unnaive sql loans.unv --table loans --dialect postgresql --keep id
    """
    from unnaive.cli.models import check_writable, decide, load_model
    from unnaive.common.atomic import replacing
    from unnaive.store import to_sql

    if out is not None:
        check_writable(out)
    parts = table.split(".")
    name = parts if len(parts) > 1 else table
    fitted = decide(load_model(model), threshold, positive, cost)
    text = to_sql(fitted, name, dialect, keep=keep or ())
    if out is None:
        SafeTerminal().write((text.rstrip("\n") + "\n").encode())
        return
    with replacing(out) as file:
        file.write((text.rstrip("\n") + "\n").encode())
