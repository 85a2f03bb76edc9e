"""Thresholds and costs: predict, files, SQL, explanations and wrappers choose the same class."""

from __future__ import annotations

import io

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import mixed_table
from registry import CLASSIFIERS, META
from unnaive import (
    AutoClassifier,
    ClassDecompositionClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    evidence_of,
    explain_rows,
    export_text,
    importance_of,
    load,
    quality_of,
    report,
    save,
    scorecard,
    to_sql,
)
from unnaive.answer import Decision
from unnaive.explain.model import read_model
from unnaive.store import ModelFileError

X, Y = mixed_table(240, seed=3)
TWO = np.where(Y == "yes", "yes", "no")
COSTS = np.array([[0.0, 2.0, 1.0], [5.0, -1.0, 3.0], [4.0, 8.0, 0.0]])


def slow_choice(p, costs):
    """The class of least expected cost, from the definition; the first among equals."""
    chosen = []
    for row in p:
        expected = [sum(row[c] * costs[c][a] for c in range(len(row))) for a in range(len(row))]
        chosen.append(min(range(len(row)), key=lambda a: expected[a]))
    return np.array(chosen)


def stored(model):
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    return load(file)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *META], ids=str)
def test_every_model_decides_by_costs_threshold_and_balance_and_keeps_that_in_its_file(model):
    from sklearn.base import clone

    fitted = clone(model).fit(X, Y)
    p, before = fitted.predict_proba(X), fitted.predict(X)
    decided = fitted.with_decision(COSTS)
    expected = fitted.classes_[slow_choice(p, COSTS)]
    np.testing.assert_array_equal(decided.predict(X), expected)
    np.testing.assert_array_equal(stored(decided).predict(X), expected)
    np.testing.assert_array_equal(decided.predict_proba(X), p)
    np.testing.assert_array_equal(fitted.predict(X), before)
    np.testing.assert_array_equal(decided.with_decision(None).predict(X), before)
    shares = np.array([(c == Y).mean() for c in fitted.classes_])
    balanced = fitted.with_decision("balanced").decision
    scaled = balanced.costs / balanced.costs.max()
    rare = np.where(np.eye(3), 0.0, (shares.min() / shares)[:, None])
    np.testing.assert_allclose(scaled, rare / rare.max(), atol=0.02)
    assert quality_of(decided, X, Y).accuracy == np.mean(expected == Y)


def test_a_threshold_is_met_exactly_for_either_class():
    model = NaiveBayesClassifier().fit(X, TWO)
    p = model.predict_proba(X)
    for threshold in (0.0, 0.3, float(p[17, 1]), float(p[4, 0]), 1.0):
        second = model.with_decision(threshold).predict(X)
        np.testing.assert_array_equal(second == "yes", p[:, 1] >= threshold)
        first = model.with_decision(threshold, positive="no").predict(X)
        np.testing.assert_array_equal(first == "no", p[:, 0] >= threshold)
    costs = {("yes", "no"): 4, ("no", "yes"): 1}
    assert model.with_decision(costs).decision.threshold == pytest.approx(0.2)
    given = model.with_decision([[0, 1], [4, 0]]).decision
    assert model.with_decision(given).decision is given
    assert given.threshold == 0.2


def test_tables_of_answers_have_a_column_with_the_decision(tmp_path):
    model = NaiveBayesClassifier().fit(X, Y)
    decided = model.with_decision(COSTS)
    table = pq.read_table(decided.predict_to(X, tmp_path / "a.parquet")).to_pydict()
    assert table["prediction"] == model.predict(X).tolist()
    assert table["decision"] == decided.predict(X).tolist()
    assert "decision" not in pq.read_table(model.predict_to(X, tmp_path / "b.parquet")).column_names
    rows = X.assign(key=np.arange(len(X)))  # noqa: F841
    for each in (decided, NaiveBayesClassifier().fit(X, TWO).with_decision(0.35, positive="no")):
        answers = duckdb.sql(to_sql(each, "rows", keep="key")).df().sort_values("key")
        assert answers["decision"].tolist() == each.predict(X).tolist()
    assert "decision" not in to_sql(model, "rows")
    assert "decision" not in to_sql(decided, "rows", decision=None)


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        (0.3, "a threshold needs 2 classes, but the model has 3; give costs instead"),
        ("fair", "decide must be a threshold, costs or 'balanced'; got 'fair'"),
        ([[0, 1], [1, 0]], r"a row for each of the 3 true classes .* got the shape \(2, 2\)"),
        (np.eye(3), "deciding 'no' about a row of 'maybe' costs less .* minus the gain"),
        ({("yes", "perhaps"): 1}, "there is no class 'perhaps'; the classes are 'maybe', 'no'"),
        ({"yes": 1}, "costs are given as .* got the key 'yes'"),
        ({("yes", "no"): None}, "must be a number; got None"),
        (np.full((3, 3), np.inf), "costs must be finite numbers"),
        (object(), "decide must be a threshold, costs, 'balanced' or None"),
        (Decision(np.zeros((2, 2)), 0.5), "the decision is about 2 classes, not 3"),
    ],
)
def test_decisions_that_make_no_sense_are_refused_by_name(decide, words):
    model = NaiveBayesClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        model.with_decision(decide)


