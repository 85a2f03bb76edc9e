"""Classifiers of the library inside scikit-learn's bagging and boosting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.naive_bayes import GaussianNB

from helpers import mixed_table
from unnaive import (
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    explain_rows,
    importance_of,
    load,
    report,
    save,
    to_sql,
)
from unnaive.answer.unwrap import unwrap

TREE = NBTreeClassifier(max_depth=1, cv=2, calibration="none", random_state=0)
NUMBERS = ["age", "income"]


@pytest.mark.parametrize(
    "member",
    [
        C45Classifier(),
        TREE,
        NaiveBayesClassifier(numeric="kernel"),
        FlexibleNBTreeClassifier(max_depth=1, cv=2),
        HierarchicalMixtureClassifier(layers=(2,), training="batch", n_sweeps=2),
        ClassDecompositionClassifier(),
    ],
    ids=repr,
)
def test_bagging_is_a_pool_of_its_members(member, tmp_path):
    X, y = mixed_table(150)
    model = BaggingClassifier(member, n_estimators=2, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    pool = unwrap(model).model
    assert pool.schema_.names == list(X.columns)
    np.testing.assert_allclose(pool.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_array_equal(pool.predict(X), model.predict(X))
    why = pool.evidence(X)
    assert why.terms == ["member 0", "member 1"]
    np.testing.assert_allclose(why.total(), expected, atol=1e-12)
    save(model, tmp_path / "bags.unnaive")
    np.testing.assert_array_equal(
        load(tmp_path / "bags.unnaive").predict_proba(X), pool.predict_proba(X)
    )
    if not isinstance(member, FlexibleNBTreeClassifier):  # kernel densities have no SQL
        assert "SELECT" in to_sql(model, "rows")
    assert report(model, X, y).html


def test_parts_of_a_row_are_those_of_the_members():
    X, y = mixed_table(150)
    model = BaggingClassifier(TREE, n_estimators=3, random_state=0).fit(X, y)
    evidence = explain_rows(model, X[:1])[0].evidence
    assert evidence.member_names == ("member 0", "member 1", "member 2")
    shares = evidence.member_weights[0]
    mean = sum(w * m.probabilities()[0] for w, m in zip(shares, evidence.members, strict=True))
    np.testing.assert_allclose(mean, model.predict_proba(X[:1])[0], atol=1e-12)


def test_bagging_that_cannot_be_pooled_is_refused():
    X, y = mixed_table(60)
    numbers = X[NUMBERS].fillna(0.0).to_numpy()
    bags = BaggingClassifier(NaiveBayesClassifier(), n_estimators=2, random_state=0)
    columns = bags.set_params(max_features=0.5).fit(numbers, y)
    with pytest.raises(TypeError, match=r"different columns; fit it with max_features=1\.0"):
        to_sql(columns, "rows")
    rare = np.where(np.arange(60) == 0, "rare", "usual")
    few = BaggingClassifier(NaiveBayesClassifier(), max_samples=5, random_state=0)
    with pytest.raises(ValueError, match="has no rows of class 'rare'"):
        to_sql(few.fit(numbers, rare), "rows")
    foreign = BaggingClassifier(GaussianNB(), n_estimators=2).fit(numbers, y)
    with pytest.raises(TypeError, match="BaggingClassifier"):
        importance_of(foreign, numbers)


def test_boosting_is_an_ensemble_of_votes(tmp_path):
    X, y = mixed_table(100)
    X = X[NUMBERS].fillna(0.0)
    model = AdaBoostClassifier(C45Classifier(max_depth=1), n_estimators=3, random_state=0)
    for labels in (y, y == y[0]):
        model.fit(X, labels)
        votes = unwrap(model).model
        expected = model.predict_proba(X)
        np.testing.assert_allclose(votes.predict_proba(X), expected, atol=1e-9)
        save(model, tmp_path / "votes.unnaive")
        again = load(tmp_path / "votes.unnaive")
        np.testing.assert_allclose(again.predict_proba(X), expected, atol=1e-9)
        assert "SELECT" in to_sql(model, "rows")
        assert report(model, X, labels).html
    with pytest.raises(TypeError, match="fit that again"):
        again.fit(X, y)
