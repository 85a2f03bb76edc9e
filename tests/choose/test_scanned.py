"""Comparisons and pools of rows that are not in memory are those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from helpers import assert_same_model, mixed_table
from unnaive import (
    AutoClassifier,
    C45Classifier,
    NaiveBayesClassifier,
    PooledClassifier,
    compare,
    scan,
)
from unnaive.choose.judging import refit_pool
from unnaive.choose.scanned import read_scan
from unnaive.table import arrow, sorting, storage

ROWS = 150
TWO = [("nb", NaiveBayesClassifier()), ("c45", C45Classifier(calibration="none"))]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A table with weights of 0 to 2, and a folder of its rows, shuffled, with their numbers."""
    monkeypatch.setattr(arrow, "MOST_ROWS", 40)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 40)
    monkeypatch.setattr(storage, "_SMALL", 64)
    monkeypatch.setattr(storage, "STRETCH", 37)
    monkeypatch.setattr(sorting, "RUN", 41)
    X, y = mixed_table(ROWS, classes=2)
    X = X.drop(columns=["plan", "member"])
    weight = np.random.default_rng(0).integers(0, 3, ROWS)
    whole = X.assign(y=y, w=weight, number=np.arange(ROWS)).sample(frac=1, random_state=0)
    for k in range(2):
        whole[75 * k : 75 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", index=False)
    return X, y, weight, tmp_path


def by_number(folder, X, limit=None, **names):
    return scan(folder, "y", columns=list(X), row_id="number", memory_limit=limit, **names)


@pytest.mark.parametrize("limit", [None, 0])
def test_auto_chooses_from_files_what_it_chooses_from_memory(rows, limit):
    X, y, weight, folder = rows
    auto = AutoClassifier(models=["nb", "gaussian"], cv=2, random_state=0)
    memory = clone(auto).fit(X, y, weight)
    files = clone(auto).fit(by_number(folder, X, limit, weight="w"))
    assert_same_model(memory, files)
    for one, other in zip(memory.comparison_.results, files.comparison_.results, strict=True):
        assert (one.name, one.quality.log_loss) == (other.name, other.quality.log_loss)
        # Without room to rank scores, areas are those of a histogram.
        assert one.quality.roc_auc == pytest.approx(other.quality.roc_auc, abs=0.02)
        assert limit == 0 or (one.quality, one.folds) == (other.quality, other.folds)
    assert files.comparison_.n_rows == np.count_nonzero(weight)
    assert files.target_name == "y"


def test_positions_and_splitters_pick_the_rows_that_they_pick_in_memory(rows):
    X, y, weight, folder = rows
    folds = np.arange(ROWS) % 3
    ready = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(2)]
    for cv in (ready, StratifiedKFold(2, shuffle=True, random_state=0)):
        pool = PooledClassifier(TWO, cv=cv, random_state=0)
        memory = clone(pool).fit(X, y, weight)
        assert_same_model(memory, clone(pool).fit(by_number(folder, X, weight="w")))


def test_arithmetic_pools_are_those_of_memory(rows):
    X, y, _, folder = rows
    mean = PooledClassifier(TWO, combine="arithmetic", cv=2, random_state=0)
    X.assign(y=y).to_parquet(folder / "in order.parquet", index=False, row_group_size=40)
    given = scan([folder / "in order.parquet"], "y", memory_limit=0)
    assert_same_model(clone(mean).fit(X, y), clone(mean).fit(given))


def test_a_pool_of_a_sample_learns_again_from_all_rows_and_keeps_its_weights(rows):
    X, y, _, folder = rows
    pool = PooledClassifier(TWO, cv=2, random_state=0).fit(X[:75], y[:75])
    again = refit_pool(pool, read_scan(by_number(folder, X), "from_dtype", None))
    assert (again.weights_ == pool.weights_).all()
    assert (again.answer_.root.intercept == pool.answer_.root.intercept).all()
    whole = PooledClassifier(TWO, weights=pool.weights_, random_state=0).fit(X, y)
    block = again._open(X).block
    for one, other in zip(again.answer_.root.members, whole.answer_.root.members, strict=True):
        np.testing.assert_allclose(one.predict_proba(block), other.predict_proba(block))


def test_a_time_budget_is_kept_by_fits_on_a_few_rows_of_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "MOST_ROWS", 40)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 40)
    X, y = mixed_table(90)
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    comparison = compare(tmp_path / "rows.csv", "y", models=["nb", "gaussian"], time_budget=60)
    assert comparison.notes == []
    assert {r.name for r in comparison.results} == {"nb", "gaussian"}


def test_a_sample_of_the_files_has_its_own_labels_and_weights(rows):
    X, y, weight, folder = rows
    scanned = read_scan(by_number(folder, X, weight="w"), "from_dtype", None)
    few = scanned.sample(np.array([5, 2, 90, 40]))
    ids = scanned.row_ids[[5, 2, 90, 40]]
    found = zip(few.X["ratio"].to_pylist(), few.target, few.weight, strict=True)
    assert set(found) == set(zip(X["ratio"][ids], y[ids], weight[ids], strict=True))


def test_what_needs_memory_says_so(rows):
    X, y, _, folder = rows
    given = by_number(folder, X)
    other = {"logistic": LogisticRegression()}
    with pytest.raises(TypeError, match="'logistic', a LogisticRegression of another library"):
        AutoClassifier(models=["nb"], estimators=other).fit(given)
    with pytest.raises(TypeError, match="groups are for tables in memory"):
        compare(given, models=["nb"], groups=y)
    with pytest.raises(ValueError, match="name the column with the labels"):
        PooledClassifier(TWO).fit(scan(folder))
