"""Latent-class clustering is EM as the twin writes it, and keeps the library's promises."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state

import reference_em
from helpers import assert_same_learned, assert_same_model, learned, mixed_table
from unnaive import LatentClassClusterer


def planted(n: int, seed: int, gaps: float = 0.0):
    """Three groups of rows that differ in two numbers and two texts."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "a": np.array([0.0, 5.0, 0.0])[group] + rng.normal(size=n),
            "p": np.array(list("xyz"))[np.where(rng.random(n) < 0.8, group, rng.integers(0, 3, n))],
            "b": np.array([0.0, 0.0, 6.0])[group] + rng.normal(size=n).round(1),
            "q": np.where((group == 1) ^ (rng.random(n) < 0.1), "u", "v"),
        }
    )
    return table.mask(rng.random(table.shape) < gaps) if gaps else table, group


def twin_rows(X, weights):
    """Distinct rows as the twin sees them, numbers standardized by the weighted moments."""
    numeric = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
    text = [c for c in X if c not in numeric]
    values = {c: sorted(X[c].dropna().unique()) for c in text}
    scaled = X[numeric].copy()
    for c in numeric:
        there = X[c].notna().to_numpy()
        mean = np.average(X[c][there], weights=weights[there])
        scaled[c] = (X[c] - mean) / np.sqrt(
            np.average((X[c][there] - mean) ** 2, weights=weights[there])
        )
    rows = []
    for i in range(len(X)):
        slots = [0 if pd.isna(X[c].iloc[i]) else values[c].index(X[c].iloc[i]) + 1 for c in text]
        row = {
            "numbers": scaled.iloc[i].tolist(),
            "filled": scaled.iloc[i].fillna(0.0).tolist(),
            "slots": slots,
            "weight": float(weights[i]),
            "key": reference_em.value_key([*slots, *X[numeric].iloc[i].astype(float)]),
        }
        same = [r for r in rows if r["key"] == row["key"]]
        if same:
            same[0]["weight"] += row["weight"]
        else:
            rows.append(row)
    total = {c: sum(weights[i] for i in range(len(X)) if not pd.isna(X[c].iloc[i])) for c in text}
    shares = [[weights[(X[c] == v).to_numpy()].sum() / total[c] for v in values[c]] for c in text]
    return rows, shares


@pytest.mark.parametrize("init", ["far", "random"])
@pytest.mark.parametrize("seed", range(6))
def test_every_step_is_the_twins(seed, init):
    """From the same start, the same likelihood at every step."""
    rng = np.random.default_rng(seed)
    X, _ = planted(60, seed, gaps=0.1 * (seed % 2))
    X = pd.concat([X, X[:5]], ignore_index=True)
    weights = rng.integers(1, 4, len(X)) if seed % 3 else np.ones(len(X))
    k, alpha, prior = 2 + seed % 3, (1.0, 0.5)[seed % 2], (0.0, 0.7)[seed % 3 == 1]
    model = LatentClassClusterer(
        k, n_init=1, init=init, max_iter=7, tol=0, alpha=alpha, prior_alpha=prior,
        random_state=seed,
    ).fit(X, sample_weight=weights)  # fmt: skip
    rows, shares = twin_rows(X, weights)
    drawn = int(check_random_state(seed).randint(2**31 - 1))
    first = reference_em.centres(rows, drawn, 0, k)
    twin = reference_em.Mixture(rows, first, shares, alpha, prior, model.min_variance)
    if init == "random":
        twin.estimate(reference_em.random_shares(rows, drawn, 0, k))
    bounds = []
    for _ in range(len(model.lower_bounds_)):
        bounds.append(twin.objective())
        twin.step()
    np.testing.assert_allclose(model.lower_bounds_, bounds, rtol=1e-9)


def test_the_best_of_several_starts_is_kept():
    X, _ = planted(200, 3)
    one = [
        LatentClassClusterer(5, n_init=n, random_state=2).fit(X).lower_bounds_[-1]
        for n in (1, 2, 4)
    ]
    assert one == sorted(one)
    assert one[-1] > one[0]


@pytest.mark.parametrize("seed", range(12))
def test_the_penalized_likelihood_never_falls(seed):
    """Shares are rounded to 2**-20, which may cost a millionth per row near the end."""
    X, _ = mixed_table(150, seed)
    model = LatentClassClusterer(
        2 + seed % 6, tol=0, max_iter=60, alpha=0.3, prior_alpha=0.2, min_variance=1e-3,
        random_state=seed,
    ).fit(X)  # fmt: skip
    assert len(model.lower_bounds_) > 3
    assert np.diff(model.lower_bounds_).min() > -1e-6