def test_two_classes_refuse_thresholds_out_of_range_and_costs_without_a_difference():
    model = NaiveBayesClassifier().fit(X, TWO)
    with pytest.raises(ValueError, match="from 0 to 1; got 1.5"):
        model.with_decision(1.5)
    with pytest.raises(ValueError, match="all decisions cost the same"):
        model.with_decision(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="positive: there is no class 'si'"):
        model.with_decision(0.5, positive="si")


def test_scores_of_labels_that_no_model_knows_raise_and_few_count_as_wrong(tmp_path):
    model = NaiveBayesClassifier().fit(X, Y)
    strange = np.where(np.arange(len(Y)) < 24, "aardvark", Y)
    assert model.score(X, strange) == pytest.approx(np.mean(model.predict(X) == strange))
    path = tmp_path / "rows.parquet"
    X.assign(y=np.arange(len(X)) % 2, known=strange).to_parquet(path)
    assert model.score(path, "known") == pytest.approx(model.score(X, strange))
    for judge in (model.score, lambda *rows: quality_of(model, *rows)):
        with pytest.raises(ValueError, match="that the model knows: y has 0, 1, but the"):
            judge(X, np.arange(len(X)) % 2)
        with pytest.raises(ValueError, match="give labels as they were in fitting"):
            judge(path, "y")


def test_quality_from_files_is_that_of_memory(tmp_path):
    model = NaiveBayesClassifier().fit(X, Y).with_decision(COSTS)
    path = tmp_path / "rows.parquet"
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    strange = np.where(np.arange(len(Y)) < 5, "aardvark", Y)
    X.assign(y=strange, w=weight).to_parquet(path, row_group_size=50)
    near, far = quality_of(model, X, strange, weight), quality_of(model, path, "y", "w")
    for name in ("accuracy", "log_loss", "brier", "calibration_error", "mean_cost", "macro_f1"):
        assert getattr(far, name) == pytest.approx(getattr(near, name), rel=1e-9)
    np.testing.assert_allclose(far.confusion, near.confusion)
    np.testing.assert_allclose(far.calibration.low, near.calibration.low)
    assert far.classes.tolist() == ["maybe", "no", "yes", "(unknown class)"]
    assert far.roc_auc == pytest.approx(near.roc_auc, abs=1e-12)


def test_curves_of_too_many_rows_are_those_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("unnaive.explain.quality.MAX_ROWS", 60)
    model, path = NaiveBayesClassifier().fit(X, Y), tmp_path / "rows.parquet"
    X.assign(y=Y).to_parquet(path, row_group_size=50)
    near, far = quality_of(model, X, Y), quality_of(model, path, "y")
    assert 20 < far.calibration.weight[0].sum() <= 60
    assert far.log_loss == pytest.approx(near.log_loss, rel=1e-12)
    assert far.n_rows == len(X)
    assert far.roc_auc == quality_of(model, path, "y").roc_auc


# Inside other estimators ---------------------------------------------------------------------


def wrappers():
    inner = NaiveBayesClassifier()
    return {
        "fixed": FixedThresholdClassifier(inner, threshold=0.3, pos_label="no"),
        "tuned": TunedThresholdClassifierCV(inner, cv=3),
        "search": GridSearchCV(inner, {"alpha": [0.5]}, cv=2),
        "idle pipeline": make_pipeline(
            "passthrough", FixedThresholdClassifier(inner, threshold=0.7, pos_label="yes")
        ),
        "auto": AutoClassifier(models=["nb"], cv=2),
        "decomposed": ClassDecompositionClassifier(random_state=0),
    }


