"""Any command line and any table end in an exit code and at most one line of complaint."""

from __future__ import annotations

import io
import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.conftest import parts
from unnaive.cli.app import COMMANDS, run

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
# Options of all commands, values that fit them, values that do not, and noise.
TOKENS = st.one_of(
    st.sampled_from([c.__name__ for c in COMMANDS]),
    st.sampled_from(
        [
            "-t",
            "--target",
            "-o",
            "--out",
            "-m",
            "--model",
            "--models",
            "--set",
            "--weight",
            "--drop",
            "--categorical",
            "--cv",
            "--seed",
            "-j",
            "--jobs",
            "-q",
            "--quiet",
            "--proba",
            "--keep",
            "--time",
            "--by",
            "--results",
            "--rows",
            "--table",
            "--dialect",
            "--columns",
            "--depth",
            "--compact",
            "--help",
            "-h",
            "--version",
            "--",
            "-",
        ]
    ),
    st.sampled_from(
        [
            "loans.csv",
            "loans.parquet",
            "nb.unv",
            "tree.unv",
            "new.unv",
            "p.csv",
            "p.parquet",
            "outcome",
            "age",
            "nb",
            "c45",
            "0",
            "2",
            "-1",
            "1e9",
            "alpha=1",
            "alpha=",
            "=1",
            "*.csv",
            ".",
            "no/where",
            "duckdb",
            "sqlite",
            "xor",
            "loans",
            "log_loss",
        ]
    ),
    st.text(max_size=6).filter(lambda t: "/" not in t and "\0" not in t),
)
LINES = st.tuples(
    st.sampled_from([c.__name__ for c in COMMANDS]), st.lists(TOKENS, max_size=8)
).map(lambda both: [both[0], *both[1]])


class Empty:
    """Standard input without a byte."""

    buffer = io.BytesIO()


@pytest.fixture
def quiet_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Empty)


def asked(args, capfd):
    capfd.readouterr()
    code = run(args)
    sys.stdout.flush()
    out, err = capfd.readouterr()
    assert code in (0, 1, 2), (args, err)
    helped = code == 0 or "Usage:" in out  # without a command, help is printed
    assert err.count("\n") == (0 if helped else 1), (args, err)
    assert "Traceback" not in err
    assert "--debug shows where" not in err, (args, err)  # that would be a bug of ours
    return code, out, err


@FUZZ
@given(args=st.one_of(LINES, st.lists(TOKENS, max_size=5)))
def test_any_command_line_ends_cleanly(work, quiet_input, capfd, args):
    asked(args, capfd)
    assert parts(work) == []


VALID = [
    (["fit", "loans.csv", "-t", "outcome", "-o", "new.unv", "--cv", "0"], 0),
    (["predict", "nb.unv", "loans.csv"], 0),
    (["show", "nb.unv"], 0),
    (["sql", "nb.unv"], 0),
]


@settings(FUZZ, max_examples=60)
@given(which=st.sampled_from(VALID), place=st.integers(0, 8), token=TOKENS, drop=st.booleans())
def test_a_line_with_one_thing_wrong_ends_cleanly(
    work, quiet_input, capfd, which, place, token, drop
):
    line, _ = which
    asked([*line[:place], token, *line[place + drop :]], capfd)
    assert parts(work) == []


CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "-2.5", "1e308", "nan", "inf", "NA", "true", "2024-02-30", '"', "a b"]
    ),
    st.text(max_size=4),
)


@settings(FUZZ, max_examples=60)
@given(
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=8),
    sign=st.sampled_from([",", ";", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_csv_is_learned_from_or_refused(work, capfd, rows, sign, end):
    text = end.join(["a" + sign + "y", *(sign.join(row) for row in rows)]) + end
    with open("fuzz.csv", "w", newline="", encoding="utf-8") as file:
        file.write(text)
    code, _, _ = asked(["fit", "fuzz.csv", "-t", "y", "-o", "fuzz.unv", "--cv", "0"], capfd)
    if code == 0:
        assert asked(["predict", "fuzz.unv", "fuzz.csv"], capfd)[0] == 0
        assert asked(["evaluate", "fuzz.unv", "fuzz.csv"], capfd)[0] == 0
        os.remove("fuzz.unv")
    assert not os.path.exists("fuzz.unv")


@settings(FUZZ, max_examples=40)
@given(content=st.binary(max_size=60))
def test_any_bytes_are_learned_from_or_refused(work, capfd, content):
    (work / "fuzz.csv").write_bytes(content)
    asked(["fit", "fuzz.csv", "-t", "y", "-o", "fuzz.unv", "--cv", "0"], capfd)
    asked(["show", "fuzz.csv"], capfd)
