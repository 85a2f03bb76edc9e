"""Dask gives what memory gives, byte for byte, and goes on when a worker dies."""

from __future__ import annotations

import dataclasses
import gc
import operator
import os
import time

import dask
import dask.array
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from clusters import (
    KILLED,
    MANY,
    ON_WORKERS,
    PARTS,
    QUICK,
    awkward_table,
    dies_once,
    features,
    interrupt,
    kill_once,
    many_numbers,
    no_rows_come,
    press_at_a_round,
    slices,
)
from helpers import assert_same_model, mixed_table
from recording import Record
from registry import TREES
from unnaive import (
    BoostedNaiveBayesClassifier,
    Discretizer,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    explain_rows,
    quality_of,
    scan,
)
from unnaive.models import held_out
from unnaive.models._em import EMSearch
from unnaive.models.boosted import BoostingRounds
from unnaive.table import dask as dask_module
from unnaive.table.dask import DaskRecords, DaskSource, Kept

BOOSTED = BoostedNaiveBayesClassifier(n_estimators=3, early_stopping=True, random_state=1)
pytestmark = pytest.mark.usefixtures("dask_client")


def parted(table, edges):
    """A Dask DataFrame with partitions between the edges."""
    own = slices(edges)

    def take(k):
        return table.iloc[own[k]]

    return dd.from_map(take, range(len(own)), meta=table.iloc[:0])


def as_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def both(estimator, table, frame, **names):
    """The estimator fitted in memory and on Dask."""
    X = features(table)
    weight = table["weight"].to_numpy() if "weight" in names else None
    memory = clone(estimator).fit(X, table["label"], sample_weight=weight)
    return memory, clone(estimator).fit(scan(frame, "label", columns=X.column_names, **names))


@pytest.mark.parametrize("n_parts", PARTS)
@pytest.mark.parametrize(
    "estimator", [NaiveBayesClassifier(), NBTreeClassifier(random_state=0)], ids=repr
)
def test_partitions_and_weights_of_zero_do_not_matter(estimator, n_parts):
    table = awkward_table(seed=1)
    frame = parted(as_pandas(table), PARTS[n_parts])
    assert_same_model(*both(estimator, table, frame, weight="weight"))


@pytest.mark.parametrize(
    ("estimator", "n_parts"),
    [
        *((estimator, n_parts) for estimator in (QUICK[0], *QUICK[2:]) for n_parts in (1, 3)),
        *((estimator, 17) for estimator in ON_WORKERS),
    ],
    ids=repr,
)
def test_models_of_rows_that_stay_on_workers_are_those_of_memory(estimator, n_parts, monkeypatch):
    table = awkward_table(seed=2)
    monkeypatch.setattr(DaskSource, "each", no_rows_come(DaskSource.each))
    frame = parted(as_pandas(table), MANY[n_parts])
    with dask.config.set(scheduler="threads"):
        assert_same_model(*both(estimator, table, frame, weight="weight"))


@pytest.mark.parametrize("calibration", ["slope", "columns"])
@pytest.mark.parametrize("model", [BOOSTED])
def test_rows_drawn_for_calibration_are_the_same_on_workers(model, calibration, monkeypatch):
    table = awkward_table(seed=2)
    monkeypatch.setattr(held_out, "MIN_ROWS", 100)
    monkeypatch.setattr(held_out, "MAX_ROWS", 100)
    estimator = clone(model).set_params(calibration=calibration)
    frame = parted(as_pandas(table), MANY[3])
    with dask.config.set(scheduler="threads"):
        assert_same_model(*both(estimator, table, frame, weight="weight"))


def test_a_worker_killed_in_a_later_pass_loses_nothing(monkeypatch, tmp_path, dying_client):
    table = awkward_table()
    frame = parted(as_pandas(table), PARTS[7])
    for case in KILLED:
        with monkeypatch.context() as patched:
            marker = kill_once(patched, DaskRecords, *case[1:], tmp_path)
            assert_same_model(*both(case[0], table, frame))
        assert marker.exists()
    assert nothing_stays(dying_client)


@dataclasses.dataclass
class Numbers:
    """A record."""

    each: np.ndarray


def test_dask_knows_how_large_records_are_and_one_state_of_each_stays(dask_client):
    n_parts, size = 3, 1 << 17

    def make(k):
        return Kept([Numbers(np.full(size, k, np.uint8))], ([k], [size]))

    def advance(record, state):
        before = np.zeros(size) if state is None else state.each
        return Numbers(before + record.each), float(before[0])

    with DaskRecords() as records:
        total, _ = records.keep([dask.delayed(make)(k) for k in range(n_parts)], operator.add)
        sums = [records.advance(advance, operator.add) for _ in range(3)]
        assert (total, sums) == ([3], [0.0, 3.0, 6.0])
        largest = dask_client.run_on_scheduler(_largest_tasks, 1 << 14)
        assert sum(largest) == pytest.approx(n_parts * 9 * size, rel=0.02)
    assert nothing_stays(dask_client)


