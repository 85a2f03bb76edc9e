"""Explanations as tables: reason codes, scorecards, importance, and how facts print."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_selection import RFE, SelectFromModel

import unnaive.explain as explain
from explained import EVERY, ROWS, X, Y, fitted
from unnaive import (
    C45Classifier,
    NaiveBayesClassifier,
    UnnaiveBayesClassifier,
    explain_rows,
    importance_of,
    scorecard,
    to_sql,
)
from unnaive.common.facts import Facts

every = pytest.mark.parametrize("k", range(len(EVERY)), ids=[repr(m) for m in EVERY])


def xor_pair():
    """A model with evidence of a pair, and its rows."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (400, 3)), columns=["a", "b", "c"]).astype(str)
    model = UnnaiveBayesClassifier(n_bags=2, max_rounds=60, random_state=0)
    return model.fit(table, np.where(table.a == table.b, "same", "other")), table


# How facts print ----------------------------------------------------------------------------


def test_every_fact_is_a_table():
    found = [getattr(explain, name) for name in explain.__all__]
    assert all(issubclass(each, Facts) for each in found if dataclasses.is_dataclass(each))


def test_tables_print_show_and_become_frames():
    model = fitted(0)
    row = explain_rows(model, ROWS)[0]
    changed = explain.what_if(model, ROWS[:1], {"age": 30})
    tree = explain.tree_of(C45Classifier().fit(X, Y))
    facts = [
        explain.evidence_of(model),
        explain.evidence_of(model).attributes[0],
        row,
        row.evidence,
        explain.waterfall_of(row),
        explain.discriminate(model, *model.classes_[:2]),
        importance_of(model, X, Y),
        explain.quality_of(model, X, Y),
        explain.quality_of(model, X, Y).calibration,
        changed,
        tree,
        tree[0],
        model.evidence(ROWS),
        explain_rows(model, ROWS, top=2),
        scorecard(model, label=model.classes_[0], against=model.classes_[1]),
    ]
    for fact in facts:
        frame, other = fact.to_frame(), fact.to_frame("polars")
        assert isinstance(frame, pd.DataFrame)
        assert isinstance(other, pl.DataFrame)
        assert list(frame) == other.columns
        assert len(frame) == len(other) > 0
        assert next(iter(frame)) in repr(fact).splitlines()[1]
        assert f"{list(frame)[-1]}</th>" in fact._repr_html_()
    with pytest.raises(ValueError, match=r"library must be one of pandas, .*; got 'vaex'"):
        facts[0].to_frame("vaex")


def test_hostile_names_cannot_open_elements_of_a_notebook():
    table = pd.DataFrame({"<b>": ["<script>", "x"] * 20})
    fact = explain.evidence_of(NaiveBayesClassifier().fit(table, [0, 1] * 20))
    assert "<script>" not in fact._repr_html_()
    assert "<b>" not in fact._repr_html_()


# Reason codes -------------------------------------------------------------------------------


@every
def test_reasons_are_the_strongest_evidence_for_the_predicted_class(k):
    model = fitted(k)
    reasons = explain_rows(model, ROWS, top=3)
    np.testing.assert_array_equal(
        reasons.labels, model.classes_[model.predict_proba(ROWS).argmax(1)]
    )
    frame = reasons.to_frame()
    assert list(frame) == ["row", "rank", "column", "value", "evidence", "words"]
    for i, row in enumerate(explain_rows(model, ROWS)):
        said = row.weights[:, row.probabilities.argmax()]
        best = np.sort(said[said > 0])[::-1][:3]
        own = frame[frame.row == i]
        assert own["rank"].tolist() == list(range(1, len(best) + 1))
        np.testing.assert_allclose(own.evidence, best, atol=1e-9)
        for name, value, size in zip(own.column, own.value, own.evidence, strict=True):
            j = row.features.index(name)
            assert size == pytest.approx(said[j], abs=1e-9)
            if row.states[j] != "value":
                assert value == row.values[j]


