"""All commands, in the order in which ``unnaive --help`` shows them."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from unnaive import __version__
from unnaive.cli.compare import compare
from unnaive.cli.console import say
from unnaive.cli.data import data
from unnaive.cli.drift import drift
from unnaive.cli.edit import edit
from unnaive.cli.evaluate import evaluate
from unnaive.cli.explain import explain
from unnaive.cli.fit import fit
from unnaive.cli.forget import forget
from unnaive.cli.help import Command, Group, ModelCommand
from unnaive.cli.merge import merge
from unnaive.cli.options import flag
from unnaive.cli.predict import predict
from unnaive.cli.show import show
from unnaive.cli.sql import sql
from unnaive.cli.update import update

app = typer.Typer(
    name="unnaive",
    cls=Group,
    help="Naive Bayes that is not naive: classifiers for tables in CSV and Parquet files.",
    epilog="Try: unnaive data loans && unnaive compare loans.csv --target outcome",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    fit, compare, evaluate, predict, explain, show, update, forget, edit, merge, drift, sql, data,
)  # fmt: skip
for command in COMMANDS:
    # Lines of a docstring are shorter than terminals: paragraphs flow.
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.command(cls=ModelCommand if command in (fit, compare) else Command, help=text)(command)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"unnaive {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, flag("--version", "Print the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, flag("--debug", "Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Options of the command itself; ``--debug`` is read in `running.run`."""
