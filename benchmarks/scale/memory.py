"""What every model holds while it is fitted from Parquet: extra memory beside rows and limit.

``python -m benchmarks.scale.memory [--models nbtree c45] [--rows 1000000 2000000]`` fits each model
on tables of growing size, every time in a process of its own, and shows the most memory that no
file stands for, and the most bytes of temporary files. What grows with the rows is not bounded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scale.data import make
from benchmarks.scale.work import Peak, anonymous

FEW = {"random_state": 0}
MODELS: dict[str, Callable[[Any], Any]] = {
    "nb": lambda u: u.NaiveBayesClassifier(),
    "nb_gaussian": lambda u: u.NaiveBayesClassifier(numeric="gaussian"),
    "nb_kernel": lambda u: u.NaiveBayesClassifier(numeric="kernel"),
    "discretizer": lambda u: u.Discretizer(),
    "nbtree": lambda u: u.NBTreeClassifier(max_depth=2, cv=3, **FEW),
    "nbtree_global": lambda u: u.NBTreeClassifier(discretize="global", max_depth=2, cv=3, **FEW),
    "flexible": lambda u: u.FlexibleNBTreeClassifier(max_depth=1, cv=3, **FEW),
    "c45": lambda u: u.C45Classifier(max_depth=12),
    "boosted": lambda u: u.BoostedNaiveBayesClassifier(n_estimators=5, **FEW),
    "boosted_early": lambda u: u.BoostedNaiveBayesClassifier(
        n_estimators=5, early_stopping=True, **FEW
    ),
    "bagged": lambda u: u.BaggedNaiveBayesClassifier(n_estimators=6, **FEW),
    "bagged_oob": lambda u: u.BaggedNaiveBayesClassifier(n_estimators=6, oob_score=True, **FEW),
    "mixture": lambda u: u.HierarchicalMixtureClassifier(n_sweeps=2, **FEW),
    "mixture_batch": lambda u: u.HierarchicalMixtureClassifier(n_sweeps=2, training="batch", **FEW),
    "latent": lambda u: u.LatentClassClusterer(3, n_init=1, max_iter=3, **FEW),
    "latent_auto": lambda u: u.LatentClassClusterer(
        max_clusters=2, cv=2, n_init=1, max_iter=2, **FEW
    ),
    "decomposition": lambda u: u.ClassDecompositionClassifier(
        clusterer=u.LatentClassClusterer(2, n_init=1, max_iter=2, **FEW)
    ),
}


def fit(name: str, path: str, limit: str) -> int:
    """Fit one model; the most bytes that were in temporary files."""
    import unnaive
    from unnaive.table import records

    rooms: list[Any] = []
    first = records.Storage.__init__

    def noted(self: Any, limit: int | None = None) -> None:
        first(self, limit)
        rooms.append(self)

    records.Storage.__init__ = noted  # type: ignore[method-assign]
    try:
        MODELS[name](unnaive).fit(unnaive.scan(path, "label", memory_limit=limit))
    finally:
        records.Storage.__init__ = first  # type: ignore[method-assign]
    return max((room.most_spilled for room in rooms), default=0)


def measure(name: str, path: str, warm: str, limit: str) -> dict[str, float]:
    """Seconds and bytes of one fit, after a small one that loads and compiles everything."""
    fit(name, warm, limit)
    before, peak = anonymous(), Peak()
    peak.start()
    start, cpu = time.perf_counter(), time.process_time()
    spilled = fit(name, path, limit)
    peak.going = False
    peak.join()
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "extra": peak.most - before,
        "spilled": spilled,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    default = [1_000_000, 2_000_000, 4_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=default)
    parser.add_argument("--limit", default="200MB", help="memory_limit= of the fits")
    folder = Path(tempfile.gettempdir()) / "unnaive-scale"
    parser.add_argument("--folder", type=Path, default=folder)
    parser.add_argument("--child", nargs=3, metavar=("MODEL", "FILE", "WARM"))
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*options.child, options.limit)))
        return
    warm = make(options.folder, 20_000, "parquet")
    command = [sys.executable, "-m", "benchmarks.scale.memory", "--limit", options.limit]
    print("| model | rows | extra memory | temporary files | seconds | of them computing |")
    print("|---|---|---|---|---|---|")
    for name in options.models:
        for rows in options.rows:
            path = make(options.folder, rows, "parquet")
            child = [*command, "--child", name, str(path), str(warm)]
            found = json.loads(subprocess.check_output(child, text=True).splitlines()[-1])
            sizes = " | ".join(f"{found[key] / 1e6:,.0f} MB" for key in ("extra", "spilled"))
            times = f"{found['seconds']:.0f} | {found['cpu']:.0f}"
            print(f"| {name} | {rows:,} | {sizes} | {times} |", flush=True)


if __name__ == "__main__":
    main()
