"""Processor seconds of the first fit on a machine: no cache of compiled kernels is there yet.

    python -m benchmarks.first [--compiled] [nb boosted ...]

Every row is a process of its own with an empty cache, on a mixed table of 300 rows (iris for
``compare``); imports are not counted, except in the last row, whose cache is warm. Kernels come
with the installed library; with ``--compiled`` they are compiled, as where they do not fit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

TABLE = """
import time, numpy as np, pandas as pd, unnaive as u
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.integers(0, 9, 300),
                  "c": pd.Categorical(rng.choice(list("xyz"), 300)),
                  "d": rng.choice(["u", "v"], 300), "e": rng.normal(size=300)})
y = np.where(X.a + (X.c == "x") > 0.3, "yes", "no")
"""


def fit(name: str) -> str:
    return TABLE + f"u.{name}; s = time.process_time(); u.{name}().fit(X, y).predict(X)\n"


IRIS = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True, as_frame=True)\n"
TAKEN = "print(time.process_time() - s)"
# What is measured, and the most it should take.
ROWS = {
    "nb": (fit("NaiveBayesClassifier"), 2.0),
    "polars": (
        TABLE + "import polars as pl; u.NaiveBayesClassifier().fit(X, y).predict(X)\n"
        "P = pl.from_pandas(X); s = time.process_time()\n"
        "u.NaiveBayesClassifier().fit(P, y).predict(P)\n",
        0.1,
    ),
    "boosted": (fit("BoostedNaiveBayesClassifier"), 3.0),
    "bagged": (fit("BaggedNaiveBayesClassifier"), 3.0),
    "nbtree": (fit("NBTreeClassifier"), 8.0),
    "flexible": (fit("FlexibleNBTreeClassifier"), 8.0),
    "unnaive": (fit("UnnaiveBayesClassifier"), 6.0),
    "decomposition": (fit("ClassDecompositionClassifier"), 6.0),
    "mixture": (fit("HierarchicalMixtureClassifier"), 6.0),
    "c45": (fit("C45Classifier"), 6.0),
    "compare": (TABLE + IRIS + "u.compare; s = time.process_time(); u.compare(X, y)\n", 25.0),
}
AGAIN = (
    "import time; s = 0; import unnaive as u\n" + IRIS + "u.NaiveBayesClassifier().fit(X, y)"
    ".predict(X)\n"
)


def seconds(code: str, cache: str, compiled: bool) -> float:
    """Processor time that a new process says it has taken."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed library has bytecode
    if compiled:
        environment["UNNAIVE_MACHINE_CODE"] = "0"
    out = subprocess.check_output([sys.executable, "-c", code + TAKEN], env=environment)
    return float(out.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=", ".join(ROWS))
    parser.add_argument("--compiled", action="store_true", help="no kernel comes with the library")
    options = parser.parse_args()
    chosen, compiled = options.rows or list(ROWS), options.compiled
    table = Table("first", "processor seconds", "at most", title="First fits, empty cache")
    for name in chosen:
        code, most = ROWS[name]
        with tempfile.TemporaryDirectory() as cache:
            table.add_row(name, f"{seconds(code, cache, compiled):.2f}", f"{most:g}")
    with tempfile.TemporaryDirectory() as cache:
        seconds(AGAIN, cache, compiled)
        taken = seconds(AGAIN, cache, compiled)
        table.add_row("nb, warm, with imports", f"{taken:.2f}", "1.5")
    Console().print(table)


if __name__ == "__main__":
    main()
