"""A folder with small tables and models, and ways to run the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unnaive.cli.app import run
from unnaive.datasets import make_loans

HERE = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Loans in CSV and Parquet, and a naive Bayes and a tree of them."""
    folder = tmp_path_factory.mktemp("made")
    X, y = make_loans(300, random_state=0)
    table = X.assign(outcome=y)
    table.to_csv(folder / "loans.csv", index=False)
    table.to_parquet(folder / "loans.parquet")
    for name, model in (("nb", "nb"), ("tree", "c45")):
        places = [str(folder / "loans.csv"), "-o", str(folder / f"{name}.unv")]
        assert run(["fit", *places, "-t", "outcome", "-m", model, "--cv", "0", "-q"]) == 0
    return folder


@pytest.fixture
def work(made, tmp_path, monkeypatch):
    """An own folder with the made files, as the current one."""
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(work, capfd):
    """Run a command line here; gives its exit code and what it wrote to both outputs."""

    def run_here(*args):
        capfd.readouterr()
        code = run([str(arg) for arg in args])
        sys.stdout.flush()
        return code, *capfd.readouterr()

    return run_here


def start(*args, **given):
    """The command as a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(HERE / "src"), "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-m", "unnaive.cli", *map(str, args)],
        env=env,
        stdin=given.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **given,
    )


def parts(folder):
    """Files that something left half written."""
    return [path.name for path in Path(folder).rglob("*.part")]
