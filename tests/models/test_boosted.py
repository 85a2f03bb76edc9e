"""Boosted naive Bayes against its twin, its laws and its edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reference_boosting as reference
from blocks import split_memory
from helpers import assert_same_model, mixed_table, nominal_table
from unnaive import BoostedNaiveBayesClassifier, NaiveBayesClassifier
from unnaive.encode.hashing import branch_seeds, draw_uniform

BOOSTED = BoostedNaiveBayesClassifier


def twin_of(model, X, y, weights):
    start = int(np.random.RandomState(model.random_state).randint(2**31 - 1))
    seeds = branch_seeds(start, 25)
    fresh = lambda k: 0.9 + 0.2 * draw_uniform(int(seeds[k]), np.arange(len(y)))  # noqa: E731
    twin = reference.Boosting(
        model.algorithm, model.n_estimators, model.learning_rate, model.alpha,
        model.classes_.tolist(), fresh,
    )  # fmt: skip
    return twin.fit(X.to_numpy().tolist(), y.tolist(), weights)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("algorithm", ["real", "probability", "m1", "samme"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_equals_the_twin(seed, algorithm, classes):
    X, y, weights = nominal_table(seed, classes=classes)
    weights = weights if seed % 2 else np.ones(len(y), dtype=int)
    rate = 0.5 if algorithm == "real" else 1.0
    model = BOOSTED(
        algorithm=algorithm, n_estimators=6, learning_rate=rate, calibration="none",
        random_state=seed,
    )  # fmt: skip
    model.fit(X, y, weights)
    twin = twin_of(model, X, y, weights.tolist())
    assert len(twin.rounds) == len(model.estimator_weights_)
    assert twin.restarts == model.n_restarts_
    np.testing.assert_allclose(model.estimator_weights_, [r[0] for r in twin.rounds], rtol=1e-5)
    np.testing.assert_allclose(model.estimator_errors_, [r[3] for r in twin.rounds], atol=1e-5)
    expected = [twin.probabilities(row) for row in X.to_numpy().tolist()]
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)


def test_the_twin_saw_rounds_and_restarts():
    lengths, restarts = [], 0
    for seed in range(6):
        for algorithm in ("real", "probability", "m1", "samme"):
            X, y, _ = nominal_table(seed, classes=3)
            model = BOOSTED(algorithm=algorithm, n_estimators=6, random_state=seed).fit(X, y)
            lengths.append(len(model.estimator_weights_))
            restarts += model.n_restarts_
    assert lengths.count(6) >= 9
    assert restarts > 0


@pytest.mark.parametrize("algorithm", ["real", "probability", "m1", "samme"])
def test_blocks_of_rows_give_the_same_model(algorithm, monkeypatch):
    """However a source splits its rows: sums are exact, draws go by row number."""
    X, y = mixed_table(500)
    model = BOOSTED(algorithm=algorithm, random_state=0)
    whole = clone(model).fit(X, y)
    split_memory(monkeypatch, [0, 1, 130, 411, 500])
    assert_same_model(whole, clone(model).fit(X, y))


@pytest.mark.parametrize("missing", ["skip", "value"])
def test_columns_are_judged_without_the_row_by_its_weight_in_every_round(missing, monkeypatch):
    """Against the definition: tables counted again, row by row, without it."""
    X, y, weights = nominal_table(3, classes=3)
    kept = {}

    def remember(model, node, rows, by_column):
        booster, kept["rounds"] = model._rounds
        coded = booster.binned.coder(rows.block)
        kept["rows"], kept["units"] = rows, [*booster.replay(kept["rounds"], coded)]
        kept["held_out"] = leave_out(model, node, rows, by_column)
        return kept["held_out"]

    leave_out = BOOSTED._leave_out
    monkeypatch.setattr(BOOSTED, "_leave_out", remember)
    BOOSTED(n_estimators=4, missing=missing, alpha=0.7).fit(X, y, weights)
    rounds, scores, rows = kept["rounds"], kept["held_out"].scores, kept["rows"]
    weight = rows.sample_weight
    for unit, one in zip(kept["units"], rounds, strict=True):  # the weights that were counted
        np.testing.assert_allclose(np.bincount(rows.y, unit * weight), one.counts.totals)
    for j, column in enumerate(X.columns):
        values = X[column].iloc[rows.block.row_ids].to_numpy()
        gap = pd.isna(values)
        is_value = np.ones(len(gap), dtype=bool) if missing == "value" else ~gap
        n_values = len(set(values[~gap])) + (missing == "value" and gap.any())
        for i in np.flatnonzero(is_value)[:30]:
            g, expected = rows.y[i], 0.0
            alike = gap if gap[i] else values == values[i]
            for unit, one in zip(kept["units"], rounds, strict=True):
                each = np.where(rows.y == g, unit * weight, 0.0)
                each[i] -= unit[i]
                share = (each[alike].sum() + 0.7) / (each[is_value].sum() + 0.7 * n_values)
                expected += one.vote * np.log(share)
            assert scores[i, 1 + j, g] == pytest.approx(expected, rel=1e-6)


def test_calibrated_rounds_know_no_order_and_weight_is_repetition():
    X, y, weights = nominal_table(1, classes=3)
    model = BOOSTED(n_estimators=4).fit(X, y, weights)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), weights))
    again = BOOSTED(n_estimators=4).fit(X.iloc[order], y[order])
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-5)


def test_more_rounds_fit_better_and_early_stopping_keeps_the_best():
    X, y = mixed_table(1500, classes=2)
    rng = np.random.default_rng(1)
    X["noise"], X["copy"] = rng.random(len(y)), X["plan"]
    few, many = (BOOSTED(n_estimators=n, calibration="none").fit(X, y) for n in (1, 20))
    assert many.score(X, y) >= few.score(X, y)
    stopped = BOOSTED(
        n_estimators=200, learning_rate=1.0, early_stopping=True, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    assert 1 <= len(stopped.estimator_weights_) < 200
    assert stopped.validation_loss_[-1] == stopped.validation_loss_.min()
    assert few.validation_loss_.size == 0


@pytest.mark.parametrize("algorithm", ["m1", "samme"])
def test_a_round_without_error_decides_alone(algorithm):
    X = pd.DataFrame({"a": list("xxyyzz") * 5, "b": list("pqrpqr") * 5})
    y = [0, 0, 1, 1, 2, 2] * 5
    model = BOOSTED(algorithm=algorithm, random_state=0).fit(X, y)
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.score(X, y) == 1


def test_nothing_better_than_chance_leaves_naive_bayes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("pq"), 60)})
    y = np.arange(60) % 4
    model = BOOSTED(algorithm="m1", calibration="none", random_state=0).fit(X, y)
    assert model.n_restarts_ == 25
    assert len(model.estimator_weights_) == 1
    assert (model.predict(X) == NaiveBayesClassifier().fit(X, y).predict(X)).all()
    share = model.score(X, y)  # as sure as it is right
    np.testing.assert_allclose(model.predict_proba(X).max(axis=1), max(share, 0.25), atol=1e-6)


def test_one_class_only():
    X, _ = mixed_table(30)
    for algorithm in ("real", "probability", "m1", "samme"):
        model = BOOSTED(algorithm=algorithm, random_state=0).fit(X, ["yes"] * 30)
        assert (model.predict_proba(X) == 1).all()


def test_columns_of_many_values_unseen_values_and_grouped_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"id": [f"v{k}" for k in rng.integers(0, 9000, 12_000)], "x": rng.random(12_000)}
    )
    y = (X["x"] > 0.5) | (X["id"] < "v5")
    full = BOOSTED().fit(X, y)
    grouped = BOOSTED(max_categories=40).fit(X, y)
    assert full.score(X, y) > grouped.score(X, y) > 0.6
    new = X.assign(id="never seen")
    assert np.isfinite(full.predict_proba(new)).all()


def test_class_weights_equal_row_weights():
    X, y = mixed_table(300, classes=2)
    weights = {"no": 3.0, "maybe": 1.0}
    model = BOOSTED(algorithm="m1", random_state=0)
    by_row = clone(model).fit(X, y, sample_weight=[weights[v] for v in y]).predict_proba(X)
    by_class = clone(model).set_params(class_weight=weights).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(by_class, by_row)


def test_xor_is_beyond_it():
    """As the papers say: rounds of a linear model stay linear."""
    X = pd.DataFrame({"a": list("0011") * 25, "b": list("0101") * 25})
    y = (X["a"] != X["b"]).astype(int)
    for algorithm in ("real", "probability", "m1", "samme"):
        for seed in range(3):
            model = BOOSTED(algorithm=algorithm, random_state=seed, n_estimators=20)
            bare = clone(model).set_params(calibration="none")
            assert bare.fit(X, y).score(X, y) <= 0.75
            assert model.fit(X, y).predict_proba(X).max() < 0.51  # and knows it


def test_joint_log_probabilities_are_those_of_real_votes_only():
    X, y = mixed_table(50)
    with pytest.raises(AttributeError, match="no attribute 'predict_joint_log_proba'") as found:
        _ = BOOSTED(algorithm="m1", random_state=0).fit(X, y).predict_joint_log_proba
    assert "does not add up column by column" in str(found.value.__cause__)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number, 1 or more; got 0"),
        (
            {"algorithm": "m2"},
            "algorithm must be 'real' or 'probability' or 'm1' or 'samme'; got 'm2'",
        ),
        ({"learning_rate": -1}, "learning_rate must be a number"),
        ({"validation_fraction": 2}, "validation_fraction must be a number, from 0 to 1; got 2"),
        ({"alpha": -1}, "alpha must be a number, 0 or more; got -1"),
        ({"missing": "drop"}, "missing must be 'skip' or 'value'; got 'drop'"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        BOOSTED(**parameters).fit(X, y)