def _largest_tasks(least, dask_scheduler):
    tasks = dask_scheduler.tasks.values()
    return [task.nbytes for task in tasks if task.state == "memory" and task.nbytes >= least]


@pytest.mark.parametrize(
    ("estimator", "broken", "method"),
    [
        (ON_WORKERS[0], BoostingRounds, "count_round"),
        (QUICK[3], EMSearch, "_run"),
    ],
)
def test_nothing_stays_on_workers_after_an_error(
    estimator, broken, method, monkeypatch, dask_client
):
    table = awkward_table()
    frame = parted(as_pandas(table), PARTS[2])
    monkeypatch.setattr(broken, method, None)
    with pytest.raises(TypeError, match="not callable"):
        clone(estimator).fit(scan(frame, "label", columns=["age", "city"]))
    assert nothing_stays(dask_client)


@pytest.mark.parametrize(
    ("estimator", "number"),  # calls that keep tasks and calls that wait for them come in turn
    [(QUICK[0], None), *((estimator, n) for estimator in (QUICK[0], QUICK[3]) for n in (2, 6))],
    ids=repr,
)
def test_nothing_stays_on_workers_after_ctrl_c(estimator, number, monkeypatch, dask_client):
    frame = parted(as_pandas(awkward_table()), PARTS[2])
    model = clone(estimator)
    if number is None:
        model.set_callbacks(Record(press_at_a_round))
    else:
        interrupt(monkeypatch, dask_module, "compute", number)
    with pytest.raises(KeyboardInterrupt):
        model.fit(scan(frame, "label", columns=["age", "city"]))
    assert nothing_stays(dask_client)


def nothing_stays(client):
    """Whether the scheduler soon knows of no task that anybody keeps."""
    for _ in range(100):
        if not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            return True
        gc.collect()
        time.sleep(0.05)
    return False


def test_more_distinct_numbers_than_cells():
    table = many_numbers().drop_columns("id").to_pandas()
    frame = parted(table, [0, 10, 40_000, 40_000, 90_000])
    X, y = table.drop(columns="label"), table["label"]
    model = NaiveBayesClassifier().fit(frame, "label")
    assert_same_model(NaiveBayesClassifier().fit(X, y), model)
    assert all(coder.shift > 0 for coder in model.summary_.coders)


def test_categories_and_text_that_dask_turns_into_arrow():
    X, y = mixed_table(500)
    frame = dd.from_pandas(X.assign(y=y), npartitions=3)
    memory, model = NaiveBayesClassifier().fit(X, y), NaiveBayesClassifier().fit(frame, "y")
    assert_same_model(memory, model)
    found = model.predict(frame)
    assert isinstance(found, dd.Series)
    frame["found"] = found  # the index is that of the rows
    assert (frame["found"].compute() == memory.predict(X)).all()


def test_without_a_cluster_threads_of_this_process_do_the_work():
    import dask

    X, y = mixed_table(500)
    frame = dd.from_pandas(X.assign(y=y), npartitions=3)
    tree = NBTreeClassifier(random_state=0)
    with dask.config.set(scheduler="threads"):
        assert_same_model(clone(tree).fit(X, y), clone(tree).fit(frame, "y"))


def test_answers_are_lazy_tables():
    table = awkward_table()
    pandas = as_pandas(table)
    frame = parted(pandas, PARTS[7])
    memory, model = both(NaiveBayesClassifier(), table, frame)
    proba = model.predict_proba(frame)
    assert isinstance(proba, dd.DataFrame)
    assert list(proba.columns) == [f"probability_{label}" for label in model.classes_]
    computed = proba.compute()
    assert (computed.to_numpy() == memory.predict_proba(features(table))).all()
    assert computed.index.equals(pandas.index)
    joint = model.predict_joint_log_proba(scan(frame, "label", weight="weight"))
    assert (joint.compute().to_numpy() == memory.predict_joint_log_proba(features(table))).all()
    clusters = LatentClassClusterer(2, random_state=0).fit(frame[["age", "kind"]])
    assert (clusters.predict(frame).compute() == clusters.labels_).all()


@pytest.mark.parametrize("estimator", [TREES[0], QUICK[1]], ids=repr)
def test_evidence_and_explanations_are_lazy_tables(estimator):
    table = awkward_table()
    X, pandas = features(table), as_pandas(table)
    model = clone(estimator).fit(X, table["label"])
    frame = parted(pandas, PARTS[7])
    with dask.config.set(scheduler="threads"):
        bars, reasons = model.evidence(frame), explain_rows(model, frame, top=3)
        lines = explain_rows(model, frame)
        assert {dd.DataFrame} == {type(bars), type(reasons), type(lines)}
        bars, reasons, lines = dask.compute(bars, reasons, lines)
    evidence, top, each = model.evidence(X), explain_rows(model, X, top=3), explain_rows(model, X)
    assert bars.to_dict("list").keys() == evidence.lines().columns.keys()
    both = np.concatenate((evidence.baseline[:, None], evidence.contributions), axis=1)
    assert (bars.to_numpy() == both.reshape(400, -1)).all()
    for k in range(3):
        assert (reasons[f"reason_{k + 1}"] == top.words[:, k]).all()
        assert (reasons[f"reason_{k + 1}_value"] == top.values[:, k]).all()
        np.testing.assert_allclose(reasons[f"reason_{k + 1}_evidence"], top.evidence[:, k], 0, 1e-9)
    assert (reasons["reason_for"] == top.labels).all()
    wanted = pd.concat([why.to_frame("pandas") for why in each], keys=pandas.index)
    assert lines.index.equals(wanted.index.droplevel(1))
    for name in wanted.columns:
        pd.testing.assert_series_equal(
            lines[f"explanation_{name}"], wanted[name].droplevel(1), check_names=False, atol=1e-9
        )


