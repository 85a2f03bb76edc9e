"""Displays draw the numbers of the facts, whatever the table is like."""

from __future__ import annotations

import builtins
import io
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from explained import EVERY, ROWS, X, Y, fitted
from unnaive import (
    C45Classifier,
    ClassDecompositionClassifier,
    EvidenceDisplay,
    ExplanationDisplay,
    GroupsDisplay,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    NomogramDisplay,
    PairDisplay,
    TreeDisplay,
    UnnaiveBayesClassifier,
)
from unnaive.explain import evidence_of, explain_rows, waterfall_of

every = pytest.mark.parametrize("k", range(len(EVERY)), ids=[repr(m) for m in EVERY])


@pytest.fixture(autouse=True)
def _ink():
    """Draw on no screen, and leave nothing behind."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def saved(figure, kind="svg"):
    """The file of a figure; drawing must not warn."""
    with io.BytesIO() as file:
        figure.savefig(file, format=kind)
        return file.getvalue()


def texts(ax):
    return [t.get_text() for t in ax.texts] + [t.get_text() for t in ax.get_yticklabels()]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


# Numbers ------------------------------------------------------------------------------------


def test_bars_are_the_weights_of_evidence(iris):
    model = NaiveBayesClassifier().fit(*iris)
    display = EvidenceDisplay.from_estimator(model)
    rows = [row for row in display.rows_ if row.value is not None]
    assert len(rows) == 12  # four attributes in three intervals
    for c, bars in enumerate(display.bars_):
        drawn = [bar.get_width() for bar in bars]
        expected = [row.attribute.weights[row.value, c] for row in rows]
        np.testing.assert_allclose(drawn, expected, atol=1e-12)
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert names[:2] == ["petal width (cm)", "at most 0.8"]
    counts = [t.get_text() for t in display.ax_.texts]
    assert counts[:3] == ["50", "54", "46"]


def test_whiskers_are_the_credible_intervals():
    model = NaiveBayesClassifier().fit(X, np.where(Y == "no", "no", "yes"))
    display = EvidenceDisplay.from_estimator(model, attributes=["city"], level=0.5)
    own = evidence_of(model, level=0.5)["city"]
    shown = [row.value for row in display.rows_ if row.value is not None]
    (whiskers,) = display.ax_.collections
    for v, segment in zip(shown, whiskers.get_segments(), strict=True):
        limit = display.ax_.get_xlim()[1]
        ends = np.clip([own.low[v, 1], own.high[v, 1]], -limit, limit)
        np.testing.assert_allclose(segment[:, 0], ends, atol=1e-12)


def test_many_classes_are_cells(iris):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, 900)
    table = pd.DataFrame({"a": y % 5 + rng.integers(0, 2, 900), "b": rng.normal(y, 3)})
    model = NaiveBayesClassifier().fit(table, y)
    display = EvidenceDisplay.from_estimator(model)
    assert display.bars_ == []
    cells = display.cells_.get_array()
    for row, drawn in zip(display.rows_, cells, strict=True):
        if row.value is None:
            assert np.ma.getmaskarray(drawn).all()
        else:
            np.testing.assert_allclose(drawn, row.attribute.weights[row.value])
    assert saved(display.figure_).startswith(b"<?xml")


@pytest.mark.parametrize("most", [30, 2])
def test_scales_of_a_nomogram_are_the_whole_model(most):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 6, (300, 30)), columns=[f"c{j}" for j in range(30)])
    table = table.astype(str)
    y = (table["c0"] > "2").astype(int) + (rng.random(300) < 0.3)
    model = NaiveBayesClassifier().fit(table, y > 0)
    display = NomogramDisplay.from_estimator(model, max_attributes=most)
    assert len(display.scales_) == most
    assert_adds_up(display, model, table[:12])
    shown = texts(display.ax_)
    assert ("all others (28 columns)" in shown) == (most == 2)
    scale = display.scales_[0]
    assert all(scale.attribute.values[v] in shown for v in scale.values)
    assert scale.points.max() == pytest.approx(100)
    for scale, marks in zip(display.scales_, display.marks_, strict=True):
        np.testing.assert_array_equal(marks.get_offsets()[:, 0], scale.points)
    assert saved(display.figure_).startswith(b"<?xml")


def assert_adds_up(display, model, rows):
    """Check that points of rows, read from the scales and the rest, give their probability."""
    evidence, known = model.evidence(rows), model.predict_proba(rows)
    odds = evidence.contributions[:, :, 1] - evidence.contributions[:, :, 0]
    drawn = [evidence.terms.index(scale.attribute.name) for scale in display.scales_]
    lowest = display.least_ - (evidence.baseline[0, 1] - evidence.baseline[0, 0])
    lowest -= sum(scale.log_odds.min() for scale in display.scales_)
    for i in range(len(rows)):
        points = 0.0
        for j, scale in zip(drawn, display.scales_, strict=True):
            points += scale.points[abs(scale.log_odds - odds[i, j]).argmin()]
        points += (np.delete(odds[i], drawn).sum() - lowest) / display.per_point_
        assert display.probability(points) == pytest.approx(known[i, 1], abs=1e-9)
    assert display.others_[0] == 0.0 <= display.others_[1]


def test_pairs_are_part_of_a_nomogram_and_drawn_as_heat_maps():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (400, 3)), columns=["a", "b", "c"]).astype(str)
    y = np.where(table.a == table.b, "same", "other")
    model = UnnaiveBayesClassifier(n_bags=2, max_rounds=60, random_state=0).fit(table, y)
    display = NomogramDisplay.from_estimator(model)
    assert any("pair" in text for text in texts(display.ax_))
    assert_adds_up(display, model, table[:20])
    heat = PairDisplay.from_estimator(model, table, pair=("b", "a"), label="same")
    weights = heat.evidence.weights[:, :, 1][np.ix_(heat.rows_, heat.columns_)]
    np.testing.assert_array_equal(heat.cells_.get_array(), weights)
    rows = pd.crosstab(table.a, table.b).to_numpy()
    np.testing.assert_array_equal(heat.counts[1:3, 1:3], rows)
    assert str(rows[0, 0]) in texts(heat.ax_)
    saved(heat.figure_)
    with pytest.raises(ValueError, match=r"there is no pair \('a', 'z'\); the model has 'a x b'"):
        PairDisplay.from_estimator(model, pair=("a", "z"))
    with pytest.raises(ValueError, match="the model has no evidence of pairs"):
        PairDisplay.from_estimator(fitted(0))


@every
def test_a_waterfall_is_drawn_bar_by_bar(k):
    model = fitted(k)
    display = ExplanationDisplay.from_estimator(model, ROWS, row=7, max_bars=4)
    fall = waterfall_of(explain_rows(model, ROWS[7:8])[0])
    widths = [bar.get_width() for bar in display.bars_]
    shown = [*fall.bars[:4], fall.bars[4:].sum()] if len(fall.bars) > 4 else [*fall.bars]
    if len(widths) > len(shown):
        shown = [fall.start, *shown]
    np.testing.assert_allclose(widths, shown, atol=1e-9)
    last = display.bars_[-1]
    assert last.get_x() + last.get_width() == pytest.approx(fall.total)


def test_leaves_show_their_evidence():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.random((600, 3)), columns=list("abc"))
    y = (table["a"] > 0.5).to_numpy() ^ (table["b"] > 0.4).to_numpy()
    tree = NBTreeClassifier(random_state=0).fit(table, y)
    display = TreeDisplay.from_estimator(tree)
    assert sorted(display.nodes_) == list(range(tree.tree_.n_nodes))
    for node, item, bars in zip(display.nodes_, display.items_, display.class_bars_, strict=True):
        share = tree.tree_.class_weight[node] / tree.tree_.weight[node]
        widths = np.array([bar.get_width() for bar in bars])
        np.testing.assert_allclose(widths / widths.sum(), share, atol=1e-12)
        facts = evidence_of(tree, node)
        for remark in item.remarks:
            own = facts[remark.attribute]
            c = facts.names.index(remark.label)
            assert remark.weight == own.weights[own.values.index(remark.value), c]
    # Bars of evidence are drawn to one scale, but for the few longest.
    drawn = [
        (bar.get_width(), remark.weight)
        for item, bars in zip(display.items_, display.evidence_bars_, strict=True)
        for bar, remark in zip(bars, item.remarks, strict=True)
    ]
    assert len(drawn) > 2
    longest = max(width for width, _ in drawn)
    ratios = [width / abs(weight) for width, weight in drawn if width < longest]
    np.testing.assert_allclose(ratios, ratios[0])


def test_large_trees_open_where_most_rows_are():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (3000, 6)).astype(str), columns=list("abcdef"))
    y = (table.sum(axis=1).str.count("[135]") % 2).to_numpy()
    tree = C45Classifier(prune=False, min_rows=1).fit(table, y)
    display = TreeDisplay.from_estimator(tree, max_nodes=25)
    assert len(display.nodes_) <= 25 < tree.tree_.n_nodes
    assert any("nodes below" in item.note for item in display.items_)
    assert set(TreeDisplay(tree).plot(max_depth=1).nodes_) == {0, *tree.tree_.children(0)}
    for item in display.items_[1:]:
        assert display.items_[item.parent].depth == item.depth - 1
    # There is no evidence to draw, and no room left for it.
    right = max(bar.get_x() + bar.get_width() for bars in display.class_bars_ for bar in bars)
    assert right > 0.8


def test_clusters_and_experts_are_drawn():
    for model in (
        ClassDecompositionClassifier(random_state=0),
        HierarchicalMixtureClassifier(layers=(2, 2), random_state=0),
    ):
        display = GroupsDisplay.from_estimator(model.fit(X, Y))
        assert sum(map(len, display.evidence_bars_)) > 0
        assert saved(display.figure_, "pdf").startswith(b"%PDF")
    sizes = [item.weight for item in display.items_ if item.name.startswith("expert")]
    assert sum(sizes) == pytest.approx(display.items_[0].weight)
    assert display.ax_.get_title(loc="left").endswith("3 gates, 4 experts")
    one = HierarchicalMixtureClassifier(layers=(2,), random_state=0).fit(X, Y)
    figure = plt.figure(layout="constrained").subfigures(2, 1)[0]
    into = GroupsDisplay.from_estimator(one, ax=figure.subplots())
    assert into.figure_ is figure
    assert into.ax_.get_title(loc="left").endswith("1 gate, 2 experts")
    with pytest.raises(TypeError, match="needs a ClassDecomp.* got a NaiveBayesClassifier"):
        GroupsDisplay(fitted(0))


# Awkward ------------------------------------------------------------------------------------


def hostile(n=300):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "<script>alert('x')</script>": rng.normal(y, 1),
            "cost ($) and fee ($x^2$)": rng.choice(["a$b$", "_c^d", r"\frac", "👍🏽 yes"], n),
            "גיל הלקוח": rng.integers(0, 50, n) + 10 * y,
            "العمر": rng.choice(["نعم", "لا"], n),
            "漢字\x00\n\ttab": rng.choice(["東京", "大阪"], n),
            "long " * 40: rng.normal(2 * y, 1),
        }
    )
    return table, np.array(["no 🙂", "כן"])[y]


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_hostile_names_are_drawn_as_they_are(kind):
    table, y = hostile()
    model = NaiveBayesClassifier().fit(table, y)
    tree = C45Classifier().fit(table, y)
    for display in (
        EvidenceDisplay.from_estimator(model),
        NomogramDisplay.from_estimator(model),
        ExplanationDisplay.from_estimator(model, table),
        TreeDisplay.from_estimator(tree),
    ):
        saved(display.figure_, kind)  # a formula would fail
    shown = texts(EvidenceDisplay.from_estimator(model).ax_)
    assert "cost ($) and fee ($x^2$)" in shown
    assert "👍🏽 yes" in shown
    assert all(len(text) < 70 for text in shown)


@pytest.mark.parametrize("classes", [2, 3, 7, 26])
@pytest.mark.parametrize("attributes", [1, 200])
def test_few_and_many_classes_and_attributes_fit(classes, attributes):
    rng = np.random.default_rng(0)
    y = np.arange(520) % classes
    table = pd.DataFrame(
        {
            f"attribute {j} with a long name": rng.integers(0, 4, 520) + y % 3
            for j in range(attributes)
        }
    ).astype(str)
    model = NaiveBayesClassifier().fit(table, y)
    for display in (
        EvidenceDisplay.from_estimator(model),
        NomogramDisplay.from_estimator(model, max_attributes=20),
        ExplanationDisplay.from_estimator(model, table),
    ):
        figure = display.figure_
        figure.draw_without_rendering()
        assert max(figure.get_size_inches()) < 20
        whole = figure.get_window_extent()
        for label in display.ax_.get_yticklabels():
            assert label.get_window_extent().x0 >= whole.x0 - 1
        places = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
        tops = sorted((box.y0, box.y1) for box in places)
        assert all(below[1] <= above[0] + 2.5 for below, above in pairwise(tops))


def test_impossible_values_do_not_hide_the_others():
    table = pd.DataFrame({"a": list("xxyyzz") * 10, "b": list("pqpqpp") * 10})
    y = np.array(list("112211") * 10)
    model = NaiveBayesClassifier(alpha=0.0).fit(table, y)
    display = EvidenceDisplay.from_estimator(model)
    assert display.ax_.get_xlim()[1] < 10
    assert len(display.ax_.lines) > 1  # arrows at the edge
    nomogram = NomogramDisplay.from_estimator(model)
    assert 0 < nomogram.per_point_ < 1
    fall = ExplanationDisplay.from_estimator(model, table)
    assert any("rules" in text for text in texts(fall.ax_))
    saved(fall.figure_)


def test_missing_values_are_drawn_where_they_occur():
    model = NaiveBayesClassifier(missing="value").fit(X, Y)
    shown = texts(EvidenceDisplay.from_estimator(model, attributes=["city"]).ax_)
    assert "missing" in shown
    shown = texts(EvidenceDisplay.from_estimator(model, attributes=["plan"]).ax_)
    assert "missing" not in shown


def test_trees_of_classes_are_sent_to_their_display():
    tree = C45Classifier().fit(X, Y)
    with pytest.raises(ValueError, match="no attribute has evidence at 'node 0'.*TreeDisplay"):
        EvidenceDisplay.from_estimator(tree)
    one = NaiveBayesClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="a nomogram compares two classes; this model has one"):
        NomogramDisplay.from_estimator(one)
    with pytest.raises(KeyError, match="no attribute is named 'colour'"):
        EvidenceDisplay.from_estimator(fitted(0), attributes=["colour"])


# Matplotlib ---------------------------------------------------------------------------------


def test_a_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    display = EvidenceDisplay(evidence_of(fitted(0)))
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'unnaive\[plot\]'"):
        display.plot()


def test_facts_do_not_import_matplotlib():
    code = (
        "import sys, unnaive; unnaive.EvidenceDisplay; unnaive.evidence_of;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
