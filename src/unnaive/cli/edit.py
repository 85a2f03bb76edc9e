"""``unnaive edit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.cli.console import say
from unnaive.cli.options import ModelFile, Quiet, flag, option
from unnaive.cli.update import ChangedModel

if TYPE_CHECKING:
    from unnaive.table import Column


EditedColumn = Annotated[
    str | None, typer.Argument(metavar="COLUMN", help="Column to correct.", show_default=False)
]
EditedValue = Annotated[
    str | None,
    option(
        "--value",
        "VALUE",
        "Category, or a number of the interval, that --evidence is of; without it, a missing "
        "value.",
    ),
]
NewEvidence = Annotated[
    float | None,
    option("--evidence", "NATS", "What the value shall do to the log odds of the class."),
]
Flat = Annotated[bool, flag("--flat", "Let the column say nothing.")]
Increasing = Annotated[
    bool | None,
    flag(
        "--increasing/--decreasing",
        "Let the evidence for the class rise, or fall, with the values.",
    ),
]
Undo = Annotated[bool, flag("--undo", "Take the last correction back.")]
ForClass = Annotated[
    str | None,
    option("--class", "CLASS", "Class that evidence is for; by default the second of two."),
]
By = Annotated[str, option("--by", "NAME", "Who makes the correction.")]
Reason = Annotated[str, option("--reason", "TEXT", "Why.")]


def edit(
    model: ModelFile,
    column: EditedColumn = None,
    value: EditedValue = None,
    evidence: NewEvidence = None,
    flat: Flat = False,
    increasing: Increasing = None,
    undo: Undo = False,
    label: ForClass = None,
    by: By = "",
    reason: Reason = "",
    out: ChangedModel = None,
    quiet: Quiet = False,
) -> None:
    """Correct what a model has learned, on record: who, when and why are in the model file.

    `unnaive show`, pages and SQL tell of it, updates keep it, and --undo takes it back.

    [bold]Example:[/] unnaive edit loans.unv income --increasing --by Ann --reason "risk policy 7"
    """
    from unnaive.answer import edits
    from unnaive.cli.models import check_writable, load_model, save_model

    path = model if out is None else out
    check_writable(path)
    fitted = load_model(model)
    asked = [evidence is not None, flat, increasing is not None, undo]
    if sum(asked) != 1:
        raise ValueError(
            "give one of --evidence, --flat, --increasing, --decreasing and --undo; got "
            f"{sum(asked)}."
        )
    if undo:
        changed = edits.undo(fitted)
    else:
        if column is None:
            raise ValueError("name the column to correct, after the model.")
        if not by.strip():
            raise ValueError("say who makes the correction with --by.")
        names = {str(c.name): c for c in fitted.schema_}
        known = names[column].name if column in names else column
        on_record: dict[str, Any] = {"by": by, "reason": reason}
        if flat:
            changed = edits.flatten(fitted, known, **on_record)
        else:
            classes = {str(c): c for c in getattr(fitted, "classes_", [])}
            on_record["label"] = None if label is None else classes.get(label, label)
            if increasing is not None:
                changed = edits.make_monotone(fitted, known, increasing, **on_record)
            else:
                given = _read_value(value, names.get(column))
                changed = edits.edit(fitted, known, given, evidence=evidence, **on_record)  # type: ignore[arg-type]
    save_model(changed, path)
    if not quiet:
        say(f"{path} corrected")


def _read_value(value: str | None, column: Column | None) -> Any:
    """A value as the column holds it: text that looks like a number is one in numeric columns."""
    if value is None or column is None:
        return value
    if column.family == "level":
        return next((level for level in column.order or () if str(level) == value), value)
    if column.family == "bool":
        return {"true": True, "false": False}.get(value.lower(), value)
    if column.family == "number":
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if column.kind == "categorical" and number.is_integer() else number
    return value
