"""Timing side by side, peak memory, and the table of results."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One measured ratio beside its target.

    ``sense`` is ">=" where the ratio says how many times faster we are, "<=" where it says how
    much we may cost.
    """

    work: str
    ours: str
    peer: str
    ratio: float
    sense: str
    target: float

    @property
    def met(self) -> bool:
        return self.ratio >= self.target if self.sense == ">=" else self.ratio <= self.target


def best_of(runs: int, *works: Callable[[], Any]) -> list[float]:
    """Least seconds of each, taking turns, after one warm-up each: the machine may be shared."""
    for work in works:
        work()
    best = [float("inf")] * len(works)
    for _ in range(runs):
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def faster(work: str, ours: Callable[[], Any], peer: Callable[[], Any], name: str, target: float,
           runs: int = 5) -> Row:  # fmt: skip
    """How many times faster we are than a peer."""
    a, b = best_of(runs, ours, peer)
    return Row(work, seconds(a), f"{name} {seconds(b)}", b / a, ">=", target)


def at_most(work: str, ours: Callable[[], Any], peer: Callable[[], Any], name: str, target: float,
            runs: int = 5) -> Row:  # fmt: skip
    """Our time as a multiple of something basic."""
    a, b = best_of(runs, ours, peer)
    return Row(work, seconds(a), f"{name} {seconds(b)}", a / b, "<=", target)


def slope(work: str, sizes: list[int], make: Callable[[int], Callable[[], Any]], target: float,
          runs: int = 3, what: str = "rows") -> Row:  # fmt: skip
    """Growth: slope of log time over log rows, or over something else that is counted."""
    times = [best_of(runs, make(n))[0] for n in sizes]
    found = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    span = f"{sizes[0]:,} to {sizes[-1]:,} {what}"
    shown = f"{seconds(times[0])} to {seconds(times[-1])}"
    return Row(f"{work}: growth", shown, span, found, "<=", target)


def seconds(t: float) -> str:
    return f"{t * 1e3:.3g} ms" if t < 1 else f"{t:.3g} s"


# ---------------------------------------------------------------------------------------------
# Memory, in a process of its own
# ---------------------------------------------------------------------------------------------


def peak_extra(work: Callable[[], Any]) -> int:
    """Bytes that the peak of resident memory lies above where it stood before (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest mark so far
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def in_new_process(case: str) -> float:
    """Run ``python -m benchmarks.speed --memory CASE`` and read the ratio it prints."""
    command = [sys.executable, "-m", "benchmarks.speed", "--memory", case]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(run.stdout.split()[-1])


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


def show(rows: list[Row]) -> None:
    table = Table("work", "ours", "beside", "ratio", "target", "", title="speed")
    for row in rows:
        met = "[green]met[/]" if row.met else "[red]missed[/]"
        target = f"{row.sense} {row.target:g}"
        table.add_row(row.work, row.ours, row.peer, f"{row.ratio:.2f}", target, met)
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def save(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "python": sys.version}
    content = {"machine": machine, "rows": [asdict(r) | {"met": r.met} for r in rows]}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1))
    part.replace(path)
