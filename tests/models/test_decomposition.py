"""Class decomposition: the paper's mapping, around any classifier and clusterer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from helpers import assert_same_learned, assert_same_model, learned, mixed_table
from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    scan,
)
from unnaive.models.decomposition import search_n_clusters


def dispersed(n: int, seed: int = 0):
    """Two classes, each in two opposite corners: every column alone tells nothing."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, (n, 2))
    X = pd.DataFrame(corner + rng.normal(0, 0.15, (n, 2)), columns=["a", "b"])
    X["t"] = np.where(corner[:, 0] == 1, "right", "left")
    return X, np.array(["no", "yes"])[corner[:, 0] ^ corner[:, 1]]


# The paper ----------------------------------------------------------------------------------


def test_figure_1_naive_bayes_errs_and_decomposition_does_not():
    """Three by two cells: + at (2, 1), (1, 2), (3, 2); - at (1, 1), (3, 1), (2, 2)."""
    cells = [(2, 1), (1, 2), (3, 2), (1, 1), (3, 1), (2, 2)] * 20
    X = pd.DataFrame(cells, columns=["A1", "A2"]).astype(str)
    y = np.array(list("+++---") * 20)
    x = pd.DataFrame({"A1": ["2"], "A2": ["1"]})
    plain = NaiveBayesClassifier(alpha=0).fit(X, y)
    assert plain.predict(x) == ["-"]
    np.testing.assert_allclose(plain.predict_proba(x), [[1 / 3, 2 / 3]])  # as in the figure
    model = ClassDecompositionClassifier(random_state=0).fit(X, y)
    assert model.predict(x) == ["+"]
    assert (model.predict(X) == y).all()
    assert model.n_clusters_.max() >= 2
    for fold in ("sum", "max"):
        paper = ClassDecompositionClassifier(
            clusterer=LatentClassClusterer(2), fold=fold, random_state=0
        ).fit(X, y)
        assert (paper.predict(X) == y).all()


# Folding ------------------------------------------------------------------------------------


def test_one_cluster_is_the_estimator_itself():
    X, y = mixed_table(200)
    estimator = NaiveBayesClassifier(numeric="gaussian", var_smoothing=0.03)
    for fold in ("sum", "max"):
        model = ClassDecompositionClassifier(
            clusterer=LatentClassClusterer(1), fold=fold, calibration="none"
        ).fit(X, y)
        plain = estimator.fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-15)
        first, second = (
            {k: v for k, v in learned(m).items() if "scorer_" in k and "classes" not in k}
            for m in (plain, model.estimator_)
        )
        assert_same_learned(first, second)


@pytest.mark.parametrize("fold", ["sum", "max"])
def test_classes_fold_from_their_pairs(fold):
    X, y = dispersed(300)
    model = ClassDecompositionClassifier(fold=fold, calibration="none", random_state=0).fit(X, y)
    pairs = model.estimator_.predict_proba(X)
    assert len(model.pairs_) == pairs.shape[1] > 2
    expected = np.zeros((len(X), 2))
    for p, (label, _) in enumerate(model.pairs_):
        c = list(model.classes_).index(label)
        if fold == "sum":
            expected[:, c] += pairs[:, p]
        else:
            expected[:, c] = np.maximum(expected[:, c], pairs[:, p])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected, atol=1e-12)
    best = np.array([label for label, _ in model.pairs_])[pairs.argmax(axis=1)]
    if fold == "max":  # the paper: the class of the best pair
        assert (model.predict(X) == best).all()


def test_evidence_is_that_of_clusters_and_adds_up():
    X, y = dispersed(200)
    model = ClassDecompositionClassifier(calibration="none", random_state=0).fit(X, y)
    evidence = model.evidence(X)
    assert evidence.terms == model.pairs_
    np.testing.assert_allclose(evidence.total(), model.predict_proba(X), atol=1e-12)
    (clusters,) = evidence.members
    np.testing.assert_allclose(
        clusters.total(), model.estimator_.predict_joint_log_proba(X), atol=1e-12
    )


# Any clusterer, any classifier --------------------------------------------------------------

