"""The promises of the design, as laws: how rows are split, ordered, repeated or threaded over must
not change one bit of what is learned.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers import assert_same_model, mixed_table
from registry import (
    ADDITIVE,
    CHOOSERS,
    CLASSIFIERS,
    ESTIMATORS,
    META,
)
from unnaive import NaiveBayesClassifier, merge

# Non-dyadic decimals, ties, huge and tiny numbers, both zeros, gaps.
NUMBERS = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, -0.0, 0.0, 1e300**0.4, 1e-200, np.nan]),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.integers(-20, 20).map(float),
)
TEXTS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "dd", "é", ""]))


@st.composite
def tables(draw, smallest=2, largest=40):
    n = draw(st.integers(smallest, largest))
    table = pd.DataFrame(
        {
            "x": draw(st.lists(NUMBERS, min_size=n, max_size=n)),
            "z": draw(st.lists(NUMBERS, min_size=n, max_size=n)),
            "t": pd.Series(draw(st.lists(TEXTS, min_size=n, max_size=n)), dtype=object),
        }
    )
    y = np.array(draw(st.lists(st.sampled_from([3, 1, 7]), min_size=n, max_size=n)))
    return table, y


def limited(estimator, limit):
    return clone(estimator).set_params(grid_limit=limit)


LAW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
every = pytest.mark.parametrize("estimator", [*ESTIMATORS, *CHOOSERS], ids=repr)
# Trees draw a fold for each row by its place, so their laws hold given the same folds.
additive = pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)

ADDING_UP = [c for c in CLASSIFIERS if hasattr(c, "predict_joint_log_proba")]
LIMITS = st.sampled_from([8, 65_534])  # cells of a grid


@additive
@LAW
@given(data=tables(), limit=LIMITS, cuts=st.lists(st.integers(1, 39), max_size=4))
def test_chunks_and_merged_parts_equal_the_whole(estimator, limit, data, cuts):
    X, y = data
    edges = sorted({0, len(y), *(c for c in cuts if c < len(y))})
    parts = [slice(a, b) for a, b in pairwise(edges)]
    whole = limited(estimator, limit).fit(X, y)
    chunked = limited(estimator, limit)
    for part in parts:
        chunked.partial_fit(X[part], y[part])
    assert_same_model(whole, chunked)
    models = [limited(estimator, limit).fit(X[p], y[p]) for p in parts]
    assert_same_model(whole, merge(models))
    assert_same_model(whole, merge([*models[1:], models[0]]))


@additive
@LAW
@given(data=tables(), limit=LIMITS, seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(estimator, limit, data, seed):
    X, y = data
    order = np.random.default_rng(seed).permutation(len(y))
    a = limited(estimator, limit).fit(X, y)
    assert_same_model(a, limited(estimator, limit).fit(X.iloc[order], y[order]))


@additive
@LAW
@given(
    data=tables(),
    limit=LIMITS,
    weights=st.lists(st.integers(0, 3), min_size=40, max_size=40),
)
def test_weight_equals_repetition_and_zero_weight_absence(estimator, limit, data, weights):
    X, y = data
    w = np.array(weights[: len(y)])
    w[0] = max(w[0], 1)
    weighted = limited(estimator, limit).fit(X, y, sample_weight=w)
    repeated = limited(estimator, limit).fit(X.loc[X.index.repeat(w)], np.repeat(y, w))
    weighted.summary_ = repeated.summary_ = None  # they count rows, of which there are fewer
    assert_same_model(weighted, repeated)


@every
def test_the_number_of_threads_does_not_matter(estimator):
    X, y = mixed_table(5000)
    a = clone(estimator).set_params(n_jobs=1).fit(X, y)
    b = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert_same_model(a, b)


@pytest.mark.parametrize("estimator", ADDING_UP, ids=repr)
@LAW
@given(data=tables())
def test_evidence_adds_up_to_the_joint_log_probability(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    evidence = model.evidence(X)
    n_bars = 3 + len(getattr(model, "pairs_", []))
    assert evidence.contributions.shape == (len(X), n_bars, len(model.classes_))
    np.testing.assert_allclose(evidence.total(), model.predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *META], ids=repr)
@LAW
@given(data=tables())
def test_evidence_of_every_classifier_adds_up_to_its_probabilities(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    why = model.evidence(X)
    assert why.contributions.shape == (len(X), len(why.terms), len(why.classes))
    np.testing.assert_allclose(why.probabilities(), model.predict_proba(X), atol=1e-12)
    if why.members:
        assert why.member_weights.shape == (len(X), len(why.members))
    terms, weights = why.weights()
    assert weights.shape == (len(X), len(terms), len(model.classes_))
    assert terms[: X.shape[1]] == list(X.columns)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *META, *CHOOSERS], ids=repr)
def test_parameters_set_after_fit_do_not_change_the_answers(estimator):
    X, y = mixed_table(150)
    model = clone(estimator).fit(X, y)
    before = model.predict_proba(X)
    for name, value in model.get_params(deep=False).items():
        other = {"voting": "hard", "fold": "max", "algorithm": "samme"}.get(name)
        model.set_params(**{name: other if name != "n_jobs" else value})
    assert (model.predict_proba(X) == before).all()


@pytest.mark.parametrize("numeric", ["mdl", "frequency", "sigma", "gaussian"])
@pytest.mark.parametrize("sorted_rows", [False, True])
def test_columns_with_more_distinct_numbers_than_cells(numeric, sorted_rows):
    """More than 65,534 distinct non-dyadic floats: neighbours share cells, the laws still hold."""
    rng = np.random.default_rng(0)
    n = 150_000
    x = np.stack([rng.normal(size=n) / 3, np.exp(3 * rng.normal(size=n)), rng.random(n) + 7], 1)
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int) + (rng.random(n) < 0.1)
    if sorted_rows:  # parts then cover different ranges
        order = np.argsort(x[:, 1])
        x, y = x[order], y[order]
    model = NaiveBayesClassifier(numeric=numeric)
    whole = clone(model).fit(x, y)
    edges = [0, 1, 5_000, 90_000, n]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    assert_same_model(whole, merge(clone(model).fit(x[p], y[p]) for p in parts))
    shuffled = rng.permutation(n)
    assert_same_model(whole, clone(model).fit(x[shuffled], y[shuffled]))
    if numeric != "gaussian":
        assert all(c.size <= 65_534 and c.shift > 0 for c in whole.summary_.coders)


@LAW
@given(data=tables(smallest=4), share=st.floats(0.01, 10))
def test_real_weights_agree_over_parts_to_1e_9(data, share):
    X, y = data
    w = share * (1 + np.arange(len(y)) / 7)
    half = len(y) // 2
    for numeric in ("frequency", "width", "gaussian"):
        model = NaiveBayesClassifier(numeric=numeric)
        whole = clone(model).fit(X, y, w)
        parts = clone(model).partial_fit(X[:half], y[:half], sample_weight=w[:half])
        parts.partial_fit(X[half:], y[half:], sample_weight=w[half:])
        np.testing.assert_allclose(whole.class_count_, parts.class_count_, rtol=1e-9)
        np.testing.assert_allclose(whole.predict_proba(X), parts.predict_proba(X), atol=1e-9)


def test_a_category_class_or_range_in_one_part_only():
    X, y = mixed_table(400, classes=4)
    first = ((X["city"] != "Oslo") & (y != "never") & ~(X["age"] > 60)).to_numpy()
    whole = NaiveBayesClassifier().fit(X, y)
    parts = [NaiveBayesClassifier().fit(X[m], y[m]) for m in (first, ~first)]
    assert "never" not in parts[0].classes_
    merged = merge(parts)
    assert_same_model(whole, merged)
    assert (merged.predict_proba(X) == whole.predict_proba(X)).all()
