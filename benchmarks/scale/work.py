"""One piece of work in a process of its own: seconds, extra memory, passes over the data."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_pyarrow(path: str) -> None:
    import pyarrow.dataset as ds

    for _ in ds.dataset(path).to_batches():
        pass


def read_batches(path: str) -> None:
    """The quickest way of pyarrow to read one file, with text as it is."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(1 << 17):
        pass


def read_polars(path: str) -> None:
    import polars as pl

    pl.read_csv(path)


def read_duckdb(path: str) -> None:
    import duckdb

    reader = duckdb.sql(f"select * from read_csv('{path}')").to_arrow_reader(1 << 17)
    for _ in reader:
        pass


def fit_nb(path: str) -> None:
    from unnaive import NaiveBayesClassifier

    NaiveBayesClassifier(n_jobs=-1).fit(path, "label")


def fit_tree(path: str, limit: Any = None) -> None:
    from unnaive import NBTreeClassifier, scan

    tree = NBTreeClassifier(max_depth=4, random_state=0, n_jobs=-1)
    tree.fit(scan(path, "label", memory_limit=limit))


def fit_tree_small(path: str) -> None:
    fit_tree(path, "100MB")


def fit_tree_memory(path: str) -> Callable[[], None]:
    import pyarrow.parquet as pq

    from unnaive import NBTreeClassifier

    table = pq.read_table(path)
    X, y = table.drop_columns(["label"]), table["label"].to_pylist()

    def work() -> None:
        NBTreeClassifier(max_depth=4, random_state=0, n_jobs=-1).fit(X, y)

    return work


WORKS: dict[str, Callable[[str], Any]] = {
    f.__name__: f
    for f in (read_pyarrow, read_batches, read_polars, read_duckdb, fit_nb, fit_tree,
              fit_tree_small, fit_tree_memory)
}  # fmt: skip


def anonymous() -> int:
    """Bytes of this process that no file stands for."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("memory is measured on Linux only.")


class Peak(threading.Thread):
    """The most memory, looked at a hundred times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = anonymous()
        self.going = True

    def run(self) -> None:
        while self.going:
            self.most = max(self.most, anonymous())
            time.sleep(0.01)


def count_passes() -> list[int]:
    """Count from now on how often sources are read from their beginning."""
    from unnaive.table import arrow

    seen = [0]
    blocks = arrow.ArrowSource._blocks

    def counted(self: Any) -> Any:
        seen[0] += 1
        return blocks(self)

    arrow.ArrowSource._blocks = counted  # type: ignore[method-assign]
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=list(WORKS))
    parser.add_argument("path")
    parser.add_argument("--warm", help="a small file to compile and load everything with")
    options = parser.parse_args()
    work = WORKS[options.work]
    if options.warm:
        ready = work(options.warm)
        if callable(ready):
            ready()
    passes = count_passes() if options.work.startswith("fit") else [1]
    ready = work if options.work != "fit_tree_memory" else fit_tree_memory(options.path)
    before, peak = anonymous(), Peak()
    peak.start()
    start, cpu = time.perf_counter(), time.process_time()
    ready() if options.work == "fit_tree_memory" else work(options.path)
    found = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "extra": max(0, peak.most - before),
        "passes": passes[0],
    }
    peak.going = False
    print(json.dumps(found))


if __name__ == "__main__":
    main()
