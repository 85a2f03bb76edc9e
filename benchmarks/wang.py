"""Wang and Yuan's comparison: Flexible NBTree and NBTree on their 12 data sets.

    python -m benchmarks.wang --data FOLDER [--seeds 3] [--sets a,b] [--methods a,b]

Ten folds, the same for all methods, and a seed for folds and trees alike. The folder's
MANIFEST.json names the sets in its W entries. Abalone's rings are three classes (up to 8, 9 and 10,
more), as is usual: the paper does not say.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from benchmarks.quality import folds
from unnaive import FlexibleNBTreeClassifier, NaiveBayesClassifier, NBTreeClassifier

METHODS: dict[str, Callable[[int], Any]] = {
    "NBTree": lambda seed: NBTreeClassifier(random_state=seed, n_jobs=2),
    "NBTree, paper": lambda seed: NBTreeClassifier(
        alpha=0, significance=None, random_state=seed, n_jobs=2
    ),
    "Flexible": lambda seed: FlexibleNBTreeClassifier(random_state=seed, n_jobs=2),
    "Flexible, paper": lambda seed: FlexibleNBTreeClassifier(
        significance=None, random_state=seed, n_jobs=2
    ),
    "Flexible, utility": lambda seed: FlexibleNBTreeClassifier(
        select="utility", random_state=seed, n_jobs=2
    ),
    "kernel NB": lambda _: NaiveBayesClassifier(numeric="kernel", bandwidth="cv", n_jobs=2),
}
YARDSTICKS = ("NBTree", "NBTree, paper")  # the better one counts


def target(table: pd.DataFrame, entry: dict[str, Any]) -> np.ndarray:
    values = table[entry["target"]]
    if entry["name"] == "abalone":
        values = pd.cut(values, [-np.inf, 8, 10, np.inf], labels=["young", "middle", "old"])
    return values.astype(str).to_numpy()


def measure(
    folder: Path, seeds: int, only: list[str] | None, methods: list[str]
) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    records, paper = [], {}
    for entry in json.loads((folder / "MANIFEST.json").read_text())["datasets"]:
        if "W" not in entry["papers"] or (only is not None and entry["name"] not in only):
            continue
        paper[entry["name"]] = entry["papers"]["W"]["accuracy"]
        table = pd.read_parquet(folder / entry["file"])
        y = target(table, entry)
        X = table.drop(columns=[c for c in (entry["target"], "split") if c in table])
        for seed in range(seeds):
            parts = folds(y, 10, seed)
            for method in methods:
                right, nodes, start = 0, [], time.perf_counter()
                for train, test in parts:
                    model = METHODS[method](seed).fit(X.iloc[train], y[train])
                    right += (model.predict(X.iloc[test]) == y[test]).sum()
                    nodes.append(model.tree_.n_nodes if hasattr(model, "tree_") else 1)
                took = time.perf_counter() - start
                found = (entry["name"], method, seed, 100 * right / len(y), np.mean(nodes), took)
                records.append(found)
    columns = ["set", "method", "seed", "accuracy", "nodes", "seconds"]
    return pd.DataFrame(records, columns=columns), paper


def show(results: pd.DataFrame, paper: dict[str, dict[str, float]]) -> None:
    methods = list(dict.fromkeys(results["method"]))
    mean = results.pivot_table("accuracy", "set", "method", sort=False)[methods]
    nodes = results.pivot_table("nodes", "set", "method", sort=False)
    table = Table("set", *methods, "paper: NBTree", "Flexible", title="accuracy (nodes)")
    for name, row in mean.iterrows():
        cells = [f"{row[m]:.2f} ({nodes.loc[name, m]:.0f})" for m in methods]
        told = paper[str(name)]
        table.add_row(str(name), *cells, f"{told['NBTree']}", f"{told['Flexible NBTree']}")
    table.add_section()
    table.add_row(f"mean of {len(mean)}", *(f"{v:.2f}" for v in mean.mean()), "", "")
    Console(width=160).print(table)
    known = [m for m in YARDSTICKS if m in methods]
    if known:
        best = mean[known].mean().idxmax()
        for method in methods:
            if method not in known:
                ahead = int((mean[method] > mean[best]).sum())
                gain = (mean[method] - mean[best]).mean()
                print(f"{method}: ahead of {best} on {ahead} of {len(mean)}, {gain:+.2f} points")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets")
    parser.add_argument("--methods", help="names separated by ;")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/wang.csv"))
    options = parser.parse_args()
    only = options.sets.split(",") if options.sets else None
    methods = options.methods.split(";") if options.methods else list(METHODS)
    results, paper = measure(options.data, options.seeds, only, methods)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False)
    show(results, paper)


if __name__ == "__main__":
    main()
