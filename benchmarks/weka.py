"""Weka as a peer: found through the system package, fed with ARFF, asked for its own times."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd


def weka_jar() -> Path | None:
    if shutil.which("java") is None or shutil.which("dpkg") is None:
        return None
    listed = subprocess.run(["dpkg", "-L", "weka"], capture_output=True, text=True, check=False)
    jars = [Path(line) for line in listed.stdout.split() if line.endswith("weka.jar")]
    return jars[0] if jars else None


def train(command: str, X: pd.DataFrame, y: pd.Series) -> tuple[float, str]:
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


def cluster(command: str, X: pd.DataFrame) -> tuple[float, float]:
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


def write_arff(path: Path, table: pd.DataFrame) -> None:
    lines = ["@relation table"]
    cells = []
    for i, name in enumerate(table):
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            lines.append(f"@attribute a{i} numeric")
            cells.append(column.map(repr).where(column.notna(), "?"))
        else:
            codes = column.astype("category").cat.codes
            values = ",".join(f"v{k}" for k in range(int(codes.max()) + 1))
            lines.append(f"@attribute a{i} {{{values}}}")
            cells.append(("v" + codes.astype(str)).where(codes >= 0, "?"))
    rows_of_text = pd.concat(cells, axis=1).agg(",".join, axis=1)
    path.write_text("\n".join([*lines, "@data", *rows_of_text]) + "\n")
