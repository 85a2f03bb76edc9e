"""Options that several commands have."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

argument = partial(typer.Argument, show_default=False)
column = partial(typer.Option, metavar="COLUMN", show_default=False)

DATA = "CSV, Parquet, JSON or Arrow files, folders or globs; - reads CSV from standard input."
Data = Annotated[list[str], argument(metavar="DATA", help=DATA)]
ModelFile = Annotated[Path, argument(metavar="MODEL", help="Model file written by unnaive fit.")]
NewModelFile = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="Model file to write.", show_default=False),
]
TARGET = "Column with the classes"
Target = Annotated[str, column("--target", "-t", help=f"{TARGET}.")]
OptionalTarget = Annotated[
    str | None,
    column("--target", "-t", help=f"{TARGET}; may be omitted if no other is new to the model."),
]
Weight = Annotated[str | None, column("--weight", help="Column with the weights of rows.")]
Drop = Annotated[
    list[str] | None, column("--drop", help="Column to ignore, such as a key; repeatable.")
]
Keep = Annotated[
    list[str] | None, column("--keep", help="Column to copy, such as a key; repeatable.")
]
Categorical = Annotated[
    list[str] | None,
    column("--categorical", help="Column of numbers to treat as categories; repeatable."),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal", metavar="SIGN", help="Sign before fractions in CSV: . or ,", show_default=False
    ),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option("--na-values", metavar="TEXT", help="Text in CSV that means missing; repeatable."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Random seed.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="NUMBER", help="Threads; -1 uses all cores.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="P",
        help="Of two classes: choose the --positive one where its probability is at least P.",
        show_default=False,
        min=0.0,
        max=1.0,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Class that --threshold is for; default: the second.",
        show_default=False,
    ),
]
Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="TRUE:DECIDED=COST",
        help="Cost of deciding for a class about a row of another, such as bad:good=5; repeatable.",
        show_default=False,
    ),
]
