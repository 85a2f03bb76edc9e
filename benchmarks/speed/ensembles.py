"""Boosted and bagged naive Bayes and hierarchical mixtures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.naive_bayes import CategoricalNB

from benchmarks.speed.foundation import COLUMNS, ROWS, THREADS, categories, nb
from benchmarks.speed.harness import Row, at_most, faster, seconds
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NBTreeClassifier,
)
from unnaive.answer.mixture import MixtureStructure
from unnaive.models import _hierarchical_kernels as kernels
from unnaive.models.hierarchical import counters_of, initial_table

MODELS = 10
SMALLEST = 50  # trees take longer
SMALLER = 5  # the peers take minutes on all rows: both sides get a fifth of them


def rows() -> Iterator[Row]:
    yield from count_rows()
    yield from mixture_rows()


def boosted(calibration: str | None = "none", **parameters: object) -> BoostedNaiveBayesClassifier:
    """The literature's, as peers have it; None is the default calibration."""
    return BoostedNaiveBayesClassifier(
        n_estimators=MODELS,
        random_state=0,
        n_jobs=THREADS,
        calibration=calibration,
        **parameters,
    )


def bagged(calibration: str = "none") -> BaggedNaiveBayesClassifier:
    return BaggedNaiveBayesClassifier(
        n_estimators=MODELS, random_state=0, n_jobs=THREADS, calibration=calibration
    )


def noisy_labels(codes: np.ndarray) -> np.ndarray:
    """Classes that depend on two columns, so that no round is the last."""
    rng = np.random.default_rng(1)
    score = (codes[:, 0] > 2) + (codes[:, 1] > 1) + rng.normal(size=len(codes))
    return (score > 1).astype(int)


def count_rows() -> Iterator[Row]:
    table = categories(ROWS)
    codes = np.stack([table[c].cat.codes for c in table], axis=1)
    y = noisy_labels(codes)
    size = f"{ROWS:,} x {COLUMNS}"
    for algorithm in ("real", "m1"):
        yield at_most(
            f"boosted NB ({algorithm}), {MODELS} rounds, {size} codes",
            lambda: boosted(algorithm=algorithm).fit(table, y), lambda: nb().fit(table, y),
            "one NB fit", 14, runs=7,
        )  # fmt: skip
    yield at_most(
        f"bagged NB, {MODELS} bags, {size} codes",
        lambda: bagged().fit(table, y), lambda: nb().fit(table, y), "one NB fit", 5, runs=7,
    )  # fmt: skip
    yield at_most(
        f"boosted NB, {MODELS} rounds, calibrated, {size} codes",
        lambda: boosted(None).fit(table, y), lambda: boosted().fit(table, y), "uncalibrated", 2,
    )  # fmt: skip
    yield at_most(
        f"bagged NB, {MODELS} bags, calibrated, {size} codes",
        lambda: bagged("slope").fit(table, y), lambda: bagged().fit(table, y), "uncalibrated", 2,
    )  # fmt: skip
    yield from calibration_rows(table.head(ROWS // SMALLEST), y[: ROWS // SMALLEST])
    n = ROWS // SMALLER
    part, few, own = table.head(n), codes[:n], y[:n]
    size = f"{n:,} x {COLUMNS}"
    yield faster(
        f"boosted NB (m1), {MODELS} rounds, {size} codes",
        lambda: boosted(algorithm="m1").fit(part, own),
        lambda: AdaBoostClassifier(CategoricalNB(), n_estimators=MODELS, random_state=0).fit(
            few, own
        ),
        "AdaBoostClassifier(CategoricalNB())", 20, runs=2,
    )  # fmt: skip
    yield faster(
        f"bagged NB, {MODELS} bags, {size} codes",
        lambda: bagged().fit(part, own),
        lambda: BaggingClassifier(
            CategoricalNB(), n_estimators=MODELS, max_samples=0.9, random_state=0
        ).fit(few, own),
        "BaggingClassifier(CategoricalNB())", 20, runs=2,
    )  # fmt: skip


def calibration_rows(table: pd.DataFrame, y: np.ndarray) -> Iterator[Row]:
    """Trees, mixtures and decompositions with the default calibration and without."""
    for name, model in (
        ("NBTree", NBTreeClassifier(n_jobs=THREADS)),
        ("Flexible NBTree", FlexibleNBTreeClassifier(n_jobs=THREADS)),
        ("C4.5", C45Classifier(n_jobs=THREADS)),
        ("mixture", HierarchicalMixtureClassifier(random_state=0, n_jobs=THREADS)),
    ):
        bare = clone(model).set_params(calibration="none")
        yield at_most(
            f"{name}, calibrated, {len(table):,} x {COLUMNS} codes",
            partial(model.fit, table, y), partial(bare.fit, table, y), "uncalibrated", 2,
        )  # fmt: skip


def cpu_seconds(runs: int, work: Callable[[], object]) -> float:
    """Least seconds of one core's time: the work has one thread, the machine may have others."""
    work()
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def mixture_rows() -> Iterator[Row]:
    """Row updates a second, on one core, from rows that are already coded."""
    n = ROWS // SMALLER
    table = categories(n)
    codes = np.stack([table[c].cat.codes for c in table], axis=1)
    y = noisy_labels(codes)
    slots, weight = (codes + 1).astype(np.uint16), np.ones(n)
    coders = HierarchicalMixtureClassifier(n_sweeps=1).fit(table.head(1000), y[:1000]).coders_
    for layers in ((4,), (2, 2)):
        shape = MixtureStructure(layers, 2)
        counters = counters_of(initial_table(shape, coders, 0.01, 0))
        given = (slots, y, weight, shape.net, 0.1, 0.1, 26, 0.0, counters, counters)
        taken = cpu_seconds(7, partial(kernels.sweep, *given))
        name = "-".join(str(b) for b in ((1, *layers) if len(layers) == 1 else layers))
        yield Row(
            f"HM {name} online, {COLUMNS} attributes: million row updates a second",
            seconds(taken), f"{n:,} rows, one core", n / taken / 1e6, ">=", 1.0,
        )  # fmt: skip
