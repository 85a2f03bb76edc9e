"""Wiering's experiments: mixtures, bagging and boosting against naive Bayes on 19 data sets.

    python -m benchmarks.wiering --data FOLDER [--halves 50] [--sets a,b] [--models ...] [--loading]

As the paper has it: always half of the rows to learn from and half to test on, at random; numbers
(and numeric targets: housing, servo) cut at the mean plus whole standard deviations; pseudo-count
0.1 plus noise up to 0.01, sigma 0.1, 5 sweeps; 10 models for bagging and boosting. Printed set by
set beside the paper's figures. Significance is by the t-test of two samples, which the paper seems
to mean, and by that of pairs, since all models see the same halves. The paper's 14 classes of
abalone cannot be rebuilt from its text: its row, with rings cut like the other numeric targets,
stands apart and in no mean. ``--loading`` counts instead the seeds for which exclusive or and 4-bit
parity are learned.
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
from scipy.stats import ttest_ind, ttest_rel

from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
)
from unnaive.datasets import make_parity

COUNTING = {"numeric": "sigma", "alpha": 0.1, "prior_alpha": 0.1}
# Our name, the manifest's name of the paper's column (None: not in the paper), and the model.
MODELS: dict[str, tuple[str | None, Callable[[int], Any]]] = {
    "NB": ("NB", lambda _: NaiveBayesClassifier(**COUNTING)),
    "1-4 HM": ("HM 1-4", lambda s: HierarchicalMixtureClassifier(layers=(4,), random_state=s)),
    "2-2 HM": ("HM 2-2", lambda s: HierarchicalMixtureClassifier(layers=(2, 2), random_state=s)),
    "bagging": (
        "bagging",
        lambda s: BaggedNaiveBayesClassifier(voting="hard", random_state=s, **COUNTING),
    ),
    "boosting": (
        "boosting",
        lambda s: BoostedNaiveBayesClassifier(algorithm="m1", random_state=s, **COUNTING),
    ),
    "grow": (None, lambda s: HierarchicalMixtureClassifier(layers="grow", random_state=s)),
}
APART = "abalone"


def sigma_classes(values: pd.Series) -> np.ndarray:
    """A numeric target as classes: whole standard deviations from the mean."""
    return np.floor((values - values.mean()) / values.std(ddof=0)).astype(int).astype(str)


def data_sets(folder: Path, only: list[str] | None) -> list[tuple[str, Any, np.ndarray, dict]]:
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    found = []
    for entry in manifest["datasets"]:
        paper = entry["papers"].get("H")
        if paper is None or (only is not None and entry["name"] not in only):
            continue
        table = pd.read_parquet(folder / entry["file"])
        if "subset" in paper:
            table = table[table["split"].astype(str) == paper["subset"]].reset_index(drop=True)
        target = table[entry["target"]]
        numeric = entry["name"] in ("housing", "servo", APART)
        y = sigma_classes(target) if numeric else target.astype(str).to_numpy()
        X = table.drop(columns=[c for c in (entry["target"], "split") if c in table])
        found.append((entry["name"], X, np.asarray(y), paper["accuracy"]))
    return found


def accuracies(make: Callable[[int], Any], X: pd.DataFrame, y: np.ndarray, n: int) -> np.ndarray:
    """Per cent right on the other half, for n random halves."""
    out = np.empty(n)
    for seed in range(n):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        model = make(seed).fit(X.iloc[train], y[train])
        out[seed] = 100 * (model.predict(X.iloc[test]) == y[test]).mean()
    return out


def significance(plain: np.ndarray, other: np.ndarray, test: Callable[..., Any]) -> str:
    """The paper's signs: one for a t-test below 0.05, two below 0.01."""
    if np.array_equal(plain, other):
        return "="
    p = test(plain, other).pvalue
    sign = "+" if other.mean() > plain.mean() else "-"
    return "=" if p >= 0.05 else sign if p >= 0.01 else 2 * sign


