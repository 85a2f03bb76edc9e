"""Accuracy and log loss of the library's classifiers on a folder of data sets.

    python -m benchmarks.quality --data FOLDER [--peers peers.csv] [--sets a,b] [--models nb,...]

The folder holds one Parquet file per data set and a MANIFEST.json that names their targets. Splits:
the file's own where it has a ``split`` column, else one third held out above 3,000 rows
(stratified, seed 0), else stratified 10-fold cross-validation (seed 0), pooled over folds.
Defaults of the library are chosen with ``--inner``, which sees training rows only: it
cross-validates inside each training part instead of looking at the held-out rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import StratifiedKFold, train_test_split

from unnaive import NaiveBayesClassifier, NBTreeClassifier

MODELS: dict[str, Callable[[], Any]] = {
    "nb": NaiveBayesClassifier,
    "nb-gaussian": lambda: NaiveBayesClassifier(numeric="gaussian"),
    "nb-frequency": lambda: NaiveBayesClassifier(numeric="frequency"),
    "nb-width": lambda: NaiveBayesClassifier(numeric="width"),
    "nb-sigma": lambda: NaiveBayesClassifier(numeric="sigma", alpha=0.1),
    "nbtree": lambda: NBTreeClassifier(random_state=0, n_jobs=2),
    "nbtree-global": lambda: NBTreeClassifier(discretize="global", random_state=0, n_jobs=2),
    "nbtree-raw": lambda: NBTreeClassifier(alpha=0, random_state=0, n_jobs=2),
}
Split = tuple[np.ndarray, np.ndarray]


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


def splits(table: pd.DataFrame, y: np.ndarray) -> list[Split]:
    rows = np.arange(len(table))
    if "split" in table:
        part = table["split"].astype(str)
        return [(np.flatnonzero(part == "train"), np.flatnonzero(part == "test"))]
    if len(table) > 3000:
        smallest = np.unique(y, return_counts=True)[1].min()
        stratify = y if smallest >= 2 else None
        return [tuple(train_test_split(rows, test_size=1 / 3, random_state=0, stratify=stratify))]
    return folds(y, 10)


def folds(y: np.ndarray, n: int, seed: int = 0) -> list[Split]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        splitter = StratifiedKFold(n, shuffle=True, random_state=seed)
        return list(splitter.split(np.zeros(len(y)), y))


def evaluate(make: Callable[[], Any], X: pd.DataFrame, y: np.ndarray, parts: list[Split]) -> dict:
    """Pooled accuracy and log loss, and seconds to fit and to predict."""
    classes = np.unique(y)
    right = loss = fit = predict = 0.0
    n = sum(len(test) for _, test in parts)
    for train, test in parts:
        start = time.perf_counter()
        model = make().fit(X.iloc[train], y[train])
        fit += time.perf_counter() - start
        start = time.perf_counter()
        found = model.predict_proba(X.iloc[test])
        predict += time.perf_counter() - start
        p = np.full((len(test), len(classes)), 1e-15)
        p[:, np.searchsorted(classes, model.classes_)] = np.clip(found, 1e-15, 1)
        p /= p.sum(axis=1, keepdims=True)
        right += (classes[p.argmax(axis=1)] == y[test]).sum()
        loss -= np.log(p[np.arange(len(test)), np.searchsorted(classes, y[test])]).sum()
    return {"accuracy": right / n, "log_loss": loss / n, "fit_s": fit, "predict_s": predict}


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
        parts = splits(table, y)
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
