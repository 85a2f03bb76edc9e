"""The command as a process: pipes, exit codes, Ctrl-C at any moment, a missing extra."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import parts, start
from unnaive import load


def test_a_chain_of_pipes_answers_row_by_row(work):
    """Tables go in and out as CSV, without colour, bars or chatter."""
    with open("loans.csv", "rb") as rows:
        asked = start("predict", "nb.unv", "-", "--proba", stdin=rows)
        out, err = asked.communicate()
    assert (asked.returncode, err) == (0, b"")
    assert b"\x1b" not in out
    lines = out.decode().splitlines()
    assert lines[0] == '"prediction","probability_defaulted","probability_repaid"'
    X = pd.read_csv("loans.csv", parse_dates=["opened"]).drop(columns="outcome")
    assert [line.split(",")[0].strip('"') for line in lines[1:]] == list(load("nb.unv").predict(X))


def test_fit_in_a_pipe_has_neither_colour_nor_bar(work):
    asked = start("fit", "loans.csv", "-t", "outcome", "-o", "x.unv", "--cv", 2)
    out, err = asked.communicate()
    assert (asked.returncode, err) == (0, b"")
    assert b"\x1b" not in out
    assert b"written to x.unv" in out


def test_a_terminal_gets_a_bar_and_colour(work):
    """Under a terminal of its own; the bar is on standard error."""
    inside, outside = pty.openpty()
    command = [sys.executable, "-m", "unnaive.cli", "compare", "loans.csv", "-t", "outcome"]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    env.pop("NO_COLOR", None)
    asked = subprocess.Popen(
        [*command, "-m", "nb,c45", "--cv", "2"], stdin=outside, stdout=outside, stderr=outside,
        env=env,
    )  # fmt: skip
    os.close(outside)
    shown = b""
    while True:
        try:
            more = os.read(inside, 4096)
        except OSError:  # the other end is closed
            break
        shown += more
        if not more:
            break
    os.close(inside)
    assert asked.wait() == 0
    assert "━".encode() in shown
    assert b"\x1b[1;32m" in shown


def test_a_reader_that_leaves_early_is_no_error_to_speak_of(work):
    asked = start("data", "flights", "-o", "-")
    assert asked.stdout.readline().startswith(b'"time"')
    asked.stdout.close()
    with asked.stderr:
        err = asked.stderr.read()
    assert asked.wait() == 141
    assert err == b""


def test_errors_leave_a_line_and_a_code(work):
    for args, code in ((["show", "no.unv"], 1), (["show"], 2)):
        asked = start(*args)
        out, err = asked.communicate()
        assert (asked.returncode, out) == (code, b"")
        assert err.count(b"\n") == 1
    asked = start("show", "no.unv", "--debug")
    assert b"Traceback" in asked.communicate()[1]
    assert asked.returncode == 1


def stop_after(seconds, *args):
    asked = start(*args)
    time.sleep(seconds)
    asked.send_signal(signal.SIGINT)
    out, err = asked.communicate(timeout=60)
    return asked.returncode, out, err


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Enough rows that nothing is done before it is stopped."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 40)), rng.integers(0, 3, 20_000)
    waves = pd.DataFrame(X + y[:, None]).add_prefix("x").assign(wave=y)
    waves.to_csv(folder / "waves.csv", index=False)
    return folder


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.5, 2.5])
def test_ctrl_c_stops_with_130_and_leaves_nothing_half_written(large, work, seconds):
    (work / "old.unv").write_bytes(b"what was there before")
    code, out, err = stop_after(
        seconds, "fit", large / "waves.csv", "-t", "wave", "-m", "flexible", "-o", "old.unv",
        "--cv", 10,
    )  # fmt: skip
    assert out == b""
    # Python itself, before it has read a line of ours, dies of the signal.
    # Numba may say that a callback of its own was interrupted, before the command says its word.
    told = code == 130 and err.endswith(b"unnaive: stopped\n")
    assert told or (code == -signal.SIGINT and seconds < 1)
    assert (work / "old.unv").read_bytes() == b"what was there before"
    assert parts(work) == []


def test_output_to_the_null_device_works_and_leaves_it(work):
    for args in (
        ["predict", "nb.unv", "loans.csv", "-o", os.devnull],
        ["fit", "loans.csv", "-t", "outcome", "-m", "nb", "--cv", 0, "-o", os.devnull],
        ["sql", "nb.unv", "-o", os.devnull],
    ):
        asked = start(*args)
        _, err = asked.communicate()
        assert (asked.returncode, err) == (0, b"")
        assert Path(os.devnull).is_char_device()


def test_an_error_while_writing_leaves_what_was_there(work):
    """The last of two files lacks a column: rows of the first were answered already."""
    pd.read_csv("loans.csv").drop(columns="age").to_csv("z.csv", index=False)
    (work / "p.csv").write_bytes(b"before")
    asked = start("predict", "nb.unv", "loans.csv", "z.csv", "-o", "p.csv")
    _, err = asked.communicate()
    assert asked.returncode == 1
    assert b"age" in err
    assert (work / "p.csv").read_bytes() == b"before"
    assert parts(work) == []


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"]], ids=" ".join)
def test_help_answers_without_loading_what_it_does_not_need(args):
    code = (
        f"import sys; from unnaive.cli.app import run; assert run({args}) == 0; "
        "print('loaded:', *[m for m in ('numpy', 'sklearn', 'numba', 'pandas', 'pyarrow') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "loaded:"


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_a_missing_extra_is_named(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; from unnaive.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert found.stderr.strip() == (
        f"unnaive: the command line needs {absent}; install it with: pip install 'unnaive[cli]'"
    )
