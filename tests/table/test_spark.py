"""Spark gives what memory gives, byte for byte, and goes on when a Python worker dies."""

from __future__ import annotations

import datetime
import operator

import numpy as np
import pytest
from sklearn.base import clone

from clusters import (
    KILLED,
    QUICK,
    awkward_table,
    dies_once,
    features,
    interrupt,
    kill_once,
    many_numbers,
    no_rows_come,
    press_at_a_round,
)
from helpers import assert_same_model
from recording import Record
from unnaive import (
    Discretizer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    explain_rows,
    quality_of,
    scan,
)
from unnaive.table import spark as spark_module
from unnaive.table.spark import SparkRecords, SparkSource, open_scan

# Models that lose a Python worker on Spark, whose pass it is, and which one of its kind.
KILLED_IDS = ["third pass of boosting", "step of EM"]


def parted(spark, table, n_parts):
    """A Spark DataFrame in partitions by the hash of a column: uneven, some empty, out of order."""
    frame = spark.createDataFrame(table)
    return frame.coalesce(1) if n_parts == 1 else frame.repartition(n_parts, "kind", "label")


def both(estimator, table, frame, **names):
    """The estimator fitted in memory and on Spark."""
    X = features(table)
    weight = table["weight"].to_numpy() if "weight" in names else None
    memory = clone(estimator).fit(X, table["label"], sample_weight=weight)
    own = scan(frame, "label", columns=X.column_names, row_id="id", **names)
    return memory, clone(estimator).fit(own)


@pytest.fixture(scope="module")
def table():
    return awkward_table()


@pytest.fixture(scope="module")
def seven(spark, table):
    return parted(spark, table, 7).cache()


@pytest.fixture
def left(spark, seven):
    """What finds tables that Spark keeps that were not there before."""
    seven.count()
    tables = spark.sparkContext._jsc.getPersistentRDDs
    before = tables().size()
    return lambda: tables().size() - before


@pytest.mark.parametrize(("estimator", "method", "number"), KILLED, ids=KILLED_IDS)
def test_a_python_worker_killed_in_a_later_pass_loses_nothing(
    estimator, method, number, table, seven, monkeypatch, tmp_path, left
):
    """Rows stay on workers; of EM equal ones come together."""
    monkeypatch.setattr(SparkSource, "each", no_rows_come(SparkSource.each))
    with monkeypatch.context() as patched:
        marker = kill_once(patched, SparkRecords, method, number, tmp_path)
        assert_same_model(*both(estimator, table, seven, weight="weight"))
    assert marker.exists()
    assert not left()


@pytest.mark.parametrize("depth", [2, 16])
def test_records_that_spark_has_lost_are_made_again(table, seven, monkeypatch, left, depth):
    """Also where Spark has forgotten how earlier states were made."""
    real, passes = SparkRecords.advance, []

    def losing(self, *given):
        passes.append(given)
        if len(passes) == 4:
            self._kept.unpersist(blocking=True)
        return real(self, *given)

    monkeypatch.setattr(spark_module, "DEPTH", depth)
    monkeypatch.setattr(SparkRecords, "advance", losing)
    assert_same_model(*both(QUICK[0], table, seven, weight="weight"))
    assert len(passes) > 4
    assert not left()


def test_nothing_stays_on_workers_after_an_error(seven, monkeypatch, left):
    monkeypatch.setattr("unnaive.models.boosted.BoostingRounds", None)
    own = scan(seven, "label", columns=["age", "city"], row_id="id")
    with pytest.raises(TypeError, match="not callable"):
        clone(QUICK[0]).fit(own)
    assert not left()


@pytest.mark.parametrize("number", [None, 3])  # in a callback, or waiting for so many a sum
def test_nothing_stays_on_workers_after_ctrl_c(number, seven, monkeypatch, left):
    model = clone(QUICK[0])
    if number is None:
        model.set_callbacks(Record(press_at_a_round))
    else:
        interrupt(monkeypatch, spark_module, "tree_of_sums", number)
    with pytest.raises(KeyboardInterrupt):
        model.fit(scan(seven, "label", columns=["age", "city"], row_id="id"))
    assert not left()


