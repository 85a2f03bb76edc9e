"""What CONTRIBUTING.md says about adding things: the files are there, and no other is touched.

A model and a numeric rule from outside the library are tested in ``tests/test_own_model.py`` and
``tests/laws/test_rules.py``; here are a SQL dialect and an engine.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import unnaive
from helpers import assert_same_model, mixed_table
from unnaive import NaiveBayesClassifier
from unnaive.store.sql.builder import DIALECTS, DuckDB, cast
from unnaive.table import arrow

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LISTS = dict(re.findall(r"^## A new ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))


def test_there_is_a_list_for_everything_that_can_be_added():
    assert set(LISTS) == {"model", "numeric rule", "SQL dialect", "engine"}


@pytest.mark.parametrize("title", LISTS)
def test_files_and_names_in_a_list_exist(title):
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.]*)`", LISTS[title])
    assert paths
    for path in paths:
        assert (ROOT / path).exists(), path
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name in re.findall(r"`@?(_?[A-Za-z]\w+)`", LISTS[title]):
        assert re.search(rf"\b{name}\b", source), name


def test_a_new_node_needs_a_case_in_every_file_that_the_list_names():
    """Every function over nodes stands in one of these files, and there is no other."""
    over_nodes = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^@singledispatch$", path.read_text("utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(src/[\w/.]*)`", LISTS["model"].split("new node", 1)[1]))
    assert named - {"src/unnaive/answer/nodes.py"} == over_nodes


def test_a_dialect_is_a_class_and_an_entry(monkeypatch):
    class Casting(DuckDB):
        """DuckDB with a cast around every number."""

        word = "casting DuckDB"

        def number(self, value):
            return cast(super().number(value), "double")

    monkeypatch.setitem(DIALECTS, "casting", Casting())
    X, y = mixed_table(60)
    rows = X[["age", "city"]]
    model = NaiveBayesClassifier().fit(rows, y)
    statement = unnaive.to_sql(model, "keyed", dialect="casting", keep="key")
    assert statement.count("AS DOUBLE") > 10
    keyed = rows.assign(key=range(60))  # noqa: F841
    answers = duckdb.sql(statement).df().sort_values("key")
    columns = [f"probability_{label}" for label in model.classes_]
    np.testing.assert_allclose(answers[columns], model.predict_proba(rows), atol=1e-9)
    with pytest.raises(ValueError, match="'snowflake', 'casting'; got 'quiet'"):
        unnaive.to_sql(model, "keyed", dialect="quiet")


def test_an_engine_is_a_module_and_its_entries(monkeypatch):
    class Remote:
        """A table of an engine: nothing but its rows can be asked for."""

        def __init__(self, table):
            self.table = table

    Remote.__module__ = "remote.frame"
    module = ModuleType("unnaive.table.remote")
    module.open_scan = lambda scan, *rest: arrow.open_scan(
        replace(scan, data=lambda: pa.Table.from_pandas(scan.data.table).to_reader(25)), *rest
    )
    monkeypatch.setitem(sys.modules, "unnaive.table.remote", module)
    engines = sys.modules["unnaive.table.scan"].ENGINES
    monkeypatch.setitem(engines, "remote", ("remote", "unnaive.table.remote"))
    X, y = mixed_table(90)
    rows = Remote(X.assign(label=y))
    model = NaiveBayesClassifier().fit(rows, "label")
    assert_same_model(model, NaiveBayesClassifier().fit(X, y))
    assert (model.predict(Remote(X)) == model.predict(X)).all()
