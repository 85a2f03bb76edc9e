"""What the README and the pages of the site show can be run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from unnaive.datasets import load_german_credit

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_on_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, request):
    """Names that pages take for granted are a table, its classes, and new rows."""
    monkeypatch.chdir(tmp_path)
    X, y = load_german_credit()
    names: dict[str, Any] = {
        "X": X, "y": y, "table": X, "new_rows": X[:5], "X_new": X[:50], "y_new": y[:50],
        "X_train": X[:700], "y_train": y[:700], "X_test": X[700:], "y_test": y[700:],
    }  # fmt: skip
    for folder in ("sales", "new", "test"):
        (tmp_path / folder).mkdir()
        kept = X[["duration_months", "amount", "purpose"]].astype({"purpose": str})
        sales = kept.assign(churned=y.to_numpy(), times=1, sale=range(len(X)))
        (sales.drop(columns="churned") if folder == "new" else sales).to_parquet(
            tmp_path / folder / "january.parquet"
        )
    if "spark." in page.read_text(encoding="utf-8"):
        names["spark"] = request.getfixturevalue("spark")
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text[: found.start()].count("\n") + 1
        exec(compile("\n" * line + found[1], str(page), "exec"), names)


def test_every_page_is_looked_at() -> None:
    assert len(SHOWN) > 8
