"""Models whose rows stay on workers: processor time, and memory of Dask's driver and workers.

``python -m benchmarks.scale.workers boosted 5000000`` makes rows of 20 small whole numbers on two
worker processes of Dask, fits the model there and, with ``--memory``, the same rows in this process
with two threads; with ``--spark`` on Spark, local[2], from its cache and after a first fit. Times
are those of the processor, summed over all processes, beside the clock's.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    NBTreeClassifier,
    scan,
)

WORKERS, COLUMNS, PART = 2, 20, 1_250_000
STEP = 1 << 16  # rows that are made at a time
FEW = 100_000  # rows of a first fit
SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "3g",
    "spark.log.level": "OFF",
}
MODELS: dict[str, Callable[[], Any]] = {
    "boosted": lambda: BoostedNaiveBayesClassifier(n_estimators=10, random_state=0, n_jobs=WORKERS),
    "nbtree": lambda: NBTreeClassifier(calibration="slope", random_state=0, n_jobs=WORKERS),
    "c45": lambda: C45Classifier(n_jobs=WORKERS),
}


class Cost(NamedTuple):
    """Seconds of the processor and of the clock."""

    processor: float
    clock: float


def make_part(n_rows: int, k: int) -> pd.DataFrame:
    """Rows of part k: classes follow from a few columns and their products, with noise.

    They are made a few at a time, so that the memory of a fit is not that of making its rows.
    """
    n = min(PART, n_rows - k * PART)
    rng = np.random.default_rng(k)
    table = np.empty((COLUMNS + 1, n), dtype=np.int8)
    for start in range(0, n, STEP):
        part = table[:, start : start + STEP]
        values = part[:COLUMNS]
        values[:] = rng.integers(0, 24, values.shape, dtype=np.int8)
        score = values[:4].sum(axis=0) - 46.0 + 0.2 * (values[4] - 11.5) * (values[5] - 11.5)
        part[COLUMNS] = score + rng.normal(0.0, 12.0, len(score)) > 0.0
    names = [*(f"x{j}" for j in range(COLUMNS)), "label"]
    return pd.DataFrame(table.T, columns=names, copy=False)


def peak() -> float:
    """MB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def on_workers(name: str, n_rows: int, persist: bool) -> Cost:
    """The fit where the rows are, and what driver and workers held beyond what they began with."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    settings: dict[str, Any] = {"dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **settings) as cluster:  # noqa: SIM117
        with Client(cluster) as client:
            parts = range(-(-n_rows // PART))
            meta = make_part(1, 0).iloc[:0]
            frame = dd.from_map(partial(make_part, n_rows), parts, meta=meta)
            few = dd.from_map(partial(make_part, FEW), range(-(-FEW // PART)), meta=meta)
            few = few.repartition(npartitions=WORKERS)
            MODELS[name]().fit(scan(few, "label"))  # imports, kernels
            if persist:
                frame = frame.persist()
                wait(frame)
            before, mine = client.run(peak), peak()
            spent = sum(client.run(time.process_time).values()) + time.process_time()
            start = time.perf_counter()
            MODELS[name]().fit(scan(frame, "label"))
            clock = time.perf_counter() - start
            spent = sum(client.run(time.process_time).values()) + time.process_time() - spent
            after = client.run(peak)
            more = sum(after[at] - before[at] for at in after)
            coded = n_rows * COLUMNS / 2**20
            print(f"driver {mine:.0f} MB, and {peak() - mine:.0f} MB more in the fit; workers "
                  f"{more:.0f} MB more, {more / coded:.2f} times a byte a value")  # fmt: skip
    return Cost(spent, clock)


def on_spark(name: str, n_rows: int) -> Cost:
    """The fit from Spark's cache, after a first one of few rows."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{WORKERS}]")
    for key, value in SPARK.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        for n in (FEW, n_rows):
            for k in range(-(-n // PART)):
                table = make_part(n, k)
                table = table.assign(row=np.arange(k * PART, k * PART + len(table)))
                table.to_parquet(f"{folder}/{n}-{k}.parquet", index=False)
        few, frame = (session.read.parquet(f"{folder}/{n}-*.parquet") for n in (FEW, n_rows))
        MODELS[name]().fit(scan(few, "label", row_id="row"))
        frame = frame.repartition(-(-n_rows // PART)).cache()
        frame.count()
        spent, start = tree_time(), time.perf_counter()
        MODELS[name]().fit(scan(frame, "label", row_id="row"))
        cost = Cost(tree_time() - spent, time.perf_counter() - start)
    session.stop()
    return cost


def tree_time() -> float:
    """Processor time of this process and of all that it has started."""
    import psutil

    mine = psutil.Process()
    spent = [p.cpu_times() for p in (mine, *mine.children(recursive=True))]
    return sum(t.user + t.system + t.children_user + t.children_system for t in spent)


def in_memory(name: str, n_rows: int) -> Cost:
    """The same fit of the same rows in this process."""
    table = pd.concat([make_part(n_rows, k) for k in range(-(-n_rows // PART))])
    X, y = table.drop(columns="label"), table["label"].to_numpy()
    MODELS[name]().fit(X[:FEW], y[:FEW])
    spent, start = time.process_time(), time.perf_counter()
    MODELS[name]().fit(X, y)
    return Cost(time.process_time() - spent, time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("rows", type=int)
    parser.add_argument("--memory", action="store_true", help="also fit in this process")
    parser.add_argument("--persist", action="store_true", help="rows are made before the fit")
    parser.add_argument("--spark", action="store_true", help="on Spark instead of Dask")
    options = parser.parse_args()
    given = (options.model, options.rows)
    cost = on_spark(*given) if options.spark else on_workers(*given, options.persist)
    away = _show("Spark" if options.spark else "workers", *given, cost)
    if options.memory:
        here = _show("memory", *given, in_memory(*given))
        times = [mine / its for mine, its in zip(away, here, strict=True)]
        print(f"workers take {times[0]:.2f} times the processor, {times[1]:.2f} times the clock")


def _show(where: str, name: str, n_rows: int, cost: Cost) -> Cost:
    print(f"{name}, {n_rows:,} rows, {where}: {cost.processor:.1f} s of the processor, "
          f"{cost.clock:.1f} s", flush=True)  # fmt: skip
    return cost


if __name__ == "__main__":
    main()
