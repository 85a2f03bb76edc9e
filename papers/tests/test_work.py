"""Work that stops, goes on, fails, or takes too long; and its command."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import started
from unnaive import NaiveBayesClassifier
from unnaive_papers.cli import app
from unnaive_papers.command import main
from unnaive_papers.kept import _settings, frame
from unnaive_papers.protocol import evaluate, folds
from unnaive_papers.run import plan, run
from unnaive_papers.study import COMPARISON, PAPERS, Task, load_study
from unnaive_papers.work import do_all


@pytest.fixture
def data(tmp_path):
    """A folder with iris' name on rows made here, and with a set that cannot be learned."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(90, 4)), columns=["sl", "sw", "pl", "pw"])
    rows["class"] = np.where(rows["pl"] > 0, "a", "b")
    folder = tmp_path / "data"
    folder.mkdir()
    rows.to_parquet(folder / "iris.parquet")
    rows.assign(**{"class": "only"}).to_parquet(folder / "glass.parquet")
    entries = [{"name": n, "file": f"{n}.parquet", "target": "class"} for n in ("iris", "glass")]
    (folder / "MANIFEST.json").write_text(json.dumps({"datasets": entries}))
    return folder


def work_on(data, tmp_path, **told):
    return plan("kohavi", data, results=tmp_path / "out", sets=["iris"], parts=["accuracy"], **told)


def test_an_interrupted_run_goes_on_where_it_was(data, tmp_path):
    out = tmp_path / "out"
    work = work_on(data, tmp_path)
    assert len(work.tasks) == 25

    def stop(task, done, total, left):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(work, out, progress=stop)
    path = out / "records" / "kohavi" / "accuracy.jsonl"
    with path.open("a") as file:  # the machine went down in the middle of a line
        file.write('\n{"set": "iris", "method": "NB", "seed": 4, "key"')
    again = work_on(data, tmp_path)
    assert (len(again.done), len(again.left)) == (5, 20)
    first = dict(again.done)
    outcome = run(again, out)
    assert not outcome.failed
    whole = work_on(data, tmp_path)
    assert len(whole.done) == 25
    assert all(whole.done[task] == record for task, record in first.items())
    assert len(work_on(data, tmp_path, fresh=True).done) == 0


def test_a_change_of_settings_or_rows_is_measured_again(data, tmp_path, monkeypatch):
    run(work_on(data, tmp_path), tmp_path / "out")
    made = load_study("kohavi").module.CONFIGURATIONS
    monkeypatch.setitem(made, "NB", lambda _: made["NB, default"](0))
    left = work_on(data, tmp_path).left
    assert {t.method for t in left} == {"NB"}
    monkeypatch.undo()
    table = pd.read_parquet(data / "iris.parquet")
    pd.concat([table, table]).to_parquet(data / "iris.parquet")
    assert len(work_on(data, tmp_path).left) == 25


def test_two_processes_find_what_one_finds(data, tmp_path):
    one, two = (work_on(data, tmp_path / k, seeds=1) for k in "12")
    run(one, tmp_path / "1" / "out", jobs=1)
    run(two, tmp_path / "2" / "out", jobs=2)
    found = [work_on(data, tmp_path / k, seeds=1).done for k in "12"]
    assert found[0].keys() == found[1].keys()
    for task, record in found[0].items():
        assert record["folds"] == found[1][task]["folds"]


def test_what_fails_is_told_and_tried_again(data, tmp_path):
    out = tmp_path / "out"
    (data / "iris.parquet").write_bytes(b"no table")
    outcome = run(work_on(data, tmp_path), out)
    assert len(outcome.failed) == 25
    assert "Parquet" in outcome.failed[0][1]
    assert "Not finished" in (out / "kohavi.md").read_text()
    assert len(work_on(data, tmp_path).left) == 25


def test_a_task_past_its_limit_is_ended_and_kept_as_such(tmp_path):
    def work(limit):
        return plan("wiering", quick=True, results=tmp_path, parts=["loading"], limit=limit)

    outcome = run(work(0.01), tmp_path)
    assert {why for _, why in outcome.failed} == {"time limit of 0.01 s"}
    assert "time limit of 0.01 s" in (tmp_path / "wiering.html").read_text()
    assert not work(0.01).left
    assert len(work(100.0).left) == 2  # more time is another matter


in_groups = pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes here")


def ends(pid):
    """Whether it is gone, as soon as whoever inherited it has noticed."""
    for _ in range(100):
        if not started.is_alive(pid):
            return True
        time.sleep(0.1)
    return False


@in_groups
def test_a_program_that_a_task_started_ends_with_its_time(tmp_path):
    shelf = started.ProgramStarter(tmp_path / "pid")
    task = Task("kohavi", "accuracy", "iris", "NB", 0)
    records = []
    for limit in (5.0, 20.0, 80.0):  # a slow machine needs longer to begin
        do_all([task], False, shelf, 1, lambda _, s=limit: s, lambda _, r: records.append(r))
        assert records[-1]["limit"] == limit
        if shelf.pid_file.exists():
            break
    assert ends(int(shelf.pid_file.read_text()))


