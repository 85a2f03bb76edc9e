"""Weka as a peer: found through the system package, fed with ARFF, asked for its own times."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from unnaive_papers.numbers import is_number
from unnaive_papers.protocol import Split, within_patience


@cache
def weka_jar() -> Path | None:
    if shutil.which("java") is None or shutil.which("dpkg") is None:
        return None
    listed = subprocess.run(["dpkg", "-L", "weka"], capture_output=True, text=True, check=False)
    jars = [Path(line) for line in listed.stdout.split() if line.endswith("weka.jar")]
    return jars[0] if jars else None


def train(command: str, X: Any, y: Any) -> tuple[float, str]:
    """Weka's own time to build a classifier, and the size of its tree."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.arff"
        write_arff(path, X.assign(**{"class of the row": y.astype("category")}))
        found = run(*command.split(), "-t", str(path), "-no-cv")
    took = re.search(r"Time taken to build model: ([\d.]+)", found)
    if took is None:  # Weka exits with 0 when it fails
        raise RuntimeError(f"Weka printed no time: {found[-300:]}")
    size = re.search(r"Size of the tree\s*:\s*(\d+)", found)
    return float(took[1]), size[1] if size else "?"


def cluster(command: str, X: Any) -> tuple[float, float]:
    """Seconds and log-likelihood per row of a clusterer.

    Weka prints no time for clusterers: that of one that does nothing but read the same rows is
    taken off.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arff"
        write_arff(path, X)
        start = time.perf_counter()
        found = run(*command.split(), "-t", str(path))
        took = time.perf_counter() - start
        start = time.perf_counter()
        run("weka.core.Instances", str(path))
        took -= time.perf_counter() - start
    likelihood = re.search(r"Log likelihood: (-?[\d.]+)", found)
    if likelihood is None:
        raise RuntimeError(f"Weka printed no likelihood: {found[-300:]}")
    return took, float(likelihood[1])


def run(*arguments: str) -> str:
    """What Weka prints."""
    call = ["java", "-Xmx6g", "-cp", str(weka_jar()), *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def test(command: str, X: Any, y: Any, parts: list[Split], patience: float) -> dict[str, float]:
    """Share of rows that a classifier gets right, and Weka's own time to build it for all parts.

    Where patience ends before the parts do, ``fits`` says how many were done.
    """
    rows = X.assign(**{"class of the row": y})
    for name in rows:
        if not is_number(rows[name]):  # both files must list the same values
            rows[name] = rows[name].astype("category")
    right = tested = built = 0.0
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "train.arff", Path(folder) / "test.arff"]
        for part in within_patience(parts, patience):
            for path, which in zip(paths, part, strict=True):
                write_arff(path, rows.iloc[which])
            found = run(*command.split(), "-t", str(paths[0]), "-T", str(paths[1]))
            after = found[found.find("Error on test data") :]
            score = re.search(r"Correctly Classified Instances\s+(\d+)", after)
            took = re.search(r"Time taken to build model: ([\d.]+)", found)
            if score is None or took is None:
                raise RuntimeError(f"Weka printed no score: {found[-300:]}")
            right, tested, built = (
                right + int(score[1]),
                tested + len(part[1]),
                built + float(took[1]),
            )
            done += 1
    times = {"fit_s": built * len(parts) / done}
    return {"accuracy": right / tested, **times, "fits": done, "parts": len(parts)}


def write_arff(path: Path, table: Any) -> None:
    """The table as ARFF, with made-up names: hostile ones cannot be quoted in old Weka."""
    import pandas as pd

    lines = ["@relation table"]
    cells = []
    for i, name in enumerate(table):
        column = table[name]
        if is_number(column):
            lines.append(f"@attribute a{i} numeric")
            cells.append(column.map(repr).where(column.notna(), "?"))
        else:
            codes = column.astype("category").cat.codes
            values = ",".join(f"v{k}" for k in range(len(column.astype("category").cat.categories)))
            lines.append(f"@attribute a{i} {{{values}}}")
            cells.append(("v" + codes.astype(str)).where(codes >= 0, "?"))
    rows_of_text = pd.concat(cells, axis=1).agg(",".join, axis=1)
    path.write_text("\n".join([*lines, "@data", *rows_of_text]) + "\n")
