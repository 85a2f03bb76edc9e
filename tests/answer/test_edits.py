"""Corrections by experts: on record, followed by all that reads a model, and taken back."""

from __future__ import annotations

import io
import sqlite3

import numpy as np
import pandas as pd
import pytest

from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    NaiveBayesClassifier,
    UnnaiveBayesClassifier,
    evidence_of,
    load,
    merge,
    report,
    save,
    subtract,
    to_sql,
)
from unnaive.answer import edit, edits_of, flatten, make_monotone, undo
from unnaive.answer.edits import with_edits

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame({
    "age": RNG.normal(40, 10, N).round(1),
    "job": RNG.choice(["none", "part", "full"], N),
    "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), unit="D"),
})  # fmt: skip
Y = np.where((X["age"] - 40) / 10 + (X["job"] == "full") + RNG.normal(size=N) > 0.4, "good", "bad")
BY = {"by": "Ann", "reason": "the rule has changed"}
MODELS = [
    NaiveBayesClassifier(),
    UnnaiveBayesClassifier(max_rounds=20, random_state=0),
    BoostedNaiveBayesClassifier(n_estimators=3),
]


def saved(model):
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def corrected(model):
    model = edit(model, "job", "part", evidence=-2.5, **BY)
    model = make_monotone(model, "age", increasing=False, **BY)
    return edit(model, "age", 41.0, evidence=0.75, label="bad", **BY)


def says(model, column, rows):
    """Evidence for the second class, of one column."""
    j = list(X.columns).index(column)
    bars = model.evidence(rows).contributions[:, j]
    return bars[:, 1] - bars[:, 0]


@pytest.mark.parametrize("estimator", MODELS, ids=lambda m: type(m).__name__)
def test_all_that_reads_a_model_follows_a_correction_and_undo_takes_it_back(estimator, tmp_path):
    model = estimator.fit(X, Y)
    before = saved(model)
    new = edit(model, "job", "part", evidence=-2.5, **BY)
    rows = X[X["job"] == "part"][:5]
    assert np.allclose(says(new, "job", rows), -2.5)
    others = X[X["job"] == "full"]
    assert (new.predict_proba(others) == model.predict_proba(others)).all()
    save(new, tmp_path / "m.unv")
    again = load(tmp_path / "m.unv")
    assert (again.predict_proba(X) == new.predict_proba(X)).all()
    assert edits_of(again) == edits_of(new)
    (facts,) = [c for c in evidence_of(new).attributes if c.name == "job"]
    assert np.isclose(facts.weights[list(facts.values).index("part"), 1], -2.5)
    page = report(new, X, Y).html
    assert "Corrected: evidence of job = &#39;part&#39; set to -2.5 for good by Ann" in page
    statement = to_sql(new, "t", dialect="sqlite")
    assert statement.startswith("-- evidence of job = 'part' set to -2.5 for good by Ann on 20")
    with sqlite3.connect(":memory:") as db:
        X[["age", "job"]].assign(when=X["when"].astype(str)).to_sql("t", db)
        p = pd.read_sql(statement, db)["probability_good"]
    assert np.abs(p - new.predict_proba(X)[:, 1]).max() < 1e-9
    assert saved(model) == before
    assert saved(undo(again)) == before


@pytest.mark.parametrize("estimator", MODELS, ids=lambda m: type(m).__name__)
def test_a_flat_column_says_nothing_alone_or_in_pairs(estimator):
    model = flatten(estimator.fit(X, Y), "age", **BY)
    other = X.assign(age=X["age"].to_numpy()[::-1])
    assert np.allclose(model.predict_proba(X), model.predict_proba(other), atol=1e-12)
    assert (says(model, "age", X) == 0).all()


