"""Options that several commands have."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

argument = partial(typer.Argument, show_default=False)


def option(names: str, metavar: str | None, text: str, **more: Any) -> Any:
    """An option with a value; its names are parted by a space, as in "--out -o"."""
    return typer.Option(*names.split(), metavar=metavar, help=text, **more)


def column(names: str, text: str) -> Any:
    """An option whose value is a column."""
    return option(names, "COLUMN", text)


def flag(names: str, text: str, **more: Any) -> Any:
    """An option without a value."""
    return option(names, None, text, **more)


DATA = "CSV, Parquet, JSON or Arrow files, folders or globs; - reads CSV from standard input."
Data = Annotated[list[str], argument(metavar="DATA", help=DATA)]
ModelFile = Annotated[Path, argument(metavar="MODEL", help="Model file written by unnaive fit.")]
NewModelFile = Annotated[Path, option("--out -o", "FILE", "Model file to write.")]
TARGET = "Column with the classes"
Target = Annotated[str, column("--target -t", f"{TARGET}.")]
OptionalTarget = Annotated[
    str | None, column("--target -t", f"{TARGET}; may be omitted if no other is new to the model.")
]
Weight = Annotated[str | None, column("--weight", "Column with the weights of rows.")]
Drop = Annotated[list[str] | None, column("--drop", "Column to ignore, such as a key; repeatable.")]
Keep = Annotated[list[str] | None, column("--keep", "Column to copy, such as a key; repeatable.")]
Categorical = Annotated[
    list[str] | None,
    column("--categorical", "Column of numbers to treat as categories; repeatable."),
]
Decimal = Annotated[str | None, option("--decimal", "SIGN", "Sign before fractions in CSV: . or ,")]
NaValues = Annotated[
    list[str] | None, option("--na-values", "TEXT", "Text in CSV that means missing; repeatable.")
]
Seed = Annotated[int, option("--seed", "NUMBER", "Random seed.")]
Jobs = Annotated[int | None, option("--jobs -j", "NUMBER", "Threads; -1 uses all cores.")]
Quiet = Annotated[bool, flag("--quiet -q", "Print errors only.")]
Threshold = Annotated[
    float | None,
    option(
        "--threshold",
        "P",
        "Of two classes: choose the --positive one where its probability is at least P.",
        min=0.0,
        max=1.0,
    ),
]
Positive = Annotated[
    str | None, option("--positive", "CLASS", "Class that --threshold is for; default: the second.")
]
Cost = Annotated[
    list[str] | None,
    option(
        "--cost",
        "TRUE:DECIDED=COST",
        "Cost of deciding for a class about a row of another, such as bad:good=5; repeatable.",
    ),
]
