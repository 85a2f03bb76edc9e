"""The app: its commands, errors in one line, exit codes."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from unnaive import __version__
from unnaive.cli import apply, train
from unnaive.cli.console import print_error, say
from unnaive.cli.options import flag
from unnaive.common.registry import family

FAILED, MISUSED, STOPPED, NO_READER = 1, 2, 130, 141
COMMANDS = (
    *(train.fit, train.compare, apply.evaluate, apply.predict, apply.explain, apply.show),
    *(train.update, train.forget, train.edit, train.merge, apply.drift, apply.sql, apply.data),
)


class _PlainTypes:
    """Commands whose help has no Python type for arguments and flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument" or param.is_flag:
                param.display_type_rich = lambda ctx: ""  # noqa: ARG005
        return params


class _Group(_PlainTypes, typer.core.TyperGroup):
    pass


class _Command(_PlainTypes, typer.core.TyperCommand):
    pass


app = typer.Typer(
    name="unnaive",
    cls=_Group,
    help="Naive Bayes that is not naive: classifiers for tables in CSV and Parquet files.",
    epilog="Try: unnaive data loans && unnaive compare loans.csv --target outcome",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    # Lines of a docstring are shorter than terminals: paragraphs flow.
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    models = "\n".join(f"[bold cyan]{m.name:14}[/]{m.summary}" for m in family().values())
    epilog = f"[bold]Models[/]\n\n{models}" if command in (train.fit, train.compare) else None
    app.command(cls=_Command, help=text, epilog=epilog)(command)


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
    """Options of the command itself; ``--debug`` is read in `run`."""


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    0: success; 1: an error in the data, the model or a parameter; 2: wrong usage; 3: rows have
    drifted; 130: stopped by Ctrl-C; 141: the output was closed (broken pipe).
    """
    args = list(argv)
    end = args.index("--") if "--" in args else len(args)
    debug = "--debug" in args[:end]
    args = [a for a in args[:end] if a != "--debug"] + args[end:]
    try:
        # Not the app itself: it handles Ctrl-C and broken pipes in its own way.
        command = typer.main.get_command(app)
        with command.make_context("unnaive", args) as context:
            command.invoke(context)
        sys.stdout.flush()
        return 0
    except typer.Exit as leave:
        return int(leave.exit_code)
    except BrokenPipeError:
        # Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return NO_READER
    except (KeyboardInterrupt, typer.Abort):
        print_error("stopped")
        return STOPPED
    except Exception as error:
        if debug:
            raise
        if any(base.__name__ == "ClickException" for base in type(error).__mro__):
            text = " ".join(error.format_message().split())  # type: ignore[attr-defined]
            name = f"{args[0]} " if args and args[0] in {c.__name__ for c in COMMANDS} else ""
            if text:  # without any argument, help has been printed
                print_error(f"usage: {text.rstrip('.')}. Try: unnaive {name}--help")
            return MISUSED
        print_error(_one_line(error))
        return FAILED


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this; use fewer columns or rows. {text}"
    expected = isinstance(error, (ValueError, TypeError, OSError, ImportError))
    return text if expected else f"{type(error).__name__}: {text} (--debug shows where)"
