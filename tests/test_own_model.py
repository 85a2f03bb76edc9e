"""A classifier in a file outside the library has everything that the library's own have."""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import unnaive
from explained import ROWS, X, Y
from unnaive import explain_rows, importance_of, quality_of, what_if
from unnaive.cli.app import run
from unnaive.common import registry

FILE = Path(__file__).parents[1] / "examples" / "own_model.py"


@pytest.fixture
def own(monkeypatch):
    """The class, registered for one test."""
    monkeypatch.setattr(registry, "_members", dict(registry._members))
    monkeypatch.setattr(registry, "_sources", dict(registry._sources))
    spec = importlib.util.spec_from_file_location("own_model", FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "own_model", module)
    spec.loader.exec_module(module)
    return module.ComplementNaiveBayesClassifier


def test_the_file_is_short():
    assert len(FILE.read_text().splitlines()) <= 80


def test_it_is_complement_naive_bayes(own):
    """By the definition: the prior less the log frequencies of values among the other classes."""
    rows, y = [["a"], ["a"], ["b"], ["b"], ["b"]], [0, 1, 1, 2, 2]
    model = own(alpha=1.0).fit(rows, y)
    expected = [np.log(1 / 5) - np.log(2 / 6), np.log(2 / 5) - np.log(2 / 5),
                np.log(2 / 5) - np.log(3 / 5)]  # fmt: skip
    np.testing.assert_allclose(model.predict_joint_log_proba([["a"]])[0], expected)


def test_it_predicts_and_shows_its_evidence(own):
    model = own().fit(X, Y)
    why = model.evidence(ROWS)
    assert (why.total() == model.predict_joint_log_proba(ROWS)).all()
    rows = explain_rows(model, ROWS)
    joined = np.concatenate([row.evidence.probabilities() for row in rows])
    np.testing.assert_allclose(joined, model.predict_proba(ROWS), atol=1e-12)
    assert quality_of(model, X, Y).accuracy > 0.5
    assert len(importance_of(model, X, Y).features) == X.shape[1]
    assert what_if(model, X[:1], {"city": None}).changed == ("city",)


def test_it_has_a_report_and_a_statement(own):
    model = own().fit(X, Y)
    assert "Complement" in unnaive.report(model, X, Y).html
    rows = X.head(20).assign(key=range(20))  # noqa: F841
    found = duckdb.sql(unnaive.to_sql(model, "rows", keep="key")).df().sort_values("key")
    columns = [f"probability_{label}" for label in model.classes_]
    np.testing.assert_allclose(found[columns], model.predict_proba(X.head(20)), atol=1e-9)


def test_it_is_kept_in_files_and_merged(own):
    model, file = own().fit(X, Y), io.BytesIO()
    unnaive.save(model, file)
    file.seek(0)
    again = unnaive.load(file)
    assert (again.predict_proba(ROWS) == model.predict_proba(ROWS)).all()
    parts = unnaive.merge([own().fit(X[:100], Y[:100]), own().fit(X[100:], Y[100:])])
    assert (parts.predict_proba(ROWS) == model.predict_proba(ROWS)).all()


def test_it_is_compared_with_the_family(own):
    found = unnaive.compare(X, Y, models=["nb", "complement"], cv=3, random_state=0)
    assert {result.name for result in found.results} == {"nb", "complement"}
    assert not any(result.problem for result in found.results)


def test_it_passes_the_checks_of_scikit_learn(own):
    check_estimator(own(), on_skip=None)


def test_the_command_finds_it_by_its_entry_point(own, tmp_path, monkeypatch, capfd):
    """Forgotten again and installed in a folder: as in a new process, but for its imports."""
    del sys.modules["own_model"], registry._members["complement"], registry._sources[own.__name__]
    shutil.copy(FILE, tmp_path / "own_model.py")
    facts = tmp_path / "own_model-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: own-model\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[unnaive.models]\ncomplement = own_model\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_load_plugins", registry._load_plugins.__wrapped__)
    monkeypatch.chdir(tmp_path)
    X.assign(label=Y).to_csv("rows.csv", index=False)
    for words in (
        "fit rows.csv --target label --model complement -o m.unv",
        "evaluate m.unv rows.csv --target label",
        "show m.unv",
    ):
        assert run(words.split()) == 0, capfd.readouterr().err
    assert "ComplementNaiveBayesClassifier" in capfd.readouterr().out
