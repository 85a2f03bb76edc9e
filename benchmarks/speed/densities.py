"""Kernel densities: against direct sums, a normal density, Weka; Flexible NBTree against NBTree."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality import data_sets
from benchmarks.speed.foundation import labels, numbers
from benchmarks.speed.harness import Row, at_most, best_of, seconds
from unnaive import FlexibleNBTreeClassifier, NaiveBayesClassifier, NBTreeClassifier
from unnaive.density.bandwidth import CANDIDATES
from unnaive_papers import weka

ROWS, COLUMNS = 100_000, 20
DIRECT_ROWS = 2_000  # the direct sum is timed on so many rows of one column, and scaled up
WEKA_TRAIN = 5_000  # rows that Weka learns from: with more, each answer takes it longer
WEKA_ROWS, WEKA_FEW = 2_000, 20  # rows that Weka answers for; the difference is timed
THREADS = 2


def rows(data: Path | None) -> Iterator[Row]:
    X, y = numbers(ROWS), labels(ROWS)
    yield from fit_rows(X, y)
    yield from predict_rows(X, y)
    if data is not None:
        yield from tree_rows(data)


def kernel(**parameters: object) -> NaiveBayesClassifier:
    return NaiveBayesClassifier(numeric="kernel", n_jobs=THREADS, **parameters)


def direct_leave_one_out(x: np.ndarray) -> float:
    """The paper's sum over all pairs of rows, for every candidate width."""
    scaled = (x - x.min()) / np.ptp(x)
    squares = (scaled[:, None] - scaled) ** 2
    best = -np.inf
    for c in CANDIDATES:
        h = c / np.sqrt(len(x))
        sums = np.exp(squares * (-0.5 / h**2)).sum(axis=1) - 1
        best = max(best, float(np.log(sums / ((len(x) - 1) * h) + 1e-10).sum()))
    return best


def fit_rows(X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    size = f"{ROWS:,} x {COLUMNS}"
    few = X[y == 0, 0][:DIRECT_ROWS]
    ours, direct = best_of(
        3, lambda: kernel(bandwidth="cv").fit(X, y), lambda: direct_leave_one_out(few)
    )
    # Two classes of half the rows each, and the square of their rows.
    scaled = direct * COLUMNS * 2 * (ROWS / 2 / DIRECT_ROWS) ** 2
    yield Row(
        f"kernel NB fit, 61 widths, {size}", seconds(ours),
        f"direct leave-one-out {seconds(scaled)} (extrapolated from {DIRECT_ROWS:,} rows)",
        scaled / ours, ">=", 1000,
    )  # fmt: skip
    yield at_most(
        f"kernel NB fit, 61 widths, {size}", lambda: kernel(bandwidth="cv").fit(X, y),
        lambda: NaiveBayesClassifier(numeric="gaussian", n_jobs=THREADS).fit(X, y),
        "gaussian fit", 10, runs=7,
    )  # fmt: skip


def predict_rows(X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    if weka.weka_jar() is None:
        return
    model = kernel(bandwidth="cv").fit(X, y)
    (ours,) = best_of(5, lambda: model.predict_proba(X))
    theirs = weka_kernel_predict(X, y)
    yield Row(
        f"kernel NB predict_proba, {ROWS:,} x {COLUMNS}, per row", f"{ours / ROWS * 1e6:.3g} us",
        f"Weka -K {theirs * 1e6:.3g} us (learned from {WEKA_TRAIN:,} rows)",
        theirs / (ours / ROWS), ">=", 50,
    )  # fmt: skip


def weka_kernel_predict(X: np.ndarray, y: np.ndarray) -> float:
    """Seconds that Weka takes for one row: many rows less few rows, after the same learning."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        table = pd.DataFrame(X[:WEKA_TRAIN]).assign(label=np.where(y[:WEKA_TRAIN], "b", "a"))
        train, test = Path(folder) / "train.arff", Path(folder) / "test.arff"
        weka.write_arff(train, table)
        for n in (WEKA_ROWS, WEKA_FEW):
            weka.write_arff(test, table[:n])
            took.append(best_of(2, lambda: _answer(train, test))[0])
    return (took[0] - took[1]) / (WEKA_ROWS - WEKA_FEW)


def _answer(train: Path, test: Path) -> None:
    command = "weka.classifiers.bayes.NaiveBayes -K -o -v"
    found = weka.run(*command.split(), "-t", str(train), "-T", str(test))
    if re.search(r"Correctly Classified Instances", found) is None:  # Weka exits with 0 always
        raise RuntimeError(f"Weka printed no result: {found[-300:]}")


def tree_rows(data: Path) -> Iterator[Row]:
    for name, table, target in data_sets(data, ["letter"]):
        train = table[table["split"] == "train"].drop(columns="split")
        X, y = train.drop(columns=target), train[target].astype(str)
        yield at_most(
            f"Flexible NBTree, {name}, {len(X):,} x {X.shape[1]}",
            lambda: FlexibleNBTreeClassifier(random_state=0, n_jobs=THREADS).fit(X, y),
            lambda: NBTreeClassifier(random_state=0, n_jobs=THREADS).fit(X, y),
            "NBTree, node", 10, runs=2,
        )  # fmt: skip
