"""Models over time: timelines, windows, drift and forgetting."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from benchmarks.speed.foundation import COLUMNS, ROWS, categories, labels, nb, numbers
from benchmarks.speed.harness import Row, at_most, best_of, seconds
from unnaive import Timeline, drift, load, save, scan

KNOWN, FORGOTTEN = 10_000_000, 1_000  # rows of a model, and those taken out again


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables of each kind, half of the columns of both in the last."""
    floats = pd.DataFrame(numbers(ROWS)).rename(columns=str)
    yield "floats", floats
    yield "categories", categories(ROWS)
    half = COLUMNS // 2
    yield "of both kinds", pd.concat([floats.iloc[:, :half], categories(ROWS, half)], axis=1)


def period_rows() -> Iterator[Row]:
    y = labels(ROWS)
    periods = np.random.default_rng(2).integers(0, 1000, ROWS)  # in any order
    for kind, X in tables():
        size = f"{ROWS:,} x {COLUMNS} {kind}"
        named = X.assign(period=periods)
        timeline = Timeline("period", estimator=nb()).fit(named, y)
        yield at_most(
            f"timeline of 1,000 periods, {size}",
            lambda: Timeline("period", estimator=nb()).fit(named, y), lambda: nb().fit(X, y),
            "one fit", 10, runs=3,
        )  # fmt: skip
        windows = [(k, 999 - k) for k in (0, 1, 2)]
        taken = best_of(1, *(lambda w=w: timeline.model(*w) for w in windows))
        yield _in_seconds(f"model of a window of 1,000 periods, {kind}", max(taken))
        yield from file_rows(kind, timeline)


def file_rows(kind: str, timeline: Timeline) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "timeline.unv"
        saved, opened = best_of(3, lambda: save(timeline, path), lambda: load(path).model(1, 998))
    yield _in_seconds(f"saving 1,000 periods, {kind}", saved)
    yield _in_seconds(f"opening them, and the model of a window, {kind}", opened)


def _in_seconds(work: str, taken: float) -> Row:
    return Row(f"{work} (seconds)", seconds(taken), "1 s", taken, "<=", 1)


def drift_rows() -> Iterator[Row]:
    y = labels(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for kind, X in tables():
            model = nb().fit(X, y)
            X.assign(y=y).to_parquet(path)
            for words, rows in (
                ("with labels", scan(path, target="y")),
                ("without", scan(path, columns=list(X.columns))),
            ):
                yield at_most(
                    f"drift of {ROWS:,} x {COLUMNS} {kind}, {words}",
                    lambda rows=rows: drift(model, rows), lambda: pq.read_table(path),
                    "pyarrow's read", 1.5, runs=3,
                )  # fmt: skip


def forget_row() -> Row:
    model, half, step = nb(), COLUMNS // 4, ROWS
    for seed in range(KNOWN // step):
        rng = np.random.default_rng(seed)
        X, y = categories(step, half), rng.integers(0, 2, step)
        for j in range(half):
            X[f"x{j}"] = rng.normal(size=step) + y * j / half
        model.partial_fit(X, y, classes=[0, 1])
    some, given = X[:FORGOTTEN], y[:FORGOTTEN]
    # By turns, so that the model has as many rows each time.
    return at_most(
        f"forgetting {FORGOTTEN:,} of {KNOWN:,} rows",
        lambda: model.forget(some, given), lambda: model.partial_fit(some, given),
        "partial_fit", 2,
    )  # fmt: skip


def rows() -> Iterator[Row]:
    yield from period_rows()
    yield from drift_rows()
    yield forget_row()
