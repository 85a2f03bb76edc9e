"""Fit models on rows that change between two passes: ``make fuzz-sources [RUNS=5000]``.

Every run draws a model, a source, a change and the pass before which it happens. The fit must end
in a clear error, or in a model where the change came too late to be read. ``--only NUMBER`` repeats
one run.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
from sklearn.base import clone

import unnaive
from fuzz.process import main, marked
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NBTreeClassifier,
    RandomForestClassifier,
    UnnaiveBayesClassifier,
)
from unnaive.table import arrow
from unnaive.table.fingerprint import ChangedRowsError, CheckedSource

SLOW = 240  # seconds after which a run hangs: the first ones compile kernels
MODELS = [
    NBTreeClassifier(random_state=0, cv=3, max_depth=2),
    NBTreeClassifier(discretize="global", missing="value", random_state=0, cv=3, max_depth=2),
    FlexibleNBTreeClassifier(random_state=0, cv=3, bandwidth=0.5, max_depth=1),
    C45Classifier(n_jobs=2),
    C45Classifier(grid_limit=8, max_categories=4),
    BoostedNaiveBayesClassifier(n_estimators=3),
    BoostedNaiveBayesClassifier(
        n_estimators=3, algorithm="m1", numeric="sigma", missing="value", n_jobs=2
    ),
    BaggedNaiveBayesClassifier(n_estimators=3, random_state=0),
    HierarchicalMixtureClassifier(n_sweeps=1, random_state=0),
    HierarchicalMixtureClassifier(training="batch", n_sweeps=1, random_state=0, n_jobs=2),
    LatentClassClusterer(2, n_init=1, max_iter=3, random_state=0),
    LatentClassClusterer(max_clusters=2, cv=2, n_init=1, max_iter=3, random_state=0),
    ClassDecompositionClassifier(
        clusterer=LatentClassClusterer(2, n_init=1, max_iter=3), random_state=0
    ),
    UnnaiveBayesClassifier(max_rounds=5, random_state=0),
    RandomForestClassifier(n_estimators=3, random_state=0),
]
SOURCES = ["function", "function", "torn", "parquet", "csv", "dataset", "polars", "duckdb", "dask"]
# Errors that say what is wrong; whatever else comes of a fit is a fault of ours.
CLEAR = (ChangedRowsError, ValueError, TypeError, OSError)
RAW = ("broadcast", "index", "shape", "out of bounds", "NoneType", "cannot reshape")


def table(rng: np.random.Generator) -> pd.DataFrame:
    n = int(rng.integers(60, 260))
    y = rng.integers(0, 3, n)
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1).round(1))
    if rng.random() < 0.5:
        x = rng.integers(0, 50, n) + 1.0 * y
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.integers(-5, 5, n) * (y > 0) + 0.0,
            "k": rng.choice(["a", "b", "c", "d"], n),
            "m": np.where(rng.random(n) < 0.2, None, rng.choice(["u", "v"], n)),
            "y": np.array(["no", "maybe", "yes"])[y],
            "w": rng.choice([0.0, 1.0, 1.0, 2.0], n),
        }
    )


@dataclass
class Change:
    """Rows that become others: some column of numbers, one of text, one row that counts."""

    rows: pd.DataFrame
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.n = len(self.rows)
        self.one = int(self.rng.choice(np.flatnonzero(self.rows["w"] > 0)))
        self.number, self.text = self.rng.choice(["x", "z"]), self.rng.choice(["k", "m"])

    def put(self, column: str, values: Any) -> pd.DataFrame:
        return self.rows.assign(**{column: values})

    def put_one(self, column: str, value: Any) -> pd.DataFrame:
        new = self.rows.copy()
        new.loc[self.one, column] = value
        return new


CHANGES: dict[str, Callable[[Change], pd.DataFrame]] = {
    "scaled": lambda c: c.put(c.number, -1e6 * c.rows[c.number] - 7),
    "one number": lambda c: c.put_one(c.number, 0.123),
    "far number": lambda c: c.put_one(c.number, c.rng.choice([1e300, -1e300, 5e-324])),
    "infinite number": lambda c: c.put_one(c.number, np.inf),
    "gaps": lambda c: c.put(c.number, c.rows[c.number].mask(c.rng.random(c.n) < 0.5)),
    "other numbers in order": lambda c: c.put(c.number, np.sort(c.rng.random(c.n))),
    "numbers elsewhere": lambda c: c.put(c.number, np.roll(c.rows[c.number], 1)),
    "numbers as text": lambda c: c.put(c.number, "v" + c.rows[c.number].astype(str)),
    "one category": lambda c: c.put_one(c.text, "new"),
    "other categories": lambda c: c.put(c.text, c.rows[c.text].fillna("") + "!"),
    "many categories": lambda c: c.put(c.text, [f"id{i}" for i in range(c.n)]),
    "no category": lambda c: c.put(c.text, None),
    "text as numbers": lambda c: c.put(c.text, c.rng.random(c.n)),
    "other order": lambda c: c.rows.iloc[c.rng.permutation(c.n)].reset_index(drop=True),
    "more rows": lambda c: pd.concat([c.rows, c.rows[: c.n // 3]], ignore_index=True),
    "twice the rows": lambda c: pd.concat([c.rows, c.rows], ignore_index=True),
    "fewer rows": lambda c: c.rows[: c.n // 2],
    "no rows": lambda c: c.rows[:0],
    "one label": lambda c: c.put_one("y", c.rng.choice(["aaa", "zzz", "many"])),
    "many labels": lambda c: c.put("y", [f"class {i % 40}" for i in range(c.n)]),
    "labels elsewhere": lambda c: c.put("y", np.roll(c.rows["y"], 1)),
    "a missing label": lambda c: c.put_one("y", None),
    "one weight": lambda c: c.put_one("w", 3.0),
    "weights": lambda c: c.put("w", 1.0 - c.rows["w"].clip(upper=1.0)),
    "a negative weight": lambda c: c.put_one("w", -1.0),
    "no column": lambda c: c.rows.drop(columns=c.number),
}
LABELS = ("one label", "many labels", "labels elsewhere", "a missing label")


class Rows:
    """Rows of one source, old or new, or old at first and new after some."""

    def __init__(self, kind: str, old: pd.DataFrame, new: pd.DataFrame, folder: Path) -> None:
        self.kind, self.old, self.new = kind, old, new
        self.path = folder / f"rows.{'csv' if kind == 'csv' else 'parquet'}"
        self.changed = False
        self.torn = kind == "torn"
        self.write()

    def write(self) -> None:
        now = self.now()
        if self.path.suffix == ".csv":
            now.to_csv(self.path, index=False)
        else:
            now.to_parquet(self.path, index=False)

    def now(self) -> pd.DataFrame:
        return self.new if self.changed else self.old

    def alter(self) -> None:
        self.changed = True
        if self.kind in ("csv", "parquet", "dataset", "duckdb"):
            self.write()

    def data(self) -> Any:
        if self.kind in ("csv", "parquet"):
            return self.path
        if self.kind == "dataset":
            return pa.dataset.dataset(self.path)
        if self.kind == "duckdb":
            import duckdb

            return duckdb.sql(f"SELECT * FROM read_parquet('{self.path}')")
        if self.kind == "polars":
            import polars as pl

            return pl.from_pandas(self.old).lazy().map_batches(lambda _: pl.from_pandas(self.now()))
        if self.kind == "dask":
            import dask.dataframe as dd

            parts = dd.from_pandas(pd.DataFrame({"part": [0, 1]}), npartitions=2)
            return parts.map_partitions(self.part, meta=self.old[:0])
        return self.stream

    def part(self, which: pd.DataFrame) -> pd.DataFrame:
        now = self.now()
        half = len(now) // 2
        return now[:half] if 0 in which["part"].to_numpy() else now[half:]

    def stream(self) -> Any:
        now = pa.Table.from_pandas(self.now(), preserve_index=False)
        if not (self.torn and self.changed):
            return now.to_reader(max_chunksize=50)
        old = pa.Table.from_pandas(self.old, preserve_index=False)
        half = min(len(old), len(now)) // 2
        batches = [*old[:half].to_batches(), *now[half:].to_batches()]
        if now.schema != old.schema:
            return now.to_reader(max_chunksize=50)
        return pa.RecordBatchReader.from_batches(old.schema, batches)

    @property
    def same(self) -> bool:
        """Whether nothing has changed that counts."""
        old, new = (rows[rows["w"] > 0] for rows in (self.old, self.new))
        if self.torn and list(old) == list(new) and self.old.dtypes.equals(self.new.dtypes):
            half = min(len(self.old), len(self.new)) // 2
            both = pd.concat([self.old[:half], self.new[half:]])
            new = both[both["w"] > 0]
        return old.astype(str).reset_index(drop=True).equals(new.astype(str).reset_index(drop=True))


def run(seed: int) -> str:
    """One fit, and what came of it; raises where it is not what it should be."""
    rng = np.random.default_rng(seed)
    model = clone(MODELS[seed % len(MODELS)])
    kind = str(rng.choice(SOURCES))
    old = table(rng)
    what = str(rng.choice(list(CHANGES)))
    weighted = rng.random() < 0.5 or "weight" in what
    if not weighted:
        old["w"] = 1.0
    new = CHANGES[what](Change(old, rng))
    at = int(rng.choice([1, 1, 1, 2, 3]))
    passes = 0
    begin = CheckedSource._summed

    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(kind, old, new, Path(folder))

        def counted(self: Any, fn: Any) -> Any:
            nonlocal passes
            if passes == at:
                rows.alter()
            passes += 1
            return begin(self, fn)

        scan = unnaive.scan(
            rows.data(), "y", weight="w" if weighted else None, columns=list("xzkm")
        )
        CheckedSource._summed = counted
        name = f"{what} in {kind} before pass {at + 1} of {model!r}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(scan)
        except CLEAR as error:
            text = str(error)
            if not rows.changed:
                raise RuntimeError(f"unchanged rows are refused: {name}") from error
            if not isinstance(error, ChangedRowsError) and any(word in text for word in RAW):
                raise RuntimeError(f"no clear error: {name}") from error
            return (
                f"{what}: refused"
                if isinstance(error, ChangedRowsError)
                else f"{what}: {text[:60]}"
            )
        except BaseException as error:
            if type(error).__module__.startswith("polars") and rows.changed:
                return f"{what}: refused by polars"
            raise RuntimeError(name) from error
        finally:
            CheckedSource._summed = begin
        unlabelled = isinstance(model, LatentClassClusterer)
        unread = unlabelled and what in LABELS
        # Rows that have no order are told apart by their labels, if they have any.
        moved = ("other order", "numbers elsewhere") if unlabelled else ("other order",)
        unseen = kind == "duckdb" and what in moved
        if rows.changed and not (rows.same or unread or unseen):
            raise RuntimeError(f"silently another model: {name}")
        return "the model of rows that had not changed yet" if not rows.changed else f"{what}: same"


def runs(first: int, last: int, mark: Path) -> Counter[str]:
    arrow.LEAST_ROWS = 50  # several blocks
    arrow.BLOCK_BYTES = 1 << 10
    counts: Counter[str] = Counter()
    begun = time.perf_counter()
    for seed in marked(first, last, mark, SLOW):
        try:
            counts[run(seed)] += 1
        except BaseException as error:
            raise RuntimeError(f"run {seed}") from error
        if (seed + 1 - first) % 500 == 0:
            speed = (seed + 1 - first) / (time.perf_counter() - begun)
            print(f"{seed + 1 - first:,} runs, {speed:.0f} a second", flush=True)
    return counts


if __name__ == "__main__":
    raise SystemExit(main("fuzz.sources", __doc__, runs, 5_000, "run"))
