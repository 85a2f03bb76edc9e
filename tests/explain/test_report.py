"""The report without a browser: what it holds, how it is written, what it refuses."""

from __future__ import annotations

import base64
import html
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from helpers import mixed_table
from page import HOSTILE, hostile_table
from unnaive import (
    C45Classifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    quality_of,
    report,
    scorecard,
)
from unnaive.explain.report.payload import pack
from unnaive.explain.report.report import as_json

X, Y = mixed_table(300)


@pytest.fixture(scope="module")
def model():
    return NaiveBayesClassifier().fit(X, Y)


def data_of(page):
    """The data inside a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    return json.loads(found.group(1))


def unpack(packed):
    if "at" in packed:
        return unpack(packed["values"])[unpack(packed["at"])]
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype=f"<{packed['kind']}")


@pytest.mark.parametrize(
    "array",
    [
        np.array([]),
        np.array([1.5, np.nan, -np.inf, 0.0, -0.0]),
        np.repeat(np.log([0.1, 0.2, 0.3]), 50),
        np.random.default_rng(0).normal(size=200),
        np.arange(300),
        np.array([-1, 5]),
        np.array([70_000, 2**31]),
        np.array([[True, False]]),
    ],
    ids=repr,
)
def test_packed_arrays_keep_every_bit(array):
    found = unpack(json.loads(json.dumps(pack(array))))
    if array.dtype.kind == "f":
        assert found.tobytes() == array.tobytes()
    else:
        np.testing.assert_array_equal(found, array.ravel())


def test_repeated_logarithms_are_kept_once():
    repeated = np.repeat(np.log(np.arange(1, 10)), 100)
    assert len(json.dumps(pack(repeated))) < 2 * len(repeated)


def test_json_cannot_end_its_element_or_open_another():
    text = as_json({"</script><!--": "<script>\u2028 & \u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script><!--": "<script>\u2028 & \u2029"}


def test_the_page_needs_nothing_from_outside(model):
    page = report(model, X, Y).html
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in page
    assert not re.search(r"\bsrc=|<link(?! rel=\"icon\" href=\"data:,\")|@import|url\(", page)


def test_figures_on_the_page_are_those_of_the_rows_passed(model):
    page, facts = report(model, X[:200], Y[:200]), quality_of(model, X[:200], Y[:200])
    assert "the rows you passed</strong>: 200 rows" in page.html
    assert f"<b>{100 * facts.accuracy:.1f} %</b>" in page.html
    assert f"<b>{facts.log_loss:.3f}</b>" in page.html


def test_importance_of_a_tree_is_the_change_of_its_probabilities():
    tree = C45Classifier().fit(X, Y)
    assert "rise in log loss without it" in report(tree, X, Y).html
    assert "mean absolute evidence</th>" in report(tree, X).html


def test_without_labels_nothing_is_measured(model):
    page = report(model, X)
    assert "No labels were passed" in page.html
    assert data_of(page)["rows"]["truth"] is None
    assert data_of(page)["calibration"] == []


def test_one_class_one_column_one_row():
    page = report(NaiveBayesClassifier().fit([["a"], ["b"]], ["only", "only"]), [["a"]], ["only"])
    assert "one class" in page.html
    assert "compare-view" not in page.html.split("<script")[0]


def test_a_page_of_hostile_names_is_escaped():
    table, y = hostile_table(120)
    page = report(NBTreeClassifier(random_state=0).fit(table, y), table, y, title=HOSTILE[1])
    body = page.html.split("<body>")[1].split('<script type="application/json"')[0]
    assert HOSTILE[1] not in page.html
    assert html.escape(HOSTILE[1]) in body
    assert "<img" not in page.html
    assert [column["name"] for column in data_of(page)["columns"]] == list(HOSTILE)


def test_names_that_cannot_be_written_are_replaced(tmp_path):
    table = pd.DataFrame({"a\ud800": ["x\udfff", "y"] * 10})
    model = NaiveBayesClassifier().fit(table, ["u", "v"] * 10)
    report(model, table, ["u", "v"] * 10, path=tmp_path / "page.html")
    assert "a?" in (tmp_path / "page.html").read_text("utf-8")


def test_rows_inside_the_page_are_bounded():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 300)))
    wide.columns = [f"c{j}" for j in range(300)]
    page = report(NaiveBayesClassifier().fit(wide, np.arange(400) % 2), wide)
    assert len(data_of(page)["rows"]["at"]) <= 40_000 // 300
    assert len(data_of(report(NaiveBayesClassifier().fit(X, Y), X, Y))["rows"]["at"]) <= 200


def test_rows_inside_the_page_have_the_most_wrong_ones(model):
    rows = data_of(report(model, X, Y))["rows"]
    own = model.predict_proba(X)[np.arange(len(Y)), np.searchsorted(model.classes_, Y)]
    assert int(own.argmin()) in rows["at"]
    assert rows["wrong"] == (model.predict(X) != Y)[rows["at"]].tolist()


def test_a_page_is_written_whole_or_not_at_all(model, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    page = report(model, X, Y, path=path, title="first")
    assert page.path == path
    assert path.read_text("utf-8") == page.html
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report(model, X, Y, path=path, title="second")
    monkeypatch.undo()
    assert "<title>first</title>" in path.read_text("utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_paths_that_cannot_be_written_are_named(model, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        report(model, X, path=tmp_path)
    with pytest.raises(FileNotFoundError, match="folder that does not exist"):
        report(model, X, path=tmp_path / "nowhere" / "report.html")


def test_what_is_not_a_fitted_classifier_is_refused():
    with pytest.raises(TypeError, match="shows classifiers of this library.*got a LatentClass"):
        report(LatentClassClusterer(2).fit(X), X)
    with pytest.raises(Exception, match="not fitted"):
        report(NaiveBayesClassifier(), X)
    with pytest.raises(ValueError, match="300 rows.*10 labels"):
        report(NaiveBayesClassifier().fit(X, Y), X, Y[:10])


def test_without_jinja2_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"unnaive\[report\]"):
        report(model, X, Y)


def test_in_a_notebook_the_report_is_a_sealed_frame(model):
    page = report(model, X, Y)
    frame = page._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    inside = re.search(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(inside.group(1)) == page.html


def notes(page):
    found = re.findall(r"<li><strong><bdi>(.*?)</bdi></strong><p>(.*?)</p></li>", page.html, re.S)
    return {html.unescape(about): html.unescape(text) for about, text in found}


def test_notes_name_what_is_wrong_with_the_data():
    n = 200
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "constant": np.ones(n),
            "empty": np.full(n, np.nan),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "fine": rng.choice(["a", "b"], n),
        }
    )
    y = np.where(np.arange(n) < 195, "many", "few")
    model = NaiveBayesClassifier().fit(table, y)
    passed = table.copy()
    passed.loc[:9, "fine"] = "new"
    found = notes(report(model, passed, y))
    assert "One value in all rows" in found["constant"]
    assert "No value at all" in found["empty"]
    assert f"Missing in {int(table['gaps'].isna().sum())} rows" in found["gaps"]
    assert "10 rows (5.0 %) have a value that training never had" in found["fine"]
    assert "Only 5 rows of this class" in found["few"]
    assert "many" not in found


def test_many_columns_with_the_same_fault_are_counted():
    table = pd.DataFrame({f"c{j}": np.ones(30) for j in range(40)} | {"x": np.arange(30) % 7})
    found = notes(report(NaiveBayesClassifier().fit(table, np.arange(30) % 2), table))
    assert found["16 more notes"] == "on further columns."


def test_large_trees_keep_the_evidence_of_their_largest_nodes(monkeypatch):
    monkeypatch.setattr("unnaive.explain.report.panels.MAX_PARTS", 3)
    table, y = hostile_table(500)
    model = NBTreeClassifier(random_state=0, significance=None).fit(table, y)
    assert model.tree_.n_nodes > 3
    page = report(model, table, y)
    kept = [part["node"] for part in data_of(page)["parts"]]
    order = np.argsort(-model.tree_.weight, kind="stable")[:3]
    assert kept == order.tolist()
    assert f"Of {model.tree_.n_nodes} parts, the 3 with most rows" in page.html


def test_a_scorecard_is_on_the_page_of_two_classes():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"home_town": rng.choice(["Rome", "Oslo"], 200)})
    y = np.where((table.home_town == "Rome") ^ (rng.random(200) < 0.2), "paid", "late")
    model = NaiveBayesClassifier().fit(table, y)
    page = report(model, table, y).html
    card = scorecard(model)
    assert f"Add the points of a row&#39;s values to the base of {card.base}" in page
    for column, value, points in card.to_frame().itertuples(index=False):
        name = column.replace("_", "_<wbr>")  # breaks between words
        line = f'>{name}</bdi></th><td><bdi title="{value}">{value}</bdi></td>'
        assert f'{line}<td class="n">{points}</td>' in page
    assert 'id="scorecard"' not in report(C45Classifier().fit(table, y), table, y).html
