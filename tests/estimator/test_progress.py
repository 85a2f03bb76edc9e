"""Callbacks hear rows, rate and time left of every pass, and change nothing."""

from __future__ import annotations

import logging
import pickle
import re
import signal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar

from helpers import assert_same_model, mixed_table
from recording import Record
from registry import BOOSTED, CHOOSERS, ESTIMATORS
from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    RowProgress,
    scan,
)
from unnaive.table import StoppedError, arrow

ROWS = 420
PASSES = {"counting", "coding rows", "labelling", "reading classes", "describing clusters",
          "calibrating"}  # fmt: skip


ONE_OF_EACH = [*{type(e): e for e in reversed(ESTIMATORS)}.values()]  # the first of every class


@pytest.fixture(scope="module")
def table():
    return mixed_table(ROWS, classes=3)


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """The table in three files, one of them empty."""
    X, y = table
    place = tmp_path_factory.mktemp("rows")
    whole = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
    for k, (a, b) in enumerate(pairwise([0, 150, 150, ROWS])):
        pq.write_table(whole.slice(a, b - a), place / f"{k}.parquet")
    return place


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrow, "MOST_ROWS", 100)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 100)


def check_task(task):
    """What holds for all facts of one task."""
    for before, after in pairwise(task):
        assert before["done"] <= after["done"]
        assert before["seconds"] <= after["seconds"]
        assert (before["share"] or 0) <= (after["share"] or 1)
    for facts in task:
        assert facts["total"] is None or facts["done"] <= facts["total"]
        assert facts["seconds_left"] is None or facts["seconds_left"] >= 0
    last = task[-1]
    assert (last["done"], last["share"], last["seconds_left"]) == (last["total"], 1.0, 0.0)


def quicker(estimator):
    """A copy that tries fewer numbers of clusters: each is several passes."""
    few = {"cv": 2, "max_clusters": 2} if getattr(estimator, "select", 0) == "accuracy" else {}
    return clone(estimator).set_params(**few)


@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=repr)
def test_every_pass_reports_all_its_rows_and_changes_no_model(estimator, folder):
    record = Record()
    model = quicker(estimator).set_callbacks(record).fit(scan(folder, "label"))
    assert_same_model(quicker(estimator).fit(scan(folder, "label")), model)
    tasks = record.tasks()
    own = [t for t in tasks if t[-1]["estimator"] == type(model).__name__]
    passes = [task for task in tasks if task[-1]["task"] in PASSES]
    for task in tasks:
        check_task(task)
    for task in passes:
        assert (task[-1]["done"], task[-1]["unit"]) == (ROWS, "rows")
        assert len(task) == 101  # every hundredth, and the end
        assert {facts["total"] for facts in task} == {ROWS}  # Parquet knows it
    own_passes = [task for task in own if task in passes]
    assert model._n_passes in (None, len(own_passes))  # as the guide says
    assert record.root.max_subtasks in (None, len(own))
    assert sorted(map(id, record.began)) == sorted(map(id, record.ended))
    assert record.set_up == record.torn_down == 1
    left = {"_progress", "_callback_fit_ctx", "_parent_callback_ctx"} & set(model.__dict__)
    assert not left


@pytest.mark.parametrize("estimator", [*ONE_OF_EACH, CHOOSERS[1]], ids=repr)
def test_in_memory_there_are_no_passes_but_the_same_work(estimator, table):
    X, y = table
    record = Record()
    model = quicker(estimator).set_callbacks(record).fit(X, y)
    assert_same_model(quicker(estimator).fit(X, y), model)
    for task in record.tasks():
        check_task(task)
        assert task[-1]["task"] not in PASSES
    assert record.ended[-1] is record.root
    assert len(record.began) == len(record.ended)
    assert record.torn_down == 1