@pytest.mark.parametrize("n_parts", [1, 20])
def test_partitions_and_weights_of_zero_do_not_matter(n_parts, table, spark):
    frame = parted(spark, table, n_parts)
    assert_same_model(*both(NaiveBayesClassifier(), table, frame, weight="weight"))


def test_a_tree_of_sums(table, seven, monkeypatch):
    """Where there are many cores, tasks add what other tasks have found."""
    monkeypatch.setattr("unnaive.table.spark.cores", lambda frame: 30)
    assert_same_model(*both(NaiveBayesClassifier(), table, seven))


def test_more_distinct_numbers_than_cells(spark):
    table = many_numbers()
    frame = spark.createDataFrame(table).repartition(5)
    X = table.select(["x", "z"])
    memory = NaiveBayesClassifier().fit(X, table["label"])
    model = NaiveBayesClassifier().fit(scan(frame, "label", columns=["x", "z"]))
    assert_same_model(memory, model)
    assert all(coder.shift > 0 for coder in model.summary_.coders)


def test_answers_are_lazy_frames(table, seven):
    X = features(table)
    memory, model = both(NaiveBayesClassifier(), table, seven)
    proba = model.predict_proba(seven)
    names = [f"probability_{label}" for label in model.classes_]
    assert proba.columns == [*seven.columns, *names]
    found = proba.orderBy("id").toArrow()
    answers = np.stack([found[name].to_numpy() for name in names], axis=1)
    assert (answers == memory.predict_proba(X)).all()
    predicted = model.predict(scan(seven, "label", row_id="id", weight="weight")).orderBy("id")
    assert [row.prediction for row in predicted.collect()] == memory.predict(X).tolist()
    with pytest.raises(ValueError, match="has a column 'prediction' already; drop or rename it"):
        model.predict(predicted)


def test_evidence_and_explanations_are_lazy_frames(table, seven):
    X = features(table)
    model = NaiveBayesClassifier().fit(X, table["label"])
    bars = model.evidence(seven)
    names = list(model.evidence(X).lines().columns)
    assert bars.columns == [*seven.columns, *names]
    bars = bars.orderBy("id").toArrow()
    for name, values in model.evidence(X).lines().columns.items():
        assert (bars[name].to_numpy() == values).all()
    reasons = explain_rows(model, seven, top=3).orderBy("id").toArrow()
    for name, values in explain_rows(model, X, top=3).lines().columns.items():
        assert reasons[name].to_pylist() == values.tolist()
    lines = explain_rows(model, seven).filter("id < 5").orderBy("id").toArrow()
    each = [why.to_frame("pyarrow") for why in explain_rows(model, X)[:5]]
    assert lines["id"].to_pylist() == [k for k in range(5) for _ in range(len(each[k]))]
    for k, why in enumerate(each):  # the order of the lines of a row is not promised
        here = [line for line in lines.to_pylist() if line["id"] == k]
        values = {line["explanation_column"]: line["explanation_evidence"] for line in here}
        assert values == dict(zip(why["column"].to_pylist(), why["evidence"].to_pylist()))
    with pytest.raises(ValueError, match="has a column 'reason_for' already; drop or rename it"):
        explain_rows(model, seven.withColumn("reason_for", seven["label"]), top=1)


def test_quality_is_a_sum_over_partitions(table, seven):
    X = features(table)
    model = NaiveBayesClassifier().fit(X, table["label"]).with_decision("balanced")
    near = quality_of(model, X, table["label"])
    far = quality_of(model, scan(seven, "label", columns=X.column_names, row_id="id"))
    np.testing.assert_array_equal(far.confusion, near.confusion)
    assert far.log_loss == pytest.approx(near.log_loss, rel=1e-12)
    assert far.roc_auc == pytest.approx(near.roc_auc, abs=1e-12)
    decided = model.predict(scan(seven, "label", row_id="id")).orderBy("id").collect()
    assert [row.decision for row in decided] == model.predict(X).tolist()


