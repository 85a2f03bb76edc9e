"""Kohavi's own protocol: C4.5, naive Bayes and NBTree on his 29 data sets.

    python -m benchmarks.kohavi --data FOLDER [--seeds 5] [--sets a,b]

The folder's MANIFEST.json says, in its K entries, which rows the paper drops and how it tests: ten
folds, the set's own test rows, or rows drawn with the seed. A missing vote is a value, as there.
The paper's configurations (raw frequencies) stand beside the library's defaults.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

from benchmarks.quality import Split, folds
from benchmarks.speed.trees import c45_size
from unnaive import C45Classifier, NaiveBayesClassifier, NBTreeClassifier

PAPER = {"C4.5": 81.91, "NB": 81.69, "NBTree": 84.47}
SIZES = {"letter": (251, 2109), "adult": (137, 2213), "dna": (3, 131), "led24": (1, 49)}
FIRST_ROWS = {"led24"}  # sets whose first rows are the training rows
METHODS: dict[str, Callable[[int], Any]] = {
    "C4.5": lambda _: C45Classifier(alpha=0, n_jobs=2),
    "NB": lambda _: NaiveBayesClassifier(alpha=0, n_jobs=2),
    "NBTree": lambda seed: NBTreeClassifier(
        alpha=0, significance=None, random_state=seed, n_jobs=2
    ),
    "NB, default": lambda _: NaiveBayesClassifier(n_jobs=2),
    "NBTree, default": lambda seed: NBTreeClassifier(random_state=seed, n_jobs=2),
}


def read(folder: Path, entry: dict[str, Any]) -> pd.DataFrame:
    table = pd.read_parquet(folder / entry["file"])
    if entry["papers"]["K"].get("filter") == "drop_missing":
        return table.dropna().reset_index(drop=True)
    return table.astype(object).where(table.notna(), "?") if table.isna().any().any() else table


def splits(table: pd.DataFrame, y: np.ndarray, entry: dict[str, Any], seed: int) -> list[Split]:
    told = entry["papers"]["K"]
    if told["protocol"] != "train and test":
        return folds(y, 10, seed)
    rows = np.arange(len(table))
    if "split" in table:
        return [(rows[table["split"] == "train"], rows[table["split"] == "test"])]
    train = told["paper_train"]
    if entry["name"] in FIRST_ROWS:
        return [(rows[:train], rows[train:])]
    if train + told["paper_test"] > len(rows):  # mushroom, whose sizes cannot be: one third
        train = len(rows) - len(rows) // 3
    return [tuple(train_test_split(rows, train_size=train, random_state=seed, stratify=y))]


def measure(folder: Path, seeds: int, only: list[str] | None) -> pd.DataFrame:
    records = []
    for entry in json.loads((folder / "MANIFEST.json").read_text())["datasets"]:
        if "K" not in entry["papers"] or (only is not None and entry["name"] not in only):
            continue
        table = read(folder, entry)
        y = table[entry["target"]].astype(str).to_numpy()
        X = table.drop(columns=[c for c in (entry["target"], "split") if c in table])
        for seed in range(seeds):
            parts = splits(table, y, entry, seed)
            for method, make in METHODS.items():
                right, nodes = 0, []
                for train, test in parts:
                    model = make(seed).fit(X.iloc[train], y[train])
                    right += (model.predict(X.iloc[test]) == y[test]).sum()
                    nodes.append(size(model))
                tested = sum(len(test) for _, test in parts)
                records.append((entry["name"], method, seed, 100 * right / tested, np.mean(nodes)))
    return pd.DataFrame(records, columns=["set", "method", "seed", "accuracy", "nodes"])


def size(model: Any) -> int:
    if isinstance(model, C45Classifier):
        return c45_size(model.tree_)
    return model.tree_.n_nodes if isinstance(model, NBTreeClassifier) else 1


def show(results: pd.DataFrame) -> None:
    console = Console()
    mean = results.pivot_table("accuracy", "set", "method", sort=False)[list(METHODS)]
    by_set = Table("set", *mean.columns, title="accuracy, mean over seeds")
    for name, row in mean.iterrows():
        by_set.add_row(str(name), *(f"{value:.2f}" for value in row))
    by_set.add_section()
    by_set.add_row(f"mean of {len(mean)}", *(f"{value:.2f}" for value in mean.mean()))
    by_set.add_row("paper", *(f"{PAPER[m]:.2f}" if m in PAPER else "" for m in mean.columns))
    console.print(by_set)
    ours = mean.mean()
    margins = Table("NBTree ahead of", "ours", "paper", "default", title="margins, points")
    for other in ("C4.5", "NB"):
        default = ours["NBTree, default"] - ours["NB, default" if other == "NB" else other]
        margins.add_row(
            other,
            f"{ours['NBTree'] - ours[other]:.2f}",
            f"{PAPER['NBTree'] - PAPER[other]:.2f}",
            f"{default:.2f}",
        )
    console.print(margins)
    nodes = results.pivot_table("nodes", "set", "method")
    sizes = Table("set", "NBTree", "paper", "NBTree, default", "C4.5", "paper", title="nodes")
    for name, paper in SIZES.items():
        if name in nodes.index:
            row = nodes.loc[name]
            sizes.add_row(
                name,
                f"{row['NBTree']:.0f}",
                str(paper[0]),
                f"{row['NBTree, default']:.0f}",
                f"{row['C4.5']:.0f}",
                str(paper[1]),
            )
    console.print(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/kohavi.csv"))
    options = parser.parse_args()
    only = options.sets.split(",") if options.sets else None
    results = measure(options.data, options.seeds, only)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False)
    show(results)


if __name__ == "__main__":
    main()
