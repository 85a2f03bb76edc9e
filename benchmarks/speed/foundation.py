"""Naive Bayes and the discretizer: the rows of the foundation."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from optbinning import MDLP
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.speed.harness import (
    Row,
    at_most,
    best_of,
    faster,
    in_new_process,
    peak_extra,
    seconds,
    slope,
)
from unnaive import Discretizer, NaiveBayesClassifier, UnnaiveBayesClassifier
from unnaive.explain import explain_rows

warnings.filterwarnings("ignore", category=FutureWarning, module="optbinning")

ROWS, COLUMNS = 1_000_000, 20
THREADS = 2
GROWTH = [100_000, 250_000, 632_000, 1_600_000, 4_000_000]


def labels(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, n)


def categories(n: int, columns: int = COLUMNS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    names = ["red", "green", "blue", "white", "black"]
    return pd.DataFrame(
        {f"c{j}": pd.Categorical.from_codes(rng.integers(0, 5, n), names) for j in range(columns)}
    )


def numbers(n: int, columns: int = COLUMNS) -> np.ndarray:
    """Floats without ties; the classes differ in most columns."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, columns)) + np.outer(labels(n), np.linspace(0, 1, columns))


def nb(**parameters: Any) -> NaiveBayesClassifier:
    return NaiveBayesClassifier(n_jobs=THREADS, **parameters)


def rows() -> Iterator[Row]:
    """Every row of the table, measured as it is asked for."""
    yield from categorical_rows()
    yield from numeric_rows()
    yield from reason_rows()
    yield from memory_rows()
    yield from growth_rows()
    yield from small_rows()


def categorical_rows() -> Iterator[Row]:
    table, y = categories(ROWS), labels(ROWS)
    codes = [table[c].array.codes for c in table]
    size = f"{ROWS:,} x {COLUMNS}"
    pipeline = make_pipeline(OrdinalEncoder(), CategoricalNB())
    name = "OrdinalEncoder + CategoricalNB"
    for library, frame in (("pandas", table), ("polars", pl.from_pandas(table))):
        yield faster(
            f"NB fit, {size} {library} categories",
            lambda: nb().fit(frame, y), lambda: pipeline.fit(frame, y), name, 10, runs=3,
        )  # fmt: skip
    stored = pl.from_pandas(table)
    physical = [stored[c].to_physical().to_numpy() for c in stored.columns]
    yield at_most(
        f"NB fit, {size} polars categories", lambda: nb().fit(stored, y),
        lambda: [c.copy() for c in physical], "copying the codes", 5, runs=10,
    )  # fmt: skip
    copy = lambda: [c.copy() for c in codes]  # noqa: E731
    yield at_most(
        f"NB fit, {size} pandas categories", lambda: nb().fit(table, y), copy,
        "copying the codes", 5, runs=30,
    )  # fmt: skip
    model, theirs = nb().fit(table, y), pipeline.fit(table, y)
    yield faster(
        f"NB predict_proba, {size} categories",
        lambda: model.predict_proba(table), lambda: theirs.predict_proba(table), name, 5, runs=3,
    )  # fmt: skip


def numeric_rows() -> Iterator[Row]:
    X, y = numbers(ROWS), labels(ROWS)
    size = f"{ROWS:,} x {COLUMNS}"
    yield faster(
        f"gaussian fit, {size} floats",
        lambda: nb(numeric="gaussian").fit(X, y), lambda: GaussianNB().fit(X, y), "GaussianNB", 3,
    )  # fmt: skip
    columns = [np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)]
    ours = lambda: Discretizer(n_jobs=THREADS).fit_transform(X, y)  # noqa: E731
    peer = lambda: [MDLP().fit(c, y) for c in columns]  # noqa: E731
    yield faster(f"MDL fit_transform, {size} floats", ours, peer, "optbinning.MDLP", 10, runs=2)
    sort = lambda: [np.sort(c) for c in columns]  # noqa: E731
    yield at_most(f"MDL fit_transform, {size} floats", ours, sort, "np.sort of columns", 4)