def tables():
    numbers = st.one_of(st.sampled_from([0.1, -0.0, 0.0, 3.0, np.nan]), st.floats(-50, 50))
    texts = st.sampled_from(["a", "b", "c", None])
    return st.lists(st.tuples(numbers, texts, numbers), min_size=3, max_size=30).map(
        lambda rows: pd.DataFrame(rows, columns=["x", "t", "z"])
    )


def forget_rows(model):
    """Labels belong to rows, which differ in number or order."""
    return {k: v for k, v in learned(model).items() if not k.startswith("labels_")}


@pytest.mark.parametrize("init", ["far", "random"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@example(
    X=pd.DataFrame({"x": 0.1, "t": "a", "z": [np.nan, 20.492827809824416, 20.492827809824416]}),
    order=random.Random(0),
    weights=[1, 1, 3],
)
@given(X=tables(), order=st.randoms(), weights=st.lists(st.integers(0, 3), min_size=30))
def test_neither_order_nor_repetition_matters_for_a_fixed_number(init, X, order, weights):
    model = LatentClassClusterer(3, n_init=2, init=init, random_state=0)
    w = np.array(weights[: len(X)])
    w[0] = 1
    weighted = clone(model).fit(X, sample_weight=w)
    places = np.repeat(np.arange(len(X)), w)
    order.shuffle(places)
    repeated = clone(model).fit(X.iloc[places])
    assert_same_learned(forget_rows(weighted), forget_rows(repeated))
    assert (repeated.labels_ == weighted.predict(X)[places]).all()


@pytest.mark.parametrize("gaps", [0.0, 0.05])
def test_threads_do_not_matter_where_rows_are_many(gaps):
    X, _ = planted(30_000, 0, gaps)
    models = [
        LatentClassClusterer(4, n_init=2, max_iter=10, random_state=0, n_jobs=n).fit(X)
        for n in (1, 2)
    ]
    assert_same_model(*models)
    auto = LatentClassClusterer(max_clusters=2, cv=3, n_init=1, max_iter=5, random_state=0)
    first = auto.fit(X).cv_log_likelihood_
    assert (auto.set_params(n_jobs=2).fit(X).cv_log_likelihood_ == first).all()


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_planted_groups_are_found_and_counted(gaps):
    X, group = planted(600, 1, gaps)
    model = LatentClassClusterer(random_state=0).fit(X)
    gains = np.diff(model.cv_log_likelihood_)
    assert gains[:2].min() > 0.2  # two, then three clusters tell much, more of them next to nothing
    assert gains[2:].max() < 0.02
    assert (gains[:-1] > 0).all()
    assert gains[-1] <= 0
    model = LatentClassClusterer(3, random_state=0).fit(X)
    assert adjusted_rand_score(group, model.labels_) > (0.9 if gaps == 0 else 0.75)
    assert (model.predict(X) == model.labels_).all()
    assert (np.diff(model.cluster_weight_) <= 0).all()
    fresh, group = planted(600, 2, gaps)
    assert adjusted_rand_score(group, model.predict(fresh)) > (0.9 if gaps == 0 else 0.75)
    many = [LatentClassClusterer(k, random_state=0).fit(X).bic(X) for k in (1, 2, 3, 4, 5)]
    assert np.argmin(many) == 2


def test_one_cluster_is_plain_statistics():
    X, _ = planted(80, 5)
    model = LatentClassClusterer(1, alpha=0.5).fit(X)
    expected = sum(norm(X[c].mean(), X[c].std(ddof=0)).logpdf(X[c]) for c in ("a", "b"))
    for c in ("p", "q"):
        counts = X[c].value_counts() + 0.5
        expected = expected + np.log(X[c].map(counts / counts.sum()))
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    assert model.score(X) == pytest.approx(expected.mean())
    parameters = 2 * 2 + (3 - 1) + (2 - 1)
    assert model.bic(X) == pytest.approx(parameters * np.log(80) - 2 * expected.sum())


def test_held_out_likelihood_is_that_of_rows_not_trained_on():
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40)})
    folds = np.arange(40) % 4
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(4)]
    model = LatentClassClusterer(cv=splits, max_clusters=1).fit(X)
    a = X["a"].to_numpy()
    each = [norm(a[tr].mean(), a[tr].std()).logpdf(a[te]).sum() for tr, te in splits]
    assert model.cv_log_likelihood_[0] == pytest.approx(sum(each) / 40, rel=1e-9)