@in_groups
def test_tasks_and_their_programs_end_when_the_command_is_killed(tmp_path):
    pid_file = tmp_path / "pid"
    command = subprocess.Popen([sys.executable, started.__file__, pid_file])
    while not (pid_file.exists() and pid_file.read_text()):
        assert command.poll() is None
        time.sleep(0.1)
    pid = int(pid_file.read_text())
    assert started.is_alive(pid)
    command.kill()
    command.wait()
    assert ends(pid)


def test_no_part_is_begun_after_patience_has_ended():
    X = pd.DataFrame({"x": np.arange(60.0)})
    y = np.arange(60) % 2
    parts = folds(y, 6)
    whole = evaluate(NaiveBayesClassifier, X, y, parts)
    assert (whole["fits"], whole["parts"]) == (6, 6)
    short = evaluate(NaiveBayesClassifier, X, y, parts, patience=0.0)
    assert (short["fits"], short["parts"]) == (1, 6)
    first = evaluate(NaiveBayesClassifier, X, y, parts[:1])
    assert short["accuracy"] == first["accuracy"]
    assert short["log_loss"] == first["log_loss"]
    assert whole["so_far"][0] == (first["accuracy"], first["log_loss"])
    assert whole["so_far"][-1] == (whole["accuracy"], whole["log_loss"])


def test_records_of_failed_tasks_are_in_no_table():
    study = load_study("kohavi")
    good = {"accuracy": 90.0, "nodes": 1.0}
    records = {
        Task("kohavi", "accuracy", "iris", "NB", 0): good,
        Task("kohavi", "accuracy", "iris", "NB", 1): {"error": "time limit of 1 s"},
    }
    assert frame(study, "accuracy", records)["accuracy"].tolist() == [90.0]


@pytest.mark.parametrize("paper", [*PAPERS, COMPARISON])
def test_keys_do_not_depend_on_the_process(paper):
    """A name of a function with its address in it would lose every record."""
    for make in load_study(paper).module.CONFIGURATIONS.values():
        try:
            model = make(0)
        except ImportError:  # another library that is not here
            continue
        assert "0x" not in _settings(model)


def test_the_command_shows_an_example_and_refuses_in_one_line(data, tmp_path):
    ask = partial(CliRunner().invoke, app, env={"COLUMNS": "200"})
    assert "Example: unnaive-papers all --quick" in ask(["--help"]).stdout
    wrong = ask(["kohavi", "--data", str(tmp_path / "nowhere")])
    assert (wrong.exit_code, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert wrong.stderr.startswith("unnaive-papers: no MANIFEST.json in ")
    one = ["kohavi", "--data", str(data), "--sets", "iris", "--parts", "accuracy", "--seeds", "1"]
    right = ask([*one, "--results", str(tmp_path), "--estimate"])
    assert (right.exit_code, right.stderr) == (0, "")
    assert "5 tasks, 0 done before." in right.stdout


@pytest.mark.parametrize(
    ("paper", "told", "words"),
    [
        ("kohvi", {"quick": True}, "no paper 'kohvi'; choose one of kohavi"),
        ("kohavi", {}, "data is needed: a folder of Parquet files"),
        ("kohavi", {"quick": True, "sets": ["irish"]}, "no data set is named irish"),
    ],
)
def test_wrong_words_are_told(paper, told, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        main(paper, results=tmp_path, console=Console(file=io.StringIO()), **told)


def test_the_estimate_runs_nothing(tmp_path):
    out = io.StringIO()
    code = main(
        "all", quick=True, results=tmp_path, estimate=True, console=Console(file=out, width=200)
    )
    assert code == 0
    assert "vilalta: about" in out.getvalue()
    assert not list(tmp_path.iterdir())


def test_a_small_part_of_the_quick_sample_holds(tmp_path, monkeypatch):
    """Iris' evidence and Elkan's identity: found, judged, written, and guarded by a baseline."""
    out = io.StringIO()
    console = Console(file=out, width=200)
    told = {"quick": True, "results": tmp_path, "console": console}
    assert main("kohavi", parts=["evidence"], **told) == 0
    assert main("elkan", parts=["identity", "midpoints"], **told) == 0
    for name in ("kohavi.html", "kohavi.md", "elkan.html", "elkan.md"):
        assert "reproduced" in (tmp_path / name).read_text()
    assert list((tmp_path / "figures").glob("kohavi-figure-1*.svg"))
    # The same records under a library that cuts elsewhere: the claim falls, the run fails.
    lines = (tmp_path / "records" / "kohavi" / "evidence.jsonl").read_text()
    (tmp_path / "records" / "kohavi" / "evidence.jsonl").write_text(lines.replace("2.95", "3.05"))
    assert main("kohavi", parts=["evidence"], **told) == 1
    assert "iris-cut-low: was reproduced, now not" in out.getvalue()
