"""Vilalta and Rish's clusters of a whole set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from unnaive_papers.vilalta.experiments import FINDERS, clustered, replace_missing
from unnaive_papers.vilalta.plain_em import Clusters, Rows, ZeroDensityError, plain_clusters


def test_missing_values_become_means_and_most_frequent_categories():
    X = pd.DataFrame({
        "number": [1.0, None, 3.0, 2.0], "colour": ["red", "red", None, "blue"], "gap": [None] * 4
    }).astype({"gap": float})  # fmt: skip
    out = replace_missing(X)
    assert out["number"].tolist() == [1.0, 2.0, 3.0, 2.0]
    assert out["colour"].tolist() == ["red", "red", "red", "blue"]
    assert out["gap"].isna().all()


@pytest.mark.parametrize("method", FINDERS)
def test_pairs_of_a_class_are_its_own_and_small_classes_stay_whole(method):
    rng = np.random.default_rng(0)
    blobs = rng.normal(0, 1, (80, 3)) + 20 * rng.integers(0, 2, (80, 1))
    X = pd.DataFrame(np.concatenate((blobs, np.full((5, 3), 5.0))))
    y = np.array(["a"] * 80 + ["b"] * 5, dtype=object)
    pairs, owner, clusters = clustered(X, y, 0, FINDERS[method])
    assert (owner[pairs] == y).all()
    assert len(owner) == sum(clusters)
    assert clusters[0] > 1
    assert clusters[1] == 1


def test_densities_are_products_of_normal_densities_and_laplace_frequencies():
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, None], "b": ["x", "y", "x", None]})
    rows = Rows.read(X)
    weight = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    densities = Clusters.estimate(rows, weight).densities(rows)
    for k, w in enumerate(weight.T):
        known, a = w[:3], np.array([1.0, 2.0, 4.0])
        mean = (known * a).sum() / known.sum()
        deviation = np.sqrt((known * (a - mean) ** 2).sum() / known.sum())
        x = (known[[0, 2]].sum() + 1) / (known.sum() + 2)
        expected = norm.pdf(a, mean, deviation) * np.array([x, 1 - x, x])
        np.testing.assert_allclose(densities[:, k], w.mean() * np.append(expected, 1.0))


def test_a_value_far_from_all_others_ends_plain_products_and_leaves_the_class_whole():
    X = pd.DataFrame({"a": [0.0] * 29 + [1.0], "b": np.arange(30.0)})
    with pytest.raises(ZeroDensityError):
        plain_clusters(X, 0)
    y = np.array(["only"] * 30, dtype=object)
    assert clustered(X, y, 0, FINDERS["NB', plain products"])[2] == [1]
