"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet: files, folders, globs; - is CSV from standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that fit has written.", show_default=False)
]
Target = Annotated[
    str, typer.Option("--target", "-t", help="Column with the classes.", show_default=False)
]
SomeTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column with the classes; may be left out where the model knows all other columns.",
        show_default=False,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="Column that says how often a row counts.", show_default=False),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Column to leave out, such as an identifier; repeatable."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option("--categorical", help="Column of numbers that are categories; repeatable."),
]
Folds = Annotated[int, typer.Option("--cv", help="Folds of cross-validation; 0 for none.", min=0)]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random choices.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no report.")]
MODELS = "nb, gaussian, kernel, boosted, bagged, c45, mixture, nbtree, flexible, decomposition"
