"""What ``--help`` shows: options without the names of Python types, and the models."""

from __future__ import annotations

from typing import Any

import typer


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
    """Return the models by short name with what each is, from the cheapest."""
    from unnaive.common.registry import family

    return {member.name: member.summary for member in family().values()}