def test_quality_is_a_sum_over_partitions():
    table = awkward_table()
    X, labels = features(table), table["label"]
    model = NaiveBayesClassifier().fit(X, labels).with_decision("balanced")
    frame = parted(as_pandas(table), PARTS[7])
    near = quality_of(model, X, labels)
    far = quality_of(model, scan(frame, "label", columns=X.column_names))
    np.testing.assert_array_equal(far.confusion, near.confusion)
    assert far.log_loss == pytest.approx(near.log_loss, rel=1e-12)
    assert far.roc_auc == pytest.approx(near.roc_auc, abs=1e-12)
    decided = model.predict(frame)
    assert decided.compute().to_numpy().ravel().tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("encode", ["ordinal", "interval"])
@pytest.mark.parametrize("columns", [["age", "ratio"], ["age", "city", "member"]])
def test_discretized_frames(encode, columns):
    X, y = mixed_table(300)
    X = X[columns].assign(city=X["city"].astype("string[pyarrow]"))[columns]
    frame = dd.from_pandas(X.assign(y=y), npartitions=3)
    memory = Discretizer(encode=encode).fit(X, y).set_output(transform="pandas")
    found = Discretizer(encode=encode).fit(frame, "y").transform(frame)
    assert isinstance(found, dd.DataFrame)
    computed = found.compute()
    assert list(found.dtypes) == list(computed.dtypes)
    pd.testing.assert_frame_equal(computed, memory.transform(X), check_dtype=False)


def test_a_worker_killed_in_mid_fit_does_not_change_the_model(monkeypatch, tmp_path, dying_client):
    """In the second pass, which brings rows here; a third one is killed above."""
    table, marker = awkward_table(), tmp_path / "killed"
    real = DaskSource.each

    def dying(self, fn, *add):
        return real(self, dies_once(fn, str(marker), 150), *add)

    before = set(dying_client.run(os.getpid).values())
    monkeypatch.setattr(DaskSource, "each", dying)
    frame = parted(as_pandas(table), PARTS[7])
    assert_same_model(*both(NBTreeClassifier(random_state=0), table, frame))
    assert marker.exists()
    assert set(dying_client.run(os.getpid).values()) != before


def test_errors_name_the_partition_and_what_is_wrong():
    X, y = mixed_table(100)
    y = pd.Series(y, dtype=object)
    y[70] = None
    frame = dd.from_pandas(X.assign(y=y), npartitions=4)
    with pytest.raises(ValueError, match=r"y has 1 missing labels.*\[partition 2\]"):
        NaiveBayesClassifier().fit(frame, "y")
    with pytest.raises(ValueError, match="target names 'z', which is not a column"):
        NaiveBayesClassifier().fit(frame, "z")
    with pytest.raises(ValueError, match="0 sample"):
        NaiveBayesClassifier().fit(frame[frame["age"] > 1000], "y")
    with pytest.raises(TypeError, match="scan reads Dask DataFrames; got a Dask Array"):
        NaiveBayesClassifier().fit(dask.array.zeros((3, 2)), "y")
    with pytest.raises(TypeError, match="y must be the name of a column"):
        NaiveBayesClassifier().fit(frame, frame["y"])
    model = NaiveBayesClassifier().fit(X, np.arange(100) % 2)
    with pytest.raises(ValueError, match="column 'age' held numbers .* but now holds text"):
        model.predict(frame.assign(age=frame["city"])).compute()


@pytest.mark.parametrize("scheduler", ["cluster", "threads", "processes"])
def test_passes_are_reported_on_every_scheduler(scheduler):
    table = awkward_table()
    frame = parted(as_pandas(table), PARTS[7])
    own = scan(frame, "label", columns=features(table).column_names)
    record = Record()  # which cannot be sent to workers
    model = NBTreeClassifier(random_state=0).set_callbacks(record)
    chosen = {} if scheduler == "cluster" else {"scheduler": scheduler}
    if scheduler == "processes":  # only sums cross: a tree would send its rows
        model = NaiveBayesClassifier().set_callbacks(record)
    with dask.config.set(**chosen):
        assert_same_model(clone(model).set_callbacks().fit(own), model.fit(own))
    kinds = ("counting", "coding rows", "calibrating")
    passes = [task for task in record.tasks() if task[-1]["task"] in kinds]
    assert len(passes) == model._n_passes
    for task in passes:
        assert task[-1]["done"] == 400
