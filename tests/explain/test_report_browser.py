"""The report page in a real browser: it computes what the model computes, and does nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from page import (
    CLASSES,
    HOSTILE,
    PROBA,
    as_row,
    find_browser,
    hostile_table,
    new_rows,
    opened,
)
from registry import CHOOSERS, CLASSIFIERS, META, UNNAIVE
from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
    discriminate,
    evidence_of,
    explain_rows,
    quality_of,
    report,
)
from unnaive.explain import waterfall_of
from unnaive.explain.report.panels import page_values
from unnaive.explain.report.payload import coders_of
from unnaive.explain.report.quality import rule_data
from unnaive.table import open_table

MODELS = [
    *{type(e): e for e in reversed(CLASSIFIERS)}.values(),  # the first of every class
    NaiveBayesClassifier(numeric="gaussian"),
    NaiveBayesClassifier(numeric="kernel", missing="value"),
    *META,
    CHOOSERS[1],
    ClassDecompositionClassifier(UNNAIVE[1], random_state=0),
    ClassDecompositionClassifier(FlexibleNBTreeClassifier(), random_state=0),
    ClassDecompositionClassifier(BoostedNaiveBayesClassifier(algorithm="m1"), fold="max"),
    ClassDecompositionClassifier(ClassDecompositionClassifier(), random_state=0),
]
X, Y = hostile_table(500)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium or Chrome is installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


def page_of(model, folder):
    path = folder.mktemp("report") / "page.html"
    report(model.fit(X, Y), X, Y, path=path)
    return model, path


@pytest.fixture(scope="module")
def nb_page(tmp_path_factory):
    return page_of(NaiveBayesClassifier(missing="value"), tmp_path_factory)


@pytest.fixture(scope="module")
def tree_page(tmp_path_factory):
    return page_of(NBTreeClassifier(random_state=0, significance=None), tmp_path_factory)


@pytest.fixture(scope="module")
def pair_page(tmp_path_factory):
    model = UnnaiveBayesClassifier(
        interactions=8, n_bags=2, max_rounds=40, max_interaction_bins=8, random_state=0
    )
    return page_of(model, tmp_path_factory)


def as_page_rows(model, table):
    """Rows of a table as the page's scorer takes them."""
    block = model._open(table).map(lambda block: block)
    coders = coders_of(model.answer_.root)
    return [as_row(row) for row in zip(*page_values(block, coders), strict=True)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_page_computes_what_the_model_computes(browser, tmp_path, model):
    own, rows = clone(model).fit(X, Y), new_rows(200)
    report(own, X, Y, path=tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        found = page.evaluate(PROBA, as_page_rows(own, rows))
        np.testing.assert_allclose(found, own.predict_proba(rows), rtol=0, atol=1e-9)
        # The rows inside the page are rows of the table.
        kept = page.evaluate("U.data.rows.at")
        inside = page.evaluate(
            "U.data.rows.at.map((_, i) => Array.from(U.model.proba("
            "U.data.columns.map((_, j) => U.data.rows.values[j][i]))))"
        )
        np.testing.assert_allclose(inside, own.predict_proba(X.iloc[kept]), rtol=0, atol=1e-9)
        assert page.evaluate("window.hacked") is None


def shown(page):
    """Probabilities that the what-if panel shows, by class."""
    found = page.locator("#try-view .chances .value")
    pairs = [
        (int(one.get_attribute("data-class")), float(one.get_attribute("data-p")), one.inner_text())
        for one in found.all()
    ]
    for _, p, text in pairs:
        if 0.0005 <= p <= 0.9995:
            assert text == f"{100 * p:.1f} %"
    return np.array([p for _, p, _ in sorted(pairs)])


def input_of(page, name):
    return page.locator("#try-view .input", has=page.locator(f"bdi[title={quoted(name)}]"))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_controls_of_the_what_if_panel_move_the_probability(browser, nb_page):
    model, path = nb_page
    row = X.iloc[[0]].copy()
    with opened(browser, path) as page:

        def check(**values):
            for name, value in values.items():
                row[HOSTILE[int(name[1:])]] = value
            np.testing.assert_allclose(shown(page), model.predict_proba(row)[0], atol=1e-9)

        check()
        slider = input_of(page, HOSTILE[0]).locator("input[type=range]")
        slider.evaluate("(e) => { e.value = 1.5; e.dispatchEvent(new Event('input')); }")
        check(c0=float(slider.input_value()))
        input_of(page, HOSTILE[0]).locator("input[type=number]").fill("-0.25")
        check(c0=-0.25)
        menu = input_of(page, HOSTILE[1]).locator("select")
        assert menu.locator("option").all_inner_texts()[0] == "missing"
        menu.select_option(label="<i>x</i>")
        check(c1="<i>x</i>")
        menu.select_option(label="a value never seen")
        check(c1="something else")
        input_of(page, HOSTILE[0]).get_by_role("button").click()  # missing
        check(c0=np.nan)


def test_levels_of_ordered_categories_are_chosen_by_name(browser, tmp_path):
    sizes = ["</script> s", "__proto__", "big", "never"]
    place = np.arange(200) % 3
    table = pd.DataFrame({"size": pd.Categorical.from_codes(place, sizes, ordered=True)})
    y = np.where((place > 1) ^ (np.arange(200) % 9 == 0), "a", "b")
    model = NaiveBayesClassifier(missing="value").fit(table, y)
    report(model, table, y, path=tmp_path / "levels.html")
    with opened(browser, tmp_path / "levels.html") as page:
        menu = input_of(page, "size").locator("select")
        assert menu.locator("option").all_inner_texts() == ["missing", *sizes]
        for value in (*sizes, None):
            menu.select_option(label="missing" if value is None else value)
            row = pd.DataFrame({"size": [value]}, dtype=object)
            np.testing.assert_allclose(shown(page), model.predict_proba(row)[0], atol=1e-9)


def test_the_what_if_panel_starts_from_any_row_and_works_by_keyboard(browser, nb_page):
    model, path = nb_page
    with opened(browser, path) as page:
        kept = page.evaluate("U.data.rows.at")
        page.get_by_role("button", name="next row").click()
        np.testing.assert_allclose(
            shown(page), model.predict_proba(X.iloc[[kept[1]]])[0], atol=1e-9
        )
        page.locator("#try-row").select_option(label="all values missing")
        nothing = pd.DataFrame({name: [None] for name in HOSTILE})
        np.testing.assert_allclose(
            page.evaluate("Array.from(U.tryView.proba())"),
            model.predict_proba(nothing)[0],
            atol=1e-9,
        )
        slider = input_of(page, HOSTILE[3]).locator("input[type=range]")
        slider.focus()
        before = page.evaluate("U.tryView.row()[3]")
        page.keyboard.press("ArrowRight")
        after = page.evaluate("U.tryView.row()[3]")
        assert before is None or before != before or after == before + 1
        assert after == float(slider.input_value())


@pytest.mark.parametrize(
    "model",
    [NaiveBayesClassifier(), BoostedNaiveBayesClassifier(), NBTreeClassifier(random_state=0),
     FlexibleNBTreeClassifier(random_state=0)],
    ids=str,
)  # fmt: skip
def test_bars_of_the_what_if_panel_are_those_of_the_facts(browser, tmp_path, model):
    model.fit(X, Y)
    report(model, X, Y, path=tmp_path / "page.html")
    rows = new_rows(5)
    with opened(browser, tmp_path / "page.html") as page:
        for given, why in zip(as_page_rows(model, rows), explain_rows(model, rows), strict=True):
            found = page.evaluate(
                """(row) => {
                    row = row.map((v) => (v === null ? NaN : v));
                    const parts = U.model.parts(row);
                    return [parts.base[0] - parts.base[1],
                            row.map((v, j) => parts.term(j, v)[0] - parts.term(j, v)[1])];
                }""",
                given,
            )
            fall = waterfall_of(why, why.classes[0], why.classes[1])
            bars = dict(zip(fall.names, fall.bars, strict=True))
            np.testing.assert_allclose(found[0], fall.start, atol=1e-9)
            np.testing.assert_allclose(found[1], [bars[name] for name in HOSTILE], atol=1e-9)


def test_the_tree_opens_closes_and_leads_to_the_evidence_of_a_leaf(browser, tree_page):
    model, path = tree_page
    tree = model.tree_
    with opened(browser, path) as page:
        node = page.locator("#tree .tree-node")
        page.get_by_role("button", name="Open all").click()
        assert node.count() == tree.n_nodes
        page.get_by_role("button", name="Close all").click()
        assert node.count() == 1
        page.locator("#tree .tree-node[data-node='0']").click()
        assert node.count() == 1 + len(tree.children(0))
        page.get_by_role("button", name="Open all").click()
        leaf = int(np.flatnonzero(tree.attribute < 0)[-1])
        page.locator(f"#tree .tree-node[data-node='{leaf}']").click()
        assert page.evaluate("U.treeView.chosen()") == leaf
        said = page.locator("#tree .side").inner_text()
        assert f"{tree.weight[leaf]:g} rows of training" in said
        page.get_by_role("button", name="Its evidence").click()
        assert page.evaluate("U.data.parts[U.evidenceView.state.part].node") == leaf
        # By keyboard: up to the parent, close it, open it again.
        page.locator(f"#tree .tree-node[data-node='{leaf}']").focus()
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("U.treeView.chosen()") == tree.parent[leaf]
        before = node.count()
        page.keyboard.press("ArrowLeft")
        assert node.count() < before
        page.keyboard.press("Enter")
        assert node.count() == before
        assert page.evaluate("document.activeElement.dataset.node") == str(tree.parent[leaf])
        for button in ("zoom in", "zoom out", "Fit"):
            page.get_by_role("button", name=button).click()


def test_the_tree_marks_the_way_of_the_row_that_is_tried(browser, tree_page):
    model, path = tree_page
    with opened(browser, path) as page:
        page.get_by_role("button", name="Open all").click()
        for i in range(3):
            page.evaluate("(i) => U.tryView.start(i)", i)
            at = page.evaluate("U.data.rows.at")[i]
            way = model.decision_path(X.iloc[[at]]).indices.tolist()
            marked = page.eval_on_selector_all(
                "#tree .tree-node.passed", "(all) => all.map((e) => Number(e.dataset.node))"
            )
            assert sorted(marked) == sorted(way)


def test_the_evidence_viewer_shows_the_facts(browser, nb_page):
    model, path = nb_page
    facts = evidence_of(model)
    with opened(browser, path) as page:
        for j, own in enumerate(facts.attributes):
            found = page.evaluate(
                "(j) => { const facts = U.data.parts[0].attributes[j]; return ["
                "Array.from(facts.weights()), Array.from(facts.counts()), facts.values]; }",
                j,
            )
            np.testing.assert_allclose(found[0], 1000 * own.weights.ravel(), atol=0.51)
            np.testing.assert_array_equal(found[1], own.counts.ravel())
            assert found[2] == list(own.values)
        cards = page.locator("#evidence .attribute h3 bdi")
        first = max(facts.attributes, key=lambda own: own.importance).name
        assert cards.first.inner_text() == first
        page.locator("#evidence-order").select_option(label="as in the table")
        informative = [each.name for each in facts.attributes if each.form != "nothing"]
        assert cards.all_inner_texts() == informative
        rest = "".join(page.locator("#evidence p", has_text="No evidence").all_inner_texts())
        assert all(name in rest for name in set(HOSTILE[:4]) - set(informative))
        page.locator("#evidence-search").fill("constructor")  # a value
        assert cards.all_inner_texts() == [HOSTILE[1]]
        lanes = page.locator("#evidence .attribute").first.locator(".lane")
        before = lanes.count()
        page.locator("#evidence .chip").nth(0).click()
        assert lanes.count() < before
        page.locator("#evidence .attribute .count").first.wait_for()
        page.get_by_label("counts").uncheck()
        assert page.locator("#evidence .attribute .count").count() == 0
        page.get_by_label("missing and unseen").uncheck()
        assert "missing" not in page.locator("#evidence .attribute").first.inner_text()


def test_every_pair_has_a_heat_map_of_its_evidence_that_fits_a_phone(browser, pair_page):
    model, path = pair_page
    width, block = 390, open_table(model, X, fitted=model.schema_).block
    facts = sorted(evidence_of(model).pairs, key=lambda pair: -pair.importance)
    assert len(facts) == 8
    with opened(browser, path, width=width) as page:
        page.locator("#pairs-view").get_by_role("button", name="Show all 8 pairs").click()
        cards = page.locator("#pairs-view .pair")
        assert cards.count() == 8
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for k, pair in enumerate(facts):
            assert cards.nth(k).locator("h3 bdi").all_inner_texts() == list(pair.columns)
        for label in (0, 2):
            page.locator("#pairs-label").select_option(label=CLASSES[label])
            weights = page.evaluate(
                "(c) => U.data.parts[0].pairs.map("
                "(pair) => Array.from(U.pairWeights(pair, c, U.data.parts[0].prior)))",
                label,
            )
            for pair, own in zip(facts, weights, strict=True):
                kept = np.ix_(*pair.shown_slots(pair.count(block)))
                np.testing.assert_allclose(own, pair.weights[kept][..., label].ravel(), atol=1e-5)
        card, pair = cards.nth(0), facts[0]
        counts = pair.count(block)
        first, second = pair.shown_slots(counts)
        at = int(counts[np.ix_(first, second)].argmax())
        card.locator(f"i[data-cell='{at}']").click()
        values = pair.values[0][first[at // len(second)]], pair.values[1][second[at % len(second)]]
        said = card.locator(".said").inner_text()
        assert all(value in said for value in values)
        assert f"({int(counts.max())} rows)" in said


@pytest.mark.parametrize("kind", ["nb_page", "pair_page"])
def test_two_classes_are_compared_as_the_facts_compare_them(browser, request, kind):
    model, path = request.getfixturevalue(kind)
    with opened(browser, path) as page:
        page.locator("#versus-a").select_option(label=CLASSES[2])
        page.locator("#versus-b").select_option(label=CLASSES[0])
        facts = discriminate(model, CLASSES[2], CLASSES[0])
        told = np.flatnonzero(facts.weights)
        texts = {f"{facts.attributes[k]}: {facts.values[k]}": facts.weights[k] for k in told}
        assert any(" x " in text for text in texts) == (kind == "pair_page")
        found = page.evaluate("U.compareView.strongest()")
        assert {each["text"] for each in found} == set(texts)
        np.testing.assert_allclose(
            [(each["weight"], each["order"]) for each in found],
            [
                (texts[each["text"]], facts.importance[k])
                for each, k in zip(found, told, strict=True)
            ],
            atol=1e-5,
        )
        assert page.locator("#compare .versus .name").first.inner_text() == found[0]["text"]
        page.locator("#profile-attribute").select_option(label=HOSTILE[2])
        assert page.locator("#compare .profile .name").count() == 3


def test_hostile_names_are_shown_and_not_run(browser, tree_page):
    _, path = tree_page
    with opened(browser, path) as page:
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("({}).polluted") is None
        text = page.locator("body").inner_text()
        for name in (*HOSTILE[:4], *CLASSES):
            assert name in text
        assert "{{ 7 * 7 }}" in text  # no template inside the template
        assert page.locator("main img, main b > b, main i > i").count() == 0
        assert page.evaluate("document.scripts.length") == 2


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_follows_the_colour_scheme(browser, tree_page, width, scheme):
    _, path = tree_page
    with opened(browser, path, width=width, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
        assert (page.evaluate(paper) < 128) == (scheme == "dark")
        page.locator("#theme").click()
        assert (page.evaluate(paper) < 128) != (scheme == "dark")
        view = "document.querySelector('.tree-view')"
        assert page.evaluate(f"{view}.scrollWidth <= {view}.clientWidth + 1")
        page.get_by_role("button", name="Open all").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_that_differ_at_their_ends_are_told_apart(browser, tmp_path):
    names = [f"a class with quite a long name, number {k:02}" for k in range(12)]
    y = np.array(names)[np.arange(120) % 12]
    table = pd.DataFrame({"x": np.arange(120) % 12})
    report(NaiveBayesClassifier().fit(table, y), table, y, path=tmp_path / "long.html")
    ends = """(cells) => cells.map((cell) => {
        const end = document.createRange(), last = cell.querySelector("bdi").lastChild;
        end.selectNodeContents(last);
        const [own, room] = [end.getBoundingClientRect(), cell.getBoundingClientRect()];
        return own.left >= room.left && own.right <= room.right + 1 ? last.textContent : "";
    })"""
    cells = ".matrix:not(#decide-confusion)"
    where = f"{cells} thead th:has(bdi)", f"{cells} tbody th", "#evidence .chip", ".chances .name"
    with opened(browser, tmp_path / "long.html", width=400) as page:
        for each in where:
            found = page.locator(each).evaluate_all(ends)
            assert len(set(found) - {""}) == len(found) >= 8


def test_the_page_prints_without_its_controls(browser, nb_page):
    _, path = nb_page
    with opened(browser, path) as page:
        page.emulate_media(media="print")
        assert not page.locator("nav.contents").is_visible()
        assert not page.locator("#evidence .bar").is_visible()
        assert page.locator("#evidence .attribute").first.is_visible()
        assert len(page.pdf()) > 10_000


def test_every_control_has_a_name_and_can_be_reached(browser, tree_page):
    _, path = tree_page
    with opened(browser, path) as page:
        unnamed = page.evaluate(
            """() => Array.from(document.querySelectorAll("button, select, input"))
                .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute("aria-label")
                    && !e.textContent.trim()).map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        assert page.evaluate("document.querySelectorAll('[tabindex]').length") >= 1


@pytest.mark.parametrize(
    "model",
    [HierarchicalMixtureClassifier(random_state=0), C45Classifier(),
     BoostedNaiveBayesClassifier(algorithm="m1", random_state=0)],
    ids=str,
)  # fmt: skip
def test_models_that_vote_show_their_votes_and_what_a_value_changes(browser, tmp_path, model):
    model.fit(X, Y)
    report(model, X, Y, path=tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator("#try-of").select_option(label=CLASSES[0])
        page.locator("#try-against").select_option(label=CLASSES[1])
        row = X.iloc[[page.evaluate("U.data.rows.at")[0]]].copy()
        a, b = (model.classes_.tolist().index(c) for c in CLASSES[:2])

        def odds(table):
            p = np.maximum(model.predict_proba(table)[0], 1e-12)
            return np.log(p[a]) - np.log(p[b])

        without = row.copy()
        without[HOSTILE[2]] = None
        moved = odds(row) - odds(without)
        said = input_of(page, HOSTILE[2]).locator(".effect").inner_text().replace("\u2212", "-")
        assert float(said) == pytest.approx(moved, abs=0.006)
        if not isinstance(model, C45Classifier):
            assert page.locator("#try .members .name").count() > 1


def test_a_model_of_another_library_inside_is_said_and_left_alone(browser, tmp_path):
    number = X[[HOSTILE[0], HOSTILE[3]]].fillna(0.0)
    model = ClassDecompositionClassifier(LogisticRegression(), random_state=0).fit(number, Y)
    report(model, number, Y, path=tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        text = page.locator("#try").inner_text()
        assert "LogisticRegression" in text
        assert page.locator("#try-view, #evidence, #tree").count() == 0
        # The confusion matrix, and that of a threshold.
        assert page.locator("#quality .matrix").count() == 2


@pytest.mark.parametrize("width", [390, 1280])
def test_the_threshold_slider_shows_what_the_model_with_that_decision_does(
    browser, tmp_path, width
):
    y = np.where(CLASSES[0] == Y, CLASSES[0], CLASSES[1])
    costs = {(CLASSES[0], CLASSES[1]): 5, (CLASSES[1], CLASSES[0]): 1}
    model = NaiveBayesClassifier().fit(X, y).with_decision(costs, positive=CLASSES[0])
    report(model, X, y, path=tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        slider, start = page.locator("#threshold"), model.decision.threshold
        assert page.evaluate("U.decideView.figures().threshold") == start
        for threshold in (start, 0.0, 0.25, 0.9, 1.0):
            if threshold != start:
                step = page.evaluate(
                    "(t) => U.data.decision.sides[U.data.decision.positive].thresholds.indexOf(t)",
                    threshold,
                )
                slider.evaluate(
                    "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", step
                )
            decided = model.with_decision(threshold, positive=CLASSES[0])
            facts = quality_of(decided, X, y)
            own = facts.classes.tolist().index(CLASSES[0])
            order = [own, 1 - own]
            cells = page.locator("#decide-confusion td").all_inner_texts()
            assert [int(cell) for cell in cells] == facts.confusion[
                np.ix_(order, order)
            ].ravel().tolist()
            figures = page.evaluate("U.decideView.figures()")
            assert figures["recall"] == pytest.approx(facts.recall[own])
            if facts.confusion[:, own].any():
                assert figures["precision"] == pytest.approx(facts.precision[own])
                share = facts.confusion[:, own].sum() / len(y)
                assert figures["selected"] == pytest.approx(share)
                assert facts.curves[own].gain(share) == pytest.approx(figures["recall"])
            whole = model.decision.mean_cost(facts.confusion) * len(y)
            assert figures["cost"] == pytest.approx(whole)
        first = X.iloc[[page.evaluate("U.data.rows.at")[0]]]
        words = page.locator("#try-view .decided").inner_text()
        assert words == f"Decision: {model.predict(first)[0]}"
        page.locator("#cheapest").click()
        least = page.evaluate("U.decideView.figures().cost")
        steps = page.evaluate("U.data.decision.sides[U.data.decision.positive].thresholds")
        every = [model.with_decision(t, positive=CLASSES[0]) for t in steps[::20]]
        costs = [model.decision.mean_cost(quality_of(m, X, y).confusion) * len(y) for m in every]
        assert least <= min(costs) + 1e-9
        page.locator("#cost-missed").fill("7")
        assert page.evaluate("U.decideView.figures()")["cost"] >= least
        page.locator("#decide-class").select_option(label=CLASSES[1])
        assert page.locator("#cost-wrong").input_value() == "7"
        assert CLASSES[1] in page.locator("#decide-rule").inner_text()


def test_ranking_curves_are_drawn_for_every_class(browser, nb_page):
    model, path = nb_page
    facts = quality_of(model, X, Y)
    with opened(browser, path) as page:
        for c, name in enumerate(facts.classes):
            page.locator("#curve-class").select_option(label=name)
            page.locator("#curve-kind").select_option(label="ROC")
            words = page.locator("#curves p").inner_text()
            assert words == f"{name} against the rest: ROC AUC {facts.curves[c].roc_auc:.3f}"
            page.locator("#curve-kind").select_option(label="precision-recall")
            assert (
                f"{facts.curves[c].average_precision:.3f}" in page.locator("#curves").inner_text()
            )
        assert page.locator("#curves polyline").count() == 1
        decision = model.with_decision([[0, 2, 1], [5, 0, 3], [4, 8, 0]]).decision
        p = model.predict_proba(X)
        choose = "([rule, p]) => p.map((row) => U.decided(rule, row))"
        chosen = page.evaluate(choose, [rule_data(decision), p.tolist()])
        assert chosen == decision.choose(p).tolist()


def test_of_several_classes_the_slider_sets_one_against_all_others(browser, nb_page):
    model, path = nb_page
    probabilities = model.predict_proba(X)
    with opened(browser, path) as page:
        for k, label in enumerate(model.classes_.tolist()):
            page.locator("#decide-class").select_option(index=k)
            for threshold in (0.25, 0.5):
                page.evaluate("(t) => U.decideView.set(t)", threshold)
                chosen, own = probabilities[:, k] >= threshold, label == Y
                cells = page.locator("#decide-confusion td").all_inner_texts()
                expected = [chosen & own, ~chosen & own, chosen & ~own, ~chosen & ~own]
                assert [int(cell) for cell in cells] == [int(each.sum()) for each in expected]
                figures = page.evaluate("U.decideView.figures()")
                assert figures["cost"] == (chosen != own).sum()
        assert "all others" in page.locator("#decide-confusion").inner_text()
