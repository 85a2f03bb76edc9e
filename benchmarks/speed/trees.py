"""NBTree and C4.5: against Weka on training sets of a data folder, CART on rows made here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.quality import data_sets
from benchmarks.speed.harness import (
    Row,
    best_of,
    faster,
    in_new_process,
    peak_extra,
    seconds,
    slope,
)
from unnaive import (
    C45Classifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
)
from unnaive_papers import weka
from unnaive_papers.protocol import c45_size

WEKA_NBTREE = "weka.classifiers.trees.NBTree"
WEKA_J48 = "weka.classifiers.trees.J48"
# At least so many times faster: numbers cut at every node, and once for all.
TARGETS = {"adult": (15, 40), "letter": (50, 150), "shuttle": (20, 50)}
C45_TARGETS = {"adult": 5, "letter": 5}
THREADS = 2
GROWTH = [100_000, 300_000, 750_000, 1_500_000, 3_000_000]


def rows(data: Path | None) -> Iterator[Row]:
    if data is not None and weka.weka_jar() is not None:
        yield from weka_rows(data)
    yield from made_rows()
    yield from memory_rows()


def why_skipped(data: Path | None) -> str | None:
    """What is missing for the rows against Weka."""
    if data is None:
        return "no rows against Weka: pass --data FOLDER with adult, letter and shuttle"
    return None if weka.weka_jar() else "no rows against Weka: its jar or Java is not installed"


def nbtree(**parameters: Any) -> NBTreeClassifier:
    return NBTreeClassifier(random_state=0, n_jobs=THREADS, **parameters)


# ---------------------------------------------------------------------------------------------
# Weka
# ---------------------------------------------------------------------------------------------


def weka_rows(data: Path) -> Iterator[Row]:
    for name, table, target in data_sets(data, list(TARGETS)):
        train = table[table["split"] == "train"].drop(columns="split")
        X, y = train.drop(columns=target), train[target].astype(str)
        if name in C45_TARGETS:
            yield c45_row(name, X, y)
        build, nodes = weka.train(WEKA_NBTREE, X, y)
        for discretize, least in zip(("node", "global"), TARGETS[name], strict=True):
            model = nbtree(discretize=discretize).fit(X, y)
            (ours,) = best_of(3, lambda: nbtree(discretize=discretize).fit(X, y))
            yield Row(
                f"NBTree, {discretize}, {name} ({model.tree_.n_nodes} nodes)",
                seconds(ours),
                f"Weka {seconds(build)} ({nodes} nodes)",
                build / ours,
                ">=",
                least,
            )


def c45_row(name: str, X: pd.DataFrame, y: pd.Series) -> Row:
    build, nodes = min(weka.train(WEKA_J48, X, y) for _ in range(3))
    model = C45Classifier(n_jobs=THREADS).fit(X, y)
    (ours,) = best_of(3, lambda: C45Classifier(n_jobs=THREADS).fit(X, y))
    return Row(
        f"C4.5, {name} ({c45_size(model.tree_)} nodes, empty leaves counted)",
        seconds(ours),
        f"Weka J48 {seconds(build)} ({nodes} nodes)",
        build / ours,
        ">=",
        C45_TARGETS[name],
    )


# ---------------------------------------------------------------------------------------------
# Rows made here
# ---------------------------------------------------------------------------------------------


def interactions(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """10 numbers, 10 categories; the class depends on pairs of them, so that trees grow."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n, 10)).round(2)
    codes = rng.integers(0, 5, (n, 10))
    score = np.zeros(n)
    for k in range(4):
        score += ((numbers[:, k] > 0) ^ (codes[:, k] > 2)) * (1.5 - 0.2 * k)
    score += (numbers[:, 4] > 0.5) * (codes[:, 5] == 1) + 0.3 * numbers[:, 6]
    y = (score + rng.normal(scale=0.8, size=n) > score.mean()).astype(int)
    table = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(10)])
    for j in range(10):
        table[f"c{j}"] = pd.Categorical.from_codes(codes[:, j], list("abcde"))
    return table, y


def made_rows() -> Iterator[Row]:
    X, y = interactions(1_000_000)
    plain = X.assign(**{c: X[c].cat.codes for c in X if c.startswith("c")}).to_numpy(float)
    model = nbtree().fit(X, y)
    yield faster(
        f"NBTree, node, 1,000,000 x 20 mixed ({model.tree_.n_nodes} nodes)",
        lambda: nbtree().fit(X, y), lambda: DecisionTreeClassifier(random_state=0).fit(plain, y),
        "scikit-learn DecisionTree", 1, runs=1,
    )  # fmt: skip
    nb = NaiveBayesClassifier(n_jobs=THREADS).fit(X, y)
    tree_s, nb_s = best_of(3, lambda: model.predict_proba(X), lambda: nb.predict_proba(X))
    yield Row(
        "NBTree predict_proba, 1,000,000 rows", seconds(tree_s), f"plain NB {seconds(nb_s)}",
        nb_s / tree_s, ">=", 1 / 3,
    )  # fmt: skip

    def grow(n: int) -> Callable[[], Any]:
        table, labels = interactions(n)
        return lambda: nbtree(max_depth=2).fit(table, labels)

    yield slope("NBTree, depth 2", GROWTH, grow, 1.1, runs=1)


# ---------------------------------------------------------------------------------------------
# Peak memory beyond the input
# ---------------------------------------------------------------------------------------------


def many_values(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """100 categories of 20 values; the 26 classes depend on sums of two, so that a split helps."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (n, 100))
    names = [f"v{k}" for k in range(20)]
    table = {f"c{j}": pd.Categorical.from_codes(codes[:, j], names) for j in range(100)}
    return pd.DataFrame(table), (codes[:, 0] + codes[:, 1]) % 26


def _memory_split_search() -> float:
    X, y = many_values(20_000)
    nbtree(max_depth=1).fit(X.head(1000), y[:1000])
    return peak_extra(lambda: nbtree(max_depth=1).fit(X, y)) / 1e6


MEMORY = {"NBTree split search": _memory_split_search}


def memory_rows() -> Iterator[Row]:
    if not sys.platform.startswith("linux"):
        return
    for case in MEMORY:
        peak = in_new_process(case)
        work = f"{case}, 100 attributes x 20 values x 26 classes: MB beyond the input"
        yield Row(work, f"{peak:.0f} MB", "20,000 rows", peak, "<=", 300)
