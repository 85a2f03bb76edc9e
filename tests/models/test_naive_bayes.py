"""Naive Bayes says what the formulas say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import reference
from helpers import mixed_table
from unnaive import HierarchicalMixtureClassifier, NaiveBayesClassifier, merge

VALUES = st.sampled_from(["a", "b", "c", None])


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.tuples(VALUES, VALUES, st.sampled_from("xyz")), min_size=1, max_size=25),
    query=st.tuples(VALUES | st.just("new"), VALUES),
    alpha=st.sampled_from([0.1, 0.5, 1.0]),
    weights=st.lists(st.integers(1, 4), min_size=25, max_size=25),
)
def test_scores_equal_the_textbook(rows, query, alpha, weights):
    train, labels = [r[:2] for r in rows], [r[2] for r in rows]
    weights = weights[: len(rows)]
    model = NaiveBayesClassifier(alpha=alpha)
    model.fit(pd.DataFrame(train, dtype=object), labels, sample_weight=weights)
    classes = sorted(set(labels))
    expected = reference.naive_bayes_joint(train, labels, weights, query, alpha, classes)
    found = model.predict_joint_log_proba(pd.DataFrame([query], dtype=object))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_equals_categorical_nb_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (500, 8)), rng.integers(0, 3, 500)
    ours = NaiveBayesClassifier(alpha=1, categorical_features=np.ones(8, bool)).fit(X, y)
    theirs = CategoricalNB(alpha=1).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_equals_gaussian_nb_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    X = rng.normal(y[:, None], 1 + np.arange(4), (500, 4))
    w = rng.integers(1, 4, 500)
    ours = NaiveBayesClassifier(numeric="gaussian", var_smoothing=0).fit(X, y, w)
    theirs = GaussianNB(var_smoothing=0).fit(X, y, w)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9
    )


def test_raw_frequencies_let_the_class_with_fewest_impossible_values_win():
    X = pd.DataFrame({"a": list("xxy"), "b": list("ppq"), "c": list("rrs")})
    model = NaiveBayesClassifier(alpha=0).fit(X, [0, 0, 1])
    # One value impossible for class 1, two for class 0, though class 0 is far more frequent.
    assert model.predict(pd.DataFrame({"a": ["x"], "b": ["q"], "c": ["s"]})) == [1]
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    assert model.predict_proba(X).tolist() == [[1, 0], [1, 0], [0, 1]]


def test_missing_is_skipped_or_a_value():
    X = pd.DataFrame({"t": ["a", "b", None, None], "x": [1.0, 2.0, np.nan, np.nan]})
    y = [0, 0, 1, 1]
    gap = pd.DataFrame({"t": [None], "x": [np.nan]})
    skip = NaiveBayesClassifier().fit(X, y)
    assert skip.predict_proba(gap).tolist() == [[0.5, 0.5]]
    for numeric in ("mdl", "gaussian"):
        value = NaiveBayesClassifier(missing="value", numeric=numeric).fit(X, y)
        assert value.predict_proba(gap)[0, 1] > 0.9


def test_missing_as_a_value_that_never_occurred_is_no_evidence():
    X = pd.DataFrame({"t": ["a", "b", "a", "b"], "x": [1.0, 2, 3, 4]})
    for numeric in ("mdl", "gaussian"):
        model = NaiveBayesClassifier(missing="value", numeric=numeric).fit(X, [0, 0, 1, 1])
        found = model.predict_proba(pd.DataFrame({"t": [None], "x": [np.nan]}))
        assert found.tolist() == [[0.5, 0.5]]


def test_unseen_values_add_no_evidence():
    X, y = mixed_table(200)
    model = NaiveBayesClassifier().fit(X, y)
    new = X.head(5).assign(city="Atlantis")
    bars = model.evidence(new).contributions
    assert (bars[:, list(X.columns).index("city")] == 0).all()
    absent = model.predict_proba(X.head(5).assign(city=None))
    assert (model.predict_proba(new) == absent).all()


@pytest.mark.parametrize("numeric", ["mdl", "width", "frequency", "sigma", "gaussian"])
@pytest.mark.parametrize("missing", ["skip", "value"])
def test_constant_and_empty_columns_carry_no_evidence(numeric, missing):
    X, y = mixed_table(100)
    model = NaiveBayesClassifier(numeric=numeric, missing=missing).fit(X, y)
    useless = {"c": 5.0, "k": "same", "n": np.nan, "o": None, "b": True}
    wider = NaiveBayesClassifier(numeric=numeric, missing=missing).fit(X.assign(**useless), y)
    bars = wider.evidence(X.assign(**useless)).contributions[:, -5:]
    assert (bars == 0).all()
    assert (wider.predict_proba(X.assign(**useless)) == model.predict_proba(X)).all()


def test_one_class_is_predicted_always():
    model = NaiveBayesClassifier().fit([[1, "a"], [2, "b"]], ["only", "only"])
    assert model.predict([[7, "z"]]).tolist() == ["only"]
    assert model.predict_proba([[7, "z"]]).tolist() == [[1.0]]


def test_priors_replace_frequencies():
    X, y = mixed_table(200)
    model = NaiveBayesClassifier(priors={"no": 0.5, "maybe": 0.25, "yes": 0.25}).fit(X, y)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.25, 0.5, 0.25])
    given_list = NaiveBayesClassifier(priors=[0.25, 0.5, 0.25]).fit(X, y)
    assert (model.predict_proba(X) == given_list.predict_proba(X)).all()
    smoothed = NaiveBayesClassifier(prior_alpha=1e12).fit(X, y)
    np.testing.assert_allclose(np.exp(smoothed.class_log_prior_), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1}, "alpha must be a number, 0 or more; got -1"),
        ({"prior_alpha": np.nan}, "prior_alpha must be a number, 0 or more; got nan"),
        ({"missing": "drop"}, "missing must be 'skip' or 'value'; got 'drop'"),
        ({"numeric": "exact"}, "numeric must be one of 'mdl'.*got 'exact'"),
        ({"numeric": {"age": "exact"}}, "numeric must be one of 'mdl'.*got 'exact'"),
        ({"numeric": {9: "mdl"}}, "numeric holds 9; expected a column name or a position below 6"),
        ({"priors": [0.5, 0.5]}, r"priors has shape \(2,\), but there are 3 classes"),
        ({"priors": [0.5, 0.5, 0.5]}, "priors must be 0 or more and sum to 1; they sum to 1.5"),
        ({"priors": {"no": 1.0}}, "priors has no entry for the class 'maybe'"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None; got 'even'"),
        (
            {"class_weight": {"perhaps": 2}},
            "class_weight names the class 'perhaps', but",
        ),
        ({"max_categories": 1}, "max_categories must be a whole number, from 2 to 65534; got 1"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        NaiveBayesClassifier(**parameters).fit(X, y)


def test_class_weight_equals_weighing_the_rows():
    X, y = mixed_table(300)
    weights = {"no": 4.0, "maybe": 1.0, "yes": 0.5}
    by_class = NaiveBayesClassifier(class_weight=weights).fit(X, y)
    by_row = NaiveBayesClassifier().fit(X, y, sample_weight=[weights[label] for label in y])
    assert (by_class.predict_proba(X) == by_row.predict_proba(X)).all()
    balanced = NaiveBayesClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(np.exp(balanced.class_log_prior_), 1 / 3)


def test_rare_categories_are_grouped():
    rng = np.random.default_rng(0)
    common = rng.choice(["a", "b", "c"], 900)
    X = pd.DataFrame({"t": np.concatenate([common, [f"rare{i}" for i in range(100)]])})
    y = np.concatenate([rng.integers(0, 2, 900), np.ones(100, int)])
    model = NaiveBayesClassifier(max_categories=4).fit(X, y)
    assert model.coders_[0].values == ("a", "b", "c")
    assert model.coders_[0].size == 4
    rare, unseen = model.predict_joint_log_proba(pd.DataFrame({"t": ["rare7", "never"]}))
    assert rare[1] - rare[0] > 2
    assert unseen.tolist() == model.class_log_prior_.tolist()
    halves = [NaiveBayesClassifier(max_categories=4).fit(X[i::2], y[i::2]) for i in (0, 1)]
    assert merge(halves).coders_[0] == model.coders_[0]


def test_partial_fit_with_announced_classes_refuses_others():
    X, y = mixed_table(60)
    model = NaiveBayesClassifier().partial_fit(X, y, classes=["no", "maybe", "yes", "never"])
    assert model.classes_.tolist() == ["maybe", "never", "no", "yes"]
    assert model.predict_proba(X)[:, 1].max() < 1e-9
    with pytest.raises(ValueError, match="y holds the label 'new', which is not among the classes"):
        model.partial_fit(X.head(1), ["new"])
    assert model.predict(X).shape == (60,)  # a failed update leaves the model as it was


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (["x", "y"], [1, 2], "are text in one part of the data .'x'. and numbers in another .1."),
        ([1, 2], ["x", "y"], "are numbers .* and text in another .'x'.; convert them to one type"),
        ([1, 0], [True, False], "are numbers .* and true/false values in another"),
    ],
)
def test_labels_of_another_type_than_before_are_refused(before, after, words):
    rows = [["a"], ["b"]]
    models = [
        NaiveBayesClassifier().fit(rows, before),
        NaiveBayesClassifier().partial_fit(rows, before, classes=before),
        HierarchicalMixtureClassifier(layers=(2,), random_state=0).fit(rows, before),
    ]
    for model in models:
        with pytest.raises(ValueError, match=words):
            model.partial_fit(rows, after)
        assert model.classes_.tolist() == sorted(before)
    with pytest.raises(ValueError, match=words):
        merge([models[0], NaiveBayesClassifier().fit(rows, after)])


def test_two_class_scores_are_a_logistic_regression():
    """Elkan: log odds are the sum of weights of evidence plus a bias."""
    X, y = mixed_table(300, classes=2)
    model = NaiveBayesClassifier().fit(X, y)
    evidence = model.evidence(X)
    weights = evidence.contributions[..., 1] - evidence.contributions[..., 0]
    bias = model.class_log_prior_[1] - model.class_log_prior_[0]
    expected = 1 / (1 + np.exp(-(weights.sum(axis=1) + bias)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)


def test_compact_shrinks_the_model_and_keeps_its_answers():
    X, y = mixed_table(2000)
    model = NaiveBayesClassifier().fit(X, y)
    before = model.predict_proba(X)
    shrunk = model.compact()
    assert shrunk.after < shrunk.before / 10
    assert (model.predict_proba(X) == before).all()
    with pytest.raises(ValueError, match="made compact, so it cannot be updated"):
        model.partial_fit(X, y)


def test_merge_explains_what_it_cannot_merge():
    X, y = mixed_table(60)
    a = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(ValueError, match="merge needs at least one model"):
        merge([])
    with pytest.raises(TypeError, match="GaussianNB cannot be merged: only models that learn"):
        merge([a, GaussianNB()])
    with pytest.raises(ValueError, match="the models differ in alpha: 0.5 and 2.0"):
        merge([a, NaiveBayesClassifier(alpha=2.0).fit(X, y)])
    with pytest.raises(ValueError, match="one table has 6 columns, the other 5"):
        merge([a, NaiveBayesClassifier().fit(X.drop(columns="age"), y)])
    other = X.assign(age=X["age"].astype(str))
    with pytest.raises(ValueError, match="column 'age' holds numbers in one part.*text in another"):
        merge([a, NaiveBayesClassifier().fit(other, y)])


def test_log_probabilities_of_many_columns_do_not_underflow():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.integers(0, 3, (60, 10_000)).astype(float)
    X[:, 0] = 10 * y
    model = NaiveBayesClassifier(numeric="width", n_bins=3).fit(X, y)
    assert (model.predict(X) == y).all()
    assert math.isfinite(model.predict_joint_log_proba(X).min())
    assert model.predict_joint_log_proba(X).max() < -5000
