"""The main job on a real table: compare models on german credit, train one, show its evidence.

Run it with ``make demo``; what it finds is printed and written to ``demo/``.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_validate, train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from unnaive import (
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
    export_text,
    merge,
    report,
)
from unnaive.datasets import load_german_credit

OUT = Path(__file__).resolve().parent.parent / "demo"
console = Console()

# KBinsDiscretizer says so of columns with few values.
warnings.filterwarnings("ignore", message="Bins whose width are too small")


def peers() -> dict[str, Any]:
    """What people use today, set up for a mixed table."""
    text = make_column_selector(dtype_include="category")
    numbers = make_column_selector(dtype_exclude="category")
    unknown = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    bins = KBinsDiscretizer(
        10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    return {
        "scikit-learn CategoricalNB, 10 bins": make_pipeline(
            make_column_transformer((OrdinalEncoder(), text), (bins, numbers)),
            CategoricalNB(min_categories=12),
        ),
        "scikit-learn boosted trees": make_pipeline(
            make_column_transformer((unknown, text), remainder="passthrough"),
            HistGradientBoostingClassifier(random_state=0),
        ),
    }


def compare(X: pd.DataFrame, y: pd.Series) -> pd.DataFrame:
    """Cross-validate everyone on the same folds."""
    models = {
        "unnaive Bayes, columns and pairs": UnnaiveBayesClassifier(random_state=0),
        "unnaive NB": NaiveBayesClassifier(),
        "unnaive NB, gaussian": NaiveBayesClassifier(numeric="gaussian"),
        "unnaive NB, equal frequency": NaiveBayesClassifier(numeric="frequency"),
        "unnaive NBTree": NBTreeClassifier(random_state=0),
        **peers(),
    }
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    records = []
    for name, model in models.items():
        model.fit(X, y)  # compile kernels before the clock runs
        scores = cross_validate(
            model, X, y, cv=folds, scoring=["accuracy", "neg_log_loss", "roc_auc"]
        )
        records.append(
            {
                "model": name,
                "accuracy": scores["test_accuracy"].mean(),
                "log loss": -scores["test_neg_log_loss"].mean(),
                "AUC": scores["test_roc_auc"].mean(),
                "fit (ms)": 1e3 * scores["fit_time"].mean(),
            }
        )
    return pd.DataFrame(records)


def print_comparison(results: pd.DataFrame) -> None:
    table = Table(title="german credit, 1,000 loans, 10-fold cross-validation")
    table.add_column("model")
    for name in results.columns[1:]:
        table.add_column(name, justify="right")
    best = {"accuracy": "max", "log loss": "min", "AUC": "max", "fit (ms)": "min"}
    for record in results.to_dict("records"):
        cells = []
        for name, which in best.items():
            text = f"{record[name]:.1f}" if name == "fit (ms)" else f"{record[name]:.3f}"
            winner = record[name] == getattr(results[name], which)()
            cells.append(f"[bold green]{text}[/]" if winner else text)
        table.add_row(record["model"], *cells)
    console.print(table)


def print_explanation(model: NaiveBayesClassifier, row: pd.DataFrame) -> pd.DataFrame:
    """The bars of one loan: for and against ``bad``, largest first."""
    evidence = model.evidence(row)
    bad, good = (list(model.classes_).index(c) for c in ("bad", "good"))
    weight = evidence.contributions[0, :, bad] - evidence.contributions[0, :, good]
    bars = pd.DataFrame(
        {
            "attribute": evidence.terms,
            "value": row.iloc[0].astype(str).to_numpy(),
            "weight": weight,
        }
    )
    bars = bars.sort_values("weight", key=abs, ascending=False, ignore_index=True)
    table = Table(title="why: evidence for a bad loan (log odds), the ten longest bars")
    for name, justify in (
        ("attribute", "left"),
        ("value", "left"),
        ("weight", "right"),
        ("", "left"),
    ):
        table.add_column(name, justify=justify)
    longest = bars["weight"].abs().max()
    for bar in bars.head(10).itertuples():
        length = round(20 * abs(bar.weight) / longest)
        drawn = f"[red]{'█' * length}[/]" if bar.weight > 0 else f"[blue]{'█' * length}[/]"
        table.add_row(bar.attribute, bar.value, f"{bar.weight:+.2f}", drawn)
    console.print(table)
    prior = model.class_log_prior_[bad] - model.class_log_prior_[good]
    odds = prior + weight.sum()
    console.print(
        f"prior {prior:+.2f} and all {len(bars)} bars {weight.sum():+.2f} add up to {odds:+.2f}: "
        f"[bold]{model.predict_proba(row)[0, bad]:.1%}[/] bad\n"
    )
    return bars


def main() -> None:
    OUT.mkdir(exist_ok=True)
    X, y = load_german_credit()
    n_text = sum(dtype == "category" for dtype in X.dtypes)
    console.print(f"{len(X):,} rows, {X.shape[1] - n_text} numeric and {n_text} text columns\n")

    results = compare(X, y)
    print_comparison(results)
    results.to_csv(OUT / "comparison.csv", index=False)

    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    start = time.perf_counter()
    model = NaiveBayesClassifier().fit(X_train, y_train)
    took = 1e3 * (time.perf_counter() - start)
    console.print(
        f"\ntrained on {len(X_train)} loans in {took:.1f} ms; "
        f"accuracy on {len(X_test)} others {model.score(X_test, y_test):.3f}\n"
    )
    predictions = pd.DataFrame(model.predict_proba(X_test), columns=model.classes_)
    predictions.insert(0, "predicted", model.predict(X_test))
    predictions.insert(0, "actual", y_test.to_numpy())
    predictions.to_csv(OUT / "predictions.csv", index=False)

    bars = print_explanation(model, X_test.iloc[[int(predictions["bad"].argmax())]])
    bars.to_csv(OUT / "evidence.csv", index=False)

    tree = NBTreeClassifier(random_state=0).fit(X_train, y_train)
    (OUT / "nbtree.txt").write_text(export_text(tree) + "\n")
    console.print("NBTree on the same loans:")
    console.print(export_text(tree), "\n", highlight=False)

    best = UnnaiveBayesClassifier(random_state=0).fit(X_train, y_train)
    report(best, X_test, y_test, path=OUT / "report.html")
    console.print("the page about the first model, on the held-out loans: demo/report.html\n")

    halves = [NaiveBayesClassifier().fit(X_train[i::2], y_train[i::2]) for i in (0, 1)]
    same = (merge(halves).predict_proba(X_test) == model.predict_proba(X_test)).all()
    console.print(f"two models of half the loans each, merged, equal this one: {same}")
    console.print(f"without what only updating needs: {model.compact()}")
    console.print(f"\nwritten to {OUT.name}/: {', '.join(sorted(p.name for p in OUT.iterdir()))}")


if __name__ == "__main__":
    main()
