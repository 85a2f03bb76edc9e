"""Growth in columns: how time grows where a table has few rows and very many columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.speed.harness import Row, slope
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
)

ROWS = 300
MANY, MOST, FEWER = [1000, 4000], [1000, 4000, 20_000], [100, 200, 400]
LINEAR = [
    NaiveBayesClassifier(),
    C45Classifier(),
    BoostedNaiveBayesClassifier(),
    BaggedNaiveBayesClassifier(random_state=0),
    HierarchicalMixtureClassifier(random_state=0),
    ClassDecompositionClassifier(random_state=0),
]
# Each column is tried as a test of all columns, or beside each other one: that is their search.
QUADRATIC = [
    NBTreeClassifier(max_depth=1, random_state=0),
    FlexibleNBTreeClassifier(max_depth=1, random_state=0),
    UnnaiveBayesClassifier(random_state=0),
]


def wide(columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, of which every seventh column tells a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    tells = np.where(np.arange(columns) % 7 == 0, 0.5, 0.0)
    X = rng.normal(size=(ROWS, columns)).round(1) + np.outer(y, tells)
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(columns)]), y


def rows() -> Iterator[Row]:
    """Every row of the table, measured as it is asked for."""
    for model in LINEAR:
        sizes = MOST if isinstance(model, NaiveBayesClassifier) else MANY
        yield slope(f"{_name(model)} fit, 300 rows", sizes, _fit(model), 1.3, 2, "columns")
        yield slope(f"{_name(model)} predict, 20 rows", sizes, _predict(model), 1.2, 2, "columns")
    for model in QUADRATIC:
        yield slope(f"{_name(model)} fit, 300 rows", FEWER, _fit(model), 2.2, 2, "columns")


def _name(model: Any) -> str:
    return type(model).__name__.removesuffix("Classifier")


def _fit(model: Any) -> Callable[[int], Callable[[], Any]]:
    def make(columns: int) -> Callable[[], Any]:
        X, y = wide(columns)
        return lambda: model.fit(X, y)

    return make


def _predict(model: Any) -> Callable[[int], Callable[[], Any]]:
    def make(columns: int) -> Callable[[], Any]:
        X, y = wide(columns)
        model.fit(X, y)
        return lambda: model.predict(X[:20])

    return make
