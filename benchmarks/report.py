"""How long a report takes: to write, to open in a browser, to answer a what-if question.

    python -m benchmarks.report --data FOLDER

The folder holds ``adult.parquet`` and a MANIFEST.json that names its target. Adult is taken without
rows that have gaps, its training part (30,162 rows, 14 attributes), by NBTree; then 5,000 made rows
of 200 attributes and 26 classes, by naive Bayes. Needs Playwright and a Chromium or Chrome.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from unnaive import NaiveBayesClassifier, NBTreeClassifier, report

BEST_OF = 3
QUESTIONS = 100
# Sets one attribute after the other to a value of some row: milliseconds of each answer, drawn.
ASK = """async (n) => {
    const times = [], { columns, rows } = U.data;
    for (let k = 0; k < n; k++) {
        const j = (k * 7) % columns.length, i = (k * 13) % rows.at.length;
        const start = performance.now();
        U.tryView.set(j, rows.values[j][i]);
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
    }
    return times;
}"""


def adult(folder: Path) -> tuple[Any, pd.DataFrame, pd.Series]:
    """NBTree on the training part without gaps."""
    entries = json.loads((folder / "MANIFEST.json").read_text())["datasets"]
    target = next(entry["target"] for entry in entries if entry["name"] == "adult")
    table = pd.read_parquet(folder / "adult.parquet")
    table = table[table["split"] == "train"].drop(columns="split").dropna()
    X, y = table.drop(columns=target), table[target]
    return NBTreeClassifier(random_state=0).fit(X, y), X, y


def wide() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """200 attributes, half of them categories, and 26 classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, 5000)
    numbers = {f"number {j}": rng.normal(y * (j % 5) / 10, 1) for j in range(100)}
    words = np.array([f"value {v}" for v in range(12)])
    values = {f"word {j}": words[(y * (j % 3) + rng.integers(0, 6, 5000)) % 12] for j in range(100)}
    X = pd.DataFrame(numbers | values)
    labels = np.array([f"class {chr(65 + c)}" for c in range(26)])[y]
    return NaiveBayesClassifier().fit(X, labels), X, labels


def measure(name: str, given: tuple[Any, Any, Any], browser: Any, folder: Path) -> list[str]:
    """One line of the table."""
    model, X, y = given
    path = folder / "page.html"
    write, first_paint, answers = [], [], []
    for _ in range(BEST_OF):
        start = time.perf_counter()
        report(model, X, y, path=path)
        write.append(time.perf_counter() - start)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        first_paint.append(time.perf_counter() - start)
        answers.append(np.percentile(page.evaluate(ASK, QUESTIONS), 95))
        page.close()
    size = path.stat().st_size / 1e6
    rows = f"{X.shape[0]:,} x {X.shape[1]}"
    shown = [min(write), size, min(first_paint), min(answers)]
    return [name, rows, *(f"{x:.2f}" for x in shown)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with adult.parquet and MANIFEST.json")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    table = Table(title=f"Reports, best of {BEST_OF}")
    for heading in ("model", "rows", "written, s", "MB", "opened, s", "answer (95 %), ms"):
        table.add_column(heading, justify="left" if heading in ("model", "rows") else "right")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if given.data is not None:
            row = measure("adult, NBTree", adult(given.data), browser, Path(folder))
            table.add_row(*row)
        table.add_row(*measure("wide, naive Bayes", wide(), browser, Path(folder)))
        browser.close()
    Console().print(table)


if __name__ == "__main__":
    main()
