"""The tables of the benchmark: 20 columns of numbers, prices with gaps, and text; labels depend on
some of them and on pairs of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

STEP = 1_000_000
VALUES = (2, 3, 4, 5, 8, 12, 20, 50, 100, 300)


def part(seed: int, n: int) -> pa.Table:
    """Rows of one step."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    columns: dict[str, Any] = {}
    for j in range(4):
        columns[f"real{j}"] = rng.normal(0.2 * j * y, 1.0, n)
    for j in range(4):
        columns[f"whole{j}"] = rng.poisson(5 + j * y, n) + 50 * j * rng.integers(0, 20, n)
    for j in range(2):
        price = np.exp(rng.normal(3 + 0.3 * y, 1, n)).round(2)
        columns[f"price{j}"] = pa.array(price, mask=rng.random(n) < 0.05)
    for j, k in enumerate(VALUES):
        codes = (rng.random(n) ** (1 + 0.3 * y) * k).astype(np.int32)
        if j < 2:  # a pair that only a tree sees through
            codes = np.where(y == (j + codes) % 2, codes, rng.integers(0, k, n)).astype(np.int32)
        names = pa.array([f"value {v}" for v in range(k)])
        columns[f"text{j}"] = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
    columns["label"] = pa.array(np.where(y == 1, "yes", "no"))
    return pa.table(columns)


def _alike(kind: str) -> Callable[[int, int], pa.Table]:
    """Rows of ten columns of one kind that Parquet keeps as dictionaries."""

    def rows(seed: int, n: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        columns: dict[str, Any] = {}
        for j in range(10):
            values = rng.normal(0.2 * j * y, 1.0, n)
            if kind == "text":
                codes = (rng.random(n) ** (1 + 0.3 * y) * (3 + 10 * j)).astype(np.int32)
                names = pa.array([f"value {v}" for v in range(3 + 10 * j)])
                columns[f"x{j}"] = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
            else:
                columns[f"x{j}"] = (
                    values.round(2) if kind == "rounded" else np.exp(values + 3).round(2)
                )
        columns["label"] = pa.array(np.where(y == 1, "yes", "no"))
        return pa.table(columns)

    return rows


DICTIONARIES = {"rounded": "rounded numbers", "price": "prices", "text": "categories"}
PARTS = {"scale": part} | {kind: _alike(kind) for kind in DICTIONARIES}


def make(folder: Path, rows: int, kind: str, what: str = "scale") -> Path:
    """A file of so many rows, kept for the next time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{what}-{rows}.{kind}"
    if path.exists():
        return path
    unfinished = path.with_suffix(".unfinished")
    writer: Any = None
    for k, start in enumerate(range(0, rows, STEP)):
        table = PARTS[what](k, min(STEP, rows - start))
        if writer is None:
            new = pq.ParquetWriter if kind == "parquet" else pyarrow.csv.CSVWriter
            writer = new(unfinished, table.schema)
        writer.write_table(table)
    writer.close()
    unfinished.rename(path)
    return path
