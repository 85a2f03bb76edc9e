"""Class decomposition beside naive Bayes, on the data sets and with the protocol of its paper.

    python -m benchmarks.decomposition --data FOLDER [--sets a,b] [--repeats 5] [--models ...]

The folder holds one Parquet file per data set and a MANIFEST.json with the paper's figures.
Stratified 10-fold cross-validation, repeated with other folds. A gain is significant at 0.01 by
the corrected resampled paired t-test over all folds (Nadeau and Bengio: folds share training rows,
which the plain test ignores), and, beside it, by the plain paired t-test on the means of the
repeats, as in the paper. Nothing here is chosen on held-out rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import stats

from benchmarks.quality import data_sets, folds
from unnaive import ClassDecompositionClassifier, NaiveBayesClassifier
from unnaive.models.decomposition import SMALL_VARIANCE

FOLDS = 10
LEVEL = 0.01
MODELS: dict[str, Callable[[], Any]] = {
    "likelihood": lambda: ClassDecompositionClassifier(random_state=0),
    "best pair": lambda: ClassDecompositionClassifier(fold="max", random_state=0),
    "accuracy": lambda: ClassDecompositionClassifier(select="accuracy", random_state=0),
}


def naive_bayes() -> NaiveBayesClassifier:
    """What every (class, cluster) pair is learned with, on whole classes."""
    return NaiveBayesClassifier(numeric="gaussian", var_smoothing=SMALL_VARIANCE)


# ---------------------------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------------------------


def one_repeat(
    name: str, table: pd.DataFrame, target: str, repeat: int, chosen: list[str]
) -> list[dict[str, Any]]:
    """Accuracy on every fold of one repeat, and clusters per class."""
    warnings.simplefilter("ignore")
    y = table[target].astype(str).to_numpy()
    X = table.drop(columns=[c for c in (target, "split") if c in table])
    makers = {"nb": naive_bayes, **{m: MODELS[m] for m in chosen}}
    found = []
    for fold, (train, test) in enumerate(folds(y, FOLDS, repeat)):
        for model, make in makers.items():
            start = time.perf_counter()
            fitted = make().fit(X.iloc[train], y[train])
            took = time.perf_counter() - start
            numbers = [c.n_clusters for c in getattr(fitted, "clusters_", [])] or [1]
            found.append(
                {
                    "set": name,
                    "model": model,
                    "repeat": repeat,
                    "fold": fold,
                    "accuracy": 100 * float((fitted.predict(X.iloc[test]) == y[test]).mean()),
                    "mean": float(np.mean(numbers)),
                    "min": min(numbers),
                    "max": max(numbers),
                    "fit_s": took,
                }
            )
    return found


def paper_sets(folder: Path, only: list[str] | None) -> dict[str, dict[str, Any]]:
    """The paper's own figures for each of its data sets."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    return {
        entry["name"]: entry["papers"]["V"]
        for entry in manifest["datasets"]
        if "V" in entry["papers"] and (only is None or entry["name"] in only)
    }


# ---------------------------------------------------------------------------------------------
# Significance
# ---------------------------------------------------------------------------------------------


def corrected_p(gains: np.ndarray) -> float:
    """Two-sided p of the corrected resampled t-test; one gain per fold of every repeat."""
    spread = gains.var(ddof=1)
    if spread == 0:
        return 1.0 if gains.mean() == 0 else 0.0
    t = gains.mean() / np.sqrt(spread * (1 / len(gains) + 1 / (FOLDS - 1)))
    return float(2 * stats.t.sf(abs(t), len(gains) - 1))


def plain_p(gains: np.ndarray) -> float:
    """Two-sided p of the paired t-test; one gain per repeat."""
    if gains.var() == 0:
        return 1.0 if gains.mean() == 0 else 0.0
    return float(stats.ttest_1samp(gains, 0.0).pvalue)


def compare(results: pd.DataFrame, model: str, beside: str = "nb") -> pd.DataFrame:
    """Per data set: accuracies, gain, both tests, clusters per class."""
    records = []
    for name, rows in results.groupby("set", sort=False):
        wide = rows.pivot(index=["repeat", "fold"], columns="model", values="accuracy")
        gains = wide[model] - wide[beside]
        own = rows[rows["model"] == model]
        means = gains.groupby("repeat").mean().to_numpy()
        records.append(
            {
                "set": name,
                beside: wide[beside].mean(),
                model: wide[model].mean(),
                "gain": gains.mean(),
                "corrected_p": corrected_p(gains.to_numpy()),
                "plain_p": plain_p(means) if len(means) > 1 else np.nan,
                **{key: own[key].mean() for key in ("mean", "min", "max", "fit_s")},
            }
        )
    return pd.DataFrame(records)


# ---------------------------------------------------------------------------------------------
# Showing
# ---------------------------------------------------------------------------------------------


def show(results: pd.DataFrame, model: str, paper: dict[str, dict[str, Any]]) -> None:
    found = compare(results, model)
    table = Table(
        "set", "NB", "decomposed", "gain", "corrected p", "plain p", "clusters (mean min max)",
        "paper NB", "paper's", "paper's clusters", title=f"decomposition: {model}",
    )  # fmt: skip
    for row in found.to_dict("records"):
        own = paper[row["set"]]
        ink = "" if row["corrected_p"] >= LEVEL else "[green]" if row["gain"] > 0 else "[red]"
        table.add_row(
            row["set"], f"{row['nb']:.2f}", f"{row[model]:.2f}", f"{ink}{row['gain']:+.2f}",
            f"{row['corrected_p']:.4f}", f"{row['plain_p']:.4f}",
            f"{row['mean']:.1f} {row['min']:.1f} {row['max']:.1f}",
            f"{own['accuracy']['NB']:.2f}", f"{own['accuracy']['NB decomposed']:.2f}",
            " ".join(f"{own['clusters'][k]:g}" for k in ("mean", "min", "max")),
        )  # fmt: skip
    Console(width=150).print(table)
    for test in ("corrected_p", "plain_p"):
        sure = found[found[test] < LEVEL]["gain"]
        print(f"{test}: {(sure > 0).sum()} significant gains, {(sure < 0).sum()} losses")
    print(
        f"mean over {len(found)} sets: NB {found['nb'].mean():.2f}, {model} "
        f"{found[model].mean():.2f}, gain {found['gain'].mean():+.2f}; clusters per class "
        f"{found['mean'].mean():.2f} ({found['min'].mean():.2f} to {found['max'].mean():.2f})\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/decomposition.csv"))
    options = parser.parse_args()
    paper = paper_sets(options.data, options.sets.split(",") if options.sets else None)
    chosen = options.models.split(",")
    work = [
        joblib.delayed(one_repeat)(name, table, target, repeat, chosen)
        for name, table, target in data_sets(options.data, list(paper))
        for repeat in range(options.repeats)
    ]
    parts = joblib.Parallel(n_jobs=options.jobs)(work)
    results = pd.DataFrame([record for part in parts for record in part])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False)
    for model in chosen:
        show(results, model, paper)
    if {"likelihood", "accuracy"} <= set(chosen):
        beside = compare(results, "accuracy", "likelihood")
        sure = beside[beside["corrected_p"] < LEVEL]["gain"]
        print(f"accuracy beside likelihood: {(sure > 0).sum()} gains, {(sure < 0).sum()} losses")


if __name__ == "__main__":
    main()