def test_work_is_reported_in_its_own_steps(folder):
    steps = {}
    for estimator in (
        BoostedNaiveBayesClassifier(n_estimators=4),
        HierarchicalMixtureClassifier(n_sweeps=3, random_state=0),
        LatentClassClusterer(2, max_iter=5, tol=0.0, random_state=0),
    ):
        record = Record()
        model = estimator.set_callbacks(record).fit(scan(folder, "label"))
        (task,) = (task for task in record.tasks() if task[-1]["unit"] != "rows")
        steps[task[-1]["task"]] = [facts["done"] for facts in task]
    assert steps == {
        "boosting": [1, 2, 3, 4, 4],
        "training": [1, 2, 3, 3],
        "EM of 2 clusters": [1, 2, 3, 4, 5, 5],
    }
    assert model.n_iter_ == 5


def test_lazy_tables_know_their_rows_after_the_first_pass(folder):
    import polars as pl

    for data in (pl.scan_parquet(folder / "[02].parquet"), pyarrow.dataset.dataset(folder)):
        record = Record()
        C45Classifier().set_callbacks(record).fit(data, "label")
        first, second, *_ = record.tasks()
        assert {facts["total"] for facts in first[:-1]} == {None}
        assert {facts["seconds_left"] for facts in first[:-1]} == {None}
        assert {facts["total"] for facts in second} == {ROWS}
        check_task(first)
        check_task(second)


def test_estimators_inside_others_report_too(folder):
    record = Record()
    model = ClassDecompositionClassifier(LatentClassifier(), random_state=0, n_jobs=2)
    model.set_callbacks(record).fit(folder, "label")
    within = {c.source_task_name for c in record.began if c.source_task_name}
    clusters = {f"clusters of {label!r}" for label in model.classes_.tolist()}
    assert within == clusters | {"learning pairs"}
    assert not hasattr(model.estimator_, "_skl_callbacks")


class LatentClassifier(NaiveBayesClassifier):
    """An estimator of a user's own."""


# Stopping ------------------------------------------------------------------------------------


def test_a_stop_while_rows_are_read_leaves_no_model(folder):
    for n_jobs in (None, 2):
        record = Record(lambda facts: facts["done"] >= 200)
        model = NaiveBayesClassifier(n_jobs=n_jobs).set_callbacks(record)
        with pytest.raises(StoppedError, match=r"asked to stop .*counting: \d+ of 420 rows"):
            model.fit(folder, "label")
        assert not hasattr(model, "schema_")
        assert record.torn_down == 1
        assert_same_model(
            model.set_callbacks().fit(folder, "label"), NaiveBayesClassifier().fit(folder, "label")
        )


def test_a_stop_between_passes_stops_before_the_next(folder):
    def when_done(facts):
        return facts["finished"]

    NaiveBayesClassifier().set_callbacks(Record(when_done)).fit(folder, "label")  # it has all
    with pytest.raises(StoppedError, match="coding rows"):
        NBTreeClassifier().set_callbacks(Record(when_done)).fit(folder, "label")


def test_a_stop_of_work_keeps_what_is_done(folder, table):
    X, y = table

    def after_two(facts):
        return facts["unit"] in ("rounds", "sweeps", "steps") and facts["done"] == 2

    for rows in ((X, y), (folder, "label")):
        boosted = BoostedNaiveBayesClassifier().set_callbacks(Record(after_two)).fit(*rows)
        two = BoostedNaiveBayesClassifier(n_estimators=2).fit(X, y)
        assert (boosted.estimator_errors_ == two.estimator_errors_).all()
        mixture = HierarchicalMixtureClassifier(random_state=0)
        stopped = clone(mixture).set_callbacks(Record(after_two)).fit(*rows)
        assert_same_model(stopped, clone(mixture).set_params(n_sweeps=2).fit(X, y))
        latent = LatentClassClusterer(3, random_state=0)
        stopped = clone(latent).set_callbacks(Record(after_two)).fit(*rows)
        two = clone(latent).set_params(max_iter=2).fit(X, y)
        assert (stopped.lower_bounds_ == two.lower_bounds_).all()
        assert np.isfinite(stopped.predict_proba(X)).all()
    grown = LatentClassClusterer(random_state=0).set_callbacks(
        Record(lambda facts: facts["task"] == "EM of 3 clusters")
    )
    assert grown.fit(X).n_clusters_ == 2
    layers = HierarchicalMixtureClassifier(layers="grow", cv=2, random_state=0)
    layers.set_callbacks(Record(lambda facts: facts["unit"] == "architectures")).fit(X, y)
    assert [tried for tried, _ in layers.growth_] == [(1,)]
    assert layers.n_sweeps_ == 1


