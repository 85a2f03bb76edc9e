"""Accuracy and log loss of the library's classifiers on a folder of data sets.

    python -m benchmarks.quality --data FOLDER [--peers peers.csv] [--sets a,b] [--models nb,...]

The folder holds one Parquet file per data set and a MANIFEST.json that names their targets. Splits
are those of ``unnaive-papers comparison``: the file's own where it has a ``split`` column, else one
third held out above 3,000 rows (stratified), else stratified 10-fold cross-validation, pooled.
Defaults of the library are chosen with ``--inner``, which sees training rows only: it
cross-validates inside each training part instead of looking at the held-out rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    PooledClassifier,
    RandomForestClassifier,
    UnnaiveBayesClassifier,
)
from unnaive_papers.comparison.experiments import splits
from unnaive_papers.numbers import Around
from unnaive_papers.protocol import Split, evaluate, folds

MODELS: dict[str, Callable[[], Any]] = {
    "nb": NaiveBayesClassifier,
    "nb-gaussian": lambda: NaiveBayesClassifier(numeric="gaussian"),
    "nb-frequency": lambda: NaiveBayesClassifier(numeric="frequency"),
    "nb-width": lambda: NaiveBayesClassifier(numeric="width"),
    "nb-sigma": lambda: NaiveBayesClassifier(numeric="sigma", alpha=0.1),
    "nb-bayes": lambda: NaiveBayesClassifier(numeric="bayes", bandwidth="cv"),
    "nb-kernel": lambda: NaiveBayesClassifier(numeric="kernel"),
    "nb-kernel-cv": lambda: NaiveBayesClassifier(numeric="kernel", bandwidth="cv"),
    "c45": lambda: C45Classifier(n_jobs=2),
    "c45-raw": lambda: C45Classifier(alpha=0, n_jobs=2),
    "nbtree": lambda: NBTreeClassifier(random_state=0, n_jobs=2),
    "nbtree-global": lambda: NBTreeClassifier(discretize="global", random_state=0, n_jobs=2),
    "nbtree-paper": lambda: NBTreeClassifier(alpha=0, significance=None, random_state=0, n_jobs=2),
    "flexible": lambda: FlexibleNBTreeClassifier(random_state=0, n_jobs=2),
    "flexible-utility": lambda: FlexibleNBTreeClassifier(
        select="utility", random_state=0, n_jobs=2
    ),
    "unnaive": lambda: UnnaiveBayesClassifier(random_state=0, n_jobs=2),
    "unnaive-columns": lambda: UnnaiveBayesClassifier(interactions=0, random_state=0, n_jobs=2),
    "forest": lambda: RandomForestClassifier(random_state=0, n_jobs=2),
    "pool": lambda: PooledClassifier(
        [
            ("unnaive", UnnaiveBayesClassifier(random_state=0, n_jobs=2)),
            ("forest", RandomForestClassifier(random_state=0, n_jobs=2)),
        ],
        random_state=0,
    ),
    "boosted": lambda: BoostedNaiveBayesClassifier(random_state=0, n_jobs=2),
    "boosted-m1": lambda: BoostedNaiveBayesClassifier(algorithm="m1", random_state=0, n_jobs=2),
    "boosted-samme": lambda: BoostedNaiveBayesClassifier(
        algorithm="samme", random_state=0, n_jobs=2
    ),
    "bagged": lambda: BaggedNaiveBayesClassifier(random_state=0, n_jobs=2),
    "boosted-probability": lambda: BoostedNaiveBayesClassifier(
        algorithm="probability", random_state=0, n_jobs=2
    ),
    "mixture-1-4": lambda: HierarchicalMixtureClassifier(layers=(4,), random_state=0, n_jobs=2),
    "mixture-2-2": lambda: HierarchicalMixtureClassifier(layers=(2, 2), random_state=0, n_jobs=2),
    "mixture-grow": lambda: HierarchicalMixtureClassifier(layers="grow", random_state=0, n_jobs=2),
    "adaboost-nbtree": lambda: Around(partial(NBTreeClassifier, random_state=0), random_state=0),
    "bagging-nbtree": lambda: Around(
        partial(NBTreeClassifier, random_state=0), "bagging", random_state=0
    ),
}


def data_sets(folder: Path, only: list[str] | None) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Name, table and target of each set whose target is a class."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    for entry in manifest["datasets"]:
        table = pd.read_parquet(folder / entry["file"])
        numeric = pd.api.types.is_numeric_dtype(table[entry["target"]])
        if entry["task"] != "classification" and numeric:
            continue
        if only is None or entry["name"] in only:
            yield entry["name"], table, entry["target"]


def inner(parts: list[Split], y: np.ndarray) -> list[Split]:
    """Cross-validation inside the first training part: held-out rows are never seen."""
    train, _ = parts[0]
    return [(train[a], train[b]) for a, b in folds(y[train], 5)]


def measure(
    folder: Path, models: dict[str, Callable[[], Any]], only: list[str] | None, inside: bool
) -> pd.DataFrame:
    records = []
    for name, table, target in data_sets(folder, only):
        y = table[target].astype(str).to_numpy()
        X = table.drop(columns=[c for c in (target, "split") if c in table])
        train = (table["split"] == "train").to_numpy() if "split" in table else None
        parts = splits(y, train)
        for model, make in models.items():
            result = evaluate(make, X, y, inner(parts, y) if inside else parts)
            records.append({"set": name, "method": model, **result})
    return pd.DataFrame(records)


def show(results: pd.DataFrame, peers: pd.DataFrame | None) -> None:
    """Means over the sets, beside the peers' means over the same sets."""
    frames = [results] if peers is None else [results, peers[peers["set"].isin(results["set"])]]
    every = pd.concat(frames)
    table = Table("method", "sets", "mean accuracy", "mean log loss", title="all sets")
    for method, rows in every.groupby("method", sort=False):
        loss = f"{rows['log_loss'].mean():.4f}" if rows["log_loss"].notna().all() else ""
        accuracy = f"{100 * rows['accuracy'].mean():.2f}"
        table.add_row(method, str(rows["accuracy"].notna().sum()), accuracy, loss)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--sets")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--inner", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/quality.csv"))
    options = parser.parse_args()
    chosen = {name: MODELS[name] for name in options.models.split(",")}
    only = options.sets.split(",") if options.sets else None
    results = measure(options.data, chosen, only, options.inner)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False)
    show(results, pd.read_csv(options.peers) if options.peers else None)


if __name__ == "__main__":
    main()
