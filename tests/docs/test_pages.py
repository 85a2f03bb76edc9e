"""What the README and the pages of the site show can be run as it stands."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from unnaive.common import registry
from unnaive.datasets import load_german_credit

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
ON_SPARK = [page for page in SHOWN if "spark." in page.read_text(encoding="utf-8")]


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read_from(spark: Any, folder: Path) -> None:
    """Let Spark's Java, which began in another folder, find what is named without one here."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.get(spark._jsc.hadoopConfiguration())
    files.setWorkingDirectory(hadoop.Path(folder.as_uri()))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a page's blocks in an empty folder with three tables.

    Names that pages take for granted are a table, its classes, and new rows.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    for registered in ("_members", "_sources"):  # what a page registers is forgotten after it
        monkeypatch.setattr(registry, registered, dict(getattr(registry, registered)))
    X, y = load_german_credit()
    known: dict[str, Any] = {
        "X": X, "y": y, "table": X, "new_rows": X[:5], "X_new": X[:50], "y_new": y[:50],
        "X_train": X[:700], "y_train": y[:700], "X_test": X[700:], "y_test": y[700:],
    }  # fmt: skip
    kept = X[["duration_months", "amount", "purpose"]].astype({"purpose": str})
    sales = kept.assign(churned=y.to_numpy(), times=1, sale=range(len(X)))
    for folder in ("sales", "new", "test"):
        (tmp_path / folder).mkdir()
        (sales.drop(columns="churned") if folder == "new" else sales).to_parquet(
            tmp_path / folder / "january.parquet"
        )

    def run_page(page: Path, **more: Any) -> None:
        names, text = known | more, page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            exec(compile("\n" * line + block[1], str(page), "exec"), names)

    return run_page


@pytest.mark.parametrize("page", [page for page in SHOWN if page not in ON_SPARK], ids=page_id)
def test_code_on_a_page_runs_from_top_to_bottom(page, run):
    run(page)


@pytest.mark.parametrize("page", ON_SPARK, ids=page_id)
def test_code_on_a_page_with_spark_runs_from_top_to_bottom(page, run, spark, tmp_path):
    read_from(spark, tmp_path)
    run(page, spark=spark)


def test_every_page_is_looked_at() -> None:
    assert len(SHOWN) > 8


FIGURES = sorted((ROOT / "docs" / "guide" / "figures").glob("*.py"))
PLOT = re.compile(r"^\.\. plot:: (\S+)\n((?:   :.*\n)*)\n((?:   .*\n)*)", re.MULTILINE)
DRAWN = {
    name: (options, caption)
    for page in PAGES
    for name, options, caption in PLOT.findall(page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("script", FIGURES, ids=lambda script: script.stem)
def test_figure_of_the_guide_is_drawn_and_told(script):
    """The site draws it when it is built; here it is drawn to see that nothing warns."""
    with mpl.rc_context({"backend": "agg"}):
        plt.close("all")
        runpy.run_path(str(script))
        drawn = plt.get_fignums()
        for number in drawn:
            figure = plt.figure(number)
            figure.savefig(io.BytesIO(), format="svg")
        plt.close("all")
    assert len(drawn) == 1
    options, caption = DRAWN[script.name]
    assert ":alt: " in options
    assert len(caption.strip()) > 20


def test_every_model_has_a_figure_and_says_what_a_reader_asks() -> None:
    assert {script.name for script in FIGURES} == set(DRAWN)
    for name in (
        "naive_bayes", "kernel_densities", "nbtree", "flexible_nbtree", "c45", "ensembles",
        "mixtures", "clusters",
    ):  # fmt: skip
        text = (ROOT / "docs" / "guide" / f"{name}.md").read_text(encoding="utf-8")
        for part in (
            ".. plot::",
            "$$",
            "Cost\n",
            "\n## Measured\n",
            "\n## Limits\n",
            "Reading it\n",
        ):
            assert part in text, (name, part)