@pytest.fixture
def ctrl_c():
    """Ctrl-C means what it usually does, also where a shell in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_in_a_pass_ends_the_fit_and_what_is_shown(n_jobs, folder, capsys, ctrl_c):
    def interrupt(facts):
        if facts["done"] >= 200:
            signal.raise_signal(signal.SIGINT)

    record = Record(interrupt)
    model = C45Classifier(n_jobs=n_jobs).set_callbacks(record, RowProgress())
    with pytest.raises(KeyboardInterrupt):
        model.fit(folder, "label")
    assert record.torn_down == 1
    assert not hasattr(model, "tree_")
    assert "_progress" not in model.__dict__
    model.set_callbacks().fit(folder, "label")


# Showing -------------------------------------------------------------------------------------


def test_lines_for_a_log(folder, capsys):
    NBTreeClassifier(random_state=0).set_callbacks(RowProgress(every=0)).fit(folder, "label")
    lines = capsys.readouterr().err.splitlines()
    number = r"[\d.]+[kMG]?"
    for k, task in ((1, "counting"), (2, "coding rows")):
        own = [line for line in lines if line.startswith(f"NBTreeClassifier {k}/4 {task}")]
        way = rf": [\d,]+ of 420 rows \(\d+ %\), {number} rows/s, {number} s left"
        assert all(re.fullmatch(f".*{task}{way}", line) for line in own[1:-1])
        assert re.fullmatch(rf".*{task}: 420 rows in {number} s, {number} rows/s", own[-1])
    NBTreeClassifier(random_state=0).set_callbacks(RowProgress()).fit(folder, "label")
    assert len(capsys.readouterr().err.splitlines()) == 4  # a fast pass has one line


def test_facts_go_to_a_function_and_may_stop(folder):
    seen = []
    model = NaiveBayesClassifier().set_callbacks(RowProgress(seen.append)).fit(folder, "label")
    assert seen[0]["done"] == 0
    assert seen[-1]["finished"]
    assert {facts["estimator"] for facts in seen} == {"NaiveBayesClassifier"}
    with pytest.raises(StoppedError):
        model.set_callbacks(RowProgress(lambda facts: True)).fit(folder, "label")
    assert pickle.loads(pickle.dumps(RowProgress(every=3))).every == 3


def test_every_pass_is_in_the_log(folder, caplog):
    with caplog.at_level(logging.INFO, logger="unnaive"):
        LatentClassClusterer(2, random_state=0).fit(folder)
        NaiveBayesClassifier().fit(folder, "label").predict(folder)
    lines = [record.getMessage() for record in caplog.records if " rows in " in record.getMessage()]
    assert [line.split(":")[0] for line in lines] == [
        "counting", "coding rows", "labelling", "counting", "answering",
    ]  # fmt: skip
    assert all(": 420 rows in " in line for line in lines)


def test_scikit_learns_progress_bar_shows_passes(folder, capfd):
    clone(BOOSTED[0]).set_callbacks(ProgressBar()).fit(folder, "label")
    shown = capfd.readouterr().out
    for name in ("fit", "counting", "coding rows", "boosting"):
        assert f"BoostedNaiveBayesClassifier - {name}" in shown
