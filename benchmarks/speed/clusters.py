"""EM against Weka and scikit-learn on rows made here; class decomposition on a data folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.quality import data_sets
from benchmarks.speed.harness import Row, best_of, faster, seconds
from unnaive import ClassDecompositionClassifier, LatentClassClusterer
from unnaive_papers import weka

THREADS = 2
CLUSTERS, STEPS = 8, 50
WEKA_EM = f"weka.clusterers.EM -N {CLUSTERS} -I {STEPS} -S 1"
SEGMENT_SECONDS = 2.0


def rows(data: Path | None) -> Iterator[Row]:
    yield from em_rows()
    if data is not None:
        yield from decomposition_rows(data)


def why_skipped(data: Path | None) -> str | None:
    """What is missing for some of the rows."""
    if weka.weka_jar() is None:
        return "no EM row against Weka: its jar or Java is not installed"
    return None if data else "no class decomposition: pass --data FOLDER with segment"


def clusterer() -> LatentClassClusterer:
    """So many clusters and steps, from one start."""
    return LatentClassClusterer(
        CLUSTERS, n_init=1, max_iter=STEPS, tol=0, random_state=0, n_jobs=THREADS
    )


def overlapping(n: int) -> pd.DataFrame:
    """10 numbers and 10 categories of groups that lie over one another: EM takes all its steps."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 12, n)
    numbers = rng.normal(size=(12, 10))[group] + rng.normal(size=(n, 10))
    table = pd.DataFrame(numbers.round(3), columns=[f"x{j}" for j in range(10)])
    for j in range(10):
        chances = rng.dirichlet(np.full(5, 2.0), 12).cumsum(axis=1)
        codes = (rng.random((n, 1)) > chances[group]).sum(axis=1).clip(0, 4)
        table[f"c{j}"] = pd.Categorical.from_codes(codes, list("abcde"))
    return table


def em_rows() -> Iterator[Row]:
    table = overlapping(100_000)
    if weka.weka_jar() is not None:
        theirs, likelihood = weka.cluster(WEKA_EM, table)
        (ours,) = best_of(3, lambda: clusterer().fit(table))
        score = clusterer().fit(table).score(table)
        yield Row(
            f"EM, 100,000 x 20 mixed, {CLUSTERS} clusters, {STEPS} steps ({score:.3f} per row)",
            seconds(ours), f"Weka {seconds(theirs)} ({likelihood:.3f} per row)", theirs / ours,
            ">=", 20,
        )  # fmt: skip
    numbers = np.random.default_rng(0).normal(size=(100_000, 20))
    for start in ("kmeans", "random"):
        peer = GaussianMixture(
            CLUSTERS, covariance_type="diag", max_iter=STEPS, tol=0, random_state=0,
            init_params=start,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is told to take every step
            yield faster(
                f"EM, 100,000 x 20 numbers, {CLUSTERS} clusters, {STEPS} steps",
                lambda: clusterer().fit(numbers), lambda: peer.fit(numbers),
                f"GaussianMixture ({start} start)", 1, runs=2,
            )  # fmt: skip


def decomposition_rows(data: Path) -> Iterator[Row]:
    for name, table, target in data_sets(data, ["segment"]):
        X, y = table.drop(columns=target), table[target].astype(str)
        model = ClassDecompositionClassifier(random_state=0, n_jobs=THREADS)
        (ours,) = best_of(3, lambda: model.fit(X, y))
        clusters = len(model.owner_)
        yield Row(
            f"class decomposition, {name}, automatic number ({clusters} clusters)",
            seconds(ours), f"{SEGMENT_SECONDS:g} s", ours / SEGMENT_SECONDS, "<=", 1,
        )  # fmt: skip
