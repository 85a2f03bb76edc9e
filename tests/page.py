"""What tests of the report page share: a table with hostile names, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

HOSTILE = (
    "<script>hacked()</script>",
    "</script><img src=x onerror=hacked()>",
    "\"quoted\" & 'single'",
    "__proto__",
    "{{ 7 * 7 }}",
    "\u05e9\u05dc\u05d5\u05dd \u202e reversed",
    "\U0001f40d\U0001f40d",
)
CLASSES = ("<b>yes</b>", "__proto__", "</script> no")


def hostile_table(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Mixed columns, gaps, a date, one constant and one empty column, names that attack."""
    rng = np.random.default_rng(seed)
    number, other = rng.normal(size=n), rng.integers(0, 6, n).astype(float)
    kind = rng.choice(["constructor", "<i>x</i>", "ok", "\u2028"], n)
    side = rng.choice(["__proto__", "q"], n)
    y = np.where((number > 0) ^ (side == "q"), 0, np.where(kind == "ok", 1, 2))
    days = pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table = pd.DataFrame(
        {
            HOSTILE[0]: number,
            HOSTILE[1]: kind,
            HOSTILE[2]: side,
            HOSTILE[3]: other,
            HOSTILE[4]: pd.Timestamp("2020-01-01") + days,
            HOSTILE[5]: np.full(n, 3.0),
            HOSTILE[6]: np.full(n, np.nan),
        }
    )
    table.loc[rng.random(n) < 0.1, HOSTILE[0]] = np.nan
    table.loc[rng.random(n) < 0.1, HOSTILE[1]] = None
    return table, np.array(CLASSES, dtype=object)[y]


def new_rows(n: int, seed: int = 1) -> pd.DataFrame:
    """Rows of the same kind, with values that training never had and more gaps."""
    table, _ = hostile_table(n, seed)
    table.loc[::7, HOSTILE[1]] = "never seen"
    table.loc[::5, HOSTILE[2]] = None
    table.loc[::11, HOSTILE[0]] = 40.0
    return table


def find_browser() -> str | None:
    """A Chromium or Chrome of this machine."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    return None


class Watch:
    """What a page did that it should not: errors, requests, dialogs."""

    def __init__(self, page: Any, own: str) -> None:
        self.found: list[str] = []
        page.on("console", lambda m: self._note(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda e: self._note(f"error: {e}"))
        page.on("dialog", lambda d: self._note(f"dialog: {d.message}"))
        page.on("request", lambda r: None if self._own(r.url, own) else self._note(f"asks {r.url}"))

    def _note(self, text: str) -> None:
        self.found.append(text)

    @staticmethod
    def _own(url: str, own: str) -> bool:
        return url.partition("#")[0] == own or url == "data:,"


@contextmanager
def opened(browser: Any, path: Any, width: int = 1400, **options: Any) -> Iterator[Any]:
    """A page that is ready; afterwards it must have been quiet."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    watch = Watch(page, path.resolve().as_uri())
    try:
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
        yield page
        assert watch.found == []
    finally:
        context.close()


def as_row(values: list[Any]) -> list[float | None]:
    """A row for the page's scorer: JSON has no NaN."""
    return [None if v != v else float(v) for v in values]


PROBA = """(rows) => rows.map((row) => Array.from(
    U.model.proba(row.map((value) => (value === null ? NaN : value)))))"""
