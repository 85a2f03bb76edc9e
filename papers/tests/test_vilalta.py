"""Vilalta and Rish's clusters of a whole set."""

from __future__ import annotations

import numpy as np
import pandas as pd

from unnaive_papers.vilalta.experiments import clustered, replace_missing


def test_missing_values_become_means_and_most_frequent_categories():
    X = pd.DataFrame({
        "number": [1.0, None, 3.0, 2.0], "colour": ["red", "red", None, "blue"], "gap": [None] * 4
    }).astype({"gap": float})  # fmt: skip
    out = replace_missing(X)
    assert out["number"].tolist() == [1.0, 2.0, 3.0, 2.0]
    assert out["colour"].tolist() == ["red", "red", "red", "blue"]
    assert out["gap"].isna().all()


def test_pairs_of_a_class_are_its_own_and_small_classes_stay_whole():
    rng = np.random.default_rng(0)
    blobs = rng.normal(0, 1, (80, 3)) + 20 * rng.integers(0, 2, (80, 1))
    X = pd.DataFrame(np.concatenate((blobs, np.full((5, 3), 5.0))))
    y = np.array(["a"] * 80 + ["b"] * 5, dtype=object)
    pairs, owner, clusters = clustered(X, y, 0)
    assert (owner[pairs] == y).all()
    assert len(owner) == sum(clusters)
    assert clusters[0] > 1
    assert clusters[1] == 1
