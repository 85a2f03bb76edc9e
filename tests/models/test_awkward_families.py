"""Awkward tables and parameters for ensembles, clusters and trees."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import mixed_table
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    export_text,
)


def test_grouped_categories_of_several_columns_cluster_as_well():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 600)

    def column():
        own = np.where(
            rng.random(600) < 0.85, group * 6 + rng.integers(0, 6, 600), rng.integers(0, 12, 600)
        )
        return np.char.add("v", own.astype(str))

    X = pd.DataFrame({"p": column(), "q": column(), "s": column()})
    model = LatentClassClusterer(2, max_categories=10, random_state=0).fit(X)
    assert np.isfinite(model.lower_bounds_).all()
    assert adjusted_rand_score(group, model.labels_) > 0.8


@pytest.mark.parametrize("rate", [None, 1.0])
def test_boosting_that_ends_early_is_as_sure_as_naive_bayes(rate):
    X = pd.DataFrame({"c": np.where(np.arange(1000) % 2, "yes", "no")})
    y = np.arange(1000) % 2
    boosted = BoostedNaiveBayesClassifier(learning_rate=rate, calibration="none").fit(X, y)
    assert len(boosted.estimator_errors_) == 1
    expected = NaiveBayesClassifier().fit(X, y).predict_proba(X)
    assert np.allclose(boosted.predict_proba(X), expected)


@pytest.mark.parametrize("algorithm", ["real", "probability", "m1", "samme"])
def test_boosting_stays_finite_under_very_uneven_or_large_weights(algorithm):
    X, y = mixed_table(200)
    some = np.random.default_rng(1).random(200) < 0.5
    for weight in (np.where(some, 1, 1e12), np.where(some, 1, 1e15), np.full(200, 1e14)):
        model = BoostedNaiveBayesClassifier(algorithm=algorithm, random_state=0)
        model.fit(X, y, sample_weight=weight)
        assert np.isfinite(model.predict_proba(X)).all()
        assert (model.estimator_errors_ >= 0).all()


def test_the_number_of_clusters_in_a_pipeline_is_the_last_steps():
    corners = np.array([[0, 0], [0, 9], [9, 0], [9, 9]])
    X = np.repeat(corners, 50, axis=0) + np.random.default_rng(0).normal(size=(200, 2))
    y = np.repeat([0, 1, 1, 0], 50)
    model = ClassDecompositionClassifier(
        clusterer=make_pipeline(StandardScaler(), KMeans(1, n_init=1, random_state=0)),
        select="accuracy",
    ).fit(X, y)
    numbers = model.n_clusters_.tolist()
    assert numbers == [pipeline[-1].n_clusters for pipeline in model.clusterers_]
    assert max(numbers) > 1  # one cluster per class cannot tell opposite corners


def test_bags_that_hold_all_rows_judge_none():
    X = pd.DataFrame({"a": ["x", "y"]})
    model = BaggedNaiveBayesClassifier(
        n_estimators=50, max_samples=0.05, oob_score=True, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, [0, 1]).oob_score_ != 1.0
        assert not hasattr(model.set_params(oob_score=False).fit(X, [0, 1]), "oob_score_")


def test_ready_folds_may_name_rows_of_no_weight():
    X, y = mixed_table(60)
    splits = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    weight = np.where(np.arange(60) < 55, 1, 0)
    NBTreeClassifier(cv=splits).fit(X, y, sample_weight=weight)
    LatentClassClusterer(cv=splits, random_state=0).fit(X, sample_weight=weight)


@pytest.mark.parametrize("cv", [None, 2.0, "5", 1])
def test_a_cv_that_is_none_names_itself(cv):
    X, y = mixed_table(60)
    for model in (NBTreeClassifier(cv=cv), LatentClassClusterer(cv=cv)):
        with pytest.raises(ValueError, match="cv"):
            model.fit(X, y)


@pytest.mark.parametrize("layers", [None, 2.5, (), "deep", (0,)])
def test_layers_that_are_none_name_themselves(layers):
    X, y = mixed_table(60)
    with pytest.raises(ValueError, match="layers"):
        HierarchicalMixtureClassifier(layers=layers).fit(X, y)


def test_parameters_changed_after_fitting_change_no_answer():
    X, y = mixed_table(100)
    model = BoostedNaiveBayesClassifier(algorithm="m1", random_state=0).fit(X, y)
    before = model.predict_proba(X)
    assert (model.set_params(algorithm="real").predict_proba(X) == before).all()


def test_text_of_a_tree_shows_dates_unnamed_columns_gaps_and_what_is_left_out():
    days = pd.date_range("2020-01-01", periods=40).to_series().reset_index(drop=True)
    late = np.repeat([0, 1], 20)
    text = export_text(C45Classifier().fit(pd.DataFrame({"day": days}), late))
    assert text.startswith("day <= 2020-01-20")
    text = export_text(C45Classifier().fit(np.repeat([[1.0], [3.0]], 20, axis=0), late))
    assert text.startswith("x0 <= 1: 0")
    X = np.random.default_rng(0).random((3000, 3))
    y = (X > [0.3, 0.4, 0.5]).sum(axis=1) % 2
    X[:30, :] = np.nan
    tree = NBTreeClassifier(random_state=0).fit(X, y)
    assert "missing: the node's own answer, 30 rows" in export_text(tree)
    assert export_text(tree, max_depth=1).count(" ...") >= 1
    with pytest.raises(TypeError, match="NaiveBayesClassifier"):
        export_text(NaiveBayesClassifier().fit(X, y))


def test_the_group_of_rare_values_is_told_apart_from_a_value_of_that_name():
    X = pd.DataFrame({"c": ["a"] * 50 + ["other"] * 40 + list("klmnopqrst") * 3})
    y = [0] * 50 + [1] * 40 + [2] * 30
    lines = export_text(C45Classifier(max_categories=3).fit(X, y)).splitlines()
    assert len({line.split(":")[0] for line in lines}) == 3