def test_reasons_speak_for_a_class_and_name_intervals():
    table = pd.DataFrame({"age": np.arange(200.0) % 80, "job": ["a", "b"] * 100})
    model = NaiveBayesClassifier().fit(table, np.where(table.age < 40, "bad", "good"))
    frame = explain_rows(model, table[:1], top=2, label="bad").to_frame()
    assert frame.words.tolist() == ["age at most 39: for bad"]
    assert frame.value.tolist() == ["0"]
    assert len(explain_rows(model, table[:1], top=2, label="good").to_frame()) == 0
    with pytest.raises(ValueError, match="top must be a whole number, 1 or more; got 0"):
        explain_rows(model, table, top=0)
    with pytest.raises(ValueError, match="label goes with top"):
        explain_rows(model, table, label="bad")


def test_reasons_do_not_depend_on_chunks_or_threads(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, (700, 6)).astype(float)).rename(columns=str)
    table["kind"] = pd.Categorical.from_codes(rng.integers(-1, 3, 700), ["a", "b", "c"])
    table["copy"] = table["5"]  # of equally strong bars the first is named
    model = NaiveBayesClassifier().fit(table, (table["0"] + table["5"] > 3) + (table.kind == "a"))
    whole = explain_rows(model, table, top=3).to_frame()
    monkeypatch.setattr("unnaive.explain.rows.CELLS", 64 * 16)
    for n_jobs in (1, 3):
        pieces = explain_rows(model.set_params(n_jobs=n_jobs), table, top=3).to_frame()
        pd.testing.assert_frame_equal(pieces, whole)


def test_rows_of_a_file_are_explained_block_by_block(monkeypatch, tmp_path):
    model, table = xor_pair()
    table[:50].to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("unnaive.table.arrow.block_rows", lambda n_columns: 16)
    memory, far = (explain_rows(model, X, top=2) for X in (table[:50], tmp_path / "rows.parquet"))
    for name in ("labels", "bars", "evidence", "values", "words"):
        np.testing.assert_array_equal(getattr(far, name), getattr(memory, name))
    assert far.to_frame().equals(memory.to_frame())
    each = [explain_rows(model, X) for X in (table[:50], tmp_path / "rows.parquet")]
    assert [why.values for why in each[0]] == [why.values for why in each[1]]


def test_a_value_is_written_alike_whatever_rows_come_with_it():
    moments = np.array(["2024-01-01", "2024-01-02T10:30", "2024-01-01"], "datetime64[us]")
    table = pd.DataFrame({"x": [0.1, 0.1, 1 / 3], "moment": moments})
    model = NaiveBayesClassifier(numeric="width").fit(table, [0, 1, 1])
    together = [why.values for why in explain_rows(model, table)]
    assert together == [explain_rows(model, table[k : k + 1])[0].values for k in range(3)]
    assert together[1:] == [("0.1", "2024-01-02T10:30"), ("0.333333", "2024-01-01")]


def test_pairs_are_reasons():
    model, table = xor_pair()
    frame = explain_rows(model, table[:4], top=1).to_frame()
    assert set(frame.column) == {"a x b"}
    a, b = table.a[0], table.b[0]
    assert frame.value[0] == f"{a}, {b}"
    assert frame.words[0] == f"a is {a} and b is {b}: for {model.predict(table[:1])[0]}"


# Scorecards ---------------------------------------------------------------------------------


def score_by_table(card, rows):
    """A scorecard read from its printed table, value by value."""
    frame = card.to_frame()
    points = {(c, v): p for c, v, p in frame.itertuples(index=False)}
    total = np.full(len(rows), points["base", ""])
    for name in rows:
        total += [points[name, "missing" if v is None else v] for v in rows[name]]
    return total


