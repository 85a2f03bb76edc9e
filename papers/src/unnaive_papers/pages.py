"""Pages of results, as Markdown and as HTML, from verdicts, tables and figures."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from unnaive_papers.claims import NOT, ORDER, PARTLY, REPRODUCED, Verdict
from unnaive_papers.statistics import Estimate
from unnaive_papers.study import Study


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first column is a name."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    last_apart: int = 0  # so many rows at the end are sums or means
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, with words for who cannot see it."""

    title: str
    svg: str
    alt: str
    note: str = ""
    kind: str = "picture"

    @property
    def slug(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.title.lower()).strip("-")[:60]


Block = Table | Picture


@dataclass(slots=True)
class Page:
    """All that one page shows."""

    key: str
    title: str
    intro: str
    verdicts: list[Verdict] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)  # how it was run

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(v.verdict for v in self.verdicts)
        return {word: found[word] for word in ORDER if found[word]}


def study_page(
    study: Study, verdicts: list[Verdict], blocks: list[Block], facts: list[str]
) -> Page:
    about = study.about
    title = f"{about['authors']} ({about['year']}): {about['title']}"
    return Page(study.key, title, about["intro"], verdicts, blocks, [], facts)


# ---------------------------------------------------------------------------------------------
# Numbers as text
# ---------------------------------------------------------------------------------------------


def number(value: float, digits: int = 2) -> str:
    """A number for a reader: few digits, nothing for a gap."""
    if value is None or math.isnan(value):
        return ""
    if value != 0 and abs(value) < 10.0**-digits:
        return f"{value:.1e}"
    return f"{value:,.{digits}f}" if abs(value) < 1e6 else f"{value:.3g}"


def signed(value: float, digits: int = 2) -> str:
    return "" if value is None or math.isnan(value) else f"{value:+.{digits}f}"


def interval(found: Estimate) -> str:
    """The interval in brackets, and over what it is."""
    if not found.over or math.isnan(found.low):
        return ""
    small = max(abs(found.low), abs(found.high)) < 0.01
    form = "+.1e" if small else "+.2f"
    return f"[{found.low:{form}}, {found.high:{form}}] over {found.over}"


def verdict_cells(v: Verdict) -> list[str]:
    """One claim as the cells of a row."""
    whole = "" if v.is_whole else f" ({v.n_sets} of {v.all_sets} sets)"
    unit = f" {v.unit}" if v.unit else ""
    known = not math.isnan(v.found.value)
    gap = _trim(v.difference.value) if known else ""
    return [
        v.text, v.where, f"{_plain(v.said)}{unit}",
        f"{_plain(v.found.value)}{unit}" if known else "",
        " ".join(filter(None, [gap, interval(v.difference)])), v.verdict + whole, v.cause,
    ]  # fmt: skip


def _plain(value: float) -> str:
    return f"{value:g}" if value == int(value) and abs(value) < 1e6 else number(value)


def _trim(value: float) -> str:
    return f"{value:+.1e}" if 1e-14 < abs(value) < 0.005 else f"{value:+.2f}"


CLAIM_COLUMNS = ("claim", "where", "paper", "here", "difference, 95 % interval", "verdict", "cause")


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def write_page(page: Page, folder: Path) -> list[Path]:
    """The page as Markdown and HTML; figures lie beside the Markdown as SVG files."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for block in page.blocks:
        if isinstance(block, Picture):
            (figures / f"{page.key}-{block.slug}.svg").write_text(block.svg, encoding="utf-8")
    out = []
    for ending in ("md", "html"):
        path = folder / f"{page.key}.{ending}"
        path.write_text(render(page, ending), encoding="utf-8")
        out.append(path)
    return out


def render(page: Page, ending: str) -> str:
    """One page as text, ``"md"`` or ``"html"``."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    templates = files("unnaive_papers") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (templates / name).read_text("utf-8")),
        autoescape=ending == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["words"] = lambda verdict: verdict.replace(" ", "-")
    tried = [v for v in page.verdicts if v.tried and v.verdict in (PARTLY, NOT)]
    text: str = environment.get_template(f"page.{ending}.j2").render(
        page=page, columns=CLAIM_COLUMNS, cells=verdict_cells, tried=tried, reproduced=REPRODUCED
    )
    return text


def _cell(text: str) -> str:
    """Text inside a Markdown table."""
    return html.escape(str(text), quote=False).replace("|", "\\|").replace("\n", " ")


def summary_page(pages: Sequence[Page], facts: list[str]) -> Page:
    """All verdicts of all papers, counted and listed."""
    rows = [
        [page.title, *(str(page.counts.get(word, 0)) for word in ORDER)]
        for page in pages
        if page.verdicts
    ]
    totals = [str(sum(page.counts.get(word, 0) for page in pages)) for word in ORDER]
    counts = Table("Verdicts", ["paper", *ORDER], [*rows, ["all", *totals]], last_apart=1)
    lists: list[Block] = [counts]
    lists += [
        Table(page.title, CLAIM_COLUMNS, [verdict_cells(v) for v in page.verdicts])
        for page in pages
        if page.verdicts
    ]
    intro = (
        "Every claim of the five papers beside what this library finds. A figure is reproduced "
        "when it lies within the tolerance that the claim states; a direction when the whole "
        "confidence interval is on its side, partly when only the figure is. Where a claim fails, "
        "the paper's own page says what was tried, and the last column the cause: the protocol, "
        "which the paper leaves open; the data, which are other editions; the paper, whose figures "
        "cannot be; or us."
    )
    return Page("summary", "The papers, reproduced", intro, [], lists, [], facts)


def as_rows(wide: Any, digits: int = 2, last: dict[str, Any] | None = None) -> list[list[str]]:
    """A table of numbers (pandas) as texts; rows of ``last`` come under it."""
    rows = [[str(name), *(number(v, digits) for v in row)] for name, row in wide.iterrows()]
    for name, values in (last or {}).items():
        rows.append([name, *(number(values.get(c, math.nan), digits) for c in wide.columns)])
    return rows
