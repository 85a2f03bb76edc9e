"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet files, folders or globs; - reads CSV from standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model file written by unnaive fit.", show_default=False),
]
Target = Annotated[
    str,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column with the classes.", show_default=False
    ),
]
SomeTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the classes; may be omitted if it is the only column new to the model.",
        show_default=False,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight", metavar="COLUMN", help="Column with the weights of rows.", show_default=False
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="COLUMN", help="Column to ignore, such as an identifier; repeatable."
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="Column of numbers to treat as categories; repeatable.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; -1 uses all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
