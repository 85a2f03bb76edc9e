"""Pages show what they are given, whatever it is called."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from unnaive_papers import figures
from unnaive_papers.claims import judge
from unnaive_papers.pages import (
    Page,
    Picture,
    Table,
    interval,
    number,
    render,
    summary_page,
    verdict_cells,
    write_page,
)
from unnaive_papers.statistics import Estimate, rank_methods
from unnaive_papers.study import load_study

HOSTILE = '<b>a|b</b> & "c"'


class Cells(HTMLParser):
    """Texts of all cells of a page."""

    def __init__(self, text):
        super().__init__()
        self.found, self._inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self.found.append("")
            self._inside = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.found[-1] += data


def page_of(*blocks):
    return Page("test", "A title & more", "What it is.", [], list(blocks), [(HOSTILE, "limit")])


def test_hostile_names_stay_text():
    page = page_of(Table("A table", ["set", HOSTILE], [[HOSTILE, "1.0"]]))
    cells = Cells(render(page, "html")).found
    assert cells.count(HOSTILE) == 3
    line = next(x for x in render(page, "md").splitlines() if x.endswith("| 1.0 |"))
    assert line == '| &lt;b&gt;a\\|b&lt;/b&gt; &amp; "c" | 1.0 |'


def test_figures_lie_beside_the_markdown_and_inside_the_html(tmp_path):
    svg = figures.lines_over_sets(["a", "b"], {"x": [1.0, 2.0]}, "points")
    write_page(page_of(Picture("Figure 9: things", svg, "Two points.")), tmp_path)
    text = (tmp_path / "test.md").read_text()
    assert "![Two points.](figures/test-figure-9-things.svg)" in text
    assert (tmp_path / "figures" / "test-figure-9-things.svg").read_text() == svg
    html = (tmp_path / "test.html").read_text()
    assert 'aria-label="Two points."' in html
    assert html.count("<svg") == 1


def test_a_figure_is_the_same_every_time():
    draw = lambda: figures.histogram({"ours": [1, 2, 2.5]}, (1, 2, 3), "x", "y")  # noqa: E731
    assert draw() == draw()


def test_claims_are_listed_with_what_was_tried():
    study = load_study("wang")
    verdicts = judge(study, {})
    page = Page("wang", "t", "i", verdicts)
    assert "What was tried" not in render(page, "html")  # nothing was measured yet
    summary = render(summary_page([page], []), "md")
    assert f"| all | 0 | 0 | 0 | {len(verdicts)} |" in summary


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, ""), (0.0, "0.00"), (1234.5, "1,234.50"), (3.2e-15, "3.2e-15")]
)
def test_numbers_are_for_readers(value, text):
    assert number(value) == text


def test_an_interval_says_over_what():
    assert interval(Estimate(1, -0.5, 2.5, "sets", 3)) == "[-0.50, +2.50] over sets"
    assert interval(Estimate(1, 1, 1)) == ""
    assert interval(Estimate(1, math.nan, math.nan, "seeds")) == ""


def test_every_figure_draws():
    line = ([1, 2], [80.0, 81.0], [79.0, 80.0], [81.0, 82.0])
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 5)), columns=list("abcde"))
    drawn = [
        figures.curves({"p": {"NB": line}, "q": {"NB": line, "C4.5": line}}, "x", "y"),
        figures.scatter({"a": ([1, 2], [3, 4])}, "x", "y", [(1, 3, "note")]),
        figures.powers({"rows": {"NB": ([10, 100], [1.0, 9.0])}}, "s"),
        figures.evidence({"width": (["low", "high"], [[1, -1], [0, 2]])}, ["a", "b"]),
        figures.critical_differences(rank_methods(scores, higher_is_better=True)),
    ]
    assert all(svg.startswith("<svg") and svg.rstrip().endswith("</svg>") for svg in drawn)
    assert "C4.5" in drawn[0]
    assert all(name in drawn[-1] for name in "abcde")


def test_a_claim_without_a_figure_has_empty_cells():
    verdict = judge(load_study("kohavi"), {})[0]
    cells = verdict_cells(verdict)
    assert cells[3:5] == ["", ""]
    assert cells[5].startswith("not measured (0 of 29 sets)")
