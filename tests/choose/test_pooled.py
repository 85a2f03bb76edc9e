"""Pools against their definition, and the laws of their weights."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import unnaive
from helpers import mixed_table
from unnaive import (
    AutoClassifier,
    BaggedNaiveBayesClassifier,
    C45Classifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RandomForestClassifier,
    evidence_of,
    explain_rows,
)
from unnaive.answer import Ensemble
from unnaive.choose.pooled import DOUBT, weigh_logs
from unnaive.cli.app import run
from unnaive.explain.model import BY_ROW

MEMBERS = [
    ("nb", NaiveBayesClassifier()),
    ("forest", RandomForestClassifier(n_estimators=20)),
    ("c45", C45Classifier()),
]


def random_logs(seed, members=3, rows=80, classes=3):
    """Log probabilities of members, the first of which knows something."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, classes, rows)
    scores = rng.normal(size=(members, rows, classes))
    scores[0, np.arange(rows), groups] += 1.5
    logs = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
    return logs, groups, rng.integers(1, 4, rows).astype(float)


def penalized_loss(given, logs, groups, weight):
    """The definition, row by row."""
    n, own = len(logs), given[: len(logs)]
    total = DOUBT * (sum((w - 1 / n) ** 2 for w in own) + sum(b * b for b in given[n:]))
    for i, (c, s) in enumerate(zip(groups, weight, strict=True)):
        z = given[n:] + sum(w * log[i] for w, log in zip(own, logs, strict=True))
        total -= s * (z[c] - np.log(np.exp(z).sum()))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_weights_have_the_least_penalized_log_loss(seed):
    logs, groups, weight = random_logs(seed)
    found = weigh_logs(logs, groups, weight)
    best = penalized_loss(np.concatenate(found), logs, groups, weight)
    assert (found.members >= 0).all()
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-2, 0.1, 1.0):  # of a convex function, the least nearby is the least
        for _ in range(10):
            other = np.concatenate(found) + size * rng.normal(size=6)
            other[:3] = np.maximum(other[:3], 0.0)
            assert penalized_loss(other, logs, groups, weight) >= best - 1e-4