@pytest.mark.parametrize("name", wrappers())
def test_a_model_inside_is_reported_explained_exported_and_saved_as_the_wrapper_predicts(name):
    model = wrappers()[name].fit(X, TWO)
    expected = model.predict(X)
    np.testing.assert_array_equal(stored(model).predict(X), expected)
    rows = X.assign(key=np.arange(len(X)))  # noqa: F841
    answers = duckdb.sql(to_sql(model, "rows", keep="key")).df().sort_values("key")
    column = "decision" if "decision" in answers else "prediction"
    assert answers[column].tolist() == expected.tolist()
    assert read_model(model).answer.classes.tolist() == ["no", "yes"]
    assert len(explain_rows(model, X.iloc[:2])) == 2
    assert len(importance_of(model, X, TWO).features) == X.shape[1]
    assert evidence_of(model).attributes
    assert quality_of(model, X, TWO).accuracy == np.mean(expected == TWO)


def test_a_pipeline_is_explained_by_what_its_last_step_sees_and_says_why_it_is_not_saved():
    table = pd.DataFrame({"age": X["age"].fillna(0), "income": X["income"].fillna(0)})
    model = make_pipeline(StandardScaler(), NaiveBayesClassifier()).fit(table, TWO)
    facts = explain_rows(model, table.iloc[:3])
    for i, each in enumerate(facts):
        np.testing.assert_allclose(each.probabilities, model.predict_proba(table.iloc[[i]])[0])
    assert "Naive Bayes" in report(model, table, TWO).html
    with pytest.raises(TypeError, match="a Pipeline with StandardScaler cannot be written as SQL"):
        to_sql(model, "t")
    with pytest.raises(ModelFileError, match="fit the NaiveBayesClassifier on the columns"):
        save(model, io.BytesIO())


def test_an_auto_classifier_that_also_tried_other_libraries_says_how_to_save_it():
    table = X[["age", "income"]].fillna(0)
    tried = {"logistic": LogisticRegression(), "nb of mine": NaiveBayesClassifier()}
    model = AutoClassifier(models=[], estimators=tried, cv=2).fit(table, TWO)
    with pytest.raises(
        ModelFileError, match=r"Call set_params\(estimators=...\) with plain values"
    ):
        save(model, io.BytesIO())
    model.best_estimator_ = NaiveBayesClassifier().fit(table, TWO)
    np.testing.assert_array_equal(
        stored(model.set_params(estimators=None)).predict(table), model.predict(table)
    )
    model.best_estimator_ = LogisticRegression().fit(table, TWO)
    decided = model.with_decision(0.2).predict(table)
    np.testing.assert_array_equal(decided == "yes", model.predict_proba(table)[:, 1] >= 0.2)
    with pytest.raises(ModelFileError, match="Use skops or joblib instead"):
        save(model, io.BytesIO())
    for act in (evidence_of, lambda m: to_sql(m, "t")):
        with pytest.raises(TypeError, match="LogisticRegression .* classifiers of this library"):
            act(model)


def test_trees_inside_are_text_and_a_scorecard_says_what_to_pass():
    tree = NBTreeClassifier(max_depth=1, random_state=0).fit(X, TWO)
    fixed = FixedThresholdClassifier(FrozenEstimator(tree))
    for model in (make_pipeline("passthrough", tree), fixed):
        assert export_text(model.fit(X, TWO)) == export_text(tree)
    model = TunedThresholdClassifierCV(NaiveBayesClassifier(), cv=2).fit(X, TWO)
    with pytest.raises(TypeError, match="got a TunedThresholdClassifierCV. Pass the one inside"):
        scorecard(model)
    assert len(scorecard(model.estimator_).to_frame())


def test_what_has_no_evidence_says_what_to_do():
    calibrated = CalibratedClassifierCV(NaiveBayesClassifier(), cv=2).fit(X, TWO)
    tuned = TunedThresholdClassifierCV(calibrated, cv=2).fit(X, TWO)
    for act in (evidence_of, lambda m: report(m, X), lambda m: to_sql(m, "t")):
        for model in (calibrated, tuned):
            with pytest.raises(TypeError, match=r"with calibration='slope', or .*\.estimator"):
                act(model)
    with pytest.raises(ModelFileError, match="use a NaiveBayesClassifier by itself"):
        save(calibrated, io.BytesIO())
    table = X[["age", "income"]].fillna(0)
    foreign = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, TWO)
    with pytest.raises(TypeError, match="report shows classifiers of this library"):
        report(foreign, table)
    with pytest.raises(TypeError, match="is not made of naive Bayes parts"):
        evidence_of(foreign)
