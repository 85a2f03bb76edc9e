"""Evidence of pairs beside EBM and LightGBM, forests beside scikit-learn's, pools and CatBoost."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.quality import data_sets
from benchmarks.speed.ensembles import cpu_seconds
from benchmarks.speed.foundation import THREADS
from benchmarks.speed.harness import Row, best_of, peak_extra, seconds, slope
from unnaive import PooledClassifier, RandomForestClassifier, UnnaiveBayesClassifier, save
from unnaive_papers.comparison.peers import PEERS

EBM_TARGETS = {"german": 60, "vehicle": 40, "spambase": 60, "adult": 20}
ROWS = 1_000_000
NAMES = ("german", "vehicle", "spambase", "adult", "letter")


def rows(data: Path | None) -> Iterator[Row]:
    yield from made_rows()
    if data is not None:
        yield from set_rows(data)


def why_skipped(data: Path | None) -> str | None:
    """What was left out, and what to do about it."""
    if data is not None:
        return None
    return "EBM's, forest's and pool's rows need --data, a folder with " + ", ".join(NAMES) + "."


def unnaive(n_jobs: int = 1, **parameters: Any) -> UnnaiveBayesClassifier:
    return UnnaiveBayesClassifier(random_state=0, n_jobs=n_jobs, **parameters)


def mixed(n: int, columns: int = 20) -> tuple[pd.DataFrame, np.ndarray]:
    """Half numbers, half categories; two of each act alone, and two pairs together."""
    rng = np.random.default_rng(0)
    half = columns // 2
    numbers = {f"x{j}": rng.normal(size=n).round(3) for j in range(half)}
    codes = {f"c{j}": rng.integers(0, 4 + 2 * j, n) for j in range(columns - half)}
    score = numbers["x0"] + (codes["c0"] == 1) + 1.5 * ((numbers["x1"] > 0) ^ (codes["c1"] > 2))
    score = score + numbers["x2"] * numbers["x3"] + rng.logistic(size=n)
    frame = pd.DataFrame(numbers)
    for name, values in codes.items():
        frame[name] = pd.Categorical.from_codes(values, [f"v{k}" for k in range(values.max() + 1)])
    return frame, (score > 1).astype(int)


def _fit_made(n: int) -> Callable[[], Any]:
    X, y = mixed(n)
    return lambda: unnaive(THREADS).fit(X, y)


def made_rows() -> Iterator[Row]:
    from lightgbm import LGBMClassifier

    X, y = mixed(ROWS)

    def peer() -> Any:
        return LGBMClassifier(random_state=0, n_jobs=THREADS, verbose=-1)

    size = f"{ROWS:,} x {X.shape[1]}"
    unnaive(THREADS).fit(X.head(2000), y[:2000])
    ours, theirs = best_of(1, lambda: unnaive(THREADS).fit(X, y), lambda: peer().fit(X, y))
    yield Row(f"unnaive fit, {size} mixed", seconds(ours), f"LightGBM {seconds(theirs)}",
              ours / theirs, "<=", 3)  # fmt: skip
    yield slope(
        "unnaive fit", [100_000, 400_000, 1_600_000],
        _fit_made, 1.05, runs=1,
    )  # fmt: skip
    ours_model, peer_model = unnaive(THREADS, interactions=30, max_rounds=20), peer()
    ours_model.fit(X.head(100_000), y[:100_000])
    peer_model.fit(X.head(100_000), y[:100_000])
    ours, theirs = best_of(
        3, lambda: ours_model.predict_proba(X), lambda: peer_model.predict_proba(X)
    )
    yield Row(f"unnaive predict_proba, {size}, 30 pairs", seconds(ours),
              f"LightGBM {seconds(theirs)}", theirs / ours, ">=", 1)  # fmt: skip
    coded = 3 * X.size  # two bytes a value for columns, one for pairs
    extra = peak_extra(lambda: unnaive(THREADS).fit(X, y)) - coded
    yield Row(f"unnaive fit, {size}: GB beyond coded rows", f"{extra / 1e9:.2f} GB", "coded rows",
              extra / 1e9, "<=", 0.5)  # fmt: skip


def set_rows(data: Path) -> Iterator[Row]:
    for name, table, target in data_sets(data, list(NAMES)):
        train = table[table["split"] == "train"] if "split" in table else table
        train = train.drop(columns=[c for c in ["split"] if c in train])
        X, y = train.drop(columns=target), train[target].astype(str).to_numpy()
        unnaive().fit(X.head(300), y[:300])
        if name == "letter":
            taken = cpu_seconds(1, lambda: unnaive().fit(X, y))
            yield Row("unnaive fit, letter, one thread: seconds", seconds(taken), "26 classes",
                      taken, "<=", 120)  # fmt: skip
            continue
        yield from _beside_ebm(name, X, y)
        if name == "adult":
            yield from _forest_and_pool(X, y)


def _once(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of one run, and what it gives."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _beside_ebm(name: str, X: pd.DataFrame, y: np.ndarray) -> Iterator[Row]:
    ours = cpu_seconds(2, lambda: unnaive().fit(X, y))
    theirs, ebm = _once(lambda: PEERS["EBM"](0).fit(X, y))
    yield Row(f"unnaive fit, {name}, one thread", seconds(ours), f"EBM {seconds(theirs)}",
              theirs / ours, ">=", EBM_TARGETS[name])  # fmt: skip
    if name == "adult":
        ratio = _file_size(unnaive().fit(X, y)) / len(pickle.dumps(ebm))
        yield Row("unnaive model file, adult", f"{ratio:.3f}", "EBM pickled", ratio, "<=", 0.1)


def _forest_and_pool(X: pd.DataFrame, y: np.ndarray) -> Iterator[Row]:
    forest = RandomForestClassifier(random_state=0, n_jobs=1)
    forest.fit(X.head(300), y[:300])
    ours = cpu_seconds(2, lambda: forest.fit(X, y))
    theirs, peer = _once(lambda: PEERS["sklearn forest"](0).fit(X, y))
    yield Row("forest fit, adult, 100 trees, one thread", seconds(ours),
              f"scikit-learn {seconds(theirs)}", ours / theirs, "<=", 1)  # fmt: skip
    ratio = _file_size(forest) / len(pickle.dumps(peer))
    yield Row(
        "forest model file, adult", f"{ratio:.3f}", "scikit-learn's pickled", ratio, "<=", 0.2
    )
    ours, _ = _once(lambda: PooledClassifier(random_state=0).fit(X, y))
    theirs, _ = _once(lambda: PEERS["CatBoost"](0).fit(X, y))
    yield Row("pool fit, adult", seconds(ours), f"CatBoost {seconds(theirs)}", ours / theirs,
              "<=", 0.5)  # fmt: skip


def _file_size(model: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.unv"
        save(model, path)
        return path.stat().st_size