def test_weight_is_repetition_and_a_member_that_knows_nothing_is_left_out():
    logs, groups, weight = random_logs(1, rows=400)
    logs[1] = -logs[0] - np.log(np.exp(-logs[0]).sum(axis=1, keepdims=True))  # the opposite
    once = weigh_logs(logs, groups, weight)
    repeated = np.repeat(np.arange(len(groups)), weight.astype(int))
    again = weigh_logs(logs[:, repeated], groups[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(once.members, again.members, atol=1e-4)
    assert once.members[1] == 0.0
    assert once.members[0] > 0.5


def test_a_pool_is_the_weighted_sum_of_its_members():
    X, y = mixed_table(200)
    seeds = [("nb", NaiveBayesClassifier()), ("c45", C45Classifier(alpha=0.0))]
    pool = PooledClassifier(seeds, weights=[0.7, 0.9]).fit(X, y)
    said = [model.fit(X, y).predict_proba(X) for _, model in seeds]
    logs = [np.log(said[0]), np.log(np.maximum(said[1], 2.0**-52))]
    expected = np.exp(0.7 * logs[0] + 0.9 * logs[1])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pool.predict_proba(X), expected, atol=1e-9)


def test_a_pool_shows_members_by_weight_and_none_of_weight_0(capsys, tmp_path):
    X, y = mixed_table(200)
    members = [
        ("forest", RandomForestClassifier(n_estimators=3)), ("nb", NaiveBayesClassifier()),
        ("gone", C45Classifier()), ("gaussian", NaiveBayesClassifier(numeric="gaussian")),
    ]  # fmt: skip
    pool = PooledClassifier(members, weights=[0.4, 0.2, 0, 0.5], random_state=0).fit(X, y)
    single = evidence_of(NaiveBayesClassifier().fit(X, y))
    assert evidence_of(pool, "nb")["plan"].weights.tolist() == single["plan"].weights.tolist()
    assert evidence_of(pool).part == "gaussian"
    assert evidence_of(pool, "pool")["plan"].reason == BY_ROW
    with pytest.raises(ValueError, match="'gone' is not in this PooledClassifier"):
        evidence_of(pool, "gone")
    assert not any("gone" in bar for bar in explain_rows(pool, X[:5], top=9).to_frame()["column"])
    page = unnaive.report(pool, X, y).html
    assert "A pool of 3 models" in page
    assert "gaussian, weight 0.50 in the pool" in page
    unnaive.save(pool, tmp_path / "pool.unv")
    assert run(["show", str(tmp_path / "pool.unv"), "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert "3 members by weight: gaussian 0.50, forest 0.40, nb 0.20\n" in shown
    assert "left out, with weight 0: gone\n" in shown
    assert "columns by importance: " in shown
    assert shown.index("evidence in gaussian") < shown.index("evidence in nb")
    assert "treated alike" not in shown.split("evidence in gaussian")[0]


def test_a_pool_in_which_no_member_counts_answers_by_its_intercept():
    X, y = mixed_table(60)
    pool = PooledClassifier([("nb", NaiveBayesClassifier())], weights=[1.0]).fit(X, y)
    root = replace(pool.answer_.root, weights=np.zeros(1))
    pool.answer_ = replace(pool.answer_, root=root)
    assert (pool.predict_proba(X) == pool.predict_proba(X)[0]).all()
    assert not pool.feature_importances_.any()
    assert not pool.evidence(X[:3]).contributions.any()


def test_rows_that_weights_are_fitted_on_were_not_learned_from():
    """Labels are noise: a member that is judged by rows it knows would have all the weight."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    members = [
        ("tree", C45Classifier(prune=False, min_rows=1)),
        ("forest", RandomForestClassifier(n_estimators=30)),
        ("bagged", BaggedNaiveBayesClassifier(numeric="frequency", n_bins=100)),
    ]
    pool = PooledClassifier(members, random_state=0).fit(X, y)
    assert pool.weights_.max() < 0.35
    assert abs(pool.held_out_loss_ - np.log(2)) < 0.03


def test_a_pool_is_explained_saved_and_exported():
    X, y = mixed_table(240)
    pool = PooledClassifier(MEMBERS, cv=3, random_state=0).fit(X, y)
    root, p = pool.answer_.root, pool.predict_proba(X[:20])
    assert isinstance(root, Ensemble)
    assert set(root.names) == {n for n, w in zip(pool.names_, pool.weights_, strict=True) if w}
    why = pool.evidence(X[:20])
    assert why.terms[:6] == list(X.columns)
    assert set(why.terms[6:]) <= {"c45"}
    np.testing.assert_allclose(why.probabilities(), p, atol=1e-9)
    file = io.BytesIO()
    unnaive.save(pool, file)
    file.seek(0)
    again = unnaive.load(file)
    assert (again.predict_proba(X[:20]) == p).all()
    assert [name for name, _ in again.estimators] == ["nb", "forest", "c45"]
    assert "A pool of" in unnaive.report(pool, X, y).html


def test_members_and_weights_that_make_no_pool_are_named():
    X, y = mixed_table(60)
    refused = [
        ({"estimators": [LogisticRegression()]}, TypeError, "a LogisticRegression: a pool is made"),
        ({"estimators": []}, ValueError, "estimators is empty"),
        ({"estimators": ["none"]}, ValueError, "there is no model 'none'"),
        (
            {"estimators": ["nb"], "weights": [1.0, 2.0]},
            ValueError,
            "one number for each of 1",
        ),
        ({"estimators": ["nb"], "weights": [-1.0]}, ValueError, "0 or more, and not all 0"),
        ({"estimators": ["nb"], "weights": "best"}, ValueError, "'fit' or 'equal'"),
        ({"estimators": ["nb"], "cv": 1}, ValueError, "cv must be 2 folds or more"),
    ]
    for options, error, words in refused:
        with pytest.raises(error, match=words):
            PooledClassifier(**options).fit(X, y)


def test_auto_takes_the_pool_where_it_has_the_least_held_out_loss():
    """Six normal columns, of which naive Bayes makes the most, and an exclusive or of two more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    y = X[:, :6].sum(axis=1) + np.where((X[:, 6] > 0) ^ (X[:, 7] > 0), 1.5, -1.5) > 0
    auto = AutoClassifier(models=["gaussian", "forest"], cv=3, random_state=0).fit(X, y)
    results = {r.name: r.quality.log_loss for r in auto.comparison_.results}
    assert results["pool"] < min(results["gaussian"], results["forest"])
    assert auto.best_name_ == "pool"
    why = "pool has the best log loss by 3-fold cross-validation of 500 rows, 0."
    assert auto.reason_.startswith(why)
    assert "(weights: gaussian " in auto.reason_
    assert f"# chosen: {why}" in repr(auto)
    assert "chosen" not in repr(clone(auto))
    assert f"Chosen among others: {why}" in unnaive.report(auto, X[:40], y[:40]).html
    assert isinstance(auto.answer_.root, Ensemble)
    single = AutoClassifier(models=["gaussian", "forest"], cv=3, pool=False, random_state=0).fit(
        X, y
    )
    assert {r.name for r in single.comparison_.results} == {"gaussian", "forest"}
    assert single.best_name_ == min(("gaussian", "forest"), key=results.get)


def test_a_time_budget_keeps_time_for_the_pool(monkeypatch):
    """A clock that counts fits: each fit takes one second, all else none."""
    now = [0.0]

    class Slow(NaiveBayesClassifier):
        def fit(self, X, y, sample_weight=None):
            now[0] += 1.0
            return super().fit(X, y, sample_weight)

    module = sys.modules["unnaive.choose.compare"]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(module, "_estimate_costs", lambda c, *_: dict.fromkeys(c, 0))
    X, y = mixed_table(60)
    three = {name: Slow(alpha=k + 1.0) for k, name in enumerate("abc")}
    given = {"models": [], "estimators": three, "cv": 2, "random_state": 0}
    # Two models take 4 s in folds and 2 s for their pool; a third one would take 3 s more.
    auto = AutoClassifier(time_budget=8.5, **given).fit(X, y)
    results = {r.name: r for r in auto.comparison_.results}
    assert results["pool"].quality is not None
    assert results["c"].left_out
    assert auto.reason_.endswith("The time budget left out 'c'.")
    assert now[0] <= 8.5


def test_readable_keeps_to_evidence_that_adds_up():
    X, y = mixed_table(150)
    auto = AutoClassifier(
        models=["nb", "boosted", "c45", "forest"], cv=2, readable=True, random_state=0
    ).fit(X, y)
    tried = {r.name: r.estimator for r in auto.comparison_.results}
    assert set(tried) == {"nb", "boosted", "pool"}
    assert [name for name, _ in tried["pool"].estimators] == ["nb", "boosted"]
    assert auto.reason_.endswith("whose evidence adds up over columns were compared.")
    with pytest.raises(ValueError, match="readable=True leaves nothing"):
        AutoClassifier(models=["c45"], readable=True).fit(X, y)
