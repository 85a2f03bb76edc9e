"""What the pages name is there: modules, links, commands and their options, extras, targets."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from pydoc import locate

import pytest
import typer

import unnaive
from unnaive.cli.app import app
from unnaive.common.registry import family
from unnaive_papers.cli import app as papers

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unnaive"
OWN = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "ARCHITECTURE", "CHANGELOG")]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*OWN, *sorted((ROOT / "docs").rglob("*.md")))
    if "_build" not in path.parts and "gallery" not in path.parts
}


def anchors(text):
    """As GitHub and MyST make them of headings."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", TEXTS)
def test_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", TEXTS[page]):
        path, _, anchor = link.partition("#")
        goal = (ROOT / page).parent / path if path else ROOT / page
        if "gallery/" in path:  # made of the examples when the site is built
            goal = ROOT / "examples" / "gallery" / f"{goal.stem}.py"
            goal = ROOT / "examples" / "gallery" if goal.stem == "index" else goal
        assert goal.exists(), link
        if anchor:
            assert anchor in anchors(goal.read_text(encoding="utf-8")), link


def test_commands_and_options_on_pages_exist():
    commands = {f"unnaive {k}": own for k, own in typer.main.get_command(app).commands.items()}
    commands["unnaive-papers"] = typer.main.get_command(papers)
    found = Counter()
    for page, text in TEXTS.items():
        shown = re.findall(r"^```(?:bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        inline = [f"{code}\n" for code in re.findall(r"`([^`\n]+)`", text)]
        lines = re.findall(r"^(unnaive [a-z]+|unnaive-papers) (.*)$", "".join(shown + inline), re.M)
        for name, words in lines:
            taken = {option for own in commands[name].params for option in own.opts} | {"--help"}
            asked = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*(?!\S)", words.split("#")[0]))
            assert asked <= taken, (page, name, words)
            found[name.split()[0]] += 1
    assert found["unnaive"] > 10
    assert found["unnaive-papers"] > 5


def test_extras_targets_and_modules_on_pages_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for page, text in TEXTS.items():
        for extras in re.findall(r"(?:unnaive|\.)\[([\w,]+)\]", text):
            assert set(extras.split(",")) <= project["optional-dependencies"].keys(), page
        assert set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.M)) <= set(targets), page
        for module in re.findall(r"python -m (benchmarks[\w.]*)", text):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), page


def test_reference_lists_every_public_name():
    listed = re.findall(r"^   ([\w.]+)$", TEXTS["docs/reference/index.md"], re.MULTILINE)
    assert len(set(listed)) == len(listed)
    assert {name for name in listed if "." not in name} == {*unnaive.__all__} - {"__version__"}
    for name in listed:
        assert locate(f"unnaive.{name}").__doc__, name


@pytest.fixture(scope="module")
def members():
    """The library's own models; other tests may register more."""
    return [own for own in family().values() if own.estimator.__module__.startswith("unnaive.")]


def test_the_table_of_models_is_that_of_the_registry(members):
    rows = re.findall(
        r"^\| `([\w-]+)` \| `(\w+)` \| (.*) \|$", TEXTS["docs/guide/comparing.md"], re.M
    )
    assert rows == [(own.name, own.estimator.__name__, own.summary) for own in members]


def test_every_model_stands_where_models_are_chosen(members):
    choices = unnaive.compare.__doc__.split("estimators : ")[0]
    assert re.findall(r'``"([\w-]+)"``', choices) == [own.name for own in members]
    for own in members:
        assert f"`{own.estimator.__name__}`" in TEXTS["docs/choosing.md"], own.name
        assert f"`{own.estimator.__name__}`" in TEXTS["README.md"], own.name
