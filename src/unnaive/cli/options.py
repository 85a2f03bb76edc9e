"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

argument = partial(typer.Argument, show_default=False)


def option(names: str, metavar: str | None, text: str, **more: Any) -> Any:
    """Return an option with a value; spaces separate its names, as in "--out -o"."""
    return typer.Option(*names.split(), metavar=metavar, help=text, **more)


def column(names: str, text: str) -> Any:
    """Return an option whose value is a column."""
    return option(names, "COLUMN", text)


def flag(names: str, text: str, **more: Any) -> Any:
    """Return an option without a value."""
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


def decide(
    model: Any, threshold: float | None, positive: str | None, costs: Sequence[str] | None
) -> Any:
    """Return the model, if given with the decision of ``--threshold`` or ``--cost``."""
    if threshold is None and not costs:
        if positive is not None:
            raise ValueError("--positive names the class of a --threshold; give both.")
        return model
    if threshold is not None and costs:
        raise ValueError("--threshold and --cost are two ways to decide; give one of them.")
    if not hasattr(model, "with_decision"):
        raise ValueError(f"{type(model).__name__} has no classes to decide for.")
    if threshold is not None:
        return model.with_decision(threshold, positive=positive)
    if positive is not None:
        raise ValueError("--positive is for --threshold; costs name their classes.")
    classes = [str(label) for label in model.classes_.tolist()]
    return model.with_decision(dict(read_cost(text, classes) for text in costs or ()))


def read_cost(text: str, classes: Sequence[str]) -> tuple[tuple[str, str], float]:
    """Return the classes and the cost of ``--cost true:decided=cost``; names may have colons."""
    pair, sign, cost = text.rpartition("=")
    try:
        value = float(cost)
    except ValueError:
        sign = ""
    parts = [(pair[:k], pair[k + 1 :]) for k, letter in enumerate(pair) if letter == ":"]
    if not sign or not parts:
        raise ValueError(f"--cost {text!r}: write it as true:decided=cost, such as bad:good=5.")
    pairs = [(true, decided) for true, decided in parts if true in classes and decided in classes]
    if len(pairs) != 1:
        raise ValueError(
            f"--cost {text!r}: {pair!r} is not two classes; they are {', '.join(classes)}."
        )
    return pairs[0], value