def test_numbers_alone_agree_with_a_gaussian_mixture():
    """The same optimum as scikit-learn's, where it is clear."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(m, s, (200, 3)) for m, s in ((0, 1), (6, 0.7), (-5, 1.5))])
    ours = LatentClassClusterer(3, min_variance=1e-6, tol=1e-10, max_iter=500, random_state=0)
    peer = GaussianMixture(3, covariance_type="diag", tol=1e-10, max_iter=500, random_state=0)
    assert ours.fit(X).score(X) == pytest.approx(peer.fit(X).score(X), abs=1e-4)


# Awkward tables -----------------------------------------------------------------------------


def test_fewer_rows_than_folds_make_one_cluster():
    X, _ = planted(9, 0)
    model = LatentClassClusterer(random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert len(model.cv_log_likelihood_) == 0
    assert LatentClassClusterer(random_state=0).fit(X[:1]).labels_.tolist() == [0]


def test_folds_of_a_few_rows_may_leave_nothing_to_train_on():
    X = pd.DataFrame({"a": [1.0, 2.0]})
    drawn = [LatentClassClusterer(cv=2, random_state=s).fit(X).n_clusters_ for s in range(8)]
    assert set(drawn) == {1}
    with pytest.raises(ValueError, match="cv has a fold without training rows"):
        LatentClassClusterer(cv=[([], [0, 1])]).fit(X)


def test_no_more_clusters_than_different_rows():
    X = pd.DataFrame({"a": [1.0, 1.0, 2.0, 2.0], "t": ["x", "x", "y", "y"]})
    model = LatentClassClusterer(4, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]


def test_columns_without_information():
    X, group = planted(300, 4)
    X["constant"], X["nothing"], X["same"] = 7.0, np.nan, "s"
    model = LatentClassClusterer(3, random_state=0).fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.9
    other = X.assign(constant=np.inf)
    with pytest.raises(ValueError, match="'constant'.*infinity"):
        model.predict(other)


def test_unseen_values_and_missing_rows_carry_no_evidence():
    X, _ = planted(300, 4)
    model = LatentClassClusterer(3, random_state=0).fit(X)
    odd = pd.DataFrame({"a": [np.nan], "p": ["new"], "b": [np.nan], "q": [None]})
    np.testing.assert_allclose(model.predict_proba(odd)[0], model.cluster_weight_)
    assert model.score_samples(odd)[0] == pytest.approx(0.0)


def test_far_scales_and_other_tables_give_the_same_clusters():
    X, _ = planted(200, 6)
    a = LatentClassClusterer(3, random_state=0).fit(X).labels_
    b = LatentClassClusterer(3, random_state=0).fit(pl.from_pandas(X)).labels_
    assert (a == b).all()
    model = LatentClassClusterer(3, random_state=0).fit(X[["a", "b"]] * 2.0**300)
    assert np.isfinite(model.score_samples(X[["a", "b"]] * 2.0**300)).all()


def test_tiny_weights_count_in_proportion():
    X, _ = planted(300, 6)
    weights = np.random.default_rng(0).random(300)
    a = LatentClassClusterer(3, random_state=0).fit(X, sample_weight=weights)
    b = LatentClassClusterer(3, random_state=0).fit(X, sample_weight=weights * 1e-6)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_rare_categories_can_share_a_slot():
    X, group = planted(300, 6)
    X["id"] = [f"i{i}" for i in range(300)]
    model = LatentClassClusterer(3, max_categories=3, random_state=0).fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.8


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number, 1 or more; got 0"),
        ({"n_clusters": "many"}, "n_clusters must be a whole number or 'auto'; got 'many'"),
        ({"cv": 1}, "cv must be a whole number, 2 or more; got 1"),
        ({"n_init": 0}, "n_init must be a whole number, 1 or more"),
        ({"tol": -1}, "tol must be a number, 0 or more"),
        ({"min_variance": 0}, "min_variance must be a number"),
        ({"max_clusters": 1.5}, "max_clusters must be a whole number"),
        ({"init": "k-means"}, "init must be 'far' or 'random'; got 'k-means'"),
    ],
)
def test_errors_name_the_parameter(parameters, words):
    with pytest.raises(ValueError, match=words):
        LatentClassClusterer(**parameters).fit(planted(30, 0)[0])


@pytest.mark.parametrize(
    "X",
    [np.ones((20, 2)), np.full((20, 2), np.nan), np.full((20, 1), "a"), np.full((3, 1), None)],
    ids=["constant", "missing", "one category", "objects without values"],
)
@pytest.mark.parametrize("n_clusters", ["auto", 3])
def test_a_table_that_tells_nothing_is_one_cluster(X, n_clusters):
    model = LatentClassClusterer(n_clusters, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert model.score_samples(X).tolist() == [0.0] * len(X)
