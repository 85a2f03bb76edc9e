"""``make bench-scale``: files larger than memory, side by side with just reading them."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.scale import clusters
from benchmarks.scale.data import DICTIONARIES, make
from benchmarks.speed.harness import Row, save, seconds, show

RESULTS = Path(__file__).parent.parent / "results" / "scale.json"
GB = 1e9


def run(work: str, path: Path, warm: Path, times: int) -> dict[str, Any]:
    """The quickest of several runs, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.work", work, str(path), "--warm", str(warm)]
    found = [
        json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
        for _ in range(times)
    ]
    best = min(found, key=lambda one: one["seconds"])
    return best | {"extra": max(one["extra"] for one in found)}


def rows(options: argparse.Namespace) -> list[Row]:
    folder, times = options.folder, options.times
    warm = make(folder, 20_000, "parquet")
    large = make(folder, options.rows, "parquet")
    small = make(folder, max(options.rows // 50, 100_000), "parquet")
    middle = make(folder, options.tree_rows, "parquet")
    out: list[Row] = []

    def ratio(work: str, ours: Any, peer: Any, name: str, target: float) -> None:
        said = f"{seconds(ours['seconds'])}, {ours['passes']} passes"
        each = ours["seconds"] / peer["seconds"]
        out.append(Row(work, said, f"{name} {seconds(peer['seconds'])}", each, "<=", target))

    nb = run("fit_nb", large, warm, times)
    for name, peer in (("dataset", "read_pyarrow"), ("iter_batches", "read_batches")):
        read = run(peer, large, warm, times)
        ratio(f"NB from Parquet, {options.rows:,} rows", nb, read, f"pyarrow {name}", 1.3)
    memory(out, f"NB, {options.rows:,} rows: extra memory in GB", nb)
    less = run("fit_nb", small, warm, times)
    n_small = max(options.rows // 50, 100_000)
    growth = math.log(nb["seconds"] / less["seconds"]) / math.log(options.rows / n_small)
    out.append(Row("NB, growth of time with rows", "", "slope", growth, "<=", 1.05))
    more = nb["extra"] / less["extra"]
    out.append(
        Row(f"NB, memory of {options.rows:,} rows", "", f"{n_small:,} rows", more, "<=", 1.1)
    )
    for what, words in DICTIONARIES.items():
        path = make(folder, options.tree_rows, "parquet", what)
        several = make(folder, 1_200_000, "parquet", what)  # blocks, which are added up
        nb, read = (run(w, path, several, times) for w in ("fit_nb", "read_batches"))
        ratio(f"NB from Parquet, {options.tree_rows:,} x 10 {words}", nb, read, "pyarrow", 1.4)
    if options.csv_rows:
        text = make(folder, options.csv_rows, "csv")
        light = make(folder, 20_000, "csv")
        nb = run("fit_nb", text, light, times)
        for name in ("polars", "duckdb"):
            peer = run(f"read_{name}", text, light, times)
            ratio(f"NB from CSV, {options.csv_rows:,} rows", nb, peer, f"{name} reads", 1.3)
    tree = run("fit_tree", middle, warm, times)
    held = run("fit_tree_memory", middle, warm, times)
    ratio(f"NBTree from Parquet, {options.tree_rows:,} rows", tree, held, "from memory", 2.0)
    for n_rows, path in ((options.tree_rows, middle), (options.rows, large)):
        spilled = run("fit_tree_small", path, warm, 1)
        name = f"NBTree, {n_rows:,} rows, memory_limit 100 MB: extra memory in GB"
        memory(out, name, spilled)
    return out


def memory(out: list[Row], work: str, found: dict[str, Any]) -> None:
    out.append(Row(work, f"{found['extra'] / GB:.2f} GB", "", found["extra"] / GB, "<=", 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--csv-rows", type=int, default=10_000_000)
    parser.add_argument("--tree-rows", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3, help="runs of each, the best counts")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "unnaive-scale",
        help="where the tables are made and kept",
    )  # fmt: skip
    clusters.add_options(parser)
    options = parser.parse_args()
    print(f"tables in {options.folder}, {os.cpu_count()} cores")
    found = rows(options)
    found += clusters.rows(options.folder, options.dask_rows, options.spark_rows, options.times)
    show(found)
    save(found, RESULTS)


if __name__ == "__main__":
    main()
