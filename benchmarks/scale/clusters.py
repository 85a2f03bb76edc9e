"""Naive Bayes on Dask and Spark, two workers on this machine: beside the local fit and Spark's own.

``python -m benchmarks.scale.clusters`` runs these rows alone.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.scale.data import make
from benchmarks.speed.harness import Row, at_most, faster, show
from unnaive import NaiveBayesClassifier

WORKERS = 2


def rows(folder: Path, n_dask: int, n_spark: int, times: int) -> Iterator[Row]:
    """Every row, measured as it is asked for."""
    yield from dask_rows(make(folder, n_dask, "parquet"), n_dask, times)
    yield from spark_rows(make(folder, n_spark, "parquet"), n_spark, times)


def dask_rows(path: Path, n: int, times: int) -> Iterator[Row]:
    """Rows are in the memory of the workers, or of this process; the cluster is up."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster, wait

    table = pd.read_parquet(path, dtype_backend="pyarrow")
    X, y = table.drop(columns="label"), table["label"]
    del table

    def local() -> None:
        NaiveBayesClassifier(n_jobs=WORKERS).fit(X, y)

    settings: dict[str, Any] = {"dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **settings) as cluster:  # noqa: SIM117
        with Client(cluster):
            frame = dd.read_parquet(path, split_row_groups="adaptive", blocksize="64MiB")
            frame = frame.repartition(npartitions=WORKERS * 2).persist()
            wait(frame)

            def ours() -> None:
                NaiveBayesClassifier().fit(frame, "label")

            yield at_most(f"NB on Dask, {n:,} rows", ours, local, "local fit", 1.5, times)
            ours_model = NaiveBayesClassifier().fit(frame, "label")
    size = len(pickle.dumps(ours_model.summary_))
    print(f"a result of one partition at most: {size / 1e6:.1f} MB")


def spark_rows(path: Path, n: int, times: int) -> Iterator[Row]:
    """Rows are in Spark's cache; its own naive Bayes is Gaussian and needs indexed text."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        print("Spark is left out: there is no Java runtime")
        return
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StringIndexer, VectorAssembler
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{WORKERS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    frame = session.read.parquet(str(path)).repartition(2 * WORKERS).cache()
    frame.count()
    texts = [name for name, kind in frame.dtypes if kind == "string" and name != "label"]
    numbers = [name for name in frame.columns if name not in (*texts, "label")]
    coded = [f"{name}_code" for name in texts]
    steps = [
        StringIndexer(inputCols=[*texts, "label"], outputCols=[*coded, "y"]),
        VectorAssembler(inputCols=[*numbers, *coded], outputCol="x", handleInvalid="skip"),
        NaiveBayes(modelType="gaussian", featuresCol="x", labelCol="y"),
    ]

    def ours() -> None:
        NaiveBayesClassifier().fit(frame, "label")

    name = "pyspark.ml NaiveBayes"
    yield faster(f"NB on Spark local[{WORKERS}], {n:,} rows", ours,
                 lambda: Pipeline(stages=steps).fit(frame), name, 1.0, times)  # fmt: skip
    session.stop()


def add_options(parser: argparse.ArgumentParser) -> None:
    """What a caller may say about these rows."""
    parser.add_argument("--dask-rows", type=int, default=10_000_000)
    parser.add_argument("--spark-rows", type=int, default=2_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--times", type=int, default=3)
    default = Path(tempfile.gettempdir()) / "unnaive-scale"
    parser.add_argument("--folder", type=Path, default=default)
    options = parser.parse_args()
    show(list(rows(options.folder, options.dask_rows, options.spark_rows, options.times)))


if __name__ == "__main__":
    main()
