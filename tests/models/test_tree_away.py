"""Trees of rows that lie apart, in any order, are those of all rows together, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import assert_same_model
from unnaive import FlexibleNBTreeClassifier, NBTreeClassifier
from unnaive.models.tree import away
from unnaive.table.records import MemoryRecords
from unnaive.table.source import MemorySource


class Apart(MemorySource):
    """Rows of a table, shuffled, in a few records as workers have them."""

    def keep_away(self, fn, add, name=""):
        rng = np.random.default_rng(0)
        rows = np.array_split(rng.permutation(self.block.n_rows), 4)
        records = [fn(self.block.take(some))[0] for some in rows]
        return MemoryRecords(records, self.storage), self.block.n_rows


def table(rng, numbers):
    """Columns of text, and of numbers if asked, with gaps; classes depend on pairs of them."""
    n, n_classes = int(rng.integers(150, 400)), int(rng.integers(2, 6))
    y = rng.integers(0, n_classes, n)
    X = np.empty((n, 5), dtype=object)
    X[:, 0] = np.array(list("abcdef"))[(y + rng.integers(0, 3, n)) % 6]
    X[:, 1] = np.array(list("abc"))[rng.integers(0, 3, n)]
    for j in (2, 3, 4):
        drawn = np.round(rng.normal(size=n) + y * (X[:, 1] == "a"), j - 2)
        X[:, j] = drawn if numbers else np.where(drawn > 0.5, "x", "y")
        X[rng.random(n) < 0.1, j] = None
    return X, y, [None, rng.integers(0, 4, n), rng.gamma(0.5, size=n)][int(rng.integers(0, 3))]


@pytest.mark.parametrize("large", [0, 300, 10**9])
@pytest.mark.parametrize("seed", range(4))
def test_rows_that_lie_apart_grow_the_same_tree(seed, large, monkeypatch):
    monkeypatch.setattr(away, "SMALL", large)
    monkeypatch.setattr(away, "CELLS", 2000)
    rng = np.random.default_rng([seed, large])
    X, y, weight = table(rng, numbers=seed > 0)
    given = {
        "cv": int(rng.integers(2, 5)),
        "min_error_reduction": 0.0,
        "significance": [None, 0.3][seed % 2],
        "class_weight": ["balanced", None][seed % 2],
        "alpha": [0.5, 0.0][seed % 2],
        "missing": ["skip", "value"][seed % 2],
        "calibration": "slope",
        "random_state": seed,
    }
    for model, more in (
        (NBTreeClassifier, {"discretize": "node"}),
        (NBTreeClassifier, {"discretize": "global", "max_features": [0.5, 2, None][seed % 3]}),
        (FlexibleNBTreeClassifier, {"select": ["utility", "delta"][seed % 2]}),
    ):
        together = model(**given, **more).fit(X, y, weight)
        apart = model(**given, **more)
        read = apart._read_for_tree

        def read_apart(*rows, read=read):
            source, *rest = read(*rows)
            return Apart(source.block), *rest

        apart._read_for_tree = read_apart
        apart.fit(X, y, weight)
        del apart._read_for_tree
        assert_same_model(together, apart)