def measure(folder: Path, names: list[str], only: list[str] | None, n: int) -> pd.DataFrame:
    records = []
    for name, X, y, paper in data_sets(folder, only):
        plain = accuracies(MODELS["NB"][1], X, y, n)
        for model in names:
            column, make = MODELS[model]
            own = plain if model == "NB" else accuracies(make, X, y, n)
            theirs = paper.get(column, np.nan) if column else np.nan
            records.append(
                {
                    "set": name, "model": model, "accuracy": own.mean(), "deviation": own.std(),
                    "sign": significance(plain, own, ttest_ind),
                    "paired": significance(plain, own, ttest_rel), "paper": theirs,
                    "paper_nb": paper["NB"], "nb": plain.mean(),
                }
            )  # fmt: skip
    return pd.DataFrame(records)


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """Means, error reductions and wins to losses over the sets whose classes are the paper's."""
    rows = []
    for model, own in results[results["set"] != APART].groupby("model", sort=False):
        reduction = (own["accuracy"] - own["nb"]) / (100 - own["nb"])
        theirs = (own["paper"] - own["paper_nb"]) / (100 - own["paper_nb"])
        won = {c: own[c].str[0].value_counts() for c in ("sign", "paired")}
        score = {c: f"{n.get('+', 0)}:{n.get('-', 0)}" for c, n in won.items()}
        rows.append(
            {
                "model": model, "mean": own["accuracy"].mean(), "paper": own["paper"].mean(),
                "above NB": (own["accuracy"] - own["nb"]).mean(),
                "error reduction %": 100 * reduction.mean(),
                "paper's %": 100 * theirs.mean(),
                "win:loss": score["sign"], "paired": score["paired"],
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def show(results: pd.DataFrame, names: list[str]) -> None:
    table = Table("set", *(f"{m} (paper)" for m in names), title="per cent right, ours (Wiering)")
    for name, rows in results.groupby("set", sort=False):
        by_model = rows.set_index("model")
        cells = []
        for model in names:
            row = by_model.loc[model]
            theirs = "" if np.isnan(row["paper"]) else f" ({row['paper']:.1f})"
            sign = "" if model == "NB" else row["sign"]
            cells.append(f"{row['accuracy']:.1f}±{row['deviation']:.1f}{sign}{theirs}")
        table.add_row(name + (" *" if name == APART else ""), *cells)
    console = Console(width=170)
    console.print(table)
    console.print("* other classes than the paper's; in no mean")
    console.print(summarize(results).round(2).to_string(index=False))


# ---------------------------------------------------------------------------------------------
# Loading exclusive or and parity
# ---------------------------------------------------------------------------------------------


def loaded(bits: int, layers: tuple[int, ...], gamma: float, n_sweeps: int, seeds: int) -> int:
    """For how many seeds every row is learned."""
    X, y = make_parity(bits)
    make = lambda s: HierarchicalMixtureClassifier(  # noqa: E731
        layers=layers, gamma=gamma, n_sweeps=n_sweeps, random_state=s
    )
    return sum(make(seed).fit(X, y).score(X, y) == 1 for seed in range(seeds))


def show_loading(seeds: int) -> None:
    for bits, layers, gamma, sweeps in LOADING:
        n = loaded(bits, layers, gamma, sweeps, seeds)
        shape = "-".join(map(str, layers))
        print(f"{bits}-bit parity, {shape}, gamma {gamma}, {sweeps} sweeps: {n} of {seeds} seeds")


# Bits, layers, pseudo-count and sweeps, the same for all seeds.
LOADING = [
    (2, (2,), 0.1, 20),
    (2, (4,), 0.1, 20),
    (4, (2,) * 6, 0.01, 1000),
    (4, (2,) * 7, 0.01, 1000),
    (4, (2,) * 6, 0.1, 5000),
    (4, (2,) * 7, 0.1, 5000),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--halves", type=int, default=50)
    parser.add_argument("--sets")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--loading", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/wiering.csv"))
    options = parser.parse_args()
    if options.loading:
        show_loading(100)
        return
    if options.data is None:
        parser.error("--data is needed")
    names = options.models.split(",")
    only = options.sets.split(",") if options.sets else None
    results = measure(options.data, names, only, options.halves)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False)
    show(results, names)


if __name__ == "__main__":
    main()