def test_monotone_evidence_rises_with_the_values_as_isotonic_regression_does():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(1)
    x = rng.integers(0, 8, 500) * 1.0
    y = rng.random(500) < 0.3 + 0.05 * x + 0.2 * (x % 2)
    model = NaiveBayesClassifier(numeric="frequency").fit(x[:, None], y)
    new = make_monotone(model, 0, **BY)
    values = np.unique(x)

    def bars(m):
        b = m.evidence(values[:, None]).contributions[:, 0]
        return b[:, 1] - b[:, 0]

    expected = IsotonicRegression().fit_transform(
        values, bars(model), sample_weight=np.bincount(x.astype(int))
    )
    assert np.allclose(bars(new), expected)
    assert (np.diff(bars(new)) >= -1e-12).all()
    assert (np.diff(bars(make_monotone(model, 0, increasing=False, **BY))) <= 1e-12).all()


def test_corrections_outlive_updates_merges_and_forgetting_but_not_a_new_fit():
    model = corrected(NaiveBayesClassifier().fit(X[:300], Y[:300]))
    whole = NaiveBayesClassifier().fit(X, Y)
    expected = with_edits(whole.answer_, edits_of(model))
    second = NaiveBayesClassifier().fit(X[300:], Y[300:])
    updated = load(io.BytesIO(saved(model))).partial_fit(X[300:], Y[300:])
    for new in (updated, merge([model, second]), merge([second, model])):
        assert edits_of(new) == edits_of(model)
        assert (new.predict_proba(X) == expected.probabilities(whole._open(X).block)).all()
        plain = undo(undo(undo(new)))
        assert saved(plain) == saved(whole)
    for new in (subtract(updated, second), updated.forget(X[300:], Y[300:])):
        assert saved(new) == saved(model)
    updated.compact()
    assert len(edits_of(updated)) == 3
    assert edits_of(updated.fit(X, Y)) == ()


def test_calibration_comes_below_corrections():
    model = NaiveBayesClassifier(calibration="slope").fit(X, Y)
    new = edit(model, "job", "part", evidence=-2.5, **BY).calibrate(X, Y)
    assert np.allclose(says(new, "job", X[X["job"] == "part"]), -2.5)
    assert saved(undo(new)) == saved(model)


def test_evidence_for_one_of_three_classes_is_what_displays_show():
    labels = np.where(X["age"] > 50, "old", Y)
    model = NaiveBayesClassifier().fit(X, labels)
    new = edit(model, "job", None, evidence=1.5, label="old", **BY)
    (facts,) = [c for c in evidence_of(new).attributes if c.name == "job"]
    assert np.isclose(facts.weights[list(facts.states).index("missing"), 2], 1.5)
    when = edit(new, "when", X["when"][0], evidence=0.1, label="bad", **BY)
    assert "when = '2024-" in str(edits_of(when)[1])


def test_what_cannot_be_edited_is_refused_in_one_sentence():
    model = NaiveBayesClassifier().fit(X, Y)
    with pytest.raises(TypeError, match="C45Classifier cannot be edited, because its evidence"):
        flatten(C45Classifier().fit(X, Y), "age", **BY)
    with pytest.raises(ValueError, match="there is no column 'size'; the columns are 'age'"):
        flatten(model, "size", **BY)
    with pytest.raises(ValueError, match="no category 'half' that the model knows; it knows"):
        edit(model, "job", "half", evidence=1.0, **BY)
    with pytest.raises(ValueError, match="'young' is none"):
        edit(model, "age", "young", evidence=1.0, **BY)
    with pytest.raises(ValueError, match="by does not say who"):
        flatten(model, "age", by=" ")
    with pytest.raises(ValueError, match="evidence must be a number"):
        edit(model, "job", "part", evidence=np.nan, **BY)
    with pytest.raises(ValueError, match="label must be the class"):
        edit(model, "job", "part", evidence=1.0, label="fine", **BY)
    with pytest.raises(ValueError, match="have no order in which evidence could rise"):
        make_monotone(model, "job", **BY)
    with pytest.raises(ValueError, match="evidence is that of a density"):
        flatten(NaiveBayesClassifier(numeric="gaussian").fit(X, Y), "age", **BY)
    with pytest.raises(ValueError, match="there is no correction -1: nobody has corrected"):
        undo(model)
