"""Every command does what it says, and what Python would do; errors are one line."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unnaive
from helpers import assert_same_model
from unnaive import NaiveBayesClassifier, explain_rows, load
from unnaive.cli.app import COMMANDS, app, run
from unnaive.cli.train import read_setting
from unnaive.common.registry import family
from unnaive.datasets import make_loans
from unnaive.store.sql.builder import DIALECTS

LOANS, TARGET = "loans.csv", "outcome"


def table():
    X, y = make_loans(300, random_state=0)
    return X, y.to_numpy()


@pytest.mark.parametrize("command", [c.__name__ for c in COMMANDS])
def test_help_has_an_example_of_the_command(command):
    found = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert re.search(rf"Examples?:.*unnaive {command} ", found.output)


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_help_lists_the_models_of_the_registry(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    for own in family().values():
        assert re.search(rf"{own.name} +{re.escape(own.summary)}", shown)


@pytest.mark.parametrize("command", [[], *([c.__name__] for c in COMMANDS)], ids=str)
def test_help_names_no_python_types(command):
    shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
    assert not re.search(r"list\[|<bool>|<str>|Path", shown)


def test_help_of_sql_names_every_dialect():
    shown = CliRunner().invoke(app, ["sql", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in shown for name in DIALECTS)


def test_the_runner_of_typer_gives_the_same_answers(work):
    found = CliRunner().invoke(app, ["show", "tree.unv"])
    assert found.exit_code == 0
    assert "C45Classifier" in found.output
    assert CliRunner().invoke(app, ["show"]).exit_code == 2


# fit -----------------------------------------------------------------------------------------


def test_fit_learns_what_python_learns_and_reports_columns_and_quality(ask):
    code, out, err = ask("fit", "-m", "nb", LOANS, "-t", TARGET, "-o", "new.unv", "--cv", 3)
    assert (code, err) == (0, "")
    X, y = table()
    model = load("new.unv")
    expected = NaiveBayesClassifier().fit(X, y)
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert re.search(r"income +numeric \(number\) +\d+(\.\d+)? %", out)
    assert re.search(r"opened +numeric \(time\) +0 %", out)
    assert "300 rows; classes of outcome: repaid" in out
    quality = unnaive.compare(X, y, models=["nb"], cv=3, random_state=0).results[0].quality
    assert f"accuracy {quality.accuracy:.4f}, log loss {quality.log_loss:.4f}" in out
    assert re.search(r"written to new.unv: NaiveBayesClassifier, [\d.]+ kB", out)


def test_csv_parquet_folders_globs_and_standard_input_give_one_model(ask, work, monkeypatch):
    (work / "parts").mkdir()
    whole = pd.read_csv(LOANS)
    whole[:100].to_csv("parts/a.csv", index=False)
    whole[100:].to_csv("parts/b.csv", index=False)
    places = [["loans.parquet"], ["parts"], ["parts/*.csv"], ["parts/a.csv", "parts/b.csv"], ["-"]]
    for place in places:
        with open(LOANS) as file:
            monkeypatch.setattr("sys.stdin", file)
            code, out, err = ask("fit", "-m", "nb", *place, "-t", TARGET, "-o", "x.unv", "--cv", 0)
        assert (code, err) == (0, "")
        assert "not cross-validated" in out
        assert_same_model(load("x.unv"), load("nb.unv"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n_estimators=20", 20),
        ("learning_rate=0.25", 0.25),
        ("early_stopping=yes", True),
        ("early_stopping=0", False),
        ("max_categories=None", None),
        ("numeric=frequency", "frequency"),
        ("numeric={'age': 'width'}", {"age": "width"}),
        ("class_weight={'a': 2}", {"a": 2}),
        ("numeric=a=b", "a=b"),
        ("numeric=" + "(" * 1000, "(" * 1000),
    ],
)
def test_values_of_settings(text, value):
    found = read_setting(text, unnaive.BoostedNaiveBayesClassifier())[1]
    assert found == value
    assert type(found) is type(value)


def test_auto_and_compare_choose_and_write_the_best(ask):
    code, out, _ = ask(
        "compare", LOANS, "-t", TARGET, "-m", "nb,gaussian,c45", "--cv", 3, "-o", "best.unv",
        "--results", "figures.csv",
    )  # fmt: skip
    assert code == 0
    X, y = table()
    expected = unnaive.compare(X, y, models=["nb", "gaussian", "c45"], cv=3, random_state=0)
    figures = pd.read_csv("figures.csv")
    assert list(figures["model"]) == [r.name for r in expected.results]
    np.testing.assert_allclose(figures["log_loss"], [r.quality.log_loss for r in expected.results])
    assert (load("best.unv").predict(X) == expected.best_.predict(X)).all()
    assert f"{expected.best_name_} written to best.unv" in out
    code, out, _ = ask(
        "fit", LOANS, "-t", TARGET, "-m", "auto", "--set", "models=['nb', 'c45']", "--cv", 2,
        "-o", "auto.unv",
    )  # fmt: skip
    assert code == 0
    assert "sorted by log loss" in out
    model = load("auto.unv")
    assert type(model).__name__ == "AutoClassifier"
    assert model.time_budget == 120
    assert model.best_name_ in {"nb", "c45", "pool"}
    assert f"chosen: {model.best_name_} has the best log loss" in ask("show", "auto.unv")[1]


def test_a_time_budget_is_passed_on(ask):
    code, out, _ = ask("compare", LOANS, "-t", TARGET, "-m", "nb,nbtree", "--time", 1e-6)
    assert code == 0
    assert "left out: the time budget of 1e-06 s is too small for it" in out


def test_weights_dropped_columns_and_categories(ask):
    whole = pd.read_csv(LOANS).assign(w=lambda t: t["months"] / 12, id=range(300))
    whole.to_csv("more.csv", index=False)
    code, out, err = ask(
        "fit", "more.csv", "-m", "nb", "-t", TARGET, "--weight", "w", "--drop", "id",
        "--categorical", "months", "-o", "m.unv", "--cv", 2,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert re.search(r"months +categorical \(number\)", out)
    X, y = table()
    expected = NaiveBayesClassifier(categorical_features=["months"])
    expected.fit(X, y, whole["w"].to_numpy())
    model = load("m.unv")
    assert list(model.feature_names_in_) == list(X)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-12)


def test_rows_that_memory_has_no_room_for_are_read_block_by_block(ask, monkeypatch):
    monkeypatch.setattr(sys.modules["unnaive.table.scan"], "machine_memory", lambda: 40_000)
    monkeypatch.setattr("unnaive.encode.sampling.LEAST_OF_CLASS", 20)
    code, out, err = ask("fit", "-m", "nb", LOANS, "-t", TARGET, "-o", "x.unv", "--cv", 2)
    assert (code, err) == (0, "")
    n = int(re.search(r"evaluated on a random sample of (\d+) rows", out).group(1))
    assert 20 < n < 250
    assert_same_model(load("x.unv"), load("nb.unv"))
    _, out, _ = ask("compare", LOANS, "-t", TARGET, "-m", "nb", "--cv", 2)
    assert f"compared on a random sample of {n} of 300 rows" in out


def test_a_compact_model_is_smaller_and_cannot_be_updated(ask, work):
    assert (
        ask("fit", "-m", "nb", LOANS, "-t", TARGET, "-o", "c.unv", "--cv", 0, "--compact")[0] == 0
    )
    assert (work / "c.unv").stat().st_size < (work / "nb.unv").stat().st_size
    code, _, err = ask("update", "c.unv", LOANS)
    assert code == 1
    assert "made compact" in err


# evaluate, predict ---------------------------------------------------------------------------


def test_evaluate_gives_scikit_learns_figures(ask):
    from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss

    code, out, err = ask("evaluate", "nb.unv", LOANS)
    assert (code, err) == (0, "")
    X, y = table()
    model = load("nb.unv")
    p = model.predict_proba(X)
    for name, value in (
        ("accuracy", model.score(X, y)),
        ("log loss", log_loss(y, p)),
        ("Brier", brier_score_loss(y, p, labels=model.classes_)),
    ):
        assert re.search(rf"^{name} +{value:.4f}$", out, re.MULTILINE)
    for label, row in zip(model.classes_, confusion_matrix(y, model.predict(X)), strict=True):
        assert re.search(rf"^{label} +{row[0]} +{row[1]}$", out, re.MULTILINE)


def test_decisions_by_threshold_and_costs_are_followed_and_kept(ask):
    X, y = table()
    model = load("nb.unv")
    costs = ["--cost", "defaulted:repaid=5", "--cost", "repaid:defaulted=1"]
    decided = model.with_decision({("defaulted", "repaid"): 5, ("repaid", "defaulted"): 1})
    code, _, err = ask("fit", "-m", "nb", LOANS, "-t", TARGET, "--cv", 0, *costs, "-o", "kept.unv")
    assert (code, err) == (0, "")
    assert (load("kept.unv").predict(X) == decided.predict(X)).all()
    for given in (["kept.unv", LOANS], ["nb.unv", LOANS, *costs]):
        assert ask("predict", *given, "-o", "p.csv")[0] == 0
        answers = pd.read_csv("p.csv")
        assert list(answers) == ["prediction", "decision"]
        assert (answers["decision"] == decided.predict(X)).all()
        assert (answers["prediction"] == model.predict(X)).all()
        code, out, _ = ask("evaluate", *given)
        quality = unnaive.quality_of(decided, X, y)
        assert code == 0
        for name, value in (
            ("accuracy", quality.accuracy),
            ("ROC AUC", quality.roc_auc),
            ("Kolmogorov-Smirnov", quality.kolmogorov_smirnov),
            ("macro F1", quality.macro_f1),
            ("cost of a row", quality.mean_cost),
        ):
            line = re.search(rf"^{name} +([\d.]+)$", out, re.MULTILINE)
            assert line is not None, name
            assert float(line[1]) == pytest.approx(value, abs=1e-4)
        assert "repaid where its probability is at least 0.8333" in out
    assert "decision: repaid" in ask("show", "kept.unv")[1]
    assert '"decision"' in ask("sql", "kept.unv")[1]
    assert '"decision"' not in ask("sql", "nb.unv")[1]
    assert ask("update", "kept.unv", LOANS, "-q")[0] == 0
    assert load("kept.unv").decision.threshold == decided.decision.threshold
    code, _, _ = ask(
        "predict", "nb.unv", LOANS, "--threshold", 0.2, "--positive", "defaulted", "-o", "t.csv"
    )
    assert code == 0
    expected = model.with_decision(0.2, positive="defaulted").predict(X)
    assert (pd.read_csv("t.csv")["decision"] == expected).all()
    assert ask("explain", "kept.unv", LOANS, "-o", "page.html")[0] == 0
    for given, words in (
        (["--cost", "good:bad=1"], "'good:bad' is not two classes; they are defaulted, repaid"),
        (["--cost", "repaid=1"], "write it as true:decided=cost"),
        (["--cost", "repaid:defaulted=much"], "write it as true:decided=cost"),
        (["--positive", "repaid"], "--positive names the class of a --threshold"),
        (["--threshold", "0.1", *costs], "two ways to decide; give one of them"),
        (["--positive", "repaid", *costs], "--positive is for --threshold"),
    ):
        code, _, err = ask("predict", "nb.unv", LOANS, *given)
        assert code == 1
        assert words in err


def test_evaluate_with_classes_that_the_model_does_not_know_and_rows_without(ask):
    whole = pd.read_csv(LOANS)
    whole.loc[:9, TARGET] = "stolen"
    whole.loc[10:14, TARGET] = None
    whole.to_csv("odd.csv", index=False)
    code, out, _ = ask("evaluate", "nb.unv", "odd.csv", "--target", TARGET)
    assert code == 0
    assert "295 rows" in out
    assert "skipped: 5 rows without a label" in out
    assert re.search(r"\(unknown class\) +\d+ +\d+ +0", out)


def test_the_target_may_be_left_out_only_where_it_is_clear(ask):
    pd.read_csv(LOANS).assign(other=1).to_csv("two.csv", index=False)
    code, _, err = ask("evaluate", "nb.unv", "two.csv")
    assert code == 1
    assert "name the column with the classes by --target; new to the model: 'outcome'" in err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predict_writes_classes_and_probabilities(ask, ending):
    code, out, err = ask(
        "predict", "nb.unv", "loans.parquet", "--proba", "--keep", "age", "-o", f"p.{ending}"
    )
    assert (code, out, err) == (0, f"300 rows written to p.{ending}\n", "")
    if ending == "parquet":
        found = pd.read_parquet("p.parquet")
    else:
        found = pd.read_csv(
            f"p.{ending}", sep="\t" if ending == "tsv" else ",", float_precision="round_trip"
        )
    X, _ = table()
    model = load("nb.unv")
    assert list(found) == ["age", "prediction", "probability_defaulted", "probability_repaid"]
    assert (found["prediction"] == model.predict(X)).all()
    assert (
        (found[["probability_defaulted", "probability_repaid"]] == model.predict_proba(X))
        .all()
        .all()
    )
    assert (found["age"] == X["age"]).all()


def test_predict_writes_reasons_in_words(ask):
    code, _, err = ask("predict", "nb.unv", "loans.csv", "--reasons", 2, "-o", "why.parquet")
    assert (code, err) == (0, "")
    found = pd.read_parquet("why.parquet")
    assert list(found) == ["prediction", "reason_1", "reason_2"]
    X, _ = table()
    known = explain_rows(load("nb.unv"), X, top=2).words
    assert found[["reason_1", "reason_2"]].to_numpy().tolist() == known.tolist()
    assert found.reason_1[0].endswith(f": for {found.prediction[0]}")


def test_numbers_stored_as_text_are_named_and_read_on_request(ask):
    rows = [(f"{i % 40},5", "unknown" if i % 9 == 0 else i % 50, i % 2) for i in range(200)]
    text = "".join(f'"{a}",{b},{"ny"[c]}\n' for a, b, c in rows)
    Path("text.csv").write_text("pay,age,y\n" + text)
    code, _, err = ask("fit", "-m", "nb", "text.csv", "-t", "y", "-o", "x.unv", "--cv", 2)
    assert code == 0
    said = err.splitlines()
    assert len(said) == 2
    assert "column 'pay' holds numbers stored as text, with commas" in said[0]
    assert "column 'age' holds numbers stored as text, among them 'unknown'" in said[1]
    options = ["--decimal", ",", "--na-values", "unknown"]
    code, out, err = ask(
        "fit", "-m", "nb", "text.csv", "-t", "y", "-o", "x.unv", "--cv", 0, *options
    )
    assert (code, err) == (0, "")
    assert out.count("numeric (number)") == 2
    for command in (["predict"], ["evaluate"], ["explain", "-o", "x.html"], ["update"]):
        assert ask(command[0], "x.unv", "text.csv", *command[1:], *options)[0] == 0
    assert ask("fit", "text.csv", "-t", "y", "-o", "x.unv", "--decimal", ";")[0] == 1


def test_predict_needs_no_target_and_takes_columns_in_any_order(ask):
    whole = pd.read_csv(LOANS).drop(columns=TARGET)
    whole[whole.columns[::-1]].to_csv("x.csv", index=False)
    code, out, err = ask("predict", "tree.unv", "x.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == '"prediction"'
    X, _ = table()
    expected = load("tree.unv").predict(X)
    assert [line.strip('"') for line in out.splitlines()[1:]] == list(expected)


def test_categories_that_look_like_numbers_stay_categories(ask):
    rows = [(f"0{i % 7}", ["a", "b"][i % 7 > 3]) for i in range(70)]
    text = "zip,y\n" + "".join(f"{z},{y}\n" for z, y in rows)
    Path("zip.csv").write_text(text + "x1,a\n")
    assert ask("fit", "-m", "nb", "zip.csv", "-t", "y", "-o", "z.unv", "--cv", 0)[0] == 0
    Path("only.csv").write_text("zip\n01\n06\n")
    code, out, err = ask("predict", "z.unv", "only.csv")
    assert (code, err) == (0, "")
    assert out.split() == ['"prediction"', '"a"', '"b"']


# show, merge, update, sql, data ----------------------------------------------------------------


def test_show_says_what_was_learned_and_when(ask, work, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one", "two"):
        args = ("-t", "outcome", "-m", "nb", "-o", f"{name}.unv", "--cv", 0, "-q")
        assert ask("fit", "loans.csv", *args)[0] == 0
    assert (work / "one.unv").read_bytes() == (work / "two.unv").read_bytes()
    out = ask("show", "one.unv")[1]
    assert ", trained on 2023-11-14 22:13 UTC\n" in out
    assert "classes of outcome: " in out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert ask("merge", "one.unv", "two.unv", "-o", "both.unv", "-q")[0] == 0
    out = ask("show", "both.unv")[1]
    assert ", trained on 2027-01-15 08:00 UTC\n" in out
    assert "classes of outcome: " in out


def test_show_has_the_tree_and_the_evidence(ask):
    code, out, _ = ask("show", "tree.unv")
    assert code == 0
    assert unnaive.export_text(load("tree.unv")) in out
    code, out, _ = ask("show", "nb.unv", "--columns", 2)
    assert code == 0
    found = unnaive.evidence_of(load("nb.unv")).ranked()
    # After them, columns without evidence say why.
    rows = [line.split()[0] for line in out.splitlines() if line and "no evidence" not in line]
    assert rows[-2:] == [own.name for own in found[:2]]


def test_show_looks_into_models_that_hold_another(ask, work):
    X, y = table()
    chosen = unnaive.AutoClassifier(models=["c45"], cv=2, random_state=0).fit(X, y)
    unnaive.save(chosen, work / "auto.unv")
    code, out, err = ask("show", "auto.unv")
    assert (code, err) == (0, "")
    assert unnaive.export_text(chosen.best_estimator_) in out
    unnaive.save(unnaive.Discretizer().fit(X, y), work / "cuts.unv")
    assert ask("show", "cuts.unv")[1].splitlines()[0] == "Discretizer()"


def test_explain_writes_a_page_with_rows_or_without(ask, work):
    code, out, err = ask("explain", "nb.unv", LOANS, "-o", "r.html", "--title", "My <loans>")
    assert (code, out, err) == (0, "written to r.html; evaluated on 300 rows\n", "")
    page = (work / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "My &lt;loans&gt;" in page
    assert "purpose" in page
    assert ask("explain", "tree.unv", "-o", "r.html")[:2] == (
        0, "written to r.html; not evaluated\n"
    )  # fmt: skip
    pd.read_csv(LOANS).assign(id=1).to_csv("two.csv", index=False)
    assert "not evaluated" in ask("explain", "nb.unv", "two.csv", "-o", "r.html")[1]
    assert (
        "evaluated on 300" in ask("explain", "nb.unv", "two.csv", "-t", TARGET, "-o", "r.html")[1]
    )


def test_merged_parts_and_updates_equal_the_whole(ask):
    whole = pd.read_csv(LOANS)
    for name, rows in (("a", whole[:120]), ("b", whole[120:])):
        rows.to_csv(f"{name}.csv", index=False)
        fit = ask(
            "fit", "-m", "nb", f"{name}.csv", "-t", TARGET, "-o", f"{name}.unv", "--cv", 0, "-q"
        )
        assert fit == (0, "", "")
    assert ask("merge", "a.unv", "b.unv", "-o", "c.unv", "-q") == (0, "", "")
    assert_same_model(load("c.unv"), load("nb.unv"))
    assert ask("update", "a.unv", "b.csv", "-q") == (0, "", "")
    assert_same_model(load("a.unv"), load("nb.unv"))
    code, _, err = ask("update", "tree.unv", LOANS)
    assert code == 1
    assert "C45Classifier cannot be updated" in err
    code, _, err = ask("merge", "tree.unv", "tree.unv", "-o", "d.unv")
    assert code == 1
    assert "C45Classifier cannot be merged" in err


def test_forgotten_rows_leave_the_model_of_the_others(ask):
    whole = pd.read_csv(LOANS)
    for name, rows in (("kept", whole[:120]), ("gone", whole[120:])):
        rows.to_csv(f"{name}.csv", index=False)
    fit = ask("fit", "-m", "nb", "kept.csv", "-t", TARGET, "-o", "kept.unv", "--cv", 0, "-q")
    assert fit == (0, "", "")
    assert ask("forget", "nb.unv", "gone.csv", "-o", "rest.unv", "-q") == (0, "", "")
    assert_same_model(load("rest.unv"), load("kept.unv"))
    code, _, err = ask("forget", "rest.unv", "gone.csv", "-o", "none.unv")
    assert code == 1
    assert "the rows to forget cannot all be rows of the model" in err
    assert not Path("none.unv").exists()
    code, _, err = ask("forget", "tree.unv", LOANS)
    assert code == 1
    assert "C45Classifier cannot forget rows" in err


def test_corrections_are_made_shown_and_taken_back(ask):
    number = pd.read_csv(LOANS).select_dtypes("number").columns[0]
    who = ("--by", "Ann", "--reason", "the rule has changed", "-q")
    asked = ("edit", "nb.unv", number, "--value", "1", "--evidence", "-0.5", "-o", "e.unv")
    assert ask(*asked, *who) == (0, "", "")
    assert ask("edit", "e.unv", number, "--decreasing", *who) == (0, "", "")
    assert ask("edit", "e.unv", number, "--flat", *who) == (0, "", "")
    _, out, _ = ask("show", "e.unv", "-n", 0)
    assert out.count("corrected: evidence of") == 3
    assert "by Ann on 20" in out
    for k in range(3):
        assert len(load("e.unv").answer_.edits) == 3 - k
        assert ask("edit", "e.unv", "--undo", "-q") == (0, "", "")
    assert_same_model(load("e.unv"), load("nb.unv"))
    code, _, err = ask("edit", "nb.unv", number, "--flat", "--increasing", "--by", "Ann")
    assert (code, "one of --evidence, --flat, --increasing" in err) == (1, True)
    code, _, err = ask("edit", "nb.unv", number, "--flat")
    assert (code, "say who makes the correction" in err) == (1, True)


def test_drift_is_printed_written_and_an_exit_code(ask):
    whole = pd.read_csv(LOANS)
    assert ask("drift", "nb.unv", LOANS, "--fail-above", 0.2, "-q") == (0, "", "")
    number = whole.select_dtypes("number").columns[0]
    whole.assign(**{number: whole[number] * 3 + 1}).to_csv("moved.csv", index=False)
    code, out, err = ask(
        "drift", "nb.unv", "moved.csv", "-t", TARGET, "-o", "drift.json", "--fail-above", 0.2
    )
    assert (code, err) == (3, "")
    assert ask("drift", "nb.unv", "moved.csv", "-o", "same.json", "-q") == (0, "", "")
    assert Path("same.json").read_text() == Path("drift.json").read_text()  # the model's target
    whole.drop(columns=TARGET).to_csv("unlabelled.csv", index=False)
    assert ask("drift", "nb.unv", "unlabelled.csv", "-q") == (0, "", "")
    assert number in out
    assert json.loads(Path("drift.json").read_text())["drifted"] == [number]
    assert ask("drift", "nb.unv", "moved.csv", "-o", "drift.html", "-q") == (0, "", "")
    assert number in Path("drift.html").read_text()
    code, _, err = ask("drift", "nb.unv", "moved.csv", "-o", "drift.txt")
    assert code == 1
    assert "must end in .html or .json" in err
    code, _, err = ask("drift", "tree.unv", LOANS)
    assert code == 1
    assert "C45Classifier keeps none" in err


def test_sql_answers_in_a_database_as_the_model_does(ask):
    X, _ = table()
    X = X.drop(columns=["opened", "guarantor"])  # SQLite has neither dates nor booleans
    pd.read_csv(LOANS).drop(columns=["opened", "guarantor"]).to_csv("plain.csv", index=False)
    assert ask("fit", "-m", "nb", "plain.csv", "-t", TARGET, "-o", "p.unv", "--cv", 0)[0] == 0
    code, out, err = ask("sql", "p.unv", "--table", "loans", "-d", "sqlite", "--keep", "rownumber")
    assert (code, err) == (0, "")
    base = sqlite3.connect(":memory:")
    X.assign(rownumber=range(300)).to_sql("loans", base, index=False)
    found = pd.read_sql(out, base).sort_values("rownumber")
    p = load("p.unv").predict_proba(X)
    np.testing.assert_allclose(found["probability_repaid"], p[:, 1], atol=1e-9)
    base.close()
    assert ask("sql", "p.unv", "-o", "q.sql")[:2] == (0, "")
    assert "SELECT" in Path("q.sql").read_text()
    code, _, err = ask("sql", "p.unv", "-d", "oracle8")
    assert code == 1
    assert "oracle8" in err


@pytest.mark.parametrize(
    ("name", "rows", "target"),
    [
        ("loans", 1000, "outcome"),
        ("electricity", 10_000, "price_change"),
        ("flights", 10_000, "arrival"),
        ("credit", 1000, "risk"),
    ],
)
def test_data_writes_sample_tables(ask, name, rows, target):
    code, out, _ = ask("data", name, "-o", "x.parquet")
    assert code == 0
    assert out == f"{rows:,} rows written to x.parquet; the classes are in column {target!r}\n"
    found = pd.read_parquet("x.parquet")
    assert len(found) == rows
    assert found.columns[-1] == target


def test_data_lists_names_and_replaces_nothing_unasked(ask):
    code, out, _ = ask("data")
    assert code == 0
    assert "electricity" in out
    code, _, err = ask("data", "loans")
    assert code == 1
    assert "'loans.csv' exists already; replace it with -o loans.csv" in err
    assert ask("data", "flights", "--rows", 7, "--seed", 3)[0] == 0
    assert len(pd.read_csv("flights.csv")) == 7
    assert len(ask("data", "flights", "--rows", 7, "-o", "-")[1].splitlines()) == 8


# Errors --------------------------------------------------------------------------------------

FIT = ["fit", LOANS, "-m", "nb", "-t", TARGET, "-o", "x.unv"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["fit", LOANS, "-t", "nope", "-o", "x.unv"], 1, "column 'nope' is not in loans.csv"),
        (["fit", "no.csv", "-t", "y", "-o", "x.unv"], 1, "there is no file 'no.csv'"),
        (["fit", "-", LOANS, "-t", "y", "-o", "x.unv"], 1, "cannot be read together with files"),
        (["fit", LOANS, "-t", TARGET, "-o", "no/x.unv"], 1, "there is no folder 'no'"),
        (["fit", LOANS, "-t", TARGET, "-o", "."], 1, "is a folder"),
        ([*FIT, "-m", "nbtre"], 1, "there is no model 'nbtre'. Did you mean nbtree?"),
        ([*FIT, "--set", "alfa=1"], 1, "has no parameter 'alfa'. Did you mean alpha? It has alpha"),
        ([*FIT, "--set", "alpha=x"], 1, "alpha must be a number, 0 or more; got 'x'"),
        ([*FIT, "--set", "alpha"], 1, "write it as name=value"),
        ([*FIT, "-m", "boosted", "--set", "early_stopping=maybe"], 1, "expected true or false"),
        ([*FIT, "--cv", "1"], 1, "--cv must be 2 folds or more, or 0"),
        ([*FIT, "-m", "auto", "--cv", "0"], 1, "chooses by cross-validation"),
        ([*FIT, "--drop", "nope"], 1, "column 'nope' is not in"),
        ([*FIT, "--categorical", "nope"], 1, "categorical_features names 'nope'"),
        ([*FIT, "--weight", "purpose"], 1, "column 'purpose' holds no numbers, so it cannot be"),
        (["fit", LOANS, "-t", TARGET], 2, "Missing option '--out' / '-o'. Try: unnaive fit --help"),
        (["nope"], 2, "No such command 'nope'"),
        ([*FIT, "--nope"], 2, "No such option: --nope"),
        ([*FIT, "--cv", "many"], 2, "Invalid value for '--cv'"),
        (["compare", LOANS, "-t", TARGET, "--by", "gini"], 1, "criterion must be 'accuracy' or"),
        (["compare", LOANS, "-t", TARGET, "-m", "x"], 1, "models contains 'x'"),
        (["evaluate", LOANS, LOANS], 1, "loans.csv cannot be loaded"),
        (["show", "no.unv"], 1, "there is no model file 'no.unv'"),
        (["predict", "nb.unv", LOANS, "-o", "x.xls"], 1, "must end with .parquet"),
        (["predict", "nb.unv", LOANS, "--keep", "nope"], 1, "column 'nope' is not in"),
        (["data", "iris"], 1, "there is no table 'iris'; choose one of credit"),
        (["data", "credit", "--rows", "3"], 1, "credit has 1,000 rows"),
    ],
)
def test_errors_are_one_line_with_what_to_do(ask, work, args, code, words):
    before = sorted(path.name for path in work.iterdir())
    found, out, err = ask(*args)
    assert (found, out) == (code, "")
    assert words in err
    assert err.startswith("unnaive: ")
    assert err.count("\n") == 1
    assert sorted(path.name for path in work.iterdir()) == before


def test_debug_shows_the_traceback_wherever_it_stands(work):
    for args in (["--debug", "show", "no.unv"], ["show", "no.unv", "--debug"]):
        with pytest.raises(FileNotFoundError, match=r"no\.unv"):
            run(args)


def test_bugs_say_their_kind_and_where_to_look(ask, monkeypatch):
    monkeypatch.setattr("unnaive.cli.files.load_model", lambda path: {}["x"])
    code, _, err = ask("show", "nb.unv")
    assert (code, err) == (1, "unnaive: KeyError: 'x' (--debug shows where)\n")


# Awkward CSV -----------------------------------------------------------------------------------

ROWS = [(20 + 7 * i % 50, "RO"[i % 2], "ny"[i % 3 == 0]) for i in range(40)]
BODY = "".join(f"{a},{c},{y}\n" for a, c, y in ROWS)


def test_names_and_values_with_line_breaks_stay_in_their_line(ask, work):
    body = "".join(f"{a},{c},{y}\n" for a, c, y in ROWS).replace("O", '"O\n\x1b[31mred"')
    (work / "odd.csv").write_text('"my\nage",city,y\n' + body)
    code, out, _ = ask("fit", "odd.csv", "-t", "y", "-o", "odd.unv", "--cv", 0)
    assert code == 0
    assert re.search(r"^my age +numeric \(number\) +0 %$", out, re.MULTILINE)
    _, out, _ = ask("show", "odd.unv")
    assert "\x1b" not in out
    assert re.search(r"^city .*O \\x1b\[31mred \+", out, re.MULTILINE)


def test_one_of_a_thing_is_said_in_the_singular(ask, work):
    (work / "one.csv").write_text("x,y\n1,a\n")
    _, out, _ = ask("fit", "-m", "nb", "one.csv", "-t", "y", "-o", "one.unv")
    assert "\n1 row; classes of y: a 100 %" in out
    assert "1 column, 1 of them numeric" in ask("show", "one.unv")[1]
    assert "on 1 row\n" in ask("evaluate", "one.unv", "one.csv")[1]
    assert "1 row written" in ask("predict", "one.unv", "one.csv", "-o", "answers.csv")[1]
    assert "evaluated on 1 row\n" in ask("explain", "one.unv", "one.csv", "-o", "one.html")[1]
    page = (work / "one.html").read_text()
    assert "-0.000" not in page
    assert "0.000 by always predicting the class frequencies" in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"age,city,y\n", "odd.csv has no rows"),
        (b"age,age,y\n1,2,a\n", "several columns named 'age'"),
        (b"y\na\nb\n", "no column to learn from besides the target"),
        (b"x,y\n1,a\n2,\n", "column 'y' has 1 row without a label"),
        (b"x,y\n1,0.5\n2,0.25\n3,0.7\n", "Unknown label type: continuous"),
        ("x,y\n1,a\n".encode("utf-16"), "the file 'odd.csv' is not written in UTF-8; save it"),
    ],
)
def test_csv_that_will_not_do_is_refused_in_a_line(ask, work, content, words):
    (work / "odd.csv").write_bytes(content)
    code, out, err = ask("fit", "odd.csv", "-t", "y", "-o", "x.unv")
    assert (code, out) == (1, "")
    assert words in err
    assert err.count("\n") == 1
    assert not (work / "x.unv").exists()


class Screen(io.TextIOWrapper):
    """A terminal without colours."""

    def isatty(self):
        return True


def test_values_of_a_table_do_not_command_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    table = {"c": ["red\x1b[2J\u202egnp", "blue"] * 30, "y": ["\x1b]0;title\x07", "no"] * 30}
    pd.DataFrame(table).to_csv("rows.csv", index=False)
    model = "m\x1b[31m.unv"
    for args, code in (
        (["fit", "rows.csv", "-t", "y", "-m", "c45", "-o", model], 0),
        (["show", model], 0),
        (["sql", model], 0),
        (["predict", model, "rows.csv", "--keep", "c"], 0),
        (["evaluate", model, "rows.csv", "-t", "y"], 0),
        (["show", "\x1b[2J.unv"], 1),
    ):
        out, err = (Screen(io.BytesIO(), encoding="utf-8") for _ in range(2))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        assert run(args) == code
        out.flush(), err.flush()
        shown = (out.buffer.getvalue() + err.buffer.getvalue()).decode()
        assert {letter for letter in shown if not letter.isprintable()} <= {"\r", "\n"}, args
        assert r"\x1b" in shown
    monkeypatch.undo()
    answers = tmp_path / "answers.csv"
    assert (
        run(["predict", str(tmp_path / model), str(tmp_path / "rows.csv"), "-o", str(answers)]) == 0
    )
    assert pd.read_csv(answers)["prediction"].tolist() == table["y"]