NUMERIC = ["a", "b"]


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(2, n_init=3),
        GaussianMixture(2),
        make_pipeline(StandardScaler(), KMeans(2, n_init=3)),
        HDBSCAN(min_cluster_size=10, copy=True),
        make_pipeline(StandardScaler(), HDBSCAN(min_cluster_size=10, copy=True)),
        LatentClassClusterer(2),
    ],
    ids=lambda c: str(c)[:40],
)
@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression()], ids=str)
def test_scikit_learn_parts_fit_in(estimator, clusterer):
    X, y = dispersed(300)
    X = X[NUMERIC]
    assert estimator.fit(X, y).score(X, y) < 0.8
    model = ClassDecompositionClassifier(estimator, clusterer, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert not hasattr(model, "calibration_")
    p = model.predict_proba(X)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()
    assert cross_val_score(model, X, y, cv=3).mean() > 0.95


def test_noise_is_a_cluster_of_its_own_the_last():
    X, y = dispersed(300)
    X = X[NUMERIC].copy()
    X.iloc[:3] = [[9, 9], [-9, 9], [9, -9]]
    model = ClassDecompositionClassifier(clusterer=HDBSCAN(min_cluster_size=10, copy=True))
    model.fit(X, y)
    noisy = np.flatnonzero(model.noise_)
    assert len(noisy)
    assert (model.n_clusters_[model.owner_[noisy]] >= 3).all()
    assert (np.append(model.owner_, -1)[noisy + 1] != model.owner_[noisy]).all()
    assert model.cluster_weight_.sum() == 300


def test_without_probabilities_the_best_pair_decides():
    X, y = dispersed(300)
    model = ClassDecompositionClassifier(LinearSVC(), KMeans(2, n_init=3), random_state=0)
    model.fit(X[NUMERIC], y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "evidence")
    assert model.score(X[NUMERIC], y) > 0.97


def test_more_clusters_than_rows_and_single_rows():
    X, y = dispersed(60)
    y = y.astype(object)
    y[0], y[1:4] = "lone", "few"
    model = ClassDecompositionClassifier(clusterer=KMeans(8, n_init=1), min_rows=2, random_state=0)
    model.fit(X[NUMERIC], y)
    assert model.classes_[:2].tolist() == ["few", "lone"]
    assert model.n_clusters_[:2].tolist() == [3, 1]
    assert model.cluster_weight_[:4].tolist() == [1.0] * 4
    alone = ClassDecompositionClassifier().fit(X, ["one"] * 60)
    assert (alone.predict(X) == "one").all()


# Weights and metadata -----------------------------------------------------------------------


@pytest.mark.parametrize("select", ["likelihood", "accuracy"])
def test_weight_is_repetition_and_zero_weight_absence(select):
    X, y = dispersed(90)
    w = np.random.default_rng(0).integers(0, 3, 90)
    places = np.repeat(np.arange(90), w)
    folds = np.arange(90) % 3

    def splits(own):
        return [(np.flatnonzero(own != f), np.flatnonzero(own == f)) for f in range(3)]

    model = ClassDecompositionClassifier(
        clusterer=LatentClassClusterer(2), select=select, calibration="none", random_state=0
    )
    weighted = clone(model).set_params(cv=splits(folds))
    repeated = clone(model).set_params(cv=splits(folds[places]))
    weighted.fit(X, y, sample_weight=w)
    repeated.fit(X.iloc[places], y[places])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.cluster_weight_.tolist() == repeated.cluster_weight_.tolist()


def test_weights_need_an_estimator_that_takes_them():
    X, y = dispersed(90)
    model = ClassDecompositionClassifier(KNeighborsClassifier(), KMeans(2, n_init=1))
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X[NUMERIC], y, sample_weight=np.ones(90))
    with pytest.raises(TypeError, match=r"\['groups'\].*enable_metadata_routing"):
        model.fit(X[NUMERIC], y, groups=np.ones(90))


