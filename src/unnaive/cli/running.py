"""Running a command line: exit codes, errors in one line, Ctrl-C, broken pipes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from threading import Event, Thread
from types import FrameType
from typing import Any

import typer

from unnaive.common.atomic import remove_unfinished
from unnaive.common.wording import printable

FAILED, MISUSED, NO_READER = 1, 2, 141
STOPPED = 128  # and the number of the signal
PATIENCE = 5.0  # seconds from a signal to the end of a process that does not heed it
# What ends a command; Python itself would die of the last two without putting anything away.
SIGNALS = {
    "SIGINT": signal.default_int_handler,
    "SIGTERM": signal.SIG_DFL,
    "SIGHUP": signal.SIG_DFL,
}


_stopped: list[int] = []  # signals that asked the running command to stop


def raise_if_stopped() -> None:
    """Stop now if a signal asked for it, but a library swallowed its KeyboardInterrupt."""
    if _stopped:
        raise KeyboardInterrupt


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    0: success; 1: an error in the data, the model or a parameter; 2: wrong usage; 130: stopped by
    Ctrl-C; 143: by SIGTERM, and 129: by SIGHUP; 141: the output was closed (broken pipe).
    """
    args, debug = _without_debug(list(argv))
    _stopped.clear()
    with _record_signals(_stopped):
        code = _run_command(args, debug, _stopped)
    # Libraries sometimes swallow a KeyboardInterrupt that comes while they clean up.
    return STOPPED + _stopped[0] if _stopped else code


def _run_command(args: list[str], debug: bool, stopped: list[int]) -> int:
    try:
        from unnaive.cli.app import app

        # Not typer's main(): it handles Ctrl-C and broken pipes in its own way.
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
        return STOPPED + signal.SIGINT
    except Exception as error:
        if stopped:  # compiled code turns Ctrl-C into an error of its own
            print_error("stopped")
            return STOPPED + stopped[0]
        if debug:
            raise
        if _is_misuse(error):
            text = " ".join(error.format_message().split())  # type: ignore[attr-defined]
            if text:  # without any argument, help has been printed
                print_error(f"{text.rstrip('.')}. Try: unnaive {_command(args)}--help", "usage")
            return MISUSED
        print_error(_one_line(error))
        return FAILED


def print_error(text: str, kind: str = "") -> None:
    """One line on standard error."""
    words = printable(f"unnaive: {kind + ': ' if kind else ''}{text}")
    print(words, file=sys.stderr, flush=True)


def _without_debug(args: list[str]) -> tuple[list[str], bool]:
    """``--debug`` may stand anywhere before ``--``."""
    end = args.index("--") if "--" in args else len(args)
    kept = [a for a in args[:end] if a != "--debug"]
    return kept + args[end:], len(kept) < end


@contextmanager
def _record_signals(stopped: list[int]) -> Iterator[None]:
    """Record a signal to stop, besides raising KeyboardInterrupt, so that files half written are
    removed. A process that ignores a signal still does.
    """

    def note(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        signal.default_int_handler(number, frame)

    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread, as in some tests
        for name, usual in SIGNALS.items():
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == usual:
                before[number] = signal.signal(number, note)
    try:
        with _end_when_stuck(set(before)) if before else nullcontext():
            yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


@contextmanager
def _end_when_stuck(numbers: set[int]) -> Iterator[None]:
    """End the process some time after a signal, if it waits in compiled code.

    Python raises nothing before such code returns, as when a pipe is opened that nobody writes to.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    done = Event()

    def watch() -> None:
        while received := os.read(reader, 1):
            if received[0] in numbers and not done.wait(PATIENCE):
                remove_unfinished()
                print_error("stopped")
                os._exit(STOPPED + received[0])
        os.close(reader)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        os.close(writer)  # which ends the thread


def _command(args: list[str]) -> str:
    """The subcommand named on the command line, with a space after it."""
    from unnaive.cli.app import COMMANDS

    names = [c.__name__ for c in COMMANDS]
    return f"{args[0]} " if args and args[0] in names else ""


def _is_misuse(error: Exception) -> bool:
    """Whether the command line was wrong; typer raises its own copies of click's exceptions."""
    return any(base.__name__ == "ClickException" for base in type(error).__mro__)


def _one_line(error: Exception) -> str:
    expected = isinstance(error, (ValueError, TypeError, OSError, ImportError))
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this; use fewer columns or rows. {text}"
    return text if expected else f"{type(error).__name__}: {text} (--debug shows where)"