def adult_like(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of the kinds and sizes of the adult set: people, and who earns much."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.24).astype(np.intp)
    table = {
        "age": np.clip(rng.gamma(9, 4, n) + 5 * y, 17, 90).round(),
        "weight": rng.integers(12_000, 1_500_000, n).astype(float),
        "years": np.clip(rng.normal(10, 2.5, n) + 1.5 * y, 1, 16).round(),
        "gain": np.where(rng.random(n) < 0.05 + 0.15 * y, 840.0 * rng.integers(1, 120, n), 0.0),
        "loss": np.where(rng.random(n) < 0.04 + 0.05 * y, 43.0 * rng.integers(1, 92, n), 0.0),
        "hours": np.clip(rng.normal(40, 12, n) + 5 * y, 1, 99).round(),
    }
    for size in (9, 16, 7, 15, 6, 5, 2, 42):
        shares = rng.dirichlet(np.ones(size), 2)
        codes = np.where(y == 0, *(rng.choice(size, n, p=share) for share in shares))
        names = [f"value {k}" for k in range(size)]
        table[f"c{len(table)}"] = pd.Categorical.from_codes(codes, names)
    return pd.DataFrame(table), y


def reason_rows() -> Iterator[Row]:
    X, y = adult_like(ROWS)
    for name, model in (("NB", nb()), ("unnaive Bayes", UnnaiveBayesClassifier(random_state=0))):
        model.fit(X[:20_000], y[:20_000])
        yield at_most(
            f"{name}, 3 reason codes each, {ROWS:,} adult-like rows",
            lambda: explain_rows(model, X, top=3), lambda: model.predict_proba(X),
            "predict_proba", 5, runs=3,
        )  # fmt: skip


def growth_rows() -> Iterator[Row]:
    def categorical(n: int) -> Callable[[], Any]:
        table, y = categories(n, 8), labels(n)
        return lambda: nb().fit(table, y)

    def gaussian(n: int) -> Callable[[], Any]:
        X, y = numbers(n, 8), labels(n)
        return lambda: nb(numeric="gaussian").fit(X, y)

    def mdl(n: int) -> Callable[[], Any]:
        X, y = numbers(n, 8), labels(n)
        return lambda: Discretizer(n_jobs=THREADS).fit_transform(X, y)

    yield slope("NB fit, categories x 8", GROWTH, categorical, 1.1, runs=5)
    yield slope("gaussian fit, floats x 8", GROWTH, gaussian, 1.1)
    yield slope("MDL fit_transform, floats x 8", GROWTH, mdl, 1.1)


def small_rows() -> Iterator[Row]:
    X, y = load_iris(return_X_y=True)
    for numeric in ("mdl", "gaussian"):
        yield at_most(
            f"iris, fit + predict, numeric={numeric!r}",
            lambda: NaiveBayesClassifier(numeric=numeric).fit(X, y).predict(X),
            lambda: GaussianNB().fit(X, y).predict(X), "GaussianNB", 3, runs=300,
        )  # fmt: skip

    def start(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    alone, both = best_of(7, start("import sklearn.base"), start("import sklearn.base, unnaive"))
    yield Row(
        "import unnaive after sklearn (seconds added)", seconds(both), f"sklearn {seconds(alone)}",
        both - alone, "<=", 0.5,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Peak memory beyond the input, as a multiple of the input
# ---------------------------------------------------------------------------------------------


def _memory_categories() -> float:
    table, y = categories(ROWS), labels(ROWS)
    nb().fit(table.head(1000), y[:1000])
    return peak_extra(lambda: nb().fit(table, y)) / table.memory_usage(index=False).sum()


def _memory_gaussian() -> float:
    X, y = numbers(ROWS), labels(ROWS)
    nb(numeric="gaussian").fit(X[:1000], y[:1000])
    return peak_extra(lambda: nb(numeric="gaussian").fit(X, y)) / X.nbytes


def _memory_mdl() -> float:
    X, y = numbers(ROWS), labels(ROWS)
    Discretizer(n_jobs=THREADS).fit_transform(X[:10_000], y[:10_000])
    return peak_extra(lambda: Discretizer(n_jobs=THREADS).fit_transform(X, y)) / X.nbytes


def _memory_nb_mdl() -> float:
    X, y = numbers(ROWS), labels(ROWS)
    nb().fit(X[:10_000], y[:10_000])
    return peak_extra(lambda: nb().fit(X, y)) / X.nbytes


MEMORY = {
    "NB fit, categories": _memory_categories,
    "gaussian fit, floats": _memory_gaussian,
    "NB fit, mdl, floats": _memory_nb_mdl,
    "MDL fit_transform, floats": _memory_mdl,
}


def memory_rows() -> Iterator[Row]:
    if not sys.platform.startswith("linux"):
        return
    for case in MEMORY:
        ratio = in_new_process(case)
        work = f"{case}: peak memory beyond the input"
        yield Row(work, f"{ratio:.2f} x input", "the input", ratio, "<=", 1.5)