def test_points_of_a_scorecard_add_up_to_the_rounded_log_odds():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.choice(["p", "q", "r"], (300, 4)), columns=list("abcd"))
    y = np.where((table.a == "p") ^ (rng.random(300) < 0.2), "good", "bad")
    model = NaiveBayesClassifier().fit(table, y)
    card = scorecard(model, points=20, base=600, odds=50)
    score = card.score(table)
    np.testing.assert_array_equal(score, score_by_table(card, table))
    joint = model.predict_joint_log_proba(table)
    exact = 600 + 20 * ((joint[:, 1] - joint[:, 0]) - np.log(50)) / np.log(2)
    assert np.abs(score - exact).max() <= card.rounding <= 0.5 * (1 + table.shape[1])
    assert card.probability(600) == pytest.approx(50 / 51)
    assert card.probability(580) == pytest.approx(25 / 26)
    fine = scorecard(model, points=20_000)
    np.testing.assert_allclose(
        fine.probability(fine.score(table)), model.predict_proba(table)[:, 1], atol=1e-4
    )


def test_a_scorecard_is_the_same_in_sql():
    import duckdb

    model, table = xor_pair()
    card = scorecard(model)
    assert card.scorer.pairs
    rows = table.assign(key=np.arange(len(table)))
    rows.loc[0, "a"], rows.loc[1, "c"] = None, "new"
    con = duckdb.connect()
    con.register("rows_of_table", rows)
    found = con.sql(to_sql(card, "rows_of_table", keep="key")).df().sort_values("key")
    assert list(found) == ["key", "score"]
    np.testing.assert_array_equal(found.score, card.score(rows[list("abc")]))


def test_what_has_no_scorecard_says_why():
    with pytest.raises(TypeError, match="the evidence of this C45Classifier does not add up"):
        scorecard(C45Classifier().fit(X, Y))
    with pytest.raises(ValueError, match=r"column 'age' has a density.*numeric='mdl'"):
        scorecard(NaiveBayesClassifier(numeric="gaussian").fit(X, Y))
    with pytest.raises(ValueError, match="3 classes; name the two"):
        scorecard(fitted(0))
    with pytest.raises(ValueError, match="odds must be a number above 0; got 0"):
        scorecard(fitted(0), odds=0)


# Importance ---------------------------------------------------------------------------------


def copies(n=600):
    """Two columns that say the same, one that says something else, one that says nothing."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    noisy = np.where(rng.random(n) < 0.1, 1 - y, y)
    other = np.where(rng.random(n) < 0.35, 1 - y, y)
    table = {"status": noisy, "relation": noisy, "other": other, "noise": rng.integers(0, 3, n)}
    return pd.DataFrame(table).astype(str), y


def test_columns_that_repeat_each_other_rank_high_and_are_said_to():
    table, y = copies()
    importance = importance_of(NaiveBayesClassifier().fit(table, y), table, y)
    assert importance.to_frame().column.tolist() == ["status", "relation", "other", "noise"]
    assert importance.notes == (
        "counted twice with relation",
        "counted twice with status",
        "",
        "",
    )
    assert importance.drop[0] < importance.drop[2]  # which misleads: it is counted twice
    by_loss = importance_of(NaiveBayesClassifier().fit(table, y), table, y, by="loss")
    assert by_loss.features[by_loss.order[0]] == "other"
    joint = UnnaiveBayesClassifier(n_bags=2, max_rounds=20, random_state=0).fit(table, y)
    assert not any(importance_of(joint, table, y).notes)  # learned together: nothing counts twice
    with pytest.raises(ValueError, match="by='loss' needs labels"):
        importance_of(joint, table, by="loss")


@every
def test_every_estimator_has_importances_of_features(k):
    shares = fitted(k).feature_importances_
    assert shares.shape == (X.shape[1],)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1.0)


def test_pairs_are_shared_between_their_columns():
    model, table = xor_pair()
    shares = dict(zip(table, model.feature_importances_, strict=True))
    assert min(shares["a"], shares["b"]) > 5 * shares["c"]
    importance = importance_of(model, table)
    assert importance.to_frame().column[0] == "a x b"


def test_selectors_of_scikit_learn_read_the_importances():
    table, y = copies()
    kept = SelectFromModel(NaiveBayesClassifier(), threshold="mean").fit(table, y)
    assert list(kept.get_feature_names_out()) == ["status", "relation"]
    ranked = RFE(NaiveBayesClassifier(), n_features_to_select=3).fit(table, y)
    assert list(ranked.get_feature_names_out()) == ["status", "relation", "other"]