@pytest.mark.parametrize(
    "labels",
    [[1, 2], [True, False], [1.0, 2.0], [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_labels_of_any_type_come_back(labels, spark):
    rows = [(float(k), labels[k % 2]) for k in range(40)]
    frame = spark.createDataFrame(rows, ["x", "y"])
    model = NaiveBayesClassifier(alpha=0.1, numeric="width").fit(frame, "y")
    assert {type(row.prediction) for row in model.predict(frame).collect()} == {type(labels[0])}


def test_discretized_frames_keep_their_other_columns(table, seven):
    columns = ["age", "city", "price"]
    X = table.select(columns)
    memory = Discretizer(encode="interval").fit(X, table["label"])
    model = Discretizer(encode="interval").fit(scan(seven, "label", columns=columns))
    found = model.transform(seven)
    assert found.columns == seven.columns
    assert found.orderBy("id").select(*columns).toArrow().equals(memory.transform(X))


def test_without_row_ids_a_warning_says_what_is_not_promised(table, seven):
    own = scan(seven, "label", columns=["age", "city"])
    with pytest.warns(UserWarning, match=r"rows have no order.*scan\(\.\.\., row_id=\)"):
        tree = NBTreeClassifier(random_state=0).fit(own)
    assert set(tree.classes_) == set(table["label"].to_pylist())
    NaiveBayesClassifier().fit(own)  # chooses nothing at random, and warns of nothing


@pytest.mark.filterwarnings("ignore:Spark's rows have no order")
def test_without_row_ids_no_two_rows_of_many_partitions_share_a_number(spark):
    frame = spark.range(0, 60, 1, 20).selectExpr("cast(id as double) as x", "'a' as y")
    source = open_scan(scan(frame, "y"), "from_dtype", None, None)
    records, starts = source.keep_away(
        lambda block: (block.n_rows, [(block.first_row, block.n_rows)]), list.__add__
    )
    with records:
        rows = [first + k for first, n_rows in starts for k in range(n_rows)]
        assert len(set(rows)) == len(rows) == records.reduce(lambda n, _: n, operator.add) == 60


@pytest.mark.parametrize("method", ["reduce", "each"])
def test_a_python_worker_killed_in_mid_fit_does_not_change_the_model(
    method, monkeypatch, tmp_path, table, seven
):
    marker = tmp_path / "killed"
    real = getattr(SparkSource, method)
    sizes: list[int] = []

    def dying(self, fn, *add):
        sizes.append(real(self, lambda block: [block.n_rows], list.__add__)[-1])
        return real(self, dies_once(fn, str(marker), sizes[-1]), *add)

    def dying_later(self, fn, *name):
        sizes.append(list(real(self, lambda block: block.n_rows))[-1])
        return real(self, dies_once(fn, str(marker), sizes[-1]), *name)

    monkeypatch.setattr(SparkSource, method, dying if method == "reduce" else dying_later)
    assert_same_model(*both(NBTreeClassifier(random_state=0), table, seven))
    assert marker.exists()


def test_errors_name_the_partition_and_what_is_wrong(spark, seven):
    rows = [(float(k), None if k == 35 else "ab"[k % 2]) for k in range(40)]
    frame = spark.createDataFrame(rows, ["x", "y"]).coalesce(1)
    with pytest.raises(ValueError, match=r"y has 1 missing labels.*\[partition \d\]"):
        NaiveBayesClassifier().fit(frame, "y")
    with pytest.raises(ValueError, match="target names 'z', which is not a column"):
        NaiveBayesClassifier().fit(frame, "z")
    with pytest.raises(ValueError, match="0 sample"):
        NaiveBayesClassifier().fit(frame.where("x > 1000"), "y")
    with pytest.raises(ValueError, match="row_id 'x' must hold whole numbers"):
        NBTreeClassifier().fit(scan(frame.selectExpr("x", "x as z", "'a' as y"), "y", row_id="x"))
    with pytest.raises(TypeError, match="DataFrames of pyspark.sql; got a Spark RDD"):
        NaiveBayesClassifier().fit(frame.rdd, "y")
