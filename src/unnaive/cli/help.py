"""What ``--help`` shows: options without the names of Python types, and the models.

Models are imported by no help page, because that takes seconds: their names and summaries are read
from the ``@register`` lines of the source. With models of other packages, all are imported.
"""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

import typer

ENTRY_POINTS = "unnaive.models"  # group of other packages' models, as in `estimator/registry.py`


class _PlainTypes:
    """A command whose help has no type for arguments and flags: their names say it."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument" or param.is_flag:
                param.display_type_rich = lambda ctx: ""  # noqa: ARG005
        return params


class Group(_PlainTypes, typer.core.TyperGroup):
    """The command with all its subcommands."""


class Command(_PlainTypes, typer.core.TyperCommand):
    """A subcommand."""


class ModelCommand(Command):
    """A subcommand that takes models by name; its help lists them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.console import Console
        from rich.panel import Panel
        from rich.table import Table

        super().format_help(ctx, formatter)
        table = Table.grid(padding=(0, 2))
        for name, summary in model_summaries().items():
            table.add_row(f"[bold cyan]{name}[/]", summary)
        Console().print(
            Panel(table, title="Models", title_align="left", border_style="dim", padding=(0, 1))
        )


def model_summaries() -> dict[str, str]:
    """The models by short name with what each is, from the cheapest to the dearest."""
    if entry_points(group=ENTRY_POINTS):
        from unnaive.estimator.registry import family

        return {member.name: member.summary for member in family().values()}
    lines = [
        line
        for file in files("unnaive").joinpath("models").iterdir()
        if file.name.endswith(".py")
        for statement in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ClassDef)
        for line in map(_registration, statement.decorator_list)
        if line is not None
    ]
    return {name: summary for _, name, summary in sorted(lines)}


def _registration(decorator: ast.expr) -> tuple[int, str, str] | None:
    """Cost, name and summary of ``@register(name, summary, cost=...)``."""
    if not (isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "register"):
        return None
    values = [ast.literal_eval(argument) for argument in decorator.args]
    if not values:
        return None
    given = {word.arg: word.value for word in decorator.keywords}
    return ast.literal_eval(given["cost"]), values[0], values[1]
