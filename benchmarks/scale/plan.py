"""How long a fit would take on machines that are not here: a small simulation of passes.

A pass: every worker takes partitions one after the other, each at its own speed, and adds up what
it counted; then their sums are added along a tree, each step sending one over the network.
Costs are measured by ``python -m benchmarks.scale.plan --measure FILE`` on one core.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import pickle
import time
from dataclasses import dataclass

import numpy as np

COLUMNS = 50
ROWS = (10**9, 10**10, 10**11)
WORKERS = (10, 100, 1000)
PARTITION = 5_000_000  # rows


@dataclass(frozen=True)
class Costs:
    """Measured on one core, but for what is assumed of a cluster."""

    count: float = 20e-9  # seconds to read and count one cell
    merge: float = 0.84e-3  # seconds to add the sums of one column of two partitions
    sums: float = 0.437e6  # bytes of the sums of one column
    stored: float = 2.33  # bytes of one cell in Parquet
    bandwidth: float = 1.25e9  # bytes a second over the network of one machine, assumed
    disk: float = 0.5e9  # bytes a second from storage to one worker, assumed
    latency: float = 0.05  # seconds to start a task, assumed
    spread: float = 0.2  # standard deviation of the logarithm of a worker's speed, assumed


def simulate(rows: int, workers: int, costs: Costs, seed: int = 0) -> tuple[float, float]:
    """Seconds of one counting pass, and bytes that a worker sends."""
    rng = np.random.default_rng(seed)
    speed = np.exp(rng.normal(0.0, costs.spread, workers))
    n_parts = max(workers, math.ceil(rows / PARTITION))
    cells = rows / n_parts * COLUMNS
    each = max(costs.count * cells, costs.stored * cells / costs.disk)
    each += costs.latency + costs.merge * COLUMNS
    free = [(0.0, w) for w in range(workers)]  # whoever is free takes the next partition
    for _ in range(n_parts):
        at, w = heapq.heappop(free)
        heapq.heappush(free, (at + each * float(speed[w]), w))
    done = sorted(at for at, _ in free)
    sent = costs.sums * COLUMNS
    step = costs.latency + sent / costs.bandwidth + costs.merge * COLUMNS
    while len(done) > 1:  # the earliest two add up first
        done = sorted(
            max(pair) + step if len(pair) == 2 else pair[0]
            for pair in (done[i : i + 2] for i in range(0, len(done), 2))
        )
    return done[0], sent


def measure(path: str) -> Costs:
    """Costs of one core, from a Parquet file with a column ``label``."""
    from unnaive import NaiveBayesClassifier

    model = NaiveBayesClassifier().fit(path, "label")
    start = time.process_time()
    NaiveBayesClassifier().fit(path, "label")
    spent = time.process_time() - start
    summary = model.summary_
    assert summary is not None
    n_cells = summary.n_rows * len(summary.schema)
    start = time.process_time()
    _ = summary + summary
    merged = (time.process_time() - start) / len(summary.schema)
    size = len(pickle.dumps(summary)) / len(summary.schema)
    stored = os.path.getsize(path) / n_cells
    return Costs(spent / n_cells, merged, size, stored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", metavar="FILE", help="measure costs instead of using ours")
    options = parser.parse_args()
    costs = measure(options.measure) if options.measure else Costs()
    print(costs)
    print("| rows x 50 | " + " | ".join(f"{w:,} workers" for w in WORKERS) + " | sent by each |")
    print("|---|" + "---|" * (len(WORKERS) + 1))
    for rows in ROWS:
        found = [simulate(rows, workers, costs) for workers in WORKERS]
        times = " | ".join(_words(seconds) for seconds, _ in found)
        print(f"| {rows // 10**9:,} billion | {times} | {found[0][1] / 1e6:.0f} MB |")


def _words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
