"""How fits on workers grow: constants measured here, and what follows for tables that are not here.

    python -m benchmarks.scale.growth          # measures, writes the results and the page
    python -m benchmarks.scale.growth --page   # writes docs/guide/growth.md from the results

A pass over records on Dask's workers costs the workers so much for every row and every partition,
and the driver, which schedules, so much for every partition. Costs are processor time, which other
work on the machine leaves alone; each is the difference of a long and a short fit of boosting,
divided by the passes that the long one takes more.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scale.data import make
from benchmarks.scale.plan import measure as measure_reading
from unnaive.table.dask import FAN

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("growth.json")
TEMPLATE = Path(__file__).with_name("growth.md")
PAGE = ROOT / "docs" / "guide" / "growth.md"
COLUMNS, ROUNDS, TIMES = 20, (2, 42), 3  # the least of so many fits counts
SMALL, LARGE, FEW, MANY = 400_000, 6_000_000, 8, 64  # rows and partitions that are measured
WORKERS = (1, 2, 4)  # processes here
ROWS, FAR = (10**9, 10**11), (10, 100, 1000)  # that are extrapolated to
PARTITIONS = (5_000_000, 50_000_000)  # rows of a partition
NETWORK, LATENCY = 1.25e9, 1e-3  # bytes a second of one machine, seconds of a message: assumed


@contextmanager
def record_passes() -> Iterator[list[dict[str, int]]]:
    """Collect the bytes of each pass over records on workers: of its function and of its result."""
    from cloudpickle import dumps

    from unnaive.table.dask import DaskRecords

    passes: list[dict[str, int]] = []
    real = {name: getattr(DaskRecords, name) for name in ("reduce", "advance")}

    def recorded(method: Any) -> Any:
        def run(self: Any, fn: Any, *more: Any) -> Any:
            result = method(self, fn, *more)
            sizes = [len(dumps(thing, protocol=5)) for thing in (fn, result)]
            passes.append(dict(zip(("bytes_sent", "bytes_received"), sizes, strict=True)))
            return result

        return run

    for name, method in real.items():
        setattr(DaskRecords, name, recorded(method))
    try:
        yield passes
    finally:
        for name, method in real.items():
            setattr(DaskRecords, name, method)


def part(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of a partition, made on a worker: numbers with 100 values, and a label."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n_rows)
    values = rng.integers(0, 100, (COLUMNS, n_rows), dtype=np.uint8)
    columns = {f"x{j}": values[j] + (j % 5) * label * 1.0 for j in range(COLUMNS)}
    return pd.DataFrame(columns | {"label": label})


def fit(client: Any, n_rows: int, n_parts: int, rounds: int) -> dict[str, Any]:
    """Processor time of one fit: of the driver and of each worker; and its passes."""
    import dask.dataframe as dd

    from unnaive import BoostedNaiveBayesClassifier, scan

    frame = dd.from_map(
        part, [n_rows // n_parts] * n_parts, range(n_parts), meta=part(1, 0), enforce_metadata=False
    )
    model = BoostedNaiveBayesClassifier(n_estimators=rounds, calibration="none", algorithm="real")
    before, own = client.run(time.process_time), time.process_time()
    with record_passes() as passes:
        model.fit(scan(frame, "label"))
    after = client.run(time.process_time)
    return {
        "driver": time.process_time() - own,
        "workers": [after[worker] - before[worker] for worker in before],
        "passes": len(passes),
        "sent": float(np.mean([one["bytes_sent"] for one in passes])),
        "received": float(np.mean([one["bytes_received"] for one in passes])),
    }


def _least(fits: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """The least processor time of several equal fits; of workers, by how busy they were."""
    busy = [sorted(one["workers"]) for one in fits]
    least = {"driver": min(one["driver"] for one in fits)}
    return fits[0] | least | {"workers": np.min(busy, axis=0).tolist()}


def pass_costs(client: Any, n_rows: int, n_parts: int) -> dict[str, Any]:
    """Processor time of one pass, in seconds: of the driver, of all workers and of the busiest."""
    fits = [[fit(client, n_rows, n_parts, rounds) for rounds in ROUNDS] for _ in range(TIMES)]
    short, long = (_least(some) for some in zip(*fits, strict=True))
    more = long["passes"] - short["passes"]
    workers = [b - a for a, b in zip(short["workers"], long["workers"], strict=True)]
    return {
        "rows": n_rows,
        "partitions": n_parts,
        "processes": len(workers),
        "driver": (long["driver"] - short["driver"]) / more,
        "workers": sum(workers) / more,
        "busiest": max(workers) / more,
        "sent": long["sent"],
        "received": long["received"],
    }


def measure(folder: Path) -> dict[str, Any]:
    """All constants, and passes at 1, 2 and 4 processes to check them with."""
    from distributed import Client, LocalCluster

    found: dict[int, list[dict[str, Any]]] = {}
    settings: dict[str, Any] = {"dashboard_address": None, "memory_limit": 0}
    for processes in WORKERS:
        shapes = [(LARGE, FEW)]
        if processes == 1:
            shapes = [(SMALL, FEW), (LARGE, FEW), (SMALL, MANY)]
        with LocalCluster(n_workers=processes, threads_per_worker=1, **settings) as cluster:  # noqa: SIM117
            with Client(cluster) as client:
                fit(client, SMALL, FEW, 2)  # compiled and loaded
                found[processes] = [pass_costs(client, *shape) for shape in shapes]
                print(json.dumps(found[processes], indent=1), flush=True)
    small, large, parted = found[1][:3]
    row = (large["workers"] - small["workers"]) / (LARGE - SMALL)
    task = max((parted["workers"] - small["workers"]) / (MANY - FEW), 0.0)
    message = max((parted["driver"] - small["driver"]) / (MANY - FEW), 0.0)
    reading = measure_reading(str(make(folder, 1_000_000, "parquet")))
    return {
        "cores": os.cpu_count(),
        "row": row,
        "task": task,
        "shared": max(small["workers"] - row * SMALL - task * FEW, 0.0),
        "start": max(small["driver"] - message * FEW, 0.0),
        "message": message,
        "sent": large["sent"],
        "table": large["received"],
        "read_cell": reading.count,
        "add_column": reading.merge,
        "column_sums": reading.sums,
        "checks": [one for each in found.values() for one in each],
    }


def predict(costs: dict[str, Any], n_rows: float, n_parts: int, workers: int) -> dict[str, float]:
    """Seconds of a pass over records: of the busiest worker, the driver, sums on their way."""
    levels = math.ceil(math.log(max(n_parts, 2), FAN))
    each = math.ceil(n_parts / workers)
    return {
        "rows": each * (n_rows / n_parts * costs["row"] + costs["task"])
        + costs["shared"] / workers,
        "driver": costs["start"] + costs["message"] * n_parts,
        "sums": levels * FAN * (LATENCY + costs["table"] / NETWORK)
        + workers * costs["sent"] / NETWORK,
    }


def read_pass(costs: dict[str, Any], n_rows: float, n_parts: int, workers: int) -> dict[str, float]:
    """The same of the first pass, which reads rows and sums fine tables."""
    levels, each = math.ceil(math.log(max(n_parts, 2), FAN)), math.ceil(n_parts / workers)
    table = COLUMNS * (costs["add_column"] + costs["column_sums"] / NETWORK) + LATENCY
    return {
        "rows": each * n_rows / n_parts * COLUMNS * costs["read_cell"],
        "driver": costs["start"] + costs["message"] * n_parts,
        "sums": levels * FAN * table,
    }


def total(parts: dict[str, float]) -> float:
    """Workers and driver work at the same time; sums come at the end."""
    return max(parts["rows"], parts["driver"]) + parts["sums"]


def _cell(costs: dict[str, Any], n_rows: int, size: int, workers: int) -> str:
    """Time of naive Bayes and of ten rounds of boosting, and what takes longest in the latter."""
    n_parts = max(2 * workers, math.ceil(n_rows / size))
    first, later = (f(costs, n_rows, n_parts, workers) for f in (read_pass, predict))
    rounds = 2 * total(first) + 13 * total(later)  # three of them calibrate
    most = max(later, key=later.__getitem__)
    return f"{_words(total(first))}; {_words(rounds)} ({most})"


def _words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _checks(costs: dict[str, Any]) -> tuple[list[str], float]:
    """Lines of predictions beside measurements, and how far the worst of them is off."""
    lines, farthest = [], 0.0
    for one in costs["checks"]:
        expected = predict(costs, one["rows"], one["partitions"], one["processes"])
        cells = [f"{one['processes']}", f"{one['rows']:,}", f"{one['partitions']}"]
        for word, name in (("rows", "busiest"), ("driver", "driver")):
            away = expected[word] / one[name] - 1
            farthest = max(farthest, abs(away))
            cells.append(f"{1e3 * expected[word]:.0f} / {1e3 * one[name]:.0f} ms ({away:+.0%})")
        lines.append("| " + " | ".join(cells) + " |")
    return lines, farthest


def page(costs: dict[str, Any]) -> str:
    """The page of the guide, every number of it from the results."""
    lines, farthest = _checks(costs)
    head = "| rows, of a partition | " + " | ".join(f"{w:,} workers" for w in FAR) + " |"
    table = [head, "|---|" + "---|" * len(FAR)]
    for n_rows in ROWS:
        for size in PARTITIONS:
            name = f"{n_rows:,}, {size:,}"
            cells = [_cell(costs, n_rows, size, workers) for workers in FAR]
            table.append("| " + " | ".join([name, *cells]) + " |")
    return TEMPLATE.read_text(encoding="utf-8").format(
        cores=costs["cores"],
        columns=COLUMNS,
        fan=FAN,
        short=ROUNDS[0],
        long=ROUNDS[1],
        row=1e9 * costs["row"],
        task=1e3 * costs["task"],
        shared=1e3 * costs["shared"],
        start=1e3 * costs["start"],
        message=1e3 * costs["message"],
        sent=costs["sent"] / 1e3,
        table=costs["table"] / 1e3,
        read_cell=1e9 * costs["read_cell"],
        add_column=1e3 * costs["add_column"],
        column_sums=costs["column_sums"] / 1e6,
        checks="\n".join(lines),
        farthest=100 * farthest,
        farther="\n".join(table),
        as_many=costs["message"] / costs["row"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    default = Path(tempfile.gettempdir()) / "unnaive-scale"
    parser.add_argument("--folder", type=Path, default=default)
    options = parser.parse_args()
    if not options.page:
        costs = measure(options.folder)
        RESULTS.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