class Recorder(KMeans):
    """Keeps the weights that reach it."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, sample_weight=None):
        Recorder.seen.append(sample_weight)
        return super().fit(X, y, sample_weight)


def test_metadata_goes_where_it_is_asked_for():
    X, y = dispersed(90)
    weight = np.arange(90) % 3 + 1.0
    with sklearn.config_context(enable_metadata_routing=True):
        for wanted in (True, False):
            Recorder.seen = []
            clusterer = Recorder(2, n_init=1).set_fit_request(sample_weight=wanted)
            estimator = GaussianNB().set_fit_request(sample_weight=True)
            model = ClassDecompositionClassifier(estimator, clusterer, random_state=0)
            model.set_fit_request(sample_weight=True).fit(X[NUMERIC], y, sample_weight=weight)
            got = [None if s is None else s.tolist() for s in Recorder.seen]
            own = [weight[y == label].tolist() for label in ("no", "yes")]
            assert got == (own if wanted else [None, None])
            assert model.estimator_.class_count_.sum() == weight.sum()


# Choosing and describing --------------------------------------------------------------------


def test_accuracy_decomposes_where_it_pays_and_only_there():
    X, y = dispersed(300)
    gain = ClassDecompositionClassifier(select="accuracy", random_state=0).fit(X, y)
    assert gain.score(X, y) > 0.97
    assert gain.n_clusters_.max() >= 2
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    # Classes of two parts each, that one threshold tells apart: clusters are there, gain is not.
    part = rng.integers(0, 2, 400)
    flat = pd.DataFrame(
        {"a": 10 * labels + rng.normal(size=400), "b": 6 * part + rng.normal(size=400)}
    )
    both = {
        s: ClassDecompositionClassifier(select=s, random_state=0).fit(flat, labels)
        for s in ("likelihood", "accuracy")
    }
    assert both["likelihood"].n_clusters_.min() >= 2
    assert both["accuracy"].n_clusters_.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("opinion", "proposed", "can_grow", "expected"),
    [
        (lambda n: -sum(n), (3, 2), True, [1, 1]),  # every cluster costs
        (sum, (3, 2), True, [5, 5]),  # every cluster gains, up to the limit
        (lambda n: 0, (3, 2), True, [1, 1]),  # nothing gains
        (lambda n: (n == (3, 2)) + (n == (1, 2)), (3, 2), True, [1, 2]),  # the first for nothing
        (lambda n: (n == (3, 2)) + 2 * (n == (4, 2)), (3, 2), True, [4, 2]),
        (lambda n: 3 * (n == (3, 2)) + 2 * (n == (3, 1)), (3, 2), False, [3, 2]),
        (lambda n: (n == (1, 2)) - (n == (3, 2)), (3, 2), False, [1, 2]),  # only the second
    ],
)
def test_numbers_are_chosen_greedily(opinion, proposed, can_grow, expected):
    most = 5 if can_grow else None
    assert search_n_clusters(lambda n: opinion(tuple(n)), proposed, [0, 1], most) == expected


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"select": "best"}, "select must be 'likelihood' or 'accuracy'; got 'best'"),
        ({"fold": "mean"}, "fold must be 'sum' or 'max'; got 'mean'"),
        ({"min_rows": 0}, "min_rows must be a whole number, 1 or more"),
        (
            {"clusterer": HDBSCAN(min_samples=40, copy=True)},
            "HDBSCAN could not cluster the .* rows of the class 'no': .* larger min_rows=",
        ),
    ],
)
def test_errors_name_the_parameter(parameters, words):
    X, y = dispersed(60)
    with pytest.raises(ValueError, match=words):
        ClassDecompositionClassifier(**parameters).fit(X[NUMERIC], y)


# Calibration around other models ----------------------------------------------------------------


@pytest.mark.parametrize(
    "inner",
    [
        NBTreeClassifier(random_state=0),
        NaiveBayesClassifier(calibration="columns"),
        C45Classifier(),
        BoostedNaiveBayesClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_model_inside_is_calibrated_by_inner_folds(inner, tmp_path):
    X, y = mixed_table(200, classes=2)
    model = ClassDecompositionClassifier(inner, random_state=0)
    found = clone(model).fit(X, y)
    assert 0.01 <= found.calibration_.slope < 3
    shares = [np.mean(y == label) for label in found.classes_]
    np.testing.assert_allclose(found.predict_proba(X).mean(axis=0), shares, atol=0.05)
    assert_same_model(found, clone(model).fit(X, y))
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=60)
    again = clone(model).fit(scan(tmp_path / "rows.parquet"), "label")
    np.testing.assert_allclose(again.predict_proba(X), found.predict_proba(X), atol=1e-9)
